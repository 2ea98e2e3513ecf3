package filter

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"testing"
)

// TestHashGolden: these values are on the disks of every deployment; they must
// never change.
func TestHashGolden(t *testing.T) {
	cases := []struct {
		secret      Secret
		key, item   string
		hash, mixed uint64
	}{
		{Secret{}, "", "", 0xef46db3751d8e999, 0xf7d8d584635d8147},
		{testSecret, "home:42", "v1", 0x7f99ec72f8645bac, 0x74f48abfa853a3b4},
		{testSecret, "home:43", "v1", 0x7f99ec72f8645bac, 0x04f51ed19a227d6e},
		{testSecret, "home:42", "v2", 0xef2e2ff5318ceacb, 0xf0584e2c71e6c89b},
		{testSecret, "home:42", "https://cdn.example.com/assets/videos/0123456789abcdef.mp4", 0x6ea6c4f54e378b58, 0xac3aeef391cf2b95},
	}
	for _, c := range cases {
		hash := Hash([]byte(c.item))
		mixed := c.secret.Salt([]byte(c.key)).Mix(hash)
		if hash != c.hash || mixed != c.mixed {
			t.Errorf("key %q, item %q: hash %#016x, mixed %#016x; want %#016x, %#016x", c.key, c.item, hash, mixed, c.hash, c.mixed)
		}
	}
}

// TestMixIsInvertible: Mix has an inverse, so it joins no two hashes; and the
// hash that would give 0 gives the constant.
func TestMixIsInvertible(t *testing.T) {
	salt := testSecret.Salt([]byte("home:42"))
	for _, h := range append(randomHashes(1, 1000), 0, 1, 1<<64-1) {
		if got := unmix(salt, salt.Mix(h)); got != h {
			t.Fatalf("%#x mixed and back is %#x", h, got)
		}
	}
	if got := salt.Mix(unmix(salt, 0)); got != zeroHash {
		t.Fatalf("the hash of 0 is %#x", got)
	}
}

// unmix is the inverse of Mix, but for 0.
func unmix(s Salt, h uint64) uint64 {
	h ^= h >> 32
	h *= inverse(mixPrime)
	h ^= h>>29 ^ h>>58
	h *= inverse(s.mul)
	h ^= h >> 32
	return h ^ s.xor
}

// inverse of an odd number modulo 2^64, by Newton's method.
func inverse(a uint64) uint64 {
	x := a
	for range 6 {
		x *= 2 - a*x
	}
	return x
}

// TestMixAvalanche: each bit of the hash flips each bit of the result in about
// half of the cases, and so does each bit of the key's hash through the salt.
func TestMixAvalanche(t *testing.T) {
	const samples = 4000
	limit := samples/2 - 6*math.Sqrt(samples)/2 // six sigma of a fair coin
	flips := func(name string, flip func(x uint64, bit int) uint64) {
		for bit := range 64 {
			var counts [64]int
			for _, x := range randomHashes(uint64(bit), samples) {
				for d := flip(x, bit); d != 0; d &= d - 1 {
					counts[bits.TrailingZeros64(d)]++
				}
			}
			for out, n := range counts {
				if float64(n) < limit || float64(n) > samples-limit {
					t.Errorf("%s: bit %d flips bit %d in %d of %d", name, bit, out, n, samples)
				}
			}
		}
	}
	salt := testSecret.Salt([]byte("home:42"))
	flips("hash", func(x uint64, bit int) uint64 { return salt.Mix(x) ^ salt.Mix(x^1<<bit) })
	flips("secret", func(x uint64, bit int) uint64 {
		other := testSecret
		other[bit/8] ^= 1 << (bit % 8)
		other[8+bit/8] ^= 1 << (bit % 8)
		key := binary.LittleEndian.AppendUint64(nil, x)
		return testSecret.Salt(key).Mix(5) ^ other.Salt(key).Mix(5)
	})
}

// TestMixSpreadsStructuredIDs: in 4,096 cells by the upper bits, items of each
// family, and keys of each family, fall as evenly as random numbers do.
func TestMixSpreadsStructuredIDs(t *testing.T) {
	const cells, perCell = 4096, 32
	for _, family := range items {
		var byItem, byKey, byID [cells]int
		salt := testSecret.Salt([]byte("home:42"))
		item := Hash([]byte("v1"))
		for i := range uint64(cells * perCell) {
			byItem[salt.Mix(Hash(family.item(i)))>>52]++
			key := testSecret.Salt(family.item(i))
			byKey[key.Mix(item)>>52]++
			byID[key.ID()>>52]++
		}
		for name, counts := range map[string][cells]int{"items": byItem, "keys": byKey, "ids of keys": byID} {
			chi := 0.0
			for _, n := range counts {
				chi += float64((n-perCell)*(n-perCell)) / perCell
			}
			// Chi-squared with 4,095 degrees of freedom is normal enough.
			if z := (chi - (cells - 1)) / math.Sqrt(2*(cells-1)); math.Abs(z) > 5 {
				t.Errorf("%s, %s: %.1f sigma from even", family.name, name, z)
			}
		}
	}
}

// TestSaltsAreIndependent: a pair of items that collides in its upper 12 bits
// under one key does so under another as often as any other pair.
func TestSaltsAreIndependent(t *testing.T) {
	const keys = 20_000
	salts := make([]Salt, keys)
	for i := range salts {
		salts[i] = testSecret.Salt(fmt.Appendf(nil, "home:%d", i))
	}
	pairs := [][2]uint64{{1, 2}, {0, 1 << 63}, {0, 1 << 32}, {0xFFFF, 0xFFFF << 48}, {Hash([]byte("1")), Hash([]byte("2"))}}
	// Pairs that collide under the first key, too.
	for d := uint64(1); len(pairs) < 25; d++ {
		a := salts[0].Mix(d)
		pairs = append(pairs, [2]uint64{d, unmix(salts[0], a^d%1000<<20)})
	}
	for _, p := range pairs {
		same := 0
		for _, s := range salts {
			if (s.Mix(p[0])^s.Mix(p[1]))>>52 == 0 {
				same++
			}
		}
		mean := float64(keys) / 4096
		if math.Abs(float64(same)-mean) > 5*math.Sqrt(mean)+1 {
			t.Errorf("%#x and %#x collide under %d of %d keys, %.1f expected", p[0], p[1], same, keys, mean)
		}
	}
}
