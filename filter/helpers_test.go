package filter

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// testSecret is the secret of all tests; the golden bytes depend on it.
var testSecret = Secret{0x64, 0x65, 0x64, 0x75, 0x70, 0x64, 0x20, 0x74, 0x65, 0x73, 0x74, 0x20, 0x6b, 0x65, 0x79, 0x2e}

// mustParse parses bytes that hold one set and nothing else.
func mustParse(t testing.TB, b []byte) Set {
	t.Helper()
	s, rest, err := Parse(b)
	if err != nil || len(rest) != 0 {
		t.Fatalf("Parse: %d bytes left, %v", len(rest), err)
	}
	return s
}

// mustHashes decodes a set.
func mustHashes(t testing.TB, s Set) []uint64 {
	t.Helper()
	hashes, err := s.AppendHashes(nil)
	if err != nil {
		t.Fatal(err)
	}
	return hashes
}

// setOf is the set of the given hashes, in any order.
func setOf(t testing.TB, width int, hashes []uint64) Set {
	t.Helper()
	sorted := slices.Clone(hashes)
	slices.Sort(sorted)
	return mustParse(t, AppendSet(nil, width, sorted))
}

// randomHashes are n hashes from a seeded generator.
func randomHashes(seed uint64, n int) []uint64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	hashes := make([]uint64, n)
	for i := range hashes {
		hashes[i] = rng.Uint64()
	}
	return hashes
}

// model is a set as a map: fingerprints left-aligned, of one width.
type model struct {
	width  int
	prints map[uint64]bool
}

func newModel(width int, hashes []uint64) model {
	m := model{width, map[uint64]bool{}}
	for _, h := range hashes {
		m.prints[cut(h, width)] = true
	}
	return m
}

func (m model) contains(hash uint64) bool { return m.prints[cut(hash, m.width)] }

func (m model) sorted() []uint64 {
	hashes := make([]uint64, 0, len(m.prints))
	for h := range m.prints {
		hashes = append(hashes, h)
	}
	slices.Sort(hashes)
	return hashes
}

// cut keeps the upper width bits of a hash.
func cut(hash uint64, width int) uint64 { return hash >> (64 - width) << (64 - width) }

// hashesGen draws hashes that are random, clustered at a few prefixes, or at
// the edges, so that buckets are empty, crowded and first or last.
func hashesGen(maxLen int) *rapid.Generator[[]uint64] {
	hash := rapid.OneOf(
		rapid.Uint64(),
		rapid.Custom(func(t *rapid.T) uint64 { return rapid.Uint64().Draw(t, "x") * mixPrime }),
		rapid.Custom(func(t *rapid.T) uint64 {
			return rapid.Uint64Range(0, 3).Draw(t, "prefix")<<62 | rapid.Uint64Range(0, 300).Draw(t, "low")<<rapid.IntRange(0, 50).Draw(t, "shift")
		}),
		rapid.SampledFrom([]uint64{0, 1, 1 << 63, 1<<63 - 1, 1<<64 - 1, 1 << 32, 1<<32 - 1}),
	)
	return rapid.OneOf(
		rapid.SliceOfN(hash, 0, 12),
		rapid.SliceOfN(hash, 0, maxLen),
		rapid.Custom(func(t *rapid.T) []uint64 {
			return randomHashes(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 20*maxLen).Draw(t, "n"))
		}),
	)
}

// widthGen draws widths, the usual and the extreme ones more often.
func widthGen() *rapid.Generator[int] {
	return rapid.OneOf(rapid.IntRange(1, 64), rapid.IntRange(8, 24), rapid.SampledFrom([]int{1, 31, 32, 33, 63, 64}))
}

// items gives the i-th item of each family of structured ids that users have.
var items = []struct {
	name string
	item func(i uint64) []byte
}{
	{"decimal", func(i uint64) []byte { return fmt.Appendf(nil, "%d", i) }},
	{"little-endian", func(i uint64) []byte { return binary.LittleEndian.AppendUint64(nil, i) }},
	{"uuid", func(i uint64) []byte {
		x, y := i*0xDA942042E4DD58B5, (i+1)*0x2545F4914F6CDD1D
		return fmt.Appendf(nil, "%08x-%04x-7%03x-%04x-%012x", x>>32, x>>16&0xFFFF, x&0xFFF, y>>48|0x8000, y&(1<<48-1))
	}},
	{"prefix", func(i uint64) []byte {
		return fmt.Appendf(nil, "https://cdn.example.com/assets/videos/by-owner/0123456789ab/%d", i)
	}},
	{"snowflake", func(i uint64) []byte { return fmt.Appendf(nil, "%d", 1<<62|i) }},
}
