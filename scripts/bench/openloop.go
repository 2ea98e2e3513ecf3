package bench

import (
	"context"
	"errors"
	"os"
	"time"
)

// backlogTime is how long after the end calls that were due are still sent.
const backlogTime = time.Second

// schedule is when a connection's calls are due: evenly spaced, and so that
// those of all connections together are evenly spaced.
type schedule struct {
	first    time.Time
	interval float64 // ns
}

func newSchedule(cfg *config, index int, start time.Time) schedule {
	interval := float64(cfg.Conns) / cfg.Rate * 1e9
	offset := interval * float64(index) / float64(cfg.Conns)
	return schedule{first: start.Add(time.Duration(offset)), interval: interval}
}

// at is when call i is due.
func (s schedule) at(i int) time.Time {
	return s.first.Add(time.Duration(float64(i) * s.interval))
}

// due is how many calls are due before a time: those with at(i) < t.
func (s schedule) due(t time.Time) int {
	n := max(int(float64(t.Sub(s.first))/s.interval)-1, 0)
	for s.at(n).Before(t) {
		n++
	}
	return n
}

// openLoop sends calls when they are due and reads replies as they come. The
// reply to call i needs no note of when it was due: the schedule says it.
func (w *worker) openLoop(ctx context.Context, s schedule, end time.Time) error {
	wake, err := newAlarm()
	if err != nil {
		return err
	}
	defer wake.close()
	defer context.AfterFunc(ctx, wake.interrupt)()

	w.sent.Store(-1)
	sending := make(chan error, 1)
	go func() {
		err := w.sendDue(ctx, s, end, wake)
		w.SetReadDeadline(time.Unix(1, 0)) // the reader looks up how many it has to wait for
		sending <- err
	}()
	receiveErr := w.receiveAll(ctx, s)
	if receiveErr != nil {
		w.SetDeadline(time.Unix(1, 0))
		wake.interrupt()
	}
	sendErr := <-sending
	if receiveErr != nil { // the sender's, if any, says no more
		return receiveErr
	}
	return sendErr
}

// sendDue sends every call that is due before the end. If the server takes
// them too slowly, it stops some time after the end and counts the rest.
func (w *worker) sendDue(ctx context.Context, s schedule, end time.Time, wake *alarm) (err error) {
	sent, total := 0, s.due(end)
	for sent < total && ctx.Err() == nil && err == nil {
		now := time.Now()
		if now.After(end.Add(backlogTime)) {
			break
		}
		due := min(s.due(now), total) - sent
		if due == 0 {
			err = wake.sleep(s.at(sent).Sub(now))
			continue
		}
		batch, n := w.ring.take(min(due, w.cfg.Pipeline))
		if err = w.send(batch); err == nil {
			sent += n
		}
	}
	w.unsent = int64(min(s.due(time.Now()), total) - sent)
	w.sent.Store(int64(sent))
	return err
}

// receiveAll reads replies until sending is over and all have come.
func (w *worker) receiveAll(ctx context.Context, s schedule) error {
	draining := false
	for w.sent.Load() != int64(w.received) {
		err := w.receive(s.at(w.received))
		switch {
		case err == nil:
			w.answered.Add(1)
		case errors.Is(err, os.ErrDeadlineExceeded) && w.sent.Load() >= 0 && !draining && ctx.Err() == nil:
			draining = true
			w.SetReadDeadline(time.Now().Add(replyTimeout))
		default:
			return err
		}
	}
	return nil
}
