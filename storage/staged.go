package storage

import (
	"math/bits"

	"dedupd/filter"
	"dedupd/storage/policy"
)

// A staged set holds the salted hashes that one slot brought to one window of
// a key: open addressing over 64-bit words, 0 is empty (a salted hash is never
// 0). Its place is proportional to the hash, so a table reads out nearly
// sorted.
//
//	word 0   next set of the key (ref) | count << 32
//	word 1   slot id (48 bits) | class << 48 | part << 56
//	word 2   number of the window
//	word 3   time of the cut at which the window began, or 0
//	word 4…  the table, at least one word of it empty
const (
	stagedHeader   = 4
	stagedMinWords = stagedHeader + 4
	slotMask       = 1<<48 - 1
)

// window is where played items go: a set of a row.
type window struct {
	class policy.ClassID
	part  filter.Part
	label policy.Label
}

func stagedNext(set []uint64) ref { return ref(set[0]) }

func stagedCount(set []uint64) int { return int(set[0] >> 32) }

func stagedSlot(set []uint64) uint64 { return set[1] & slotMask }

func stagedWindow(set []uint64) window {
	return window{
		class: policy.ClassID(set[1] >> 48), part: filter.Part(set[1] >> 56),
		label: policy.Label{Number: int64(set[2]), Cut: int64(set[3])},
	}
}

func (w window) word(slot uint64) uint64 {
	return slot | uint64(w.class)<<48 | uint64(w.part)<<56
}

// stagedOf says whether the set is that of the window, whatever its slot.
func stagedOf(set []uint64, w window) bool {
	return set[1]>>48 == w.word(0)>>48 && set[2] == uint64(w.label.Number) && set[3] == uint64(w.label.Cut)
}

func setStagedNext(set []uint64, next ref) {
	set[0] = set[0]&^0xffffffff | uint64(next)
}

// stagedHome is the place of h in a table: h * len / 2^64.
func stagedHome(h uint64, table []uint64) int {
	hi, _ := bits.Mul64(h, uint64(len(table)))
	return int(hi)
}

// stagedFull says whether one more hash would make the table slow or leave it
// without an empty word.
func stagedFull(count, table int) bool {
	if table <= 8 {
		return count+1 >= table
	}
	return (count+1)*4 > table*3
}

func newStaged(a *arena, slot uint64, w window, words int, next ref) ref {
	r := a.alloc(words)
	set := a.words(r)
	clear(set)
	set[0], set[1], set[2], set[3] = uint64(next), w.word(slot), uint64(w.label.Number), uint64(w.label.Cut)
	return r
}

// stagedHas probes one hash.
func stagedHas(set []uint64, h uint64) bool {
	table := set[stagedHeader:]
	for i := stagedHome(h, table); ; {
		switch v := table[i]; v {
		case h:
			return true
		case 0:
			return false
		}
		if i++; i == len(table) {
			i = 0
		}
	}
}

// stagedProbe sets seen[i] for each hash that is in the set.
func stagedProbe(set []uint64, hashes []uint64, seen []bool) {
	seen = seen[:len(hashes)]
	for i, h := range hashes {
		if stagedHas(set, h) {
			seen[i] = true
		}
	}
}

// stagedPut adds h, which must not be there; the table must have room.
func stagedPut(set []uint64, h uint64) {
	table := set[stagedHeader:]
	i := stagedHome(h, table)
	for table[i] != 0 {
		if i++; i == len(table) {
			i = 0
		}
	}
	table[i] = h
	set[0] += 1 << 32
}

// stagedGrow copies the set r into a block half as large again and frees r.
func stagedGrow(a *arena, r ref) ref {
	old := a.words(r)
	words := max(stagedMinWords, stagedHeader+(len(old)-stagedHeader)*3/2)
	if blockWords(words) == len(old) {
		words = len(old) + 1
	}
	grown := newStaged(a, stagedSlot(old), stagedWindow(old), words, stagedNext(old))
	set := a.words(grown)
	for _, h := range old[stagedHeader:] {
		if h != 0 {
			stagedPut(set, h)
		}
	}
	a.free(r)
	return grown
}
