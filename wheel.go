package main

import (
	"context"
	"time"

	"dedupd/commands"
	"dedupd/flusher"
	"dedupd/storage"
)

// wheelStore shows the store to the wheel.
type wheelStore struct {
	*storage.Store
	budget int64 // bytes that may wait to be stored before slots end early
}

func (s wheelStore) StoreOldest(ctx context.Context) (flusher.Result, error) {
	stored, err := s.Store.StoreOldest(ctx)
	return flusher.Result{Slot: stored.Slot, Keys: stored.Keys, Items: stored.Items, Bytes: stored.Bytes}, err
}

func (s wheelStore) Slots() []flusher.Slot {
	infos := s.Store.Slots()
	slots := make([]flusher.Slot, len(infos))
	for i, info := range infos {
		slots[i] = flusher.Slot{ID: info.ID, Keys: info.Keys, Items: info.Items, Bytes: info.Items * 8}
	}
	return slots
}

func (s wheelStore) Pressure() flusher.Pressure {
	p := flusher.Pressure{Staged: s.Store.Stats().Unstored, Budget: s.budget}
	if st, err := s.Store.Cold(); err == nil {
		p.ReadAmp = st.ReadAmp
	}
	return p
}

// wheelCommands shows the wheel to the commands.
type wheelCommands struct{ *flusher.Flusher }

func (w wheelCommands) Flush(ctx context.Context) error { return w.FlushNow(ctx) }

func (w wheelCommands) Slots() []commands.WheelSlot {
	st := w.Status()
	slots := make([]commands.WheelSlot, len(st.Slots))
	for i, s := range st.Slots {
		slots[i] = commands.WheelSlot{ID: s.ID, State: s.State.String(), Keys: s.Keys, Items: s.Items, Lag: s.Lag}
	}
	if len(slots) > 1 {
		slots[0].Error = st.Store.Error
	}
	return slots
}

func (w wheelCommands) Ledger() []commands.WheelEntry {
	ledger := w.Flusher.Ledger()
	entries := make([]commands.WheelEntry, len(ledger))
	for i, e := range ledger {
		entries[i] = commands.WheelEntry{
			ID: e.Slot, Began: e.Began, Sealed: e.Sealed, Stored: e.Stored, Keys: e.Keys, Items: e.Items,
			Bytes: e.Bytes, Took: time.Duration(e.Took), Attempts: int64(e.Attempts), Error: e.Error,
		}
	}
	return entries
}
