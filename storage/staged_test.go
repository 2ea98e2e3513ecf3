package storage

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"dedupd/filter"
	"dedupd/storage/policy"
)

// TestStagedAgainstMap adds and probes hashes, many of them close
// together so that runs collide and wrap around, against a map.
func TestStagedAgainstMap(t *testing.T) {
	for _, spread := range []uint64{^uint64(0), 1 << 40, 64} {
		var used atomic.Int64
		a := newArena(&used)
		rng := rand.New(rand.NewPCG(3, spread))
		draw := func() uint64 {
			h := ^uint64(0) - rng.Uint64N(spread)
			return max(h, 1)
		}
		w := window{class: 3, part: filter.Late, label: policy.Label{Number: 1 << 40, Cut: 5}}
		r := newStaged(&a, 7, w, stagedMinWords, 0)
		want := map[uint64]bool{}
		for i := range 100_000 {
			h := draw()
			if !want[h] && len(want) < 3000 {
				set := a.words(r)
				if stagedFull(stagedCount(set), len(set)-stagedHeader) {
					r = stagedGrow(&a, r)
				}
				stagedPut(a.words(r), h)
				want[h] = true
			}
			probe := draw()
			if got := stagedHas(a.words(r), probe); got != want[probe] {
				t.Fatalf("spread %d, step %d: has(%x) = %v, want %v", spread, i, probe, got, want[probe])
			}
			if got := stagedCount(a.words(r)); got != len(want) {
				t.Fatalf("spread %d, step %d: count = %d, want %d", spread, i, got, len(want))
			}
		}
		if set := a.words(r); stagedSlot(set) != 7 || stagedWindow(set) != w || !stagedOf(set, w) {
			t.Errorf("slot or window were lost: %d, %+v", stagedSlot(set), stagedWindow(set))
		}
	}
}

// TestSmallSetsAreSmall holds the size of the most frequent state there is: a
// key whose only state is an open slot with five items.
func TestSmallSetsAreSmall(t *testing.T) {
	s := openTest(t, testOptions())
	before := s.used.Load()
	const keys = 200_000
	tx := s.NewTx()
	var key [8]byte
	items := [][]byte{[]byte("a"), []byte("b"), []byte("c"), []byte("d"), []byte("e")}
	for i := range keys {
		putUint64(key[:], uint64(i))
		play(t, tx, string(key[:]), items...)
	}
	perKey := float64(s.used.Load()-before) / keys
	t.Logf("%.0f B a key", perKey)
	if perKey > 200 {
		t.Errorf("a key with 5 items takes %.0f B, want at most 200", perKey)
	}
}
