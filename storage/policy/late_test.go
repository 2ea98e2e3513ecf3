package policy

import (
	"errors"
	"strings"
	"testing"
)

// B049: event times at the edges, half-open.
func TestB049DecideEdges(t *testing.T) {
	now := ms(t, "2026-05-10T12:00:00Z")
	may, march := ms(t, "2026-05-01T00:00:00Z"), ms(t, "2026-03-01T00:00:00Z")
	d := New()
	v := d.View([]byte("u"), nil)
	for _, test := range []struct {
		what   string
		event  int64
		timing Timing
		label  int64
		err    string
	}{
		{"before the oldest", march - 1, 0, 0, "LATE the event time is earlier than any kept window, the oldest began at 1772323200000 (2026-03-01T00:00:00.000Z)"},
		{"at the oldest", march, Late, 674, ""},
		{"end of the one before", may - 1, Late, 675, ""},
		{"at the open one", may, OnTime, 676, ""},
		{"now", now, OnTime, 676, ""},
		{"ahead", now + 1, Ahead, 676, ""},
		{"a day ahead", now + Day, Ahead, 676, ""},
		{"beyond", now + Day + 1, 0, 0, "ERR the event time is 86400001 ms (1d) ahead of the clock, at most 24h is allowed"},
		{"far beyond", now + 50*Hour, 0, 0, "ERR the event time is 180000000 ms (2d2h) ahead of the clock, at most 24h is allowed"},
		{"the end of numbers", 1<<63 - 1, 0, 0, "ahead of the clock"},
		{"the beginning", 0, 0, 0, "LATE"},
		{"before it", -1 << 63, 0, 0, "LATE"},
	} {
		got, err := v.Decide(test.event, now)
		switch {
		case test.err != "":
			var refusal *Refusal
			if err == nil || !strings.Contains(err.Error(), test.err) || !errors.As(err, &refusal) {
				t.Errorf("%s: %+v, %v", test.what, got, err)
			}
		case err != nil || got != Decision{Timing: test.timing, Label: Label{Number: test.label}}:
			t.Errorf("%s: %+v, %v", test.what, got, err)
		}
	}
	// An event that is ahead over the edge of a window still counts as now.
	if got, err := v.Decide(ms(t, "2026-06-01T10:00:00Z"), ms(t, "2026-05-31T12:00:00Z")); err != nil || got.Label.Number != 676 {
		t.Error(got, err)
	}
}

func TestDecideFindsCutsByTime(t *testing.T) {
	now := ms(t, "2026-05-10T12:00:00Z")
	d := set(t, New(), "", "KEEP 2", 1)
	own := Own{Cuts: Cuts{Times: []int64{now - Day, now - Hour}}}
	v := d.View([]byte("u"), &own)
	for event, want := range map[int64]Label{
		now - Hour:     {676, now - Hour},
		now - Hour - 1: {676, now - Day},
		now - Day:      {676, now - Day},
	} {
		if got, err := v.Decide(event, now); err != nil || got.Label != want {
			t.Errorf("%d: %+v, %v", event-now, got, err)
		}
	}
	if got, err := v.Decide(now-Day-1, now); err == nil {
		t.Errorf("%+v", got)
	}
	// What is sent with the time of a rotation's own millisecond counts as now.
	own = Own{Cuts: Cuts{Times: []int64{now, now + 1}}}
	v = d.View([]byte("u"), &own)
	if got, err := v.Decide(now, now); err != nil || got.Label != (Label{676, now + 1}) {
		t.Errorf("%+v, %v", got, err)
	}
}
