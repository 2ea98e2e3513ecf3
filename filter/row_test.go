package filter

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// labelGen draws few different labels, so that operands share them, and some
// at the edges.
func labelGen() *rapid.Generator[Label] {
	return rapid.Custom(func(t *rapid.T) Label {
		return Label{
			Number: rapid.SampledFrom([]int64{-1, 0, 671, 672, math.MinInt64, math.MaxInt64}).Draw(t, "number"),
			Cut:    rapid.SampledFrom([]int64{0, 0, 0, 1, 1764547200000, -5}).Draw(t, "cut"),
			Part:   Part(rapid.IntRange(0, 1).Draw(t, "part")),
		}
	})
}

// rowGen draws the value of a row.
func rowGen(t testing.TB) *rapid.Generator[[]byte] {
	return rapid.Custom(func(rt *rapid.T) []byte {
		var row Row
		for _, l := range rapid.SliceOfNDistinct(labelGen(), 0, 5, rapid.ID).Draw(rt, "labels") {
			row = append(row, Labelled{l, setOf(t, widthGen().Draw(rt, "width"), hashesGen(20).Draw(rt, "hashes"))})
		}
		slices.SortFunc(row, func(a, b Labelled) int { return a.Label.Compare(b.Label) })
		return AppendRow(nil, row)
	})
}

// unreadable are operands that no version of this program can read.
var unreadable = [][]byte{
	{},
	{0},
	{kindForeignSalt<<4 | 1, 1, 2, 3},
	{kindRow<<4 | 2},
	{0x91, 0xFF},
	{kindRow<<4 | 1, 0, 2},
	{kindBundle<<4 | 1, 5, 1},
	damagedRow(),
}

// damagedRow has good headers and a set whose content contradicts itself.
func damagedRow() []byte {
	row := AppendWindow(StartRow(nil), Label{Number: 7}, 16, []uint64{1 << 60, 1 << 62, 3 << 62})
	row[len(row)-7] = 0xFF // the unary part: seven ones
	return row
}

func mustRow(t testing.TB, value []byte) Row {
	t.Helper()
	row, err := ParseRow(nil, value)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// mergeRows merges operands, oldest first.
func mergeRows(operands ...[]byte) []byte {
	var m RowMerger
	for _, o := range operands {
		m.MergeNewer(o)
	}
	return m.Finish(nil)
}

// TestRowModel: what ParseRow reads is what AppendRow wrote.
func TestRowModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rowGen(t).Draw(rt, "row")
		row, err := ParseRow(make(Row, 1, 10), value)
		if err != nil {
			rt.Fatal(err)
		}
		if again := AppendRow(nil, row[1:]); !bytes.Equal(again, value) {
			rt.Fatalf("%x, again %x", value, again)
		}
		for cut := range len(value) {
			row, err := ParseRow(nil, value[:cut])
			if err == nil && !bytes.Equal(AppendRow(nil, row), value[:cut]) {
				rt.Fatalf("cut at %d of %d: read something else", cut, len(value))
			}
		}
	})
}

// TestRowMergeModel: merged rows are, label by label, the unions of the sets,
// without those below the floor.
func TestRowMergeModel(t *testing.T) {
	var m RowMerger
	rapid.Check(t, func(rt *rapid.T) {
		operands := rapid.SliceOfN(rowGen(t), 0, 6).Draw(rt, "operands")
		floor := rapid.SampledFrom([]int64{math.MinInt64, 0, 672, math.MaxInt64}).Draw(rt, "floor")
		sets := map[Label][]Set{}
		for _, o := range operands {
			for _, e := range mustRow(t, o) {
				if e.Number >= floor {
					sets[e.Label] = append(sets[e.Label], e.Set)
				}
			}
		}
		var want Row
		for l, s := range sets {
			want = append(want, Labelled{l, union(t, s...)})
		}
		slices.SortFunc(want, func(a, b Labelled) int { return a.Label.Compare(b.Label) })

		m.Reset()
		m.SetFloor(floor)
		middle := rapid.IntRange(0, len(operands)).Draw(rt, "middle")
		for _, o := range operands[middle:] {
			m.MergeNewer(o)
		}
		for _, o := range slices.Backward(operands[:middle]) {
			m.MergeOlder(o)
		}
		if got := m.Finish(nil); !bytes.Equal(got, AppendRow(nil, want)) || m.Err() != nil {
			rt.Fatalf("merged %x, want %x, %v", got, AppendRow(nil, want), m.Err())
		}
	})
}

