package filter

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// BuildTable fills a block of at least TableSizeOf(sets) bytes, whatever it
// held, with a table of the sets. Room beyond that lowers the load and is used
// by AddTable. It does not allocate.
//
// The error is [ErrTableFull] if the block is too small, or wraps [ErrDamaged]
// if the content of a set is; the block is then of no use.
func BuildTable(block []byte, sets []Set) error {
	return build(block, anyWide(sets), halfCounts(sets), func(t Table) (int, int, error) {
		return t.insertSets(sets)
	})
}

// GrowTable fills a block with the entries of the table in another one, to
// make room for more, or as a wide table to make them wider. The block must
// not overlap the old one and have at least TableSize(entries, wide) bytes
// (see [Table.Len]), else the error is [ErrTableFull]. It does not allocate.
func GrowTable(block, old []byte, wide bool) error {
	from := OpenTable(old)
	return build(block, wide || from.wide, from.entryCounts(), func(t Table) (int, int, error) {
		return t.insertTable(&from)
	})
}

// build fills a block with what insert puts into an empty table: counts says
// how many entries of each half these are at most. See fill for insert.
func build(block []byte, wide bool, counts [2]int, insert func(Table) (int, int, error)) error {
	if len(block) < tableHead {
		return ErrTableFull
	}
	t := Table{slots: block[tableHead:], wide: wide}
	if !t.divide(counts) {
		return ErrTableFull
	}
	entries, err := t.fill(insert)
	if err != nil {
		return err
	}
	t.putHead(block, entries)
	return nil
}

// halfCounts returns how many fingerprints belong to each half.
func halfCounts(sets []Set) (counts [2]int) {
	for i := range sets {
		low := sets[i].lowerHalf()
		counts[0] += low
		counts[1] += sets[i].Len() - low
	}
	return counts
}

// lowerHalf returns how many fingerprints begin with a zero bit.
func (s *Set) lowerHalf() int {
	switch {
	case s.n == 0:
		return 0
	case s.r == 0: // one fingerprint, all of it low bits
		return int(1 - loadBits(s.raw, s.bits, s.upperBits()+s.lowWidth()-1, 1))
	default:
		middle := s.buckets() / 2
		return int(min(s.bucketStart(middle)-middle, uint(s.n)))
	}
}

// divide gives each half its slots: what it needs, and of the rest in
// proportion to that.
func (t *Table) divide(counts [2]int) bool {
	slots := t.slotCount()
	need := [2]int{counts[0] + group, counts[1] + group}
	rest := slots - need[0] - need[1]
	if rest < 0 || slots > maxSlots {
		return false
	}
	hi, lo := bits.Mul64(uint64(rest), uint64(need[0]))
	share, _ := bits.Div64(hi, lo, uint64(need[0]+need[1]))
	first := need[0] + int(share)
	t.halves[0] = half{first: 0, size: uint32(first)}
	t.halves[1] = half{first: uint32(first), size: uint32(slots - first)}
	return true
}

// fill clears the table and calls insert, which returns how many slots its
// entries took, and the half that ran over its end or -1. In that case fill
// begins again with fewer homes there, which moves all entries forward; with
// one home they lie without a gap, and there is room.
func (t *Table) fill(insert func(Table) (entries, full int, err error)) (int, error) {
	for side := range t.halves {
		h := &t.halves[side]
		room := h.size - group
		h.homes = max(room-min(room/8, 8), 1)
	}
	for {
		clear(t.slots)
		entries, full, err := insert(*t)
		if full < 0 {
			return entries, err
		}
		h := &t.halves[full]
		if h.homes == 1 { // more than its sets said that they have
			return 0, fmt.Errorf("table from sets: %w", ErrDamaged)
		}
		h.homes -= (h.homes + 7) / 8
	}
}

// insertSets inserts the fingerprints of sets into the empty table; full is
// the half that ran over, or -1.
func (t *Table) insertSets(sets []Set) (entries, full int, err error) {
	var hashes [32]uint64
	for i := range sets {
		c, width := sets[i].cursor(), sets[i].Width()
		for n := -1; n != 0; {
			n = c.fill(hashes[:])
			for _, hash := range hashes[:n] {
				taken, ok := t.insert(hash, width)
				if !ok {
					return 0, int(hash >> 63), nil
				}
				entries += taken
			}
		}
		if !c.atEnd() {
			return 0, -1, fmt.Errorf("table from a set of %d fingerprints: %w", sets[i].Len(), ErrDamaged)
		}
	}
	return entries, -1, nil
}

// insertTable inserts the entries of another table; as insertSets.
func (t *Table) insertTable(from *Table) (entries, full int, err error) {
	for i := range uint(from.slotCount()) {
		side, e := from.entry(i)
		if e == 0 {
			continue
		}
		taken, ok := t.insert(side<<63|least(e)>>1, 64-bits.TrailingZeros64(e))
		if !ok {
			return 0, int(side), nil
		}
		entries += taken
	}
	return entries, -1, nil
}

// entry returns the entry in slot i as in a wide table, 0 for a gap, and the
// half it is in.
func (t *Table) entry(i uint) (side, e uint64) {
	if i >= uint(t.halves[1].first) {
		side = 1
	}
	if t.wide {
		return side, load[uint64](t.slots, i)
	}
	return side, uint64(load[uint32](t.slots, i)) << 32
}

// entryCounts returns how many slots are taken in each half.
func (t *Table) entryCounts() (counts [2]int) {
	for i := range uint(t.slotCount()) {
		if side, e := t.entry(i); e != 0 {
			counts[side]++
		}
	}
	return counts
}

// putHead writes the head of the block.
func (t *Table) putHead(block []byte, entries int) {
	count := uint32(entries)
	if t.wide {
		count |= wideFlag
	}
	for i, v := range [4]uint32{count, t.halves[0].size, t.halves[0].homes, t.halves[1].homes} {
		binary.LittleEndian.PutUint32(block[4*i:], v)
	}
}
