package storage

import "dedupd/filter"

// apply repeats a record of the log, as it was decided. It runs before the
// store is shared, so it takes no locks.
func (s *Store) apply(slot uint64, payload []byte) error {
	r := &s.replay
	now := r.begin(payload)
	for {
		o, ok := r.next()
		if !ok {
			return r.err
		}
		s.applyOp(slot, now, o)
	}
}

func (s *Store) applyOp(slot uint64, now int64, o op) {
	salt := s.secret.Salt(o.key)
	sh := s.shard(salt)
	switch o.kind {
	case opPlay:
		e := sh.findOrCreate(salt, o.key)
		for _, h := range o.hashes {
			if !e.stagedAny(h) {
				e.play(slot, h)
			}
		}
	case opDeliver:
		e := sh.findOrCreate(salt, o.key)
		for _, item := range o.items {
			e.deliver(e.hash(item), item, now, s.deliveredKeep)
		}
	case opForget:
		if e := sh.find(salt, o.key); e.exists() {
			for _, item := range o.items {
				e.forget(salt.Mix(filter.Hash(item)), item, o.layers, now-s.deliveredTTL)
			}
			sh.dropIfEmpty(e)
		}
	}
}
