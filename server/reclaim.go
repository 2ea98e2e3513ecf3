package server

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	reclaimLeast = 256 << 10        // smaller pieces are reused sooner than they are worth counting
	reclaimBytes = 64 << 20         // as much must have been dropped
	reclaimSoon  = time.Second      // a burst of closes is one burst
	reclaimEvery = 10 * time.Second // at most; and so long it waits for that second
)

// reclaimer gives large memory that was dropped back to the system when
// nothing else would: a server without traffic collects only every few minutes,
// and what the pools hold only at the second collection. While large memory
// comes and goes the server collects by itself, and is left alone. Safe from any
// goroutine; its only goroutine is the timer's, which stop waits for.
type reclaimer struct {
	free func() // nil: collect and free; tests watch it

	mu       sync.Mutex
	dropped  int64       // since the last time
	lastDrop time.Time   // when there was one
	timer    *time.Timer // nil: none is set
	set      time.Time   // when the timer was, first
	cycles   uint64      // collections there had been then
	last     time.Time   // when memory was last given back
	stopped  bool
	running  sync.WaitGroup
}

// drop notes that n bytes are not held any more.
func (r *reclaimer) drop(n int64) {
	if n < reclaimLeast {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped += n
	r.lastDrop = time.Now()
	if r.dropped < reclaimBytes || r.timer != nil {
		return
	}
	r.set, r.cycles = r.lastDrop, collections()
	r.wait(max(reclaimSoon, time.Until(r.last.Add(reclaimEvery))))
}

// wait sets the timer. It is called with mu held.
func (r *reclaimer) wait(d time.Duration) {
	if r.stopped {
		return
	}
	r.running.Add(1)
	r.timer = time.AfterFunc(d, r.run)
}

func (r *reclaimer) run() {
	defer r.running.Done()
	if !r.due() {
		return
	}
	if r.free != nil {
		r.free()
		return
	}
	runtime.GC()
	debug.FreeOSMemory()
}

// due reports whether it is time to give memory back. If it is not yet, it sets
// the timer anew.
func (r *reclaimer) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = nil
	now, collected := time.Now(), collections() >= r.cycles+2
	if now.Sub(r.lastDrop) < reclaimSoon && (collected || now.Sub(r.set) < reclaimEvery) {
		r.wait(reclaimSoon)
		return false
	}
	r.dropped = 0
	if collected && !r.lastDrop.After(r.set) {
		return false
	}
	r.last = now
	return true
}

// stop ends what is set and waits for what runs. Nothing is reclaimed later.
func (r *reclaimer) stop() {
	r.mu.Lock()
	r.stopped = true
	if r.timer != nil && r.timer.Stop() {
		r.timer = nil
		r.running.Done()
	}
	r.mu.Unlock()
	r.running.Wait()
}

// collections is how often the garbage collector has run.
func collections() uint64 {
	sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
