package filter

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var full = flag.Bool("full", false, "measure bytes an item over 100,000 keys instead of 3,000")

// fprLimit is an ERROR plus three sigma of as many probes.
func fprLimit(e float64, probes int) float64 {
	return e + 3*math.Sqrt(e*(1-e)/float64(probes))
}

// TestFPR: for each family of ids, size and ERROR, the measured rate of false
// positives is at most the ERROR plus three sigma (FAULTS B035, B036).
func TestFPR(t *testing.T) {
	const keys, probes = 20, 10_000
	for _, family := range items {
		pool := make([]uint64, 40_000)
		for i := range pool {
			pool[i] = Hash(family.item(uint64(i)))
		}
		for _, n := range []int{5, 20, 100, 300, 10_000} {
			for _, e := range []float64{0.01, 0.001, 0.0001} {
				positive := 0
				for k := range keys {
					salt := testSecret.Salt(family.item(uint64(k)))
					from := k * 1009
					s := saltedSet(t, salt, SealedWidth(n, e), pool[from:from+n])
					for i := range probes {
						if s.Contains(salt.Mix(pool[(from+n+i)%len(pool)])) {
							positive++
						}
					}
				}
				fpr := float64(positive) / (keys * probes)
				if fpr > fprLimit(e, keys*probes) {
					t.Errorf("%s, %d items, ERROR %v: FPR %v", family.name, n, e, fpr)
				}
				if family.name == "decimal" {
					t.Logf("%6d items, ERROR %-6v: FPR %.6f", n, e, fpr)
				}
			}
		}
	}
}

// saltedSet is the set of items under a salt; it checks that none is missing.
func saltedSet(t testing.TB, salt Salt, width int, items []uint64) Set {
	t.Helper()
	hashes := make([]uint64, len(items))
	for i, h := range items {
		hashes[i] = salt.Mix(h)
	}
	s := setOf(t, width, hashes)
	for _, h := range hashes {
		if !s.Contains(h) {
			t.Fatalf("false negative for %#x", h)
		}
	}
	return s
}

// TestKeyFPR: over all windows of a key together, sealed and open, main and
// late, the rate stays at most the policy's ERROR.
func TestKeyFPR(t *testing.T) {
	const probes = 300_000
	for _, windows := range []int{1, 3, 30} {
		for _, e := range []float64{0.05, 0.001} {
			var sets []Set
			for w := range windows {
				width := SealedWidth(100+w, Share(e, windows))
				if w == 0 {
					width = OpenWidth(e, windows)
				}
				late := randomHashes(uint64(1000+w), 50)
				sets = append(sets, setOf(t, width, randomHashes(uint64(w), 100+w)), setOf(t, OpenWidth(e, windows), late))
			}
			table := OpenTable(buildTable(t, sets, TableSizeOf(sets)))
			positive := 0
			for _, h := range randomHashes(5000, probes) {
				if table.Contains(h) {
					positive++
				}
			}
			fpr := float64(positive) / probes
			t.Logf("%2d windows, ERROR %-5v: FPR %.6f", windows, e, fpr)
			if fpr > fprLimit(e, probes) {
				t.Errorf("%d windows, ERROR %v: FPR %v", windows, e, fpr)
			}
		}
	}
}

// TestBytesAnItem: the size of a sealed window over keys of log-normal size
// (median 120, mean 296, at most 10,000 items) at ERROR 0.001, one window.
func TestBytesAnItem(t *testing.T) {
	keys := 3000
	if *full {
		keys = 100_000
	}
	rng := rand.New(rand.NewPCG(1, 2))
	sigma := math.Sqrt(2 * math.Log(296.0/120))
	var total, sets, rows, tables int
	var fpr float64
	var hashes []uint64
	var value []byte
	for range keys {
		n := min(max(int(math.Round(120*math.Exp(sigma*rng.NormFloat64()))), 1), 10_000)
		hashes = hashes[:0]
		for range n {
			hashes = append(hashes, rng.Uint64())
		}
		slices.Sort(hashes)
		q := SealedWidth(n, 0.001)
		value = AppendWindow(StartRow(value[:0]), Label{Number: 671}, q, hashes)
		s := mustRow(t, value)[0]
		total += n
		sets += len(s.Bytes())
		rows += len(value)
		tables += TableSize(s.Len(), false)
		fpr += math.Ldexp(float64(s.Len()), -q) / float64(keys)
	}
	perItem := float64(sets) / float64(total)
	t.Logf("%d keys, mean %.0f items: set %.3f B an item, row %.3f, table %.2f; FPR %.5f; %.2f bits above log2(1/FPR)",
		keys, float64(total)/float64(keys), perItem, float64(rows)/float64(total), float64(tables)/float64(total), fpr, perItem*8+math.Log2(fpr))
	if perItem > 1.60 || fpr > 0.001 {
		t.Errorf("%.3f B an item at FPR %.5f; 1.572 is the design's", perItem, fpr)
	}
}
