package cold

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
)

// fatal is the state after an error that Pebble does not go on from. Pebble's
// contract is that Logger.Fatalf does not return; its default ends the process,
// ours parks the goroutine for good. That goroutine mostly holds Pebble's main
// lock, so from then on only calls that take no such lock may be made: reads.
// All others go through run.
type fatal struct {
	err    atomic.Pointer[FatalError]
	raised chan struct{} // closed with the first error
	notify func(reason error)
	opened atomic.Bool // from here on notify is told; before, Open answers
	log    *slog.Logger
}

func newFatal(notify func(error), log *slog.Logger) *fatal {
	return &fatal{raised: make(chan struct{}), notify: notify, log: log}
}

// raise records the first reason, and tells the owner once.
func (f *fatal) raise(reason string) {
	err := &FatalError{Reason: reason}
	if !f.err.CompareAndSwap(nil, err) {
		return
	}
	f.log.Error("the cold layer has failed, nothing can be stored until a restart", "reason", reason)
	close(f.raised)
	if f.notify != nil && f.opened.Load() {
		f.notify(err)
	}
}

// failed returns the FatalError, or nil.
func (f *fatal) failed() error {
	if err := f.err.Load(); err != nil {
		return err
	}
	return nil
}

// run calls op, which may take Pebble's locks. If these are lost before it
// returns, run returns without it. A panic of op is fatal.
func (f *fatal) run(op func() error) error {
	if err := f.failed(); err != nil {
		return err
	}
	result := make(chan error, 1)
	go func() {
		defer f.recover()
		result <- op()
	}()
	select {
	case err := <-result:
		return err
	case <-f.raised:
	}
	select {
	case err := <-result:
		return err
	default:
		return f.failed()
	}
}

// recover, deferred, makes a panic fatal.
func (f *fatal) recover() {
	if r := recover(); r != nil {
		f.raise(fmt.Sprintf("panic: %v\n%s", r, debug.Stack()))
	}
}

// park never returns.
func park() { select {} }

// pebbleLogger is Pebble's Logger.
type pebbleLogger struct {
	*fatal
	errors quiet
}

func (l *pebbleLogger) Infof(format string, args ...any) {
	l.log.Debug("pebble: " + fmt.Sprintf(format, args...))
}

func (l *pebbleLogger) Errorf(format string, args ...any) {
	l.errors.warn(l.log, "pebble: "+fmt.Sprintf(format, args...))
}

func (l *pebbleLogger) Fatalf(format string, args ...any) {
	l.raise(fmt.Sprintf(format, args...))
	park()
}
