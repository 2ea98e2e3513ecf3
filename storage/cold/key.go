package cold

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
)

// Spaces, in the order in which rows lie: the first byte of a row key.
const (
	spaceSystem    = 0x10 // name
	spaceMeta      = 0x20 // group | key
	spaceDelivered = 0x30 // ttl | block | group | key
	spaceData      = 0x40 // class | block | group | key
	spaceEnd       = 0x50
)

// storedKey is the row that holds the highest stored slot: the system row
// without a name, the first row of all.
var storedKey = []byte{spaceSystem}

// appendNumber appends a number such that the bytes order as the numbers do: how
// many bytes follow, then these, highest first, without leading zeros. Negative
// numbers have no place in row keys; they count as 0.
func appendNumber(dst []byte, v int64) []byte {
	u := uint64(max(v, 0))
	n := (bits.Len64(u) + 7) / 8
	dst = append(dst, byte(n))
	for n--; n >= 0; n-- {
		dst = append(dst, byte(u>>(8*n)))
	}
	return dst
}

// parseNumber splits a number off the front of b.
func parseNumber(b []byte) (v int64, rest []byte, ok bool) {
	if len(b) == 0 || b[0] > 8 || len(b) < 1+int(b[0]) {
		return 0, b, false
	}
	var wide [8]byte
	n := int(b[0])
	copy(wide[8-n:], b[1:1+n])
	u := binary.BigEndian.Uint64(wide[:])
	return int64(u), b[1+n:], u>>63 == 0
}

func appendSystemKey(dst []byte, name string) []byte {
	return append(append(dst, spaceSystem), name...)
}

// A Space is a run of rows that hold one value a key: the meta rows, or the
// rows of one block. No table holds rows of two spaces, so that dropping a block
// frees its tables whole.
type Space struct {
	kind  byte
	class uint8
	ttl   int64
	block int64
}

// Meta is the space of the meta rows.
func Meta() Space { return Space{kind: spaceMeta} }

// Delivered is the space of one block of delivered lists. The ttl is any number
// that tells the caller's TTLs apart, such as their milliseconds.
func Delivered(ttl, block int64) Space { return Space{kind: spaceDelivered, ttl: ttl, block: block} }

// Data is the space of one block of a class. Classes are at most 255, blocks
// from 0 on.
func Data(class uint8, block int64) Space { return Space{kind: spaceData, class: class, block: block} }

// appendPrefix appends what the keys of all rows of the space begin with.
func (s Space) appendPrefix(dst []byte) []byte {
	dst = append(dst, s.kind)
	switch s.kind {
	case spaceDelivered:
		dst = appendNumber(appendNumber(dst, s.ttl), s.block)
	case spaceData:
		dst = appendNumber(append(dst, s.class), s.block)
	}
	return dst
}

// appendGroup appends what the keys of all rows of a group begin with.
func (s Space) appendGroup(dst []byte, group uint8) []byte {
	return append(s.appendPrefix(dst), group)
}

// appendKey appends the row key of a key.
func (s Space) appendKey(dst, key []byte) []byte {
	return append(s.appendGroup(dst, Group(key)), key...)
}

// parseSpace splits the space off the front of a row key, or of the first part
// of one that ends with it. System rows are in none.
func parseSpace(row []byte) (s Space, rest []byte, ok bool) {
	if len(row) == 0 {
		return s, row, false
	}
	s.kind, rest = row[0], row[1:]
	switch s.kind {
	case spaceMeta:
		return s, rest, true
	case spaceDelivered:
		if s.ttl, rest, ok = parseNumber(rest); ok {
			s.block, rest, ok = parseNumber(rest)
		}
		return s, rest, ok
	case spaceData:
		if len(rest) == 0 {
			return s, rest, false
		}
		s.class = rest[0]
		s.block, rest, ok = parseNumber(rest[1:])
		return s, rest, ok
	}
	return s, rest, false
}

// tableEnd is the first row key that may not share a table with row; nil if
// there is none. See Space.
func tableEnd(row []byte) []byte {
	if _, rest, ok := parseSpace(row); ok {
		return successor(row[:len(row)-len(rest)])
	}
	if len(row) > 0 && row[0] < spaceMeta {
		return []byte{spaceMeta}
	}
	return nil
}

// successor is the first key above all those that begin with prefix; nil if
// there is none.
func successor(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			next := bytes.Clone(prefix[:i+1])
			next[i]++
			return next
		}
	}
	return nil
}

// CompareKeys orders keys as their rows lie within a space: by group, then by
// bytes. To sort many keys, get each one's Group once and compare that first.
func CompareKeys(a, b []byte) int {
	return cmp.Or(cmp.Compare(Group(a), Group(b)), bytes.Compare(a, b))
}
