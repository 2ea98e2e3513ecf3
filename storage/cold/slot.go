package cold

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
)

func isNotExist(err error) bool { return oserror.IsNotExist(err) }

// SlotWriter takes the rows of one sealed slot and stores them in one step.
//
// Rows are given in ascending order, each at most once: system rows by name,
// meta rows by key, delivered rows by ttl, block and key, data rows by class,
// block and key, where keys are in the order of CompareKeys. A row out of order
// is an error. Errors stay: rows that come later are dropped, and Commit answers
// with the first, so the result of the methods for rows need not be looked at.
//
// It belongs to one goroutine, holds no lock, and ends with Commit or Abort.
// Keys and values are copied.
type SlotWriter struct {
	db     *DB
	slot   uint64
	tables tables
	clear  bool
	ended  bool
	row    []byte // scratch
}

// NewSlot begins to store a slot.
func (d *DB) NewSlot(slot uint64) *SlotWriter {
	w := &SlotWriter{db: d, slot: slot, tables: tables{db: d}}
	w.tables.err = w.check()
	if w.tables.err == nil {
		w.set(storedKey, binary.LittleEndian.AppendUint64(nil, slot))
	}
	return w
}

// check refuses a slot that must not be stored.
func (w *SlotWriter) check() error {
	if err := w.db.guard.enter(); err != nil {
		return err
	}
	defer w.db.guard.leave()
	if err := w.db.fatal.failed(); err != nil {
		return err
	}
	if stored := w.db.StoredSlot(); w.slot <= stored {
		return fmt.Errorf("%w: slot %d, stored up to %d", ErrStored, w.slot, stored)
	}
	return nil
}

// ClearAll makes everything stored before this slot go in the same step, except
// system rows: what a FLUSHALL within the slot did.
func (w *SlotWriter) ClearAll() { w.clear = true }

// SetSystem sets a system row; the name must not be empty.
func (w *SlotWriter) SetSystem(name string, value []byte) error {
	if name == "" {
		return w.fail(errors.New("cold: a system row needs a name"))
	}
	return w.set(w.system(name), value)
}

// DeleteSystem deletes a system row.
func (w *SlotWriter) DeleteSystem(name string) error {
	if name == "" {
		return w.fail(errors.New("cold: a system row needs a name"))
	}
	return w.tables.add(kindDelete, w.system(name), nil)
}

// SetMeta sets the meta row of a key.
func (w *SlotWriter) SetMeta(key, value []byte) error { return w.add(kindSet, Meta(), key, value) }

// DeleteMeta deletes the meta row of a key.
func (w *SlotWriter) DeleteMeta(key []byte) error { return w.add(kindDelete, Meta(), key, nil) }

// SetDelivered sets the delivered row of a key.
func (w *SlotWriter) SetDelivered(ttl, block int64, key, value []byte) error {
	return w.add(kindSet, Delivered(ttl, block), key, value)
}

// DeleteDelivered deletes the delivered row of a key.
func (w *SlotWriter) DeleteDelivered(ttl, block int64, key []byte) error {
	return w.add(kindDelete, Delivered(ttl, block), key, nil)
}

// Merge merges a row value (see package filter) into the data row of a key.
func (w *SlotWriter) Merge(class uint8, block int64, key, value []byte) error {
	return w.add(kindMerge, Data(class, block), key, value)
}

// Set sets the data row of a key: it was deleted within the slot, and then
// added to.
func (w *SlotWriter) Set(class uint8, block int64, key, value []byte) error {
	return w.add(kindSet, Data(class, block), key, value)
}

// Delete deletes the data row of a key.
func (w *SlotWriter) Delete(class uint8, block int64, key []byte) error {
	return w.add(kindDelete, Data(class, block), key, nil)
}

func (w *SlotWriter) system(name string) []byte {
	w.row = appendSystemKey(w.row[:0], name)
	return w.row
}

func (w *SlotWriter) set(row, value []byte) error { return w.tables.add(kindSet, row, value) }

func (w *SlotWriter) add(k kind, s Space, key, value []byte) error {
	if s.block < 0 || s.ttl < 0 {
		return w.fail(fmt.Errorf("cold: block %d, ttl %d: neither may be negative", s.block, s.ttl))
	}
	w.row = s.appendKey(w.row[:0], key)
	return w.tables.add(k, w.row, value)
}

// fail makes err the writer's error unless it has one.
func (w *SlotWriter) fail(err error) error {
	if w.tables.err == nil {
		w.tables.err = err
	}
	return w.tables.err
}

// Commit stores the slot: all its rows and its number, or, with an error,
// nothing. After an error the slot may be written again with a new SlotWriter;
// only a FatalError leaves open whether the slot is stored.
func (w *SlotWriter) Commit() (Written, error) {
	if w.ended {
		return Written{}, ErrFinished
	}
	err := w.db.change(w.store)
	if e := w.end(); e != nil {
		w.db.opts.Logger.Warn("tables of a slot could not be removed; they go with the next start", "slot", w.slot, "err", e)
	}
	if err != nil {
		return Written{}, fmt.Errorf("storing slot %d: %w", w.slot, err)
	}
	return w.tables.stats, nil
}

// Abort drops what was written. After Commit it does nothing.
func (w *SlotWriter) Abort() {
	if !w.ended {
		_ = w.end() // what stays is removed at the next Open
	}
}

func (w *SlotWriter) end() error {
	w.ended = true
	err := w.tables.remove()
	w.tables.err = ErrFinished
	return err
}

// store ingests the tables.
func (w *SlotWriter) store() error {
	d := w.db
	if err := w.tables.finish(); err != nil {
		return err
	}
	if stored := d.StoredSlot(); w.slot <= stored {
		return fmt.Errorf("%w: slot %d, stored up to %d", ErrStored, w.slot, stored)
	}
	err := d.fatal.run(func() error { return w.ingest(d.pebble) })
	if err == nil {
		d.stored.Store(w.slot)
	}
	return err
}

func (w *SlotWriter) ingest(p *pebble.DB) error {
	if !w.clear {
		return p.Ingest(context.Background(), w.tables.paths)
	}
	all := pebble.KeyRange{Start: []byte{spaceMeta}, End: []byte{spaceEnd}}
	_, err := p.IngestAndExcise(context.Background(), w.tables.paths, nil, nil, all)
	return err
}
