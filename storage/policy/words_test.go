package policy

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func words(text string) [][]byte { return bytes.Fields([]byte(text)) }

func mustPartial(t testing.TB, text string) Partial {
	t.Helper()
	p, err := ParseWords(words(text), AllFields)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParseWords(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"error 0.01 period DAY keep 30 zone Europe/Berlin delivered 500 deliveredttl 90s": "ERROR 0.01 PERIOD day KEEP 30 ZONE Europe/Berlin DELIVERED 500 DELIVEREDTTL 90s",
		"KEEP 1 ERROR 0": "ERROR 0 KEEP 1",
		"ERROR 1e-3":     "ERROR 0.001", "ERROR .5": "ERROR 0.5", "ERROR 0.999999": "ERROR 0.999999", "ERROR 1E-300": "ERROR 1e-300",
		"KEEP 1000":       "KEEP 1000",
		"DELIVEREDTTL 1s": "DELIVEREDTTL 1s", "DELIVEREDTTL 30d": "DELIVEREDTTL 30d",
		"DELIVERED 1": "DELIVERED 1", "DELIVERED 10000": "DELIVERED 10000",
	} {
		p, err := ParseWords(words(text), AllFields)
		if err != nil || p.String() != want {
			t.Errorf("%q: %q, %v", text, p, err)
		}
	}
}

func TestB129ParseWordsErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"KEEP", "ERR syntax error, KEEP has no value"},
		{"KEEP 3 keep 3", "ERR syntax error, KEEP is given twice"},
		{"WINDOWS 3", `ERR syntax error, "WINDOWS" is none of ERROR, PERIOD, KEEP, ZONE, DELIVERED, DELIVEREDTTL`},
		{"3 KEEP", `ERR syntax error, "3" is none of ERROR, PERIOD, KEEP, ZONE, DELIVERED, DELIVEREDTTL`},
		{"KEEP 0", `ERR KEEP must be a number of windows from 1 to 1000, not "0"`},
		{"KEEP -1", `ERR KEEP must be a number of windows from 1 to 1000, not "-1"`},
		{"KEEP 1001", `ERR KEEP must be a number of windows from 1 to 1000, not "1001"`},
		{"KEEP 1.5", `ERR KEEP must be a number of windows from 1 to 1000, not "1.5"`},
		{"KEEP 99999999999999999999", `ERR KEEP must be a number of windows from 1 to 1000, not "99999999999999999999"`},
		{"DELIVERED 0", `ERR DELIVERED must be a number of items from 1 to 10000, not "0"`},
		{"DELIVERED 10001", `ERR DELIVERED must be a number of items from 1 to 10000, not "10001"`},
		{"DELIVEREDTTL 0s", `ERR DELIVEREDTTL must be a duration from 1s to 30d such as 10m, not "0s"`},
		{"DELIVEREDTTL 600", `ERR DELIVEREDTTL must be a duration from 1s to 30d such as 10m, not "600"`},
		{"DELIVEREDTTL 31d", `ERR DELIVEREDTTL must be a duration from 1s to 30d such as 10m, not "31d"`},
		{"PERIOD 0s", `ERR PERIOD must be hour, day, week, month, quarter or a duration from 1s to 3660d such as 90m or 36h, not "0s"`},
		{"ZONE Nowhere", `ERR ZONE must be UTC, an offset from -12:00 to +14:00 such as +05:30, or an IANA name such as Europe/Berlin, not "Nowhere"`},
	} {
		if _, err := ParseWords(words(test.text), AllFields); err == nil || err.Error() != test.want {
			t.Errorf("%q:\n got %v\nwant %s", test.text, err, test.want)
		}
	}
	if _, err := ParseWords(words("ZONE UTC"), ReserveFields); err == nil {
		t.Error("RESERVE takes a ZONE")
	}
	if _, err := ParseWords([][]byte{[]byte("a\r\nb" + strings.Repeat("x", 1<<20)), nil}, AllFields); err == nil || strings.ContainsAny(err.Error(), "\r\n") || len(err.Error()) > 300 {
		t.Error("a hostile word is not quoted")
	}
}

