package flusher

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const h = time.Hour

func TestSlotsEndOnMultiples(t *testing.T) {
	for _, length := range []time.Duration{time.Second, 7 * time.Second, 5 * time.Minute, time.Hour, 90 * time.Minute, 24 * time.Hour} {
		t.Run(length.String(), func(t *testing.T) {
			c := testConfig()
			c.Slot = length
			turning(t, c, func(t *testing.T, s *fakeStore, f *Flusher) {
				started := time.Now()
				sleepUntil(odd + 10*length)
				seals := s.sealCalls()
				if len(seals) != 10 {
					t.Errorf("%d slots ended in 10 lengths", len(seals))
				}
				began := started
				for i, o := range f.Ledger() {
					if o.Sealed.UnixNano()%int64(length) != 0 || !o.Sealed.Equal(seals[i]) || !o.Began.Equal(began) {
						t.Errorf("slot %d began %v and ended %v", o.Slot, o.Began, o.Sealed)
					}
					began = o.Sealed
				}
				s.checkStored(10)
			})
		})
	}
}

// The end of the open slot stays when the wall clock moves; the next slot
// follows the clock.
func TestWallClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{-400 * 24 * h, -30 * time.Minute, 20 * time.Minute, 5*h + 20*time.Minute, 400*24*h + 20*time.Minute} {
		t.Run(jump.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var moved atomic.Int64
				time.Sleep(odd)
				s := newFake(t)
				f := newWheel(t, s, testConfig())
				f.wall = func(now time.Time) int64 { return now.UnixNano() + moved.Load() }
				f.Start()
				defer stop(t, f)
				moved.Store(int64(jump))
				deadline := f.Status().Deadline
				sleepUntil(3*h + time.Minute)
				next := h + h - (jump%h+h)%h
				want := []time.Duration{h, next, next + h}
				if got := at(s.sealCalls()); !slices.Equal(got[:3], want) || !deadline.Equal(midnight.Add(h)) {
					t.Errorf("slots ended at %v, want %v; the deadline was %v", got, want, deadline)
				}
			})
		})
	}
}

// B051: a pause over several multiples ends one slot, and the next is on time.
func TestB051PauseEndsOneSlot(t *testing.T) {
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setOnStore(func(ctx context.Context, slot uint64) error {
			if slot == 1 {
				return takes(4*h+30*time.Minute)(ctx, slot)
			}
			return nil
		})
		sleepUntil(5 * h)
		if lag := f.Status().Lag; lag != 4*h {
			t.Errorf("lag %v in the pause", lag)
		}
		sleepUntil(5*h + 31*time.Minute)
		if s := f.Status(); s.Lag != 0 || s.Sealed() != 0 {
			t.Errorf("lag %v after the pause", s.Lag)
		}
		sleepUntil(7 * h)
		want := []time.Duration{h, 5*h + 30*time.Minute, 6 * h, 7 * h}
		if got := at(s.sealCalls()); !slices.Equal(got, want) {
			t.Errorf("slots ended at %v, want %v", got, want)
		}
		s.checkStored(4)
	})
}

func TestEmptySlotsGoOn(t *testing.T) {
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setOnSeal(func() (bool, error) { return len(s.sealCalls()) > 3, nil })
		sleepUntil(4 * h)
		if got := at(s.sealCalls()); !slices.Equal(got, []time.Duration{h, 2 * h, 3 * h, 4 * h}) {
			t.Errorf("tried to end at %v", got)
		}
		s.checkStored(1)
		if o := f.Ledger()[0]; !o.Began.Equal(midnight.Add(3 * h)) {
			t.Errorf("began %v", o.Began)
		}
	})
}

func TestSealFailureIsRetried(t *testing.T) {
	c := testConfig()
	c.Poll = 100 * time.Millisecond
	turning(t, c, func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setOnSeal(func() (bool, error) {
			if len(s.sealCalls()) <= 3 {
				return false, errDisk
			}
			return true, nil
		})
		sleepUntil(h)
		trouble := f.Status().Seal
		if trouble.Failures != 1 || trouble.Error != "ending the open slot: disk on fire" || !trouble.Since.Equal(midnight.Add(h)) {
			t.Errorf("trouble %+v", trouble)
		}
		if trouble.Retry.Sub(trouble.Since) < time.Second/2 || trouble.Retry.Sub(trouble.Since) > time.Second {
			t.Errorf("retried after %v", trouble.Retry.Sub(trouble.Since))
		}
		sleepUntil(h + 10*time.Second)
		s.checkStored(1)
		status := f.Status()
		if status.Seal != (Trouble{}) || status.Counters.SealFailures != 3 || !status.Deadline.Equal(midnight.Add(2*h)) {
			t.Errorf("status %+v", status)
		}
	})
}

// A full memory ends slots early, one at a time.
func TestEarlySeal(t *testing.T) {
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setOnStore(func(ctx context.Context, slot uint64) error {
			defer s.setPressure(Pressure{Budget: 1000})
			return takes(5*time.Minute)(ctx, slot)
		})
		s.setPressure(Pressure{Staged: 1000, Budget: 1000})
		sleepUntil(20 * time.Minute)
		if n := len(s.sealCalls()); n != 0 {
			t.Errorf("%d slots ended within the budget", n)
		}
		s.setPressure(Pressure{Staged: 1001, Budget: 1000})
		sleepUntil(20*time.Minute + 10*time.Second)
		if s := f.Status(); s.Sealed() != 1 || s.Counters.Early != 1 || !s.Deadline.Equal(midnight.Add(h)) {
			t.Errorf("status %+v", s)
		}
		sleepUntil(h)
		if n := len(s.sealCalls()); n != 2 {
			t.Errorf("%d slots ended", n)
		}
	})
}

// Ending slots frees nothing while they cannot be stored.
func TestNoEarlySealBehindOthers(t *testing.T) {
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, _ *Flusher) {
		s.setPressure(Pressure{Staged: 2, Budget: 1, ReadAmp: 100})
		sleepUntil(59 * time.Minute)
		if n := len(s.sealCalls()); n != 1 {
			t.Errorf("%d slots ended", n)
		}
	})
}

func TestEarlySealOfNothingDoesNotSpin(t *testing.T) {
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setOnSeal(func() (bool, error) { return false, nil })
		s.setPressure(Pressure{Staged: 2, Budget: 1})
		sleepUntil(59*time.Minute + 59*time.Second)
		if n := len(s.sealCalls()); n > 43*6 {
			t.Errorf("%d attempts in 43 minutes with a poll each 10 s", n)
		}
		if s := f.Status(); s.Counters.Early != 0 || !s.Deadline.Equal(midnight.Add(h)) {
			t.Errorf("status %+v", s)
		}
	})
}
