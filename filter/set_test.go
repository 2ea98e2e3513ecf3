package filter

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSetModel: a set answers as a map of fingerprints does, and its bytes are
// the only ones for that content.
func TestSetModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hashes := hashesGen(300).Draw(rt, "hashes")
		width := widthGen().Draw(rt, "width")
		want := newModel(width, hashes)
		s := setOf(t, width, hashes)

		if s.Len() != len(want.prints) || s.Width() != width {
			rt.Fatalf("Len %d, Width %d; want %d, %d", s.Len(), s.Width(), len(want.prints), width)
		}
		if got := len(s.Bytes()); got != EncodedSize(s.Len(), width) {
			rt.Fatalf("%d bytes, EncodedSize says %d", got, EncodedSize(s.Len(), width))
		}
		for _, h := range hashes {
			if !s.Contains(h) {
				rt.Fatalf("false negative for %#x", h)
			}
			for _, near := range []uint64{h + 1, h - 1, h ^ 1<<(64-width), h + 1<<(64-width), ^h, h * mixPrime} {
				if s.Contains(near) != want.contains(near) {
					rt.Fatalf("Contains(%#x) = %v", near, s.Contains(near))
				}
			}
		}
		decoded := mustHashes(t, s)
		for i, h := range want.sorted() {
			if decoded[i] != h {
				rt.Fatalf("fingerprint %d is %#x, want %#x", i, decoded[i], h)
			}
		}
		if again := AppendSet(nil, width, decoded); !bytes.Equal(again, s.Bytes()) {
			rt.Fatalf("encoded again:\n%x, first\n%x", again, s.Bytes())
		}
	})
}

// TestSetCrowded: fingerprints that crowd into few buckets, with a directory.
func TestSetCrowded(t *testing.T) {
	for _, n := range []int{1, 2, 127, 128, 129, 255, 256, 257, 1000, 65535, 65536, 65537} {
		for _, width := range []int{17, 32, 57, 58, 63, 64} {
			hashes := make([]uint64, n)
			for i := range hashes {
				hashes[i] = uint64(i) << (64 - width)
				if i > n/2 {
					hashes[i] |= 1 << 63
				}
			}
			sorted := slices.Compact(slices.Sorted(slices.Values(hashes)))
			s := mustParse(t, AppendSet(nil, width, sorted))
			if got := mustHashes(t, s); !slices.Equal(got, sorted) {
				t.Fatalf("n %d, width %d: decoded %d of %d", n, width, len(got), len(sorted))
			}
			for i := range uint64(1000) {
				h := (uint64(n)/2 - 500 + i) << (64 - width)
				_, want := slices.BinarySearch(sorted, h)
				if s.Contains(h) != want || i < uint64(n) && !s.Contains(hashes[i]) {
					t.Fatalf("n %d, width %d: Contains(%#x) = %v", n, width, h, s.Contains(h))
				}
			}
		}
	}
}

// TestSetBehindOtherBytes: a set is queried where it lies; other bytes before
// and behind it change nothing.
func TestSetBehindOtherBytes(t *testing.T) {
	hashes := randomHashes(1, 50)
	want := newModel(16, hashes)
	encoded := setOf(t, 16, hashes).Bytes()
	for _, other := range []byte{0x00, 0xFF} {
		around := bytes.Repeat([]byte{other}, 11)
		s, rest, err := Parse(slices.Concat(around, encoded, around)[len(around):])
		if err != nil || !bytes.Equal(rest, around) {
			t.Fatalf("%d bytes left, %v", len(rest), err)
		}
		if got := mustHashes(t, s); !slices.Equal(got, want.sorted()) {
			t.Fatalf("decoded %x", got)
		}
		for _, h := range append(hashes, randomHashes(2, 50_000)...) {
			if s.Contains(h) != want.contains(h) {
				t.Fatalf("Contains(%#x) = %v", h, s.Contains(h))
			}
		}
	}
}

func TestAppendSetRefusesMistakes(t *testing.T) {
	for name, call := range map[string]func(){
		"unsorted": func() { AppendSet(nil, 32, []uint64{2, 1}) },
		"width 0":  func() { AppendSet(nil, 0, nil) },
		"width 65": func() { AppendSet(nil, 65, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

// TestZeroSet: the zero value is an empty set.
func TestZeroSet(t *testing.T) {
	var s Set
	if s.Len() != 0 || s.Contains(0) || s.Contains(1<<64-1) {
		t.Fatal("not empty")
	}
}
