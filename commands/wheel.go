package commands

import (
	"context"
	"errors"
	"time"
)

// Wheel is the time wheel that moves slots from memory to disk.
type Wheel interface {
	// Flush ends the open slot, stores all that are sealed and waits for it.
	Flush(ctx context.Context) error
	// Slots are those that are not stored yet, oldest first; the last is open.
	Slots() []WheelSlot
	// Ledger is what became of the newest slots that are stored, oldest first.
	Ledger() []WheelEntry
}

// WheelSlot is a slot that is not stored yet.
type WheelSlot struct {
	ID          uint64
	State       string
	Keys, Items int64
	Lag         time.Duration
	Error       string // why storing it failed last
}

// WheelEntry is a slot that is stored.
type WheelEntry struct {
	ID                 uint64
	Began, Sealed      time.Time // zero for slots from before the start
	Stored             time.Time
	Keys, Items, Bytes int64
	Took               time.Duration
	Attempts           int64
	Error              string // the last attempt that failed
}

func wheelCommands() []command {
	return []command{{
		name: "dedup.wheel", arity: -2,
		sub: []*command{
			{name: "status", arity: 2, flags: flagAdmin | flagNoMulti, summary: "Describe the slots that are not stored yet: state, keys, items, lag in milliseconds.", run: (*call).wheelStatus},
			{name: "flush", arity: 2, flags: flagAdmin | flagNoMulti, summary: "Seal the open slot, store all sealed slots and wait for it.", run: (*call).wheelFlush},
			{name: "ledger", arity: 2, flags: flagAdmin | flagNoMulti, summary: "What became of the newest 1,024 stored slots, newest first.", run: (*call).wheelLedger},
		},
	}}
}

func (c *call) wheelFlush() {
	h := c.session.handler
	switch err := h.Wheel.Flush(h.Context); {
	case errors.Is(err, context.Canceled):
		c.error("ERR the server is shutting down; what was not stored yet is in the log")
	case err != nil:
		c.error(c.errorText(err))
	default:
		c.ok()
	}
}

func (c *call) wheelStatus() {
	slots := c.session.handler.Wheel.Slots()
	c.array(len(slots))
	for _, s := range slots {
		c.array(12)
		c.field("slot", int64(s.ID))
		c.textField("state", s.State)
		c.field("keys", s.Keys)
		c.field("items", s.Items)
		c.field("lag-ms", s.Lag.Milliseconds())
		c.textField("error", s.Error)
	}
}

func (c *call) wheelLedger() {
	entries := c.session.handler.Wheel.Ledger()
	c.array(len(entries))
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		c.array(20)
		c.field("slot", int64(e.ID))
		c.field("began", millis(e.Began))
		c.field("sealed", millis(e.Sealed))
		c.field("stored", millis(e.Stored))
		c.field("keys", e.Keys)
		c.field("items", e.Items)
		c.field("bytes", e.Bytes)
		c.field("took-ms", e.Took.Milliseconds())
		c.field("attempts", e.Attempts)
		c.textField("error", e.Error)
	}
}

// field is a name and a number of a flat list, which is the same in RESP2 and
// RESP3.
func (c *call) field(name string, n int64) {
	c.text(name)
	c.int(n)
}

func (c *call) textField(name, text string) {
	c.text(name)
	c.text(text)
}

// millis is 0 for a time that is not known.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
