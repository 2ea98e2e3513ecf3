package cold

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestAbsentRowsCostNoBlock: once filters and index blocks are in the cache,
// lookups of absent keys load no block, on all levels and for MERGE rows.
func TestAbsentRowsCostNoBlock(t *testing.T) {
	o := testOptions(vfs.NewMem())
	o.CacheBytes = 16 << 20
	o.blocks.l0Trigger = 100 // leave the tables where they are
	d := open(t, o)
	keys := testKeys(4000)
	for slot := range uint64(4) { // one compacted, three above it
		w := d.NewSlot(slot + 1)
		for _, key := range keys[:500] {
			must(t, w.SetMeta(key, []byte("meta")))
		}
		for _, key := range keys {
			must(t, w.Merge(1, 1, key, rowOf(1, slot)))
		}
		_, err := w.Commit()
		must(t, err)
		if slot == 0 {
			must(t, d.Compact(t.Context()))
		}
	}
	absent := make([][]byte, len(keys))
	for i := range absent {
		absent[i] = fmt.Appendf(nil, "%s:x", keys[i])
	}
	lookUp := func() (blocks, hits, misses int64) {
		before := stats(t, d)
		for _, key := range absent {
			if _, found := read(t, d, 1, 1, key); found {
				t.Fatal("found")
			}
		}
		after := stats(t, d)
		return after.CacheMisses - before.CacheMisses, after.FilterHits - before.FilterHits, after.FilterMisses - before.FilterMisses
	}
	lookUp()
	blocks, hits, misses := lookUp()
	t.Logf("%d lookups: filters said no %d times and maybe %d times", len(absent), hits, misses)
	if amp := stats(t, d).ReadAmp; amp != 4 || hits < int64(len(absent))*3 || misses > hits/40 {
		t.Errorf("%d tables deep, filters said no %d times and maybe %d times", amp, hits, misses)
	}
	if blocks > 0 {
		t.Errorf("%d blocks were loaded", blocks)
	}
	lookUpMeta := func() {
		for _, key := range absent {
			s := d.Snapshot()
			if _, found, err := s.Meta(key, nil); found || err != nil {
				t.Fatal(found, err)
			}
			s.Close()
		}
	}
	lookUpMeta()
	before := stats(t, d)
	lookUpMeta()
	if after := stats(t, d); after.CacheMisses != before.CacheMisses {
		t.Error("meta lookups loaded blocks")
	}
}

// TestCacheIsBounded: reading far more than fits leaves the cache at its size.
func TestCacheIsBounded(t *testing.T) {
	o := testOptions(vfs.NewMem())
	o.CacheBytes = 512 << 10
	d := open(t, o)
	keys := testKeys(30_000)
	storeRows(t, d, 1, 1, 1, keys, func([]byte) []byte { return rowOf(1, 1, 2, 3, 4, 5, 6) })
	for i := 0; i < len(keys); i += 3 {
		read(t, d, 1, 1, keys[i])
	}
	if s := stats(t, d); s.CacheBytes > 512<<10 || s.CacheBytes < 128<<10 || s.TableBytes < 1<<20 {
		t.Errorf("the cache holds %d bytes of %d", s.CacheBytes, s.TableBytes)
	}
}

// TestReadAllocatesLittle: a snapshot and its reads.
func TestReadAllocatesLittle(t *testing.T) {
	d := open(t, testOptions(vfs.NewMem()))
	keys := testKeys(1000)
	storeRows(t, d, 1, 1, 1, keys, func([]byte) []byte { return rowOf(1, 1) })
	s := d.Snapshot()
	defer s.Close()
	dst := make([]byte, 0, 1024)
	i := 0
	allocs := testing.AllocsPerRun(500, func() {
		i++
		if _, found, err := s.Row(1, 1, keys[i%1000], dst); !found || err != nil {
			t.Fatal(found, err)
		}
	})
	if allocs > maxReadAllocs {
		t.Errorf("%v allocations a read", allocs)
	}
}
