//go:build !linux

package bench

import (
	"sync"
	"time"
)

// alarm wakes one goroutine about on time: up to a millisecond late.
type alarm struct {
	stop chan struct{}
	once sync.Once
}

func newAlarm() (*alarm, error) { return &alarm{stop: make(chan struct{})}, nil }

// sleep returns after d, or at once when it was interrupted.
func (a *alarm) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.stop:
	}
	return nil
}

// interrupt ends the sleep, and every later one at once.
func (a *alarm) interrupt() { a.once.Do(func() { close(a.stop) }) }

func (a *alarm) close() {}
