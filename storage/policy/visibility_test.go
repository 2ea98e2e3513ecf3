package policy

import (
	"testing"

	"pgregory.net/rapid"
)

// A held is a version in the naive model of R10: it knows when it held.
type held struct {
	class       classKey
	calendar    *Calendar
	keep        int64
	from, until int64
	cuts        []int64 // that were remembered when it began, and all later ones
}

// An item in the model: its window, and the version that wrote it.
type item struct {
	version int
	label   Label
	hidden  bool // for good
}

type visibilityModel struct {
	versions []held
	items    []item
}

func (m *visibilityModel) cut(cut int64) {
	for i := range m.versions {
		m.versions[i].cuts = insertCut(m.versions[i].cuts, cut)
	}
}

// oldest is the start of the oldest window that a version keeps.
func (m *visibilityModel) oldest(i int, at int64) int64 {
	v := m.versions[i]
	return naiveStarts(v.calendar, v.keep, v.cuts, at)[0]
}

// hide applies R10 to every item, as it reads.
func (m *visibilityModel) hide(now int64) {
	for i := range m.items {
		it := &m.items[i]
		wrote := m.versions[it.version]
		start := wrote.calendar.startOf(it.label)
		end := wrote.calendar.endOf(cutsOf{own: wrote.cuts}, it.label)
		if start < m.oldest(it.version, now) {
			it.hidden = true
		}
		for j := it.version + 1; j < len(m.versions); j++ {
			if m.oldest(j, min(now, m.versions[j].until-1)) >= end {
				it.hidden = true
			}
		}
	}
}

var shapes = []string{"PERIOD hour KEEP 4", "PERIOD hour KEEP 24", "PERIOD day KEEP 1", "PERIOD day KEEP 3", "PERIOD 7h KEEP 2", "PERIOD week KEEP 2", "PERIOD day KEEP 3 ZONE +05:30"}

// What is searched is what R10 says, under random changes of policies, cuts,
// event times, prunes and restarts; what was hidden never comes back.
func TestVisibilityAgainstNaive(t *testing.T) {
	for range 10 { // what it looks for is rare
		rapid.Check(t, checkVisibility)
	}
}

func checkVisibility(t *rapid.T) {
	now := int64(1_700_000_000_000)
	d := New()
	own := Own{}
	m := visibilityModel{}
	key := []byte("home:42")
	change := func(prefix, shape string) {
		given, err := ParseWords(words(shape), AllFields)
		if err != nil {
			t.Fatal(err)
		}
		next, c, err := d.Set(prefix, given, now)
		if err != nil {
			t.Fatal(err)
		}
		d = next
		v := d.View(key, &own)
		if n := len(m.versions); n > 0 {
			if m.versions[n-1].class == v.Class().key() {
				return
			}
			m.versions[n-1].until = c.From
		}
		m.versions = append(m.versions, held{v.Class().key(), v.Class().Calendar, v.Class().Keep, c.From, MaxTime, mergeCuts(v.cuts.shared, v.cuts.own)})
	}
	change("", rapid.SampledFrom(shapes).Draw(t, "first"))
	d.horizon = now + 1 // the defaults before it wrote nothing
	if err := d.build(false); err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		now += rapid.SampledFrom([]int64{2, Minute, Hour, 5 * Hour, Day, 3 * Day}).Draw(t, "step")
		m.hide(now)
		v := d.View(key, &own)
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0, 1, 2:
			m.items = append(m.items, item{version: len(m.versions) - 1, label: v.Current(now)})
		case 3, 4, 5:
			event := now - rapid.Int64Range(-Day, 5*Day).Draw(t, "ago")
			checkDecide(t, &v, &m, event, now)
		case 6:
			change(rapid.SampledFrom([]string{"", "home:"}).Draw(t, "prefix"), rapid.SampledFrom(shapes).Draw(t, "shape"))
		case 7:
			next, ok := v.Rotate(nil, now)
			if !ok {
				t.Fatal("not rotated")
			}
			cut := next.Cuts.Times[len(next.Cuts.Times)-1]
			own = next
			m.cut(cut)
		case 8:
			next, cut, err := d.Rotate(rapid.SampledFrom([]string{"", "home:", "home:4"}).Draw(t, "prefix"), nil, now)
			if err != nil {
				t.Fatal(err)
			}
			d = next
			m.cut(cut)
		case 9:
			d = d.Prune(now, func(ClassID) bool { return false })
			decoded, err := Decode(d.AppendBinary(nil))
			if err != nil {
				t.Fatal(err)
			}
			d = decoded
			if own, err = DecodeOwn(AppendOwn(nil, own)); err != nil {
				t.Fatal(err)
			}
		}
		now++
		m.hide(now)
		v = d.View(key, &own)
		checkSearched(t, &v, &m, now)
		// Until keeps its word.
		until := v.Until(now)
		spans, current := v.Spans(nil, now), v.Current(now)
		for _, at := range []int64{now + (until-now)/2, until - 1} {
			later := v.Spans(nil, at)
			if v.Current(at) != current || len(later) != len(spans) {
				t.Fatalf("changed at %d, before %d", at, until)
			}
			for i := range later {
				if later[i] != spans[i] {
					t.Fatalf("span %d changed at %d, before %d", i, at, until)
				}
			}
		}
	}
}

