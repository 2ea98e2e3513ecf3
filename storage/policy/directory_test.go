package policy

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func set(t testing.TB, d *Directory, prefix, text string, now int64) *Directory {
	t.Helper()
	next, _, err := d.Set(prefix, mustPartial(t, text), now)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func settingsOf(d *Directory, key string) string {
	v := d.View([]byte(key), nil)
	return v.Settings().String()
}

func TestLongestPrefixWins(t *testing.T) {
	now := ms(t, "2026-05-10T12:00:00Z")
	d := New()
	if got := settingsOf(d, ""); got != "ERROR 0.001 PERIOD month KEEP 3 ZONE UTC DELIVERED 1000 DELIVEREDTTL 10m" {
		t.Error(got)
	}
	d = set(t, d, "home:", "KEEP 5 ERROR 0.01", now)
	d = set(t, d, "home:vip:", "PERIOD day", now)
	d = set(t, d, "", "ZONE +05:30", now)
	for key, want := range map[string]string{
		"":              "ERROR 0.001 PERIOD month KEEP 3 ZONE +05:30 DELIVERED 1000 DELIVEREDTTL 10m",
		"home":          "ERROR 0.001 PERIOD month KEEP 3 ZONE +05:30 DELIVERED 1000 DELIVEREDTTL 10m",
		"home:42":       "ERROR 0.01 PERIOD month KEEP 5 ZONE +05:30 DELIVERED 1000 DELIVEREDTTL 10m",
		"home:w":        "ERROR 0.01 PERIOD month KEEP 5 ZONE +05:30 DELIVERED 1000 DELIVEREDTTL 10m",
		"home:vip:":     "ERROR 0.01 PERIOD day KEEP 5 ZONE +05:30 DELIVERED 1000 DELIVEREDTTL 10m",
		"home:vip:\xff": "ERROR 0.01 PERIOD day KEEP 5 ZONE +05:30 DELIVERED 1000 DELIVEREDTTL 10m",
	} {
		if got := settingsOf(d, key); got != want {
			t.Errorf("%q: %s", key, got)
		}
	}
	if p, ok := d.Get("home:"); !ok || p.Version != 1 || p.From != now+1 || p.Given.String() != "ERROR 0.01 KEEP 5" {
		t.Errorf("%+v %v", p, ok)
	}
	if _, ok := d.Get("home"); ok {
		t.Error("a policy that is not there")
	}
	var list []string
	for _, p := range d.List() {
		list = append(list, fmt.Sprintf("%q %d %s", p.Prefix, p.Version, p.Given))
	}
	if want := []string{`"" 3 ZONE +05:30`, `"home:" 1 ERROR 0.01 KEEP 5`, `"home:vip:" 2 PERIOD day`}; !reflect.DeepEqual(list, want) {
		t.Error(list)
	}
	d, ok, err := d.Delete("home:", now)
	if err != nil || !ok {
		t.Fatal(err)
	}
	if got := settingsOf(d, "home:vip:1"); got != "ERROR 0.001 PERIOD day KEEP 3 ZONE +05:30 DELIVERED 1000 DELIVEREDTTL 10m" {
		t.Error(got)
	}
	if again, ok, err := d.Delete("home:", now); ok || err != nil || again != d {
		t.Error("deleted twice")
	}
}

func TestSetTwiceChangesNothing(t *testing.T) {
	d := set(t, New(), "a", "KEEP 5", 1000)
	if again := set(t, d, "a", "KEEP 5", 2000); again != d {
		t.Error("a new version")
	}
	d = set(t, d, "a", "KEEP 5 ERROR 0.1", 3000)
	if p, _ := d.Get("a"); p.Version != 2 || p.From != 3001 {
		t.Errorf("%+v", p)
	}
	// Only what changes the class is remembered.
	if i, _ := d.find("a"); len(d.entries[i].versions) != 1 {
		t.Errorf("%+v", d.entries[i].versions)
	}
}

func TestErrorFrom(t *testing.T) {
	now := ms(t, "2026-05-10T12:00:00Z")
	d := New()
	for _, test := range []struct {
		text string
		want int64
	}{
		{"ERROR 0.01", ms(t, "2026-06-01T00:00:00Z")},
		{"KEEP 3 ERROR 0.01", 0},
		{"KEEP 4 ERROR 0.01", 0},
		{"KEEP 5 ERROR 0.1", now + 4},
	} {
		next, change, err := d.Set("", mustPartial(t, test.text), now)
		if err != nil || change.ErrorFrom != test.want {
			t.Errorf("%s: %+v, %v", test.text, change, err)
		}
		d = next
	}
}

// The directory against a map of prefixes.
func TestDirectoryAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := New()
		naive := map[string]Partial{}
		now := int64(1_700_000_000_000)
		prefixes := rapid.StringOfN(rapid.RuneFrom([]rune("ab:")), 0, 4, -1)
		for range rapid.IntRange(1, 25).Draw(t, "changes") {
			now += rapid.SampledFrom([]int64{0, 1, Hour, 20 * Day, -Minute}).Draw(t, "step")
			prefix := prefixes.Draw(t, "prefix")
			before := d.AppendBinary(nil)
			was := d
			switch rapid.IntRange(0, 10).Draw(t, "what") {
			case 0, 1, 2, 3, 4:
				given := drawPartial(t)
				next, _, err := d.Set(prefix, given, now)
				if err != nil {
					t.Fatal(err)
				}
				d, naive[prefix] = next, given
			case 5, 6:
				_, had := naive[prefix]
				next, ok, err := d.Delete(prefix, now)
				if err != nil || ok != had {
					t.Fatal(ok, err)
				}
				d = next
				delete(naive, prefix)
			case 7:
				next, _, err := d.Rotate(prefix, nil, now)
				if err != nil {
					t.Fatal(err)
				}
				d = next
			case 8:
				next, own, err := d.Reserve([]byte(prefix), drawPartial(t).only(ReserveFields))
				if err != nil {
					t.Fatal(err)
				}
				d = next
				if own.HasClass && d.Class(own.Class) == nil {
					t.Fatal("reserved without a class")
				}
			case 10:
				d = d.Flushed()
			case 9:
				d = d.Prune(now-rapid.Int64Range(0, 100*Day).Draw(t, "ago"), func(ClassID) bool { return rapid.Bool().Draw(t, "rows") })
			}
			if string(was.AppendBinary(nil)) != string(before) {
				t.Fatal("a snapshot changed")
			}
			decoded, err := Decode(d.AppendBinary(nil))
			if err != nil {
				t.Fatal(err)
			}
			if string(decoded.AppendBinary(nil)) != string(d.AppendBinary(nil)) {
				t.Fatal("not read back as written")
			}
			d = decoded
			for range 5 {
				key := rapid.StringOfN(rapid.RuneFrom([]rune("ab:c")), 0, 6, -1).Draw(t, "key")
				want, longest := Defaults(), ""
				for n := 0; n <= len(key); n++ {
					if given, ok := naive[key[:n]]; ok {
						want, longest = given.over(want), key[:n]
					}
				}
				v := d.View([]byte(key), nil)
				if !v.Settings().equal(want) {
					t.Fatalf("%q has %s, want %s", key, v.Settings(), want)
				}
				if v.Class().key() != keyOf(want) {
					t.Fatalf("%q has class %+v", key, v.Class().key())
				}
				if e := v.Explain(now); e.Prefix != longest {
					t.Fatalf("%q is explained by %q, not %q", key, e.Prefix, longest)
				}
			}
		}
	})
}

