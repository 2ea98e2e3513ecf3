package filter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// maxGrowth is how many bytes of memory decoding may take for a byte of input.
const maxGrowth = 64

// FuzzParse: whatever the bytes, nothing panics, memory stays in proportion,
// and a set whose content decodes is encoded again to the same bytes.
func FuzzParse(f *testing.F) {
	for _, n := range []int{0, 1, 2, 5, 20, 129, 300} {
		for _, width := range []int{9, 20, 32, 64} {
			f.Add(setOf(f, width, randomHashes(uint64(n), n)).Bytes())
		}
	}
	f.Add([]byte{tag(kindForeignSalt), 32, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, rest, err := Parse(b)
		if err != nil {
			return
		}
		if len(s.Bytes())+len(rest) != len(b) || EncodedSize(s.Len(), s.Width()) != len(s.Bytes()) {
			t.Fatalf("%d bytes of set and %d behind, of %d", len(s.Bytes()), len(rest), len(b))
		}
		for _, h := range []uint64{0, 1, 1 << 63, 1<<64 - 1, 0x5555 << 48, mixPrime} {
			s.Contains(h)
		}
		hashes, err := s.AppendHashes(nil)
		if cap(hashes)*8 > maxGrowth*len(b) {
			t.Fatalf("%d bytes for %d of input", cap(hashes)*8, len(b))
		}
		block := make([]byte, TableSizeOf([]Set{s}))
		built := BuildTable(block, []Set{s})
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if built != nil {
			t.Fatal("table from a good set:", built)
		}
		table := OpenTable(block)
		for _, h := range hashes {
			if !s.Contains(h) || !table.Contains(h) {
				t.Fatalf("false negative for %#x", h)
			}
		}
		if again := AppendSet(nil, s.Width(), hashes); !bytes.Equal(again, s.Bytes()) {
			t.Fatalf("encoded again:\n%x, first\n%x", again, s.Bytes())
		}
	})
}

// FuzzParseRow: the same for the value of a row; and merging it with another
// row never fails, and never hides that it cannot be read.
func FuzzParseRow(f *testing.F) {
	row := StartRow(nil)
	f.Add(row)
	row = AppendWindow(row, Label{Number: 671}, 32, []uint64{1 << 40, 1 << 50})
	f.Add(row)
	row = AppendWindow(row, Label{Number: 671, Cut: 1764547200000, Part: Late}, 20, []uint64{1 << 45})
	f.Add(row)
	for _, bad := range unreadable {
		f.Add(bad)
		f.Add(mergeRows(row, bad, row))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		row, err := ParseRow(nil, value)
		if err == nil && !bytes.Equal(AppendRow(nil, row), value) {
			t.Fatalf("encoded again:\n%x, first\n%x", AppendRow(nil, row), value)
		}
		merged := mergeRows(value)
		if again := mergeRows(merged); !bytes.Equal(again, merged) {
			t.Fatalf("merged again:\n%x, first\n%x", again, merged)
		}
		if err != nil && !errors.Is(err, ErrBundle) && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrForeignSalt) {
			t.Fatal("not one of our errors:", err)
		}
		if _, after := ParseRow(nil, merged); err != nil && !errors.Is(err, ErrBundle) && after == nil {
			t.Fatal("merging hid", err)
		}
		other := AppendWindow(StartRow(nil), Label{Number: 671}, 64, []uint64{1, 2})
		if !bytes.Equal(mergeRows(other, value, other), mergeRows(mergeRows(other, value), other)) {
			t.Fatal("not associative")
		}
	})
}

// TestForgedHeaders: a header that promises what the bytes do not hold is an
// error at once, and takes no memory (FAULTS B078).
func TestForgedHeaders(t *testing.T) {
	good := setOf(t, 20, randomHashes(1, 300)).Bytes()
	header := func(kind, width byte, n uint64) []byte {
		b := binary.AppendUvarint([]byte{kind, width}, n)
		return append(b, good[4:]...)
	}
	cases := map[string][]byte{
		"nothing":              {},
		"kind alone":           {tag(kindSet)},
		"no n":                 {tag(kindSet), 20},
		"n cut":                {tag(kindSet), 20, 0x80},
		"n not shortest":       {tag(kindSet), 20, 0x80, 0x00},
		"n of 11 bytes":        append([]byte{tag(kindSet), 20}, bytes.Repeat([]byte{0xFF}, 11)...),
		"kind 0":               header(0, 20, 300),
		"a row":                header(tag(kindRow), 20, 300),
		"a newer version":      header(tag(kindSet)+1, 20, 300),
		"a foreign salt":       header(tag(kindForeignSalt), 20, 300),
		"width 0":              header(tag(kindSet), 0, 300),
		"width 65":             header(tag(kindSet), 65, 300),
		"width 255":            header(tag(kindSet), 255, 300),
		"more than width":      header(tag(kindSet), 8, 300),
		"one more":             good[:len(good)-1],
		"cut in the directory": good[:5],
	}
	for _, n := range []uint64{1 << 20, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 62, 1 << 63, 1<<64 - 1} {
		for _, width := range []byte{1, 20, 32, 33, 63, 64} {
			b := header(tag(kindSet), width, n)
			cases[string(binary.AppendUvarint([]byte{'n', width}, n))] = b
		}
	}
	for name, b := range cases {
		var err error
		allocated := testing.AllocsPerRun(1, func() { _, _, err = Parse(b) })
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrForeignSalt) {
			t.Errorf("%q: %v", name, err)
		}
		if allocated > 20 { // an error is made of some; the race detector adds a few
			t.Errorf("%q: %v allocations", name, allocated)
		}
	}
}

// TestDamagedContent: whatever byte is changed, nothing panics, and what still
// decodes is in its only form.
func TestDamagedContent(t *testing.T) {
	for _, n := range []int{1, 5, 100, 300, 3000} {
		good := setOf(t, 18, randomHashes(1, n)).Bytes()
		step := 1 + len(good)/300
		for at := 0; at < len(good); at += step {
			for _, flip := range []byte{0x01, 0x80, 0xFF} {
				b := bytes.Clone(good)
				b[at] ^= flip
				s, _, err := Parse(b)
				if err != nil {
					continue
				}
				for _, h := range randomHashes(2, 20) {
					s.Contains(h)
				}
				hashes, err := s.AppendHashes(nil)
				if err == nil && !bytes.Equal(AppendSet(nil, s.Width(), hashes), s.Bytes()) {
					t.Fatalf("n %d, byte %d ^ %#x: another form was accepted", n, at, flip)
				}
				_ = BuildTable(make([]byte, TableSizeOf([]Set{s})), []Set{s})
			}
		}
	}
}
