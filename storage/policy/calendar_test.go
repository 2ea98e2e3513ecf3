package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var testPeriods = []string{"hour", "day", "week", "month", "quarter", "90m", "36h", "1s", "3660d"}

var testZones = []string{
	"UTC", "+05:30", "-12:00", "+14:00", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Asia/Kathmandu",
	"Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kiritimati", "Pacific/Kwajalein", "Africa/Monrovia",
	"Africa/Casablanca", "America/Sao_Paulo", "America/St_Johns", "Asia/Pyongyang", "America/Caracas",
}

// windows writes the windows from a time until another, with their lengths.
func windows(t *testing.T, c *Calendar, from, until string) string {
	var b strings.Builder
	end := ms(t, until)
	for at := ms(t, from); at < end; {
		w, err := c.WindowAt(at)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%d %s %s\n", w.Number, time.UnixMilli(w.Start).UTC().Format("2006-01-02T15:04"), formatSpan(w.End-w.Start))
		at = w.End
	}
	return b.String()
}

func TestWindowsGolden(t *testing.T) {
	for _, test := range []struct{ name, period, zone, from, until, want string }{
		{"B054 repeated hour", "hour", "America/New_York", "2026-11-01T04:00:00Z", "2026-11-01T08:00:00Z", `
498196 2026-11-01T04:00 1h
498197 2026-11-01T05:00 1h
498198 2026-11-01T06:00 1h
498199 2026-11-01T07:00 1h
`},
		{"skipped hour", "hour", "America/New_York", "2026-03-08T06:00:00Z", "2026-03-08T08:00:00Z", `
492486 2026-03-08T06:00 1h
492487 2026-03-08T07:00 1h
`},
		{"half-hour zone", "hour", "Asia/Kolkata", "2026-01-01T00:00:00Z", "2026-01-01T01:30:00Z", `
490896 2025-12-31T23:30 1h
490897 2026-01-01T00:30 1h
`},
		{"half an hour forward", "hour", "Australia/Lord_Howe", "2026-10-03T13:30:00Z", "2026-10-03T17:00:00Z", `
497510 2026-10-03T13:30 1h
497511 2026-10-03T14:30 1h30m
497512 2026-10-03T16:00 1h
`},
		{"half an hour back", "hour", "Australia/Lord_Howe", "2026-04-04T14:00:00Z", "2026-04-04T16:00:00Z", `
493142 2026-04-04T14:00 1h
493143 2026-04-04T15:00 30m
493144 2026-04-04T15:30 1h
`},
		{"day of 25 hours", "day", "America/New_York", "2026-10-31T12:00:00Z", "2026-11-02T12:00:00Z", `
20757 2026-10-31T04:00 1d
20758 2026-11-01T04:00 1d1h
20759 2026-11-02T05:00 1d
`},
		{"day of 23 hours", "day", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z", `
20540 2026-03-27T23:00 1d
20541 2026-03-28T23:00 23h
20542 2026-03-29T22:00 1d
`},
		{"skipped day", "day", "Pacific/Apia", "2011-12-29T12:00:00Z", "2011-12-31T12:00:00Z", `
15337 2011-12-29T10:00 1d
15338 2011-12-30T10:00 1d
15339 2011-12-31T10:00 1d
`},
		{"week with a skipped day", "week", "Pacific/Apia", "2011-12-26T12:00:00Z", "2012-01-02T12:00:00Z", `
2191 2011-12-26T10:00 6d
2192 2012-01-01T10:00 7d
`},
		{"midnight that does not exist", "day", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-05T12:00:00Z", `
17838 2018-11-03T03:00 1d
17839 2018-11-04T03:00 23h
17840 2018-11-05T02:00 1d
`},
		{"midnight that is there twice", "day", "America/St_Johns", "2006-10-28T12:00:00Z", "2006-10-30T12:00:00Z", `
13449 2006-10-28T02:30 1d
13450 2006-10-29T02:30 1d1h
13451 2006-10-30T03:30 1d
`},
		{"leap day", "day", "UTC", "2028-02-28T12:00:00Z", "2028-03-01T12:00:00Z", `
21242 2028-02-28T00:00 1d
21243 2028-02-29T00:00 1d
21244 2028-03-01T00:00 1d
`},
		{"leap months", "month", "UTC", "2028-01-01T00:00:00Z", "2028-04-01T00:00:00Z", `
696 2028-01-01T00:00 31d
697 2028-02-01T00:00 29d
698 2028-03-01T00:00 31d
`},
		{"no leap year", "month", "UTC", "2100-02-01T00:00:00Z", "2100-03-01T00:00:00Z", `
1561 2100-02-01T00:00 28d
`},
		{"week 53 over the end of a year", "week", "UTC", "2026-12-24T00:00:00Z", "2027-01-05T00:00:00Z", `
2973 2026-12-21T00:00 7d
2974 2026-12-28T00:00 7d
2975 2027-01-04T00:00 7d
`},
		{"quarters", "quarter", "Europe/Berlin", "2026-01-01T00:00:00Z", "2026-12-31T23:00:00Z", `
224 2025-12-31T23:00 89d23h
225 2026-03-31T22:00 91d
226 2026-06-30T22:00 92d
227 2026-09-30T22:00 92d1h
`},
		{"durations know no zone", "36h", "America/New_York", "2026-11-01T00:00:00Z", "2026-11-03T00:00:00Z", `
13838 2026-10-31T00:00 1d12h
13839 2026-11-01T12:00 1d12h
`},
		{"west of UTC at the beginning", "day", "-12:00", "1970-01-01T00:00:00Z", "1970-01-02T13:00:00Z", `
0 1970-01-01T00:00 1d12h
1 1970-01-02T12:00 1d
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := NewCalendar(mustPeriod(t, test.period), mustZone(t, test.zone))
			if got := windows(t, c, test.from, test.until); got != test.want[1:] {
				t.Errorf("got\n%swant%s", got, test.want)
			}
		})
	}
}

