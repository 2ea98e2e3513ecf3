package filter

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// union is the union of sets by a fresh Merger.
func union(t testing.TB, sets ...Set) Set {
	t.Helper()
	b, err := new(Merger).Union(nil, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return mustParse(t, b)
}

// setGen draws sets of mixed widths.
func setGen(t testing.TB) *rapid.Generator[Set] {
	return rapid.Custom(func(rt *rapid.T) Set {
		return setOf(t, widthGen().Draw(rt, "width"), hashesGen(40).Draw(rt, "hashes"))
	})
}

// TestUnionModel: a union is that of the maps, cut to the narrowest width, and
// its bytes are those of the set built at once; in any order and grouping.
func TestUnionModel(t *testing.T) {
	var m Merger
	rapid.Check(t, func(rt *rapid.T) {
		sets := rapid.SliceOfN(setGen(t), 0, 8).Draw(rt, "sets")
		width := MaxWidth
		var all []uint64
		for _, s := range sets {
			width = min(width, s.Width())
			all = append(all, mustHashes(t, s)...)
		}
		want := setOf(t, width, all).Bytes()

		got, err := m.Union([]byte("kept"), sets...)
		if err != nil || !bytes.Equal(got, append([]byte("kept"), want...)) {
			rt.Fatalf("union %x, want %x, %v", got, want, err)
		}
		perm := rapid.Permutation(sets).Draw(rt, "order")
		if got := union(t, perm...); !bytes.Equal(got.Bytes(), want) {
			rt.Fatal("not commutative")
		}
		split := rapid.IntRange(0, len(sets)).Draw(rt, "split")
		if got := union(t, union(t, sets[:split]...), union(t, sets[split:]...)); !bytes.Equal(got.Bytes(), want) {
			rt.Fatal("not associative")
		}
		if got := union(t, append(slices.Clone(sets), sets...)...); !bytes.Equal(got.Bytes(), want) {
			rt.Fatal("not idempotent")
		}
		merged := mustParse(t, want)
		for _, h := range all {
			if !merged.Contains(h) {
				rt.Fatalf("false negative for %#x", h)
			}
		}
	})
}

// TestNarrowModel: narrowing cuts, never widens, loses nothing, and commutes
// with the union.
func TestNarrowModel(t *testing.T) {
	var m Merger
	rapid.Check(t, func(rt *rapid.T) {
		s, other := setGen(t).Draw(rt, "set"), setGen(t).Draw(rt, "other")
		width := widthGen().Draw(rt, "width")
		narrow := func(s Set) Set {
			b, err := m.Narrow(nil, s, width)
			if err != nil {
				rt.Fatal(err)
			}
			return mustParse(t, b)
		}
		got := narrow(s)
		if want := setOf(t, min(width, s.Width()), mustHashes(t, s)); !bytes.Equal(got.Bytes(), want.Bytes()) {
			rt.Fatalf("%x, want %x", got.Bytes(), want.Bytes())
		}
		for _, h := range mustHashes(t, s) {
			if !got.Contains(h) {
				rt.Fatalf("false negative for %#x", h)
			}
		}
		if a, b := narrow(union(t, s, other)), union(t, got, narrow(other)); !bytes.Equal(a.Bytes(), b.Bytes()) {
			rt.Fatal("narrowing a union is not the union of the narrowed")
		}
	})
}

// TestMergeDamaged: a damaged set is an error, and dst comes back as it was.
func TestMergeDamaged(t *testing.T) {
	good := setOf(t, 32, randomHashes(1, 500))
	bad := slices.Clone(good.Bytes())
	bad[good.bits] = ^bad[good.bits] >> 1 // the unary part now has another number of ones
	s := mustParse(t, bad)
	dst := []byte("kept")
	if got, err := new(Merger).Union(dst, good, s); !errors.Is(err, ErrDamaged) || string(got) != "kept" {
		t.Errorf("Union: %d bytes, %v", len(got), err)
	}
	if got, err := new(Merger).Narrow(dst, s, 10); !errors.Is(err, ErrDamaged) || string(got) != "kept" {
		t.Errorf("Narrow: %d bytes, %v", len(got), err)
	}
	block := make([]byte, TableSizeOf([]Set{s}))
	if err := BuildTable(block, []Set{s}); !errors.Is(err, ErrDamaged) {
		t.Error("BuildTable:", err)
	}
}
