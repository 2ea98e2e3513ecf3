package server

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/redcon"
)

// outcome is what a stream was understood as.
type outcome struct {
	commands [][]string
	err      error
	parser   *parser
}

func (o outcome) String() string { return fmt.Sprintf("%q, error %v", o.commands, o.err) }

func (o outcome) equal(other outcome) bool { return o.String() == other.String() }

// pieces hands out a stream in pieces of the sizes that next returns.
type pieces struct {
	rest string
	next func() int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(max(p.next(), 1), len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// parse runs a stream through a read buffer and the parser, as a connection
// does, in pieces of the sizes that next returns.
func parse(p *parser, stream string, next func() int) outcome {
	var pool bufferPool
	var in readBuffer
	in.init(&pool)
	o := outcome{parser: p}
	from := &pieces{stream, next}
	for {
		in.compact()
		if in.should() {
			in.resize(2 * len(in.b))
		}
		if _, err := in.fill(from); err != nil {
			return o
		}
		for {
			size, err := p.next(in.unread())
			if err != nil {
				o.err = err
				return o
			}
			if size == 0 {
				break
			}
			if args := p.views(nil, in.unread()); len(args) > 0 {
				words := make([]string, len(args))
				for i, a := range args {
					words[i] = string(a)
				}
				o.commands = append(o.commands, words)
			}
			in.take(size)
		}
		in.shrinkTo(smallBuffer)
	}
}

func whole() int   { return 1 << 30 }
func oneByte() int { return 1 }

func randomCuts(seed uint64) func() int {
	rnd := rand.New(rand.NewPCG(seed, 1))
	return func() int { return rnd.IntN(1 << rnd.IntN(12)) }
}

// everyWay parses a stream whole, byte by byte and in random cuts, and fails
// the test if they differ.
func everyWay(tb testing.TB, newParser func() *parser, stream string) outcome {
	tb.Helper()
	want := parse(newParser(), stream, whole)
	cuts := []struct {
		name string
		next func() int
	}{
		{"byte by byte", oneByte},
		{"cut at random", randomCuts(1)},
		{"cut at random again", randomCuts(2)},
	}
	for _, cut := range cuts {
		if got := parse(newParser(), stream, cut.next); !got.equal(want) {
			tb.Errorf("%s: got %v; whole: %v", cut.name, got, want)
		}
	}
	return want
}

func unauthenticatedParser() *parser {
	p := newParser()
	p.allow(false)
	return p
}

func smallParser() *parser {
	p := &parser{}
	p.init(Limits{MaxArgs: 5, MaxBulk: 100, MaxCommand: 150, MaxInline: 40}, DefaultPreAuthLimits())
	p.allow(true)
	return p
}

func cmds(commands ...[]string) [][]string { return commands }

var parserCases = []struct {
	name   string
	parser func() *parser // nil: newParser
	stream string
	want   [][]string
	err    error
}{
	{name: "nothing"},
	{name: "one command", stream: "*1\r\n$4\r\nPING\r\n", want: cmds([]string{"PING"})},
	{name: "pipeline", stream: "*2\r\n$1\r\na\r\n$2\r\nbc\r\n*1\r\n$1\r\nd\r\n", want: cmds([]string{"a", "bc"}, []string{"d"})},
	{name: "empty arguments", stream: "*3\r\n$0\r\n\r\n$0\r\n\r\n$1\r\nx\r\n", want: cmds([]string{"", "", "x"})},
	{name: "bytes that look like framing", stream: "*2\r\n$4\r\n\r\n$1\r\n$3\r\n*1\r\r\n", want: cmds([]string{"\r\n$1", "*1\r"})},
	{name: "lengths of each size", stream: command("a", strings.Repeat("b", 9), strings.Repeat("c", 10), strings.Repeat("d", 99), strings.Repeat("e", 100), strings.Repeat("f", 99999)),
		want: cmds([]string{"a", strings.Repeat("b", 9), strings.Repeat("c", 10), strings.Repeat("d", 99), strings.Repeat("e", 100), strings.Repeat("f", 99999)})},
	{name: "half a command", stream: "*2\r\n$4\r\nPING\r\n$3\r\nab"},
	{name: "half after whole", stream: "*1\r\n$1\r\na\r\n*1\r\n$1\r\n", want: cmds([]string{"a"})},

	{name: "empty commands", stream: "*0\r\n*-1\r\n*-9223372036854775808\r\n*1\r\n$1\r\na\r\n", want: cmds([]string{"a"})},
	{name: "count: not a number", stream: "*a\r\n", err: errMultibulkLength},
	{name: "count: none", stream: "*\r\n", err: errMultibulkLength},
	{name: "count: sign alone", stream: "*-\r\n", err: errMultibulkLength},
	{name: "count: plus", stream: "*+1\r\n", err: errMultibulkLength},
	{name: "count: leading zero", stream: "*01\r\n", err: errMultibulkLength},
	{name: "count: minus zero", stream: "*-0\r\n", err: errMultibulkLength},
	{name: "count: space", stream: "* 1\r\n", err: errMultibulkLength},
	{name: "count: trailing space", stream: "*1 \r\n", err: errMultibulkLength},
	{name: "count: bare newline", stream: "*1\n", err: errMultibulkLength},
	{name: "count: carriage return within", stream: "*1\r1\r\n", err: errMultibulkLength},
	{name: "count: beyond 64 bits", stream: "*18446744073709551617\r\n", err: errMultibulkLength},
	{name: "count: below 64 bits", stream: "*-9223372036854775809\r\n", err: errMultibulkLength},
	{name: "count: very long", stream: "*" + strings.Repeat("1", 1000) + "\r\n", err: errMultibulkLength},
	{name: "count: endless", stream: "*" + strings.Repeat("1", 70000), err: errMultibulkLine},

	{name: "bulk: another type", stream: "*1\r\n:1\r\n", err: errExpectedBulk(':')},
	{name: "bulk: not printable", stream: "*1\r\n\x00", err: errExpectedBulk(0)},
	{name: "bulk: null", stream: "*1\r\n$-1\r\n", err: errBulkLength},
	{name: "bulk: none", stream: "*1\r\n$\r\n\r\n", err: errBulkLength},
	{name: "bulk: plus", stream: "*1\r\n$+1\r\na\r\n", err: errBulkLength},
	{name: "bulk: leading zero", stream: "*1\r\n$01\r\na\r\n", err: errBulkLength},
	{name: "bulk: leading zeros", stream: "*1\r\n$00\r\n\r\n", err: errBulkLength},
	{name: "bulk: space", stream: "*1\r\n$1 \r\na\r\n", err: errBulkLength},
	{name: "bulk: letters", stream: "*1\r\n$1a\r\na\r\n", err: errBulkLength},
	{name: "bulk: bare newline", stream: "*1\r\n$1\na\r\n", err: errBulkLength},
	{name: "bulk: one too long", stream: "*1\r\n$1048577\r\n", err: errBulkLength},
	{name: "bulk: endless", stream: "*1\r\n$" + strings.Repeat("1", 70000), err: errBulkLine},
	{name: "bulk: no end", stream: "*1\r\n$1\r\nabc\r\n", err: errBulkEnd},
	{name: "bulk: bare newline at the end", stream: "*1\r\n$1\r\na\n\n", err: errBulkEnd},

	{name: "limits: all reached", parser: smallParser, stream: "*5\r\n$100\r\n" + strings.Repeat("x", 100) + "\r\n" + strings.Repeat("$1\r\ny\r\n", 4),
		want: cmds([]string{strings.Repeat("x", 100), "y", "y", "y", "y"})},
	{name: "limits: arguments", parser: smallParser, stream: "*6\r\n", err: errMultibulkLength},
	{name: "limits: bulk", parser: smallParser, stream: "*1\r\n$101\r\n", err: errBulkLength},
	{name: "limits: command", parser: smallParser, stream: "*2\r\n$98\r\n" + strings.Repeat("x", 98) + "\r\n$35\r\n", err: errCommandLength},
	{name: "limits: command whole", parser: smallParser, stream: "*2\r\n$98\r\n" + strings.Repeat("x", 98) + "\r\n$35\r\n" + strings.Repeat("x", 35) + "\r\n", err: errCommandLength},
	{name: "limits: command just fits", parser: smallParser, stream: "*2\r\n$98\r\n" + strings.Repeat("x", 98) + "\r\n$34\r\n" + strings.Repeat("x", 34) + "\r\n",
		want: cmds([]string{strings.Repeat("x", 98), strings.Repeat("x", 34)})},
	{name: "limits: line just fits", parser: smallParser, stream: strings.Repeat("x", 39) + "\r\n", want: cmds([]string{strings.Repeat("x", 39)})},
	{name: "limits: line", parser: smallParser, stream: strings.Repeat("x", 41) + "\r\n", err: errInlineLength},
	{name: "limits: words", parser: smallParser, stream: "a b c d e f\r\n", err: errInlineArgs},

	{name: "unauthenticated: enough", parser: unauthenticatedParser, stream: command("1", "2", "3", "4", "5", "6", "7", "8", "9", "10"),
		want: cmds([]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"})},
	{name: "unauthenticated: arguments", parser: unauthenticatedParser, stream: "*11\r\n", err: errMultibulkUnauth},
	{name: "unauthenticated: too many for all", parser: unauthenticatedParser, stream: "*9223372036854775807\r\n", err: errMultibulkLength},
	{name: "unauthenticated: bulk", parser: unauthenticatedParser, stream: "*1\r\n$16385\r\n", err: errBulkUnauth},
	{name: "unauthenticated: too big for all", parser: unauthenticatedParser, stream: "*1\r\n$9223372036854775807\r\n", err: errBulkLength},
	{name: "unauthenticated: command", parser: unauthenticatedParser, stream: "*5\r\n" + strings.Repeat("$16384\r\n"+strings.Repeat("x", 16384)+"\r\n", 4), err: errCommandLength},

	{name: "inline", stream: "PING\r\nset a  b\n", want: cmds([]string{"PING"}, []string{"set", "a", "b"})},
	{name: "inline: empty lines", stream: "\r\n\n \t \r\nPING\r\n", want: cmds([]string{"PING"})},
	{name: "inline: no newline yet", stream: "PING"},
	{name: "inline: blanks", stream: " \t a\tb\vc \v\f d \r\n", want: cmds([]string{"a", "b\vc", "d"})},
	{name: "inline: endless", stream: strings.Repeat("a", 70000), err: errInlineLength},
	{name: "inline: double quotes", stream: `a "b c" "\x41\x4g\n\r\t\b\a\"\\\q" ""` + "\r\n", want: cmds([]string{"a", "b c", "Ax4g\n\r\t\b\a\"\\q", ""})},
	{name: "inline: single quotes", stream: `'b "c' '\'' '\n' ''` + "\r\n", want: cmds([]string{`b "c`, "'", `\n`, ""})},
	{name: "inline: quotes within a word", stream: `a"b c" d'e'` + "\r\n", want: cmds([]string{"ab c", "de"})},
	{name: "inline: hex at the end", stream: `"\x4"` + "\r\n", want: cmds([]string{"x4"})},
	{name: "inline: open double", stream: "a \"b\r\n", err: errUnbalancedQuotes},
	{name: "inline: open single", stream: "a 'b\r\n", err: errUnbalancedQuotes},
	{name: "inline: escaped end", stream: `"a\"` + "\r\n", err: errUnbalancedQuotes},
	{name: "inline: backslash last", stream: `"a\` + "\r\n", err: errUnbalancedQuotes},
	{name: "inline: quote closes within a word", stream: `"a"b` + "\r\n", err: errUnbalancedQuotes},
	{name: "inline between others", stream: "*1\r\n$1\r\na\r\nb \"c\"\r\n*1\r\n$1\r\nd\r\n", want: cmds([]string{"a"}, []string{"b", "c"}, []string{"d"})},
	{name: "good commands, then garbage", stream: "*1\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n*x\r\n", want: cmds([]string{"a"}, []string{"b"}), err: errMultibulkLength},
}

func TestParser(t *testing.T) {
	for _, tc := range parserCases {
		t.Run(tc.name, func(t *testing.T) {
			if tc.parser == nil {
				tc.parser = newParser
			}
			got := everyWay(t, tc.parser, tc.stream)
			if want := (outcome{commands: tc.want, err: tc.err}); !got.equal(want) {
				t.Errorf("got %v; want %v", got, want)
			}
		})
	}
}

// FuzzParser: whatever the bytes are and however they are cut, nothing panics,
// the outcome is one, the work is linear, the memory is of the input's order;
// and what redcon's reader accepts from a client, it reads the same.
func FuzzParser(f *testing.F) {
	for _, tc := range parserCases {
		if len(tc.stream) < 4096 {
			f.Add([]byte(tc.stream))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		for _, newParser := range []func() *parser{newParser, smallParser, unauthenticatedParser} {
			o := everyWay(t, newParser, string(stream))
			if got, most := cap(o.parser.args), 2*len(stream)+16; got > most {
				t.Errorf("room for %d arguments from %d bytes", got, len(stream))
			}
			linear(t, o, len(stream))
		}
		sameAsRedcon(t, stream)
	})
}

// linear holds the parser to its promise. A byte of a length line or an inline
// command may be looked at when its newline is sought, when the line is
// understood, and when the quick way has to leave it to the slow one.
func linear(tb testing.TB, o outcome, size int) {
	tb.Helper()
	if o.parser.examined > int64(3*size) {
		tb.Errorf("looked at %d bytes for a stream of %d", o.parser.examined, size)
	}
}

// sameAsRedcon compares with redcon.ReadNextCommand for as long as the stream
// is well-formed RESP commands of which ours must think the same.
func sameAsRedcon(t *testing.T, stream []byte) {
	for _, command := range parse(newParser(), string(stream), whole).commands {
		packet := redcon.AppendArray(nil, len(command))
		for _, a := range command {
			packet = redcon.AppendBulkString(packet, a)
		}
		complete, args, _, rest, err := redcon.ReadNextCommand(packet, nil)
		if !complete || err != nil || len(rest) > 0 {
			t.Fatalf("redcon: complete %v, error %v, %d bytes left of %q", complete, err, len(rest), packet)
		}
		ours := everyWay(t, newParser, string(packet))
		if len(ours.commands) != 1 || !slices.EqualFunc(args, ours.commands[0], func(a []byte, b string) bool { return string(a) == b }) {
			t.Fatalf("redcon reads %q, ours %v", args, ours)
		}
	}
}

// TestSameAsRedcon is the differential check on random well-formed commands.
func TestSameAsRedcon(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		args := make([]string, 1+rnd.IntN(20))
		for i := range args {
			b := make([]byte, rnd.IntN(1<<rnd.IntN(12)))
			for j := range b {
				b[j] = "\r\n$*19ax\x00\xff"[rnd.IntN(10)]
			}
			args[i] = string(b)
		}
		sameAsRedcon(t, []byte(command(args...)))
	}
}

// TestB004LinearHoweverCut: the bytes looked at are counted, not the time. A
// byte of an argument is not looked at; of the rest none more than three times.
func TestB004LinearHoweverCut(t *testing.T) {
	n := 100_000
	if raceEnabled {
		n /= 10
	}
	streams := map[string]string{
		"many arguments":  manyArgs("DEDUP.MEXISTS", n, 8),
		"1 MiB argument":  command("ECHO", strings.Repeat("x", 1<<20)),
		"many commands":   strings.Repeat("*1\r\n$4\r\nPING\r\n", n/10),
		"empty lines":     strings.Repeat("\r\n", n/4),
		"empty commands":  strings.Repeat("*0\r\n", n/4),
		"empty arguments": fmt.Sprintf("*%d\r\n", n) + strings.Repeat("$0\r\n\r\n", n),
		"inline":          strings.Repeat("ECHO \"a b\" c\r\n", n/10),
	}
	cuts := map[string]func() int{
		"whole":    whole,
		"1 byte":   oneByte,
		"2 bytes":  func() int { return 2 },
		"segments": func() int { return 1448 },
		"random":   randomCuts(1),
	}
	for streamName, stream := range streams {
		want := parse(newParser(), stream, whole)
		if want.err != nil || len(want.commands) == 0 && !strings.HasPrefix(streamName, "empty ") {
			t.Fatalf("%s: %v", streamName, want.err)
		}
		for cutName, next := range cuts {
			got := parse(newParser(), stream, next)
			if len(got.commands) != len(want.commands) || got.err != nil {
				t.Errorf("%s, %s: %d commands, %v", streamName, cutName, len(got.commands), got.err)
			}
			linear(t, got, len(stream))
		}
	}
	big := parse(newParser(), streams["1 MiB argument"], oneByte)
	if big.parser.examined > 200 {
		t.Errorf("looked at %d bytes, so into the argument", big.parser.examined)
	}
}

// TestB003LineWithoutNewline: the line is searched once, and refused at the
// limit.
func TestB003LineWithoutNewline(t *testing.T) {
	for _, begin := range []string{"", "*", "*1\r\n$", "\"", "*1\r\n$4\r\nPING\r\n*2"} {
		for _, size := range []int{1, 4096, 1 << 20} {
			got := parse(newParser(), begin+strings.Repeat("1", 8<<20), func() int { return size })
			if got.err == nil || !strings.Contains(got.err.Error(), "too big") {
				t.Errorf("%q: %v", begin, got.err)
			}
			linear(t, got, 64<<10+max(size, busyBuffer)+100)
		}
	}
}

func TestParseLength(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "1": 1, "10": 10, "-1": -1, "9223372036854775807": 1<<63 - 1, "-9223372036854775808": -1 << 63,
	} {
		if got, ok := parseLength([]byte(s)); got != want || !ok {
			t.Errorf("%q: %d, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "-", "-0", "00", "01", "+1", " 1", "1 ", "1\n", "1.0", "0x1", "-01",
		"9223372036854775808", "-9223372036854775809", "99999999999999999999", "١"} {
		if got, ok := parseLength([]byte(s)); ok {
			t.Errorf("%q: accepted as %d", s, got)
		}
	}
}

func TestParserAllocatesNothing(t *testing.T) {
	for _, stream := range []string{manyArgs("DEDUP.MEXISTS", 199, 16), "DEDUP.ADD \"a b\" 'c'\r\n", "*0\r\n", "\r\n"} {
		data := []byte(stream)
		p := newParser()
		argv := make([][]byte, 0, 256)
		run := func() {
			if size, err := p.next(append(data[:0], stream...)); size != len(data) || err != nil {
				t.Fatal(size, err)
			}
			argv = p.views(argv[:0], data)
		}
		run()
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%q: %v allocations", clip(data), n)
		}
	}
}