// TestRowMergeGrouping: however operands are grouped into partial merges or
// plain bundles, readable or not, the bytes are the same, and merging again
// changes nothing.
func TestRowMergeGrouping(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		operands := rapid.SliceOfN(rapid.OneOf(rowGen(t), rowGen(t), rapid.SampledFrom(unreadable)), 1, 6).Draw(rt, "operands")
		want := mergeRows(operands...)
		from := rapid.IntRange(0, len(operands)).Draw(rt, "from")
		to := rapid.IntRange(from, len(operands)).Draw(rt, "to")
		grouped := slices.Clone(operands[:from])
		if rapid.Bool().Draw(rt, "merged") {
			grouped = append(grouped, mergeRows(operands[from:to]...))
		} else {
			bundle := StartBundle(nil)
			for _, o := range operands[from:to] {
				bundle = AppendOperand(bundle, o)
			}
			grouped = append(grouped, bundle)
		}
		grouped = append(grouped, operands[to:]...)
		if got := mergeRows(grouped...); !bytes.Equal(got, want) {
			rt.Fatalf("grouped %x\nwant %x", got, want)
		}
		if got := mergeRows(want); !bytes.Equal(got, want) {
			rt.Fatalf("merged again %x\nwant %x", got, want)
		}
	})
}

// TestRowMergeIdempotent: a readable operand may come again at any place.
func TestRowMergeIdempotent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		operands := rapid.SliceOfN(rowGen(t), 1, 5).Draw(rt, "operands")
		again := append(slices.Clone(operands), operands[rapid.IntRange(0, len(operands)-1).Draw(rt, "again")])
		if got := mergeRows(rapid.Permutation(again).Draw(rt, "order")...); !bytes.Equal(got, mergeRows(operands...)) {
			rt.Fatal("a repeated operand changed the row")
		}
	})
}

// TestBundleKeepsOperands: an unreadable operand stays in the bundle byte for
// byte and in order, what is readable around it is merged, and reading the row
// answers why.
func TestBundleKeepsOperands(t *testing.T) {
	a := AppendWindow(StartRow(nil), Label{Number: 1}, 32, []uint64{1 << 60})
	b := AppendWindow(StartRow(nil), Label{Number: 1}, 32, []uint64{1 << 61})
	for _, bad := range unreadable {
		want := AppendOperand(StartBundle(nil), mergeRows(a, b))
		want = AppendOperand(AppendOperand(want, bad), b)
		var m RowMerger
		for _, o := range [][]byte{a, b, bad, b} {
			m.MergeNewer(o)
		}
		got := m.Finish(nil)
		if !bytes.Equal(got, want) || m.Err() == nil {
			t.Errorf("bundle around %x: %x, want %x; %v", bad, got, want, m.Err())
		}
		if row, err := ParseRow(nil, got); !errors.Is(err, ErrBundle) || row != nil {
			t.Errorf("bundle around %x: read %v, %v", bad, row, err)
		}
	}
	foreign := mergeRows(a, []byte{kindForeignSalt<<4 | 1})
	if _, err := ParseRow(nil, foreign); !errors.Is(err, ErrForeignSalt) || !errors.Is(err, ErrBundle) {
		t.Errorf("set under a foreign salt in a bundle: %v", err)
	}
	if _, err := ParseRow(nil, []byte{kindForeignSalt<<4 | 1}); !errors.Is(err, ErrForeignSalt) {
		t.Errorf("set under a foreign salt: %v", err)
	}
	if _, err := ParseRow(nil, AppendOperand(StartBundle(nil), a)); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("bundle of readable operands: %v", err)
	}
}

// TestCutsAreWindows: sets of one number are united only if they begin at the
// same cut, and only within a part.
func TestCutsAreWindows(t *testing.T) {
	labels := []Label{
		{Number: 5}, {Number: 5, Part: Late},
		{Number: 5, Cut: 1000}, {Number: 5, Cut: 1000, Part: Late},
		{Number: 5, Cut: 1001}, {Number: 6},
	}
	var operands [][]byte
	for i := range 2 {
		value := StartRow(nil)
		for k, l := range labels {
			value = AppendWindow(value, l, 32, []uint64{uint64(i*10+k) << 56})
		}
		operands = append(operands, value)
	}
	row := mustRow(t, mergeRows(operands...))
	if len(row) != len(labels) {
		t.Fatalf("%d sets", len(row))
	}
	for k, e := range row {
		if e.Label != labels[k] || e.Len() != 2 || !e.Contains(uint64(k)<<56) || !e.Contains(uint64(10+k)<<56) {
			t.Errorf("%+v holds %x", e.Label, mustHashes(t, e.Set))
		}
	}
}

func TestAppendRowRefusesDisorder(t *testing.T) {
	set := setOf(t, 32, nil)
	for _, row := range []Row{
		{{Label{Number: 2}, set}, {Label{Number: 1}, set}},
		{{Label{Number: 1}, set}, {Label{Number: 1}, set}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v: no panic", row)
				}
			}()
			AppendRow(nil, row)
		}()
	}
}
