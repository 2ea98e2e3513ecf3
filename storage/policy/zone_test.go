package policy

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

func mustZone(t testing.TB, name string) Zone {
	t.Helper()
	zone, err := ParseZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func mustPeriod(t testing.TB, text string) Period {
	t.Helper()
	period, err := ParsePeriod(text)
	if err != nil {
		t.Fatal(err)
	}
	return period
}

// ms reads an RFC 3339 time.
func ms(t testing.TB, text string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMilli()
}

func TestParseZone(t *testing.T) {
	for text, want := range map[string]string{
		"UTC": "UTC", "utc": "UTC", "+00:00": "UTC", "-00:00": "UTC",
		"+05:30": "+05:30", "-03:00": "-03:00", "+14:00": "+14:00", "-12:00": "-12:00",
		"Europe/Berlin": "Europe/Berlin", "Etc/GMT+5": "Etc/GMT+5",
	} {
		zone, err := ParseZone(text)
		if err != nil || zone.String() != want {
			t.Errorf("ParseZone(%q) = %v, %v; want %s", text, zone, err, want)
		}
	}
	for _, text := range []string{
		"", "Local", "Mars/Olympus", "../etc/passwd", "/etc/localtime", "+14:01", "-12:01", "+5:30",
		"+05:60", "+0530", "+99:00", "05:30", "+", "+ab:cd", "Europe\x00", "a\r\nb", strings.Repeat("x", 100),
	} {
		zone, err := ParseZone(text)
		if err == nil {
			t.Errorf("ParseZone(%q) = %v, want an error", text, zone)
		} else if !strings.Contains(err.Error(), "-12:00 to +14:00") || strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("ParseZone(%q): %v", text, err)
		}
	}
}

// The offsets read in advance are those of the standard library, for the whole
// range.
func TestZoneSteps(t *testing.T) {
	for _, name := range []string{
		"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca",
		"America/Sao_Paulo", "Asia/Kolkata", "America/St_Johns", "Africa/Monrovia", "Europe/Dublin", "America/Nuuk",
		"Asia/Gaza", "Antarctica/Troll",
	} {
		zone := mustZone(t, name)
		location, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		check := func(at, want int64) {
			if _, offset := time.UnixMilli(at).In(location).Zone(); int64(offset)*Second != want {
				t.Fatalf("%s at %s: %d, want %d", name, time.UnixMilli(at).UTC(), want, offset)
			}
		}
		for i, s := range zone.steps {
			check(s.from, s.offset)
			end := MaxTime
			if i+1 < len(zone.steps) {
				end = zone.steps[i+1].from
			}
			check(end-1, s.offset)
			for at := s.from; at < end; at += 37 * Day {
				check(at, s.offset)
			}
		}
	}
}
