package storage

import (
	"dedupd/filter"
	"dedupd/storage/policy"
)

// An entry is what the hot layer holds of one key, in one block:
//
//	word 0   the ID of the key's salt
//	word 1   staged sets (ref), newest slot first | delivered list (ref) << 32
//	word 2   remembered tokens (ref) | table of the stored windows (ref) << 32
//	word 3   removed list (ref) | length of the key << 32 | flags << 48
//	word 4   slot of the newest change of the delivered list that is not stored (32 bits; 0: none)
//	         | the same of the removed list << 32
//	word 5   the time from which the table is no longer right (unix ms)
//	word 6   the stored set of the newest window (ref)
//	word 7…  the key
//
// entry is a view of it, valid until the shard's lock is released.
type entry struct {
	shard *shard
	salt  filter.Salt // of the key; not set by a sweep, which hashes nothing
	ref   ref
	words []uint64
}

const entryHeader = 7

// Flags of an entry: what of the key's stored rows is in memory.
const (
	flagTable      = 1 << iota // the table has all stored windows that are searched; without a table: there are none
	flagLists                  // the removed and the delivered list are whole
	flagListStored             // the cold layer may have a delivered list of this key
	flagUsed                   // a command has used the entry since the eviction came by
)

func newEntry(sh *shard, salt filter.Salt, key []byte) entry {
	r := sh.arena.alloc(entryHeader + bytesToWords(len(key)))
	words := sh.arena.words(r)
	clear(words[:entryHeader])
	words[0], words[3] = salt.ID(), uint64(len(key))<<32
	copy(asBytes(words[entryHeader:]), key)
	return entry{shard: sh, salt: salt, ref: r, words: words}
}

func (e entry) exists() bool { return e.ref != 0 }

func (e entry) key() []byte {
	return asBytes(e.words[entryHeader:])[:e.words[3]>>32&0xffff]
}

func low(word uint64) ref  { return ref(word) }
func high(word uint64) ref { return ref(word >> 32) }

func (e entry) setLow(i int, r ref)  { e.words[i] = e.words[i]&^0xffffffff | uint64(r) }
func (e entry) setHigh(i int, r ref) { e.words[i] = e.words[i]&0xffffffff | uint64(r)<<32 }

func (e entry) staged() ref        { return low(e.words[1]) }
func (e entry) delivered() ref     { return high(e.words[1]) }
func (e entry) tokens() ref        { return low(e.words[2]) }
func (e entry) table() ref         { return high(e.words[2]) }
func (e entry) removed() ref       { return low(e.words[3]) }
func (e entry) setStaged(r ref)    { e.setLow(1, r) }
func (e entry) setDelivered(r ref) { e.setHigh(1, r) }
func (e entry) setTokens(r ref)    { e.setLow(2, r) }
func (e entry) setTable(r ref)     { e.setHigh(2, r) }
func (e entry) setRemoved(r ref)   { e.setLow(3, r) }
func (e entry) own() ref           { return low(e.words[6]) }
func (e entry) setOwn(r ref)       { e.setLow(6, r) }

func (e entry) has(flags uint64) bool { return e.words[3]>>48&flags == flags }
func (e entry) set(flags uint64)      { e.words[3] |= flags << 48 }
func (e entry) unset(flags uint64)    { e.words[3] &^= flags << 48 }

func (e entry) until() int64       { return int64(e.words[5]) }
func (e entry) setUntil(end int64) { e.words[5] = uint64(end) }

// Unsaved changes, by the slot of the newest one.
func (e entry) deliveredSlot() uint64        { return uint64(low(e.words[4])) }
func (e entry) removedSlot() uint64          { return uint64(high(e.words[4])) }
func (e entry) setDeliveredSlot(slot uint64) { e.setLow(4, ref(slot)) }
func (e entry) setRemovedSlot(slot uint64)   { e.setHigh(4, ref(slot)) }

// knows says whether the entry answers for everything that is stored of its
// key, as far as the kind of command needs it.
func (e entry) knows(need Need, now int64) bool {
	switch {
	case !e.exists() || !e.has(flagLists):
		return false
	case need == Lists:
		return true
	}
	return e.has(flagTable) && now < e.until()
}

// bare says whether the entry holds nothing that would be missed if it went:
// what it knows can be read again from the cold layer.
func (e entry) bare() bool {
	return e.words[1] == 0 && e.words[2] == 0 && e.removed() == 0 && e.words[4] == 0
}

// hash gives the salted hash of an item of this key.
func (e entry) hash(item []byte) uint64 { return e.salt.Mix(filter.Hash(item)) }

// searched says whether the windows that are searched include this one.
func searched(spans []policy.Span, w window) bool {
	for i := range spans {
		if spans[i].Class.ID == w.class && spans[i].Holds(w.label) {
			return true
		}
	}
	return false
}