// Windows tile the range, numbers are dense, monotone and inverse to times;
// edges are half-open.
func TestWindowsTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCalendar(t)
		var at int64
		if segments := c.segments; rapid.Bool().Draw(t, "near a change") {
			at = rapid.SampledFrom(segments).Draw(t, "segment").from + rapid.Int64Range(-3*Day, 3*Day).Draw(t, "offset")
			at = clamp(at)
		} else {
			at = rapid.Int64Range(MinTime, MaxTime-1).Draw(t, "at")
		}
		checkWindows(t, c, at, 12)
	})
}

func checkWindows(t interface{ Fatalf(string, ...any) }, c *Calendar, at int64, count int) {
	w, err := c.WindowAt(at)
	if err != nil || !w.Contains(at) {
		t.Fatalf("%v is not in %+v: %v", at, w, err)
	}
	for range count {
		if w.Start >= w.End {
			t.Fatalf("empty window %+v", w)
		}
		for _, inside := range []int64{w.Start, w.Start + 1, w.End - 1} {
			if got, err := c.WindowAt(inside); inside < w.End && (err != nil || got != w) {
				t.Fatalf("at %d: %+v, %v, want %+v", inside, got, err, w)
			}
		}
		if got, err := c.WindowByNumber(w.Number); err != nil || got != w {
			t.Fatalf("WindowByNumber: %+v, %v, want %+v", got, err, w)
		}
		if w.Start > MinTime {
			before, err := c.WindowAt(w.Start - 1)
			if err != nil || before.End != w.Start || before.Number != w.Number-1 {
				t.Fatalf("%+v before %+v: %v", before, w, err)
			}
		} else if w.Number != 0 {
			t.Fatalf("first window %+v", w)
		}
		if w.End == MaxTime {
			if w.Number != c.Last() {
				t.Fatalf("last window %+v, not %d", w, c.Last())
			}
			return
		}
		next, err := c.WindowAt(w.End)
		if err != nil || next.Start != w.End || next.Number != w.Number+1 {
			t.Fatalf("%+v after %+v: %v", next, w, err)
		}
		w = next
	}
}

func drawCalendar(t *rapid.T) *Calendar {
	period, err := ParsePeriod(rapid.SampledFrom(testPeriods).Draw(t, "period"))
	if err != nil {
		t.Fatal(err)
	}
	zone, err := ParseZone(rapid.SampledFrom(testZones).Draw(t, "zone"))
	if err != nil {
		t.Fatal(err)
	}
	return NewCalendar(period, zone)
}

// Around every change of every zone, and at both ends of the range.
func TestWindowsAtChanges(t *testing.T) {
	for _, name := range testZones {
		for _, period := range testPeriods {
			c := NewCalendar(mustPeriod(t, period), mustZone(t, name))
			for _, s := range c.segments[:min(len(c.segments), 150)] {
				checkWindows(t, c, clamp(s.from-1), 3)
				checkWindows(t, c, s.from, 3)
			}
			checkWindows(t, c, MinTime, 3)
			checkWindows(t, c, MaxTime-1, 3)
			checkWindows(t, c, c.start(c.Last()-1), 3)
		}
	}
}

// B054: as many hours as with UTC, whatever the zone.
func TestB054HoursAsWithUTC(t *testing.T) {
	for _, name := range testZones {
		c := NewCalendar(Hourly, mustZone(t, name))
		for at := MinTime; at < MaxTime; at += 97 * Day {
			if n := c.number(at) - at/Hour; n < 0 || n > 1 {
				t.Fatalf("%s at %d: %d hours more than UTC", name, at, n)
			}
		}
	}
}

