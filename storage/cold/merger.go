package cold

import (
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"dedupd/filter"
)

// mergerName is in every table and in Pebble's OPTIONS: a store with another one
// is refused.
const mergerName = "dedupd.row.1"

// keptScratch bounds the operands whose scratch memory is kept for the next row.
const keptScratch = 1 << 20

// newMerger makes the merger of data rows: filter.RowMerger behind Pebble's
// interface. It never fails, because a failing merger would stop compaction at
// that row for good; what cannot be read becomes a bundle, see filter. It works
// the same for a part of the operands as for all of them.
func newMerger(floor func(class uint8) (firstWindow int64)) *pebble.Merger {
	pool := &sync.Pool{New: func() any { return new(rowMerge) }}
	return &pebble.Merger{
		Name: mergerName,
		Merge: func(key, value []byte) (pebble.ValueMerger, error) {
			m := pool.Get().(*rowMerge)
			m.begin(pool, value)
			if s, _, ok := parseSpace(key); ok && s.kind == spaceData && floor != nil {
				m.setFloor(floor(s.class))
			}
			return m, nil
		},
	}
}

// rowMerge merges the operands of one row.
type rowMerge struct {
	pool     *sync.Pool
	merger   filter.RowMerger
	operands int
	bytes    int // of the operands

	first []byte // copy of the first operand
	floor int64
	bound bool // there is a floor

	row filter.Row // scratch
	out []byte     // the result, until Close
}

var _ pebble.ValueMerger = (*rowMerge)(nil)

func (m *rowMerge) begin(pool *sync.Pool, value []byte) {
	m.pool = pool
	m.merger.Reset()
	m.operands, m.bytes, m.bound = 1, len(value), false
	m.first = append(m.first[:0], value...)
}

func (m *rowMerge) setFloor(window int64) {
	m.floor, m.bound = window, true
	m.merger.SetFloor(window)
}

func (m *rowMerge) MergeNewer(value []byte) error {
	m.second()
	m.operands, m.bytes = m.operands+1, m.bytes+len(value)
	m.merger.MergeNewer(value)
	return nil
}

func (m *rowMerge) MergeOlder(value []byte) error {
	m.second()
	m.operands, m.bytes = m.operands+1, m.bytes+len(value)
	m.merger.MergeOlder(value)
	return nil
}

// second hands the first operand to the merger when another one comes.
func (m *rowMerge) second() {
	if m.operands == 1 {
		m.merger.MergeNewer(m.first)
	}
}

// Finish returns the merged value, which the closer takes back.
func (m *rowMerge) Finish(bool) ([]byte, io.Closer, error) {
	if m.operands == 1 && m.isWhole() {
		return m.first, m, nil
	}
	m.second()
	m.out = m.merger.Finish(m.out[:0])
	return m.out, m, nil
}

// isWhole reports whether an operand alone is a result as it is. Most rows have
// one operand, and decoding it would be most of the cost of reading it.
func (m *rowMerge) isWhole() bool {
	if !m.bound {
		return true
	}
	var err error
	m.row, err = filter.ParseRow(m.row[:0], m.first)
	return err == nil && (len(m.row) == 0 || m.row[0].Number >= m.floor)
}

// Close gives the result's memory back.
func (m *rowMerge) Close() error {
	if m.bytes <= keptScratch {
		m.pool.Put(m)
	}
	return nil
}
