package cold

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// diskBytes are the bytes of all tables.
func diskBytes(t testing.TB, fs vfs.FS) (bytes int64) {
	t.Helper()
	names, err := fs.List("cold")
	must(t, err)
	for _, name := range names {
		if info, err := fs.Stat("cold/" + name); err == nil && len(name) > 4 && name[len(name)-4:] == ".sst" {
			bytes += info.Size()
		}
	}
	return bytes
}

// TestDropFreesTheDisk drops two of three blocks while a snapshot looks at one.
func TestDropFreesTheDisk(t *testing.T) {
	fs := vfs.NewMem()
	d := open(t, testOptions(fs))
	keys := testKeys(2000)
	for slot := range uint64(3) {
		w := d.NewSlot(slot + 1)
		for block := range int64(3) {
			for _, key := range keys {
				must(t, w.Merge(1, 255+block, key, rowOf(block, slot)))
			}
		}
		_, err := w.Commit()
		must(t, err)
	}
	before := diskBytes(t, fs)
	s := d.Snapshot()
	must(t, d.DropBlocks(1, 257))
	if blocks, _ := d.LiveBlocks(1); len(blocks) != 1 || blocks[0] != 257 {
		t.Errorf("live blocks %v", blocks)
	}
	for _, key := range keys[:100] {
		if _, found := read(t, d, 1, 256, key); found {
			t.Fatalf("%s is still there", key)
		}
		if value, found := read(t, d, 1, 257, key); !found || len(hashesOf(t, value)) != 3 {
			t.Fatalf("%s: %x", key, value)
		}
		if _, found, err := s.Row(1, 256, key, nil); !found || err != nil {
			t.Fatalf("%s has left an open snapshot: %v", key, err)
		}
	}
	if z := stats(t, d).ZombieTables; z == 0 {
		t.Error("the snapshot keeps no table")
	}
	s.Close()
	eventually(t, "two thirds of the disk are free", func() bool { return diskBytes(t, fs) < before*2/5 })
	eventually(t, "no table is kept or waits to be removed", func() bool { // a compaction may still run
		st := stats(t, d)
		return st.ZombieTables == 0 && st.ObsoleteTables == 0
	})
	d = reopen(t, d)
	if _, found := read(t, d, 1, 256, keys[0]); found {
		t.Error("back after a restart")
	}
	must(t, d.DropBlocks(1, 257)) // once more
	must(t, d.DropBlocks(1, 0))
	must(t, d.DropBlocks(9, AllBlocks))
	must(t, d.DropBlocks(1, AllBlocks))
	eventually(t, "the disk is free", func() bool { return diskBytes(t, fs) < before/50 })
}

func TestDropDelivered(t *testing.T) {
	d := open(t, testOptions(vfs.NewMem()))
	key := []byte("home:1")
	w := d.NewSlot(1)
	for _, ttl := range []int64{60_000, 600_000} {
		for block := range int64(3) {
			must(t, w.SetDelivered(ttl, block, key, []byte("list")))
		}
	}
	_, err := w.Commit()
	must(t, err)
	must(t, d.DropDelivered(600_000, 2))
	s := d.Snapshot()
	defer s.Close()
	for _, ttl := range []int64{60_000, 600_000} {
		for block := range int64(3) {
			_, found, err := s.Delivered(ttl, block, key, nil)
			must(t, err)
			if want := ttl == 60_000 || block == 2; found != want {
				t.Errorf("ttl %d, block %d: %v", ttl, block, found)
			}
		}
	}
}

// TestSnapshotIsOneInstant: ingests, drops and rewrites after it do not show.
func TestSnapshotIsOneInstant(t *testing.T) {
	d := open(t, testOptions(vfs.NewMem()))
	keys := testKeys(200)
	one := func([]byte) []byte { return rowOf(1, 1) }
	storeRows(t, d, 1, 1, 1, keys, one)
	storeRows(t, d, 2, 1, 2, keys, one)
	s := d.Snapshot()
	defer s.Close()
	storeRows(t, d, 3, 1, 2, keys, func([]byte) []byte { return rowOf(1, 2) })
	must(t, d.DropBlocks(1, 2))
	for group := range Groups {
		_, err := d.RewriteRange(1, 2, uint8(group), func(_, _, dst []byte) []byte { return append(dst, rowOf(1, 9)...) })
		must(t, err)
	}
	must(t, d.Compact(t.Context()))
	w := d.NewSlot(4)
	w.ClearAll()
	_, err := w.Commit()
	must(t, err)
	for _, key := range keys {
		for block := range int64(2) {
			value, found, err := s.Row(1, 1+block, key, nil)
			must(t, err)
			if !found || !bytes.Equal(value, rowOf(1, 1)) {
				t.Fatalf("%s: %x", key, value)
			}
		}
	}
	if _, found := read(t, d, 1, 2, keys[0]); found {
		t.Error("a later snapshot does not see what came between")
	}
}
