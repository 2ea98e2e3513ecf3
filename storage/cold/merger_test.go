package cold

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dedupd/filter"
)

// TestUnreadableOperand: it makes one row a bundle, through partial merges and
// compactions; the row answers filter's error, its neighbours do not.
func TestUnreadableOperand(t *testing.T) {
	d := open(t, testOptions(vfs.NewMem()))
	keys := testKeys(50)
	bad := keys[20]
	for slot := range uint64(9) {
		storeRows(t, d, slot+1, 1, 1, keys, func(key []byte) []byte {
			if bytes.Equal(key, bad) && slot == 4 {
				return []byte{0x2f, 1, 2, 3} // of a newer version
			}
			return rowOf(1, slot)
		})
	}
	for range 2 {
		for _, key := range keys {
			value, found := read(t, d, 1, 1, key)
			_, err := filter.ParseRow(nil, value)
			if want := bytes.Equal(key, bad); !found || errors.Is(err, filter.ErrBundle) != want || errors.Is(err, filter.ErrVersion) != want {
				t.Fatalf("%s: %v, %v", key, found, err)
			}
			if err == nil && len(hashesOf(t, value)) != 9 {
				t.Fatalf("%s: %x", key, value)
			}
		}
		must(t, d.Compact(t.Context()))
	}
}

// TestFloor: windows below it are gone from merged rows, also from those with
// one operand.
func TestFloor(t *testing.T) {
	o := testOptions(vfs.NewMem())
	o.Floor = func(class uint8) int64 { return int64(class) }
	d := open(t, o)
	key := []byte("home:1")
	value := filter.StartRow(nil)
	for window := range int64(5) {
		value = filter.AppendWindow(value, filter.Label{Number: window}, 64, []uint64{1})
	}
	for slot := range uint64(3) {
		w := d.NewSlot(slot + 1)
		for class := range uint8(7) {
			if slot < 2 || class == 6 {
				must(t, w.Merge(class, int64(slot/2), key, value))
			}
		}
		_, err := w.Commit()
		must(t, err)
	}
	for class := range uint8(7) {
		got, found := read(t, d, class, 0, key)
		row, err := filter.ParseRow(nil, got)
		must(t, err)
		if !found || len(row) != max(0, 5-int(class)) {
			t.Errorf("class %d: %d windows", class, len(row))
		}
	}
	if got, _ := read(t, d, 6, 1, key); len(got) != 1 {
		t.Errorf("one operand: %x", got)
	}
}

// TestMergerGroupings: operands give the same value however they are grouped, and
// one alone stays as it is.
func TestMergerGroupings(t *testing.T) {
	merge := newMerger(nil).Merge
	a, b, c := rowOf(1, 1), rowOf(1, 2), rowOf(2, 3)
	finish := func(first []byte, newer, older [][]byte) []byte {
		m, err := merge(Data(1, 1).appendKey(nil, []byte("k")), first)
		must(t, err)
		for _, v := range newer {
			must(t, m.MergeNewer(v))
		}
		for _, v := range older {
			must(t, m.MergeOlder(v))
		}
		value, closer, err := m.Finish(false)
		must(t, err)
		value = bytes.Clone(value)
		must(t, closer.Close())
		return value
	}
	want := filter.AppendWindow(rowOf(1, 1, 2), filter.Label{Number: 2}, 64, []uint64{3})
	for i, got := range [][]byte{
		finish(a, [][]byte{b, c}, nil),
		finish(c, nil, [][]byte{b, a}),
		finish(finish(a, [][]byte{b}, nil), [][]byte{c}, nil),
		finish(c, nil, [][]byte{finish(b, nil, [][]byte{a})}),
	} {
		if !bytes.Equal(got, want) {
			t.Errorf("grouping %d: %x, want %x", i, got, want)
		}
	}
	if got := finish(a, nil, nil); !bytes.Equal(got, a) {
		t.Errorf("alone: %x", got)
	}
}
