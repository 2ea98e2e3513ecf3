package server

import (
	"bytes"
	"unsafe"
)

// parser cuts a byte stream into commands. It copies nothing: it notes where
// the arguments lie, as offsets from the first byte of the command, so the
// buffer that holds the bytes may move between calls. What it has found out
// about an incomplete command it keeps, so that the work is linear in the bytes
// however they are cut; no byte of a length line or an inline command is
// searched twice, and the bytes of an argument are not looked at.
//
// A parser belongs to one connection's goroutine.
type parser struct {
	limits Limits // what holds now
	hard   Limits // what holds for authenticated clients
	pre    Limits // what holds for the others; nowhere above hard

	args []span // the arguments of the current command so far; nobody else holds the array

	pos    int // bytes of the current command that are done with
	sought int // bytes after pos in which no newline was found
	left   int // arguments still to come; 0 before the command's first line is complete
	bulk   int // length of the argument at pos; noBulk while its length line is to come

	examined int64 // bytes looked at, for the tests that hold the work to be linear
}

// span is an argument's place, from the first byte of its command.
type span struct{ off, len uint32 }

const noBulk = -1

func (p *parser) init(hard, pre Limits) {
	p.hard, p.pre = hard, pre.within(hard)
	p.limits = p.pre
	p.bulk = noBulk
}

// allow chooses the bounds for the commands that follow.
func (p *parser) allow(authenticated bool) {
	p.limits = p.pre
	if authenticated {
		p.limits = p.hard
	}
}

// next looks for one command in data, which must begin where the current
// command begins and must hold at least what it held at the last call. It
// returns the command's size in bytes, or 0 if more bytes are needed. The
// arguments are then in p.args until the next call; an empty command has none.
// An inline command's bytes may be rewritten in place (quotes taken off).
// After an error the parser is not to be used again.
func (p *parser) next(data []byte) (int, error) {
	if p.left == 0 {
		p.args = p.args[:0]
		if len(data) == 0 {
			return 0, nil
		}
		if data[0] != '*' {
			return p.inline(data)
		}
		size, err := p.count(data)
		if size == 0 || err != nil || p.left == 0 {
			return size, err
		}
	}
	return p.arguments(data)
}

// done makes p ready for the next command and returns the size of this one.
func (p *parser) done(size int) int {
	p.pos, p.sought, p.left, p.bulk = 0, 0, 0, noBulk
	return size
}

// count reads the first line of a multibulk command. It returns 0 if the line
// is incomplete, else its size; p.left is 0 then if the command is empty.
func (p *parser) count(data []byte) (int, error) {
	line, err := p.line(data, errMultibulkLine)
	if line == nil || err != nil {
		return 0, err
	}
	n, ok := parseLength(line[1:])
	switch {
	case !ok || n > int64(p.hard.MaxArgs):
		return 0, errMultibulkLength
	case n > int64(p.limits.MaxArgs):
		return 0, errMultibulkUnauth
	case n <= 0:
		return p.done(p.pos), nil
	}
	p.left = int(n)
	return p.pos, nil
}

// arguments reads what follows the first line.
func (p *parser) arguments(data []byte) (int, error) {
	for p.left > 0 {
		if p.bulk == noBulk {
			p.whole(data)
			if p.left == 0 {
				break
			}
			if err := p.length(data); err != nil || p.bulk == noBulk {
				return 0, err
			}
		}
		end := p.pos + p.bulk
		if len(data) < end+2 {
			return 0, nil
		}
		if data[end] != '\r' || data[end+1] != '\n' {
			return 0, errBulkEnd
		}
		p.args = append(p.args, span{uint32(p.pos), uint32(p.bulk)})
		p.pos, p.bulk = end+2, noBulk
		p.left--
	}
	return p.done(p.pos), nil
}

