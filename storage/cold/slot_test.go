package cold

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// buildFiles lists what lies in the build directory.
func buildFiles(t testing.TB, fs vfs.FS) []string {
	t.Helper()
	names, err := fs.List("cold/" + buildDir)
	must(t, err)
	return names
}

func TestSlotHoldsRowsOfAllSpaces(t *testing.T) {
	fs := vfs.NewMem()
	d := open(t, testOptions(fs))
	w := d.NewSlot(7)
	keys := testKeys(2)
	a, b := keys[0], keys[1]
	must(t, w.SetSystem("clock", []byte("tick")))
	must(t, w.SetSystem("policies", []byte("all")))
	must(t, w.SetMeta(a, []byte("meta a")))
	must(t, w.SetDelivered(600_000, 5, b, []byte("delivered b")))
	must(t, w.Merge(1, 3, a, rowOf(9, 1, 2)))
	must(t, w.Set(2, 0, b, rowOf(1, 3)))
	written, err := w.Commit()
	must(t, err)
	if written.Rows != 7 || written.Tables != 5 || written.Bytes == 0 {
		t.Errorf("written %+v", written)
	}
	for range 2 {
		checkSlot(t, d, a, b)
		if names := buildFiles(t, fs); len(names) > 0 {
			t.Errorf("left in the build directory: %v", names)
		}
		d = reopen(t, d)
	}

	w = d.NewSlot(8)
	must(t, w.DeleteSystem("clock"))
	must(t, w.DeleteMeta(a))
	must(t, w.DeleteDelivered(600_000, 5, b))
	must(t, w.Delete(1, 3, a))
	_, err = w.Commit()
	must(t, err)
	s := d.Snapshot()
	defer s.Close()
	_, system, _ := s.System("clock")
	_, meta, _ := s.Meta(a, nil)
	_, delivered, _ := s.Delivered(600_000, 5, b, nil)
	_, data, _ := s.Row(1, 3, a, nil)
	if system || meta || delivered || data {
		t.Errorf("still found: %v %v %v %v", system, meta, delivered, data)
	}
}

func checkSlot(t *testing.T, d *DB, a, b []byte) {
	t.Helper()
	if d.StoredSlot() != 7 {
		t.Errorf("stored slot %d", d.StoredSlot())
	}
	s := d.Snapshot()
	defer s.Close()
	dst := []byte("before ")
	check := func(what string, want []byte, got []byte, found bool, err error) {
		t.Helper()
		must(t, err)
		if !bytes.Equal(want, got) || !found {
			t.Errorf("%s: %q (%v), want %q", what, got, found, want)
		}
	}
	v, found, err := s.System("clock")
	check("system", []byte("tick"), v, found, err)
	v, found, err = s.Meta(a, dst)
	check("meta", []byte("before meta a"), v, found, err)
	v, found, err = s.Delivered(600_000, 5, b, dst)
	check("delivered", []byte("before delivered b"), v, found, err)
	v, found, err = s.Row(1, 3, a, nil)
	check("row", rowOf(9, 1, 2), v, found, err)
	v, found, err = s.Row(2, 0, b, nil)
	check("row", rowOf(1, 3), v, found, err)
	if v, found, err := s.Row(1, 3, b, dst); found || err != nil || string(v) != "before " {
		t.Errorf("absent row: %q, %v, %v", v, found, err)
	}
}

func TestRowsOutOfOrderAreRefused(t *testing.T) {
	fs := vfs.NewMem()
	d := open(t, testOptions(fs))
	keys := testKeys(2)
	for name, add := range map[string]func(w *SlotWriter) error{
		"key":         func(w *SlotWriter) error { w.Merge(1, 1, keys[1], nil); return w.Merge(1, 1, keys[0], nil) },
		"twice":       func(w *SlotWriter) error { w.Merge(1, 1, keys[1], nil); return w.Set(1, 1, keys[1], nil) },
		"block":       func(w *SlotWriter) error { w.Merge(1, 2, keys[1], nil); return w.Merge(1, 1, keys[1], nil) },
		"space":       func(w *SlotWriter) error { w.Merge(1, 2, keys[1], nil); return w.SetMeta(keys[1], nil) },
		"system last": func(w *SlotWriter) error { w.SetMeta(keys[1], nil); return w.SetSystem("x", nil) },
	} {
		w := d.NewSlot(1)
		mustBe(t, add(w), ErrOrder)
		mustBe(t, w.Delete(9, 9, keys[0]), ErrOrder)
		if _, err := w.Commit(); err == nil {
			t.Errorf("%s: committed", name)
		}
	}
	w := d.NewSlot(1)
	if w.Merge(1, -1, keys[0], nil) == nil || w.SetSystem("", nil) == nil {
		t.Error("bad rows are taken")
	}
	w.Abort()
	w.Abort()
	if names := buildFiles(t, fs); len(names) > 0 || d.StoredSlot() != 0 {
		t.Errorf("left: %v, slot %d", names, d.StoredSlot())
	}
}

