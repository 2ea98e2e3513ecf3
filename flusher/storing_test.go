package flusher

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// B067: what recovery left sealed is stored first, at once and in order.
func TestB067BacklogFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(odd)
		s := newFake(t)
		s.sealed, s.open = []uint64{1, 2, 3, 4, 5}, 6
		s.setOnStore(takes(time.Minute))
		c := testConfig()
		c.MaxSealed = 3
		f := newWheel(t, s, c)
		if !f.Backlogged() || f.Status().Running || f.Status().Lag != 0 {
			t.Errorf("before Start: %+v", f.Status())
		}
		f.Start()
		defer stop(t, f)
		time.Sleep(2*time.Minute + time.Second)
		if s := f.Status(); !s.Running || s.Slots[0].State != Storing || s.Slots[1].State != Sealed || s.Slots[2].State != Sealed ||
			s.Slots[3].State != Open || s.Lag != 2*time.Minute+time.Second || !s.Slots[0].Sealed.IsZero() || !s.Backlogged {
			t.Errorf("while they are stored: %+v", s)
		}
		time.Sleep(3 * time.Minute)
		s.checkStored(5)
		for _, o := range f.Ledger() {
			if !o.Began.IsZero() || !o.Sealed.IsZero() || o.Took != time.Minute || o.Attempts != 1 {
				t.Errorf("outcome %+v", o)
			}
		}
		sleepUntil(h + time.Minute)
		s.checkStored(6)
	})
}

// A slot that fails is tried again, ever more slowly, and holds back the later
// ones; a success resets the pauses.
func TestBackoff(t *testing.T) {
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setOnStore(failing)
		sleepUntil(3*h + time.Minute)
		calls := s.storeCalls()
		bound := time.Second
		for i := 1; i < len(calls); i++ {
			if pause := calls[i].Sub(calls[i-1]); pause < bound/2 || pause > bound {
				t.Errorf("pause %d is %v, want %v to %v", i, pause, bound/2, bound)
			}
			bound = min(2*bound, time.Minute)
		}
		status := f.Status()
		if status.Store.Failures != len(calls) || status.Store.Error != "storing slot 1: disk on fire" || !status.Store.Since.Equal(midnight.Add(h)) ||
			status.Lag != 2*h+time.Minute || status.Sealed() != 3 {
			t.Errorf("status %+v", status)
		}
		s.setOnStore(nil)
		sleepUntil(3*h + 2*time.Minute)
		s.checkStored(3)
		o := f.Ledger()
		if o[0].Attempts != len(calls)+1 || o[0].Error != status.Store.Error || o[1].Attempts != 1 || o[1].Error != "" {
			t.Errorf("outcomes %+v", o)
		}
		if f.Status().Store != (Trouble{}) {
			t.Errorf("trouble %+v", f.Status().Store)
		}
		s.setOnStore(failing)
		sleepUntil(4 * h)
		if trouble := f.Status().Store; trouble.Failures != 1 || trouble.Retry.Sub(trouble.Since) > time.Second {
			t.Errorf("the back-off was not reset: %+v", trouble)
		}
	})
}

// A store that says there is nothing is not asked again and again.
func TestNothingToMove(t *testing.T) {
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, _ *Flusher) {
		f := newWheel(t, emptyHanded{s}, testConfig())
		f.Start()
		defer stop(t, f)
		sleepUntil(odd + time.Minute)
		if trouble := f.Status().Store; trouble.Failures < 5 || trouble.Failures > 10 {
			t.Errorf("trouble %+v", trouble)
		}
	})
}

type emptyHanded struct{ *fakeStore }

func (emptyHanded) StoreOldest(context.Context) (Result, error) { return Result{}, nil }
func (emptyHanded) Sealed() int                                 { return 1 }

// While reads are deep slots end on time and wait.
func TestBackPressure(t *testing.T) {
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setPressure(Pressure{ReadAmp: 17})
		sleepUntil(3*h + 30*time.Minute)
		status := f.Status()
		if len(s.storeCalls()) != 0 || status.Sealed() != 3 || !status.HeldSince.Equal(midnight.Add(h)) || status.Counters.Held != 150*time.Minute ||
			status.Pressure.ReadAmp != 17 || !status.Deadline.Equal(midnight.Add(4*h)) {
			t.Errorf("status %+v", status)
		}
		s.setPressure(Pressure{ReadAmp: 16})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		s.checkStored(3)
		if status := f.Status(); !status.HeldSince.IsZero() || status.Counters.Held <= 150*time.Minute || status.Lag != 0 {
			t.Errorf("status %+v", status)
		}
	})
}

// With MaxSealed slots waiting the open one stays open until there is room.
func TestBacklogged(t *testing.T) {
	c := testConfig()
	c.MaxSealed = 3
	turning(t, c, func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setPressure(Pressure{ReadAmp: 100})
		sleepUntil(2*h + time.Minute)
		if f.Backlogged() {
			t.Error("backlogged with two slots")
		}
		sleepUntil(9*h + 30*time.Minute)
		if !f.Backlogged() || s.Sealed() != 3 || len(s.sealCalls()) != 3 {
			t.Errorf("%d slots are sealed", s.Sealed())
		}
		if open := f.Status().Slots[3]; open.Lag != 5*h+30*time.Minute {
			t.Errorf("lag %v", open.Lag)
		}
		s.setPressure(Pressure{})
		sleepUntil(10 * h)
		if got := at(s.sealCalls()[3:]); f.Backlogged() || len(got) != 2 || got[0] > 9*h+31*time.Minute || got[1] != 10*h {
			t.Errorf("then slots ended at %v", got)
		}
		s.checkStored(5)
	})
}