func TestReserve(t *testing.T) {
	now := ms(t, "2026-05-10T12:00:00Z")
	d := set(t, New(), "home:", "ZONE +05:30 ERROR 0.01", now)
	key := []byte("home:42")
	d, own, err := d.Reserve(key, mustPartial(t, "KEEP 7 DELIVERED 9"))
	if err != nil {
		t.Fatal(err)
	}
	d = set(t, d, "home:", "PERIOD day ERROR 0.1", now+1)
	v := d.View(key, &own)
	if got := v.Settings().String(); got != "ERROR 0.1 PERIOD month KEEP 7 ZONE +05:30 DELIVERED 9 DELIVEREDTTL 10m" {
		t.Error(got)
	}
	if spans := v.Spans(nil, now+2); len(spans) != 1 || spans[0].Class != v.Class() || spans[0].Class.Keep != 7 {
		t.Errorf("%+v", spans)
	}
	// Its class stays although no policy uses it.
	gone := func(ClassID) bool { return false }
	d = d.Prune(now+9000*Day, gone)
	if d.Class(own.Class) == nil {
		t.Fatal("a reserved class was retired")
	}
	d = d.Unpin(own.Class).Prune(now+9000*Day, gone)
	if d.Class(own.Class) != nil || len(d.Classes()) != 2 {
		t.Errorf("classes %+v", d.Classes())
	}
	// Without PERIOD and KEEP it follows its prefix.
	d, own, err = d.Reserve(key, mustPartial(t, "ERROR 0.5"))
	if err != nil || own.HasClass {
		t.Fatal(own, err)
	}
	d = set(t, d, "", "KEEP 9", now+9000*Day)
	v = d.View(key, &own)
	if got := v.Settings().String(); got != "ERROR 0.5 PERIOD day KEEP 9 ZONE UTC DELIVERED 1000 DELIVEREDTTL 10m" {
		t.Error(got)
	}
	if _, _, err := d.Reserve(key, mustPartial(t, "ZONE UTC")); err == nil {
		t.Error("a zone was reserved")
	}
}

