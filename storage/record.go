package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A record is one accepted command, or one MULTI/EXEC: its time and its
// operations, each with the key, the version of the policy it was decided
// under, and the decision itself. Applying the records in order gives the
// same state everywhere; nothing in them depends on who applies them. The
// bytes are described in FORMAT.md.
type op struct {
	kind   opKind
	policy uint64
	key    []byte
	hashes []uint64 // opPlay: salted
	items  [][]byte // opDeliver, opForget
	layers Layer    // opForget
}

type opKind byte

const (
	opPlay    opKind = 1
	opDeliver opKind = 2
	opForget  opKind = 3
)

// MaxRecord is the greatest size of a record in bytes.
const MaxRecord = 64 << 20

var errRecord = errors.New("malformed record")

func appendRecordTime(dst []byte, now int64) []byte {
	return binary.AppendUvarint(dst, uint64(now))
}

func appendOp(dst []byte, kind opKind, policy uint64, key []byte) []byte {
	dst = append(dst, byte(kind))
	dst = binary.AppendUvarint(dst, policy)
	return appendBytes(dst, key)
}

func appendBytes(dst, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

func appendHashes(dst []byte, hashes []uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(hashes)))
	for _, h := range hashes {
		dst = binary.LittleEndian.AppendUint64(dst, h)
	}
	return dst
}

func appendItems(dst []byte, items [][]byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(items)))
	for _, item := range items {
		dst = appendBytes(dst, item)
	}
	return dst
}

// recordReader takes a record apart. What it hands out are views of the
// record, and slices that it uses again for the next operation.
type recordReader struct {
	b      []byte
	err    error
	hashes []uint64
	items  [][]byte
}

// begin starts with a record and returns its time.
func (r *recordReader) begin(b []byte) int64 {
	r.b, r.err = b, nil
	return int64(r.uvarint())
}

// next reads one operation; ok is false at the end and after an error.
func (r *recordReader) next() (o op, ok bool) {
	if r.err != nil || len(r.b) == 0 {
		return op{}, false
	}
	o.kind = opKind(r.b[0])
	r.b = r.b[1:]
	o.policy = r.uvarint()
	o.key = r.bytes(MaxKey)
	switch o.kind {
	case opPlay:
		o.hashes = r.readHashes()
	case opDeliver:
		o.items = r.readItems()
	case opForget:
		o.layers = Layer(r.byte())
		o.items = r.readItems()
	default:
		r.fail(fmt.Errorf("%w: unknown operation %d; a newer version may have written it", errRecord, o.kind))
	}
	return o, r.err == nil
}

func (r *recordReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *recordReader) byte() byte {
	if len(r.b) == 0 {
		r.fail(errRecord)
		return 0
	}
	b := r.b[0]
	r.b = r.b[1:]
	return b
}

func (r *recordReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail(errRecord)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *recordReader) bytes(limit uint64) []byte {
	n := r.uvarint()
	if n > limit || n > uint64(len(r.b)) {
		r.fail(errRecord)
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *recordReader) readHashes() []uint64 {
	n := r.uvarint()
	if n > uint64(len(r.b)/8) {
		r.fail(errRecord)
		return nil
	}
	r.hashes = r.hashes[:0]
	for range n {
		r.hashes = append(r.hashes, binary.LittleEndian.Uint64(r.b))
		r.b = r.b[8:]
	}
	return r.hashes
}

func (r *recordReader) readItems() [][]byte {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail(errRecord)
		return nil
	}
	r.items = r.items[:0]
	for range n {
		r.items = append(r.items, r.bytes(MaxItem))
	}
	return r.items
}
