package storage

import (
	"context"
	"fmt"

	"dedupd/filter"
	"dedupd/storage/cold"
	"dedupd/storage/log"
)

// replay repeats the records of the log that are not stored yet. It runs
// before the store is shared, so it takes no locks.
//
// Sets are made of exactly the records of a slot, so each record of a slot
// that is not stored adds to them. The lists of a key may be stored as of a
// later moment: what a record did to a list counts only behind the position
// that the list's row states.
type replay struct {
	context  context.Context
	store    *Store
	snapshot *cold.Snapshot // of what was stored at the start
	reader   recordReader
	lists    map[listKey]listPositions
	now      int64 // of the recovery: lists may be stored as of later than a record
}

type listKey struct {
	shard *shard
	ref   ref
}

type listPositions struct{ removals, delivered log.Position }

func (s *Store) newReplay(ctx context.Context) *replay {
	return &replay{context: ctx, store: s, snapshot: s.cold.Snapshot(), lists: make(map[listKey]listPositions), now: nowMillis()}
}

func (r *replay) close() { r.snapshot.Close() }

func (r *replay) apply(slot uint64, end log.Position, payload []byte) error {
	if err := r.context.Err(); err != nil {
		return fmt.Errorf("recovery was broken off: %w", err)
	}
	s := r.store
	if n := len(s.sealed); n == 0 || s.sealed[n-1].ID != slot {
		r.count()
		s.sealed = append(s.sealed, SlotInfo{ID: slot})
	}
	now := r.reader.begin(payload)
	for {
		o, ok := r.reader.next()
		if !ok {
			return r.reader.err
		}
		if err := r.applyOp(slot, end, now, o); err != nil {
			return err
		}
	}
}

// count closes the account of the slot whose records came last.
func (r *replay) count() {
	s := r.store
	info := s.takeOpen()
	if n := len(s.sealed); n > 0 {
		s.sealed[n-1].Keys, s.sealed[n-1].Items = info.Keys, info.Items
	}
}

// end frees what has outlived its time by now.
func (r *replay) end(now int64) {
	r.count()
	s := r.store
	for _, sh := range s.shards {
		sh.sweep(len(sh.index.slots), now-s.longestTTL(), now, s.coldEmpty.Load())
	}
}

func (r *replay) applyOp(slot uint64, end log.Position, now int64, o op) error {
	s := r.store
	if err := s.checkOp(o); err != nil {
		return err
	}
	salt := s.secret.Salt(o.key)
	sh := s.shard(salt)
	// As the command did when it was decided: what has outlived its time by
	// then goes, so that recovery needs no more memory than the run did.
	sh.sweep(sweepPlaces, now-s.longestTTL(), now, s.coldEmpty.Load())
	e := sh.findOrCreate(salt, o.key, s.coldEmpty.Load())
	if err := r.load(e, o.key, now); err != nil {
		return err
	}
	at := r.lists[listKey{sh, e.ref}]
	switch o.kind {
	case opPlay:
		for _, h := range o.hashes {
			e.replayPlay(slot, o.window, h, end > at.removals, end > at.delivered)
		}
	case opDeliver:
		keep := int(s.settings(o.key).Delivered)
		for _, item := range o.items {
			if end > at.delivered {
				e.deliver(slot, e.hash(item), item, now, keep)
			}
		}
	case opForget:
		for _, item := range o.items {
			h := salt.Mix(filter.Hash(item))
			if o.layers&Played != 0 && end > at.removals {
				e.remove(slot, h, o.end)
			}
			if o.layers&Delivered != 0 && end > at.delivered {
				e.undeliver(slot, h, item, 0)
			}
		}
	}
	return nil
}

// checkOp refuses what this directory cannot have decided.
func (s *Store) checkOp(o op) error {
	dir := s.policies.Load()
	if o.policy > dir.Version() {
		return fmt.Errorf("%w: policy version %d, the newest is %d", errRecord, o.policy, dir.Version())
	}
	if o.kind == opPlay && dir.Class(o.window.class) == nil {
		return fmt.Errorf("%w: unknown class %d", errRecord, o.window.class)
	}
	return nil
}

// load reads the key's lists before the first record that concerns them.
func (r *replay) load(e entry, name []byte, now int64) error {
	if e.has(flagLists) {
		return nil
	}
	rows, err := r.store.readFrom(r.snapshot, name, Lists, max(now, r.now))
	if err != nil {
		return err
	}
	key := listKey{e.shard, e.ref}
	delete(r.lists, key) // an entry that the sweep has freed may have had this ref
	if rows.removalsAt != 0 || rows.deliveredAt != 0 {
		r.lists[key] = listPositions{rows.removalsAt, rows.deliveredAt}
	}
	return e.install(rows)
}

// replayPlay is play without what the lists as they were read already show.
func (e entry) replayPlay(slot uint64, w window, h uint64, removals, delivered bool) {
	if removals && e.dropRemoved(h) {
		e.setRemovedSlot(slot)
	}
	if !e.stagedIn(w, h) {
		e.stage(slot, w, h)
	}
	if delivered {
		e.undeliverHash(slot, h)
	}
}
