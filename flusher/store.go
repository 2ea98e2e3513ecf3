package flusher

import "context"

// Store is what the wheel needs of the storage.
//
// Seal and StoreOldest are called by one goroutine, one at a time, and nobody
// else may call them. The others may be called from any goroutine, also while
// those run; they must not do I/O or wait for locks that are held during I/O.
type Store interface {
	// Seal ends the open slot and begins the next. It returns the slot that is
	// sealed now, or 0 if the open slot has no records and stays open. After an
	// error the open slot is still open.
	Seal() (slot uint64, err error)

	// StoreOldest moves the oldest sealed slot into the cold layer, whole or not
	// at all, and then releases its memory and its segment. A zero Result.Slot
	// says that no slot is sealed. After an error, or when ctx ended, which it
	// heeds soon, the slot is still sealed and complete, and StoreOldest is
	// called again for it.
	StoreOldest(ctx context.Context) (Result, error)

	// Sealed is how many sealed slots are not yet stored.
	Sealed() int

	// Slots are the sealed slots, oldest first, and then the open one.
	Slots() []Slot

	// Pressure says how far the store is from its limits. It is asked before
	// each slot, and with each Config.Poll and chore.
	Pressure() Pressure
}

// A Slot is one that is not stored yet, and what it holds.
type Slot struct {
	ID    uint64
	Keys  int64
	Items int64
	Bytes int64 // in memory
}

// A Result says what one store did.
type Result struct {
	Slot  uint64
	Keys  int64
	Items int64
	Bytes int64 // of the tables written
}

// Pressure says how far the store is from its limits.
type Pressure struct {
	ReadAmp int   // how many tables of the cold layer a read may have to look at
	Staged  int64 // bytes that storing all slots, the open one included, would free
	Budget  int64 // what Staged may be; beyond it slots end early. 0: no limit
}

func (p Pressure) overBudget() bool { return p.Budget > 0 && p.Staged > p.Budget }
