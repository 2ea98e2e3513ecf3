package storage

import (
	"bytes"
	"sync"
	"sync/atomic"

	"dedupd/filter"
)

// shardBits: the top bits of a key's salt choose its shard. 64 shards keep
// the locks uncontended on the cores of one machine, and the partly filled
// pages of an empty store below some 30 MB.
const (
	shardBits = 6
	shards    = 1 << shardBits
)

// counter is a figure that its shard changes under its lock and anybody reads.
type counter struct{ n atomic.Int64 }

func (c *counter) add(n int)    { c.n.Store(c.n.Load() + int64(n)) }
func (c *counter) value() int64 { return c.n.Load() }

// shard is one part of the hot layer: the keys whose salt begins with its
// number. mu guards everything but the counters.
type shard struct {
	mu    sync.Mutex
	arena arena
	index index
	hand  uint32 // where the sweep goes on
	clock uint32 // where the eviction goes on

	slotItems, slotKeys int64 // staged in the open slot, and by how many sets

	fetches map[string]*fetch // by key: reads of the cold layer that are under way

	keys, staged, delivered, tables counter // tables: bytes
}

func newShard(used *atomic.Int64) *shard {
	return &shard{arena: newArena(used), index: newIndex(used), fetches: make(map[string]*fetch)}
}

// find returns the entry of the key; it does not exist if the key is unknown.
func (sh *shard) find(salt filter.Salt, key []byte) entry {
	e := entry{shard: sh, salt: salt}
	tag := tagOf(salt.ID())
	mask := sh.index.mask()
	for i := tag & mask; sh.index.slots[i] != 0; i = (i + 1) & mask {
		if uint32(sh.index.slots[i]>>32) != tag {
			continue
		}
		e.ref = ref(sh.index.slots[i])
		e.words = sh.arena.words(e.ref)
		if e.words[0] == salt.ID() && bytes.Equal(e.key(), key) {
			return e
		}
	}
	return entry{shard: sh, salt: salt}
}

// findOrCreate returns the entry of the key, made if there is none. nothing
// says that the cold layer is empty, so that a new entry knows all of it.
func (sh *shard) findOrCreate(salt filter.Salt, key []byte, nothing bool) entry {
	if e := sh.find(salt, key); e.exists() {
		return e
	}
	e := newEntry(sh, salt, key)
	if nothing {
		e.knowAll()
	}
	sh.index.insert(tagOf(salt.ID()), e.ref)
	sh.keys.add(1)
	return e
}

// dropIfEmpty forgets an entry of which nothing is known, here or on disk.
func (sh *shard) dropIfEmpty(e entry) {
	if e.exists() && e.bare() && !e.has(flagListStored) {
		sh.drop(e)
	}
}

func (sh *shard) drop(e entry) {
	sh.index.remove(tagOf(e.words[0]), e.ref)
	sh.arena.free(e.ref)
	sh.keys.add(-1)
}

// sweep visits the next few places of the index and frees what has outlived
// its time there. Writes call it, so that memory which no command asks for
// again comes back at the pace at which new memory is taken, without a
// goroutine and without a pause.
//
// An entry that only remembers that nothing is stored of its key stays for the
// eviction; where nothing is stored of any key (nothing), it goes at once.
func (sh *shard) sweep(places int, since, now int64, nothing bool) {
	for range places {
		sh.hand = (sh.hand + 1) & sh.index.mask()
		slot := sh.index.slots[sh.hand]
		if slot == 0 {
			continue
		}
		e := entry{shard: sh, ref: ref(slot)}
		e.words = sh.arena.words(e.ref)
		e.expire(since, now)
		if nothing || !e.has(flagTable) {
			sh.dropIfEmpty(e)
		}
	}
}
