package log

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// killed returns the files of a log whose process was killed after it wrote n
// records that nothing states as synced, with their positions.
func killed(t *testing.T, n int) (files, []rec) {
	fs := vfs.NewCrashableMem()
	o := testOptions(fs, No)
	o.Preallocate = -1 // the file ends with its last record
	l, _, _ := mustOpen(t, o)
	var all []rec
	for i := range n {
		all = append(all, write(t, l, numbered(i, 9+i*7%500)))
	}
	snapshot := readFiles(t, fs)
	must(t, l.Close())
	return snapshot, all
}

// TestTornTail shortens the newest segment (B072): every complete record is
// kept, with one warning, and the next start finds nothing to warn of.
func TestTornTail(t *testing.T) {
	all, recs := killed(t, 60)
	name := fileName(1)
	size := len(all[name])
	var cuts []int
	for n := range 65 {
		cuts = append(cuts, n)
	}
	for _, n := range append(cuts, 4096, size-headerSize-1, size-headerSize) {
		torn := all.clone()
		torn[name] = torn[name][:size-n]
		testTorn(t, fmt.Sprintf("cut %d", n), torn, complete(recs, int64(size-n)))
	}
}

// TestTornTailOverwritten fills the end with zeros and with garbage instead.
func TestTornTailOverwritten(t *testing.T) {
	all, recs := killed(t, 60)
	name := fileName(1)
	size := len(all[name])
	for _, filler := range []byte{0, 0xa5} {
		for _, n := range []int{1, 7, 8, 20, 64, 600, 4096} {
			torn := all.clone()
			for i := size - n; i < size; i++ {
				torn[name][i] = filler
			}
			want := complete(recs, int64(size-n))
			if m := len(want); filler != 0 && headerSize+int64(recs[m-1].end) > int64(size-n) {
				want = want[:m-1] // its padding was hit
			}
			testTorn(t, fmt.Sprintf("%d bytes of %#x", n, filler), torn, want)
		}
	}
}

// payloadEnd is where the payload of record i ends in the sequence.
func payloadEnd(recs []rec, i int) int64 {
	begin := int64(0)
	if i > 0 {
		begin = int64(recs[i-1].end)
	}
	return begin + recordHeaderSize + int64(len(recs[i].payload))
}

// complete returns the records whose payload lies before offset in the first
// segment.
func complete(recs []rec, offset int64) []rec {
	n := 0
	for n < len(recs) && headerSize+payloadEnd(recs, n) <= offset {
		n++
	}
	return recs[:n]
}

func testTorn(t *testing.T, name string, torn files, want []rec) {
	t.Helper()
	var warned warnings
	o := testOptions(torn.on(t), Always)
	o.Logger = warned.logger()
	l, got, r, err := open(o)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !sameRecords(got, want) {
		t.Fatalf("%s: recovered %d of %d complete records", name, len(got), len(want))
	}
	if (r.Cut == nil) != (warned.count() == 0) || warned.count() > 1 {
		t.Fatalf("%s: cut %+v with the warnings %s", name, r.Cut, &warned)
	}
	more := write(t, l, []byte("more"))
	must(t, l.Close())

	warned.Reset()
	l, got, r = mustOpen(t, o)
	if !sameRecords(got, append(want[:len(want):len(want)], more)) {
		t.Fatalf("%s: second start recovered %d records", name, len(got))
	}
	if r.Cut != nil || warned.count() != 0 {
		t.Fatalf("%s: second start cut %+v: %s", name, r.Cut, &warned)
	}
	must(t, l.Close())
}

// TestCutGarbageIsNoDamage: a hole before unsynced good records is cut, and the
// good records behind it are not taken up again, even if the hole comes back.
func TestCutGarbageIsNoDamage(t *testing.T) {
	all, recs := killed(t, 60)
	name := fileName(1)
	hole := headerSize + int(recs[29].end)
	torn := all.clone()
	clear(torn[name][hole : hole+100])

	fs := torn.on(t)
	l, got, r := mustOpen(t, testOptions(fs, Always))
	if len(got) != 30 || r.Cut == nil || r.Cut.Offset != int64(hole) || r.Cut.Position != recs[29].end {
		t.Fatalf("recovered %d, cut %+v", len(got), r.Cut)
	}
	more := []rec{write(t, l, []byte("one")), write(t, l, []byte("two"))}
	must(t, l.Close())

	back := readFiles(t, fs)
	back[name] = all[name]
	l, got, r = mustOpen(t, testOptions(back.on(t), Always))
	if !sameRecords(got, append(recs[:30:30], more...)) || r.Cut != nil {
		t.Fatalf("recovered %v, cut %+v", got, r.Cut)
	}
	must(t, l.Close())
}

// holed returns the files of three segments, none of which states anything as
// synced, with a hole in the first behind its first record.
func holed(t *testing.T) (all files, first rec) {
	all = files{}
	var base Position
	for slot, payloads := range [][]string{1: {"first", "second"}, 2: {"third"}, 3: {"fourth"}} {
		if slot == 0 {
			continue
		}
		b := header{slot: uint64(slot), base: base, previousSlot: uint64(slot - 1)}.encode()
		sum := newHeaderSum(uint64(slot))
		for _, s := range payloads {
			b = sum.appendRecord(b, base, 0, []byte(s), crcOf(s))
			base += Position(recordSize(len(s)))
		}
		all[fileName(uint64(slot))] = b
	}
	l, got, _ := mustOpen(t, testOptions(all.on(t), Always))
	if len(got) != 4 {
		t.Fatalf("recovered %v before the hole", got)
	}
	must(t, l.Close())
	first = rec{slot: 1, payload: []byte("first"), end: Position(recordSize(5))}
	clear(all[fileName(1)][headerSize+int(first.end):])
	return all, first
}

