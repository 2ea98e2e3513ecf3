package storage

import (
	"context"
	"fmt"
	"slices"

	"dedupd/filter"
	"dedupd/storage/cold"
	"dedupd/storage/policy"
)

// Stored says what storing a slot did.
type Stored struct {
	Slot        uint64
	Keys, Items int64
	Bytes       int64 // of the tables written
}

// StoreOldest moves the oldest sealed slot into the cold layer, in one step,
// and then releases its memory and its segment. Slot is 0 if none is sealed.
// After an error the slot is still sealed and whole, and the call may be
// repeated. One goroutine may call it at a time, and nobody Seal meanwhile.
func (s *Store) StoreOldest(ctx context.Context) (Stored, error) {
	slot, ok := s.oldestSealed()
	if !ok {
		return Stored{}, nil
	}
	f := &flush{store: s, slot: slot, now: nowMillis()}
	if err := f.run(ctx); err != nil {
		return Stored{}, fmt.Errorf("storing slot %d: %w", slot, err)
	}
	s.popSealed(slot)
	if err := s.log.Release(slot); err != nil {
		// It is stored; recovery skips the segment and removes it.
		s.logger.Warn("a stored segment could not be removed; the next start will", "slot", slot, "err", err)
	}
	return f.done, nil
}

// flush is the way of one slot into the cold layer.
type flush struct {
	store *Store
	slot  uint64
	now   int64
	keys  []flushKey // in the order of rows
	names []byte     // the keys' bytes
	value []byte     // scratch
	done  Stored

	hashes  []uint64 // scratch
	encoded []byte   // scratch
	merger  filter.Merger
}

// flushKey is a key that the slot changed, or may have changed.
type flushKey struct {
	salt     filter.Salt
	from, to int // in names
}

func (f *flush) run(ctx context.Context) error {
	if err := f.store.log.WaitSealed(f.slot); err != nil {
		return err
	}
	f.collect()
	slices.SortFunc(f.keys, func(a, b flushKey) int { return cold.CompareKeys(f.name(a), f.name(b)) })
	if err := f.write(ctx); err != nil {
		return err
	}
	f.store.coldEmpty.Store(false)
	f.release()
	return nil
}

func (f *flush) name(k flushKey) []byte { return f.names[k.from:k.to] }

// collect notes the keys of the slot, a shard at a time.
func (f *flush) collect() {
	for _, sh := range f.store.shards {
		sh.mu.Lock()
		for _, slot := range sh.index.slots {
			if slot == 0 {
				continue
			}
			e := entry{shard: sh, ref: ref(slot)}
			e.words = sh.arena.words(e.ref)
			if e.words[4] != 0 || e.stagedBy(f.slot) {
				from := len(f.names)
				f.names = append(f.names, e.key()...)
				f.keys = append(f.keys, flushKey{from: from, to: len(f.names)})
			}
		}
		sh.mu.Unlock()
	}
	for i, k := range f.keys {
		f.keys[i].salt = f.store.secret.Salt(f.name(k))
	}
	f.done.Slot, f.done.Keys = f.slot, int64(len(f.keys))
}

// stagedBy says whether the slot brought the key something.
func (e entry) stagedBy(slot uint64) bool {
	for r := e.staged(); r != 0; {
		set := e.shard.arena.words(r)
		if stagedSlot(set) == slot {
			return true
		}
		r = stagedNext(set)
	}
	return false
}

// with calls fn on the key's entry under its lock; true if there is none.
func (f *flush) with(k flushKey, fn func(e entry) bool) bool {
	sh := f.store.shard(k.salt)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.find(k.salt, f.name(k))
	return !e.exists() || fn(e)
}

// write stores all rows of the slot in one step.
func (f *flush) write(ctx context.Context) error {
	w := f.store.cold.NewSlot(f.slot)
	defer w.Abort()
	f.writeMeta(w)
	f.writeDelivered(w)
	if err := f.writeData(ctx, w); err != nil {
		return err
	}
	// The lists were written as they are now, which may be ahead of the slot:
	// what they were made from must not be lost any more.
	if err := f.store.log.Sync(); err != nil {
		return err
	}
	written, err := w.Commit()
	f.done.Bytes = int64(written.Bytes)
	return err
}

