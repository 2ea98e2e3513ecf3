package storage

import (
	"dedupd/filter"
	"dedupd/storage/policy"
)

// The own set of an entry is the stored set of the newest window that the
// table has: what an add asks, to know whether its window has the item already
// (R7). The table cannot tell, as it answers for all windows at once. It is
// kept encoded, at 3.2 bytes an item beside the table's 5.5, for one window
// only.
//
//	word 0   class | part << 8
//	word 1   number of the window
//	word 2   time of the cut at which the window began, or 0
//	word 3   length of the set in bytes
//	word 4…  the set
const ownHeader = 4

// ownWindow is the window of the own set, and the set.
func (e entry) ownSet() (w window, set filter.Set, ok bool) {
	r := e.own()
	if r == 0 {
		return w, set, false
	}
	words := e.shard.arena.words(r)
	w = window{
		class: policy.ClassID(words[0]), part: filter.Part(words[0] >> 8),
		label: policy.Label{Number: int64(words[1]), Cut: int64(words[2])},
	}
	set, _, err := filter.Parse(asBytes(words[ownHeader:])[:words[3]])
	return w, set, err == nil
}

// storedIn says whether the hash is stored in the window, as far as the own
// set tells.
func (e entry) storedIn(w window, h uint64) bool {
	own, set, ok := e.ownSet()
	return ok && own == w && set.Contains(h)
}

func (e entry) putOwn(w window, encoded []byte) {
	e.freeOwn()
	r := e.shard.arena.alloc(ownHeader + bytesToWords(len(encoded)))
	words := e.shard.arena.words(r)
	words[0] = uint64(w.class) | uint64(w.part)<<8
	words[1], words[2], words[3] = uint64(w.label.Number), uint64(w.label.Cut), uint64(len(encoded))
	copy(asBytes(words[ownHeader:]), encoded)
	e.setOwn(r)
	e.shard.tables.add(len(words) * 8)
}

func (e entry) freeOwn() {
	if r := e.own(); r != 0 {
		e.shard.tables.add(-len(e.shard.arena.words(r)) * 8)
		e.shard.arena.free(r)
		e.setOwn(0)
	}
}

// newer says whether the window begins after the other.
func (w window) newer(other window) bool { return other.label.Before(w.label) }
