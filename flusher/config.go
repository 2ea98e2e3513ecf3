package flusher

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config is every setting of a wheel. DefaultConfig has the defaults, Validate
// the valid ranges.
type Config struct {
	// Slot is the length of a slot. Slots end at its multiples on the wall
	// clock, counted from 1970-01-01T00:00Z.
	Slot time.Duration

	// MaxSealed is how many sealed slots may wait to be stored. With so many the
	// wheel is backlogged: writes are to be refused, and the open slot stays
	// open until there is room.
	MaxSealed int

	// MaxReadAmp is the read amplification above which no slot is stored. An
	// idle cold layer may rest at 9 (six levels, and three sublevels that are
	// not worth a compaction), so with a lower limit the wheel could wait for
	// ever.
	MaxReadAmp int

	// BackoffMin and BackoffMax bound the pause after a failure. It doubles with
	// each failure in a row, and half of it is random.
	BackoffMin, BackoffMax time.Duration

	// Poll is how often the store's pressure is looked at.
	Poll time.Duration

	Logger *slog.Logger // nil: says nothing
}

// DefaultConfig is an hourly wheel of 24 slots.
func DefaultConfig() Config {
	return Config{
		Slot: time.Hour, MaxSealed: 24, MaxReadAmp: 16,
		BackoffMin: time.Second, BackoffMax: time.Minute,
		Poll: 250 * time.Millisecond,
	}
}

// The valid ranges.
const (
	minSlot, maxSlot       = time.Second, 24 * time.Hour
	minSealed, maxSealed   = 1, 1024
	minReadAmp, maxReadAmp = 10, 1000
	minBackoff, maxBackoff = 10 * time.Millisecond, time.Hour
	minPoll, maxPoll       = 10 * time.Millisecond, time.Minute
)

// Validate names every wrong value with its valid range.
func (c Config) Validate() error {
	return errors.Join(
		inRange("Slot", c.Slot, minSlot, maxSlot),
		inRange("MaxSealed", c.MaxSealed, minSealed, maxSealed),
		inRange("MaxReadAmp", c.MaxReadAmp, minReadAmp, maxReadAmp),
		inRange("BackoffMin", c.BackoffMin, minBackoff, maxBackoff),
		inRange("BackoffMax", c.BackoffMax, max(minBackoff, min(c.BackoffMin, maxBackoff)), maxBackoff),
		inRange("Poll", c.Poll, minPoll, maxPoll),
	)
}

func inRange[T int | time.Duration](name string, value, low, high T) error {
	if low <= value && value <= high {
		return nil
	}
	return fmt.Errorf("flusher: %s is %v; valid: %v to %v", name, value, low, high)
}
