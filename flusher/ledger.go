package flusher

import "time"

// LedgerSize is how many outcomes are kept.
const LedgerSize = 1024

// An Outcome says what became of a slot that is stored.
type Outcome struct {
	Result

	Began  time.Time // zero: in an earlier run
	Sealed time.Time // zero: by recovery
	Stored time.Time

	Took     time.Duration // the attempt that stored it
	Attempts int
	Error    string // of the last attempt that failed, if any did
}

// ledger keeps the newest outcomes in a ring.
type ledger struct {
	ring []Outcome
	next int // where the next one goes, once the ring is full
}

func (l *ledger) add(o Outcome) {
	if len(l.ring) < LedgerSize {
		l.ring = append(l.ring, o)
		return
	}
	l.ring[l.next] = o
	l.next = (l.next + 1) % LedgerSize
}

// outcomes is a copy, oldest first.
func (l *ledger) outcomes() []Outcome {
	all := make([]Outcome, 0, len(l.ring))
	all = append(all, l.ring[l.next:]...)
	return append(all, l.ring[:l.next]...)
}

// Ledger is what became of the last 1,024 slots stored since Start, oldest
// first. It is the caller's.
func (f *Flusher) Ledger() []Outcome {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ledger.outcomes()
}
