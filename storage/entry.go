package storage

import "dedupd/filter"

// An entry is what the hot layer holds of one key, in one block:
//
//	word 0   the ID of the key's salt
//	word 1   staged sets (ref), newest slot first | delivered list (ref) << 32
//	word 2   remembered tokens (ref) | zero << 32
//	word 3   length of the key
//	word 4…  the key
//
// entry is a view of it, valid until the shard's lock is released.
type entry struct {
	shard *shard
	salt  filter.Salt // of the key; not set by a sweep, which hashes nothing
	ref   ref
	words []uint64
}

const entryHeader = 4

func newEntry(sh *shard, salt filter.Salt, key []byte) entry {
	r := sh.arena.alloc(entryHeader + bytesToWords(len(key)))
	words := sh.arena.words(r)
	words[0], words[1], words[2], words[3] = salt.ID(), 0, 0, uint64(len(key))
	copy(asBytes(words[entryHeader:]), key)
	return entry{shard: sh, salt: salt, ref: r, words: words}
}

func (e entry) exists() bool { return e.ref != 0 }

func (e entry) key() []byte {
	return asBytes(e.words[entryHeader:])[:e.words[3]]
}

func (e entry) staged() ref    { return ref(e.words[1]) }
func (e entry) delivered() ref { return ref(e.words[1] >> 32) }
func (e entry) tokens() ref    { return ref(e.words[2]) }

func (e entry) setStaged(r ref)    { e.words[1] = e.words[1]&^0xffffffff | uint64(r) }
func (e entry) setDelivered(r ref) { e.words[1] = e.words[1]&0xffffffff | uint64(r)<<32 }
func (e entry) setTokens(r ref)    { e.words[2] = e.words[2]&^0xffffffff | uint64(r) }

// empty says whether nothing is known of the key any more.
func (e entry) empty() bool { return e.words[1] == 0 && e.words[2] == 0 }

// hash gives the salted hash of an item of this key.
func (e entry) hash(item []byte) uint64 { return e.salt.Mix(filter.Hash(item)) }

// stagedAny says whether the hash was played.
func (e entry) stagedAny(h uint64) bool {
	for r := e.staged(); r != 0; {
		set := e.shard.arena.words(r)
		if stagedHas(set, h) {
			return true
		}
		r = stagedNext(set)
	}
	return false
}

// probe sets seen[i] for each hash that was played.
func (e entry) probe(hashes []uint64, seen []bool) {
	for r := e.staged(); r != 0; {
		set := e.shard.arena.words(r)
		stagedProbe(set, hashes, seen)
		r = stagedNext(set)
	}
}

// played counts the distinct items played.
func (e entry) played() int {
	n := 0
	for r := e.staged(); r != 0; {
		set := e.shard.arena.words(r)
		n += stagedCount(set)
		r = stagedNext(set)
	}
	return n
}

// stage adds the hash to the set of the slot; it must not be played yet.
func (e entry) stage(slot uint64, h uint64) {
	a := &e.shard.arena
	r := e.staged()
	if r == 0 || stagedSlot(a.words(r)) != slot {
		r = newStaged(a, slot, stagedMinWords, r)
		e.setStaged(r)
	}
	set := a.words(r)
	if stagedFull(stagedCount(set), len(set)-stagedHeader) {
		r = stagedGrow(a, r)
		e.setStaged(r)
		set = a.words(r)
	}
	stagedPut(set, h)
	e.shard.staged.add(1)
}

// unstage takes the hash out of every set and says whether it was there.
// A set that became empty is freed.
func (e entry) unstage(h uint64) bool {
	a := &e.shard.arena
	found := false
	prev := ref(0)
	for r := e.staged(); r != 0; {
		set := a.words(r)
		next := stagedNext(set)
		if stagedRemove(set, h) {
			found = true
			e.shard.staged.add(-1)
		}
		if stagedCount(set) > 0 {
			prev = r
		} else {
			if prev == 0 {
				e.setStaged(next)
			} else {
				setStagedNext(a.words(prev), next)
			}
			a.free(r)
		}
		r = next
	}
	return found
}

// list is the key's delivered list; ok is false if it has none.
func (e entry) list() (d delivered, ok bool) {
	r := e.delivered()
	if r == 0 {
		return delivered{}, false
	}
	return openDelivered(e.shard.arena.words(r)), true
}

// play stages the hash and takes it off the delivered list.
func (e entry) play(slot uint64, h uint64) {
	e.stage(slot, h)
	if d, ok := e.list(); ok {
		before := d.live()
		d.killHash(h, e.hash)
		e.shard.delivered.add(d.live() - before)
		e.trimDelivered(d)
	}
}

// deliver puts the item at the newest end of the delivered list.
func (e entry) deliver(h uint64, item []byte, at int64, keep int) {
	before := 0
	if d, ok := e.list(); ok {
		before = d.live()
	}
	e.setDelivered(deliver(&e.shard.arena, e.delivered(), h, item, at, keep, e.hash))
	d, _ := e.list()
	e.shard.delivered.add(d.live() - before)
}

// undeliver takes the item off the delivered list and says whether it was
// there and delivered after since.
func (e entry) undeliver(h uint64, item []byte, since int64) bool {
	d, ok := e.list()
	if !ok {
		return false
	}
	i := d.find(h, item)
	if i < 0 {
		return false
	}
	fresh := d.time(i) > since
	d.kill(i)
	e.shard.delivered.add(-1)
	e.trimDelivered(d)
	return fresh
}

// forget takes the item out of the layers and says whether it was in one of
// them: played, or delivered after since.
func (e entry) forget(h uint64, item []byte, layers Layer, since int64) bool {
	found := layers&Played != 0 && e.unstage(h)
	if layers&Delivered != 0 && e.undeliver(h, item, since) {
		found = true
	}
	return found
}

// trimDelivered frees the list if nothing of it is left.
func (e entry) trimDelivered(d delivered) {
	if d.live() == 0 {
		e.shard.arena.free(e.delivered())
		e.setDelivered(0)
	}
}

// expire forgets what has outlived its time: delivered items up to since, and
// tokens that ended at now or before.
func (e entry) expire(since, now int64) {
	if d, ok := e.list(); ok {
		before := d.live()
		d.expire(since)
		e.shard.delivered.add(d.live() - before)
		e.trimDelivered(d)
	}
	e.expireTokens(now)
}
