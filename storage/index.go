package storage

import "sync/atomic"

// index finds a key's entry by the key's salt: open addressing over words of
// tag (upper half) and ref (lower half), linear probing, deletion by shifting
// back. Equal tags are only a hint: the shard compares keys. Guarded by the
// shard's lock.
type index struct {
	slots []uint64
	n     int
	used  *atomic.Int64
}

const minIndex = 16

func newIndex(used *atomic.Int64) index {
	used.Add(minIndex * 8)
	return index{slots: make([]uint64, minIndex), used: used}
}

// tagOf takes bits that do not choose the shard (those are the top ones).
func tagOf(salt uint64) uint32 { return uint32(salt >> 16) }

func pack(tag uint32, r ref) uint64 { return uint64(tag)<<32 | uint64(r) }

func (x *index) mask() uint32 { return uint32(len(x.slots) - 1) }

func (x *index) insert(tag uint32, r ref) {
	if (x.n+1)*4 > len(x.slots)*3 {
		x.resize(len(x.slots) * 2)
	}
	x.place(pack(tag, r))
	x.n++
}

func (x *index) place(slot uint64) {
	mask := x.mask()
	i := uint32(slot>>32) & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = slot
}

// remove takes out the entry r, which must be there under tag.
func (x *index) remove(tag uint32, r ref) {
	mask := x.mask()
	i := tag & mask
	for x.slots[i] != pack(tag, r) {
		i = (i + 1) & mask
	}
	for j := (i + 1) & mask; x.slots[j] != 0; j = (j + 1) & mask {
		home := uint32(x.slots[j]>>32) & mask
		if (j-home)&mask >= (j-i)&mask { // its home is not behind the hole
			x.slots[i] = x.slots[j]
			i = j
		}
	}
	x.slots[i] = 0
	x.n--
	if len(x.slots) > minIndex && x.n*8 < len(x.slots) {
		x.resize(len(x.slots) / 2)
	}
}

func (x *index) resize(size int) {
	old := x.slots
	x.used.Add(int64(size-len(old)) * 8)
	x.slots = make([]uint64, size)
	for _, slot := range old {
		if slot != 0 {
			x.place(slot)
		}
	}
}
