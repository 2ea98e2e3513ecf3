package filter

import (
	"cmp"
	"encoding/binary"
)

// Part tells the two sets of one window apart.
type Part uint8

const (
	// Main takes what arrives until the window is sealed, and is then narrowed.
	Main Part = iota
	// Late takes what arrives after the seal, and keeps its full width.
	Late
)

// Label says which set of a key a stored set is part of. Sets are united
// within a label and never across labels: a window that begins at a cut is
// another window than the one that begins at the calendar's edge, although
// both have the same number.
type Label struct {
	Number int64 // calendar number of the window, may be negative
	Cut    int64 // time of the cut at which it begins, Unix ms; 0: at its edge
	Part   Part
}

// Compare orders labels by number, then cut, then part; the order of a row.
func (l Label) Compare(other Label) int {
	return cmp.Or(
		cmp.Compare(l.Number, other.Number),
		cmp.Compare(l.Cut, other.Cut),
		cmp.Compare(l.Part, other.Part),
	)
}

// Flags of an encoded label: its first byte.
const (
	labelLate = 1 << iota
	labelCut
	labelFlags = labelLate | labelCut
)

// AppendLabel appends the encoded label and returns the extended slice.
func AppendLabel(dst []byte, l Label) []byte {
	var flags byte
	if l.Part == Late {
		flags |= labelLate
	}
	if l.Cut != 0 {
		flags |= labelCut
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, zigzag(l.Number))
	if l.Cut != 0 {
		dst = binary.AppendUvarint(dst, zigzag(l.Cut))
	}
	return dst
}

// parseLabel reads the label at the front of b, only in the form that
// AppendLabel writes.
func parseLabel(b []byte) (l Label, rest []byte, err error) {
	if len(b) == 0 || b[0]&^labelFlags != 0 {
		return Label{}, b, ErrDamaged
	}
	flags := b[0]
	l.Part = Part(flags & labelLate)
	number, size, ok := readUvarint(b[1:])
	if !ok {
		return Label{}, b, ErrDamaged
	}
	l.Number, b = unzigzag(number), b[1+size:]
	if flags&labelCut == 0 {
		return l, b, nil
	}
	cut, size, ok := readUvarint(b)
	if !ok || cut == 0 {
		return Label{}, b, ErrDamaged
	}
	l.Cut = unzigzag(cut)
	return l, b[size:], nil
}

// zigzag maps small numbers of either sign to small unsigned ones.
func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

// unzigzag undoes zigzag.
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
