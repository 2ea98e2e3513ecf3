// Package flusher is the time wheel: it ends slots when they are due, moves
// sealed slots to the cold layer strictly in order, retries what fails, holds
// itself back while reads of the cold layer are deep, and keeps a ledger of
// what became of each slot.
//
// The way through the package:
//
//	Store     what it needs of the storage
//	Config    its settings
//	Flusher   the goroutine, Start and Stop
//	step      what one round does: seal (seal.go), store (storing.go), chores
//	FlushNow  flushing by command
//	Status    what it does now; Ledger what it did
package flusher

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// Flusher is the time wheel over a store. Its exported methods may be called
// from any goroutine, except that a Chore must not call FlushNow or Stop.
//
// One goroutine, from Start to Stop, does everything: it alone calls Seal and
// StoreOldest and runs the chores, so that none of them ever overlap and
// nothing need be locked while they run. A store or a chore that takes long
// therefore delays the end of the open slot, which merely becomes longer.
//
// mu guards what the other methods read. Between Start and its end only the
// goroutine changes those fields (stopping and asked excepted), so it reads
// them without the lock. mu is never held during a call of the store, and no
// lock is taken under it.
type Flusher struct {
	store  Store
	config Config
	wall   func(now time.Time) int64 // ns; tests move the wall clock
	random func(n int64) int64       // in [0, n); tests seed it

	context context.Context // of stores and chores
	cancel  context.CancelFunc
	stop    chan struct{} // closed by Stop
	wake    chan struct{} // holds one: a flush was asked for
	done    chan struct{} // closed when the goroutine has ended

	// The goroutine's own.
	flush *flush // the one that runs; nil: none
	cut   error  // what Stop interrupted

	mu           sync.Mutex // guards all below
	started      bool
	stopping     bool
	ended        bool
	asked        *flush // the next one, which callers may still join
	start        time.Time
	open         turn
	turns        map[uint64]turn // sealed slots, by slot
	sealRetry    retry
	storeRetry   retry
	storingSince time.Time // when a slot is being stored; zero: none is
	heldSince    time.Time // zero: not held back
	pressure     Pressure
	chores       []chore
	counters     Counters
	ledger       ledger
}

// New checks the configuration and makes a wheel that does not turn yet. The
// chores run in the order given.
func New(store Store, config Config, chores ...Chore) (*Flusher, error) {
	if err := errors.Join(config.Validate(), validateChores(chores)); err != nil {
		return nil, err
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Flusher{
		store: store, config: config, wall: time.Time.UnixNano, random: rand.Int64N,
		stop: make(chan struct{}), wake: make(chan struct{}, 1), done: make(chan struct{}),
		turns: map[uint64]turn{},
	}
	f.context, f.cancel = context.WithCancel(context.Background())
	for _, c := range chores {
		f.chores = append(f.chores, chore{Chore: c})
	}
	return f, nil
}

// Start begins the first slot's turn, and the goroutine. Slots that recovery
// left sealed are stored first, at once. It must be called at most once, and
// not after Stop.
func (f *Flusher) Start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.started || f.stopping {
		panic("BUG: flusher: Start after Start or Stop")
	}
	f.started = true
	f.start = time.Now()
	f.open = f.newTurn(f.start)
	for i := range f.chores {
		f.chores[i].due = f.start
	}
	go f.run()
}

// Stop ends the goroutine and waits for it. Between slots it ends at once. A
// store or chore that runs may finish until ctx ends, then it is cancelled; the
// error says what was cut short. FlushNow calls that wait get ErrStopped.
//
// Nothing is flushed: the open slot and the sealed ones stay in memory and in
// the log, from which they are read at the next start. Whoever wants them
// stored calls FlushNow first; Status still says afterwards what is left, until
// the store is closed.
func (f *Flusher) Stop(ctx context.Context) error {
	f.beginStop()
	select {
	case <-f.done:
	case <-ctx.Done():
	}
	f.cancel()
	<-f.done
	return f.cut
}

func (f *Flusher) beginStop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopping {
		return
	}
	f.stopping = true
	close(f.stop)
	if !f.started {
		f.ended = true
		close(f.done)
	}
}

// isStopping tells the goroutine that Stop was called.
func (f *Flusher) isStopping() bool {
	select {
	case <-f.stop:
		return true
	default:
		return false
	}
}

func (f *Flusher) run() {
	defer f.end()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !f.isStopping() {
		if f.step() {
			continue
		}
		timer.Reset(time.Until(f.next()))
		select {
		case <-f.stop:
		case <-f.wake:
		case <-timer.C:
		}
	}
}

// end fails the flushes that nobody will do any more.
func (f *Flusher) end() {
	f.noteHold(f.pressure, false)
	f.mu.Lock()
	f.ended = true
	asked := f.asked
	f.asked = nil
	f.mu.Unlock()
	f.finishFlush(ErrStopped)
	if asked != nil {
		asked.finish(ErrStopped)
	}
	close(f.done)
}

// step does what is due: it ends the open slot, stores one slot, runs chores.
// It reports whether a slot was stored, so that there may be more to do at
// once.
func (f *Flusher) step() bool {
	f.beginFlush()
	pressure := f.store.Pressure()
	f.sealIfDue(pressure)
	f.hold(pressure)
	stored := f.storeIfAllowed()
	f.runChores()
	return stored
}

// next is when step must run again, unless it is woken. What cannot be done at
// its time (no room for another sealed slot, held back) is looked at with each
// Poll.
func (f *Flusher) next() time.Time {
	next := time.Now().Add(f.config.Poll)
	sealed := f.store.Sealed()
	if sealed < f.config.MaxSealed {
		next = earlier(next, later(f.open.due, f.sealRetry.next))
	}
	if sealed > 0 && f.heldSince.IsZero() {
		next = earlier(next, f.storeRetry.next)
	}
	for i := range f.chores {
		next = earlier(next, f.chores[i].due)
	}
	return next
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
