package commands

import (
	"math"
	"strconv"

	"github.com/tidwall/redcon"
)

// reply writes RESP2, or RESP3 after HELLO 3, to the end of buf. Replies of
// DEDUP.* use only what is the same in both.
type reply struct {
	buf   []byte
	proto int
}

func (r *reply) simple(s string) { r.buf = redcon.AppendString(r.buf, s) }

func (r *reply) ok() { r.buf = append(r.buf, "+OK\r\n"...) }

func (r *reply) error(text string) { r.buf = redcon.AppendError(r.buf, text) }

func (r *reply) int(n int64) { r.buf = redcon.AppendInt(r.buf, n) }

func (r *reply) bulk(b []byte) { r.buf = redcon.AppendBulk(r.buf, b) }

func (r *reply) text(s string) { r.buf = redcon.AppendBulkString(r.buf, s) }

func (r *reply) array(n int) { r.buf = redcon.AppendArray(r.buf, n) }

// null is RESP3's null, or RESP2's null bulk.
func (r *reply) null() {
	if r.proto == 3 {
		r.buf = append(r.buf, "_\r\n"...)
		return
	}
	r.buf = redcon.AppendNull(r.buf)
}

// mapping announces n pairs: a map, or RESP2's flat array.
func (r *reply) mapping(n int) {
	if r.proto == 3 {
		r.header('%', n)
		return
	}
	r.array(2 * n)
}

// set announces n elements: a set, or RESP2's array.
func (r *reply) set(n int) {
	if r.proto == 3 {
		r.header('~', n)
		return
	}
	r.array(n)
}

// verbatim is text to be shown as it is: a verbatim string, or a bulk.
func (r *reply) verbatim(s string) {
	if r.proto == 3 {
		r.header('=', len(s)+len("txt:"))
		r.buf = append(r.buf, "txt:"...)
		r.buf = append(r.buf, s...)
		r.buf = append(r.buf, "\r\n"...)
		return
	}
	r.text(s)
}

func (r *reply) header(kind byte, n int) {
	r.buf = append(r.buf, kind)
	r.buf = strconv.AppendInt(r.buf, int64(n), 10)
	r.buf = append(r.buf, "\r\n"...)
}

// flags is an array of 1 and 0.
func (r *reply) flags(flags []bool) {
	r.array(len(flags))
	const one, zero = ":1\r\n", ":0\r\n"
	for _, f := range flags {
		if f {
			r.buf = append(r.buf, one...)
		} else {
			r.buf = append(r.buf, zero...)
		}
	}
}

// flag is 1 or 0.
func (r *reply) flag(f bool) {
	if f {
		r.int(1)
		return
	}
	r.int(0)
}

// parseInt reads a decimal integer as Redis does: no sign but '-', no spaces,
// no leading zeros.
func parseInt(b []byte, low, high int64) (int64, bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	digits := b
	if b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || digits[0] == '0' && len(b) > 1 {
		return 0, false
	}
	var n uint64
	for _, c := range digits {
		d := uint64(c - '0')
		if d > 9 || n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	v := int64(n)
	switch {
	case b[0] == '-' && n <= 1<<63:
		v = -v
	case n > math.MaxInt64:
		return 0, false
	}
	return v, v >= low && v <= high
}
