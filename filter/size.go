package filter

import (
	"fmt"
	"math"
)

const (
	// MinError is the smallest ERROR other than 0. Below it the open width
	// would come to 64 bits, which is what ERROR 0 asks for by name.
	MinError = 1e-12

	// minOpenWidth is the usual width of an open set: the widest that a table
	// holds in four bytes an entry.
	minOpenWidth = 32
	// openItems is how many items a window may hold before its open set alone
	// exceeds its share of the ERROR, and openWindows is up to how many such
	// windows a key may have: four million items in all.
	openItems   = 1 << 20
	openWindows = 4
)

// CheckError tells whether e is an ERROR that a policy may have: 0, which
// keeps whole hashes, or from [MinError] to below 1.
func CheckError(e float64) error {
	if e == 0 && !math.Signbit(e) || e >= MinError && e < 1 {
		return nil
	}
	return fmt.Errorf("filter: ERROR %v is not 0 or from %v to below 1", e, MinError)
}

// Share returns the part of a key's ERROR that each of the windows searched
// for it (at least 1) may use. By the union bound the FPR over all of them
// stays at most ERROR, whatever their sizes.
func Share(e float64, windows int) float64 { return e / float64(max(windows, 1)) }

// OpenWidth returns the width in bits of the sets of a window that is not
// sealed, a constant for a policy: 32, and more where the windows could
// otherwise not hold a million items each (four million a key) within ERROR;
// 64 for an ERROR of 0.
func OpenWidth(e float64, windows int) int {
	if e == 0 {
		return MaxWidth
	}
	items := openItems * float64(min(max(windows, 1), openWindows))
	return min(max(ceilLog2(items/e), minOpenWidth), MaxWidth)
}

// SealedWidth returns the width in bits to which a main set of n fingerprints
// is narrowed when its window is sealed: the smallest at which its FPR,
// n / 2^width, is at most share (see [Share]); 64 for a share of 0. A set that
// is narrower already stays as it is, see [Merger.Narrow].
func SealedWidth(n int, share float64) int {
	if share <= 0 {
		return MaxWidth
	}
	return min(max(ceilLog2(float64(n)/share), 1), MaxWidth)
}

// ceilLog2 is the logarithm of x rounded up, from the exact parts of the
// float; not positive for x <= 1.
func ceilLog2(x float64) int {
	if x <= 1 {
		return 0
	}
	frac, exp := math.Frexp(x) // x = frac * 2^exp, 0.5 <= frac < 1
	if frac == 0.5 {
		return exp - 1
	}
	return exp
}
