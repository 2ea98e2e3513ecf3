package cold

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// RewriteRange replaces the data rows of one group of a block, in one step and
// as one table or few: for the sealing pass. For each row, merged from all its
// operands, rewrite appends the new value to dst; nothing appended means that
// the row goes. Rows that it does not understand, such as bundles, it should
// append as they are. Key and value are valid during the call.
//
// Slots and drops wait meanwhile. Deleted rows and their tombstones are gone
// afterwards. If a row cannot be read the range stays as it is.
func (d *DB) RewriteRange(class uint8, block int64, group uint8, rewrite func(key, value, dst []byte) []byte) (Written, error) {
	var written Written
	err := d.change(func() (err error) {
		written, err = d.rewrite(Data(class, block), group, rewrite)
		return err
	})
	if err != nil {
		return Written{}, fmt.Errorf("cold: rewriting class %d, block %d, group %d: %w", class, block, group, err)
	}
	return written, nil
}

func (d *DB) rewrite(space Space, group uint8, rewrite func(key, value, dst []byte) []byte) (Written, error) {
	start := space.appendGroup(nil, group)
	span := pebble.KeyRange{Start: start, End: successor(start)}
	if has, err := d.hasTables(span.Start, span.End); err != nil || !has {
		return Written{}, err
	}
	t := &tables{db: d}
	err := d.build(t, span, rewrite)
	if err == nil {
		err = d.replace(t, span)
	}
	return t.stats, errors.Join(err, t.remove())
}

// build writes the new rows of a range.
func (d *DB) build(t *tables, span pebble.KeyRange, rewrite func(key, value, dst []byte) []byte) error {
	var dst []byte
	err := d.scan(span.Start, span.End, func(row, value []byte) bool {
		dst = rewrite(row[len(span.Start):], value, dst[:0])
		return len(dst) == 0 || t.add(kindSet, row, dst) == nil
	})
	if err != nil {
		return err
	}
	return t.finish()
}

// replace puts tables in the place of what a range holds.
func (d *DB) replace(t *tables, span pebble.KeyRange) error {
	if len(t.paths) == 0 {
		return d.excise(span.Start, span.End)
	}
	return d.fatal.run(func() error {
		_, err := d.pebble.IngestAndExcise(context.Background(), t.paths, nil, nil, span)
		return err
	})
}
