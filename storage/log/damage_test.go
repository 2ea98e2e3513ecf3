package log

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// synced returns the files of a log of three segments, all on disk, and where
// each record stands. Every record was synced before the next was appended.
func synced(t *testing.T) (files, []rec) {
	fs := vfs.NewCrashableMem()
	o := testOptions(fs, Always)
	o.Preallocate = 1 << 10
	l, _, _ := mustOpen(t, o)
	var all []rec
	for i := range 12 {
		all = append(all, write(t, l, numbered(i, 8+i*3)))
		if i%4 == 3 && i < 11 {
			mustRoll(t, l)
		}
	}
	must(t, l.Close())
	return readFiles(t, fs), all
}

// TestFlippedByteIsDamage flips each byte before the last position that a
// record states as synced: it is always found, never a shorter log.
func TestFlippedByteIsDamage(t *testing.T) {
	all, recs := synced(t)
	base := Position(0)
	for slot := uint64(1); slot <= 3; slot++ {
		name := fileName(slot)
		end := recs[4*slot-1].end
		stated := end
		if slot == 3 { // nothing states the last record as synced
			stated = recs[10].end
		}
		for off := 0; off < headerSize+int(stated-base); off++ {
			for _, mask := range []byte{0x01, 0xff} {
				bad := all.clone()
				bad[name][off] ^= mask
				testDamage(t, fmt.Sprintf("byte %d of %s ^ %#x", off, name, mask), bad, name, recs, lostAt(recs, slot, base, off))
			}
		}
		base = end
	}
}

// TestFlippedByteAfterRestart: the header that a start writes states all before
// it as synced, so that the last record is safe too.
func TestFlippedByteAfterRestart(t *testing.T) {
	all, recs := synced(t)
	fs := all.on(t)
	l, _, _ := mustOpen(t, testOptions(fs, No))
	must(t, l.Close())
	all = readFiles(t, fs)
	name, base := fileName(3), recs[7].end
	for off := headerSize + int(recs[10].end-base); off < headerSize+int(recs[11].end-base); off++ {
		bad := all.clone()
		bad[name][off] ^= 0x40
		testDamage(t, fmt.Sprintf("byte %d of %s", off, name), bad, name, recs, 11)
	}
}

// lostAt is the index of the record that holds the byte, or -1.
func lostAt(recs []rec, slot uint64, base Position, off int) int {
	if off < headerSize {
		return -1
	}
	for i, r := range recs {
		if r.slot == slot && Position(off-headerSize) < r.end-base {
			return i
		}
	}
	return -1
}

// testDamage expects damage in file name, and without record lost everything
// else if it is accepted, at this start and the next.
func testDamage(t *testing.T, what string, bad files, name string, recs []rec, lost int) {
	t.Helper()
	fs := bad.on(t)
	o := testOptions(fs, Always)
	o.Preallocate = 1 << 10
	_, _, _, err := open(o)
	var damage *DamageError
	if !errors.As(err, &damage) {
		t.Fatalf("%s: %v", what, err)
	}
	if !strings.HasSuffix(damage.File, name) || damage.ProofFile == "" || !strings.Contains(err.Error(), "--accept-damage") {
		t.Fatalf("%s: %+v: %v", what, damage, err)
	}
	if !readFiles(t, fs).equal(bad) {
		t.Fatalf("%s: the directory was changed", what)
	}
	want := recs
	if lost >= 0 {
		want = append(recs[:lost:lost], recs[lost+1:]...)
	}
	o.AcceptDamage = true
	acceptDamage(t, what, o, want)
	o.AcceptDamage = false
	acceptDamage(t, what+", next start", o, append(want[:len(want):len(want)], rec{slot: 4, payload: []byte("more")}))
}

func acceptDamage(t *testing.T, what string, o Options, want []rec) {
	t.Helper()
	var warned warnings
	o.Logger = warned.logger()
	l, got, r, err := open(o)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	want = relabel(want, got)
	if !sameRecords(got, want) || r.Lost == nil || r.Lost.Stretches != 1 || warned.count() == 0 {
		t.Fatalf("%s: recovered %v of %v, lost %+v", what, got, want, r.Lost)
	}
	write(t, l, []byte("more"))
	must(t, l.Close())
}

// relabel gives the last record the slot that it got: which slot is open after
// a start depends on the start.
func relabel(want, got []rec) []rec {
	if len(want) == 0 || len(got) != len(want) {
		return want
	}
	want = append([]rec(nil), want...)
	want[len(want)-1].slot = got[len(got)-1].slot
	return want
}

