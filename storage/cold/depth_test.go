package cold

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkDepth stores 24 slots, each with a quarter of all keys at random and 20
// items a key, with compaction keeping up. Figures: bytes that compactions
// wrote for each one ingested, and how many tables deep rows are on average and
// at worst.
func BenchmarkDepth(b *testing.B) {
	for _, trigger := range []int{2, 4, 8} {
		b.Run(fmt.Sprint("L0 trigger ", trigger), func(b *testing.B) {
			keys := testKeys(40_000)
			for b.Loop() {
				benchDepth(b, keys, trigger)
			}
		})
	}
}

func benchDepth(b *testing.B, keys [][]byte, trigger int) {
	o := benchOptions(b)
	o.blocks.l0Trigger = trigger
	d, err := Open(o)
	must(b, err)
	rng := rand.New(rand.NewPCG(5, 6))
	hashes := make([]uint64, 20)
	sum, worst := 0, 0
	for slot := range uint64(24) {
		w := d.NewSlot(slot + 1)
		for _, key := range keys {
			if rng.IntN(4) == 0 {
				must(b, w.Merge(1, 233, key, benchRow(rng, nil, hashes)))
			}
		}
		_, err := w.Commit()
		must(b, err)
		for quiet := 0; quiet < 5; quiet++ {
			if time.Sleep(10 * time.Millisecond); stats(b, d).Compacting > 0 {
				quiet = 0
			}
		}
		depth := stats(b, d).ReadAmp
		sum, worst = sum+depth, max(worst, depth)
	}
	s := stats(b, d)
	b.ReportMetric(float64(s.CompactedBytes)/float64(s.IngestedBytes), "written/ingested")
	b.ReportMetric(float64(sum)/24, "depth")
	b.ReportMetric(float64(worst), "worst-depth")
	must(b, d.Close())
}
