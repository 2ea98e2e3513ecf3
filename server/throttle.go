package server

import (
	"sync"
	"time"
)

// throttle lets one log line a second through and counts the rest: what a
// client can cause at will must not fill the disk. Safe from any goroutine.
type throttle struct {
	mu      sync.Mutex
	next    time.Time
	skipped int64
}

const logEvery = time.Second

// allow reports whether a line may be logged now, and how many were not since
// the last one.
func (t *throttle) allow(now time.Time) (skipped int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Before(t.next) {
		t.skipped++
		return 0, false
	}
	skipped, t.skipped = t.skipped, 0
	t.next = now.Add(logEvery)
	return skipped, true
}
