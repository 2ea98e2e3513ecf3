package filter

import (
	"encoding/binary"
	"unsafe"
)

// word is an entry of a table.
type word interface{ uint32 | uint64 }

// An entry covers the values of x from least to greatest: those that begin
// with its bits before the mark. A gap covers none, and its greatest is that
// of all.
func least[W word](e W) W    { return e & (e - 1) }
func greatest[W word](e W) W { return e | (e - 1) }

// covers is 1 if e covers x, else 0.
func covers[W word](e, x W) uint8 {
	if (x^e)>>1 < e&-e {
		return 1
	}
	return 0
}

// entryOf is the entry of a fingerprint in a wide table; its upper 32 bits are
// that in a narrow one.
func entryOf(hash uint64, width int) uint64 {
	cut := 64 - uint(width)
	return hash>>cut<<cut<<1 | 1<<cut
}

// sizeOf is the number of bytes of an entry.
func sizeOf[W word]() uint { return uint(unsafe.Sizeof(W(0))) }

// load reads slot i.
func load[W word](slots []byte, i uint) W {
	if sizeOf[W]() == 4 {
		return W(binary.LittleEndian.Uint32(slots[i*4:]))
	}
	return W(binary.LittleEndian.Uint64(slots[i*8:]))
}

// store writes slot i.
func store[W word](slots []byte, i uint, e W) {
	if sizeOf[W]() == 4 {
		binary.LittleEndian.PutUint32(slots[i*4:], uint32(e))
		return
	}
	binary.LittleEndian.PutUint64(slots[i*8:], uint64(e))
}
