package filter

import (
	"encoding/binary"
	"math/bits"
)

const (
	// MaxWidth is the width of an exact set: the whole salted hash, in bits.
	MaxWidth = 64
	// MaxLen is the largest number of fingerprints of one set. Its directory
	// counts in 32 bits.
	MaxLen = 1<<32 - 1

	// blockBits is the logarithm of the number of buckets between two entries
	// of the directory.
	blockBits = 7
)

// layout says where the parts of an encoded set lie. It follows from the
// header alone; FORMAT.md has the picture.
type layout struct {
	n    uint32 // fingerprints
	q, r uint8  // bits of a fingerprint, and of its upper part
	dir  uint8  // byte where the directory begins, after the header
	bits uint   // byte where the bit stream begins, after the directory
}

// layoutOf lays out n fingerprints of q bits; 1 <= q <= 64 and n <= 2^q.
func layoutOf(n uint32, q uint8) layout {
	l := layout{n: n, q: q, dir: uint8(2 + uvarintLen(uint64(n)))}
	if n > 0 {
		l.r = uint8(bits.Len32(n - 1))
	}
	l.bits = uint(l.dir) + l.blocks()*l.entrySize()
	return l
}

// buckets is B, the number of values of an upper part.
func (l *layout) buckets() uint { return 1 << l.r }

// upperBits is the length of the unary part: a one for each fingerprint and a
// zero at the end of each bucket. An empty set has none.
func (l *layout) upperBits() uint {
	if l.n == 0 {
		return 0
	}
	return uint(l.n) + l.buckets()
}

// lowWidth is the number of bits of a fingerprint that are stored verbatim.
func (l *layout) lowWidth() uint { return uint(l.q - l.r) }

// blocks is the number of entries of the directory: one for every 2^blockBits
// buckets but the first.
func (l *layout) blocks() uint {
	if l.r <= blockBits {
		return 0
	}
	return 1<<(l.r-blockBits) - 1
}

// entrySize is the number of bytes of an entry of the directory.
func (l *layout) entrySize() uint {
	if l.n <= 1<<16-1 {
		return 2
	}
	return 4
}

// size is the length of the whole encoding in bytes. It cannot overflow 64
// bits: n < 2^32 and every part is below 2^39.
func (l *layout) size() uint64 {
	return uint64(l.bits) + (uint64(l.upperBits())+uint64(l.n)*uint64(l.lowWidth())+7)/8
}

// blockCount reads entry block (1 to blocks) of the directory: the number of
// fingerprints in the buckets before that block.
func (l *layout) blockCount(raw []byte, block uint) uint {
	if l.entrySize() == 2 {
		return uint(binary.LittleEndian.Uint16(raw[uint(l.dir)+(block-1)*2:]))
	}
	return uint(binary.LittleEndian.Uint32(raw[uint(l.dir)+(block-1)*4:]))
}

// putBlockCount writes entry block of the directory.
func (l *layout) putBlockCount(raw []byte, block, count uint) {
	if l.entrySize() == 2 {
		binary.LittleEndian.PutUint16(raw[uint(l.dir)+(block-1)*2:], uint16(count))
		return
	}
	binary.LittleEndian.PutUint32(raw[uint(l.dir)+(block-1)*4:], uint32(count))
}

// EncodedSize returns the number of bytes of a set of n distinct fingerprints
// of width bits.
func EncodedSize(n, width int) int {
	l := layoutOf(uint32(n), uint8(width))
	return int(l.size())
}

// uvarintLen is the number of bytes of v as a uvarint.
func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// readUvarint reads a uvarint in its shortest form, the only one accepted; ok
// is false for any other or if b ends before it does.
func readUvarint(b []byte) (v uint64, size int, ok bool) {
	v, size = binary.Uvarint(b)
	return v, size, size > 0 && size == uvarintLen(v)
}