func TestLimits(t *testing.T) {
	now := ms(t, "2026-05-10T12:00:00Z")
	refused := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.HasPrefix(err.Error(), "ERR ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, _, err := New().Set("", Partial{}, now)
	refused("no settings", err, "at least one of")
	_, _, err = New().Set(strings.Repeat("x", MaxPrefixLength+1), mustPartial(t, "KEEP 4"), now)
	refused("long prefix", err, "0 to 1024 bytes")

	d := New()
	for i := 1; ; i++ {
		next, _, err := d.Set(fmt.Sprintf("%02d", i), mustPartial(t, fmt.Sprintf("KEEP %d", i+3)), now)
		if err != nil {
			refused("classes", err, "at most 64")
			if i != MaxClasses {
				t.Errorf("refused at %d", i)
			}
			break
		}
		d = next
	}
	d = New()
	for i := 0; ; i++ {
		next, _, err := d.Set("a", mustPartial(t, fmt.Sprintf("KEEP %d", i%3+4)), now)
		if err != nil {
			refused("versions", err, "at most 64")
			if i != MaxVersions {
				t.Errorf("refused at %d", i)
			}
			break
		}
		d = next
	}
	d = New()
	for i := 1; ; i++ {
		next, _, err := d.Set(strings.Repeat("a", i), mustPartial(t, "ERROR 0.5"), now)
		if err != nil {
			refused("nesting", err, "at most 16")
			if i != MaxNesting {
				t.Errorf("refused at %d", i)
			}
			break
		}
		d = next
	}
	cuts := make([]int64, MaxCuts)
	for i := range cuts {
		cuts[i] = int64(i + 1)
	}
	d = New().edit()
	d.entries[0].cuts = cuts
	_, _, err = d.Rotate("", nil, now)
	refused("cuts", err, "at most 4096")
}

func TestBlocksAndFloors(t *testing.T) {
	for keep, perBlock := range map[int64]int64{1: 1, 3: 1, 6: 1, 7: 2, 12: 2, 30: 5, 1000: 167} {
		c := newClass(0, Settings{Period: Daily, Keep: keep})
		if c.PerBlock() != perBlock {
			t.Errorf("KEEP %d has blocks of %d", keep, c.PerBlock())
		}
		for _, n := range []int64{0, 1, 100, 20_000, c.Last()} {
			b := c.Block(n)
			if first, last := c.FirstWindow(b), c.LastWindow(b); n < first || n > last || last-first+1 != perBlock {
				t.Errorf("KEEP %d: window %d in block %d of %d to %d", keep, n, b, first, last)
			}
		}
		// A key's kept windows lie in at most seven blocks.
		for n := int64(20_000); n < 20_400; n++ {
			if blocks := c.Block(n) - c.Block(n-keep+1) + 1; blocks > 7 {
				t.Fatalf("KEEP %d at %d: %d blocks", keep, n, blocks)
			}
		}
	}
	c := newClass(0, Settings{Period: Daily, Keep: 30})
	b := c.Block(20_000) // windows 20,000 to 20,004
	if c.BlockStart(b) != 20_000*Day || c.BlockEnd(b) != 20_005*Day || c.DropDue(b) != 20_034*Day {
		t.Errorf("block from %d to %d, dropped at %d", c.BlockStart(b)/Day, c.BlockEnd(b)/Day, c.DropDue(b)/Day)
	}
	if due := c.SealDue(b, 0); due != 20_006*Day {
		t.Errorf("sealed at %d", due)
	}
	if due := c.SealDue(b, 20_007*Day); due != 20_008*Day {
		t.Errorf("sealed at %d", due)
	}
	for _, at := range []int64{c.DropDue(b) - 1, c.DropDue(b), c.DropDue(b) + 1} {
		if dropped := c.FirstKeptBlock(at) > b; dropped != (at >= c.DropDue(b)) {
			t.Errorf("B049: at %d dropped is %v", at-c.DropDue(b), dropped)
		}
	}
	for _, n := range []int64{-1 << 63, 1<<63 - 1} {
		if c.DropDue(n) < MinTime || n > 0 && (c.DropDue(n) != MaxTime || c.LifeEnd(n) != MaxTime) {
			t.Errorf("block %d is dropped at %d", n, c.DropDue(n))
		}
	}

	d := New()
	now := ms(t, "2026-05-10T12:00:00Z")
	d = d.RaiseFloor(0, 675)
	if d.RaiseFloor(0, 670) != d || d.Class(0).Floor != 675 {
		t.Error("a floor went down")
	}
	v := d.View([]byte("x"), nil)
	if s := v.Spans(nil, now); s[0].From != (Label{675, 0}) {
		t.Errorf("searched from %+v", s[0].From)
	}
	if _, err := v.Decide(ms(t, "2026-03-31T23:59:59.999Z"), now); err == nil {
		t.Error("written below the floor")
	}
	// A clock far behind does not write where it would be discarded.
	if l := v.Current(now - 300*Day); l != (Label{675, 0}) {
		t.Errorf("current %+v", l)
	}
	if again, err := Decode(d.AppendBinary(nil)); err != nil || again.Class(0).Floor != 675 {
		t.Error("a floor was not stored", err)
	}
}

func TestLookUpAllocatesNothing(t *testing.T) {
	now := ms(t, "2026-05-10T12:00:00Z")
	d := New()
	for i := range 50 {
		d = set(t, d, fmt.Sprintf("surface%d:", i), "KEEP 5 ZONE Europe/Berlin", now)
	}
	d = set(t, d, "surface7:", "PERIOD day KEEP 30", now+Day)
	d, _, _ = d.Rotate("surface", nil, now+Day)
	key := []byte("surface7:123456")
	own := Own{Cuts: Cuts{Times: []int64{now + 1, now + 2}}}
	var room [8]Span
	if n := testing.AllocsPerRun(100, func() {
		v := d.View(key, &own)
		spans := v.Spans(room[:0], now+2*Day)
		if len(spans) != 3 || !spans[0].Holds(v.Current(now+2*Day)) || v.Until(now) == 0 {
			t.Fatal(spans)
		}
		if _, err := v.Decide(now, now+2*Day); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkView(b *testing.B) {
	now := ms(b, "2026-05-10T12:00:00Z")
	d := New()
	for i := range 100 {
		d = set(b, d, fmt.Sprintf("surface%d:", i), "KEEP 5", 1)
	}
	d = d.Prune(now, func(ClassID) bool { return false })
	key := []byte("surface77:123456")
	b.Run("View", func(b *testing.B) {
		for b.Loop() {
			v := d.View(key, nil)
			_ = v.Class()
		}
	})
	b.Run("ViewAndSpans", func(b *testing.B) {
		var room [8]Span
		for b.Loop() {
			v := d.View(key, nil)
			if len(v.Spans(room[:0], now)) != 1 || v.Current(now).Number == 0 {
				b.Fatal()
			}
		}
	})
}
