package filter

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// anyContains is what a table must answer: the sets, asked in place.
func anyContains(sets []Set, hash uint64) bool {
	for i := range sets {
		if sets[i].Contains(hash) {
			return true
		}
	}
	return false
}

// buildTable builds a table of the sets in a block of n bytes of garbage.
func buildTable(t testing.TB, sets []Set, bytes int) []byte {
	t.Helper()
	block := slices.Repeat([]byte{0xA5}, bytes)
	if err := BuildTable(block, sets); err != nil {
		t.Fatalf("BuildTable in %d bytes: %v", bytes, err)
	}
	return block
}

// TestTableModel: a table of sets of mixed widths, built and added to, answers
// as the sets do for every hash.
func TestTableModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var sets []Set
		var probes []uint64
		for range rapid.IntRange(0, 5).Draw(rt, "windows") {
			hashes := hashesGen(60).Draw(rt, "hashes")
			width := widthGen().Draw(rt, "width")
			if rapid.Bool().Draw(rt, "narrow") {
				width = min(width, 32)
			}
			sets = append(sets, setOf(t, width, hashes))
			probes = append(probes, hashes...)
		}
		probes = append(probes, randomHashes(3, 200)...)
		block := buildTable(t, sets, TableSizeOf(sets)+rapid.IntRange(0, 200).Draw(rt, "room"))
		check := func() {
			table := OpenTable(block)
			for _, h := range probes {
				for _, near := range []uint64{h, h + 1, h - 1, h ^ 1<<31, h ^ 1<<32, h ^ 1<<63, h ^ 1<<50, ^h} {
					if got := table.Contains(near); got != anyContains(sets, near) {
						rt.Fatalf("Contains(%#x) = %v", near, got)
					}
				}
			}
		}
		check()
		for _, h := range hashesGen(60).Draw(rt, "added") {
			width := widthGen().Draw(rt, "width added")
			if !AddTable(block, h, width) {
				break
			}
			sets = append(sets, setOf(t, width, []uint64{h}))
			probes = append(probes, h)
		}
		check()
		old := OpenTable(block)
		grown := make([]byte, TableSize(old.Len(), true)+rapid.IntRange(0, 200).Draw(rt, "room grown"))
		if err := GrowTable(grown, block, rapid.Bool().Draw(rt, "wide")); err != nil {
			rt.Fatal(err)
		}
		block = grown
		check()
	})
}

// TestTableLikeSets asks a million hashes of the table and of the sets: the
// windows of a key after some months, at a large ERROR so that there is
// something to agree on.
func TestTableLikeSets(t *testing.T) {
	for _, e := range []float64{0.3, 0.05, 0.001} {
		var sets []Set
		for i, n := range []int{1, 5, 40, 300, 2000, 20, 700} {
			s := setOf(t, 32, randomHashes(uint64(i), n))
			if i < 5 {
				s = setOf(t, SealedWidth(n, Share(e, 7)), mustHashes(t, s))
			}
			sets = append(sets, s)
		}
		table := OpenTable(buildTable(t, sets, TableSizeOf(sets)))
		positive := 0
		for _, h := range randomHashes(99, 1_000_000) {
			got := table.Contains(h)
			if got != anyContains(sets, h) {
				t.Fatalf("ERROR %v: Contains(%#x) = %v", e, h, got)
			}
			if got {
				positive++
			}
		}
		t.Logf("ERROR %v: FPR %.6f, hot and cold alike", e, float64(positive)/1e6)
	}
}

// TestTableGrows: adding to a table goes on until it is full, refuses then,
// and has lost nothing.
func TestTableGrows(t *testing.T) {
	for _, width := range []int{32, 64} {
		start := setOf(t, width, randomHashes(1, 100))
		sets := []Set{start}
		block := buildTable(t, sets, TableSize(300, width == 64))
		added := randomHashes(2, 1000)
		n := 0
		for n < len(added) && AddTable(block, added[n], width) {
			n++
		}
		if n < 150 || n > 300 {
			t.Fatalf("width %d: %d entries added to room for 200", width, n)
		}
		sets = append(sets, setOf(t, width, added[:n]))
		table := OpenTable(block)
		for _, h := range append(mustHashes(t, start), append(added, randomHashes(3, 100_000)...)...) {
			if want := anyContains(sets, h); want && !table.Contains(h) {
				t.Fatalf("width %d: false negative for %#x", width, h)
			}
		}
	}
}

func TestTableRefuses(t *testing.T) {
	set := setOf(t, 32, randomHashes(1, 100))
	for _, size := range []int{0, 15, 16, 17, 100, 400} {
		if err := BuildTable(make([]byte, size), []Set{set}); !errors.Is(err, ErrTableFull) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	block := buildTable(t, []Set{set}, TableSize(200, false))
	if AddTable(block, 1, 33) {
		t.Error("a wide fingerprint in a narrow table")
	}
	if err := GrowTable(make([]byte, TableSize(60, false)), block, false); !errors.Is(err, ErrTableFull) {
		t.Errorf("100 entries into room for 60: %v", err)
	}
}

// TestEmptyTable: a table of nothing answers no, and takes entries.
func TestEmptyTable(t *testing.T) {
	block := buildTable(t, nil, TableSize(10, false))
	table := OpenTable(block)
	for _, h := range []uint64{0, 1, 1 << 63, 1<<64 - 1} {
		if table.Contains(h) {
			t.Fatalf("Contains(%#x)", h)
		}
	}
	if !AddTable(block, 1<<63, 32) || !table.Contains(1<<63) || table.Contains(1<<62) {
		t.Fatal("after an add")
	}
	exact := make([]byte, TableSize(10, true))
	if err := GrowTable(exact, block, true); err != nil || !AddTable(exact, 5, 64) {
		t.Fatal("wide fingerprint in a wide table:", err)
	}
	table = OpenTable(exact)
	if !table.Contains(5) || table.Contains(4) || !table.Contains(1<<63|1<<31) {
		t.Fatal("wide table of a narrow fingerprint and a wide one")
	}
}
