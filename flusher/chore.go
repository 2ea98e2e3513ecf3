package flusher

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Chore is work that must not overlap with storing a slot, or that needs
// doing now and then. Each run is one bounded step: while it lasts no slot ends
// and none is stored.
type Chore struct {
	Name  string
	Every time.Duration // from the end of one run to the next; the first is at Start
	Run   func(ctx context.Context) error
}

const minEvery, maxEvery = 10 * time.Millisecond, 24 * time.Hour

func validateChores(chores []Chore) error {
	var errs []error
	names := map[string]bool{}
	for _, c := range chores {
		errs = append(errs, inRange(fmt.Sprintf("Every of chore %q", c.Name), c.Every, minEvery, maxEvery))
		if c.Name == "" || c.Run == nil || names[c.Name] {
			errs = append(errs, fmt.Errorf("flusher: chore %q: it must have a function and a name of its own", c.Name))
		}
		names[c.Name] = true
	}
	return errors.Join(errs...)
}

// chore is a Chore and how it fares.
type chore struct {
	Chore
	due      time.Time
	runs     int64
	failures int64
	took     time.Duration // the last run
	err      string        // of the last run
}

// runChores runs each chore that is due, once.
func (f *Flusher) runChores() {
	for i := range f.chores {
		if c := &f.chores[i]; !time.Now().Before(c.due) && !f.isStopping() {
			f.runChore(c)
		}
	}
}

func (f *Flusher) runChore(c *chore) {
	began := time.Now()
	err := c.Run(f.context)
	text := ""
	switch {
	case err == nil:
	case f.context.Err() != nil: // Stop cut it short, that is no failure
		f.cut = fmt.Errorf("%s: %w", c.Name, err)
		return
	default:
		text = err.Error()
		if text != c.err {
			f.config.Logger.Warn("a chore of the wheel failed", "chore", c.Name, "error", err)
		}
	}
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	c.due, c.took, c.err = now.Add(c.Every), now.Sub(began), text
	c.runs++
	if err != nil {
		c.failures++
	}
}
