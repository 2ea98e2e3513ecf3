package cold

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dedupd/filter"
)

// benchRow is a row as flushes make them: 20 items of 32 bits.
func benchRow(rng *rand.Rand, dst []byte, hashes []uint64) []byte {
	for i := range hashes {
		hashes[i] = rng.Uint64()
	}
	slices.Sort(hashes)
	return filter.AppendWindow(filter.StartRow(dst), filter.Label{Number: 700}, 32, hashes)
}

func benchOptions(b *testing.B) Options {
	return Options{FS: vfs.Default, Dir: b.TempDir() + "/cold", CacheBytes: 256 << 20}
}

func benchOpen(b *testing.B, o Options) *DB {
	b.Helper()
	d, err := Open(o)
	must(b, err)
	b.Cleanup(func() { must(b, d.Close()) })
	return d
}

// benchStore stores slots of rows for every key.
func benchStore(b *testing.B, d *DB, keys [][]byte, slots int) (bytes uint64) {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([][]byte, 1024)
	for i := range values {
		values[i] = benchRow(rng, nil, make([]uint64, 20))
	}
	for range slots {
		w := d.NewSlot(d.StoredSlot() + 1)
		for i, key := range keys {
			must(b, w.Merge(1, 233, key, values[i%1024]))
		}
		written, err := w.Commit()
		must(b, err)
		bytes += written.Bytes
	}
	return bytes
}

// BenchmarkIngest stores slots of 250,000 rows of 20 items; figures are a row.
func BenchmarkIngest(b *testing.B) {
	variants := map[string]blockOptions{
		"default": {},
		"snappy":  {compression: sstable.SnappyCompression},
	}
	keys := testKeys(250_000)
	for _, name := range []string{"default", "snappy"} {
		b.Run(name, func(b *testing.B) {
			o := benchOptions(b)
			o.blocks = variants[name]
			d := benchOpen(b, o)
			var bytes uint64
			for b.Loop() {
				bytes += benchStore(b, d, keys, 1)
			}
			rows := float64(b.N * len(keys))
			b.ReportMetric(float64(bytes)/rows, "B/row")
			b.ReportMetric(rows/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkRow reads a row that is in the cache, one that mostly is not (but in
// the operating system's), and one that is absent from a block that has tables,
// for sizes of data blocks; each with a snapshot of its own.
func BenchmarkRow(b *testing.B) {
	keys := testKeys(200_000)
	absent := make([][]byte, len(keys))
	for i, key := range keys {
		absent[i] = append(slices.Clone(key), 'x')
	}
	for _, size := range []int{4, 8, 16} {
		o := benchOptions(b)
		o.CacheBytes = 2 << 20
		o.blocks.data = size << 10
		d := benchOpen(b, o)
		bytes := benchStore(b, d, keys, 1)
		must(b, d.Compact(context.Background()))
		b.Run(fmt.Sprintf("cold/%dk", size), func(b *testing.B) {
			b.ReportMetric(float64(bytes)/float64(len(keys)), "B/row")
			benchReads(b, d, keys, 233, true)
		})
		b.Run(fmt.Sprintf("hot/%dk", size), func(b *testing.B) { benchReads(b, d, keys[:2000], 233, true) })
		b.Run(fmt.Sprintf("absent/%dk", size), func(b *testing.B) { benchReads(b, d, absent, 233, false) })
	}
}

func benchReads(b *testing.B, d *DB, keys [][]byte, block int64, want bool) {
	b.ReportAllocs()
	rng := rand.New(rand.NewPCG(3, 4))
	var dst []byte
	for b.Loop() {
		s := d.Snapshot()
		value, found, err := s.Row(1, block, keys[rng.IntN(len(keys))], dst[:0])
		s.Close()
		if err != nil || found != want {
			b.Fatal(found, err)
		}
		dst = value
	}
}

// BenchmarkMergeDepth reads a row whose operands are in 24 tables, and in one.
func BenchmarkMergeDepth(b *testing.B) {
	o := benchOptions(b)
	o.blocks.l0Trigger = 1000 // leave them there
	d := benchOpen(b, o)
	keys := testKeys(20_000)
	benchStore(b, d, keys, 24)
	b.Run("24", func(b *testing.B) { benchReads(b, d, keys, 233, true) })
	must(b, d.Compact(context.Background()))
	b.Run("1", func(b *testing.B) { benchReads(b, d, keys, 233, true) })
}
