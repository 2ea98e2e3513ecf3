package storage

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dedupd/filter"
	"dedupd/storage/policy"
)

var hotColdProbes = flag.Int("hotcold.probes", 200_000, "probes of TestHotEqualsCold, over all its runs")

// hotCold is a run of TestHotEqualsCold: keys with items, in several windows
// and slots.
type hotCold struct {
	t      *testing.T
	s      *Store
	tx     *Tx
	keys   []string
	added  [][][]byte // by key
	probes [][][]byte // by key: what was never added
}

// TestHotEqualsCold (R6) asks the same probes of the same stored rows in every
// state they can be in. All must answer alike, false positives included. ERRORs
// are such that narrow tables occur and wide ones; with 32 bits and few items
// false positives are rare, so the fingerprints of some probes are made to
// collide.
func TestHotEqualsCold(t *testing.T) {
	errors := []float64{0, 0.01, 0.0001}
	for _, e := range errors {
		t.Run(fmt.Sprintf("error=%v", e), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { hotEqualsCold(t, e, *hotColdProbes/len(errors)) })
		})
	}
}

const hotColdWindow = 10 * policy.Minute

func hotEqualsCold(t *testing.T, e float64, probes int) {
	o := testOptions()
	defaults := policy.Defaults()
	o.policies = testPolicy(t, policy.Settings{
		Error: e, Keep: 8, Period: every(t, hotColdWindow),
		Delivered: defaults.Delivered, DeliveredTTL: defaults.DeliveredTTL,
	})
	h := &hotCold{t: t}
	h.open(o)
	defer func() { h.s.Close() }()
	sizes := []int{1, 5, 20, 300, 5000}
	for n, size := range sizes {
		for range 3 {
			h.keys = append(h.keys, fmt.Sprintf("key:%d:%d", size, len(h.keys)))
			h.added = append(h.added, numbered(fmt.Sprintf("item%d", n), 0, size))
		}
	}
	for k := range h.keys {
		h.probes = append(h.probes, append(numbered("never", 0, probes/len(h.keys)), h.added[k]...))
	}
	time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + time.Minute)))

	// Four slots; each brings part of the items, to windows of now and before.
	exact := h.ask()
	for slot := range 4 {
		for k := range h.keys {
			for i := slot; i < len(h.added[k]); i += 4 {
				age := int64(i%5) * hotColdWindow
				h.play(h.keys[k], h.added[k][i], age)
			}
			for i := 0; i < len(h.added[k]); i += 17 { // again, in another window
				h.play(h.keys[k], h.added[k][i], int64(slot)*hotColdWindow)
			}
		}
		before := h.ask()
		seal(t, h.s)
		h.same("sealed", before, h.ask(), false)
		if slot == 1 {
			continue // two slots wait at once
		}
		for h.s.Sealed() > 0 {
			storeOldest(t, h.s)
			after := h.ask()
			h.same("staged, then folded", before, after, true)
			before = after
		}
		if slot == 2 {
			evictAll(h.s) // the last one folds into tables that were fetched
			h.same("evicted before the last slot", before, h.ask(), false)
		}
		exact = before
	}
	for k := range h.keys {
		if !isHot(h.s, h.keys[k]) {
			t.Fatalf("%s is not hot: nothing was compared", h.keys[k])
		}
	}
	hot := exact
	h.complete("folded", hot)
	evictAll(h.s)
	if isHot(h.s, h.keys[0]) {
		t.Fatal("not evicted")
	}
	h.same("folded, then fetched", hot, h.ask(), false)
	if err := h.s.cold.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.same("compacted, still hot", hot, h.ask(), false)
	evictAll(h.s)
	h.same("compacted, fetched", hot, h.ask(), false)
	h.collisions(e)
	if err := h.s.Close(); err != nil {
		t.Fatal(err)
	}
	h.open(o)
	h.same("restarted", hot, h.ask(), false)

	// Windows turn: what goes, goes alike.
	time.Sleep(time.Duration(5*hotColdWindow) * time.Millisecond)
	turned := h.ask()
	evictAll(h.s)
	h.same("turned, fetched again", turned, h.ask(), false)
	lost := 0
	for k := range h.keys {
		for i := range turned[k] {
			if !turned[k][i] && hot[k][i] {
				lost++
			}
		}
	}
	if lost == 0 {
		t.Error("no window has turned")
	}
	t.Logf("%d probes of %d keys in each state, %d positive; %d gone with their windows", len(h.probes[0])*len(h.keys), len(h.keys), positives(hot), lost)
}

