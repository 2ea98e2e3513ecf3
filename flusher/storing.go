package flusher

import (
	"errors"
	"fmt"
	"time"
)

var errNothingStored = errors.New("a slot is sealed, but the store has none to move")

// hold decides whether the wheel holds itself back: ingesting never meets a
// write stall of the cold layer, so that nothing else would keep reads short.
func (f *Flusher) hold(p Pressure) {
	hold := p.ReadAmp > f.config.MaxReadAmp && f.store.Sealed() > 0
	held, took := f.noteHold(p, hold)
	switch {
	case hold && !held:
		f.config.Logger.Info("slots are held back: reads of the cold layer are too deep", "readamp", p.ReadAmp, "max", f.config.MaxReadAmp)
	case held && !hold:
		f.config.Logger.Info("slots are stored again", "held", took, "readamp", p.ReadAmp)
	}
}

// noteHold returns whether and for how long the wheel was held until now.
func (f *Flusher) noteHold(p Pressure, hold bool) (held bool, took time.Duration) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pressure = p
	held = !f.heldSince.IsZero()
	switch {
	case hold && !held:
		f.heldSince = now
	case held && !hold:
		took = now.Sub(f.heldSince)
		f.counters.Held += took
		f.heldSince = time.Time{}
	}
	return held, took
}

// storeIfAllowed stores the oldest sealed slot, unless it must wait. A flush by
// command waives both reasons to wait.
func (f *Flusher) storeIfAllowed() (stored bool) {
	began := time.Now()
	wait := f.storeRetry.waits(began) || !f.heldSince.IsZero()
	if f.store.Sealed() == 0 || wait && f.flush == nil || f.isStopping() {
		return false
	}
	f.setStoring(began)
	result, err := f.store.StoreOldest(f.context)
	if err == nil && result.Slot == 0 {
		err = errNothingStored
	}
	if err != nil {
		f.storeFailed(err)
		return false
	}
	f.stored(result, began)
	return true
}

func (f *Flusher) setStoring(since time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.storingSince = since
}

// stored enters a stored slot into the ledger.
func (f *Flusher) stored(r Result, began time.Time) {
	now := time.Now()
	f.mu.Lock()
	t := f.turns[r.Slot]
	f.ledger.add(Outcome{
		Result: r, Began: t.began, Sealed: t.sealed, Stored: now, Took: now.Sub(began),
		Attempts: f.storeRetry.failures + 1, Error: f.storeRetry.text(),
	})
	delete(f.turns, r.Slot)
	f.storeRetry = retry{}
	f.storingSince = time.Time{}
	f.counters.Stored++
	f.counters.Items += r.Items
	f.counters.Bytes += r.Bytes
	f.mu.Unlock()
	f.flushStored()
}

func (f *Flusher) storeFailed(err error) {
	err = fmt.Errorf("storing slot %d: %w", f.oldest(), err)
	if f.context.Err() != nil { // Stop cut it short, that is no failure
		f.cut = err
		f.setStoring(time.Time{})
		return
	}
	f.mu.Lock()
	f.storeRetry.failed(err, f.config, f.random)
	f.counters.StoreFailures++
	f.storingSince = time.Time{}
	failed := f.storeRetry
	f.mu.Unlock()
	failed.log(f.config.Logger)
	f.finishFlush(err)
}

func (f *Flusher) oldest() uint64 {
	slots := f.store.Slots()
	if len(slots) == 0 {
		return 0
	}
	return slots[0].ID
}