// TestCutAcrossSegments: a hole in an unsynced sealed segment cuts the later
// segments too, and their slots are not used again.
func TestCutAcrossSegments(t *testing.T) {
	all, first := holed(t)
	var warned warnings
	o := testOptions(all.on(t), Always)
	o.Logger = warned.logger()
	l, got, r := mustOpen(t, o)
	if !sameRecords(got, []rec{first}) || l.Slot() != 4 || r.LastSlot != 3 || l.End() != first.end {
		t.Fatalf("recovered %v, %+v, slot %d", got, r, l.Slot())
	}
	if r.Cut == nil || r.Cut.Segments != 2 || r.Cut.Position != first.end || r.Cut.Bytes == 0 {
		t.Fatalf("cut %+v", r.Cut)
	}
	if warned.count() != 1 || !strings.Contains(warned.String(), "torn tail") {
		t.Fatalf("warned %s", &warned)
	}
	must(t, l.Close())
}

// TestCrashDuringCut cuts the power at each operation of such a recovery.
func TestCrashDuringCut(t *testing.T) {
	all, first := holed(t)
	rng := newRand(t)
	for _, percent := range []int{0, 50, 50, 50, 50, 100} {
		for at := int64(0); ; at++ {
			c := &camera{mem: all.on(t), percent: percent, rng: rng, at: at}
			l, _, _ := mustOpen(t, testOptions(c.fs(), Always))
			must(t, l.Close())
			if c.scene == nil {
				break
			}
			c.scene.acked = 1
			c.scene.check(t, fmt.Sprintf("%d %%, operation %d", percent, at), []rec{first})
		}
	}
}

// TestCrashAtCreation: the newest file is empty, short, zeros or torn.
func TestCrashAtCreation(t *testing.T) {
	all, recs := killed(t, 10)
	h := header{slot: 2, base: recs[9].end, previousSlot: 1}.encode()
	for name, b := range map[string][]byte{
		"empty": {}, "short": h[:20], "one byte": {0}, "zeros": make([]byte, 8192),
		"torn": append(h[:40:40], make([]byte, 8192)...),
	} {
		for _, before := range []files{all, {}} {
			torn := before.clone()
			torn[fileName(2)] = b
			l, got, r, err := open(testOptions(torn.on(t), Always))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(got) != 10*len(before) || l.Slot() != 3 || r.LastSlot != 2 {
				t.Errorf("%s: recovered %d, slot %d", name, len(got), l.Slot())
			}
			must(t, l.Close())
		}
	}
}

func TestForeignFilesAreNamed(t *testing.T) {
	all, _ := killed(t, 3)
	all["notes.txt"] = []byte("hello")
	all["0000000000000002.log.bak"] = nil
	fs := all.on(t)
	_, _, _, err := open(testOptions(fs, Always))
	if err == nil || !strings.Contains(err.Error(), "notes.txt") || !strings.Contains(err.Error(), ".bak") {
		t.Fatalf("error: %v", err)
	}
	if !readFiles(t, fs).equal(all) {
		t.Fatal("the directory was changed")
	}
}

func TestRenamedFileIsRefused(t *testing.T) {
	all, _ := killed(t, 3)
	all[fileName(4)] = all[fileName(1)]
	delete(all, fileName(1))
	if _, _, _, err := open(testOptions(all.on(t), Always)); err == nil || !strings.Contains(err.Error(), "renamed") {
		t.Fatalf("error: %v", err)
	}
}

func TestApplyErrorChangesNothing(t *testing.T) {
	all, _ := killed(t, 10)
	fs := all.on(t)
	_, r, err := Open(testOptions(fs, Always), func(slot uint64, _ Position, payload []byte) error {
		if payload[0] == 5 {
			return fmt.Errorf("no such policy")
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "no such policy") || r.Records != 5 {
		t.Fatalf("%+v, %v", r, err)
	}
	if !readFiles(t, fs).equal(all) {
		t.Fatal("the directory was changed")
	}
}

// TestRestartsLeaveNoFiles: segments without records do not pile up.
func TestRestartsLeaveNoFiles(t *testing.T) {
	all, _ := killed(t, 3)
	fs := all.on(t)
	for i := range 5 {
		l, got, _ := mustOpen(t, testOptions(fs, Always))
		if len(got) != 3 || l.Slot() != uint64(2+i) || len(readFiles(t, fs)) != 2 {
			t.Fatalf("start %d: %d records, slot %d, files %d", i, len(got), l.Slot(), len(readFiles(t, fs)))
		}
		must(t, l.Close())
	}
}

// TestPositionsOutliveReleasedSegments: all records are stored and released.
func TestPositionsOutliveReleasedSegments(t *testing.T) {
	fs := vfs.NewCrashableMem()
	o := testOptions(fs, EverySec)
	l, _, _ := mustOpen(t, o)
	last := write(t, l, []byte("stored"))
	mustRoll(t, l)
	must(t, l.Release(1))
	clone := crash(fs, 0, nil)
	must(t, l.Close())
	o.FS, o.StoredSlot = clone, 1
	l, got, _ := mustOpen(t, o)
	if len(got) != 0 || l.End() != last.end || l.Slot() != 3 {
		t.Fatalf("recovered %v, position %d, slot %d", got, l.End(), l.Slot())
	}
	must(t, l.Close())
}
