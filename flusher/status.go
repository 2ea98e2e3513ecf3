package flusher

import "time"

// Status is what the wheel does at one moment.
type Status struct {
	Running    bool
	Slots      []SlotStatus  // not stored yet, oldest first; the last one is open
	Deadline   time.Time     // when the open slot ends
	Lag        time.Duration // of the oldest slot
	Backlogged bool

	Seal  Trouble // with ending slots
	Store Trouble // with storing them

	HeldSince time.Time // back-pressure by read amplification; zero: none
	Pressure  Pressure  // as the wheel saw it last

	Chores   []ChoreStatus
	Counters Counters
}

// Sealed is how many slots wait to be stored.
func (s *Status) Sealed() int { return max(0, len(s.Slots)-1) }

// A SlotState says where a slot is on its way.
type SlotState int

// The states of a slot that is not stored yet.
const (
	Open SlotState = iota
	Sealed
	Storing
)

func (s SlotState) String() string { return [...]string{"open", "sealed", "storing"}[s] }

// A SlotStatus is a slot that is not stored yet. Times are zero where they are
// of an earlier run.
type SlotStatus struct {
	Slot
	State  SlotState
	Began  time.Time
	Due    time.Time
	Sealed time.Time
	Lag    time.Duration // since it should have been, or was, sealed
}

// Trouble is something that fails and is tried again. It is zero when it
// works.
type Trouble struct {
	Failures int // in a row
	Error    string
	Since    time.Time
	Retry    time.Time // the next attempt
}

// A ChoreStatus says how a chore fares.
type ChoreStatus struct {
	Name     string
	Due      time.Time
	Runs     int64
	Failures int64
	Took     time.Duration // the last run
	Error    string        // of the last run
}

// Counters run since Start.
type Counters struct {
	Sealed        int64 // slots ended
	Early         int64 // of these, for want of memory
	Stored        int64
	Items, Bytes  int64 // stored
	SealFailures  int64
	StoreFailures int64
	Flushes       int64         // by FlushNow, shared ones once
	Held          time.Duration // back-pressure
}

// Backlogged reports that writes are to be refused: as many slots as may be
// sealed are waiting. It costs what Store.Sealed costs.
func (f *Flusher) Backlogged() bool { return f.store.Sealed() >= f.config.MaxSealed }

// Status is a snapshot, and the caller's. What the store and the wheel say may
// be a step apart. It must not be called when the store is closed.
func (f *Flusher) Status() Status {
	slots := f.store.Slots()
	backlogged := f.Backlogged()
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Status{
		Running: f.started && !f.ended, Deadline: f.open.due, Backlogged: backlogged,
		Seal: f.sealRetry.trouble(), Store: f.storeRetry.trouble(),
		HeldSince: f.heldSince, Pressure: f.pressure, Counters: f.counters,
	}
	for i, slot := range slots {
		s.Slots = append(s.Slots, f.slotStatus(slot, i, len(slots), now))
	}
	if len(s.Slots) > 0 {
		s.Lag = s.Slots[0].Lag
	}
	if !f.heldSince.IsZero() {
		s.Counters.Held += now.Sub(f.heldSince)
	}
	for _, c := range f.chores {
		s.Chores = append(s.Chores, ChoreStatus{Name: c.Name, Due: c.due, Runs: c.runs, Failures: c.failures, Took: c.took, Error: c.err})
	}
	return s
}

// slotStatus is called with mu held.
func (f *Flusher) slotStatus(slot Slot, i, n int, now time.Time) SlotStatus {
	t, sealed := f.turns[slot.ID]
	s := SlotStatus{Slot: slot, State: Sealed}
	switch {
	case i == n-1 && !sealed:
		s.State, t = Open, f.open
	case i == 0 && !f.storingSince.IsZero():
		s.State = Storing
	}
	s.Began, s.Due, s.Sealed = t.began, t.due, t.sealed
	s.Lag = f.lag(t, now)
	return s
}

// lag is called with mu held. A slot that was ended before its time is late
// since then, one of an earlier run since Start.
func (f *Flusher) lag(t turn, now time.Time) time.Duration {
	if f.start.IsZero() {
		return 0
	}
	should := t.due
	if !t.sealed.IsZero() {
		should = earlier(should, t.sealed)
	}
	return max(0, now.Sub(later(should, f.start)))
}
