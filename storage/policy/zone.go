package policy

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// The range of a fixed offset.
const (
	MinOffset = -12 * Hour
	MaxOffset = 14 * Hour
)

// A Zone says whose civil time counts: UTC (the zero Zone), a fixed offset, or
// an IANA zone. Two zones are the same if their names are (Same).
//
// The offsets of an IANA zone are read once, for the whole supported range of
// time. Zone data that is newer can change windows only from the first instant
// on at which its offsets differ.
type Zone struct {
	name  string // canonical; "" is UTC
	steps []step // nil is UTC
}

// A step is an offset and the first instant at which it holds.
type step struct {
	from   int64 // ms; the first step of a zone is from MinTime
	offset int64 // ms, civil time minus UTC
}

// UTC is the zone of a policy that names none.
var UTC = Zone{}

// zones keeps the IANA zones that were named; there are about 600.
var zones sync.Map // name -> Zone

// ParseZone reads UTC, an offset such as +05:30, or an IANA name such as
// Europe/Berlin (in the case that the zone data uses).
func ParseZone(text string) (Zone, error) {
	if text == "" || len(text) > 64 {
		return Zone{}, zoneError(text)
	}
	if equalFold("utc", text) {
		return UTC, nil
	}
	if text[0] == '+' || text[0] == '-' {
		offset, ok := parseOffset(text)
		if !ok {
			return Zone{}, zoneError(text)
		}
		return fixedZone(offset), nil
	}
	if known, ok := zones.Load(text); ok {
		return known.(Zone), nil
	}
	if text == "Local" || strings.ContainsAny(text, "\\:\x00") || text[0] == '/' {
		return Zone{}, zoneError(text)
	}
	location, err := time.LoadLocation(text)
	if err != nil {
		return Zone{}, zoneError(text)
	}
	zone := Zone{name: text, steps: stepsOf(location)}
	zones.Store(text, zone)
	return zone, nil
}

func zoneError(text string) error {
	return refuse("ZONE must be UTC, an offset from -12:00 to +14:00 such as +05:30, or an IANA name such as Europe/Berlin, not %s", quoted(text))
}

// parseOffset reads +hh:mm or -hh:mm.
func parseOffset(text string) (ms int64, ok bool) {
	if len(text) != 6 || text[3] != ':' {
		return 0, false
	}
	for _, i := range [...]int{1, 2, 4, 5} {
		if !isDigit(text[i]) {
			return 0, false
		}
	}
	hours := int64(text[1]-'0')*10 + int64(text[2]-'0')
	minutes := int64(text[4]-'0')*10 + int64(text[5]-'0')
	ms = hours*Hour + minutes*Minute
	if text[0] == '-' {
		ms = -ms
	}
	return ms, minutes < 60 && ms >= MinOffset && ms <= MaxOffset
}

func fixedZone(offset int64) Zone {
	if offset == 0 {
		return UTC
	}
	sign, size := '+', offset
	if offset < 0 {
		sign, size = '-', -offset
	}
	name := fmt.Sprintf("%c%02d:%02d", sign, size/Hour, size%Hour/Minute)
	return Zone{name: name, steps: []step{{from: MinTime, offset: offset}}}
}

// stepsOf lists the offsets of a location over the supported range.
func stepsOf(location *time.Location) []step {
	var steps []step
	for at := time.UnixMilli(MinTime).In(location); ; {
		_, seconds := at.Zone()
		offset := int64(seconds) * Second
		if len(steps) == 0 || steps[len(steps)-1].offset != offset {
			steps = append(steps, step{from: at.UnixMilli(), offset: offset})
		}
		// Under a recurring rule the bounds are also cut 365 days after a new
		// year: not every bound is a change, and on the last day of a leap year
		// the bound is not even ahead.
		_, next := at.ZoneBounds()
		if next.IsZero() || next.UnixMilli() >= MaxTime {
			return steps
		}
		if !next.After(at) {
			next = at.Add(24 * time.Hour)
		}
		at = next
	}
}

// Same reports whether the zones are one.
func (z Zone) Same(other Zone) bool { return z.name == other.name }

func (z Zone) String() string {
	if z.name == "" {
		return "UTC"
	}
	return z.name
}
