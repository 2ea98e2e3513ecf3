// Package commands is the table of commands: it takes the arguments of one
// command, calls the store, and writes one reply.
package commands

import (
	"bytes"
	"strings"

	"dedupd/storage"
)

// flag marks what a command is, as COMMAND shows it.
type flag uint16

const (
	flagWrite flag = 1 << iota
	flagReadonly
	flagDenyOOM
	flagAdmin
	flagFast
	flagNoAuth  // allowed before AUTH
	flagNoMulti // refused within MULTI
	flagLoading
)

// flagNames are Redis's names, in its order.
var flagNames = []struct {
	flag flag
	name string
}{
	{flagWrite, "write"}, {flagReadonly, "readonly"}, {flagDenyOOM, "denyoom"}, {flagAdmin, "admin"},
	{flagLoading, "loading"}, {flagNoAuth, "no_auth"}, {flagNoMulti, "no_multi"}, {flagFast, "fast"},
}

// command is one row of the table. COMMAND, COMMAND DOCS, arity errors and
// the README's table are made from it.
type command struct {
	name    string // lower case
	arity   int    // number of arguments with the name; negative: at least
	flags   flag
	group   string // of COMMAND DOCS; "" for dedup
	syntax  string // what follows the name
	summary string

	parse func(*call) error // reads the arguments, with nothing locked; the key is argument 1; nil: not a command on a key
	run   func(*call)       // writes exactly one reply

	sub    []*command // a container of subcommands, which have run functions instead
	parent *command
}

// onKey says whether argument 1 is the key.
func (cmd *command) onKey() bool { return cmd.parse != nil }

// fullName is "client|list" for a subcommand.
func (cmd *command) fullName() string {
	if cmd.parent == nil {
		return cmd.name
	}
	return cmd.parent.name + "|" + cmd.name
}

func (cmd *command) arityFits(n int) bool {
	if cmd.arity < 0 {
		return n >= -cmd.arity
	}
	return n == cmd.arity
}

// kind is what the command's transaction may do.
func (cmd *command) kind() storage.Kind {
	if cmd.flags&flagWrite != 0 {
		return storage.Write
	}
	return storage.Read
}

func (cmd *command) find(name []byte) *command {
	for _, sub := range cmd.sub {
		if is(name, sub.name) {
			return sub
		}
	}
	return nil
}

// table finds a command by its name in any case.
type table struct {
	byName map[string]*command
	rows   []*command // in the order of the README
}

func newTable() *table {
	t := &table{byName: make(map[string]*command)}
	for _, family := range [][]command{dedupCommands, wheelCommands(), connectionCommands(), transactionCommands, serverCommands()} {
		for i := range family {
			t.add(&family[i])
		}
	}
	return t
}

func (t *table) add(row *command) {
	cmd := *row
	if len(cmd.sub) > 0 {
		cmd.sub = append(cmd.sub, &command{
			name: "help", arity: 2, flags: flagLoading, group: cmd.group, summary: "Describe the subcommands.", run: (*call).help,
		})
	}
	for i, sub := range cmd.sub {
		s := *sub
		s.parent = &cmd
		cmd.sub[i] = &s
	}
	t.byName[cmd.name] = &cmd
	t.rows = append(t.rows, &cmd)
}

const maxName = 32 // longer than any name in the table

func (t *table) find(name []byte) *command {
	if len(name) > maxName {
		return nil
	}
	var lower [maxName]byte
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return t.byName[string(lower[:len(name)])]
}

// findFull also finds a subcommand by its full name, such as client|list.
func (t *table) findFull(name []byte) *command {
	parent, sub, ok := bytes.Cut(name, []byte("|"))
	cmd := t.find(parent)
	if ok && cmd != nil {
		return cmd.find(sub)
	}
	return cmd
}

// unknownText is Redis's error for a command that is not there; clients match
// parts of it.
func unknownText(args [][]byte) string {
	const most = 128
	var shown strings.Builder
	for _, arg := range args[1:] {
		left := most - shown.Len()
		if left <= 0 {
			break
		}
		shown.WriteString("'" + printable(arg, left) + "' ")
	}
	return "ERR unknown command '" + printable(args[0], most) + "', with args beginning with: " + shown.String()
}

// printable is what Redis shows of an argument: at most n bytes, up to a zero
// byte, on one line.
func printable(b []byte, n int) string {
	b, _, _ = bytes.Cut(b[:min(len(b), n)], []byte{0})
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(string(b))
}

// Doc is a row of the README's table.
type Doc struct{ Name, Syntax, Summary string }

// Docs lists the commands in the order of the table, subcommands by
// themselves.
func Docs() []Doc {
	var docs []Doc
	for _, cmd := range newTable().rows {
		if cmd.run != nil || len(cmd.sub) == 0 {
			docs = append(docs, docOf(cmd))
		}
		for _, sub := range cmd.sub {
			docs = append(docs, docOf(sub))
		}
	}
	return docs
}

func docOf(cmd *command) Doc {
	name := strings.ToUpper(strings.ReplaceAll(cmd.fullName(), "|", " "))
	return Doc{Name: name, Syntax: cmd.syntax, Summary: cmd.summary}
}
