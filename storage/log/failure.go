package log

import (
	"errors"
	"fmt"
)

// ErrClosed is returned for work that comes after Close.
var ErrClosed = errors.New("log: closed")

// FailedError is the answer of a log after one of its writes or syncs failed.
// It stays: a sync that failed is never retried into success, because the
// operating system may have dropped the very pages that it could not write.
// Records that were waited for before are safe.
type FailedError struct {
	Op   string // what was being done
	File string
	Err  error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("log: failed, no write is accepted until a restart: %s %s: %v", e.Op, e.File, e.Err)
}

func (e *FailedError) Unwrap() error { return e.Err }

// fail puts the log into its failed state and returns the error of that state:
// the first failure stays. This is the only place that sets it, and refusal and
// Wait the only ones that ask for it: going on in a fresh segment would begin
// here.
func (l *Log) fail(op, file string, err error) error {
	failure := &FailedError{Op: op, File: file, Err: err}
	if l.failure.CompareAndSwap(nil, failure) {
		l.opts.Logger.Error("log failed, writes are refused", "op", op, "file", file, "err", err)
	}
	return l.failure.Load()
}

// failed returns the sticky error, or nil.
func (l *Log) failed() error {
	if f := l.failure.Load(); f != nil {
		return f
	}
	return nil
}

// Err is why the log takes no more records, or nil. It takes no locks that
// are held during I/O.
func (l *Log) Err() error { return l.failed() }
