package cold

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// Scan visits the rows of a space in order, from a group and key on, until visit
// returns false. It sees the store as of its beginning. To go on later, pass the
// group of the last key visited, and that key with a zero byte behind it. Key
// and value are valid during the visit, which must be short, as for a Snapshot.
//
// An error ends it; rows behind a part of a table that cannot be read are
// reached by starting behind it.
func (d *DB) Scan(space Space, group uint8, from []byte, visit func(group uint8, key, value []byte) bool) error {
	if err := d.guard.enter(); err != nil {
		return err
	}
	defer d.guard.leave()
	prefix := space.appendPrefix(nil)
	start := append(space.appendGroup(nil, group), from...)
	return d.scan(start, successor(prefix), func(row, value []byte) bool {
		row = row[len(prefix):]
		return len(row) == 0 || visit(row[0], row[1:], value)
	})
}

// scan visits the rows in [start, end).
func (d *DB) scan(start, end []byte, visit func(row, value []byte) bool) error {
	beforeFatal := d.fatal.failed() == nil
	iter, err := d.newIter(pebble.IterOptions{LowerBound: start, UpperBound: end})
	if err != nil {
		return err
	}
	defer d.closeIter(iter, beforeFatal)
	for ok := iter.First(); ok; ok = iter.Next() {
		value, err := iter.ValueAndErr()
		if err != nil {
			return readError(err)
		}
		if !visit(iter.Key(), value) {
			return nil
		}
	}
	return readError(iter.Error())
}

// LiveBlocks lists the blocks of a class that have tables, in ascending order.
// It looks at the bounds of tables only, reads nothing and so needs no table to
// be readable; a block whose rows were all deleted counts until a compaction
// has seen that.
func (d *DB) LiveBlocks(class uint8) ([]int64, error) {
	var blocks []int64
	err := d.spaces(func(s Space) {
		if s.kind == spaceData && s.class == class {
			blocks = append(blocks, s.block)
		}
	})
	slices.Sort(blocks)
	return slices.Compact(blocks), err
}

// A DeliveredBlock is a block of delivered lists.
type DeliveredBlock struct{ TTL, Block int64 }

// LiveDelivered lists the blocks of delivered lists that have tables, by TTL and
// block. See LiveBlocks.
func (d *DB) LiveDelivered() ([]DeliveredBlock, error) {
	var spaces []Space
	err := d.spaces(func(s Space) {
		if s.kind == spaceDelivered {
			spaces = append(spaces, s)
		}
	})
	slices.SortFunc(spaces, func(a, b Space) int {
		return bytes.Compare(a.appendPrefix(nil), b.appendPrefix(nil))
	})
	var blocks []DeliveredBlock
	for _, s := range slices.Compact(spaces) {
		blocks = append(blocks, DeliveredBlock{TTL: s.ttl, Block: s.block})
	}
	return blocks, err
}

// spaces visits the space of each table.
func (d *DB) spaces(visit func(Space)) error {
	if err := d.guard.enter(); err != nil {
		return err
	}
	defer d.guard.leave()
	levels, err := d.pebble.SSTables()
	if err != nil {
		return readError(err)
	}
	for _, level := range levels {
		for i := range level {
			if s, _, ok := parseSpace(level[i].Smallest.UserKey); ok {
				visit(s)
			}
		}
	}
	return nil
}