func (f *flush) writeMeta(w *cold.SlotWriter) {
	for _, k := range f.keys {
		f.with(k, func(e entry) bool {
			if e.removedSlot() == 0 {
				return true
			}
			if e.removed() == 0 {
				w.DeleteMeta(f.name(k))
				return true
			}
			f.value = e.appendMeta(f.value[:0], f.store.log.End())
			w.SetMeta(f.name(k), f.value)
			return true
		})
	}
}

// deliveredSpace is a block of delivered rows.
type deliveredSpace struct{ ttl, block int64 }

func (a deliveredSpace) compare(b deliveredSpace) int {
	if a.ttl != b.ttl {
		return int(min(max(a.ttl-b.ttl, -1), 1))
	}
	return int(min(max(a.block-b.block, -1), 1))
}

// writeDelivered writes the lists that are alive, and empty ones over those
// that are stored.
func (f *flush) writeDelivered(w *cold.SlotWriter) {
	bySpace := map[deliveredSpace][]flushKey{}
	for _, k := range f.keys {
		f.with(k, func(e entry) bool {
			if e.deliveredSlot() == 0 {
				return true
			}
			ttl := f.store.settings(f.name(k)).DeliveredTTL
			if e.delivered() == 0 && !e.has(flagListStored) {
				return true
			}
			space := deliveredSpace{ttl, deliveredBlock(f.now, ttl)}
			bySpace[space] = append(bySpace[space], k)
			return true
		})
	}
	spaces := make([]deliveredSpace, 0, len(bySpace))
	for space := range bySpace {
		spaces = append(spaces, space)
	}
	slices.SortFunc(spaces, deliveredSpace.compare)
	for _, space := range spaces {
		for _, k := range bySpace[space] {
			f.with(k, func(e entry) bool {
				f.value = e.appendDelivered(f.value[:0], f.store.log.End())
				w.SetDelivered(space.ttl, space.block, f.name(k), f.value)
				e.set(flagListStored)
				return true
			})
		}
	}
}

// dataSpace is a block of data rows.
type dataSpace struct {
	class policy.ClassID
	block int64
}

func (f *flush) writeData(ctx context.Context, w *cold.SlotWriter) error {
	dir := f.store.policies.Load()
	bySpace := map[dataSpace][]flushKey{}
	for _, k := range f.keys {
		f.with(k, func(e entry) bool {
			e.eachStaged(f.slot, func(set []uint64) {
				w := stagedWindow(set)
				space := dataSpace{w.class, dir.Class(w.class).Block(w.label.Number)}
				if keys := bySpace[space]; len(keys) == 0 || keys[len(keys)-1] != k {
					bySpace[space] = append(keys, k)
				}
			})
			return true
		})
	}
	spaces := make([]dataSpace, 0, len(bySpace))
	for space := range bySpace {
		spaces = append(spaces, space)
	}
	slices.SortFunc(spaces, func(a, b dataSpace) int {
		if a.class != b.class {
			return int(a.class) - int(b.class)
		}
		return int(min(max(a.block-b.block, -1), 1))
	})
	for _, space := range spaces {
		f.store.blocks.add(space.class, space.block)
		for i, k := range bySpace[space] {
			if i%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			f.writeRow(w, dir, space, k)
		}
	}
	return nil
}

// eachStaged calls fn for each set that the slot brought.
func (e entry) eachStaged(slot uint64, fn func(set []uint64)) {
	for r := e.staged(); r != 0; {
		set := e.shard.arena.words(r)
		r = stagedNext(set)
		if stagedSlot(set) == slot {
			fn(set)
		}
	}
}