// TestNewDamageAfterAccepted: accepting covers what was lost then, no more.
func TestNewDamageAfterAccepted(t *testing.T) {
	all, recs := synced(t)
	all[fileName(1)][headerSize+8] ^= 1
	fs := all.on(t)
	o := testOptions(fs, Always)
	o.AcceptDamage = true
	l, _, _ := mustOpen(t, o)
	must(t, l.Close())
	o.AcceptDamage = false
	l, got, _ := mustOpen(t, o)
	must(t, l.Close())
	if len(got) != len(recs)-1 {
		t.Fatalf("recovered %d", len(got))
	}
	all = readFiles(t, fs)
	all[fileName(2)][headerSize+8] ^= 1
	o.FS = all.on(t)
	var damage *DamageError
	if _, _, _, err := open(o); !errors.As(err, &damage) || !strings.HasSuffix(damage.File, fileName(2)) {
		t.Fatalf("error: %v", err)
	}
}

func TestMissingSegmentIsDamage(t *testing.T) {
	all, recs := synced(t)
	for slot := uint64(1); slot <= 2; slot++ {
		bad := all.clone()
		delete(bad, fileName(slot))
		o := testOptions(bad.on(t), Always)
		var damage *DamageError
		if _, _, _, err := open(o); !errors.As(err, &damage) || !damage.Missing || !strings.HasSuffix(damage.File, fileName(slot)) {
			t.Fatalf("without segment %d: %v", slot, err)
		}
		o.AcceptDamage = true
		l, got, r := mustOpen(t, o)
		if len(got) != 8 || r.Lost == nil || r.Lost.Bytes != uint64(lengthOf(recs, slot)) {
			t.Fatalf("without segment %d: recovered %v, lost %+v", slot, got, r.Lost)
		}
		must(t, l.Close())
	}
}

func lengthOf(recs []rec, slot uint64) Position {
	if slot == 1 {
		return recs[3].end
	}
	return recs[4*slot-1].end - recs[4*slot-5].end
}

func TestStoredSegmentsAreNotRead(t *testing.T) {
	all, recs := synced(t)
	all[fileName(1)][headerSize+8] ^= 1
	for _, missing := range []bool{false, true} {
		if missing {
			delete(all, fileName(1))
		}
		fs := all.on(t)
		o := testOptions(fs, Always)
		o.StoredSlot = 1
		l, got, _ := mustOpen(t, o)
		if !sameRecords(got, recs[4:]) || readFiles(t, fs)[fileName(1)] != nil {
			t.Fatalf("recovered %v", got)
		}
		must(t, l.Close())
	}
}

func TestSegmentsOfTwoLogs(t *testing.T) {
	all, _ := synced(t)
	all[fileName(9)] = header{slot: 9}.encode()
	_, _, _, err := open(testOptions(all.on(t), Always))
	if err == nil || !strings.Contains(err.Error(), "not of one log") {
		t.Fatalf("error: %v", err)
	}
}

// TestClaimPastItself: a record that states more than what was before it as
// synced is none.
func TestClaimPastItself(t *testing.T) {
	sum := newHeaderSum(1)
	for _, test := range []struct {
		synced Position
		ok     bool
	}{{0, true}, {80, true}, {81, false}, {1 << 40, false}} {
		b := sum.appendRecord(nil, 80, test.synced, []byte("x"), crcOf("x"))
		if _, ok := sum.parse(b, 80); ok != test.ok {
			t.Errorf("synced %d at 80: %v", test.synced, ok)
		}
		if _, ok := sum.parse(b, 88); ok {
			t.Error("a record was valid at another place")
		}
		other := newHeaderSum(2)
		if _, ok := other.parse(b, 80); ok {
			t.Error("a record was valid in another segment")
		}
	}
}

// TestHeaderAndFirstRecordLost: where the segment begins follows from its
// neighbours then.
func TestHeaderAndFirstRecordLost(t *testing.T) {
	all, recs := synced(t)
	for slot := uint64(1); slot <= 3; slot++ {
		bad := all.clone()
		clear(bad[fileName(slot)][40 : headerSize+24])
		o := testOptions(bad.on(t), Always)
		o.AcceptDamage = true
		lost := int(slot-1) * 4
		want := append(recs[:lost:lost], recs[lost+1:]...)
		acceptDamage(t, fmt.Sprintf("segment %d", slot), o, want)
		o.AcceptDamage = false
		acceptDamage(t, fmt.Sprintf("segment %d, next start", slot), o, append(want, rec{slot: 4, payload: []byte("more")}))
	}
}