func (h *hotCold) open(o Options) {
	s, err := Open(context.Background(), o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.s, h.tx = s, s.NewTx()
}

func (h *hotCold) play(key string, item []byte, age int64) {
	h.t.Helper()
	begin(h.t, h.tx, Write, key)
	event := int64(Now)
	if age > 0 {
		event = h.tx.now - age
	}
	if _, err := h.tx.Play([]byte(key), [][]byte{item}, event); err != nil {
		h.t.Fatal(err)
	}
	commit(h.t, h.tx)
}

func (h *hotCold) ask() [][]bool {
	answers := make([][]bool, len(h.keys))
	for k, key := range h.keys {
		answers[k] = exists(h.t, h.tx, key, Played, h.probes[k]...)
	}
	return answers
}

// same compares; from staged to stored, an answer may turn to seen.
func (h *hotCold) same(what string, before, after [][]bool, stored bool) {
	h.t.Helper()
	wrong := 0
	for k := range before {
		for i := range before[k] {
			if before[k][i] == after[k][i] || stored && after[k][i] {
				continue
			}
			if wrong++; wrong < 5 {
				h.t.Errorf("%s: %s %s: %v, then %v", what, h.keys[k], h.probes[k][i], before[k][i], after[k][i])
			}
		}
	}
	if wrong > 0 {
		h.t.Fatalf("%s: %d probes answer otherwise", what, wrong)
	}
}

// complete checks that nothing added is missing.
func (h *hotCold) complete(what string, answers [][]bool) {
	for k := range h.keys {
		for i := len(h.probes[k]) - len(h.added[k]); i < len(h.probes[k]); i++ {
			if !answers[k][i] {
				h.t.Errorf("%s: %s lacks %s", what, h.keys[k], h.probes[k][i])
			}
		}
	}
}

// collisions asks hashes that share the stored width, and less, with an item's:
// the first must be seen, and only the first, by tables that were folded and by
// those that were fetched.
func (h *hotCold) collisions(e float64) {
	h.t.Helper()
	width := filter.OpenWidth(e, 8)
	fresh := numbered("fresh", 0, 200)
	for k, key := range h.keys {
		play(h.t, h.tx, key, fresh...)
		h.added[k] = append(h.added[k], fresh...)
	}
	storeAll(h.t, h.s)
	narrow := 0
	for pass, what := range []string{"folded", "fetched"} {
		if pass == 1 {
			evictAll(h.s)
		}
		for k, key := range h.keys {
			begin(h.t, h.tx, Read, key)
			en := h.tx.find([]byte(key))
			for _, item := range h.added[k] {
				hash := en.hash(item)
				if width < 64 && !en.inTable(hash^1<<(63-width)) {
					h.t.Fatalf("%s, %s: an item that differs behind bit %d is unseen", key, what, width)
				}
				if en.inTable(hash ^ 1<<(64-width)) {
					narrow++
				}
			}
			commit(h.t, h.tx)
		}
	}
	if narrow > 6 { // by chance, of some 30,000, hardly one
		h.t.Fatalf("%d items that differ in bit %d are seen", narrow, width)
	}
}

func positives(answers [][]bool) (n int) {
	for k := range answers {
		for _, seen := range answers[k] {
			if seen {
				n++
			}
		}
	}
	return n
}

// TestStoredHotDoesNotAllocate: checks and adds of a key whose items are all
// stored.
func TestStoredHotDoesNotAllocate(t *testing.T) {
	s := openTest(t, testOptions())
	tx := s.NewTx()
	key, items := []byte("home:42"), numbered("item", 0, 200)
	play(t, tx, string(key), items...)
	storeAll(t, s)
	exists(t, tx, string(key), All, items...)
	commands := map[string]func(){
		"MEXISTS of 200": func() {
			tx.Begin(Read, key)
			tx.Exists(key, items, All)
			tx.Commit()
		},
		"ADD of 200": func() {
			tx.Begin(Write, key)
			tx.Play(key, items, Now)
			tx.Commit()
		},
		"INSERT BLIND of 200": func() {
			tx.Begin(Blind, key)
			tx.PlayBlind(key, items, Now)
			tx.Commit()
		},
		"FILTER of 200": func() {
			tx.Begin(Read, key)
			tx.Filter(key, items, FilterOptions{Layers: All})
			tx.Commit()
		},
	}
	for name, command := range commands {
		if n := testing.AllocsPerRun(2000, command); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}

// TestR7StoredItemIsNotWrittenAgain: an item that the current window's own sets
// have already is not written again, stored or not.
func TestR7StoredItemIsNotWrittenAgain(t *testing.T) {
	s := openTest(t, testOptions())
	tx := s.NewTx()
	items := numbered("item", 0, 200)
	play(t, tx, "u", items...)
	storeAll(t, s)
	before := s.log.End()
	play(t, tx, "u", items...)
	if after := s.log.End(); after != before {
		t.Errorf("adding 200 items that the current window has wrote a record of %d bytes and staged %d", after-before, s.Stats().Staged)
	}
}
