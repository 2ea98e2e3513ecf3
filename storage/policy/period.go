package policy

// A Unit is the kind of a period.
type Unit uint8

// The calendar units, and Span for a period of a fixed length.
const (
	UnitHour Unit = iota
	UnitDay
	UnitWeek // ISO: from Monday
	UnitMonth
	UnitQuarter
	UnitSpan
	unitCount
)

var unitNames = [...]string{"hour", "day", "week", "month", "quarter"}

// The range of a period that is a duration.
const (
	MinSpan = Second
	MaxSpan = 3660 * Day
)

// A Period says how long a window is: a calendar unit, or a duration. The
// zero Period is an hour. Periods can be compared with ==; an hour and the
// duration 1h are different periods.
type Period struct {
	unit Unit
	span int64 // ms, only where unit is UnitSpan
}

// The calendar periods.
var (
	Hourly    = Period{unit: UnitHour}
	Daily     = Period{unit: UnitDay}
	Weekly    = Period{unit: UnitWeek}
	Monthly   = Period{unit: UnitMonth}
	Quarterly = Period{unit: UnitQuarter}
)

// Every is the period of a fixed length. Its windows are counted from
// 1970-01-01T00:00Z and know neither zones nor daylight saving.
func Every(ms int64) (Period, error) {
	if ms < MinSpan || ms > MaxSpan {
		return Period{}, periodError(formatDuration(ms))
	}
	return Period{unit: UnitSpan, span: ms}, nil
}

// ParsePeriod reads hour, day, week, month, quarter or a duration such as 90m
// or 36h, in any case.
func ParsePeriod(text string) (Period, error) {
	for unit, name := range unitNames {
		if equalFold(name, text) {
			return Period{unit: Unit(unit)}, nil
		}
	}
	ms, ok := parseDuration(text)
	if !ok || ms < MinSpan || ms > MaxSpan {
		return Period{}, periodError(text)
	}
	return Period{unit: UnitSpan, span: ms}, nil
}

func periodError(text string) error {
	return refuse("PERIOD must be hour, day, week, month, quarter or a duration from %s to %s such as 90m or 36h, not %s",
		formatDuration(MinSpan), formatDuration(MaxSpan), quoted(text))
}

// Unit is the kind of the period.
func (p Period) Unit() Unit { return p.unit }

// Span is the length of a period that is a duration, else 0.
func (p Period) Span() int64 { return p.span }

func (p Period) String() string {
	if p.unit == UnitSpan {
		return formatDuration(p.span)
	}
	return unitNames[p.unit]
}
