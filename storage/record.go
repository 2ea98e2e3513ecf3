package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"dedupd/filter"
	"dedupd/storage/policy"
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
	window window   // opPlay
	hashes []uint64 // opPlay: salted
	end    int64    // opForget: until when the removed list hides the items
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

var (
	errRecord = errors.New("malformed record")
	errRow    = errors.New("malformed row")
)

func appendRecordTime(dst []byte, now int64) []byte {
	return binary.AppendUvarint(dst, uint64(now))
}

func appendUvarint(dst []byte, v uint64) []byte { return binary.AppendUvarint(dst, v) }

func appendOp(dst []byte, kind opKind, policy uint64, key []byte) []byte {
	dst = append(dst, byte(kind))
	dst = binary.AppendUvarint(dst, policy)
	return appendBytes(dst, key)
}

func appendBytes(dst, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

func appendWindow(dst []byte, w window) []byte {
	dst = append(dst, byte(w.class), byte(w.part))
	dst = binary.AppendUvarint(dst, uint64(w.label.Number))
	return binary.AppendUvarint(dst, uint64(w.label.Cut))
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
	now := int64(r.uvarint())
	if r.err == nil && len(r.b) == 0 {
		r.fail(fmt.Errorf("%w: no operation", errRecord))
	}
	return now
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
		o.window = r.readWindow()
		o.hashes = r.readHashes()
	case opDeliver:
		o.items = r.readItems()
	case opForget:
		o.layers = Layer(r.byte())
		if o.layers == 0 || o.layers&^All != 0 {
			r.fail(fmt.Errorf("%w: layers %d", errRecord, o.layers))
		}
		o.end = int64(r.uvarint())
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

func (r *recordReader) uint64() uint64 {
	if len(r.b) < 8 {
		r.fail(errRecord)
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

// ended is the error of what was read, or of what was left over.
func (r *recordReader) ended() error {
	if r.err == nil && len(r.b) > 0 {
		return errRow
	}
	return r.err
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

func (r *recordReader) readWindow() window {
	w := window{class: policy.ClassID(r.byte()), part: filter.Part(r.byte())}
	w.label.Number = int64(r.uvarint())
	w.label.Cut = int64(r.uvarint())
	if w.part > filter.Late || w.label.Number < 0 || w.label.Cut < 0 {
		r.fail(errRecord)
	}
	return w
}

func (r *recordReader) readHashes() []uint64 {
	n := r.uvarint()
	if n > uint64(len(r.b)/8) {
		r.fail(errRecord)
		return nil
	}
	r.hashes = r.hashes[:0]
	for range n {
		h := binary.LittleEndian.Uint64(r.b)
		if h == 0 {
			r.fail(fmt.Errorf("%w: a salted hash is never 0", errRecord))
			return nil
		}
		r.hashes = append(r.hashes, h)
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
		item := r.bytes(MaxItem)
		if r.err != nil {
			return nil
		}
		r.items = append(r.items, item)
	}
	return r.items
}
