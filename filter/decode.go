package filter

import (
	"fmt"
	"math/bits"
	"slices"
)

// AppendHashes appends the fingerprints of the set in ascending order, each
// left-aligned in 64 bits with zeros behind, and returns the extended slice.
// It checks the whole content: a nil error means that the set is in the one
// form that [AppendSet] writes. On an error, which wraps [ErrDamaged], dst
// comes back as it was. It allocates only to grow dst, at most 32 bytes for
// each byte of the set.
func (s Set) AppendHashes(dst []uint64) ([]uint64, error) {
	start := len(dst)
	dst = slices.Grow(dst, int(s.n))
	out := dst[start : start+int(s.n)]
	if !s.decode(out) || !s.directoryHolds(out) || !s.endsInZeros() {
		return dst[:start], fmt.Errorf("content of a set of %d fingerprints of %d bits: %w", s.n, s.q, ErrDamaged)
	}
	return dst[:start+int(s.n)], nil
}

// decode fills out, of length n, and reports whether the unary part has n ones
// and all of its zeros, and the fingerprints ascend.
func (s *Set) decode(out []uint64) bool {
	c := s.cursor()
	if c.fill(out) < len(out) || !c.atEnd() {
		return false
	}
	for i := 1; i < len(out); i++ {
		if out[i] <= out[i-1] {
			return false
		}
	}
	return true
}

// directoryHolds reports whether the directory says what the fingerprints do.
func (s *Set) directoryHolds(hashes []uint64) bool {
	for block := uint(1); block <= s.blocks(); block++ {
		first := uint64(block) << blockBits << (64 - s.r)
		count := s.blockCount(s.raw, block)
		if count > uint(len(hashes)) ||
			count > 0 && hashes[count-1] >= first ||
			count < uint(len(hashes)) && hashes[count] < first {
			return false
		}
	}
	return true
}

// endsInZeros reports whether the bits behind the last field, which fill up
// the last byte, are zero.
func (s *Set) endsInZeros() bool {
	used := s.upperBits() + uint(s.n)*s.lowWidth()
	return loadBits(s.raw, s.bits, used, -used%8) == 0
}

// cursor walks over the fingerprints of a set in ascending order. It stops
// early, and atEnd is false, if the unary part is damaged.
type cursor struct {
	raw   []byte
	n     uint   // fingerprints of the set
	i     uint   // fingerprints passed
	base  uint   // byte where the bit stream begins
	upper uint   // length of its unary part
	width uint   // of the low bits
	shift uint   // to the left of a fingerprint
	word  uint64 // ones of the current word of the unary part still to come
	off   uint   // bit of the unary part where that word begins
}

// cursor returns a cursor before the first fingerprint.
func (s *Set) cursor() cursor {
	c := cursor{
		raw: s.raw, n: uint(s.n), base: s.bits,
		upper: s.upperBits(), width: s.lowWidth(), shift: uint(64 - s.q),
	}
	c.word = c.upperWord(0)
	return c
}

// upperWord returns the 64 bits of the unary part that begin at bit off.
func (c *cursor) upperWord(off uint) uint64 {
	word := load64(c.raw, c.base+off/8)
	if left := c.upper - off; left < 64 {
		word &= 1<<left - 1
	}
	return word
}

// fill writes the next fingerprints, left-aligned, to out and returns how many:
// fewer than its length only behind the last.
func (c *cursor) fill(out []uint64) int {
	out = out[:min(uint(len(out)), c.n-c.i)]
	raw, base, width, shift := c.raw, c.base, c.width, c.shift
	word, off, i := c.word, c.off, c.i
	low := c.upper + i*width
	for k := range out {
		for word == 0 {
			if off += 64; off >= c.upper {
				c.word, c.off, c.i = 0, off-64, i
				return k
			}
			word = c.upperWord(off)
		}
		bucket := off + uint(bits.TrailingZeros64(word)) - i
		word &= word - 1
		out[k] = (uint64(bucket)<<width | loadBits(raw, base, low, width)) << shift
		low += width
		i++
	}
	c.word, c.off, c.i = word, off, i
	return len(out)
}

// atEnd reports whether exactly the fingerprints of the header were passed and
// the unary part ends in a zero, as it must.
func (c *cursor) atEnd() bool {
	for c.word == 0 && c.off+64 < c.upper {
		c.off += 64
		c.word = c.upperWord(c.off)
	}
	return c.i == c.n && c.word == 0 &&
		(c.n == 0 || loadBits(c.raw, c.base, c.upper-1, 1) == 0)
}
