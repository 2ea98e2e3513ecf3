package storage

import (
	"fmt"
	"time"
)

// Seal ends the open slot and begins the next. It returns the slot that is
// sealed now, or 0 if the open slot has no records and stays open. After an
// error the open slot is still open, or the log has failed. It must not run
// while StoreOldest does.
func (s *Store) Seal() (uint64, error) {
	if s.log.End() == s.slotStart {
		return 0, nil
	}
	var info SlotInfo
	sealed, err := s.log.Roll(func(swap func()) {
		s.lockAll()
		defer s.unlockAll()
		swap()
		info = s.takeOpen()
		s.slot = s.log.Slot()
		s.slotStart = s.log.End()
	})
	if err != nil {
		return 0, fmt.Errorf("sealing a slot: %w", err)
	}
	info.ID = sealed
	s.pushSealed(info)
	return sealed, nil
}

// SlotInfo is a slot that is not stored yet.
type SlotInfo struct {
	ID    uint64
	Keys  int64 // a key that it brought to two windows counts twice
	Items int64
}

// takeOpen returns what the open slot brought, and begins to count anew.
func (s *Store) takeOpen() (info SlotInfo) {
	for _, sh := range s.shards {
		info.Keys += sh.slotKeys
		info.Items += sh.slotItems
		sh.slotKeys, sh.slotItems = 0, 0
	}
	return info
}

func (s *Store) lockAll() {
	for _, sh := range s.shards {
		sh.mu.Lock()
	}
}

func (s *Store) unlockAll() {
	for _, sh := range s.shards {
		sh.mu.Unlock()
	}
}

// Slots are the sealed slots that are not stored yet, oldest first, and then
// the open one, of which only the number is known.
func (s *Store) Slots() []SlotInfo {
	s.sealedMu.Lock()
	defer s.sealedMu.Unlock()
	return append(append([]SlotInfo(nil), s.sealed...), SlotInfo{ID: s.log.Slot()})
}

// Sealed is how many sealed slots are not stored yet.
func (s *Store) Sealed() int { return int(s.backlog.Load()) }

func (s *Store) oldestSealed() (uint64, bool) {
	s.sealedMu.Lock()
	defer s.sealedMu.Unlock()
	if len(s.sealed) == 0 {
		return 0, false
	}
	return s.sealed[0].ID, true
}

func (s *Store) pushSealed(info SlotInfo) {
	s.sealedMu.Lock()
	defer s.sealedMu.Unlock()
	s.sealed = append(s.sealed, info)
	s.backlog.Store(int64(len(s.sealed)))
}

func (s *Store) popSealed(slot uint64) {
	s.sealedMu.Lock()
	defer s.sealedMu.Unlock()
	if len(s.sealed) > 0 && s.sealed[0].ID == slot {
		s.sealed = s.sealed[1:]
	}
	s.backlog.Store(int64(len(s.sealed)))
}

func nowMillis() int64 { return time.Now().UnixMilli() }
