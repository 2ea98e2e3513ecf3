package cold

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"

	"github.com/cockroachdb/pebble/v2/objstorage"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// kind is what a row does to those below it.
type kind uint8

const (
	kindMerge  kind = iota // a value to be merged with them
	kindSet                // a value instead of them
	kindDelete             // nothing instead of them
)

// tables writes rows in ascending order into sorted tables in the build
// directory: each of at most about Options.TableBytes, and of one space. It
// belongs to one goroutine. The first error stays; after it call remove.
type tables struct {
	db    *DB
	paths []string // complete, and the current one at the end
	stats Written
	err   error

	table *sstable.Writer // current table, nil: none
	size  int64           // of its rows
	end   []byte          // first row key that may not go into it, nil: none
	last  []byte          // last row key
	buf   []byte          // of files, reused
}

// Written says what a Commit or a rewrite has stored.
type Written struct {
	Rows   uint64
	Bytes  uint64 // of the tables
	Tables int
}

// rowOverhead is about what a row costs beyond its key and value.
const rowOverhead = 8

// add writes a row.
func (t *tables) add(k kind, row, value []byte) error {
	if t.err != nil {
		return t.err
	}
	if t.err = t.write(k, row, value); t.err != nil {
		return t.err
	}
	t.last = append(t.last[:0], row...)
	t.size += int64(len(row) + len(value) + rowOverhead)
	t.stats.Rows++
	return nil
}

func (t *tables) write(k kind, row, value []byte) error {
	if t.stats.Rows > 0 && bytes.Compare(row, t.last) <= 0 {
		return fmt.Errorf("%w: %x does not lie behind %x", ErrOrder, row, t.last)
	}
	if err := t.turn(row); err != nil {
		return err
	}
	switch k {
	case kindMerge:
		return t.table.Merge(row, value)
	case kindSet:
		return t.table.Set(row, value)
	default:
		return t.table.Delete(row)
	}
}

// turn sees to it that row goes into a table that may hold it.
func (t *tables) turn(row []byte) error {
	if t.table != nil && t.size < t.db.opts.TableBytes && (t.end == nil || bytes.Compare(row, t.end) < 0) {
		return nil
	}
	if err := t.complete(); err != nil {
		return err
	}
	return t.begin(row)
}

// begin begins a table.
func (t *tables) begin(row []byte) error {
	d := t.db
	if err := d.checkSpace(uint64(d.opts.TableBytes)); err != nil {
		return err
	}
	fs := d.opts.FS
	path := fs.PathJoin(d.opts.Dir, buildDir, fmt.Sprintf("%06d.sst", d.tables.Add(1)))
	file, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return buildError(err)
	}
	t.paths = append(t.paths, path)
	if t.buf == nil {
		t.buf = make([]byte, 0, fileBuffer)
	}
	out := &tableFile{
		file: vfs.NewSyncingFile(file, vfs.SyncingFileOptions{BytesPerSync: bytesPerSync}),
		buf:  t.buf,
	}
	t.table = sstable.NewWriter(out, d.settings.MakeWriterOptions(0, formatVersion.MaxTableFormat()))
	t.size, t.end = 0, tableEnd(row)
	return nil
}

// complete ends the current table and makes it durable.
func (t *tables) complete() error {
	if t.table == nil {
		return nil
	}
	table := t.table
	t.table = nil
	if err := table.Close(); err != nil {
		return buildError(err)
	}
	meta, err := table.Metadata()
	if err != nil {
		return buildError(err)
	}
	t.stats.Bytes += meta.Size
	t.stats.Tables++
	return nil
}

// finish completes the last table; the tables are then ready to be ingested.
func (t *tables) finish() error {
	if t.err == nil {
		t.err = t.complete()
	}
	if t.err == nil {
		// The rule is twice the tables; once they are on disk already.
		t.err = t.db.checkSpace(t.stats.Bytes)
	}
	return t.err
}

// remove removes the tables, except what Pebble has taken.
func (t *tables) remove() error {
	var err error
	if t.table != nil {
		_ = t.table.Close() // only ends it: the table goes anyhow
		t.table = nil
	}
	for _, path := range t.paths {
		if e := t.db.opts.FS.Remove(path); e != nil && !isNotExist(e) {
			err = errors.Join(err, e)
		}
	}
	t.paths = nil
	return err
}

// buildError tells a full disk by name.
func buildError(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w: building a table: %w", ErrDiskFull, err)
	}
	return fmt.Errorf("cold: building a table: %w", err)
}

const (
	fileBuffer   = 256 << 10
	bytesPerSync = 1 << 20
)

// tableFile is the file of a table that is being written, with a buffer that
// outlives it.
type tableFile struct {
	file vfs.File
	buf  []byte
	err  error
}

var _ objstorage.Writable = (*tableFile)(nil)

// Write is part of objstorage.Writable.
func (f *tableFile) Write(p []byte) error {
	if len(f.buf)+len(p) > cap(f.buf) {
		f.flush()
	}
	if f.err == nil && len(p) > cap(f.buf) {
		_, f.err = f.file.Write(p)
		return f.err
	}
	f.buf = append(f.buf, p...)
	return f.err
}

func (f *tableFile) flush() {
	if f.err == nil && len(f.buf) > 0 {
		_, f.err = f.file.Write(f.buf)
	}
	f.buf = f.buf[:0]
}

// Finish is part of objstorage.Writable.
func (f *tableFile) Finish() error {
	f.flush()
	if f.err == nil {
		f.err = f.file.Sync()
	}
	return errors.Join(f.err, f.file.Close())
}

// Abort is part of objstorage.Writable.
func (f *tableFile) Abort() { _ = f.file.Close() }
