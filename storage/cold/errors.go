package cold

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed answers work that comes after Close.
	ErrClosed = errors.New("cold: closed")
	// ErrOrder refuses a row that does not lie behind the one before it.
	ErrOrder = errors.New("cold: rows out of order")
	// ErrFinished refuses rows for a SlotWriter after its Commit or Abort.
	ErrFinished = errors.New("cold: the slot's writer has finished")
	// ErrStored refuses a slot that is stored already.
	ErrStored = errors.New("cold: the slot is stored already")
	// ErrDiskFull is what a DiskFullError is.
	ErrDiskFull = errors.New("cold: disk full")
	// ErrForeign refuses a directory that is not ours, or in a format that this
	// version cannot read; it was left as it is.
	ErrForeign = errors.New("cold: not a directory of this version")
)

// DiskFullError refuses to write tables because too little space is free. The
// store is as it was; try again when there is space.
type DiskFullError struct{ Need, Free uint64 }

func (e *DiskFullError) Error() string {
	return fmt.Sprintf("cold: disk full: %d bytes must be free for the next tables and the reserve, %d are", e.Need, e.Free)
}

// Is makes it an ErrDiskFull.
func (e *DiskFullError) Is(target error) bool { return target == ErrDiskFull }

// FatalError is the answer after Pebble met an error that it cannot go on from,
// mostly a failed write of its MANIFEST. It stays. Reads of rows go on; nothing
// can be stored or dropped until a restart, and whether what was being stored
// at that moment is, only the restart tells.
type FatalError struct{ Reason string }

func (e *FatalError) Error() string {
	return "cold: nothing can be stored until a restart: " + e.Reason
}
