package cold

import (
	"bytes"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dedupd/filter"
)

// narrow rewrites a row to sets of width 12.
func narrow(value, dst []byte) []byte {
	row, err := filter.ParseRow(nil, value)
	if err != nil {
		return append(dst, value...)
	}
	for i := range row {
		hashes, _ := row[i].AppendHashes(nil)
		row[i].Set, _, _ = filter.Parse(filter.AppendSet(nil, 12, hashes))
	}
	return filter.AppendRow(dst, row)
}

// TestRewriteNarrows rewrites every group of a block, between slots.
func TestRewriteNarrows(t *testing.T) {
	fs := vfs.NewMem()
	d := open(t, testOptions(fs))
	keys := testKeys(3000)
	wide := func(key []byte) []byte { return rowOf(1, uint64(key[len(key)-1])<<56, 1<<60+uint64(len(key))) }
	storeRows(t, d, 1, 1, 1, keys, wide)
	storeRows(t, d, 2, 1, 1, keys, func([]byte) []byte { return rowOf(1, 7<<60) })
	storeRows(t, d, 3, 1, 2, keys, wide)
	var rows uint64
	before := diskBytes(t, fs)
	for group := range uint8(Groups) {
		written, err := d.RewriteRange(1, 1, group, func(key, value, dst []byte) []byte {
			if Group(key) != group {
				t.Errorf("%s is not of group %d", key, group)
			}
			if bytes.HasSuffix(key, []byte("00")) {
				return dst // goes
			}
			return narrow(value, dst)
		})
		must(t, err)
		rows += written.Rows
	}
	if rows != 3000-29 {
		t.Errorf("%d rows rewritten", rows)
	}
	eventually(t, "tables are smaller", func() bool { return diskBytes(t, fs) < before })
	storeRows(t, d, 4, 1, 1, keys[:10], func([]byte) []byte { return rowOf(2, 5) })
	for range 2 {
		for i, key := range keys {
			if value, _ := read(t, d, 1, 2, key); !bytes.Equal(value, wide(key)) {
				t.Fatalf("%s in another block: %x", key, value)
			}
			value, found := read(t, d, 1, 1, key)
			if i < 10 {
				continue // merged with slot 4
			}
			if gone := bytes.HasSuffix(key, []byte("00")); found == gone {
				t.Fatalf("%s: found %v", key, found)
			} else if gone {
				continue
			}
			row, err := filter.ParseRow(nil, value)
			must(t, err)
			hashes, err := row[0].AppendHashes(nil)
			must(t, err)
			if row[0].Width() != 12 || !slices.Contains(hashes, 7<<60) || !slices.Contains(hashes, 1<<60) {
				t.Fatalf("%s: %v", key, row[0])
			}
		}
		if row, err := filter.ParseRow(nil, func() []byte { v, _ := read(t, d, 1, 1, keys[5]); return v }()); err != nil || len(row) != 2 {
			t.Fatalf("merged with a later slot: %v %v", row, err)
		}
		d = reopen(t, d)
	}
	if names := buildFiles(t, fs); len(names) > 0 {
		t.Errorf("left in the build directory: %v", names)
	}
}

func TestRewriteOfNothing(t *testing.T) {
	fs := vfs.NewMem()
	d := open(t, testOptions(fs))
	keys := testKeys(100)
	storeRows(t, d, 1, 1, 1, keys, func([]byte) []byte { return rowOf(1, 1) })
	written, err := d.RewriteRange(1, 9, 3, func(_, v, dst []byte) []byte { return append(dst, v...) })
	must(t, err)
	if written != (Written{}) {
		t.Errorf("an absent block: %+v", written)
	}
	for group := range uint8(Groups) {
		_, err = d.RewriteRange(1, 1, group, func(_, _, dst []byte) []byte { return dst })
		must(t, err)
	}
	if blocks, _ := d.LiveBlocks(1); len(blocks) > 0 {
		t.Errorf("live blocks %v", blocks)
	}
}
