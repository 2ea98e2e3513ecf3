package storage

import "math"

// evictShare is the part of the hot layer's budget from which on entries are
// evicted: what they know can be read again from the cold layer.
const evictShare = 0.9

// evictPlaces is how many places of the index a command looks at when memory
// is short: more than one entry's worth goes for each that comes.
const evictPlaces = 32

// evict visits places of the index as a clock does: an entry that was used
// since the last visit is spared once, another one gives up its copy of what
// is stored. What is not stored yet stays; where nothing is stored of any key
// (nothing), that is everything.
func (sh *shard) evict(places int, nothing bool) {
	for range min(places, len(sh.index.slots)) { // nobody twice in one go
		sh.clock = (sh.clock + 1) & sh.index.mask()
		slot := sh.index.slots[sh.clock]
		if slot == 0 {
			continue
		}
		e := entry{shard: sh, ref: ref(slot)}
		e.words = sh.arena.words(e.ref)
		if e.has(flagUsed) {
			e.unset(flagUsed)
			continue
		}
		if !nothing {
			e.forgetStored()
		}
		if e.bare() {
			sh.drop(e)
		}
	}
}

// forgetStored frees what the cold layer has as well.
func (e entry) forgetStored() {
	e.dropTable()
	if e.words[4] == 0 { // both lists are stored
		e.dropLists()
	}
}

// dropTable makes the entry one that must be fetched.
func (e entry) dropTable() {
	e.freeTable()
	e.freeOwn()
	e.unset(flagTable)
	e.setUntil(0)
}

func (e entry) freeTable() {
	if r := e.table(); r != 0 {
		e.shard.tables.add(-len(e.shard.arena.words(r)) * 8)
		e.shard.arena.free(r)
		e.setTable(0)
	}
}

func (e entry) dropLists() {
	if d, ok := e.list(); ok {
		e.shard.delivered.add(-d.live())
		e.shard.arena.free(e.delivered())
		e.setDelivered(0)
	}
	e.shard.arena.free(e.removed())
	e.setRemoved(0)
	e.unset(flagLists)
}

// knowAll marks an entry of a key of which nothing is stored: what is in
// memory is all there is, and no window can turn.
func (e entry) knowAll() {
	e.set(flagTable | flagLists)
	e.setUntil(math.MaxInt64)
}