// whole takes the arguments that are complete in data, for as long as there is
// nothing unusual about them; everything else it leaves to length. It is the
// server's innermost loop: about all of a large command goes through here.
func (p *parser) whole(data []byte) {
	if p.sought > 0 {
		return // a length line came in pieces: the slow way once
	}
	pos, left, examined := p.pos, p.left, 0
	args := p.args
	maxBulk, maxCommand := p.limits.MaxBulk, p.limits.MaxCommand
	for left > 0 {
		if len(data)-pos < len("$0\r\n\r\n") {
			break
		}
		d := data[pos:]
		n := int(d[1]) - '0'
		if d[0] != '$' || uint(n) > 9 {
			break
		}
		i := 2
		if c := d[2]; c != '\r' {
			if n == 0 {
				break
			}
			for ; i < len(d)-4 && i < 10 && c-'0' <= 9; c = d[i] {
				n = n*10 + int(c-'0')
				i++
			}
		}
		// Here n < 10^9 and i <= 10, so the sums below cannot overflow.
		end := i + 2 + n
		if n > maxBulk || end > len(d)-2 || pos+end+2 > maxCommand ||
			d[i] != '\r' || d[i+1] != '\n' || d[end] != '\r' || d[end+1] != '\n' {
			break
		}
		args = append(args, span{uint32(pos + i + 2), uint32(n)})
		examined += i + 4
		pos += end + 2
		left--
	}
	p.pos, p.left, p.args = pos, left, args
	p.examined += int64(examined)
}

// length reads the length line of the next argument; p.bulk stays noBulk if
// the line is incomplete.
func (p *parser) length(data []byte) error {
	if p.pos < len(data) && data[p.pos] != '$' {
		return errExpectedBulk(data[p.pos])
	}
	line, err := p.line(data, errBulkLine)
	if line == nil || err != nil {
		return err
	}
	n, ok := parseLength(line[1:])
	switch {
	case !ok || n < 0 || n > int64(p.hard.MaxBulk):
		return errBulkLength
	case n > int64(p.limits.MaxBulk):
		return errBulkUnauth
	case p.pos+int(n)+2 > p.limits.MaxCommand:
		return errCommandLength
	}
	p.bulk = int(n)
	return nil
}

// line returns the line at p.pos without its CRLF and moves p.pos behind it,
// or nil if its end is not there yet. A line that ends in a bare newline is
// returned with a trailing newline, which no length has.
func (p *parser) line(data []byte, tooLong protocolError) ([]byte, error) {
	rest := data[p.pos:]
	end := p.newline(rest)
	if end > p.limits.MaxInline || end < 0 && len(rest) > p.limits.MaxInline {
		return nil, tooLong
	}
	if end < 0 {
		return nil, nil
	}
	p.pos += end + 1
	if end > 0 && rest[end-1] == '\r' {
		return rest[:end-1], nil
	}
	return rest[:end+1], nil
}

// newline returns the index of the first newline in rest, or -1, without
// looking at a byte again that it has looked at before.
func (p *parser) newline(rest []byte) int {
	i := bytes.IndexByte(rest[p.sought:], '\n')
	if i < 0 {
		p.examined += int64(len(rest) - p.sought)
		p.sought = len(rest)
		return -1
	}
	p.examined += int64(i + 1)
	i += p.sought
	p.sought = 0
	return i
}

// parseLength reads a decimal number as strictly as Redis does: digits with no
// leading zero, "-" before them if negative, nothing else, within 64 bits.
func parseLength(s []byte) (n int64, ok bool) {
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 19 {
		return 0, false
	}
	if s[0] == '0' {
		return 0, len(s) == 1 && !negative
	}
	var u uint64 // 19 digits fit
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		u = u*10 + uint64(c-'0')
	}
	switch {
	case negative && u <= 1<<63:
		return -int64(u-1) - 1, true
	case !negative && u < 1<<63:
		return int64(u), true
	}
	return 0, false
}

// spanSize is what an argument takes while its command is incomplete.
const spanSize = int64(unsafe.Sizeof(span{}))

// large reports whether trim to size would give memory back.
func (p *parser) large(size int) bool { return cap(p.args) > max(size, 2*len(p.args)) }

// trim gives the array of arguments back if it is larger than size and out of
// proportion to what it holds. What it is replaced by grows to twice its content
// at most, so a command is copied once for that.
func (p *parser) trim(size int) {
	if p.large(size) {
		p.args = append([]span(nil), p.args...)
	}
}

// views appends the arguments found by next, as slices of data, to dst.
func (p *parser) views(dst [][]byte, data []byte) [][]byte {
	for _, a := range p.args {
		end := a.off + a.len
		dst = append(dst, data[a.off:end:end])
	}
	return dst
}
