package flusher

import (
	"context"
	"errors"
)

// ErrStopped answers FlushNow when the wheel does not turn.
var ErrStopped = errors.New("the flusher is not running")

// A flush is one round of storing everything, and what all of its callers wait
// for.
type flush struct {
	sealed bool  // the open slot was ended for it
	left   int   // slots to be stored since then
	err    error // valid when done is closed
	done   chan struct{}
}

func (r *flush) finish(err error) {
	r.err = err
	close(r.done)
}

// FlushNow ends the open slot and stores it and all before it, whatever the
// read amplification, and without waiting for a back-off. It returns when that
// is done or, with the reason, at the first failure; the slot is then retried
// like any other. If ctx ends first the flush goes on without this caller.
//
// Everything written before the call is covered. Calls that come before the
// open slot is ended share one flush; those that come later share the next.
func (f *Flusher) FlushNow(ctx context.Context) error {
	r, err := f.ask()
	if err != nil {
		return err
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *Flusher) ask() (*flush, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.started || f.ended {
		return nil, ErrStopped
	}
	if f.asked == nil {
		f.asked = &flush{done: make(chan struct{})}
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return f.asked, nil
}

// beginFlush takes up the flush that was asked for.
func (f *Flusher) beginFlush() {
	if f.flush != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flush, f.asked = f.asked, nil
	if f.flush != nil {
		f.counters.Flushes++
	}
}

// flushSealed notes that the open slot was ended for the flush.
func (f *Flusher) flushSealed() {
	f.flush.sealed = true
	f.flush.left = f.store.Sealed()
	if f.flush.left == 0 {
		f.finishFlush(nil)
	}
}

// flushStored counts a stored slot. Those that were stored to make room before
// the open slot could be ended are not among the flush's.
func (f *Flusher) flushStored() {
	if f.flush == nil || !f.flush.sealed {
		return
	}
	f.flush.left--
	if f.flush.left == 0 {
		f.finishFlush(nil)
	}
}

// finishFlush answers those who wait for the flush that runs, if one does.
func (f *Flusher) finishFlush(err error) {
	if f.flush != nil {
		f.flush.finish(err)
		f.flush = nil
	}
}
