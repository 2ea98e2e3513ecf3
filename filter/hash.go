package filter

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// SecretSize is the length of a [Secret] in bytes.
const SecretSize = 16

const (
	// mixPrime is the second multiplier of Mix: 2^64 divided by the golden
	// ratio, as in Knuth's multiplicative hashing. Odd, hence invertible.
	mixPrime = 0x9E3779B97F4A7C15
	// zeroHash stands for a salted hash of 0, so that 0 can mean "no entry"
	// wherever hashes are kept.
	zeroHash = 0xD1B54A32D192ED03
)

// Hash returns the 64-bit hash of an item: xxhash64 with seed 0. It depends
// on the item only, so a batch hashes each candidate once, whatever the key.
func Hash(item []byte) uint64 { return xxhash.Sum64(item) }

// Secret is the random value of one deployment from which the salt of every
// key follows. Without it no stored fingerprint can be asked for.
//
// It decides which items collide under which key. It is no defence against
// crafted ids: xxhash64 has pairs of items that are equal under every seed.
type Secret [SecretSize]byte

// Salt returns the salt of key. Two keys share a salt only if their xxhash64
// is equal, which costs them nothing but the independence of their errors.
func (s Secret) Salt(key []byte) Salt {
	xor := avalanche(xxhash.Sum64(key) ^ binary.LittleEndian.Uint64(s[:8]))
	mul := avalanche(xor + binary.LittleEndian.Uint64(s[8:]))
	return Salt{xor: xor, mul: mul | 1}
}

// Salt turns the hash of an item into its hash under one key, so that an item
// which collides for one user is independent of the collisions of the others.
// A Salt is a small immutable value; the zero Salt is not usable.
type Salt struct {
	xor uint64
	mul uint64 // odd
}

// ID is the salt's identity: a hash of the key that is uniform in all its
// bits, so that it can also place the key in a table.
func (s Salt) ID() uint64 { return s.xor }

// Mix returns the salted hash of an item whose [Hash] is itemHash. It is
// never 0, and apart from that (0 becomes one other constant) a bijection: two
// items collide in all 64 bits only if their Hash does. Every bit of the
// result depends on every bit of itemHash and of the salt.
func (s Salt) Mix(itemHash uint64) uint64 {
	h := itemHash ^ s.xor
	h ^= h >> 32
	h *= s.mul
	h ^= h >> 29
	h *= mixPrime
	h ^= h >> 32
	if h == 0 {
		return zeroHash
	}
	return h
}

// avalanche is the 64-bit finalizer of MurmurHash3 with the constants of
// SplitMix64 (Stafford's variant 13): a bijection in which each input bit
// flips each output bit with a probability of one half.
func avalanche(h uint64) uint64 {
	h ^= h >> 30
	h *= 0xBF58476D1CE4E5B9
	h ^= h >> 27
	h *= 0x94D049BB133111EB
	return h ^ h>>31
}
