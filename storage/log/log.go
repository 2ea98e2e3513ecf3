// Package log is the append-only record log that makes the hot layer durable:
// a segment file a slot, checksummed records, group commit, recovery. It knows
// nothing of keys and items; a record's payload is opaque. FORMAT.md describes
// the bytes on disk.
package log

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Log is an open log. All methods may be called from any goroutine.
//
// Append copies the record into a buffer under mu and returns; mu is never held
// during I/O. Wait makes it durable. The I/O itself is done by those who wait,
// one for all (see committer): `writes` moves the buffer to the file, `syncs`
// calls `writes` and then fdatasync. Both have turns: whoever has the write
// turn is the only one to write to a segment, whoever has the sync turn the
// only one to sync. In EverySec and No a Wait takes only the write turn, so a
// slow sync does not hold it up. Handing everything to one writer goroutine
// instead would cost two goroutine switches a commit where nobody shares it.
//
// Two goroutines belong to the log, from Open to Close: syncLoop (sealed
// segments; in EverySec the open one each second) and growLoop (preallocation
// ahead of need).
//
// Order of locks: rolling, sync turn, write turn, mu. The mutexes within
// committers are held for no other lock.
type Log struct {
	opts   Options
	dir    vfs.File
	opened time.Time

	writes committer // reached: written to the file
	syncs  committer // reached: on disk

	beginSync func() (Position, error) // writeAndMark, bound once
	syncing   syncing                  // of the sync turn

	failure atomic.Pointer[FailedError]
	end     atomic.Uint64 // Position; changed with mu held
	oldest  atomic.Int64  // clock reading at the oldest unsynced byte, 0: none; changed with mu held

	rolling sync.Mutex // one Roll, Release or Close at a time

	mu        sync.Mutex // guards all below
	gather    gather
	open      *segment   // changed in the write turn
	sealing   []*segment // sealed and not yet synced, oldest first
	files     []file     // sealed segments on disk, oldest first
	records   uint64
	syncCount uint64
	closed    bool

	stop     chan struct{}
	appended chan struct{} // wakes syncLoop: the first unsynced byte
	sealed   chan struct{} // wakes syncLoop: a segment was sealed
	grow     chan struct{} // wakes growLoop
	loops    sync.WaitGroup
}

// file is a sealed segment on disk.
type file struct {
	slot  uint64
	bytes int64 // header and records
}

// Apply repeats a record: its slot, the position after it (what Append
// answered for it), and its payload, which is not to be kept.
type Apply func(slot uint64, end Position, payload []byte) error

// Open replays the log in o.Dir through apply, in the order of its records, and
// begins the segment of a new slot. The slot given to apply is the one whose
// segment holds the record; payload is valid only during the call. An error of
// apply ends Open with nothing changed on disk.
//
// A torn tail, which a crash leaves, is cut, with one warning. Records that
// were synced and are unreadable make a *DamageError, with nothing changed on
// disk, unless o.AcceptDamage is set.
func Open(o Options, apply Apply) (*Log, Recovery, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, Recovery{}, err
	}
	began := time.Now()
	dir, err := openDir(o)
	if err != nil {
		return nil, Recovery{}, fmt.Errorf("log: %w", err)
	}
	r := &recovery{opts: o, dir: dir, apply: apply}
	open, err := r.run()
	if err != nil {
		return nil, r.result, errors.Join(fmt.Errorf("log: open %s: %w", o.Dir, err), dir.Close())
	}
	r.result.Duration = time.Since(began)
	return start(o, dir, open, r.files), r.result, nil
}

// openDir makes the log's directory if need be and opens it for syncing.
func openDir(o Options) (vfs.File, error) {
	if err := o.FS.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	if err := syncDir(o.FS, o.FS.PathDir(o.Dir)); err != nil {
		return nil, err
	}
	return o.FS.OpenDir(o.Dir)
}

func syncDir(fs vfs.FS, path string) error {
	d, err := fs.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func start(o Options, dir vfs.File, open *segment, files []file) *Log {
	l := &Log{
		opts: o, dir: dir, opened: time.Now(), open: open, files: files,
		gather:   gather{from: open.base, sum: newHeaderSum(open.slot)},
		stop:     make(chan struct{}),
		appended: make(chan struct{}, 1),
		sealed:   make(chan struct{}, 1),
		grow:     make(chan struct{}, 1),
	}
	l.end.Store(uint64(open.base))
	l.beginSync = l.writeAndMark
	l.writes.init(l.writeGathered, open.base)
	l.syncs.init(l.syncWritten, open.base)
	l.loops.Add(2)
	go l.syncLoop()
	go l.growLoop()
	return l
}

// Slot returns the open slot.
func (l *Log) Slot() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open.slot
}

// End returns the position after the last appended record.
func (l *Log) End() Position { return Position(l.end.Load()) }

// Close writes and syncs everything and ends the log's goroutines. Appends that
// come later are refused; a second Close does nothing.
func (l *Log) Close() error {
	l.rolling.Lock()
	defer l.rolling.Unlock()
	if l.refuseAppends() {
		return nil
	}
	close(l.stop)
	l.loops.Wait()
	err := l.syncs.now()
	if err == nil {
		err = l.nothingLeft()
	}
	return errors.Join(err, l.closeFiles())
}

func (l *Log) refuseAppends() (already bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	already, l.closed = l.closed, true
	return already
}

// nothingLeft is what Close asserts: nothing is in memory only.
func (l *Log) nothingLeft() error {
	if synced := l.syncs.at(); synced != l.End() {
		return fmt.Errorf("log: closed with %d bytes not on disk", l.End()-synced)
	}
	return nil
}

func (l *Log) closeFiles() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.dir.Close()
	for _, s := range append(l.sealing, l.open) {
		err = errors.Join(err, s.close())
	}
	return err
}
