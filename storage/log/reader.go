package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const windowSize = 1 << 20

// window reads a file through a buffer that moves along with the reader.
type window struct {
	file  io.ReaderAt
	size  int64
	start int64 // of buf in the file
	buf   []byte
}

// bytes returns n bytes at off, which must lie within the file. They are valid
// until the next call.
func (w *window) bytes(off int64, n int) ([]byte, error) {
	if off < w.start || off+int64(n) > w.start+int64(len(w.buf)) {
		if err := w.fill(off, n); err != nil {
			return nil, err
		}
	}
	return w.buf[off-w.start:][:n], nil
}

func (w *window) fill(off int64, n int) error {
	want := int(min(int64(max(n, windowSize)), w.size-off))
	if cap(w.buf) < want {
		w.buf = make([]byte, want)
	}
	w.start, w.buf = off, w.buf[:want]
	read, err := w.file.ReadAt(w.buf, off)
	if read == want {
		return nil
	}
	w.buf = w.buf[:0]
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %d bytes at offset %d: %w", want, off, err)
}

// recordReader reads the records of one segment. A record is readable at an
// offset or it is not: whatever makes it unreadable (zeros, the file's end, a
// failed check) is the same. Errors are those of reading the file.
type recordReader struct {
	window window
	sum    headerSum
	base   Position
	limit  Position // where the sequence leaves this segment
	end    int64    // offset behind the file's last byte that is not zero; -1: not looked up
}

// record is a readable record.
type record struct {
	position Position
	synced   Position
	payload  []byte // valid until the reader's next use
	size     int64  // in the file, padding included
}

func (r *recordReader) position(off int64) Position {
	return r.base + Position(off-headerSize)
}

// at returns the record at off, if it is readable. Nothing is believed before
// it is checked: the header's bounds and checksum, then that the record lies
// within the file and the segment's part of the sequence, then the payload and
// its padding. What a shortened file lacks of the padding is taken for zeros.
func (r *recordReader) at(off int64) (record, bool, error) {
	if off+recordHeaderSize > r.window.size {
		return record{}, false, nil
	}
	b, err := r.window.bytes(off, recordHeaderSize)
	if err != nil {
		return record{}, false, err
	}
	pos := r.position(off)
	h, ok := r.sum.parse(b, pos)
	size := recordSize(h.length)
	payloadEnd := off + recordHeaderSize + int64(h.length)
	if !ok || payloadEnd > r.window.size || pos+Position(size) > r.limit {
		return record{}, false, nil
	}
	b, err = r.window.bytes(off, int(min(size, r.window.size-off)))
	if err != nil {
		return record{}, false, err
	}
	payload, padding := b[recordHeaderSize:payloadEnd-off], b[payloadEnd-off:]
	if trimZeros(padding) > 0 || crc32.Checksum(payload, castagnoli) != h.sum {
		return record{}, false, nil
	}
	return record{position: pos, synced: h.synced, payload: payload, size: size}, true, nil
}

// scan calls visit for each readable record from off on, wherever it begins,
// until visit returns false.
func (r *recordReader) scan(off int64, visit func(off int64, rec record) bool) error {
	end, err := r.contentEnd()
	for err == nil && off < end {
		var rec record
		var ok bool
		if rec, ok, err = r.at(off); !ok {
			off += alignment
			continue
		}
		if !visit(off, rec) {
			return nil
		}
		off += rec.size
	}
	return err
}

// contentEnd returns the offset behind the file's last byte that is not zero.
func (r *recordReader) contentEnd() (int64, error) {
	if r.end >= 0 {
		return r.end, nil
	}
	end := r.window.size
	for end > 0 {
		begin := max(0, end-windowSize)
		b, err := r.window.bytes(begin, int(end-begin))
		if err != nil {
			return 0, err
		}
		if n := trimZeros(b); n > 0 {
			end = begin + int64(n)
			break
		}
		end = begin
	}
	r.end = end
	return end, nil
}

// trimZeros returns the length of b without the zeros at its end.
func trimZeros(b []byte) int {
	n := len(b)
	for n >= 8 && binary.LittleEndian.Uint64(b[n-8:n]) == 0 {
		n -= 8
	}
	for n > 0 && b[n-1] == 0 {
		n--
	}
	return n
}

// found is a segment file that recovery found.
type found struct {
	slot   uint64
	path   string
	size   int64
	intact bool // its header is readable
	header header

	// base is known from the header, from the header of the segment behind it,
	// or from a record that is readable under it.
	base      Position
	baseKnown bool

	records uint64 // readable ones of the sequence
	file    vfs.File
}

// probe reads the header of the segment in file name.
func probe(o Options, slot uint64, name string) (*found, error) {
	f := &found{slot: slot, path: o.FS.PathJoin(o.Dir, name)}
	file, err := o.FS.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	f.size = info.Size()
	w := window{file: file, size: min(f.size, headerSize)}
	b, err := w.bytes(0, int(w.size))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	if f.header, f.intact, err = decodeHeader(b); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	if f.intact && f.header.slot != slot {
		return nil, fmt.Errorf("%s holds the segment of slot %d: a file was renamed", f.path, f.header.slot)
	}
	f.base, f.baseKnown = f.header.base, f.intact
	return f, nil
}

// end is where the file's room for records ends.
func (f *found) end() Position {
	room := Position(max(0, f.size-headerSize))
	return f.base + (room+alignment-1)&^(alignment-1)
}
