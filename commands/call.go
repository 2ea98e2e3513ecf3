package commands

import (
	"errors"
	"fmt"
	"strings"

	"dedupd/storage"
	"dedupd/storage/policy"
)

// call is one command on its way through: first its parse function reads the
// arguments into it, with nothing locked; then its run function writes exactly
// one reply. A session uses one call again and again, so nothing in it may be
// kept.
type call struct {
	session *Session
	cmd     *command
	args    [][]byte // args[0] is the name as sent
	reply
	tx *storage.Tx // of commands on a key: begun on it before run

	key      []byte
	items    [][]byte
	limit    int
	count    int
	layers   storage.Layer
	mark     storage.Layer
	token    []byte
	indices  bool // WITHINDEX
	blind    bool
	event    int64 // AT, unix ms; storage.Now without it
	hasToken bool
	readOnly bool // a command that may write, but not with these arguments
}

// begin makes the call ready for the next command.
func (c *call) begin(cmd *command, args [][]byte) {
	c.cmd, c.args = cmd, args
	c.key, c.items, c.token = nil, nil, nil
	c.limit, c.count = 0, 0
	c.layers, c.mark, c.event = 0, 0, storage.Now
	c.indices, c.blind, c.hasToken, c.readOnly = false, false, false, false
}

// kind is what the transaction of the parsed call must be allowed to do.
func (c *call) kind() storage.Kind {
	if c.readOnly {
		return storage.Read
	}
	if c.blind {
		return storage.Blind
	}
	return c.cmd.kind()
}

// end lets go of the read buffer.
func (c *call) end() {
	c.args, c.key, c.items, c.token = nil, nil, nil, nil
}

// errArity is the error of a command with too few or too many arguments.
var errArity = errors.New("wrong number of arguments")

// errorText is the text of an error reply, with its code in front.
func (c *call) errorText(err error) string {
	var readOnly *storage.ReadOnlyError
	var refusal *policy.Refusal
	switch {
	case err == errArity:
		return arityText(c.cmd.fullName())
	case errors.As(err, &refusal):
		return refusal.Error() // it has its code
	case errors.Is(err, storage.ErrMemory):
		return "OOM " + err.Error()
	case errors.Is(err, storage.ErrBusy):
		return "BUSY " + err.Error()
	case errors.As(err, &readOnly):
		return "MISCONF " + err.Error()
	}
	return "ERR " + err.Error()
}

func arityText(name string) string {
	return "ERR wrong number of arguments for '" + name + "' command"
}

// syntaxError names what was wrong and what would have been right.
func syntaxError(format string, args ...any) error {
	return fmt.Errorf("syntax error: "+format, args...)
}

// show quotes an argument for an error text: on one line, and not all of a
// long one.
func show(b []byte) string {
	const most = 64
	s := b
	if len(s) > most {
		s = s[:most]
	}
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(string(s), "?"))
	if len(b) > most {
		text += "..."
	}
	return "'" + text + "'"
}

// is compares a word of the command's language, in any case.
func is(arg []byte, word string) bool {
	if len(arg) != len(word) {
		return false
	}
	for i, c := range arg {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// parseKey reads argument 1.
func (c *call) parseKey() error {
	c.key = c.args[1]
	if len(c.key) > storage.MaxKey {
		return fmt.Errorf("the key has %d bytes; valid: 0 to %d", len(c.key), storage.MaxKey)
	}
	return nil
}

// setItems takes the rest of the arguments as items.
func (c *call) setItems(items [][]byte) error {
	if len(items) == 0 {
		return errArity
	}
	for i, item := range items {
		if len(item) > storage.MaxItem {
			return fmt.Errorf("item %d has %d bytes; valid: 0 to %d", i+1, len(item), storage.MaxItem)
		}
	}
	c.items = items
	return nil
}

// parseKeyItems reads: key item [item ...]
func parseKeyItems(c *call) error {
	if err := c.parseKey(); err != nil {
		return err
	}
	return c.setItems(c.args[2:])
}

// option reads one option from the front of args, whose first word it is, and
// returns how many arguments it took: 0 if it is not an option of the command.
type option func(c *call, args [][]byte) (int, error)

// parseOptions reads: key [option ...] ITEMS item [item ...]
func (c *call) parseOptions(names string, read option) error {
	if err := c.parseKey(); err != nil {
		return err
	}
	rest := c.args[2:]
	for len(rest) > 0 {
		if is(rest[0], "items") {
			return c.setItems(rest[1:])
		}
		n, err := read(c, rest)
		if err != nil {
			return err
		}
		if n == 0 {
			return syntaxError("%s before ITEMS; valid: %s", show(rest[0]), names)
		}
		rest = rest[n:]
	}
	return syntaxError("the word ITEMS is missing")
}

// once refuses an option that comes twice.
func once(set bool, name string) error {
	if set {
		return syntaxError("%s is given twice", name)
	}
	return nil
}

// value is the argument behind an option.
func value(args [][]byte, name string) ([]byte, error) {
	if len(args) < 2 {
		return nil, syntaxError("%s needs a value", name)
	}
	return args[1], nil
}

// layerOption reads LAYER with one of the layers.
func (c *call) layerOption(args [][]byte, all bool) (int, error) {
	if err := once(c.layers != 0, "LAYER"); err != nil {
		return 0, err
	}
	v, err := value(args, "LAYER")
	if err != nil {
		return 0, err
	}
	valid := "played, delivered"
	switch {
	case is(v, "played"):
		c.layers = storage.Played
	case is(v, "delivered"):
		c.layers = storage.Delivered
	case all && is(v, "all"):
		c.layers = storage.All
	default:
		if all {
			valid += ", all"
		}
		return 0, syntaxError("LAYER %s; valid: %s", show(v), valid)
	}
	return 2, nil
}
