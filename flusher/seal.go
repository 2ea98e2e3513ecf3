package flusher

import (
	"fmt"
	"time"

	"dedupd/storage/policy"
)

// A turn is what the wheel knows of a slot.
type turn struct {
	began  time.Time
	due    time.Time // its end, fixed when it began
	sealed time.Time // zero: it is open
}

// newTurn fixes the end of a slot that begins now: the wall clock's next
// multiple of the slot length, as a time on the monotonic clock, which time.Time
// carries and compares by. Whatever happens to the wall clock until then, the
// end stays; the next slot gets its own from where both clocks then are, so a
// pause over several multiples ends one slot.
func (f *Flusher) newTurn(now time.Time) turn {
	length := policy.SlotEnd(f.wall(now), 0, int64(f.config.Slot))
	return turn{began: now, due: now.Add(time.Duration(length))}
}

// sealIfDue ends the open slot if its time is up, a flush was asked for, or it
// takes too much memory.
func (f *Flusher) sealIfDue(p Pressure) {
	now := time.Now()
	due := !now.Before(f.open.due)
	asked := f.flush != nil && !f.flush.sealed
	// Ending a slot frees nothing while others wait in front of it.
	early := p.overBudget() && f.store.Sealed() == 0
	switch {
	case !due && !early && !asked:
		return
	case f.sealRetry.waits(now) && !asked:
		return
	case f.store.Sealed() >= f.config.MaxSealed:
		return
	}
	slot, err := f.store.Seal()
	if err != nil {
		f.sealFailed(fmt.Errorf("ending the open slot: %w", err))
		return
	}
	f.sealed(slot, due, !due && !asked)
	if asked {
		f.flushSealed()
	}
}

// sealed begins the next slot. A slot without records goes on; if it was due it
// has a new turn.
func (f *Flusher) sealed(slot uint64, due, early bool) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sealRetry = retry{}
	if slot != 0 {
		f.open.sealed = now
		f.turns[slot] = f.open
		f.counters.Sealed++
		if early {
			f.counters.Early++
		}
	}
	if slot != 0 || due {
		f.open = f.newTurn(now)
	}
}

func (f *Flusher) sealFailed(err error) {
	f.mu.Lock()
	f.sealRetry.failed(err, f.config, f.random)
	f.counters.SealFailures++
	failed := f.sealRetry
	f.mu.Unlock()
	failed.log(f.config.Logger)
	f.finishFlush(err)
}