func checkDecide(t *rapid.T, v *View, m *visibilityModel, event, now int64) {
	decision, err := v.Decide(event, now)
	it := item{version: len(m.versions) - 1}
	if err == nil {
		it.label = decision.Label
		if decision.Timing == Late != (decision.Label.Before(v.Current(now))) {
			t.Fatalf("%+v is not late", decision)
		}
		m.items = append(m.items, it)
		return
	}
	// Refused: too old, or hidden once by a version since its class began.
	first := it.version
	for i := range m.versions {
		if m.versions[i].class == m.versions[it.version].class {
			first = min(first, i)
		}
	}
	only := visibilityModel{versions: m.versions}
	it.version = first
	it.label = m.versions[first].calendar.labelAt(cutsOf{own: m.versions[first].cuts}, event)
	only.items = []item{it}
	if only.hide(now); !only.items[0].hidden {
		t.Fatalf("refused although kept: %v", err)
	}
}

func checkSearched(t *rapid.T, v *View, m *visibilityModel, now int64) {
	spans := v.Spans(nil, now)
	if !spans[0].Holds(v.Current(now)) || spans[0].Class != v.Class() {
		t.Fatal("the open window is not searched")
	}
	for _, it := range m.items {
		searched := false
		for _, s := range spans {
			if s.Class.key() == m.versions[it.version].class && s.Holds(it.label) {
				searched = true
			}
		}
		if searched == it.hidden {
			t.Fatalf("at %d: %+v of %+v is searched: %v; spans %+v", now, it, m.versions[it.version], searched, spans)
		}
	}
}

