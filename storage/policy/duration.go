package policy

import (
	"strconv"
)

// Lengths in milliseconds.
const (
	Second int64 = 1000
	Minute       = 60 * Second
	Hour         = 60 * Minute
	Day          = 24 * Hour
	Week         = 7 * Day
)

var durationUnits = []struct {
	name   string
	length int64
}{{"w", Week}, {"d", Day}, {"h", Hour}, {"m", Minute}, {"s", Second}, {"ms", 1}}

// longestDuration bounds what parseDuration accepts, far below any overflow.
const longestDuration = 1_000_000 * Day

// parseDuration reads whole numbers with units, largest first: 90m, 36h,
// 1h30m, 7d. The number alone is not a duration.
func parseDuration(text string) (ms int64, ok bool) {
	unit := 0
	for len(text) > 0 {
		digits := 0
		for digits < len(text) && isDigit(text[digits]) {
			digits++
		}
		end := digits
		for end < len(text) && !isDigit(text[end]) {
			end++
		}
		number, err := strconv.ParseInt(text[:digits], 10, 64)
		if err != nil {
			return 0, false
		}
		for unit < len(durationUnits) && !equalFold(durationUnits[unit].name, text[digits:end]) {
			unit++
		}
		if unit == len(durationUnits) || number > longestDuration/durationUnits[unit].length {
			return 0, false
		}
		ms += number * durationUnits[unit].length
		if ms > longestDuration {
			return 0, false
		}
		unit++
		text = text[end:]
	}
	return ms, unit > 0
}

// formatDuration writes ms in the largest unit that divides it; 0 is 0s.
// Days are the largest unit it writes: 7d says more than 1w.
func formatDuration(ms int64) string {
	if ms == 0 {
		return "0s"
	}
	for _, unit := range durationUnits[1:] {
		if ms%unit.length == 0 {
			return strconv.FormatInt(ms/unit.length, 10) + unit.name
		}
	}
	return strconv.FormatInt(ms, 10) + "ms"
}

// formatSpan writes a length for a person, in its two largest units.
func formatSpan(ms int64) string {
	for i := 1; i < len(durationUnits)-1; i++ {
		large, small := durationUnits[i], durationUnits[i+1]
		if ms < large.length {
			continue
		}
		text := strconv.FormatInt(ms/large.length, 10) + large.name
		if rest := ms % large.length / small.length; rest > 0 {
			text += strconv.FormatInt(rest, 10) + small.name
		}
		return text
	}
	return strconv.FormatInt(ms, 10) + "ms"
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// equalFold compares ASCII words; lower is in lower case.
func equalFold(lower, text string) bool {
	if len(lower) != len(text) {
		return false
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