// Civil periods are those of the standard library.
func TestCivilAgainstTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(MinTime, MaxTime-1).Draw(t, "at")).UTC()
		month := int64(at.Year()-1970)*12 + int64(at.Month()) - 1
		day := floorDiv(at.UnixMilli(), Day)
		if monthOf(day) != month {
			t.Fatalf("%s is in month %d, not %d", at, month, monthOf(day))
		}
		if first := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC).Unix() / 86400; daysBefore(month) != first {
			t.Fatalf("%s: month begins on day %d, not %d", at, first, daysBefore(month))
		}
		week := NewCalendar(Weekly, UTC).window(NewCalendar(Weekly, UTC).number(at.UnixMilli()))
		year, number := at.ISOWeek()
		for _, edge := range []int64{week.Start, week.End - 1} {
			if y, n := time.UnixMilli(edge).UTC().ISOWeek(); week.Number > 0 && (y != year || n != number) {
				t.Fatalf("%s is in week %d-%d, its window reaches into %d-%d", at, year, number, y, n)
			}
		}
	})
}

// Local midnight begins a day, in every zone where it is there once.
func TestDaysAreCivil(t *testing.T) {
	for _, name := range []string{"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kolkata"} {
		location, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		c := NewCalendar(Daily, mustZone(t, name))
		for i := range 20 * 365 {
			day := time.Date(2010, 1, 1+i, 0, 0, 0, 0, location)
			if w, _ := c.WindowAt(day.UnixMilli()); day.Hour() == 0 && w.Start != day.UnixMilli() {
				t.Fatalf("%s: %s is in %+v", name, day, w)
			}
		}
	}
}

func TestOutOfRange(t *testing.T) {
	for _, period := range testPeriods {
		c := NewCalendar(mustPeriod(t, period), mustZone(t, "Pacific/Apia"))
		for _, at := range []int64{-1, -1 << 63, MaxTime, 1<<63 - 1} {
			if w, err := c.WindowAt(at); err == nil {
				t.Errorf("WindowAt(%d) = %+v", at, w)
			}
		}
		for _, n := range []int64{-1, -1 << 63, c.Last() + 1, 1<<63 - 1} {
			if w, err := c.WindowByNumber(n); err == nil {
				t.Errorf("WindowByNumber(%d) = %+v", n, w)
			}
		}
	}
}

func TestParsePeriod(t *testing.T) {
	for text, want := range map[string]string{
		"hour": "hour", "DAY": "day", "Week": "week", "month": "month", "quarter": "quarter",
		"90m": "90m", "36h": "36h", "1h30m": "90m", "60m": "1h", "24H": "1d", "2w": "14d", "1s": "1s", "1500ms": "1500ms", "3660d": "3660d",
	} {
		if p, err := ParsePeriod(text); err != nil || p.String() != want {
			t.Errorf("ParsePeriod(%q) = %v, %v; want %s", text, p, err, want)
		} else if again, err := ParsePeriod(p.String()); err != nil || again != p {
			t.Errorf("%q is not read back: %v, %v", p, again, err)
		}
	}
	for _, text := range []string{
		"", "0", "0s", "999ms", "3661d", "1", "m", "-1h", "+1h", "1.5h", "1 h", "30m1h", "1h1h", "year", "hours", "\x00",
		"9223372036854775807ms", "9223372036854775808w", "99999999999999999999d", "1µs", "1h-30m",
	} {
		p, err := ParsePeriod(text)
		if err == nil {
			t.Errorf("ParsePeriod(%q) = %v", text, p)
		} else if !strings.Contains(err.Error(), "1s to 3660d") {
			t.Errorf("ParsePeriod(%q): %v names no range", text, err)
		}
	}
	if Hourly == (Period{unit: UnitSpan, span: Hour}) {
		t.Error("an hour is the duration 1h")
	}
}

func TestCalendarAllocatesNothing(t *testing.T) {
	c := NewCalendar(Monthly, mustZone(t, "America/New_York"))
	at := ms(t, "2026-11-01T05:30:00Z")
	if n := testing.AllocsPerRun(100, func() {
		w, _ := c.WindowAt(at)
		if again, _ := c.WindowByNumber(w.Number); again != w {
			t.Fatal(w)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkWindowAt(b *testing.B) {
	for _, zone := range []string{"UTC", "America/New_York"} {
		b.Run(zone, func(b *testing.B) {
			c := NewCalendar(Monthly, mustZone(b, zone))
			at := ms(b, "2026-11-01T05:30:00Z")
			for b.Loop() {
				if w, _ := c.WindowAt(at); !w.Contains(at) {
					b.Fatal(w)
				}
			}
		})
	}
}