// B048: an item lives between KEEP - 1 and KEEP periods, and B049: to the
// millisecond.
func TestB048Life(t *testing.T) {
	for _, test := range []struct{ policy, start, end, life string }{
		{"PERIOD day KEEP 3", "2026-05-10T00:00:00Z", "2026-05-11T00:00:00Z", "2026-05-13T00:00:00Z"},
		{"PERIOD day KEEP 1", "2026-05-10T00:00:00Z", "2026-05-11T00:00:00Z", "2026-05-11T00:00:00Z"},
		{"PERIOD month KEEP 2", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"},
		{"PERIOD hour KEEP 3 ZONE America/New_York", "2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z", "2026-11-01T08:00:00Z"},
		{"PERIOD day KEEP 2 ZONE America/New_York", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z", "2026-11-03T05:00:00Z"},
		{"PERIOD 36h KEEP 2", "2026-10-31T00:00:00Z", "2026-11-01T12:00:00Z", "2026-11-03T00:00:00Z"},
	} {
		d := set(t, New(), "", test.policy, 1)
		v := d.View([]byte("u"), nil)
		start, end, life := ms(t, test.start), ms(t, test.end), ms(t, test.life)
		label := v.Current(start)
		for _, at := range []int64{start, (start + end) / 2, end - 1} {
			if got := v.Current(at); got != label {
				t.Errorf("%s: at %d labelled %+v", test.policy, at, got)
			}
		}
		for _, at := range []int64{start - 1, end} {
			if v.Current(at) == label {
				t.Errorf("%s: B049 at %d", test.policy, at)
			}
		}
		for at, want := range map[int64]bool{start: true, end - 1: true, life - 1: true, life: false, life + 1: false} {
			if got := v.Spans(nil, at)[0].Holds(label); got != want {
				t.Errorf("%s: searched %d ms after its life: %v", test.policy, at-life, got)
			}
		}
		if got := v.Class().LifeEnd(label.Number); got != life {
			t.Errorf("%s: life ends at %d, not %d", test.policy, got, life)
		}
	}
}

// B053: a policy holds from the next command on, both ways; what was written
// before keeps a defined life.
func TestB053PolicyChange(t *testing.T) {
	now := ms(t, "2026-05-10T12:00:00Z")
	d := New() // month, KEEP 3
	v := d.View([]byte("u"), nil)
	month := v.Current(now)
	d = set(t, d, "", "PERIOD 10s KEEP 3", now)
	v = d.View([]byte("u"), nil)
	if v.Class().Period().String() != "10s" {
		t.Error(v.Class().Period())
	}
	holds := func(at int64) bool {
		for _, s := range v.Spans(nil, at) {
			if s.Class.Period() == Monthly && s.Holds(month) {
				return true
			}
		}
		return false
	}
	end := ms(t, "2026-06-01T00:00:00Z")
	for at, want := range map[int64]bool{now: true, end: true, end + 20*Second - 1: true, end + 20*Second: false} {
		if holds(at) != want {
			t.Errorf("%d ms after its end: %v", at-end, !want)
		}
	}
	d = set(t, d, "", "PERIOD hour KEEP 3", end+Minute)
	v = d.View([]byte("u"), nil)
	if holds(end + Hour) {
		t.Error("a hidden window came back")
	}
	d = set(t, d, "", "PERIOD month KEEP 3", end+2*Hour)
	v = d.View([]byte("u"), nil)
	if holds(end + 3*Hour) {
		t.Error("a hidden window came back with its class")
	}
	if l := v.Current(end + 3*Hour); l.Number != month.Number+1 {
		t.Error(l)
	}
	if _, err := v.Decide(now, end+3*Hour); err == nil {
		t.Error("a write to a hidden window")
	}
}

// More windows can be filled from the past at once.
func TestBackfillAfterKeepGrows(t *testing.T) {
	now := ms(t, "2026-05-10T12:00:00Z")
	d := set(t, New(), "", "KEEP 12", now)
	v := d.View([]byte("u"), nil)
	if dec, err := v.Decide(ms(t, "2025-06-01T00:00:00Z"), now+1); err != nil || dec.Timing != Late {
		t.Error(dec, err)
	}
}

// B056 and B067: numbers come from the time alone, so that a restart after any
// absence finds the same windows, and each of the last KEEP is searched.
func TestB056AbsoluteNumbers(t *testing.T) {
	d := set(t, New(), "", "PERIOD day KEEP 4", 1)
	start := ms(t, "2026-12-20T00:00:00Z")
	var labels []Label
	for day := range int64(20) {
		d, err := Decode(d.AppendBinary(nil))
		if err != nil {
			t.Fatal(err)
		}
		v := d.View([]byte("u"), nil)
		labels = append(labels, v.Current(start+day*Day))
		for i, label := range labels {
			if got, want := v.Spans(nil, start+day*Day)[0].Holds(label), int64(i) > day-4; got != want {
				t.Errorf("B067: day %d is searched on day %d: %v", i, day, got)
			}
		}
	}
}

// A version hides while it is the newest, not after it was replaced.
func TestShortMistakeHidesLittle(t *testing.T) {
	now := ms(t, "2026-05-10T12:00:00Z")
	d := set(t, New(), "", "PERIOD day KEEP 5", 1)
	v := d.View([]byte("u"), nil)
	older, today := v.Current(now-Day), v.Current(now)
	d = set(t, d, "", "PERIOD hour KEEP 2", now)
	d = set(t, d, "", "PERIOD week KEEP 5", now+5*Minute)
	v = d.View([]byte("u"), nil)
	for _, at := range []int64{now + Hour, now + 3*Day} {
		for _, s := range v.Spans(nil, at) {
			if s.Class.Period() == Daily && (s.Holds(older) || !s.Holds(today)) {
				t.Errorf("searched from %+v", s.From)
			}
		}
	}
}

// A cut that ended the life of an older class's windows is not forgotten as
// long as they would come back without it.
func TestRotateKeepsCutsOfOlderClasses(t *testing.T) {
	now := ms(t, "2023-11-27T06:00:00Z") // a Monday: week 2813 has begun
	d := set(t, New(), "", "PERIOD week KEEP 2", 1)
	v := d.View([]byte("home:42"), nil)
	week := v.Current(now)
	d = set(t, d, "", "PERIOD hour KEEP 24", now+5*Hour)
	own := rotate(t, d, nil, now+30*Hour)
	own = rotate(t, d, own, now+5*Day)
	for _, at := range []int64{now + 5*Day + 1, now + 8*Day} {
		v = d.View([]byte("home:42"), own)
		for _, s := range v.Spans(nil, at) {
			if s.Class.Period() == Weekly && s.Holds(week) {
				t.Errorf("%+v is searched again: %+v, cuts %+v", week, s.From, own.Cuts)
			}
		}
		own = rotate(t, d, own, at)
	}
}

func TestPruneForgetsHistory(t *testing.T) {
	now := ms(t, "2026-05-10T12:00:00Z")
	d := set(t, New(), "", "PERIOD day KEEP 3", now)
	d = set(t, d, "a", "KEEP 4", now)
	d = set(t, d, "", "PERIOD day KEEP 2", now+Hour)
	none := func(ClassID) bool { return false }
	early := d.Prune(now+2*Day, none)
	if len(early.Classes()) != len(d.Classes()) {
		t.Error("pruned what still lives")
	}
	v := d.View([]byte("x"), nil)
	w := early.View([]byte("x"), nil)
	if len(v.Spans(nil, now+2*Day)) != 3 || len(w.Spans(nil, now+2*Day)) != 3 {
		t.Error("not all classes are searched")
	}
	late := now + 200*Day
	if kept := d.Prune(late, func(id ClassID) bool { return id == 1 }); kept.Class(1) == nil || kept.Class(0) != nil {
		t.Errorf("classes %+v", kept.Classes())
	}
	d = d.Prune(late, none)
	if len(d.Classes()) != 2 {
		t.Errorf("%d classes", len(d.Classes()))
	}
	for i := range d.rules {
		if n := len(d.rules[i].epochs); n != 1 {
			t.Errorf("%q has %d epochs", d.rules[i].prefix, n)
		}
	}
	// The ids that are free again are used again.
	d = set(t, d, "b", "KEEP 9", late)
	if d.Class(0) == nil || d.Class(0).Keep != 9 {
		t.Errorf("classes %+v", d.Classes())
	}
}

// Ordinals do not go back when cuts are forgotten.
func TestPruneKeepsOrdinals(t *testing.T) {
	now := ms(t, "2026-05-10T12:00:00Z")
	d := set(t, New(), "", "PERIOD month KEEP 1", 1)
	for i := range int64(5) {
		d, _, _ = d.Rotate("", nil, now+i)
	}
	d = d.Prune(now+Hour, func(ClassID) bool { return false })
	v := d.View([]byte("x"), nil)
	if s := v.Stamp(now + Hour); s.Ordinal != 5 {
		t.Errorf("stamp %v", s)
	}
	d = d.Prune(now+40*Day, func(ClassID) bool { return false })
	if n := d.cutCount(); n != 0 {
		t.Errorf("%d cuts", n)
	}
}

// A prefix's cut at the edge of another calendar starts nothing there.
func TestCutOnAnEdge(t *testing.T) {
	edge := ms(t, "2026-05-10T00:00:00Z")
	d := set(t, New(), "day:", "PERIOD day KEEP 2", 1)
	d, cut, _ := d.Rotate("", nil, edge) // no edge of the prefix's own months
	v := d.View([]byte("day:1"), nil)
	if l := v.Current(edge + 1); cut != edge || l.Cut != 0 {
		t.Errorf("cut at the edge + %d: %+v", cut-edge, l)
	}
	if s := v.Stamp(edge + 1); s.Ordinal != 0 {
		t.Error(s)
	}
}

func TestFlushed(t *testing.T) {
	now := ms(t, "2026-05-10T12:00:00Z")
	d := set(t, New(), "", "PERIOD day KEEP 3", now)
	d = set(t, d, "a", "KEEP 4", now)
	d = set(t, d, "b", "KEEP 5", now)
	d, _, _ = d.Delete("b", now)
	d, _, _ = d.Rotate("a", nil, now)
	d, own, _ := d.Reserve([]byte("x"), mustPartial(t, "PERIOD week"))
	d = d.RaiseFloor(1, 20_000).Flushed()
	for _, key := range []string{"", "a1", "b1"} {
		v := d.View([]byte(key), nil)
		if spans := v.Spans(nil, now+Hour); len(spans) != 1 || v.Stamp(now+Hour).Ordinal != 0 {
			t.Errorf("%q: %+v", key, spans)
		}
	}
	if settingsOf(d, "a1") != "ERROR 0.001 PERIOD day KEEP 4 ZONE UTC DELIVERED 1000 DELIVEREDTTL 10m" || len(d.List()) != 2 {
		t.Error(settingsOf(d, "a1"), d.List())
	}
	if d.Class(own.Class).Pinned || d.Class(1).Floor != 20_000 {
		t.Errorf("%+v", d.Classes())
	}
	if _, err := Decode(d.AppendBinary(nil)); err != nil {
		t.Error(err)
	}
	d = set(t, d, "", "PERIOD hour KEEP 3", now+Hour)
	v := d.View([]byte("a1"), nil)
	if spans := v.Spans(nil, now+2*Hour); len(spans) != 2 {
		t.Errorf("%+v", spans)
	}
}
