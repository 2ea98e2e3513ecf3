package policy

import "fmt"

// A Calendar numbers the windows of a period in a zone. It is immutable, and
// safe for any number of readers.
//
// A number is the count of civil periods since the one that holds 1970-01-01,
// so it depends on the time alone: not on a tick, a start or "today". Numbers
// are never negative, never decrease with time and are dense: the window after
// n is n + 1.
//
// Where civil time is not uniform:
//
//   - Hours follow the offset's part below one hour. An offset that changes by
//     whole hours therefore changes no hour window: the repeated hour is two
//     windows, the skipped one none, and there are as many as with UTC. If it
//     changes by half an hour, one window has 30 or 90 minutes.
//   - Other windows begin at the first instant at which their civil time, or a
//     later one, is reached. Setting the clock back never reopens a window. Days
//     have 23, 24 or 25 hours.
//   - A day that a zone skipped has no window and no number.
//   - Durations are counted from 1970-01-01T00:00Z whatever the zone.
type Calendar struct {
	period   Period
	zone     Zone
	segments []segment
	last     int64 // the number of the window that holds the last instant
}

// A segment is a stretch of time with one offset.
type segment struct {
	from    int64 // ms
	offset  int64 // ms, added before civil periods are counted
	first   int64 // the number of the window that holds from
	skipped int64 // civil periods that had no instant, so far
}

// NewCalendar prepares the windows of a period in a zone.
func NewCalendar(period Period, zone Zone) *Calendar {
	c := &Calendar{period: period, zone: zone}
	steps := zone.steps
	if len(steps) == 0 || period.unit == UnitSpan {
		steps = []step{{from: MinTime}}
	}
	for _, s := range steps {
		offset := s.offset
		if period.unit == UnitHour {
			offset = floorMod(offset, Hour)
		}
		next := segment{from: s.from, offset: offset}
		if n := len(c.segments); n > 0 {
			if c.segments[n-1].offset == offset {
				continue
			}
			reached := c.segments[n-1].number(period, s.from-1)
			next.skipped = c.segments[n-1].skipped
			next.first = reached
			if now := period.count(s.from+offset) - next.skipped; now > reached {
				next.first = reached + 1
				next.skipped += now - next.first
			}
		}
		c.segments = append(c.segments, next)
	}
	c.last = c.number(MaxTime - 1)
	return c
}

// Period is the period whose windows these are.
func (c *Calendar) Period() Period { return c.period }

// Zone is the zone whose civil time counts.
func (c *Calendar) Zone() Zone { return c.zone }

// Last is the number of the last window of the supported range.
func (c *Calendar) Last() int64 { return c.last }

// WindowAt is the window that holds a time; a time out of range is an error.
func (c *Calendar) WindowAt(ms int64) (Window, error) {
	if !InRange(ms) {
		return Window{}, fmt.Errorf("time %d is outside of the years 1970 to 2399", ms)
	}
	return c.window(c.number(ms)), nil
}

// WindowByNumber is the inverse of WindowAt.
func (c *Calendar) WindowByNumber(number int64) (Window, error) {
	if number < 0 || number > c.last {
		return Window{}, fmt.Errorf("window %d is outside of 0 to %d", number, c.last)
	}
	return c.window(number), nil
}

func (c *Calendar) window(number int64) Window {
	return Window{Number: number, Start: c.start(number), End: c.start(number + 1)}
}

// number is the number of the window that holds a time within the range.
func (c *Calendar) number(ms int64) int64 {
	low, high := 0, len(c.segments) // segments[low].from <= ms < segments[high].from
	for high-low > 1 {
		mid := (low + high) / 2
		if c.segments[mid].from <= ms {
			low = mid
		} else {
			high = mid
		}
	}
	return c.segments[low].number(c.period, ms)
}

func (s *segment) number(period Period, ms int64) int64 {
	return max(s.first, period.count(ms+s.offset)-s.skipped)
}

// start is the first instant of a window: MinTime for the first, and MaxTime
// for those after the last.
func (c *Calendar) start(number int64) int64 {
	if number <= 0 {
		return MinTime
	}
	if number > c.last {
		return MaxTime
	}
	low, high := 0, len(c.segments) // segments[low].first < number <= segments[high].first
	for high-low > 1 {
		mid := (low + high) / 2
		if c.segments[mid].first < number {
			low = mid
		} else {
			high = mid
		}
	}
	s := &c.segments[low]
	start := c.period.begin(number+s.skipped) - s.offset
	if high < len(c.segments) {
		start = min(start, c.segments[high].from)
	}
	return start
}

// count is the number of whole civil periods from the one that holds
// 1970-01-01 to the one that holds a civil time (ms as if it were UTC).
func (p Period) count(civil int64) int64 {
	switch p.unit {
	case UnitHour:
		return floorDiv(civil, Hour)
	case UnitDay:
		return floorDiv(civil, Day)
	case UnitWeek:
		return floorDiv(civil+3*Day, Week) // 1970-01-01 was a Thursday
	case UnitMonth:
		return monthOf(floorDiv(civil, Day))
	case UnitQuarter:
		return floorDiv(monthOf(floorDiv(civil, Day)), 3)
	default:
		return floorDiv(civil, p.span)
	}
}

// begin is the civil time at which a civil period begins.
func (p Period) begin(number int64) int64 {
	switch p.unit {
	case UnitHour:
		return number * Hour
	case UnitDay:
		return number * Day
	case UnitWeek:
		return number*Week - 3*Day
	case UnitMonth:
		return daysBefore(number) * Day
	case UnitQuarter:
		return daysBefore(number*3) * Day
	default:
		return number * p.span
	}
}
