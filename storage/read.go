package storage

import (
	"bytes"

	"dedupd/filter"
	"dedupd/storage/policy"
)

// Exists says for each item whether the key has it in the layers.
func (tx *Tx) Exists(key []byte, items [][]byte, layers Layer) []bool {
	e := tx.find(key)
	seen := tx.flags(len(items))
	if e.exists() {
		c := tx.checking(e, key, layers)
		c.check(tx.hash(e.salt, items), items, seen)
	}
	return seen
}

// checking is what it takes to check items of one key.
type checking struct {
	e      entry
	layers Layer
	spans  []policy.Span
	since  int64 // what was delivered later counts
}

func (tx *Tx) checking(e entry, key []byte, layers Layer) checking {
	view := tx.store.view(key)
	return checking{e: e, layers: layers, spans: tx.searched(&view), since: tx.now - view.Settings().DeliveredTTL}
}

// check sets seen[i] for each item that is in the layers.
func (c *checking) check(hashes []uint64, items [][]byte, seen []bool) {
	if c.layers&Played != 0 {
		c.e.probe(hashes, seen, c.spans)
	}
	if c.layers&Delivered == 0 {
		return
	}
	d, ok := c.e.list()
	if !ok {
		return
	}
	for i, h := range hashes {
		if !seen[i] && d.has(h, items[i], c.since) {
			seen[i] = true
		}
	}
}

// Card counts the distinct items played in the windows that are searched. Of
// stored items it counts fingerprints, of which a few stand for two items.
func (tx *Tx) Card(key []byte) int {
	e := tx.find(key)
	if !e.exists() {
		return 0
	}
	view := tx.store.view(key)
	return e.card(tx.searched(&view))
}

func (e entry) card(spans []policy.Span) int {
	a := &e.shard.arena
	n := 0
	var table filter.Table
	if r := e.table(); r != 0 {
		table = filter.OpenTable(asBytes(a.words(r)))
		n = table.Len()
	}
	for r := e.staged(); r != 0; {
		set := a.words(r)
		r = stagedNext(set)
		if !searched(spans, stagedWindow(set)) {
			continue
		}
		for _, h := range set[stagedHeader:] {
			if h != 0 && !(e.table() != 0 && table.Contains(h)) && !e.stagedBehind(r, h, spans) {
				n++
			}
		}
	}
	return max(0, n-e.hidden(spans))
}

// stagedBehind says whether the sets from r on, those that are searched, have
// the hash.
func (e entry) stagedBehind(r ref, h uint64, spans []policy.Span) bool {
	for r != 0 {
		set := e.shard.arena.words(r)
		if searched(spans, stagedWindow(set)) && stagedHas(set, h) {
			return true
		}
		r = stagedNext(set)
	}
	return false
}

// hidden counts the removed items that would be found otherwise.
func (e entry) hidden(spans []policy.Span) int {
	r := e.removed()
	if r == 0 {
		return 0
	}
	words := e.shard.arena.words(r)
	n := 0
	for i := range removedCount(words) {
		h := removedAt(words, i).hash
		if e.stagedBehind(e.staged(), h, spans) || e.inTable(h) {
			n++
		}
	}
	return n
}

func (e entry) inTable(h uint64) bool {
	r := e.table()
	if r == 0 {
		return false
	}
	table := filter.OpenTable(asBytes(e.shard.arena.words(r)))
	return table.Contains(h)
}

// Delivery is one delivered item and its time in unix ms. Item is a view,
// valid until Commit.
type Delivery struct {
	Item []byte
	Time int64
}

// Recent returns the newest count delivered items, newest first.
func (tx *Tx) Recent(key []byte, count int) []Delivery {
	tx.recent = tx.recent[:0]
	e := tx.find(key)
	if !e.exists() {
		return nil
	}
	d, ok := e.list()
	if !ok {
		return nil
	}
	view := tx.store.view(key)
	since := tx.now - view.Settings().DeliveredTTL
	for i := d.used() - 1; i >= d.first() && len(tx.recent) < count; i-- {
		if !d.dead(i) && d.time(i) > since {
			tx.recent = append(tx.recent, Delivery{Item: d.item(i), Time: d.time(i)})
		}
	}
	return tx.recent
}

