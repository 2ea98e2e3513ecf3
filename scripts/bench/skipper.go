package bench

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	maxValues = 1 << 20   // values of one reply
	maxBulk   = 512 << 20 // bytes of one bulk string
)

// reply is what is kept of one reply.
type reply struct {
	failed bool  // it is or contains an error
	sum    int64 // of its integers
	bulks  int   // its bulk strings that are not null
}

// skipper walks RESP2 replies where they lie, without allocating, and keeps of
// each only what reply holds. It can stop at any byte and go on later. Nesting
// needs no stack: an array of n adds n to the values still to come.
type skipper struct {
	reply
	values  int    // still to come in this reply; 0 between replies
	body    int    // bytes still to come of a bulk string, its line end included
	errText string // the start of the first error reply ever seen
}

// skip walks on through buf and returns how many bytes it is done with, and
// whether they end a reply. Where not, call it again with the bytes behind
// those and more after them.
func (s *skipper) skip(buf []byte) (n int, done bool, err error) {
	if s.values == 0 {
		s.reply, s.values = reply{}, 1
	}
	for s.values > 0 {
		n += s.skipFlags(buf[n:])
		n += s.skipBody(buf[n:])
		if s.body > 0 || s.values == 0 {
			break
		}
		eol := bytes.IndexByte(buf[n:], '\n')
		if eol < 0 {
			break
		}
		if err := s.line(buf[n : n+eol]); err != nil {
			return n, false, err
		}
		n += eol + 1
	}
	return n, s.values == 0, nil
}

// skipFlags is the fast path: a run of the integers 0 and 1.
func (s *skipper) skipFlags(buf []byte) (n int) {
	const flag = ':' | '0'<<8 | '\r'<<16 | '\n'<<24
	if s.body > 0 {
		return 0
	}
	for s.values > 0 && len(buf)-n >= 4 {
		word := binary.LittleEndian.Uint32(buf[n:])
		if word&^(1<<8) != flag {
			break
		}
		s.sum += int64(word >> 8 & 1)
		s.values--
		n += 4
	}
	return n
}

// skipBody skips what is there of a bulk string.
func (s *skipper) skipBody(buf []byte) int {
	if s.body == 0 {
		return 0
	}
	n := min(s.body, len(buf))
	if s.body -= n; s.body == 0 {
		s.values--
	}
	return n
}

var errLine = errors.New("reply is not RESP2: a line does not end in CRLF")

// line takes one line, without its newline.
func (s *skipper) line(line []byte) error {
	if len(line) < 2 || line[len(line)-1] != '\r' {
		return errLine
	}
	kind, text := line[0], line[1:len(line)-1]
	if kind == '+' || kind == '-' {
		s.status(kind, text)
		return nil
	}
	n, ok := parseInt(text)
	switch {
	case kind == ':' && ok:
		s.sum += n
		s.values--
	case kind == '$' && ok && n >= -1 && n <= maxBulk:
		s.bulk(int(n))
	case kind == '*' && ok && n >= -1 && n <= maxValues && s.values+int(n) <= maxValues:
		s.values += max(int(n), 0) - 1
	default:
		return fmt.Errorf("reply is not RESP2, or beyond its limits: a line %q", line[:min(len(line), 40)])
	}
	return nil
}

// status takes a simple string or an error.
func (s *skipper) status(kind byte, text []byte) {
	s.values--
	if kind == '+' {
		return
	}
	s.failed = true
	if s.errText == "" {
		s.errText = string(text[:min(len(text), 200)])
	}
}

// bulk takes the length of a bulk string.
func (s *skipper) bulk(size int) {
	if size < 0 {
		s.values--
		return
	}
	s.bulks++
	s.body = size + len("\r\n")
}

// parseInt reads a decimal of at most 19 digits. Beyond 64 bits it wraps, to values
// that no length has.
func parseInt(text []byte) (n int64, ok bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > 19 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}
