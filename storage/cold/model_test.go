package cold

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dedupd/filter"
)

// place is a data row of the model.
type place struct {
	class uint8
	block int64
	key   string
}

// model is what a store should hold: the hashes of each data row by window, and
// the meta rows.
type model struct {
	rows map[place]map[int64]map[uint64]bool
	meta map[string]string
	slot uint64
	low  map[uint8]int64 // dropped below
}

// TestModel does random things to a store and a map: slots of adds, SETs and
// DELETEs, drops, rewrites, clears, compactions, restarts. After each, random
// rows are equal; at times all are, found by Scan and by Row.
func TestModel(t *testing.T) {
	rng := newRand(t)
	o := testOptions(vfs.NewMem())
	o.TableBytes = 4 << 10
	d := open(t, o)
	m := &model{rows: map[place]map[int64]map[uint64]bool{}, meta: map[string]string{}, low: map[uint8]int64{}}
	keys := testKeys(60)
	for step := range 150 {
		what := "slot"
		switch rng.IntN(12) {
		case 0:
			what = "compact"
			must(t, d.Compact(t.Context()))
		case 1:
			what = "restart"
			d = reopen(t, d)
		case 2:
			what = "drop"
			m.drop(t, d, rng)
		case 3:
			what = "rewrite"
			m.rewrite(t, d, rng)
		default:
			m.store(t, d, rng, keys)
		}
		if d.StoredSlot() != m.slot {
			t.Fatalf("step %d (%s): slot %d, want %d", step, what, d.StoredSlot(), m.slot)
		}
		m.check(t, fmt.Sprintf("step %d (%s)", step, what), d, keys, step%10 == 9)
	}
}

var modelSpaces = []Space{Data(1, 0), Data(1, 1), Data(1, 255), Data(1, 256), Data(2, 3), Data(2, 1<<40)}

// store stores a slot of random rows.
func (m *model) store(t *testing.T, d *DB, rng *rand.Rand, keys [][]byte) {
	m.slot++
	w := d.NewSlot(m.slot)
	if rng.IntN(25) == 0 {
		w.ClearAll()
		clear(m.rows)
		clear(m.meta)
	}
	for _, key := range keys {
		switch rng.IntN(8) {
		case 0:
			m.meta[string(key)] = fmt.Sprint(m.slot)
			must(t, w.SetMeta(key, fmt.Append(nil, m.slot)))
		case 1:
			delete(m.meta, string(key))
			must(t, w.DeleteMeta(key))
		}
	}
	for _, s := range modelSpaces {
		for _, key := range keys {
			if rng.IntN(3) == 0 && s.block >= m.low[s.class] {
				m.storeRow(t, w, rng, place{s.class, s.block, string(key)})
			}
		}
	}
	_, err := w.Commit()
	must(t, err)
}

func (m *model) storeRow(t *testing.T, w *SlotWriter, rng *rand.Rand, p place) {
	kind := rng.IntN(10)
	if kind <= 1 {
		delete(m.rows, p)
	}
	if kind == 0 {
		must(t, w.Delete(p.class, p.block, []byte(p.key)))
		return
	}
	value := filter.StartRow(nil)
	for window := range int64(3) {
		if rng.IntN(2) == 0 {
			continue
		}
		hashes := make([]uint64, 1+rng.IntN(4))
		for i := range hashes {
			hashes[i] = rng.Uint64N(50) << 50
		}
		slices.Sort(hashes)
		hashes = slices.Compact(hashes)
		value = filter.AppendWindow(value, filter.Label{Number: window}, 64, hashes)
		m.add(p, window, hashes)
	}
	m.add(p, -1, nil)
	if kind == 1 {
		must(t, w.Set(p.class, p.block, []byte(p.key), value))
	} else {
		must(t, w.Merge(p.class, p.block, []byte(p.key), value))
	}
}

