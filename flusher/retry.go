package flusher

import (
	"log/slog"
	"time"
)

// retry spaces out the attempts at something that fails. The zero value is for
// what works.
type retry struct {
	failures int // in a row
	err      error
	since    time.Time // the first of them
	next     time.Time // when it is tried again
}

// failed notes a failure. The pause is between half of a bound and the bound,
// which doubles with each failure from BackoffMin up to BackoffMax.
func (r *retry) failed(err error, c Config, random func(int64) int64) {
	now := time.Now()
	bound := c.BackoffMin
	for i := 0; i < r.failures && bound < c.BackoffMax; i++ {
		bound *= 2
	}
	bound = min(bound, c.BackoffMax)
	if r.failures == 0 {
		r.since = now
	}
	r.failures++
	r.err = err
	r.next = now.Add(bound - time.Duration(random(int64(bound/2)+1)))
}

// waits reports whether it is too early to try again.
func (r *retry) waits(now time.Time) bool { return now.Before(r.next) }

func (r *retry) text() string {
	if r.err == nil {
		return ""
	}
	return r.err.Error()
}

func (r *retry) trouble() Trouble {
	return Trouble{Failures: r.failures, Error: r.text(), Since: r.since, Retry: r.next}
}

func (r *retry) log(l *slog.Logger) {
	l.Warn("the wheel failed and will try again", "error", r.err, "failures", r.failures, "in", time.Until(r.next).Round(time.Millisecond))
}
