package filter

import (
	"fmt"
	"testing"
)

// Run with: go test -run - -bench . -benchtime 200ms ./filter

var sink int

// benchSets is one sealed set (ERROR 0.001) of n items.
func benchSets(b *testing.B, n int) []Set {
	hashes := randomHashes(uint64(n), n)
	return []Set{setOf(b, SealedWidth(n, 0.001), hashes)}
}

func BenchmarkMix(b *testing.B) {
	salt := testSecret.Salt([]byte("home:42"))
	hashes := randomHashes(1, 256)
	sum := uint64(0)
	for i := 0; b.Loop(); i++ {
		sum += salt.Mix(hashes[i&255])
	}
	sink = int(sum)
}

func BenchmarkSalt(b *testing.B) {
	key := []byte("home:42")
	for b.Loop() {
		sink += int(testSecret.Salt(key).xor)
	}
}

func BenchmarkContains(b *testing.B) {
	for _, n := range []int{20, 300, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := benchSets(b, n)[0]
			probes := randomHashes(9, 1<<16)
			for i := 0; b.Loop(); i++ {
				if s.Contains(probes[i&(1<<16-1)]) {
					sink++
				}
			}
		})
	}
}

func BenchmarkTable(b *testing.B) {
	for _, n := range []int{20, 300, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			sets := benchSets(b, n)
			table := OpenTable(buildTable(b, sets, TableSizeOf(sets)))
			probes := randomHashes(9, 1<<16)
			for i := 0; b.Loop(); i++ {
				if table.Contains(probes[i&(1<<16-1)]) {
					sink++
				}
			}
		})
	}
}

func BenchmarkTableBuild(b *testing.B) {
	for _, n := range []int{20, 300, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			sets := benchSets(b, n)
			block := make([]byte, TableSizeOf(sets))
			for b.Loop() {
				if err := BuildTable(block, sets); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/item")
		})
	}
}

func BenchmarkTableAdd(b *testing.B) {
	sets := benchSets(b, 300)
	block := make([]byte, TableSize(400, false))
	added := randomHashes(7, 64)
	for b.Loop() {
		_ = BuildTable(block, sets)
		for _, h := range added {
			AddTable(block, h, 32)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, n := range []int{20, 300, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			hashes := mustHashes(b, setOf(b, 64, randomHashes(1, n)))
			var dst []byte
			for b.Loop() {
				dst = AppendSet(dst[:0], 32, hashes)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/item")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{20, 300, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := benchSets(b, n)[0]
			var dst []uint64
			for b.Loop() {
				dst, _ = s.AppendHashes(dst[:0])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/item")
		})
	}
}

// BenchmarkMerge unites a base of 300 items with operands of 20 items.
func BenchmarkMerge(b *testing.B) {
	for _, operands := range []int{1, 24} {
		b.Run(fmt.Sprint(operands), func(b *testing.B) {
			sets := []Set{setOf(b, 32, randomHashes(1, 300))}
			for i := range operands {
				sets = append(sets, setOf(b, 32, randomHashes(uint64(2+i), 20)))
			}
			var m Merger
			var dst []byte
			for b.Loop() {
				dst, _ = m.Union(dst[:0], sets...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(300+20*operands)), "ns/item")
		})
	}
}
