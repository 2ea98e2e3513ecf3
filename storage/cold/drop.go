package cold

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"
)

// AllBlocks drops every block of a class or TTL.
const AllBlocks = math.MaxInt64

// DropBlocks drops the blocks of a class below a block, and gives their disk
// space back at once, except what open snapshots still see. Drops are idempotent
// and safe to repeat after a crash.
func (d *DB) DropBlocks(class uint8, below int64) error {
	return d.drop([]byte{spaceData, class}, below)
}

// DropDelivered drops the blocks of delivered lists of a TTL below a block.
func (d *DB) DropDelivered(ttl, below int64) error {
	return d.drop(appendNumber([]byte{spaceDelivered}, ttl), below)
}

// drop drops the blocks below a block of what begins with prefix.
func (d *DB) drop(prefix []byte, below int64) error {
	if below <= 0 {
		return d.change(func() error { return nil })
	}
	start, end := prefix, appendNumber(bytes.Clone(prefix), below)
	if below == AllBlocks {
		end = successor(prefix)
	}
	return d.change(func() error { return d.excise(start, end) })
}

// excise removes the rows in [start, end). It writes nothing if no table lies
// there. Call through change.
func (d *DB) excise(start, end []byte) error {
	if has, err := d.hasTables(start, end); err != nil || !has {
		return err
	}
	err := d.fatal.run(func() error {
		return d.pebble.Excise(context.Background(), pebble.KeyRange{Start: start, End: end})
	})
	if err != nil {
		return fmt.Errorf("cold: dropping rows: %w", err)
	}
	return nil
}

// hasTables reports whether a table overlaps [start, end).
func (d *DB) hasTables(start, end []byte) (bool, error) {
	levels, err := d.pebble.SSTables(pebble.WithKeyRangeFilter(start, end))
	if err != nil {
		return false, readError(err)
	}
	for _, level := range levels {
		if len(level) > 0 {
			return true, nil
		}
	}
	return false, nil
}
