package policy

// The supported range of time, [MinTime, MaxTime): the years 1970 to 2399.
// Windows tile exactly this range; the first and the last one are cut off at
// its ends.
const (
	MinTime int64 = 0
	MaxTime int64 = 13_569_465_600_000 // 2400-01-01T00:00Z
)

// InRange reports whether a time is supported.
func InRange(ms int64) bool { return MinTime <= ms && ms < MaxTime }

// clamp moves a time into the supported range.
func clamp(ms int64) int64 { return min(max(ms, MinTime), MaxTime-1) }

// daysBefore is the day number (1970-01-01 is 0) of the first of a month;
// months count from 1970-01. The algorithm counts years from March, so that
// the leap day is the last of its year.
func daysBefore(month int64) int64 {
	month += 10 // months since 1969-03
	year := 1969 + floorDiv(month, 12)
	ofYear := floorMod(month, 12)
	era := floorDiv(year, 400)
	ofEra := year - era*400
	days := ofEra*365 + ofEra/4 - ofEra/100 + (153*ofYear+2)/5
	return era*146_097 + days - 719_468
}

// monthOf is the month, counted from 1970-01, that holds a day.
func monthOf(day int64) int64 {
	day += 719_468 // days since 0000-03-01
	era := floorDiv(day, 146_097)
	ofEra := day - era*146_097
	year := (ofEra - ofEra/1_460 + ofEra/36_524 - ofEra/146_096) / 365
	ofYear := ofEra - (365*year + year/4 - year/100)
	month := (5*ofYear + 2) / 153 // from March
	return (era*400+year)*12 + month + 2 - 1970*12
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }
