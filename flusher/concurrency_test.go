package flusher

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Everything is called at once, for the race detector; the wheel is stopped
// while flushes wait.
func TestAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.setOnStore(takes(time.Second / 3))
		c := testConfig()
		c.Slot = time.Second
		f := newWheel(t, s, c, Chore{Name: "chore", Every: time.Second, Run: func(ctx context.Context) error { return takes(time.Millisecond)(ctx, 0) }})
		f.Start()
		var calls sync.WaitGroup
		for i := range 8 {
			pause := time.Duration(i+1) * 37 * time.Millisecond
			calls.Go(func() {
				for f.FlushNow(t.Context()) == nil {
					time.Sleep(pause)
				}
			})
			calls.Go(func() {
				for f.Status().Running {
					f.Backlogged()
					time.Sleep(pause)
				}
			})
			calls.Go(func() {
				for time.Since(midnight) < 5*time.Second {
					for _, o := range f.Ledger() {
						if o.Took != time.Second/3 {
							t.Errorf("outcome %+v", o)
						}
					}
					time.Sleep(pause)
				}
				stop(t, f)
			})
		}
		calls.Wait()
		if err := f.FlushNow(t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("FlushNow: %v", err)
		}
		if len(f.Ledger()) < 10 {
			t.Errorf("%d slots were stored", len(f.Ledger()))
		}
		s.checkStored(len(f.Ledger()))
	})
}
