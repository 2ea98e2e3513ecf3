package cold

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Snapshot is the store at one instant: slots, drops and rewrites that come
// later do not show. It belongs to one goroutine, keeps the disk space of what
// is dropped meanwhile, and holds up DB.Close: close it soon.
//
// It is a Pebble iterator, not a Pebble snapshot, for two reasons: an Excise
// takes rows away from snapshots but not from iterators, and only an iterator
// can be told to use the Bloom filters of the last level, where most rows are.
// So a row that is not there costs no read from disk while the filters are in
// the cache.
//
// An error concerns the one row that was asked for: part of a table cannot be
// read. Others still can.
type Snapshot struct {
	db   *DB
	iter *pebble.Iterator
	err  error // why there is none
	row  []byte

	// beforeFatal: opened before a fatal error, see Close.
	beforeFatal bool
}

// Snapshot takes a snapshot. After Close of the store its reads answer
// ErrClosed.
func (d *DB) Snapshot() *Snapshot {
	s := &Snapshot{db: d}
	if s.err = d.guard.enter(); s.err != nil {
		return s
	}
	s.beforeFatal = d.fatal.failed() == nil
	if s.iter, s.err = d.newIter(pebble.IterOptions{}); s.err != nil {
		d.guard.leave()
	}
	return s
}

// newIter makes an iterator, which holds no lock.
func (d *DB) newIter(o pebble.IterOptions) (*pebble.Iterator, error) {
	o.KeyTypes = pebble.IterKeyTypePointsOnly
	o.UseL6Filters = true
	iter, err := d.pebble.NewIter(&o)
	if err != nil {
		return nil, fmt.Errorf("cold: %w", err)
	}
	return iter, nil
}

// closeIter closes an iterator. Closing the last one of an old version takes
// Pebble's main lock, which a fatal error keeps for ever: those that may be such
// are then left to a goroutine.
func (d *DB) closeIter(iter *pebble.Iterator, beforeFatal bool) {
	if beforeFatal && d.fatal.failed() != nil {
		go func() { _ = iter.Close() }()
		return
	}
	_ = iter.Close() // errors of reads were answered by the reads
}

// Close ends the snapshot. A second Close does nothing.
func (s *Snapshot) Close() {
	if s.iter == nil {
		return
	}
	s.db.closeIter(s.iter, s.beforeFatal)
	s.iter, s.err = nil, ErrClosed
	s.db.guard.leave()
}

// Row appends the value of a key's data row to dst. Read it with
// filter.ParseRow; where operands could not be merged, that gives the error.
func (s *Snapshot) Row(class uint8, block int64, key, dst []byte) (value []byte, found bool, err error) {
	return s.in(Data(class, block), key, dst)
}

// Meta appends the value of a key's meta row to dst.
func (s *Snapshot) Meta(key, dst []byte) (value []byte, found bool, err error) {
	return s.in(Meta(), key, dst)
}

// Delivered appends the value of a key's delivered row to dst.
func (s *Snapshot) Delivered(ttl, block int64, key, dst []byte) (value []byte, found bool, err error) {
	return s.in(Delivered(ttl, block), key, dst)
}

// System returns the value of a system row.
func (s *Snapshot) System(name string) (value []byte, found bool, err error) {
	if name == "" {
		return nil, false, nil
	}
	s.row = appendSystemKey(s.row[:0], name)
	return s.get(s.row, nil)
}

func (s *Snapshot) in(space Space, key, dst []byte) ([]byte, bool, error) {
	s.row = space.appendKey(s.row[:0], key)
	return s.get(s.row, dst)
}

// get appends the value of a row to dst. With an error dst comes back as it was.
func (s *Snapshot) get(row, dst []byte) ([]byte, bool, error) {
	if s.iter == nil {
		return dst, false, s.err
	}
	if !s.iter.SeekPrefixGE(row) {
		return dst, false, readError(s.iter.Error())
	}
	if !bytes.Equal(s.iter.Key(), row) {
		return dst, false, nil
	}
	value, err := s.iter.ValueAndErr()
	if err != nil {
		return dst, false, readError(err)
	}
	return append(dst, value...), true, nil
}

func readError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cold: reading a row: %w", err)
}
