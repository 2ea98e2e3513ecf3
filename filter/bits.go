package filter

import (
	"encoding/binary"
	"math/bits"
)

// load64 returns the eight bytes at off as a little-endian word; bytes beyond
// the end of b read as zero, for any off below 2^63, so that a forged position
// cannot panic.
func load64(b []byte, off uint) uint64 {
	if off+8 <= uint(len(b)) {
		return binary.LittleEndian.Uint64(b[off:])
	}
	return loadTail(b, off)
}

// loadTail is load64 for a word that reaches beyond the end of b.
func loadTail(b []byte, off uint) uint64 {
	size := uint(len(b))
	if off >= size {
		return 0
	}
	if size >= 8 {
		return binary.LittleEndian.Uint64(b[size-8:]) >> (8 * (off + 8 - size))
	}
	var word uint64
	for i, c := range b[off:] {
		word |= uint64(c) << (8 * uint(i))
	}
	return word
}

// loadBits returns the width bits (0 to 64) that begin at bit pos of the
// stream which begins at byte base of b. Bit 0 of a byte is its lowest.
func loadBits(b []byte, base, pos, width uint) uint64 {
	off, shift := base+pos/8, pos%8
	word := load64(b, off) >> shift
	if shift+width > 64 {
		word |= load64(b, off+8) << (64 - shift)
	}
	return word & (1<<width - 1)
}

const (
	ones8  = 0x0101010101010101
	highs8 = 0x8080808080808080
)

// select64 returns the position of the one-bit of rank k (0 is the lowest) in
// word, which must have more than k ones. Broadword, without branches: the
// number of ones up to and including each byte finds the byte, then a table
// finds the bit in it (S. Vigna, Broadword implementation of rank/select
// queries, 2008).
func select64(word uint64, k uint) uint {
	s := word - word>>1&0x5555555555555555
	s = s&0x3333333333333333 + s>>2&0x3333333333333333
	s = (s + s>>4) & 0x0F0F0F0F0F0F0F0F * ones8
	atMost := ((uint64(k)*ones8 | highs8) - s) & highs8 // bytes with s <= k
	place := uint(bits.OnesCount64(atMost)) * 8
	k -= uint(s<<8>>place) & 0xFF
	return place + uint(selectByte[k&7][word>>place&0xFF])
}

// selectByte[k][b] is the position of the one-bit of rank k in byte b.
var selectByte = func() (table [8][256]uint8) {
	for b := range 256 {
		rank := 0
		for pos := range 8 {
			if b>>pos&1 == 1 {
				table[rank][b] = uint8(pos)
				rank++
			}
		}
	}
	return table
}()

// bitWriter appends bit fields to a zeroed buffer. It only ever sets bits, so
// others may set bits of the same bytes.
type bitWriter struct {
	buf  []byte // the stream; ends where the last field ends
	off  int    // where acc goes
	acc  uint64 // bits not yet written
	fill uint   // how many they are, below 64
}

// newBitWriter starts at bit pos of buf.
func newBitWriter(buf []byte, pos uint) bitWriter {
	return bitWriter{buf: buf, off: int(pos / 8), fill: pos % 8}
}

// put appends the width (0 to 64) low bits of v, whose others must be zero.
func (w *bitWriter) put(v uint64, width uint) {
	w.acc |= v << w.fill
	if w.fill+width < 64 {
		w.fill += width
		return
	}
	word := w.buf[w.off : w.off+8]
	binary.LittleEndian.PutUint64(word, binary.LittleEndian.Uint64(word)|w.acc)
	w.off += 8
	w.acc = v >> (64 - w.fill)
	w.fill += width - 64
}

// flush writes the bits that put still holds.
func (w *bitWriter) flush() {
	for ; w.acc != 0; w.acc >>= 8 {
		w.buf[w.off] |= byte(w.acc)
		w.off++
	}
}