func TestSlotsAreStoredOnceAndInOrder(t *testing.T) {
	fs := vfs.NewMem()
	d := open(t, testOptions(fs))
	keys := testKeys(3)
	one := func([]byte) []byte { return rowOf(1, 1) }
	late := d.NewSlot(3)
	storeRows(t, d, 5, 1, 1, keys, one)
	for _, slot := range []uint64{0, 4, 5} {
		_, err := d.NewSlot(slot).Commit()
		mustBe(t, err, ErrStored)
	}
	_, err := late.Commit()
	mustBe(t, err, ErrStored)
	w := d.NewSlot(6)
	_, err = w.Commit() // nothing but its number
	must(t, err)
	_, err = w.Commit()
	mustBe(t, err, ErrFinished)
	mustBe(t, w.SetMeta(nil, nil), ErrFinished)
	w.Abort()
	if d = reopen(t, d); d.StoredSlot() != 6 {
		t.Errorf("stored slot %d", d.StoredSlot())
	}
	if names := buildFiles(t, fs); len(names) > 0 {
		t.Errorf("left in the build directory: %v", names)
	}
}

func TestClearAll(t *testing.T) {
	d := open(t, testOptions(vfs.NewMem()))
	keys := testKeys(500)
	w := d.NewSlot(1)
	must(t, w.SetSystem("secret", []byte("kept")))
	must(t, w.SetMeta(keys[0], []byte("meta")))
	must(t, w.SetDelivered(1, 1, keys[0], []byte("delivered")))
	for _, key := range keys {
		must(t, w.Merge(1, 1, key, rowOf(1, 1)))
	}
	_, err := w.Commit()
	must(t, err)
	storeRows(t, d, 2, 200, 1<<40, keys, func([]byte) []byte { return rowOf(1, 2) })

	w = d.NewSlot(3)
	w.ClearAll()
	must(t, w.SetSystem("new", []byte("too")))
	must(t, w.Merge(1, 1, keys[9], rowOf(1, 3)))
	_, err = w.Commit()
	must(t, err)
	for range 2 {
		s := d.Snapshot()
		kept, found, err := s.System("secret")
		must(t, err)
		if !found || string(kept) != "kept" {
			t.Errorf("system row: %q", kept)
		}
		if _, found, _ = s.Meta(keys[0], nil); found {
			t.Error("a meta row outlived it")
		}
		s.Close()
		rows := 0
		for _, space := range []Space{Meta(), Delivered(1, 1), Data(1, 1), Data(200, 1<<40)} {
			must(t, d.Scan(space, 0, nil, func(_ uint8, key, value []byte) bool {
				rows++
				return bytes.Equal(key, keys[9]) && bytes.Equal(value, rowOf(1, 3))
			}))
		}
		if rows != 1 || d.StoredSlot() != 3 {
			t.Errorf("%d rows, slot %d", rows, d.StoredSlot())
		}
		d = reopen(t, d)
	}
}

// TestTablesHoldOneSpace: of what slots and compactions write.
func TestTablesHoldOneSpace(t *testing.T) {
	d := open(t, testOptions(vfs.NewMem()))
	keys := testKeys(300)
	for slot := range uint64(6) {
		w := d.NewSlot(slot + 1)
		must(t, w.SetSystem("x", []byte{byte(slot)}))
		must(t, w.SetMeta(keys[0], []byte("meta")))
		for block := range int64(3) {
			for _, key := range keys {
				must(t, w.SetDelivered(600_000, block, key, []byte("delivered")))
			}
		}
		for class := range uint8(3) {
			for block := range int64(3) {
				for _, key := range keys {
					must(t, w.Merge(class, 254+block, key, rowOf(block, slot)))
				}
			}
		}
		_, err := w.Commit()
		must(t, err)
	}
	must(t, d.Compact(t.Context()))
	levels, err := d.pebble.SSTables()
	must(t, err)
	tables := 0
	for _, level := range levels {
		for _, table := range level {
			tables++
			small, _, ok1 := parseSpace(table.Smallest.UserKey)
			large, _, ok2 := parseSpace(table.Largest.UserKey)
			if small != large || ok1 != ok2 {
				t.Errorf("a table from % x to % x", table.Smallest.UserKey, table.Largest.UserKey)
			}
		}
	}
	blocks, err := d.LiveBlocks(1)
	must(t, err)
	delivered, err := d.LiveDelivered()
	must(t, err)
	if len(blocks) != 3 || blocks[0] != 254 || blocks[2] != 256 || len(delivered) != 3 || delivered[2] != (DeliveredBlock{600_000, 2}) {
		t.Errorf("live: %v, %v", blocks, delivered)
	}
	if s := stats(t, d); s.ReadAmp != 1 || s.Tables != int64(tables) || s.Iterators != 0 {
		t.Errorf("stats %+v, %d tables", s, tables)
	}
}