// B025: only 0 and what is between 0 and 1, each answered at once.
func TestB025ErrorRates(t *testing.T) {
	start := time.Now()
	for _, text := range []string{
		"-0", "-1", "1", "2", "10.1", "nan", "inf", "-inf", "+0.1", "1e-400", "0x1p-3", "", "0.01 ", " 0.01", "0,01", "1_0e-3",
		"1.0", "1e0", "0.1.1", ".", "e", "1e", "1e-", "0.99999999999999999999", "0.5e999999999999",
	} {
		if p, err := ParseWords([][]byte{[]byte("ERROR"), []byte(text)}, AllFields); err == nil {
			t.Errorf("ERROR %q is accepted as %v", text, p)
		} else if want := "ERR ERROR must be 0 (exact) or a decimal number above 0 and below 1, not "; !strings.HasPrefix(err.Error(), want) {
			t.Errorf("ERROR %q: %v", text, err)
		}
	}
	for _, text := range []string{"0", "0.0", "0e5", "0.0e-7", "1e-300", "0.001", "0.9999"} {
		if _, err := ParseWords([][]byte{[]byte("ERROR"), []byte(text)}, AllFields); err != nil {
			t.Errorf("ERROR %q: %v", text, err)
		}
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %s", took)
	}
}

func TestValidate(t *testing.T) {
	ok := Partial{Given: AllFields, Values: Defaults()}
	if err := ok.Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Settings){
		"NaN":        func(s *Settings) { s.Error = math.NaN() },
		"one":        func(s *Settings) { s.Error = 1 },
		"negative":   func(s *Settings) { s.Error = -1 },
		"no windows": func(s *Settings) { s.Keep = 0 },
		"many":       func(s *Settings) { s.Keep = MaxKeep + 1 },
		"unit":       func(s *Settings) { s.Period = Period{unit: 17} },
		"no span":    func(s *Settings) { s.Period = Period{unit: UnitSpan} },
		"delivered":  func(s *Settings) { s.Delivered = -5 },
		"ttl":        func(s *Settings) { s.DeliveredTTL = 0 },
	} {
		bad := ok
		change(&bad.Values)
		if err := bad.Validate(); err == nil || !strings.HasPrefix(err.Error(), "ERR ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestShare(t *testing.T) {
	s := Defaults()
	if got := 1 - math.Pow(1-s.Share(), float64(s.Keep)); math.Abs(got-s.Error) > 1e-12 {
		t.Errorf("%d windows of %g have %g together", s.Keep, s.Share(), got)
	}
	s.Error = 0
	if !s.Exact() || s.Share() != 0 {
		t.Error("0 is not exact")
	}
}

func drawPartial(t *rapid.T) Partial {
	given := rapid.SampledFrom([]Fields{FieldKeep, FieldPeriod, FieldPeriod | FieldKeep, FieldZone, FieldError, FieldError | FieldDelivered, AllFields}).Draw(t, "given")
	p := Partial{Given: given}
	if given&FieldError != 0 {
		p.Values.Error = rapid.SampledFrom([]float64{0, 0.5, 0.001, 1e-300}).Draw(t, "error")
	}
	if given&FieldPeriod != 0 {
		p.Values.Period, _ = ParsePeriod(rapid.SampledFrom([]string{"hour", "day", "week", "month", "7h"}).Draw(t, "period"))
	}
	if given&FieldKeep != 0 {
		p.Values.Keep = rapid.Int64Range(1, 4).Draw(t, "keep")
	}
	if given&FieldZone != 0 {
		p.Values.Zone, _ = ParseZone(rapid.SampledFrom([]string{"UTC", "+05:30", "Europe/Berlin"}).Draw(t, "zone"))
	}
	if given&FieldDelivered != 0 {
		p.Values.Delivered = rapid.Int64Range(MinDelivered, MaxDelivered).Draw(t, "delivered")
	}
	if given&FieldDeliveredTTL != 0 {
		p.Values.DeliveredTTL = rapid.Int64Range(MinDeliveredTTL, MaxDeliveredTTL).Draw(t, "ttl")
	}
	return p
}

func TestWordsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPartial(t)
		again, err := ParseWords(words(p.String()), AllFields)
		if err != nil || !again.equal(p, AllFields) {
			t.Fatalf("%q is read back as %q, %v", p, again, err)
		}
	})
}
