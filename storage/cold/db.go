package cold

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// DB is an open cold layer. All methods may be called from any goroutine; after
// Close they answer ErrClosed.
//
// Reads take no lock that is held during I/O. Whatever changes rows (a Commit, a
// drop, a rewrite) holds `changing` for the time in which the rows must not
// change under it: so no slot slips between the read and the write of a rewrite.
// Order of locks: changing, then Pebble's.
type DB struct {
	opts     Options
	pebble   *pebble.DB
	settings *pebble.Options // with which tables are written
	cache    *pebble.Cache
	fatal    *fatal
	events   *events
	guard    guard

	changing sync.Mutex

	stored atomic.Uint64 // highest stored slot
	tables atomic.Uint64 // names tables while they are built
	last   atomic.Pointer[Stats]
}

// Open opens the store in o.Dir, or creates it. A directory that holds something
// else, or a format that this version cannot read, is refused with ErrForeign
// and left as it is; one that another process uses is refused too.
func Open(o Options) (*DB, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := inspect(o.FS, o.Dir); err != nil {
		return nil, err
	}
	d := &DB{opts: o, fatal: newFatal(o.OnFatal, o.Logger)}
	fs := &pebbleFS{FS: o.FS, fatal: d.fatal}
	schedule := newScheduler(d.hasSpace, d.fatal.raised)
	d.events = &events{log: o.Logger, schedule: schedule}
	d.settings = o.pebbleOptions(d.fatal, d.events, schedule)
	d.cache = pebble.NewCache(o.CacheBytes)
	d.settings.Cache, d.settings.FS = d.cache, fs
	if err := d.open(); err != nil {
		schedule.Unregister()
		d.cache.Unref()
		return nil, fmt.Errorf("cold: open %s: %w", o.Dir, err)
	}
	if err := d.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("cold: open %s: %w", o.Dir, err), d.Close())
	}
	return d, nil
}

// open opens Pebble.
func (d *DB) open() error {
	return d.fatal.run(func() (err error) {
		d.pebble, err = pebble.Open(d.opts.Dir, d.settings)
		return err
	})
}

// begin brings an opened store up to date.
func (d *DB) begin() error {
	if err := clearBuild(d.opts.FS, d.opts.Dir); err != nil {
		return err
	}
	if err := d.loadStored(); err != nil {
		return err
	}
	d.fatal.opened.Store(true)
	return d.fatal.failed()
}

func (d *DB) loadStored() error {
	s := d.Snapshot()
	defer s.Close()
	value, found, err := s.get(storedKey, nil)
	if err != nil {
		return fmt.Errorf("reading the highest stored slot: %w", err)
	}
	if found && len(value) != 8 {
		return fmt.Errorf("the row of the highest stored slot has %d bytes", len(value))
	}
	if found {
		d.stored.Store(binary.LittleEndian.Uint64(value))
	}
	return nil
}

// StoredSlot is the highest slot that is stored, 0 if none is.
func (d *DB) StoredSlot() uint64 { return d.stored.Load() }

// Err is why nothing can be stored any more, a FatalError, or nil.
func (d *DB) Err() error { return d.fatal.failed() }

// Close waits for all calls and snapshots to end and closes the store. After a
// FatalError there is nothing that could be closed: it returns that error, and
// the directory stays locked until the process ends.
func (d *DB) Close() error {
	if !d.guard.close() {
		return ErrClosed
	}
	defer d.cache.Unref()
	if err := d.fatal.run(d.pebble.Close); err != nil {
		return fmt.Errorf("cold: close %s: %w", d.opts.Dir, err)
	}
	return nil
}

// change calls op as the only one that changes rows.
func (d *DB) change(op func() error) error {
	if err := d.guard.enter(); err != nil {
		return err
	}
	defer d.guard.leave()
	d.changing.Lock()
	defer d.changing.Unlock()
	if err := d.fatal.failed(); err != nil {
		return err
	}
	return op()
}

// checkSpace refuses to go on unless the reserve and so many bytes more are
// free.
func (d *DB) checkSpace(bytes uint64) error {
	free, ok, err := freeSpace(d.opts.FS, d.opts.Dir)
	if err != nil || !ok {
		return err
	}
	if need := bytes + uint64(d.opts.ReserveBytes); free < need {
		return &DiskFullError{Need: need, Free: free}
	}
	return nil
}

// hasSpace reports whether the reserve is free.
func (d *DB) hasSpace() bool { return !errors.Is(d.checkSpace(0), ErrDiskFull) }
