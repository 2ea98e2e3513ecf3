package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// measure runs the load for its time over all connections. The first
// connection that breaks ends it. It always returns what was measured.
func measure(ctx context.Context, cfg *config, workers []*worker, stderr io.Writer) (*result, error) {
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	meter := startMeter(cfg.PID)
	start := time.Now()
	end := start.Add(cfg.duration())
	for _, w := range workers {
		w.SetDeadline(end.Add(replyTimeout))
	}
	defer context.AfterFunc(run, func() { interrupt(workers) })()

	progress := startProgress(stderr, liveLine(workers, start))
	var wg sync.WaitGroup
	for i, w := range workers {
		wg.Go(func() {
			if err := w.run(run, i, start, end); err != nil {
				stop(fmt.Errorf("connection %d of %d: %w", i+1, len(workers), err))
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	progress.stop()

	err := context.Cause(run)
	interrupted := ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
	if err == nil {
		elapsed = max(elapsed, cfg.duration()) // an open loop may have nothing to do at its end
	}
	if interrupted {
		err = nil
	}
	res := newResult(cfg, workers, elapsed)
	res.Interrupted = interrupted
	res.setCPU(meter)
	return res, err
}

func (cfg *config) duration() time.Duration {
	return time.Duration(cfg.Seconds * float64(time.Second))
}

// run is the load of connection index.
func (w *worker) run(ctx context.Context, index int, start, end time.Time) error {
	if w.cfg.Rate == 0 {
		return w.closedLoop(ctx, end)
	}
	return w.openLoop(ctx, newSchedule(w.cfg, index, start), end)
}

// closedLoop sends a batch, reads its replies, and so on.
func (w *worker) closedLoop(ctx context.Context, end time.Time) error {
	for ctx.Err() == nil {
		batch, n := w.ring.take(w.cfg.Pipeline)
		sent := time.Now()
		if !sent.Before(end) {
			break
		}
		if err := w.send(batch); err != nil {
			return err
		}
		for range n {
			if err := w.receive(sent); err != nil {
				return err
			}
		}
		w.answered.Add(int64(n))
	}
	return nil
}

// liveLine says how the run goes: calls/s since it was asked last.
func liveLine(workers []*worker, start time.Time) func() string {
	var before int64
	last := start
	return func() string {
		var answered, failed int64
		for _, w := range workers {
			answered += w.answered.Load()
			failed += w.failed.Load()
		}
		now := time.Now()
		rate := float64(answered-before) / now.Sub(last).Seconds()
		before, last = answered, now
		return fmt.Sprintf("%.0f s: %s calls/s, %s errors", now.Sub(start).Seconds(), thousands(rate), thousands(float64(failed)))
	}
}
