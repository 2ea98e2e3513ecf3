package flusher

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestStopInEveryState(t *testing.T) {
	chore := Chore{Name: "long", Every: time.Hour, Run: func(ctx context.Context) error {
		if time.Since(midnight) < h+15*time.Minute {
			return nil
		}
		return takes(10*time.Minute)(ctx, 0)
	}}
	slow := takes(10 * time.Minute)
	for _, test := range []struct {
		name    string
		at      time.Duration // of day
		prepare func(s *fakeStore)
		flush   bool
		finish  time.Duration // how long Stop takes if it waits
		cut     string        // what it says if it does not wait
		stored  int           // if it waits; else one less if it cuts a store
	}{
		{name: "idle", at: 30 * time.Minute},
		{name: "after a slot", at: h + time.Minute, stored: 1},
		{name: "storing", at: h + time.Minute, prepare: func(s *fakeStore) { s.setOnStore(slow) }, finish: 9 * time.Minute, cut: "storing slot 1: ", stored: 1},
		{name: "flushing", at: 30 * time.Minute, prepare: func(s *fakeStore) { s.setOnStore(slow) }, flush: true, finish: 10 * time.Minute, cut: "storing slot 1: ", stored: 1},
		{name: "backing off", at: 2 * h, prepare: func(s *fakeStore) { s.setOnStore(failing) }},
		{name: "held", at: 2*h - time.Minute, prepare: func(s *fakeStore) { s.setPressure(Pressure{ReadAmp: 50}) }},
		{name: "at a chore", at: h + odd + time.Minute, stored: 1, finish: 9 * time.Minute, cut: "long: "},
	} {
		for _, wait := range []bool{true, false} {
			t.Run(test.name+map[bool]string{true: "", false: ", at once"}[wait], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(odd)
					s := newFake(t)
					if test.prepare != nil {
						test.prepare(s)
					}
					f := newWheel(t, s, testConfig(), chore)
					f.Start()
					sleepUntil(test.at)
					flushed := make(chan error, 2)
					if test.flush {
						go func() { flushed <- f.FlushNow(context.Background()) }()
						synctest.Wait()
						go func() { flushed <- f.FlushNow(context.Background()) }()
						synctest.Wait()
					}

					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					took, cut, stored := test.finish, "", test.stored
					if !wait {
						cancel()
						took, cut = 0, test.cut
						if strings.HasPrefix(cut, "storing") {
							stored--
						}
					}
					began := time.Now()
					err := f.Stop(ctx)
					if time.Since(began) != took {
						t.Errorf("Stop took %v, want %v", time.Since(began), took)
					}
					if cut == "" && err != nil || cut != "" && (err == nil || !strings.HasPrefix(err.Error(), cut) || !errors.Is(err, context.Canceled)) {
						t.Errorf("Stop: %v, want %q", err, cut)
					}
					checkStopped(t, s, f, stored)
					if test.flush {
						first, second := <-flushed, <-flushed
						if wait && errors.Is(first, ErrStopped) {
							first, second = second, first
						}
						if wait != (first == nil) || !wait && !errors.Is(first, ErrStopped) || !errors.Is(second, ErrStopped) {
							t.Errorf("FlushNow: %v, %v", first, second)
						}
					}
				})
			})
		}
	}
}

// checkStopped checks that nothing happens any more, and that what is left is
// told.
func checkStopped(t *testing.T, s *fakeStore, f *Flusher, stored int) {
	t.Helper()
	s.checkStored(stored)
	status := f.Status()
	if status.Running || !status.HeldSince.IsZero() || len(status.Slots) != s.Sealed()+1 {
		t.Errorf("status %+v", status)
	}
	for _, slot := range status.Slots {
		if slot.State == Storing {
			t.Errorf("slot %d is being stored", slot.ID)
		}
	}
	seals, stores := len(s.sealCalls()), len(s.storeCalls())
	time.Sleep(5 * h)
	if len(s.sealCalls()) != seals || len(s.storeCalls()) != stores {
		t.Error("the wheel turns on")
	}
	if err := f.FlushNow(t.Context()); !errors.Is(err, ErrStopped) {
		t.Errorf("FlushNow: %v", err)
	}
	before := f.Stop(t.Context())
	if again := f.Stop(t.Context()); !errors.Is(again, before) {
		t.Errorf("Stop again: %v, then %v", before, again)
	}
}

// What was begun ends, nothing more begins.
func TestStopWhileSealing(t *testing.T) {
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, f *Flusher) {
		s.setOnSeal(func() (bool, error) {
			time.Sleep(time.Minute)
			return true, nil
		})
		sleepUntil(h + time.Second)
		stop(t, f)
		if s.Sealed() != 1 || !time.Now().Equal(midnight.Add(h+time.Minute)) {
			t.Errorf("%d slots are sealed at %v", s.Sealed(), time.Now())
		}
		checkStopped(t, s, f, 0)
	})
}

func TestStopBetweenChores(t *testing.T) {
	first := Chore{Name: "first", Every: h, Run: func(context.Context) error {
		time.Sleep(time.Minute)
		return nil
	}}
	second := Chore{Name: "second", Every: h, Run: func(context.Context) error {
		t.Error("the second chore began")
		return nil
	}}
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, f *Flusher) {
		stop(t, f)
		checkStopped(t, s, f, 0)
	}, first, second)
}

func TestStopAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		f := newWheel(t, s, testConfig())
		if err := f.FlushNow(t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("FlushNow before Start: %v", err)
		}
		stop(t, f)
		checkStopped(t, s, f, 0)

		f = newWheel(t, s, testConfig())
		f.Start()
		stop(t, f)
		checkStopped(t, s, f, 0)
		defer func() {
			if recover() == nil {
				t.Error("Start after Stop")
			}
		}()
		f.Start()
	})
}

// What a stopped wheel left is stored by the next one. A store that was cut
// short is no failure.
func TestNextRunStoresWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.setOnStore(takes(24 * h))
		f := newWheel(t, s, testConfig())
		f.Start()
		sleepUntil(2 * h)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.Stop(ctx); err == nil {
			t.Error("nothing was cut short")
		}
		if status := f.Status(); status.Store != (Trouble{}) || status.Counters.StoreFailures != 0 {
			t.Errorf("status %+v", status)
		}
		s.setOnStore(nil)
		next := newWheel(t, s, testConfig())
		next.Start()
		defer stop(t, next)
		sleepUntil(2*h + time.Second)
		s.checkStored(1)
	})
}