// Answer is what was answered to a FILTER under the token, if the token is
// still remembered; it is valid until Commit.
func (tx *Tx) Answer(key, token []byte) ([]byte, bool) {
	e := tx.find(key)
	if !e.exists() {
		return nil, false
	}
	return e.answer(token, tx.now)
}

// Remember keeps the answer under the token for TokenLife.
func (tx *Tx) Remember(key, token, answer []byte) {
	tx.create(key).remember(token, answer, tx.now)
}

// FilterOptions say what FILTER looks for and does.
type FilterOptions struct {
	Limit  int   // at most so many; 0: all
	Layers Layer // unseen in these
	Mark   Layer // record what is returned as Played or as Delivered; 0: record nothing
}

// filterStep is how many candidates are checked at a time: enough for the
// processor to overlap their cache misses, few enough that a small LIMIT
// does not look at all of them.
const filterStep = 64

// Filter returns the positions of the items that are unseen, in their order,
// each item once, and records them as o.Mark says. An error means that
// nothing was looked up.
func (tx *Tx) Filter(key []byte, items [][]byte, o FilterOptions) ([]int, error) {
	limit := o.Limit
	if limit == 0 {
		limit = len(items)
	}
	if o.Mark == Delivered {
		if err := tx.fitsDelivered(key, limit, items); err != nil {
			return nil, err
		}
	}
	e := tx.find(key)
	tx.positions = tx.positions[:0]
	tx.distinct.reset(len(items))
	salt := tx.store.secret.Salt(key)
	c := tx.checking(e, key, o.Layers)
	for from := 0; from < len(items) && len(tx.positions) < limit; from += filterStep {
		part := items[from:min(from+filterStep, len(items))]
		hashes := tx.hash(salt, part)
		seen := tx.flags(len(part))
		if e.exists() {
			c.check(hashes, part, seen)
		}
		for i := range part {
			if !seen[i] && len(tx.positions) < limit && tx.distinct.add(hashes[i], from+i, items) {
				tx.positions = append(tx.positions, from+i)
			}
		}
	}
	tx.mark(key, items, o.Mark)
	return tx.positions, nil
}

// fitsDelivered refuses to mark more items than the policy lets a key keep:
// the first of them would be forgotten at once.
func (tx *Tx) fitsDelivered(key []byte, limit int, items [][]byte) error {
	keep := int(tx.store.settings(key).Delivered)
	if min(limit, len(items)) <= keep {
		return nil
	}
	tx.distinct.reset(len(items))
	n := 0
	hashes := tx.hash(tx.store.secret.Salt(nil), items)
	for i, h := range hashes {
		if tx.distinct.add(h, i, items) {
			n++
		}
	}
	if n = min(n, limit); n > keep {
		return &TooManyDeliveredError{Items: n, Keep: keep}
	}
	return nil
}

// mark records the items at tx.positions.
func (tx *Tx) mark(key []byte, items [][]byte, layer Layer) {
	if layer == 0 || len(tx.positions) == 0 {
		return
	}
	tx.marked = tx.marked[:0]
	for _, i := range tx.positions {
		tx.marked = append(tx.marked, items[i])
	}
	if layer == Played {
		tx.Play(key, tx.marked, Now) // now always has a window
	} else {
		tx.Deliver(key, tx.marked)
	}
}

// distinct tells the first of equal items from the others: open addressing
// over item positions.
type distinct struct {
	table  []int32 // position + 1
	hashes []uint64
}

func (d *distinct) reset(n int) {
	size := ceilPow2(2 * n)
	if cap(d.table) < size {
		d.table = make([]int32, size)
		d.hashes = make([]uint64, size)
	}
	d.table = d.table[:size]
	d.hashes = d.hashes[:size]
	clear(d.table)
}

func (d *distinct) shrink() {
	d.table, d.hashes = keep(d.table), keep(d.hashes)
}

// add says whether items[i], with hash h, is the first of its kind.
func (d *distinct) add(h uint64, i int, items [][]byte) bool {
	mask := len(d.table) - 1
	at := int(h) & mask
	for ; d.table[at] != 0; at = (at + 1) & mask {
		if d.hashes[at] == h && bytes.Equal(items[d.table[at]-1], items[i]) {
			return false
		}
	}
	d.table[at], d.hashes[at] = int32(i)+1, h
	return true
}
