package storage

import "dedupd/storage/log"

// Stats is a snapshot of the store's figures.
type Stats struct {
	Keys, Staged, Delivered int64 // in the hot layer
	HotBytes, HotLimit      int64
	Log                     log.Stats
	Recovery                log.Recovery
	ReadOnly                error // why writes are refused, or nil
}

// Stats may be called at any time; it takes no locks of the hot layer.
func (s *Store) Stats() Stats {
	st := Stats{HotBytes: s.used.Load(), HotLimit: s.hotBytes, Log: s.log.Stats(), Recovery: s.recovery}
	for _, sh := range s.shards {
		st.Keys += sh.keys.value()
		st.Staged += sh.staged.value()
		st.Delivered += sh.delivered.value()
	}
	if failure := s.failure.Load(); failure != nil {
		st.ReadOnly = failure
	} else if err := s.log.Err(); err != nil {
		st.ReadOnly = &ReadOnlyError{Cause: err}
	}
	return st
}
