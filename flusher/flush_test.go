package flusher

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// flushAll calls FlushNow n times at once and returns how long it took until
// all were answered.
func flushAll(t *testing.T, f *Flusher, n int, want error) time.Duration {
	t.Helper()
	began := time.Now()
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			if err := f.FlushNow(t.Context()); !errors.Is(err, want) {
				t.Errorf("FlushNow: %v, want %v", err, want)
			}
		})
	}
	calls.Wait()
	return time.Since(began)
}

func TestFlushIsShared(t *testing.T) {
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setOnStore(takes(time.Minute))
		first := make(chan time.Duration)
		go func() { first <- flushAll(t, f, 1, nil) }()
		time.Sleep(time.Second) // slot 1 is being stored
		if took := flushAll(t, f, 100, nil); took != 119*time.Second {
			t.Errorf("a hundred took %v", took)
		}
		if took := <-first; took != time.Minute {
			t.Errorf("the first took %v", took)
		}
		s.checkStored(2)
		if n := f.Status().Counters.Flushes; n != 2 {
			t.Errorf("%d flushes", n)
		}
		if deadline := f.Status().Deadline; !deadline.Equal(midnight.Add(h)) {
			t.Errorf("deadline %v", deadline)
		}
	})
}

func TestFlushOfNothing(t *testing.T) {
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setOnSeal(func() (bool, error) { return false, nil })
		if took := flushAll(t, f, 3, nil); took != 0 || len(s.storeCalls()) != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// A flush waits neither for reads to become shallow nor for a back-off, and
// makes room where there is none.
func TestFlushWaivesWaiting(t *testing.T) {
	c := testConfig()
	c.MaxSealed = 2
	turning(t, c, func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setPressure(Pressure{ReadAmp: 100})
		sleepUntil(5 * h)
		if !f.Backlogged() {
			t.Fatal("not backlogged")
		}
		if took := flushAll(t, f, 1, nil); took != 0 {
			t.Errorf("it took %v", took)
		}
		s.checkStored(3)

		s.setPressure(Pressure{})
		s.setOnStore(failing)
		sleepUntil(6*h + 59*time.Minute)
		s.setOnStore(nil)
		if took := flushAll(t, f, 1, nil); took != 0 {
			t.Errorf("it took %v", took)
		}
		s.checkStored(5)
	})
}

func TestFlushFails(t *testing.T) {
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setOnSeal(func() (bool, error) { return false, errDisk })
		flushAll(t, f, 1, errDisk)
		s.setOnSeal(nil)
		s.setOnStore(failing)
		flushAll(t, f, 1, errDisk)
		if status := f.Status(); status.Store.Failures != 1 || status.Seal.Failures != 0 || status.Sealed() != 1 {
			t.Errorf("status %+v", status)
		}
		s.setOnStore(nil)
		sleepUntil(odd + 2*time.Second)
		s.checkStored(1)
	})
}

// A caller that goes away does not end the flush.
func TestFlushOutlivesItsCaller(t *testing.T) {
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setOnStore(takes(time.Minute))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.FlushNow(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("FlushNow: %v", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		s.checkStored(1)
	})
}

// A slot that ends while a flush runs is not waited for.
func TestFlushEnds(t *testing.T) {
	c := testConfig()
	c.Slot = time.Second
	turning(t, c, func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setOnStore(takes(1500 * time.Millisecond))
		sleepUntil(odd + time.Minute)
		sealed := s.Sealed()
		if took := flushAll(t, f, 1, nil); took > time.Duration(sealed+3)*1500*time.Millisecond {
			t.Errorf("it took %v with %d slots", took, sealed)
		}
	})
}
