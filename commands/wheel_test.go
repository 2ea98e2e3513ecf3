package commands

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"dedupd/storage"
)

// handWheel is a wheel that turns when it is told to.
type handWheel struct {
	mu     sync.Mutex // one flush at a time, as the store wants it
	store  *storage.Store
	ledger []WheelEntry
}

func (w *handWheel) Flush(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.store.Seal(); err != nil {
		return err
	}
	for {
		stored, err := w.store.StoreOldest(ctx)
		if err != nil || stored.Slot == 0 {
			return err
		}
		w.ledger = append(w.ledger, WheelEntry{ID: stored.Slot, Stored: time.Now(), Keys: stored.Keys, Items: stored.Items, Attempts: 1})
	}
}

func (w *handWheel) Slots() []WheelSlot {
	var slots []WheelSlot
	for _, s := range w.store.Slots() {
		slots = append(slots, WheelSlot{ID: s.ID, State: "open", Keys: s.Keys, Items: s.Items})
	}
	return slots
}

func (w *handWheel) Ledger() []WheelEntry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]WheelEntry(nil), w.ledger...)
}

// failingWheel cannot flush.
type failingWheel struct {
	Wheel
	err error
}

func (w failingWheel) Flush(context.Context) error { return w.err }

// TestWheelFlushSaysWhy answers what a flush ends with.
func TestWheelFlushSaysWhy(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("storing slot 3: no space"), "-ERR storing slot 3: no space\r\n"},
		{&storage.ReadOnlyError{Cause: errors.New("the disk is gone")}, "-MISCONF "},
		{context.Canceled, "-ERR the server is shutting down"},
	} {
		n := openNode(t, nodeOptions{})
		n.handler.Wheel = failingWheel{err: c.err}
		if got := n.session().do("DEDUP.WHEEL", "FLUSH"); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
		n.close()
	}
}
