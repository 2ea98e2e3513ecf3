package storage

import (
	"dedupd/storage/cold"
	"dedupd/storage/log"
)

// Stats is a snapshot of the store's figures.
type Stats struct {
	Keys, Staged, Delivered int64 // in the hot layer
	HotBytes, HotLimit      int64
	TableBytes              int64 // of HotBytes: what can be read again from disk
	OpenSlot, StoredSlot    uint64
	Sealed                  int   // slots that wait to be stored
	Unstored                int64 // of HotBytes: what storing all slots would free, at most
	Log                     log.Stats
	Recovery                log.Recovery
	ReadOnly                error // why writes are refused, or nil
}

// Stats may be called at any time; it takes no locks of the hot layer.
func (s *Store) Stats() Stats {
	st := Stats{OpenSlot: s.log.Slot(), StoredSlot: s.cold.StoredSlot(), Sealed: int(s.backlog.Load()), HotBytes: s.used.Load(), HotLimit: s.hotBytes, Log: s.log.Stats(), Recovery: s.recovery}
	for _, sh := range s.shards {
		st.Keys += sh.keys.value()
		st.Staged += sh.staged.value()
		st.TableBytes += sh.tables.value()
		st.Delivered += sh.delivered.value()
	}
	st.Unstored = max(0, st.HotBytes-st.TableBytes)
	if failure := s.failure.Load(); failure != nil {
		st.ReadOnly = failure
	} else if err := s.log.Err(); err != nil {
		st.ReadOnly = &ReadOnlyError{Cause: err}
	}
	return st
}

// Cold is a snapshot of the cold layer's figures. It may wait for locks that
// are held during I/O.
func (s *Store) Cold() (cold.Stats, error) { return s.cold.Stats() }
