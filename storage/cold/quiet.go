package cold

import (
	"log/slog"
	"sync"
	"time"
)

// quietTime is how long a kind of warning is not repeated.
const quietTime = 10 * time.Second

// quiet passes on a kind of warning at most once per quietTime, with the number
// of those that it held back. The zero value is ready.
type quiet struct {
	mu   sync.Mutex
	next time.Time
	held int
}

func (q *quiet) warn(log *slog.Logger, msg string, args ...any) {
	now := time.Now()
	q.mu.Lock()
	if now.Before(q.next) {
		q.held++
		q.mu.Unlock()
		return
	}
	held := q.held
	q.next, q.held = now.Add(quietTime), 0
	q.mu.Unlock()
	if held > 0 {
		args = append(args, "held_back", held)
	}
	log.Warn(msg, args...)
}
