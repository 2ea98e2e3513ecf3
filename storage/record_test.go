package storage

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"dedupd/filter"
	"dedupd/storage/policy"
)

// readRecord is the record as a list of operations with copies of what they
// refer to.
func readRecord(b []byte) (now int64, ops []op, err error) {
	var r recordReader
	now = r.begin(b)
	for {
		o, ok := r.next()
		if !ok {
			return now, ops, r.err
		}
		o.hashes = slices.Clone(o.hashes)
		o.items = slices.Clone(o.items)
		ops = append(ops, o)
	}
}

func writeRecord(now int64, ops []op) []byte {
	b := appendRecordTime(nil, now)
	for _, o := range ops {
		b = appendOp(b, o.kind, o.policy, o.key)
		switch o.kind {
		case opPlay:
			b = appendWindow(b, o.window)
			b = appendHashes(b, o.hashes)
		case opDeliver:
			b = appendItems(b, o.items)
		case opForget:
			b = append(b, byte(o.layers))
			b = appendUvarint(b, uint64(o.end))
			b = appendItems(b, o.items)
		}
	}
	return b
}

func TestRecordRoundTrip(t *testing.T) {
	want := []op{
		{kind: opPlay, key: []byte("home:42"), window: window{class: 3, part: filter.Late, label: policy.Label{Number: 1 << 40, Cut: 1 << 41}}, hashes: []uint64{1, 1 << 63, 77}},
		{kind: opDeliver, policy: 300, key: []byte{}, items: [][]byte{{}, []byte("b"), bytes.Repeat([]byte{0, '\r', '\n', 255}, 1000)}},
		{kind: opForget, key: bytes.Repeat([]byte("k"), MaxKey), layers: All, end: 1 << 41, items: list("x")},
	}
	now, got, err := readRecord(writeRecord(1234567890123, want))
	if err != nil || now != 1234567890123 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %d %+v %v", now, got, err)
	}
}

// TestRecordBytes pins the format: a change of it needs a new format version.
func TestRecordBytes(t *testing.T) {
	got := writeRecord(1000, []op{{kind: opPlay, policy: 2, key: []byte("k"), hashes: []uint64{0x0102}}, {kind: opForget, key: []byte("k"), layers: Played, items: list("i")}})
	want := []byte{0xe8, 7, 1, 2, 1, 'k', 0, 0, 0, 0, 1, 2, 1, 0, 0, 0, 0, 0, 0, 3, 0, 1, 'k', 1, 0, 1, 1, 'i'}
	if !bytes.Equal(got, want) {
		t.Errorf("got  % x\nwant % x", got, want)
	}
}

// FuzzRecord feeds the reader what no writer wrote: it must end, without
// panicking and without taking lengths on trust, and what it accepts must
// mean the same when it is written again.
func FuzzRecord(f *testing.F) {
	f.Add(writeRecord(1, []op{{kind: opPlay, key: []byte("k"), hashes: []uint64{1, 2}}}))
	f.Add(writeRecord(1, []op{{kind: opDeliver, key: []byte("k"), items: list("a", "")}}))
	f.Add(writeRecord(1, []op{{kind: opForget, key: []byte("k"), layers: All, items: list("a")}}))
	f.Add([]byte{1, 1, 0, 1, 'k', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{1, 9, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		now, ops, err := readRecord(b)
		if err != nil {
			return
		}
		again, same, err := readRecord(writeRecord(now, ops))
		if err != nil || again != now || !reflect.DeepEqual(ops, same) {
			t.Errorf("%d %+v became %d %+v (%v)", now, ops, again, same, err)
		}
	})
}
