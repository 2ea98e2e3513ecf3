package filter

import (
	"math"
	"testing"
)

func TestCheckError(t *testing.T) {
	for _, e := range []float64{0, MinError, 0.001, 0.5, math.Nextafter(1, 0)} {
		if err := CheckError(e); err != nil {
			t.Error(err)
		}
	}
	for _, e := range []float64{
		math.Copysign(0, -1), -1, 1, 2, 10.1, 1e-13, 1e-300, math.SmallestNonzeroFloat64,
		math.NaN(), math.Inf(1), math.Inf(-1), -0.001,
	} {
		if CheckError(e) == nil {
			t.Errorf("ERROR %v was accepted", e)
		}
	}
}

func TestOpenWidth(t *testing.T) {
	for _, c := range []struct {
		e       float64
		windows int
		want    int
	}{
		{0, 3, 64}, {0.001, 3, 32}, {0.001, 1, 32}, {0.001, 30, 32}, {0.01, 3, 32}, {0.99, 1, 32},
		{0.0001, 1, 34}, {0.0001, 3, 35}, {0.0001, 30, 36}, {MinError, 1, 60}, {MinError, 1000, 62}, {0.001, 0, 32},
	} {
		if got := OpenWidth(c.e, c.windows); got != c.want {
			t.Errorf("OpenWidth(%v, %d) = %d, want %d", c.e, c.windows, got, c.want)
		}
	}
}

// TestSealedWidth: the smallest width that keeps the share, for every size.
func TestSealedWidth(t *testing.T) {
	for _, share := range []float64{0.99, 0.5, 0.25, 0.001 / 3, 1e-12} {
		for _, n := range []int{0, 1, 2, 3, 7, 8, 9, 1000, 1 << 20, 1<<32 - 1} {
			q := SealedWidth(n, share)
			if q < 1 || q > MaxWidth {
				t.Fatalf("SealedWidth(%d, %v) = %d", n, share, q)
			}
			fpr := func(q int) float64 { return math.Ldexp(float64(n), -q) }
			if q < MaxWidth && fpr(q) > share || q > 1 && fpr(q-1) <= share {
				t.Errorf("SealedWidth(%d, %v) = %d: FPR %g", n, share, q, fpr(q))
			}
		}
	}
	if q := SealedWidth(100, 0); q != MaxWidth {
		t.Errorf("share 0: %d", q)
	}
}

// TestShare: the shares of all windows together are the ERROR.
func TestShare(t *testing.T) {
	for _, windows := range []int{1, 3, 30} {
		if sum := Share(0.001, windows) * float64(windows); sum > 0.001*(1+1e-12) {
			t.Errorf("%d windows: %v", windows, sum)
		}
	}
	if Share(0, 3) != 0 || Share(0.5, 0) != 0.5 {
		t.Error("edges")
	}
}
