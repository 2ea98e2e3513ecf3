package filter

import "slices"

// AppendSet appends to dst the set of the fingerprints of width bits (1 to
// 64) of the given salted hashes, and returns the extended slice. The hashes
// must be in ascending order; those that are equal once cut count once. Equal
// sets of fingerprints give equal bytes.
//
// It panics if the hashes are out of order, the width is out of range or more
// than [MaxLen] fingerprints remain: mistakes of the caller, not of the data.
func AppendSet(dst []byte, width int, sortedHashes []uint64) []byte {
	if width < 1 || width > MaxWidth {
		panic("filter: width out of range")
	}
	l := layoutOf(countDistinct(sortedHashes, 64-uint(width)), uint8(width))
	size := int(l.size())
	dst = slices.Grow(dst, size)
	raw := dst[len(dst) : len(dst)+size]
	clear(raw)
	l.putHeader(raw)
	l.putContent(raw, sortedHashes)
	return dst[:len(dst)+size]
}

// countDistinct counts the different values that sorted hashes have without
// their lowest cut bits.
func countDistinct(hashes []uint64, cut uint) uint32 {
	if len(hashes) == 0 {
		return 0
	}
	n, prev := 1, hashes[0]
	for _, h := range hashes[1:] {
		if h < prev {
			panic("filter: hashes are not sorted")
		}
		if (h^prev)>>cut != 0 {
			n++
		}
		prev = h
	}
	if n > MaxLen {
		panic("filter: too many fingerprints for one set")
	}
	return uint32(n)
}

// putHeader writes the header of l.
func (l *layout) putHeader(raw []byte) {
	raw[0], raw[1] = tag(kindSet), l.q
	i, v := 2, l.n
	for ; v >= 0x80; v >>= 7 {
		raw[i] = byte(v) | 0x80
		i++
	}
	raw[i] = byte(v)
}

// putContent writes the directory and the bit stream of l.
func (l *layout) putContent(raw []byte, hashes []uint64) {
	if l.n == 0 {
		return
	}
	var (
		stream = raw[l.bits:]
		cut    = 64 - uint(l.q)
		width  = l.lowWidth()
		mask   = uint64(1)<<width - 1
		lows   = newBitWriter(stream, l.upperBits())
		block  = uint(1) // next entry of the directory
		prev   = ^(hashes[0] >> cut)
		i      = uint(0)
	)
	for _, h := range hashes {
		f := h >> cut
		if f == prev {
			continue
		}
		prev = f
		bucket := uint(f >> width)
		for ; block <= bucket>>blockBits; block++ {
			l.putBlockCount(raw, block, i)
		}
		pos := bucket + i
		stream[pos/8] |= 1 << (pos % 8)
		lows.put(f&mask, width)
		i++
	}
	lows.flush()
	for ; block <= l.blocks(); block++ {
		l.putBlockCount(raw, block, i)
	}
}
