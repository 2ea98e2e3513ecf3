package policy

import (
	"strconv"
	"time"
)

// Timing says where an event time falls.
type Timing uint8

// The timings of an accepted event.
const (
	OnTime Timing = iota // in the open window
	Late                 // in an older window that is kept
	Ahead                // up to a day ahead of the clock: counts as now
)

// A Decision is the window that an event goes to.
type Decision struct {
	Timing Timing
	Label  Label // of the class that writes go to
}

// Decide picks the window of an event by its time (R8). An event earlier than
// any kept window is refused with LATE, and so is one in a window that a policy
// change has hidden. Up to a day ahead of the clock counts as now; beyond, the
// error says how far.
func (v *View) Decide(event, now int64) (Decision, error) {
	now = clamp(now)
	if event >= now {
		if ahead := event - now; ahead > near {
			return Decision{}, refuse("the event time is %d ms (%s) ahead of the clock, at most 24h is allowed", ahead, formatSpan(ahead))
		}
		d := Decision{Timing: OnTime, Label: v.Current(now)}
		if event > now {
			d.Timing = Ahead
		}
		return d, nil
	}
	var room [8]Span
	from := v.Spans(room[:0], now)[0].From
	if event >= MinTime {
		label := v.class.labelAt(v.cuts, event)
		if current := v.Current(now); !label.Before(current) {
			return Decision{Timing: OnTime, Label: label}, nil
		}
		if !label.Before(from) {
			return Decision{Timing: Late, Label: label}, nil
		}
	}
	return Decision{}, &Refusal{Code: "LATE", Text: "the event time is earlier than any kept window, the oldest began at " + formatTime(v.class.startOf(from))}
}

// formatTime writes a time as clients send it, and as people read it.
func formatTime(ms int64) string {
	return strconv.FormatInt(ms, 10) + " (" + time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") + ")"
}
