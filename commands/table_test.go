package commands

import (
	"strings"
	"testing"

	"github.com/tidwall/redcon"
)

// allRows is the whole table, subcommands included.
func allRows() (rows []*command) {
	for _, cmd := range newTable().rows {
		rows = append(append(rows, cmd), cmd.sub...)
	}
	return rows
}

func TestRowsAreComplete(t *testing.T) {
	for _, cmd := range allRows() {
		name := cmd.fullName()
		if name != strings.ToLower(name) || len(cmd.name) > maxName {
			t.Errorf("%s: its name is not lower case of at most %d bytes", name, maxName)
		}
		if len(cmd.sub) > 0 {
			continue // described by its subcommands
		}
		if !strings.HasSuffix(cmd.summary, ".") {
			t.Errorf("%s: its summary %q is not a sentence", name, cmd.summary)
		}
		if cmd.run == nil && !cmd.isExec() {
			t.Errorf("%s does nothing", name)
		}
		if cmd.onKey() != (cmd.flags&(flagWrite|flagReadonly) != 0) || cmd.onKey() != strings.HasPrefix(cmd.syntax, "key") {
			t.Errorf("%s: parse function, flags and syntax disagree on whether there is a key", name)
		}
		if cmd.flags&flagWrite != 0 && cmd.flags&flagReadonly != 0 || cmd.flags&flagDenyOOM != 0 && cmd.flags&flagWrite == 0 {
			t.Errorf("%s: its flags contradict each other", name)
		}
	}
}

func TestArityAgreesWithSyntax(t *testing.T) {
	for _, cmd := range allRows() {
		name := cmd.fullName()
		if len(cmd.sub) > 0 || name == "quit" { // which takes anything, as in Redis
			continue
		}
		least, more := syntaxArgs(cmd.syntax)
		want := least + len(strings.Split(name, "|"))
		if more {
			want = -want
		}
		if cmd.arity != want {
			t.Errorf("%s: arity %d, its syntax %q says %d", name, cmd.arity, cmd.syntax, want)
		}
	}
}

// syntaxArgs counts the arguments that a syntax asks for, and says whether it
// allows more.
func syntaxArgs(syntax string) (least int, more bool) {
	depth := 0
	for _, word := range strings.Fields(syntax) {
		if word == "|" { // what follows is another way to say the same
			return least, more
		}
		depth += strings.Count(word, "[")
		if depth == 0 {
			least++
		} else {
			more = true
		}
		depth -= strings.Count(word, "]")
	}
	return least, more
}

func TestEverySubcommandIsLinked(t *testing.T) {
	table := newTable()
	for _, cmd := range table.rows {
		if table.find([]byte(strings.ToUpper(cmd.name))) != cmd {
			t.Errorf("%s is not found by its name", cmd.name)
		}
		for _, sub := range cmd.sub {
			if sub.parent != cmd || cmd.find([]byte(strings.ToUpper(sub.name))) != sub {
				t.Errorf("%s is not linked with %s", sub.name, cmd.name)
			}
		}
	}
}

// Docs has each command that can be called, once.
func TestDocs(t *testing.T) {
	seen := map[string]bool{}
	for _, doc := range Docs() {
		if seen[doc.Name] || doc.Name != strings.ToUpper(doc.Name) || doc.Summary == "" {
			t.Errorf("%+v", doc)
		}
		seen[doc.Name] = true
	}
	for _, name := range []string{"DEDUP.FILTER", "CLIENT SETINFO", "COMMAND", "COMMAND DOCS", "CONFIG GET", "EXEC"} {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestCommandParses reads COMMAND and its like with redcon's reader; the
// strict reader of the other tests reads them in both protocols.
func TestCommandParses(t *testing.T) {
	n := openNode(t, nodeOptions{})
	defer n.close()
	s := n.session()
	names := []string{"COMMAND", "INFO"}
	for _, cmd := range newTable().rows {
		names = append(names, cmd.name)
	}
	for _, args := range [][]string{{"COMMAND"}, {"COMMAND", "INFO"}, names} {
		rows := elements(t, s.do(args...))
		if len(rows) != len(newTable().rows) {
			t.Errorf("%.2q: %d rows", args, len(rows))
		}
		for i, row := range rows {
			checkCommandRow(t, newTable().rows[i], row)
		}
	}
	names[1] = "DOCS"
	for _, args := range [][]string{{"COMMAND", "DOCS"}, names} {
		if docs := elements(t, s.do(args...)); len(docs) != 2*len(newTable().rows) {
			t.Errorf("%.2q: %d elements", args, len(docs))
		}
	}
	s.do("HELLO", "3")
	for _, args := range [][]string{{"COMMAND"}, {"COMMAND", "DOCS"}, names} {
		s.do(args...)
	}
}

// checkCommandRow looks at what clients route by: first, last and step.
func checkCommandRow(t *testing.T, cmd *command, row redcon.RESP) {
	t.Helper()
	var fields []redcon.RESP
	row.ForEach(func(field redcon.RESP) bool {
		fields = append(fields, field)
		return true
	})
	if len(fields) != 10 {
		t.Fatalf("%s: %d fields", cmd.name, len(fields))
	}
	key := int64(0)
	if strings.HasPrefix(cmd.name, "dedup.") && len(cmd.sub) == 0 {
		key = 1
	}
	if fields[0].String() != cmd.name || fields[1].Int() != int64(cmd.arity) ||
		fields[3].Int() != key || fields[4].Int() != key || fields[5].Int() != key {
		t.Errorf("%s: %q", cmd.name, row.Raw)
	}
}

// elements takes an array apart with redcon's reader.
func elements(t *testing.T, reply string) (list []redcon.RESP) {
	t.Helper()
	n, value := redcon.ReadNextRESP([]byte(reply))
	if n != len(reply) || value.Type != redcon.Array {
		t.Fatalf("%.100q is not one array", reply)
	}
	value.ForEach(func(element redcon.RESP) bool {
		list = append(list, element)
		return true
	})
	if len(list) != value.Count {
		t.Fatalf("%d elements of %d", len(list), value.Count)
	}
	return list
}
