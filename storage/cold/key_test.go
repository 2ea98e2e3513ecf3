package cold

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestKeyBytes holds the bytes of row keys: testdata/keys.
func TestKeyBytes(t *testing.T) {
	datadriven.RunTest(t, "testdata/keys", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			f := strings.Fields(line)
			fmt.Fprintln(&out, describe(t, d.Cmd, f))
		}
		return out.String()
	})
}

func describe(t *testing.T, cmd string, f []string) string {
	number := func(i int) int64 {
		v, err := strconv.ParseInt(f[i], 10, 64)
		must(t, err)
		return v
	}
	switch cmd {
	case "group":
		return fmt.Sprintf("%s: slot %d, group %d", f[0], hashSlot([]byte(f[0])), Group([]byte(f[0])))
	case "system":
		return spaced(appendSystemKey(nil, strings.Join(f, " ")))
	case "meta":
		return spaced(Meta().appendKey(nil, []byte(f[0])))
	case "delivered":
		return spaced(Delivered(number(0), number(1)).appendKey(nil, []byte(f[2])))
	case "data":
		row := Data(uint8(number(0)), number(1)).appendKey(nil, []byte(f[2]))
		return spaced(row) + " | table ends at " + spaced(tableEnd(row))
	}
	t.Fatalf("unknown command %s", cmd)
	return ""
}

func spaced(b []byte) string { return fmt.Sprintf("% x", b) }

func TestNumbersKeepTheirOrder(t *testing.T) {
	rng := newRand(t)
	values := []int64{0, 1, 255, 256, 65535, 65536, 1 << 40, 1<<40 + 1, math.MaxInt64 - 1, math.MaxInt64}
	for range 1000 {
		values = append(values, rng.Int64()>>rng.IntN(63))
	}
	for _, a := range values {
		encoded := appendNumber(nil, a)
		if got, rest, ok := parseNumber(append(encoded, 'x')); got != a || !ok || string(rest) != "x" {
			t.Fatalf("%d: read back as %d, %q, %v", a, got, rest, ok)
		}
		b := values[rng.IntN(len(values))]
		if (a < b) != (bytes.Compare(encoded, appendNumber(nil, b)) < 0) {
			t.Fatalf("%d and %d do not keep their order", a, b)
		}
	}
	for _, bad := range [][]byte{nil, {1}, {9, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {8, 255, 0, 0, 0, 0, 0, 0, 0}} {
		if v, _, ok := parseNumber(bad); ok {
			t.Errorf("% x is read as %d", bad, v)
		}
	}
}

// TestSpacesAreRanges: the rows of a space are exactly those between its prefix
// and the successor of that, and spaces are read back from rows.
func TestSpacesAreRanges(t *testing.T) {
	rng := newRand(t)
	random := func() Space {
		block := []int64{0, 1, 254, 255, 256, 65535, 1 << 40, math.MaxInt64}[rng.IntN(8)]
		switch rng.IntN(3) {
		case 0:
			return Meta()
		case 1:
			return Delivered([]int64{0, 255, 600_000, 1 << 40}[rng.IntN(4)], block)
		default:
			return Data([]uint8{0, 1, 254, 255}[rng.IntN(4)], block)
		}
	}
	for range 5000 {
		a, b := random(), random()
		key := randomKey(rng)
		row := b.appendKey(nil, key)
		if s, rest, ok := parseSpace(row); !ok || s != b || !bytes.Equal(rest[1:], key) || rest[0] != Group(key) {
			t.Fatalf("%+v %q is read back as %+v, % x", b, key, s, rest)
		}
		prefix := a.appendPrefix(nil)
		in := bytes.Compare(row, prefix) >= 0 && bytes.Compare(row, successor(prefix)) < 0
		if in != (a == b) {
			t.Fatalf("row % x of %+v in %+v: %v", row, b, a, in)
		}
		if end := tableEnd(row); !bytes.Equal(end, successor(b.appendPrefix(nil))) {
			t.Fatalf("a table with % x ends at % x", row, end)
		}
	}
}

func randomKey(rng *rand.Rand) []byte {
	key := make([]byte, rng.IntN(12))
	for i := range key {
		key[i] = byte(rng.UintN(256)) | byte(rng.UintN(2)*255)
	}
	return key
}

func TestGroupsCoverTheSlots(t *testing.T) {
	for slot := range hashSlots {
		if g := slot * Groups / hashSlots; g >= Groups {
			t.Fatalf("slot %d is in group %d", slot, g)
		}
	}
	if crc := crc16([]byte("123456789")); crc != 0x31c3 {
		t.Fatalf("CRC16 is %x", crc)
	}
}
