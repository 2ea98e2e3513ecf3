package policy

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// naiveStarts lists the starts of the keep windows that are kept at a time.
func naiveStarts(c *Calendar, keep int64, cuts []int64, at int64) []int64 {
	var starts []int64
	for n := c.number(at); n >= 0 && n > c.number(at)-keep; n-- {
		starts = append(starts, c.start(n))
	}
	for _, cut := range cuts {
		if cut <= at && cut != c.start(c.number(cut)) {
			starts = append(starts, cut)
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	return starts[max(0, len(starts)-int(keep)):]
}

func TestKeptStartsAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCalendar(t)
		keep := rapid.Int64Range(1, 12).Draw(t, "keep")
		at := rapid.Int64Range(40*365*Day, 60*365*Day).Draw(t, "at")
		far := max(1, min(c.Period().Span(), 40*Day)) + 20*Day
		var lists [2][]int64
		for i := range lists {
			lists[i] = rapid.SliceOfN(rapid.Int64Range(at-far, at+far), 0, 10).Draw(t, "cuts")
			if rapid.Bool().Draw(t, "with an edge") {
				lists[i] = append(lists[i], c.start(c.number(at)))
			}
			slices.Sort(lists[i])
			lists[i] = slices.Compact(lists[i])
		}
		cuts := cutsOf{shared: lists[0], own: lists[1]}
		all := mergeCuts(lists[0], lists[1])
		starts := naiveStarts(c, keep, all, at)
		oldest := c.oldestKept(keep, cuts, at)
		if got := c.startOf(oldest); got != starts[0] {
			t.Fatalf("kept from %d, want %d of %v", got, starts[0], starts)
		}
		for i, start := range starts {
			label := c.labelAt(cuts, start)
			if label.Before(oldest) || c.startOf(label) != start {
				t.Fatalf("window at %d is labelled %+v", start, label)
			}
			end := c.endOf(cuts, label)
			if i+1 < len(starts) && end != starts[i+1] {
				t.Fatalf("window %+v ends at %d, want %d", label, end, starts[i+1])
			}
			if c.labelAt(cuts, end-1) != label || c.labelAt(cuts, end) == label {
				t.Fatalf("window %+v does not end at %d", label, end)
			}
		}
		if starts[0] > MinTime && !c.labelAt(cuts, starts[0]-1).Before(oldest) {
			t.Fatal("a window before the oldest kept is kept")
		}
	})
}

func TestParseStamp(t *testing.T) {
	for text, want := range map[string]Stamp{"682.0": {682, 0}, "682": {682, 0}, "0.17": {0, 17}} {
		if s, err := ParseStamp(text); err != nil || s != want {
			t.Errorf("ParseStamp(%q) = %v, %v", text, s, err)
		}
	}
	if s := (Stamp{682, 3}); s.String() != "682.3" {
		t.Error(s)
	}
	for _, text := range []string{"", ".", "1.", ".1", "-1.0", "1.2.3", "1e3", " 1.0", "9999999999999999.0", "1.0\r\n"} {
		if s, err := ParseStamp(text); err == nil || !strings.Contains(err.Error(), "number.ordinal") || strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("ParseStamp(%q) = %v, %v", text, s, err)
		}
	}
}

func rotate(t testing.TB, d *Directory, own *Own, now int64) *Own {
	t.Helper()
	v := d.View([]byte("home:42"), own)
	next, ok := v.Rotate(nil, now)
	if !ok {
		t.Fatal("not rotated")
	}
	return &next
}

func searched(d *Directory, own *Own, label Label, now int64) bool {
	v := d.View([]byte("home:42"), own)
	return v.Spans(nil, now)[0].Holds(label)
}

// B047: an item survives the rotation after it, and KEEP - 1 of them, also
// where everything happens in one millisecond.
func TestB047RotateForgetsAfterKeep(t *testing.T) {
	for _, step := range []int64{0, 1, Minute} {
		d := New() // KEEP 3
		now := ms(t, "2026-05-10T12:00:00Z")
		var own *Own
		var labels []Label
		for range 10 {
			v := d.View([]byte("home:42"), own)
			label := v.Current(now)
			if len(labels) > 0 && !labels[len(labels)-1].Before(label) {
				t.Fatalf("step %d: %+v after %+v", step, label, labels)
			}
			labels = append(labels, label)
			for i, label := range labels {
				if got, want := searched(d, own, label, now), i > len(labels)-4; got != want {
					t.Fatalf("step %d: window %d of %d is searched: %v", step, i, len(labels), got)
				}
			}
			own = rotate(t, d, own, now)
			now += step
		}
		if n := len(own.Cuts.Times); n > 3 {
			t.Errorf("%d cuts are kept: %+v", n, own.Cuts)
		}
		v := d.View([]byte("home:42"), own)
		if s := v.Stamp(now); s != (Stamp{676, 10}) {
			t.Errorf("stamp %v", s)
		}
	}
}

