package filter

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// ErrTableFull: the block has no room for the entries.
var ErrTableFull = errors.New("filter: table is full")

// Table is the decoded form of all sets of a hot key in one open-addressing
// table: one probe answers for all of them, and exactly as they do. It is a
// cheap view of a block of bytes without pointers that the caller owns.
//
// An entry is a fingerprint of any width in one word: the bits of the
// fingerprint but the highest, then a one that marks where they end, then
// zeros. The highest bit is implied by which half of the table the entry is
// in. So each entry is compared at its own width, and 0 is an empty slot. A
// table of sets of up to 32 bits has words of 32 bits; wider sets make a wide
// table, with words of 64.
//
// Each half is a sorted array with gaps: an entry lies at its home, a slot
// proportional to its value, or behind it with no gap between. A fingerprint
// so short that it covers several homes has a copy for each. A search starts
// at the home of the hash and ends at a larger entry or a gap.
//
// Building and adding take constant time for each entry as long as the
// fingerprints are spread as hashes are, and stay correct if they are not.
//
// The table does not know windows: when a set is narrowed or dropped it must
// be built anew. Contains may run in any number of goroutines, but not while
// BuildTable, GrowTable or AddTable changes the block. The bytes are for memory
// only, no format: they are never stored.
type Table struct {
	slots  []byte // words, little-endian
	halves [2]half
	count  uint32 // entries, copies included
	wide   bool
}

// half is one half of a table: by the highest bit of the hash.
type half struct {
	first uint32 // slot where it begins
	size  uint32 // slots, of which the last group stay empty
	homes uint32 // slots that are homes: the first ones
}

const (
	// tableHead is the size in bytes of the head of a block: number of
	// entries, with the flag for wide ones; slots of half 0; homes of each half.
	tableHead = 16
	wideFlag  = 1 << 31
	maxSlots  = wideFlag - 1

	// group is how many slots a search looks at together. Each half ends in as
	// many that stay empty, so a search neither leaves it nor tests for its end.
	group = 4
)

// TableSize returns the bytes of a block for n entries at a load of 0.78; a
// larger block has room for more. The table is wide if it is to hold
// fingerprints of more than 32 bits.
func TableSize(n int, wide bool) int {
	slots := n + n*9/32 + 2*group
	if wide {
		return tableHead + slots*8
	}
	return tableHead + slots*4
}

// TableSizeOf returns TableSize for all the fingerprints of the sets.
func TableSizeOf(sets []Set) int {
	n := 0
	for _, s := range sets {
		n += s.Len()
	}
	return TableSize(n, anyWide(sets))
}

// anyWide reports whether a set is wider than a narrow table holds.
func anyWide(sets []Set) bool {
	for _, s := range sets {
		if s.Width() > 32 {
			return true
		}
	}
	return false
}

// OpenTable returns the table in a block that BuildTable filled. The block is
// memory of this process: it is trusted.
func OpenTable(block []byte) Table {
	slots := block[tableHead:]
	head := [4]uint32{}
	for i := range head {
		head[i] = binary.LittleEndian.Uint32(block[4*i:])
	}
	t := Table{slots: slots, count: head[0] &^ wideFlag, wide: head[0]&wideFlag != 0}
	t.halves[0] = half{first: 0, size: head[1], homes: head[2]}
	t.halves[1] = half{first: head[1], size: uint32(t.slotCount()) - head[1], homes: head[3]}
	return t
}

// Len is the number of slots that entries take. It may differ from the number
// of fingerprints of the sets: one covered by another takes none, a short one
// may take several.
func (t *Table) Len() int { return int(t.count) }

// slotCount is the number of slots of both halves.
func (t *Table) slotCount() int {
	if t.wide {
		return len(t.slots) / 8
	}
	return len(t.slots) / 4
}

// Contains reports whether one of the sets holds the fingerprint of a salted
// hash. It does not allocate.
func (t *Table) Contains(hash uint64) bool {
	h := &t.halves[hash>>63]
	if t.wide {
		return find(t.slots, h, hash<<1)
	}
	return find(t.slots, h, uint32(hash>>31))
}

// find searches a half for an entry that covers x. It takes four slots at a
// time without a branch, as where a run of entries ends is a coin toss, and
// stops at a gap or an entry that lies behind x.
func find[W word](slots []byte, h *half, x W) bool {
	for i := uint(h.first + homeOf(h, x)); ; i += group {
		g := slots[i*sizeOf[W]():][:group*sizeOf[W]()]
		last := load[W](g, 3)
		if covers(load[W](g, 0), x)|covers(load[W](g, 1), x)|covers(load[W](g, 2), x)|covers(last, x) != 0 {
			return true
		}
		if greatest(last) >= x {
			return false
		}
	}
}

// homeOf is the home of x in a half.
func homeOf[W word](h *half, x W) uint32 {
	if sizeOf[W]() == 4 {
		return uint32(uint64(x) * uint64(h.homes) >> 32)
	}
	home, _ := bits.Mul64(uint64(x), uint64(h.homes))
	return uint32(home)
}
