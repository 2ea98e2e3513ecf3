package filter

import (
	"fmt"
	"math/bits"
)

// Set is a sorted set of fingerprints of one width, Elias-Fano coded and
// queried where it lies: the upper parts in unary over buckets, the low bits
// packed behind them, a small directory before both when there are many.
//
// A Set is a view of the bytes it was parsed from, which must not change while
// it is in use. It is a cheap immutable value; any number of readers may use
// it at once. The zero Set is empty.
type Set struct {
	raw []byte // header, directory, bit stream; nothing behind
	layout
}

// Parse reads the set at the front of b and returns it with the bytes behind
// it. It takes constant time: the header is checked, and the length that
// follows from it; the content is only checked when it is decoded, and no
// content makes a method panic or read outside b.
//
// The error wraps [ErrDamaged], [ErrVersion] or [ErrForeignSalt].
func Parse(b []byte) (s Set, rest []byte, err error) {
	l, err := parseHeader(b)
	if err != nil {
		return Set{}, b, fmt.Errorf("set header: %w", err)
	}
	size := l.size()
	if size > uint64(len(b)) {
		return Set{}, b, fmt.Errorf("set of %d fingerprints of %d bits in %d bytes: %w", l.n, l.q, len(b), ErrDamaged)
	}
	return Set{raw: b[:size:size], layout: l}, b[size:], nil
}

// parseHeader reads kind, version, width and number of fingerprints.
func parseHeader(b []byte) (layout, error) {
	if len(b) < 3 {
		return layout{}, ErrDamaged
	}
	if err := checkTag(b[0], kindSet); err != nil {
		return layout{}, err
	}
	q := b[1]
	if q < 1 || q > MaxWidth {
		return layout{}, ErrDamaged
	}
	n, _, ok := readUvarint(b[2:])
	if !ok || n > MaxLen || n > 0 && bits.Len64(n-1) > int(q) {
		return layout{}, ErrDamaged
	}
	return layoutOf(uint32(n), q), nil
}

// Len is the number of fingerprints: the number of items, less those that
// share a fingerprint with another.
func (s Set) Len() int { return int(s.n) }

// Width is the number of bits of a fingerprint, 1 to 64; of the zero Set 0.
func (s Set) Width() int { return int(s.q) }

// Bytes is the encoded set, as stored. It must not be modified.
func (s Set) Bytes() []byte { return s.raw }

// Contains reports whether the set holds the fingerprint of a salted hash
// (see [Salt.Mix]). It does not allocate.
func (s *Set) Contains(hash uint64) bool {
	if s.n == 0 {
		return false
	}
	bucket := uint(hash >> (64 - s.r)) // 0 if r is 0
	start := s.bucketStart(bucket)
	end := start + s.runLength(start)
	width := s.lowWidth()
	want := hash << s.r >> (64 - width)
	pos := s.upperBits() + (start-bucket)*width
	for ; start < end; start++ {
		if low := loadBits(s.raw, s.bits, pos, width); low >= want {
			return low == want
		}
		pos += width
	}
	return false
}

// runLength returns the number of ones from bit pos of the stream on; within
// the unary part, the number of fingerprints of the bucket that begins there.
func (s *Set) runLength(pos uint) uint {
	off, shift := s.bits+pos/8, pos%8
	zeros := ^load64(s.raw, off) >> shift << shift
	for zeros == 0 {
		off += 8
		zeros = ^load64(s.raw, off)
	}
	return (off-s.bits)*8 + uint(bits.TrailingZeros64(zeros)) - pos
}

// bucketStart returns where in the unary part bucket begins: behind as many
// zeros as there are buckets before it. The directory says how many ones lie
// before its block of 2^blockBits buckets, so the search passes a few words.
func (s *Set) bucketStart(bucket uint) uint {
	pos, zeros := uint(0), bucket
	if block := bucket >> blockBits; block > 0 {
		pos = s.blockCount(s.raw, block) + block<<blockBits
		zeros = bucket & (1<<blockBits - 1)
	}
	if zeros == 0 {
		return pos
	}
	off := s.bits + pos/8
	word := ^load64(s.raw, off) >> (pos % 8) << (pos % 8)
	for {
		count := uint(bits.OnesCount64(word))
		if zeros <= count {
			return (off-s.bits)*8 + select64(word, zeros-1) + 1
		}
		zeros -= count
		off += 8
		word = ^load64(s.raw, off)
	}
}
