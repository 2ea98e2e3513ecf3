package flusher

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDisk = errors.New("disk on fire")

// fakeStore is a store in which slots are numbers.
type fakeStore struct {
	t testing.TB

	mu       sync.Mutex // guards all below
	onSeal   sealHook   // nil: there are always records
	onStore  storeHook
	open     uint64
	sealed   []uint64
	stored   []uint64
	seals    []time.Time // calls of Seal
	attempts []time.Time // calls of StoreOldest
	pressure Pressure
	busy     bool
}

// Hooks run without the lock; they may sleep.
type (
	sealHook  func() (hasRecords bool, err error)
	storeHook func(ctx context.Context, slot uint64) error
)

func newFake(t testing.TB) *fakeStore { return &fakeStore{t: t, open: 1} }

// enter checks that the wheel does one thing at a time.
func (s *fakeStore) enter() (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		s.t.Error("two calls at once")
	}
	s.busy = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy = false
	}
}

func (s *fakeStore) Seal() (uint64, error) {
	defer s.enter()()
	s.mu.Lock()
	s.seals = append(s.seals, time.Now())
	hook := s.onSeal
	s.mu.Unlock()
	if hook != nil {
		if hasRecords, err := hook(); err != nil || !hasRecords {
			return 0, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = append(s.sealed, s.open)
	s.open++
	return s.open - 1, nil
}

func (s *fakeStore) StoreOldest(ctx context.Context) (Result, error) {
	defer s.enter()()
	s.mu.Lock()
	s.attempts = append(s.attempts, time.Now())
	if len(s.sealed) == 0 {
		s.mu.Unlock()
		return Result{}, nil
	}
	slot, hook := s.sealed[0], s.onStore
	s.mu.Unlock()
	if hook != nil {
		if err := hook(ctx, slot); err != nil {
			return Result{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = s.sealed[1:]
	s.stored = append(s.stored, slot)
	return Result{Slot: slot, Keys: 1, Items: int64(slot), Bytes: 10}, nil
}

func (s *fakeStore) Sealed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sealed)
}

func (s *fakeStore) Slots() []Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	var slots []Slot
	for _, id := range append(slices.Clone(s.sealed), s.open) {
		slots = append(slots, Slot{ID: id, Keys: 1, Items: int64(id), Bytes: 100})
	}
	return slots
}

func (s *fakeStore) Pressure() Pressure {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pressure
}

func (s *fakeStore) setOnSeal(hook sealHook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onSeal = hook
}

func (s *fakeStore) setOnStore(hook storeHook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onStore = hook
}

func (s *fakeStore) setPressure(p Pressure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pressure = p
}

func (s *fakeStore) sealCalls() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seals)
}

func (s *fakeStore) storeCalls() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.attempts)
}

// checkStored checks that slots 1 to n, and no others, were stored in order.
func (s *fakeStore) checkStored(n int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, slot := range s.stored {
		if slot != uint64(i+1) {
			s.t.Fatalf("slot %d was stored as number %d: %v", slot, i+1, s.stored)
		}
	}
	if len(s.stored) != n {
		s.t.Fatalf("%d slots are stored, want %d", len(s.stored), n)
	}
}

// takes is an onStore hook of a slow disk.
func takes(d time.Duration) storeHook {
	return func(ctx context.Context, _ uint64) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func testConfig() Config {
	c := DefaultConfig()
	c.Poll = 10 * time.Second
	return c
}

// failing is an onStore hook of a broken one.
func failing(context.Context, uint64) error { return errDisk }

// newWheel is a wheel that the test starts, and that ends with the bubble.
func newWheel(t testing.TB, s Store, c Config, chores ...Chore) *Flusher {
	t.Helper()
	f, err := New(s, c, chores...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func stop(t testing.TB, f *Flusher) {
	t.Helper()
	if err := f.Stop(t.Context()); err != nil {
		t.Errorf("Stop: %v", err)
	}
}

// turning runs a test on a wheel that began at 00:17:03.25, an odd time.
func turning(t *testing.T, c Config, test func(t *testing.T, s *fakeStore, f *Flusher), chores ...Chore) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(odd)
		s := newFake(t)
		f := newWheel(t, s, c, chores...)
		f.Start()
		defer stop(t, f)
		synctest.Wait()
		test(t, s, f)
	})
}

const odd = 17*time.Minute + 3*time.Second + 250*time.Millisecond

// midnight is when a bubble begins.
var midnight = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// at writes times as durations since midnight.
func at(times []time.Time) []time.Duration {
	var all []time.Duration
	for _, t := range times {
		all = append(all, t.Sub(midnight))
	}
	return all
}

// sleepUntil sleeps until a time of day, and until the wheel has done its work.
func sleepUntil(d time.Duration) {
	time.Sleep(time.Until(midnight.Add(d)))
	synctest.Wait()
}
