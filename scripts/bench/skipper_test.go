package bench

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

var replies = []string{
	":1\r\n", ":0\r\n", ":-1\r\n", ":12345\r\n", ":9223372036854775807\r\n", "+OK\r\n", "+\r\n", "-ERR no\r\n",
	"$0\r\n\r\n", "$3\r\nabc\r\n", "$2\r\n\r\n\r\n", "$-1\r\n", "*0\r\n", "*-1\r\n",
	"*3\r\n:1\r\n:0\r\n:1\r\n", "*3\r\n$1\r\n1\r\n$-1\r\n$20\r\n12345678901234567890\r\n",
	"*2\r\n*2\r\n:1\r\n-ERR full\r\n*1\r\n$1\r\nx\r\n", "*2\r\n*0\r\n*-1\r\n",
	"*3\r\n:1\r\n-ERR one\r\n-ERR two\r\n", ":0\r\n:1\r\n*1\r\n:1\r\n",
	"HTTP/1.1 400 Bad Request\r\n\r\n", ":x\r\n", ":1\n", "*9999999\r\n", "$9223372036854775807\r\n", "$-2\r\n", "*1\r\n*1048576\r\n*1048576\r\n",
	"%1\r\n+a\r\n:1\r\n", "*2\r\n:1\r\n", "$5\r\nab", "$20000000000000000000\r\n",
}

func TestSkip(t *testing.T) {
	for in, want := range map[string]reply{
		":1\r\n":                                {sum: 1},
		":-7\r\n":                               {sum: -7},
		"+OK\r\n":                               {},
		"-ERR no\r\n":                           {failed: true},
		"*4\r\n:1\r\n:0\r\n:1\r\n:-1\r\n":       {sum: 1},
		"*3\r\n$1\r\n1\r\n$-1\r\n$0\r\n\r\n":    {bulks: 2},
		"*2\r\n*2\r\n:1\r\n-ERR full\r\n*0\r\n": {sum: 1, failed: true},
	} {
		var s skipper
		n, done, err := s.skip([]byte(in + ":1\r\n"))
		if n != len(in) || !done || err != nil || s.reply != want {
			t.Errorf("%q: got %+v, %d bytes, done %v, error %v, want %+v, %d bytes", in, s.reply, n, done, err, want, len(in))
		}
	}
}

func TestSkipKeepsTheFirstError(t *testing.T) {
	var s skipper
	s.skip([]byte("*2\r\n-ERR one\r\n-ERR two\r\n"))
	s.skip([]byte("-ERR three\r\n"))
	if s.errText != "ERR one" {
		t.Errorf("got %q", s.errText)
	}
}

func TestSkipAllocatesNothing(t *testing.T) {
	in := flags(200)
	var s skipper
	if n := testing.AllocsPerRun(100, func() { s.skip(in) }); n != 0 {
		t.Errorf("%v allocations a reply, want 0", n)
	}
}

// FuzzSkip compares with a reader that is written for clearness, and feeds the
// same bytes in two pieces.
func FuzzSkip(f *testing.F) {
	for i, in := range replies {
		f.Add([]byte(in), uint8(i))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut uint8) {
		var want reply
		length, wantErr := read(in, &want)
		var s skipper
		n, done, err := feed(&s, in, int(cut))
		switch {
		case errors.Is(wantErr, errShort):
			if done {
				t.Fatalf("%q: done, but it is incomplete", in)
			}
		case wantErr != nil:
			if err == nil {
				t.Fatalf("%q: no error, want %v", in, wantErr)
			}
		case err != nil || !done || n != length || s.reply != want:
			t.Fatalf("%q: got %+v, %d bytes, done %v, error %v, want %+v, %d bytes", in, s.reply, n, done, err, want, length)
		}
	})
}

// feed gives in to s in two pieces, what the first leaves over together with
// the second, and returns how many bytes are done.
func feed(s *skipper, in []byte, cut int) (n int, done bool, err error) {
	n, done, err = s.skip(in[:min(cut, len(in))])
	if done || err != nil {
		return n, done, err
	}
	m, done, err := s.skip(in[n:])
	return n + m, done, err
}

var errShort = errors.New("incomplete")

// read reads one reply at the start of in, by the book.
func read(in []byte, r *reply) (length int, err error) {
	pending := 1
	return readValue(in, r, &pending)
}

// readValue reads one value. pending counts those announced but not read, for
// the limit on them.
func readValue(in []byte, r *reply, pending *int) (int, error) {
	line, _, found := bytes.Cut(in, []byte("\n"))
	if !found {
		return 0, errShort
	}
	text, found := strings.CutSuffix(string(line), "\r")
	if !found || text == "" {
		return 0, errLine
	}
	n, numErr := strconv.ParseInt(text[1:], 10, 64)
	if strings.HasPrefix(text[1:], "+") || len(strings.TrimPrefix(text[1:], "-")) > 19 {
		numErr = strconv.ErrSyntax
	}
	size := len(line) + 1
	*pending--
	switch kind := text[0]; {
	case kind == '+':
	case kind == '-':
		r.failed = true
	case kind == ':' && numErr == nil:
		r.sum += n
	case kind == ':' && errors.Is(numErr, strconv.ErrRange): // the skipper wraps
		wrapped, _ := parseInt([]byte(text[1:]))
		r.sum += wrapped
	case kind == '$' && numErr == nil && n == -1, kind == '*' && numErr == nil && n == -1:
	case kind == '$' && numErr == nil && n >= 0 && n <= maxBulk:
		r.bulks++
		if size += int(n) + 2; size > len(in) {
			return 0, errShort
		}
	case kind == '*' && numErr == nil && n >= 0 && int(n)+*pending < maxValues:
		return readArray(in, size, int(n), r, pending)
	default:
		return 0, fmt.Errorf("bad line %q", text)
	}
	return size, nil
}

func readArray(in []byte, size, n int, r *reply, pending *int) (int, error) {
	*pending += n
	for range n {
		m, err := readValue(in[size:], r, pending)
		if err != nil {
			return 0, err
		}
		size += m
	}
	return size, nil
}

// flags is an array of n integers 0 and 1.
func flags(n int) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", n)
	for i := range n {
		b = fmt.Appendf(b, ":%d\r\n", i%7/6)
	}
	return b
}

func BenchmarkSkip(b *testing.B) {
	scores := fmt.Appendf(nil, "*200\r\n%s", strings.Repeat("$-1\r\n$1\r\n1\r\n", 100))
	for name, in := range map[string][]byte{"flags": flags(200), "scores": scores} {
		b.Run(name, func(b *testing.B) {
			var s skipper
			for b.Loop() {
				s.skip(in)
			}
		})
	}
}
