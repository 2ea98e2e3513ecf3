package log

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// segment is a segment file that this process writes.
//
// It has two handles, because vfs allows one write or sync at a time on each:
// the file is written, in the write turn, while another goroutine syncs it, in
// the sync turn.
type segment struct {
	slot uint64
	path string
	base Position // set at the switch that opens the segment

	writer    vfs.File // used in the write turn
	syncer    vfs.File // used in the sync turn
	chunk     int64    // size in which the file grows ahead
	allocated int64    // how far it has grown
	noRoom    error    // why it no longer grows ahead
}

// createSegment makes a segment's file and its first chunk; the caller syncs
// both and the directory.
func createSegment(o Options, slot uint64) (*segment, error) {
	s := &segment{slot: slot, path: o.FS.PathJoin(o.Dir, fileName(slot)), chunk: o.Preallocate}
	var err error
	if s.writer, err = o.FS.OpenReadWrite(s.path, vfs.WriteCategoryUnspecified); err != nil {
		return nil, fmt.Errorf("create segment: %w", err)
	}
	if s.syncer, err = o.FS.OpenReadWrite(s.path, vfs.WriteCategoryUnspecified); err != nil {
		s.close()
		return nil, fmt.Errorf("create segment: %w", err)
	}
	if s.grow(0); s.noRoom != nil {
		o.Logger.Warn("log segment is not preallocated", "file", s.path, "err", s.noRoom)
	}
	return s, nil
}

// offset is where the record at p stands in the file.
func (s *segment) offset(p Position) int64 { return headerSize + int64(p-s.base) }

// writeHeader makes the segment one that has records.
func (s *segment) writeHeader(h header) error {
	_, err := s.writer.WriteAt(h.encode(), 0)
	return err
}

// write puts b at p. vfs allows WriteAt, unlike Write, no change of b.
func (s *segment) write(b []byte, p Position) error {
	_, err := s.writer.WriteAt(b, s.offset(p))
	return err
}

// wantsRoom reports whether less than half a chunk is left behind p.
func (s *segment) wantsRoom(p Position) bool {
	return s.chunk > 0 && s.noRoom == nil && s.allocated-s.offset(p) < s.chunk/2
}

// grow allocates the next chunk of the file and extends its size over it by one
// zero byte at the chunk's end, so that later syncs have no metadata to write.
// It runs in the write turn: end is where the file's records end, and nothing
// can be written behind it meanwhile. A full disk is no failure: the file then
// grows with its records.
func (s *segment) grow(end int64) {
	if s.chunk <= 0 || s.noRoom != nil {
		return
	}
	from := max(s.allocated, end)
	if s.noRoom = s.writer.Preallocate(from, s.chunk); s.noRoom != nil {
		return
	}
	if _, s.noRoom = s.writer.WriteAt([]byte{0}, from+s.chunk-1); s.noRoom == nil {
		s.allocated = from + s.chunk
	}
}

// closeWriter ends writing; the segment can still be synced.
func (s *segment) closeWriter() error { return closeFile(&s.writer) }

func (s *segment) close() error {
	err := closeFile(&s.writer)
	if err2 := closeFile(&s.syncer); err == nil {
		err = err2
	}
	return err
}

func closeFile(f *vfs.File) error {
	if *f == nil {
		return nil
	}
	err := (*f).Close()
	*f = nil
	return err
}
