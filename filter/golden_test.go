package filter

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/golden.txt")

// TestGolden: the bytes of the format, one value a line. A change here is a
// change of the format and needs a new version.
func TestGolden(t *testing.T) {
	const file = "testdata/golden.txt"
	var got bytes.Buffer
	line := func(name string, value []byte) { fmt.Fprintf(&got, "%s: %x\n", name, value) }
	some := []uint64{1, 1 << 32, 1 << 59, 1<<59 + 1<<58, 3 << 62, 1<<64 - 1}

	line("empty set, width 32", AppendSet(nil, 32, nil))
	line("one fingerprint, width 8", AppendSet(nil, 8, []uint64{0xAB << 56}))
	line("one fingerprint, width 64", AppendSet(nil, 64, []uint64{0x0123456789ABCDEF}))
	line("six hashes, width 1", AppendSet(nil, 1, some))
	line("six hashes, width 7", AppendSet(nil, 7, some))
	line("six hashes, width 32", AppendSet(nil, 32, some))
	line("six hashes, width 64", AppendSet(nil, 64, some))
	line("150 hashes, width 12, directory", setOf(t, 12, randomHashes(1, 150)).Bytes())

	row := StartRow(nil)
	line("row of nothing", row)
	row = AppendWindow(row, Label{Number: -1}, 8, []uint64{1 << 56})
	row = AppendWindow(row, Label{Number: 671}, 8, []uint64{2 << 56})
	row = AppendWindow(row, Label{Number: 671, Part: Late}, 16, []uint64{3 << 56, 4 << 56})
	row = AppendWindow(row, Label{Number: 671, Cut: 1764547200000}, 8, []uint64{5 << 56})
	row = AppendWindow(row, Label{Number: 671, Cut: 1764547200000, Part: Late}, 8, []uint64{6 << 56})
	line("row of five sets", row)
	line("bundle with a set under a foreign salt", mergeRows(row[:1], AppendWindow(StartRow(nil), Label{Number: 1}, 8, some[:1]), []byte{tag(kindForeignSalt), 0xFF}))

	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := bytes.Split(got.Bytes(), []byte("\n")), bytes.Split(want, []byte("\n"))
	if !slices.EqualFunc(gotLines, wantLines, bytes.Equal) {
		for i := range min(len(gotLines), len(wantLines)) {
			if !bytes.Equal(gotLines[i], wantLines[i]) {
				t.Errorf("got  %s\nwant %s", gotLines[i], wantLines[i])
			}
		}
		t.Errorf("%d lines, want %d", len(gotLines), len(wantLines))
	}
}
