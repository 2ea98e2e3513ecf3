package bench

// The kinds of items, their first byte. What is loaded depends on the key
// alone, not on the seed, so that a later run with --no-load finds it.
const (
	loadedItem = 's' // loaded before the run: seen
	neverItem  = 'n' // a candidate of a check, never added
	freshItem  = 'f' // a candidate of a write, sent once
)

// itemBits leaves room for maxItems numbers a key.
const itemBits = 17

// pairs holds two digits of base 64 for each 12 bits.
var pairs = func() (p [4096][2]byte) {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
	for i := range p {
		p[i] = [2]byte{digits[i>>6], digits[i&63]}
	}
	return p
}()

// putItem writes item n of a kind over the start of dst: the kind and up to
// ten digits. Multiplying by an odd number permutes the numbers below any
// power of two, so items of one kind differ as long as their numbers do
// modulo 2^36 (8 bytes) to 2^60 (11 bytes and more).
func putItem(dst []byte, kind byte, n uint64) {
	dst[0] = kind
	n *= 0x9E3779B97F4A7C15
	for i := 1; i < min(len(dst)-1, 10); i += 2 {
		p := &pairs[n&4095]
		dst[i], dst[i+1] = p[0], p[1]
		n >>= 12
	}
}

// loadedNumber is the number of a key's i-th loaded item.
func loadedNumber(key, i int) uint64 {
	return uint64(key)<<itemBits | uint64(i)
}

// putKey writes the number of a key over the keyDigits bytes of dst.
func putKey(dst []byte, key int) {
	for i := keyDigits - 1; i >= 0; i-- {
		dst[i] = byte('0' + key%10)
		key /= 10
	}
}
