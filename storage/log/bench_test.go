package log

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestSteadyStateDoesNotAllocate covers Append and Wait in every mode.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for _, fsync := range []Fsync{Always, EverySec, No} {
		l, _, _ := mustOpen(t, Options{FS: vfs.Default, Dir: t.TempDir() + "/log", Fsync: fsync})
		payload := numbered(1, 200)
		allocs := testing.AllocsPerRun(300, func() {
			end, err := l.Append(payload)
			if err == nil {
				err = l.Wait(end)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		must(t, l.Close())
		if allocs != 0 {
			t.Errorf("%v: %v allocations a record", fsync, allocs)
		}
	}
}

// TestLargeBuffersShrink: one large record does not hold its memory.
func TestLargeBuffersShrink(t *testing.T) {
	l, _, _ := mustOpen(t, Options{FS: vfs.Default, Dir: t.TempDir() + "/log", Fsync: No})
	write(t, l, numbered(1, 20<<20))
	for range 4 {
		write(t, l, numbered(1, 100))
	}
	if n := cap(l.gather.bytes) + cap(l.gather.spare); n > 2*keptBuffer {
		t.Errorf("buffers of %d bytes are kept", n)
	}
	must(t, l.Close())
}

func benchmarkLog(b *testing.B, fsync Fsync) *Log {
	l, _, err := Open(Options{FS: vfs.Default, Dir: b.TempDir() + "/log", Fsync: fsync}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { must(b, l.Close()) })
	return l
}

func BenchmarkAppend(b *testing.B) {
	l := benchmarkLog(b, No)
	payload := numbered(1, 100)
	b.ReportAllocs()
	b.SetBytes(recordSize(len(payload)))
	for i := 0; b.Loop(); i++ {
		end, err := l.Append(payload)
		if err != nil {
			b.Fatal(err)
		}
		if i%1000 == 999 { // as many callers at once would
			must(b, l.Wait(end))
		}
	}
}

func benchmarkWait(b *testing.B, fsync Fsync) {
	l := benchmarkLog(b, fsync)
	payload := numbered(1, 100)
	took := make([]time.Duration, 0, 1<<22)
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		write(b, l, payload)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}

func BenchmarkAppendWaitAlways(b *testing.B)   { benchmarkWait(b, Always) }
func BenchmarkAppendWaitEverySec(b *testing.B) { benchmarkWait(b, EverySec) }

// BenchmarkAlways16 has 16 goroutines that each wait for every record.
func BenchmarkAlways16(b *testing.B) {
	l := benchmarkLog(b, Always)
	payload := numbered(1, 100)
	b.SetParallelism(8) // of 2 cores
	var records atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			write(b, l, payload)
			records.Add(1)
		}
	})
	b.ReportMetric(float64(records.Load())/float64(max(1, l.Stats().Syncs)), "records/sync")
}

func BenchmarkReplay(b *testing.B) {
	o := Options{FS: vfs.Default, Dir: b.TempDir() + "/log", Fsync: No}
	l, _, err := Open(o, nil)
	must(b, err)
	const size = 64 << 20
	payload := numbered(1, 100)
	for l.End() < size {
		_, err := l.Append(payload)
		must(b, err)
	}
	must(b, l.Close())
	b.SetBytes(size)
	for b.Loop() {
		l, _, err := Open(o, func(uint64, Position, []byte) error { return nil })
		must(b, err)
		must(b, l.Close())
	}
}
