package policy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

var errTruncated = errors.New("truncated")

// A decoder reads fields until one is wrong; the first error stays.
type decoder struct {
	data []byte
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
		d.data = nil
	}
}

func (d *decoder) byte() byte {
	if len(d.data) == 0 {
		d.fail("%w", errTruncated)
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return b
}

func (d *decoder) uvarint() uint64 {
	value, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.fail("%w", errTruncated)
		return 0
	}
	d.data = d.data[n:]
	return value
}

// number reads a value of 0 to most.
func (d *decoder) number(what string, most int64) int64 {
	value := d.uvarint()
	if value > uint64(most) {
		d.fail("%s %d is above %d", what, value, most)
		return 0
	}
	return int64(value)
}

func (d *decoder) time() int64 { return d.number("time", MaxTime) }

// count reads how many elements follow; each has at least one byte.
func (d *decoder) count(what string, most int) int {
	n := d.number(what, int64(most))
	if n > int64(len(d.data)) {
		d.fail("%w", errTruncated)
		return 0
	}
	return int(n)
}

func (d *decoder) text(what string, most int) string {
	n := d.count(what, most)
	text := string(d.data[:n])
	d.data = d.data[n:]
	return text
}

func (d *decoder) float() float64 {
	if len(d.data) < 8 {
		d.fail("%w", errTruncated)
		return 0
	}
	value := math.Float64frombits(binary.BigEndian.Uint64(d.data))
	d.data = d.data[8:]
	return value
}

func (d *decoder) format(what string, known byte) {
	if got := d.byte(); d.err == nil && got != known {
		d.fail("%s format %d, this version knows %d", what, got, known)
	}
}

func (d *decoder) end() error {
	if d.err == nil && len(d.data) > 0 {
		d.fail("%d bytes too many", len(d.data))
	}
	return d.err
}

func appendText(dst []byte, text string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}
