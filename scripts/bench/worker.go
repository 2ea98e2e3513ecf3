package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// worker is one connection with its calls and what it has measured. Its run
// owns everything in it but the two counters, which progress reads.
type worker struct {
	*client
	cfg      *config
	ring     *ring
	tallies  []*tally // by command
	received int      // replies so far

	answered atomic.Int64
	failed   atomic.Int64
	sent     atomic.Int64 // open loop: calls sent in all, once sending is over; before that -1
	unsent   int64        // open loop: calls that were due but could not be sent
}

// connect opens all connections and formats their calls.
func connect(ctx context.Context, cfg *config) (workers []*worker, err error) {
	plan := newPlanner(cfg)
	for i := range cfg.Conns {
		c, err := dial(ctx, cfg)
		if err != nil {
			closeAll(workers)
			return nil, fmt.Errorf("connection %d of %d: %w", i+1, cfg.Conns, err)
		}
		w := &worker{client: c, cfg: cfg, ring: newRing(cfg, plan, i)}
		for range cfg.Commands {
			w.tallies = append(w.tallies, newTally())
		}
		workers = append(workers, w)
	}
	return workers, nil
}

func closeAll(workers []*worker) {
	for _, w := range workers {
		w.Close()
	}
}

// interrupt makes every blocked read and write of the workers return.
func interrupt(workers []*worker) {
	for _, w := range workers {
		w.SetDeadline(time.Unix(1, 0))
	}
}

// receive takes the next reply, for a call that was sent, or due, at a time.
func (w *worker) receive(since time.Time) error {
	r, err := w.next()
	if err != nil {
		return err
	}
	w.count(r, w.arrived.Sub(since))
	return nil
}

// count books the reply of the call that is next in the ring's order.
func (w *worker) count(r reply, latency time.Duration) {
	index := w.ring.calls[w.received%len(w.ring.calls)].command
	w.received++
	w.tallies[index].add(&w.cfg.Commands[index], r, latency)
	if r.failed {
		w.failed.Add(1)
	}
}