// probe sets seen[i] for each hash that was played in a searched window and
// not removed since.
func (e entry) probe(hashes []uint64, seen []bool, spans []policy.Span) {
	a := &e.shard.arena
	for r := e.staged(); r != 0; {
		set := a.words(r)
		if searched(spans, stagedWindow(set)) {
			stagedProbe(set, hashes, seen)
		}
		r = stagedNext(set)
	}
	if r := e.table(); r != 0 {
		table := filter.OpenTable(asBytes(a.words(r)))
		for i, h := range hashes {
			if !seen[i] && table.Contains(h) {
				seen[i] = true
			}
		}
	}
	if e.removed() != 0 {
		for i, h := range hashes {
			if seen[i] && e.hasRemoved(h) {
				seen[i] = false
			}
		}
	}
}

// stagedIn says whether the hash is staged for the window, by any slot.
func (e entry) stagedIn(w window, h uint64) bool {
	for r := e.staged(); r != 0; {
		set := e.shard.arena.words(r)
		if stagedOf(set, w) && stagedHas(set, h) {
			return true
		}
		r = stagedNext(set)
	}
	return false
}

// stage adds the hash to the set of the slot and window; it must not be
// there.
func (e entry) stage(slot uint64, w window, h uint64) {
	a := &e.shard.arena
	r, prev := e.findStaged(slot, w)
	if r == 0 {
		r, prev = newStaged(a, slot, w, stagedMinWords, e.staged()), 0
		e.setStaged(r)
		e.shard.slotKeys++
	}
	e.shard.slotItems++
	set := a.words(r)
	if stagedFull(stagedCount(set), len(set)-stagedHeader) {
		r = stagedGrow(a, r)
		if prev == 0 {
			e.setStaged(r)
		} else {
			setStagedNext(a.words(prev), r)
		}
		set = a.words(r)
	}
	stagedPut(set, h)
	e.shard.staged.add(1)
}

// findStaged returns the set of the slot and window, and the one before it in
// the key's list; both 0 if there is none.
func (e entry) findStaged(slot uint64, w window) (r, prev ref) {
	for r = e.staged(); r != 0; {
		set := e.shard.arena.words(r)
		if stagedSlot(set) == slot && stagedOf(set, w) {
			return r, prev
		}
		prev, r = r, stagedNext(set)
	}
	return 0, 0
}

// unstage frees the sets of the slot.
func (e entry) unstage(slot uint64) {
	a := &e.shard.arena
	prev := ref(0)
	for r := e.staged(); r != 0; {
		set := a.words(r)
		next := stagedNext(set)
		if stagedSlot(set) != slot {
			prev, r = r, next
			continue
		}
		if prev == 0 {
			e.setStaged(next)
		} else {
			setStagedNext(a.words(prev), next)
		}
		e.shard.staged.add(-stagedCount(set))
		a.free(r)
		r = next
	}
}

// list is the key's delivered list; ok is false if it has none.
func (e entry) list() (d delivered, ok bool) {
	r := e.delivered()
	if r == 0 {
		return delivered{}, false
	}
	return openDelivered(e.shard.arena.words(r)), true
}

// play stages the hash for the window, takes it off the removed list and off
// the delivered list. changed is false if the window had it already, staged or
// stored, and it was not removed: then nothing is to be written (R7).
func (e entry) play(slot uint64, w window, h uint64) (changed bool) {
	if e.dropRemoved(h) {
		e.setRemovedSlot(slot)
		changed = true
	}
	// What is taken off the removed list is written in any case: repeating the
	// record, which knows nothing of what is stored, then gives the same.
	if !e.stagedIn(w, h) && (changed || !e.storedIn(w, h)) {
		e.stage(slot, w, h)
		changed = true
	}
	if changed {
		e.undeliverHash(slot, h)
	}
	return changed
}

// remove puts the hash on the removed list until end.
func (e entry) remove(slot uint64, h uint64, end int64) {
	if !e.hasRemoved(h) {
		e.addRemoved(h, end)
		e.setRemovedSlot(slot)
	}
}

// undeliverHash takes off the delivered list what has the hash.
func (e entry) undeliverHash(slot uint64, h uint64) {
	d, ok := e.list()
	if !ok {
		return
	}
	if before := d.live(); d.killHash(h, e.hash) {
		e.shard.delivered.add(d.live() - before)
		e.setDeliveredSlot(slot)
		e.trimDelivered(d)
	}
}

// deliver puts the item at the newest end of the delivered list.
func (e entry) deliver(slot uint64, h uint64, item []byte, at int64, keep int) {
	before := 0
	if d, ok := e.list(); ok {
		before = d.live()
	}
	e.setDelivered(deliver(&e.shard.arena, e.delivered(), h, item, at, keep, e.hash))
	e.setDeliveredSlot(slot)
	d, _ := e.list()
	e.shard.delivered.add(d.live() - before)
}

// undeliver takes the item off the delivered list and says whether it was
// there and delivered after since.
func (e entry) undeliver(slot uint64, h uint64, item []byte, since int64) bool {
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
	e.setDeliveredSlot(slot)
	e.trimDelivered(d)
	return fresh
}

// trimDelivered frees the list if nothing of it is left. That need not be
// stored if no list is.
func (e entry) trimDelivered(d delivered) {
	if d.live() > 0 {
		return
	}
	e.shard.arena.free(e.delivered())
	e.setDelivered(0)
	if !e.has(flagListStored) {
		e.setDeliveredSlot(0)
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
	if e.removed() != 0 {
		e.expireRemoved(now)
	}
}
