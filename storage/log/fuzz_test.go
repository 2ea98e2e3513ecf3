package log

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FuzzRecordReader reads any bytes as a segment's records, in order and by
// scanning: no panic, no record beyond the bytes, and what is read is what
// writing it again gives.
func FuzzRecordReader(f *testing.F) {
	sum := newHeaderSum(7)
	var good []byte
	for _, s := range []string{"x", "a longer record", "the third"} {
		good = sum.appendRecord(good, 64+Position(len(good)), 64, []byte(s), crcOf(s))
	}
	f.Add(good, uint64(64))
	f.Add(good[:len(good)-3], uint64(64))
	f.Add(append(bytes.Clone(good[:32]), good[24:]...), uint64(64))
	f.Add([]byte{0, 0, 0, 0, 255, 255, 255, 255}, uint64(0))
	f.Add(bytes.Repeat([]byte{1, 0, 0, 0}, 20), uint64(1<<62))
	f.Fuzz(func(t *testing.T, b []byte, base uint64) {
		file := append(make([]byte, headerSize), b...)
		base = base % maxPosition &^ (alignment - 1)
		rr := &recordReader{
			window: window{file: bytes.NewReader(file), size: int64(len(file))},
			sum:    newHeaderSum(7), base: Position(base), limit: maxPosition, end: -1,
		}
		check := newHeaderSum(7)
		err := rr.scan(headerSize, func(off int64, r record) bool {
			again := check.appendRecord(nil, r.position, r.synced, r.payload, crcOf(string(r.payload)))
			have := file[off:min(off+r.size, int64(len(file)))]
			if !bytes.HasPrefix(again, have) || len(r.payload) > len(file) || r.synced > r.position {
				t.Fatalf("read %+v at %d", r, off)
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzOpen opens a directory of one intact and one arbitrary segment: it ends
// with an error or a log, the intact records are never lost, and the log that
// comes out can be opened again.
func FuzzOpen(f *testing.F) {
	sum := newHeaderSum(1)
	first := sum.appendRecord(header{slot: 1}.encode(), 0, 0, []byte("intact"), crcOf("intact"))
	end := Position(recordSize(6))
	second := header{slot: 2, base: end, previousSlot: 1}.encode()
	sum = newHeaderSum(2)
	for _, s := range []string{"x", "a longer record"} {
		pos := end + Position(len(second)-headerSize)
		second = sum.appendRecord(second, pos, end, []byte(s), crcOf(s))
	}
	f.Add(second)
	f.Add(second[:90])
	f.Add(second[:30])
	f.Add([]byte{})
	f.Add(append(make([]byte, headerSize), second[headerSize:]...))
	f.Fuzz(func(t *testing.T, b []byte) {
		fs := files{fileName(1): first, fileName(2): b}.on(t)
		var o Options
		for _, accept := range []bool{false, true} {
			o = Options{FS: fs, Dir: "log", Fsync: No, Preallocate: -1, AcceptDamage: accept}
			l, got, _, err := open(o)
			if err != nil {
				continue
			}
			if len(got) == 0 || string(got[0].payload) != "intact" {
				t.Fatalf("recovered %v", got)
			}
			must(t, l.Close())
			o.AcceptDamage = false
			o.FS = vfs.FS(fs)
			l, again, _ := mustOpen(t, o)
			must(t, l.Close())
			if !sameRecords(got, again) {
				t.Fatalf("recovered %v, then %v", got, again)
			}
			return
		}
	})
}