// IF makes a retry exact, also long after the first cuts were forgotten.
func TestRotateIf(t *testing.T) {
	d := New()
	now := ms(t, "2026-05-10T12:00:00Z")
	var own *Own
	for i := range int64(20) {
		v := d.View([]byte("home:42"), own)
		stamp := v.Stamp(now)
		if stamp != (Stamp{676, i}) {
			t.Fatalf("stamp %v, want 676.%d", stamp, i)
		}
		next, ok := v.Rotate(&stamp, now)
		if !ok {
			t.Fatal("not rotated")
		}
		own = &next
		v = d.View([]byte("home:42"), own)
		if again, ok := v.Rotate(&stamp, now); ok || len(again.Cuts.Times) != len(next.Cuts.Times) {
			t.Fatal("rotated twice")
		}
		now += Second
	}
	v := d.View([]byte("home:42"), own)
	if s := v.Stamp(ms(t, "2026-06-01T00:00:00Z")); s != (Stamp{677, 0}) {
		t.Errorf("next month: %v", s)
	}
	june := ms(t, "2026-06-01T00:00:00Z")
	own = rotate(t, d, own, june) // on the edge itself
	v = d.View([]byte("home:42"), own)
	if s := v.Stamp(june); s != (Stamp{677, 1}) {
		t.Errorf("next month, rotated: %v", s)
	}
	if l := v.Current(june); l != (Label{677, june + 1}) {
		t.Errorf("rotated on the edge: %+v", l)
	}
}

// A clock that goes back a little does not reopen what was ended; one that was
// far ahead does not hold writes there.
func TestCutsAndClockSetBack(t *testing.T) {
	d := New()
	now := ms(t, "2026-05-10T12:00:00Z")
	own := rotate(t, d, nil, now)
	v := d.View([]byte("home:42"), own)
	if l := v.Current(now - Hour); l != (Label{676, now}) {
		t.Errorf("an hour back: %+v", l)
	}
	if l := v.Current(now - Day - 1); l != (Label{676, 0}) {
		t.Errorf("more than a day back: %+v", l)
	}
	own = rotate(t, d, own, now-30*Day)
	v = d.View([]byte("home:42"), own)
	if l := v.Current(now - 30*Day); l != (Label{675, now - 30*Day}) {
		t.Errorf("rotated a month back: %+v", l)
	}
}

func TestPrefixCuts(t *testing.T) {
	d := New()
	now := ms(t, "2026-05-10T12:00:00Z")
	d, cut, err := d.Rotate("home:", nil, now)
	if err != nil || cut != now {
		t.Fatal(cut, err)
	}
	d, cut, err = d.Rotate("home:", &Stamp{676, 0}, now+5)
	if err != nil || cut != 0 {
		t.Fatal("a retry rotated", cut, err)
	}
	own := rotate(t, d, nil, now)
	if own.Cuts.Times[0] != now+1 {
		t.Errorf("own cut at %d, below the prefix's %d", own.Cuts.Times[0], now)
	}
	d, _, err = d.Rotate("", &Stamp{676, 0}, now+10)
	if err != nil {
		t.Fatal(err)
	}
	v := d.View([]byte("home:42"), own)
	if s := v.Stamp(now + 20); s != (Stamp{676, 3}) {
		t.Errorf("home: %v", s)
	}
	v = d.View([]byte("other"), nil)
	if s := v.Stamp(now + 20); s != (Stamp{676, 1}) {
		t.Errorf("other: %v", s)
	}
	// What held for a key holds for its life, with or without a policy.
	d, _, _ = d.Set("home:", Partial{Given: FieldKeep, Values: Settings{Keep: 5}}, now+30)
	d, _, _ = d.Delete("home:", now+40)
	v = d.View([]byte("home:42"), own)
	if s := v.Stamp(now + 50); s != (Stamp{676, 3}) {
		t.Errorf("after a policy: %v", s)
	}
	d = d.Prune(now+400*Day, func(ClassID) bool { return false })
	if len(d.entries) != 1 || d.cutCount() != 0 {
		t.Errorf("not forgotten: %+v", d.entries)
	}
}
