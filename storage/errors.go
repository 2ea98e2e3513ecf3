package storage

import (
	"errors"
	"fmt"
)

var (
	// ErrMemory refuses a write because the hot layer has used up its memory.
	ErrMemory = errors.New("command not allowed when used memory > 'maxmemory'")
	// ErrBusy refuses a write because too many sealed slots wait to be stored.
	ErrBusy = errors.New("the disk does not keep up: too many sealed slots wait to be stored; try again later")
	// ErrClosed answers whoever still calls when the store is closing.
	ErrClosed = errors.New("the server is shutting down")

	errAborted = errors.New("a command broke off in the middle; restart to return to the state of the log")
)

// ReadOnlyError refuses a write because writes cannot be made durable; reads
// go on. Cause says what happened.
type ReadOnlyError struct{ Cause error }

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("writes are refused, they could not be made durable: %v", e.Cause)
}

func (e *ReadOnlyError) Unwrap() error { return e.Cause }

// TooManyDeliveredError refuses to mark more items as delivered than the key
// may keep.
type TooManyDeliveredError struct{ Items, Keep int }

func (e *TooManyDeliveredError) Error() string {
	return fmt.Sprintf("MARK delivered would record %d items, the policy keeps 1 to %d (DELIVERED); set a LIMIT", e.Items, e.Keep)
}