// add adds hashes to a row; a row without any exists too.
func (m *model) add(p place, window int64, hashes []uint64) {
	if m.rows[p] == nil {
		m.rows[p] = map[int64]map[uint64]bool{}
	}
	for _, h := range hashes {
		if m.rows[p][window] == nil {
			m.rows[p][window] = map[uint64]bool{}
		}
		m.rows[p][window][h] = true
	}
}

func (m *model) drop(t *testing.T, d *DB, rng *rand.Rand) {
	s := modelSpaces[rng.IntN(4)]
	must(t, d.DropBlocks(s.class, s.block))
	m.low[s.class] = max(m.low[s.class], s.block)
	maps.DeleteFunc(m.rows, func(p place, _ map[int64]map[uint64]bool) bool {
		return p.class == s.class && p.block < s.block
	})
	if rng.IntN(3) > 0 {
		return
	}
	m.low = map[uint8]int64{} // nothing keeps late rows out of the store
}

// rewrite drops window 0 from the rows of a few groups, and rows that have
// nothing else.
func (m *model) rewrite(t *testing.T, d *DB, rng *rand.Rand) {
	s := modelSpaces[rng.IntN(len(modelSpaces))]
	for range 10 {
		group := uint8(rng.IntN(Groups))
		_, err := d.RewriteRange(s.class, s.block, group, func(key, value, dst []byte) []byte {
			row, err := filter.ParseRow(nil, value)
			must(t, err)
			row = slices.DeleteFunc(row, func(l filter.Labelled) bool { return l.Number == 0 })
			if len(row) == 0 {
				return dst
			}
			return filter.AppendRow(dst, row)
		})
		must(t, err)
		for p, windows := range m.rows {
			if p.class == s.class && p.block == s.block && Group([]byte(p.key)) == group {
				if delete(windows, 0); len(windows) == 0 {
					delete(m.rows, p)
				}
			}
		}
	}
}

// want is the value that a row should have.
func (m *model) want(p place) (value []byte, found bool) {
	windows, found := m.rows[p]
	if !found {
		return nil, false
	}
	value = filter.StartRow(nil)
	for _, window := range slices.Sorted(maps.Keys(windows)) {
		value = filter.AppendWindow(value, filter.Label{Number: window}, 64, slices.Sorted(maps.Keys(windows[window])))
	}
	return value, true
}

func (m *model) check(t *testing.T, what string, d *DB, keys [][]byte, all bool) {
	t.Helper()
	s := d.Snapshot()
	defer s.Close()
	for i, key := range keys {
		if !all && i%7 != int(m.slot%7) {
			continue
		}
		value, found, err := s.Meta(key, nil)
		must(t, err)
		if want, exists := m.meta[string(key)]; found != exists || want != string(value) {
			t.Fatalf("%s: meta of %s is %q, want %q", what, key, value, want)
		}
		for _, space := range modelSpaces {
			value, found, err := s.Row(space.class, space.block, key, nil)
			must(t, err)
			want, exists := m.want(place{space.class, space.block, string(key)})
			if found != exists || !bytes.Equal(value, want) {
				t.Fatalf("%s: %s in %+v is %x (%v), want %x (%v)", what, key, space, value, found, want, exists)
			}
		}
	}
	if all {
		m.checkScan(t, what, d)
	}
}

// checkScan visits everything in pages.
func (m *model) checkScan(t *testing.T, what string, d *DB) {
	t.Helper()
	rows := 0
	for _, space := range modelSpaces {
		var group uint8
		var from []byte
		for more := true; more; {
			visited := 0
			must(t, d.Scan(space, group, from, func(g uint8, key, value []byte) bool {
				if want, _ := m.want(place{space.class, space.block, string(key)}); !bytes.Equal(want, value) {
					t.Fatalf("%s: scan of %+v gives %x for %s, want %x", what, space, value, key, want)
				}
				visited++
				group, from = g, append(append(from[:0], key...), 0)
				return visited < 7
			}))
			rows, more = rows+visited, visited == 7
		}
	}
	if rows != len(m.rows) {
		t.Fatalf("%s: scans give %d rows, want %d", what, rows, len(m.rows))
	}
}