// writeRow writes one key's operand for a block: the sets of its windows.
func (f *flush) writeRow(w *cold.SlotWriter, dir *policy.Directory, space dataSpace, k flushKey) {
	class := dir.Class(space.class)
	var windows []window
	f.with(k, func(e entry) bool {
		e.eachStaged(f.slot, func(set []uint64) {
			if w := stagedWindow(set); w.class == space.class && class.Block(w.label.Number) == space.block {
				windows = append(windows, w)
			}
		})
		slices.SortFunc(windows, func(a, b window) int { return a.filterLabel().Compare(b.filterLabel()) })
		f.value = filter.StartRow(f.value[:0])
		width := f.store.width(f.name(k), class)
		for _, win := range windows {
			r, _ := e.findStaged(f.slot, win)
			f.hashes = appendStaged(f.hashes[:0], e.shard.arena.words(r))
			f.done.Items += int64(len(f.hashes))
			f.value = filter.AppendWindow(f.value, win.filterLabel(), width, f.hashes)
		}
		return true
	})
	if len(windows) > 0 {
		w.Merge(uint8(space.class), space.block, f.name(k), f.value)
	}
}

func (w window) filterLabel() filter.Label {
	return filter.Label{Number: w.label.Number, Cut: w.label.Cut, Part: w.part}
}

// appendStaged appends the hashes of a set in ascending order.
func appendStaged(dst []uint64, set []uint64) []uint64 {
	for _, h := range set[stagedHeader:] {
		if h != 0 {
			dst = append(dst, h)
		}
	}
	slices.Sort(dst)
	return dst
}

// release lets go of what is stored now. Entries that know their table get
// the slot's items into it first, so that no item is in no layer (R5), cut as
// their operands are, so that hot and cold answer alike (R6).
func (f *flush) release() {
	for _, k := range f.keys {
		sh := f.store.shard(k.salt)
		sh.mu.Lock()
		if running := sh.fetches[string(f.name(k))]; running != nil {
			running.marked = true
		}
		if e := sh.find(k.salt, f.name(k)); e.exists() {
			f.releaseKey(e, k)
		}
		if f.store.used.Load() > f.store.evictAt {
			sh.evict(evictPlaces, false)
		}
		sh.mu.Unlock()
	}
}

func (f *flush) releaseKey(e entry, k flushKey) {
	if e.has(flagTable) {
		f.fold(e, k)
	}
	e.unstage(f.slot)
	if e.deliveredSlot() <= f.slot {
		e.setDeliveredSlot(0)
	}
	if e.removedSlot() <= f.slot {
		e.setRemovedSlot(0)
	}
}

// fold takes the slot's items into the table.
func (f *flush) fold(e entry, k flushKey) {
	view := f.store.view(f.name(k))
	var room [4]policy.Span
	spans := view.Spans(room[:0], f.now)
	whole := true
	e.eachStaged(f.slot, func(set []uint64) {
		w := stagedWindow(set)
		if !searched(spans, w) {
			return
		}
		f.hashes = appendStaged(f.hashes[:0], set)
		class := f.store.policies.Load().Class(w.class)
		width := f.store.width(f.name(k), class)
		whole = whole && e.fold(f.hashes, width)
		if w.class == view.Class().ID && w.part == filter.Main {
			f.foldOwn(e, w, width)
		}
	})
	if !whole {
		e.dropTable()
		return
	}
	e.setUntil(min(e.until(), view.Until(f.now)))
}

// foldOwn takes the hashes into the own set, if their window is that of the
// set or a newer one.
func (f *flush) foldOwn(e entry, w window, width int) {
	own, stored, ok := e.ownSet()
	if ok && own != w && !w.newer(own) {
		return
	}
	f.encoded = filter.AppendSet(f.encoded[:0], width, f.hashes)
	if !ok || own != w {
		e.putOwn(w, f.encoded)
		return
	}
	added, _, err := filter.Parse(f.encoded)
	if err != nil {
		return
	}
	n := len(f.encoded)
	f.encoded, err = f.merger.Union(f.encoded, stored, added)
	if err != nil {
		e.freeOwn() // then adds are written once too often
		return
	}
	e.putOwn(w, f.encoded[n:])
}
