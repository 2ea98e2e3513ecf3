package storage

import (
	"math/bits"
	"time"

	"dedupd/filter"
	"dedupd/storage/log"
	"dedupd/storage/policy"
)

// Layer chooses layers of the store.
type Layer uint8

const (
	Played Layer = 1 << iota
	Delivered
	All = Played | Delivered
)

// Kind says what a transaction may do.
type Kind uint8

const (
	Read  Kind = iota
	Write      // refused when there is no memory left
	Blind      // a write that looks at no older items, and need not know them
)

// Tx is one command, or one MULTI/EXEC, on the store: Begin locks the shards
// of its keys, the operations decide and change memory, Commit appends one
// record to the log under the locks, so that the order of the log is the
// order in which things were decided. No I/O happens in between.
//
// A Tx belongs to one goroutine and is used again and again; what its methods
// return is valid until the next call.
type Tx struct {
	store   *Store
	now     int64  // unix ms: one time for the whole transaction
	locked  uint64 // set of shards
	kind    Kind
	nothing bool // was stored of any key when it began
	record  []byte

	hashes    []uint64
	seen      []bool
	staging   []uint64
	marked    [][]byte // FILTER: what it returns
	kept      [][]byte // DELIVER, REM: what goes into the record
	positions []int
	distinct  distinct
	recent    []Delivery
	spans     [4]policy.Span
}

// NewTx returns a transaction for one session.
func (s *Store) NewTx() *Tx { return &Tx{store: s} }

// Begin starts a transaction on the keys: it makes the hot layer know them,
// which may read from disk, and locks their shards. After an error nothing is
// locked. Writes fail with an error that says why when they could not be made
// durable or memory has run out.
func (tx *Tx) Begin(kind Kind, keys ...[]byte) error {
	if err := tx.store.admit(kind); err != nil {
		return err
	}
	tx.kind = kind
	tx.record = tx.record[:0]
	var set uint64
	for _, key := range keys {
		set |= 1 << (tx.store.secret.Salt(key).ID() >> (64 - shardBits))
	}
	for first := true; ; first = false {
		tx.lock(set)
		tx.now = time.Now().UnixMilli()
		if kind != Read && first { // before the look at the keys: it may take away what they know
			tx.sweep(sweepPlaces * (1 + len(keys)/bits.OnesCount64(set)))
			if !tx.fits() {
				tx.unlock()
				return ErrMemory
			}
		}
		unknown := tx.unknown(keys)
		if unknown == nil {
			break
		}
		tx.unlock()
		if err := tx.store.know(tx.store.secret.Salt(unknown), unknown, tx.need(), tx.now); err != nil {
			return err
		}
	}
	return nil
}

// fits says whether there is memory for a write. It looks harder for what can
// be freed before it says no, so that refused writes make room for later ones.
func (tx *Tx) fits() bool {
	s := tx.store
	if s.used.Load() <= s.hotBytes {
		return true
	}
	tx.sweep(reclaimPlaces)
	for _, sh := range s.shards {
		if s.used.Load() <= s.hotBytes {
			return true
		}
		if sh.mu.TryLock() { // never waits: this transaction holds locks out of order
			tx.sweepShard(sh, reclaimPlaces)
			sh.mu.Unlock()
		}
	}
	return s.used.Load() <= s.hotBytes
}

func (tx *Tx) need() Need {
	if tx.kind == Blind {
		return Lists
	}
	return Everything
}

// unknown is the first of the keys that must be read from disk first. While
// nothing is stored there is none.
func (tx *Tx) unknown(keys [][]byte) []byte {
	tx.nothing = tx.store.coldEmpty.Load() // one answer for the whole transaction
	if tx.nothing {
		return nil
	}
	for _, key := range keys {
		e := tx.find(key)
		if !e.knows(tx.need(), tx.now) {
			return key
		}
		e.set(flagUsed)
	}
	return nil
}

// lock takes the locks of the set in the order of the shards' numbers.
func (tx *Tx) lock(set uint64) {
	tx.locked = set
	for ; set != 0; set &= set - 1 {
		tx.store.shards[bits.TrailingZeros64(set)].mu.Lock()
	}
}

func (tx *Tx) unlock() {
	set := tx.locked
	tx.locked = 0
	for ; set != 0; set &= set - 1 {
		tx.store.shards[bits.TrailingZeros64(set)].mu.Unlock()
	}
}

// A write looks at sweepPlaces places of the index for memory that has
// outlived its time, and at reclaimPlaces when there is none left.
const (
	sweepPlaces   = 4
	reclaimPlaces = 1024
)

// sweep looks at so many places of each locked shard.
func (tx *Tx) sweep(places int) {
	for set := tx.locked; set != 0; set &= set - 1 {
		tx.sweepShard(tx.store.shards[bits.TrailingZeros64(set)], places)
	}
}

func (tx *Tx) sweepShard(sh *shard, places int) {
	s := tx.store
	nothing := s.coldEmpty.Load()
	sh.sweep(places, tx.now-s.longestTTL(), tx.now, nothing)
	if s.used.Load() > s.evictAt {
		sh.evict(max(places, evictPlaces), nothing)
	}
}

// Commit ends the transaction. The position is that of its decision: a reply
// to a write may leave once the log is durable up to it (Store.Wait), also
// when nothing was written, because the answer may rest on a record that is
// not durable yet. It is 0 after a read.
func (tx *Tx) Commit() (position uint64, err error) {
	p := log.Position(0)
	switch {
	case tx.kind == Read:
	case len(tx.record) == 0:
		p = tx.store.log.End()
	default:
		p, err = tx.store.log.Append(tx.record)
	}
	tx.unlock()
	tx.shrink()
	return uint64(p), err
}

// Abort unlocks after a panic in the middle of a transaction. What a write
// changed stays changed in memory and is not in the log, so the store takes no
// more writes then.
func (tx *Tx) Abort() {
	if tx.locked == 0 {
		return
	}
	if tx.kind != Read {
		tx.store.fail(errAborted)
	}
	tx.unlock()
}

// keepScratch is how many elements a buffer of a Tx may keep between commands.
// One command may have a million items; its buffers must not stay with every
// session for ever.
const keepScratch = 1 << 13

func (tx *Tx) shrink() {
	tx.record = keep(tx.record)
	tx.hashes = keep(tx.hashes)
	tx.seen = keep(tx.seen)
	tx.staging = keep(tx.staging)
	tx.positions = keep(tx.positions)
	tx.marked = keepViews(tx.marked)
	tx.kept = keepViews(tx.kept)
	tx.recent = keep(tx.recent)
	tx.distinct.shrink()
}

func keep[T any](s []T) []T {
	if cap(s) > keepScratch {
		return nil
	}
	return s[:0]
}

// keepViews also lets go of what the elements point to: views of a read
// buffer that its owner will use again.
func keepViews(s [][]byte) [][]byte {
	clear(s)
	return keep(s)
}

// searched is what is searched for a key.
func (tx *Tx) searched(view *policy.View) []policy.Span {
	return view.Spans(tx.spans[:0], tx.now)
}

func (tx *Tx) find(key []byte) entry {
	salt := tx.store.secret.Salt(key)
	return tx.store.shard(salt).find(salt, key)
}

// create finds the key's entry, or makes it.
func (tx *Tx) create(key []byte) entry {
	salt := tx.store.secret.Salt(key)
	return tx.store.shard(salt).findOrCreate(salt, key, tx.nothing)
}

// hash fills tx.hashes with the salted hashes of the items.
func (tx *Tx) hash(salt filter.Salt, items [][]byte) []uint64 {
	if cap(tx.hashes) < len(items) {
		tx.hashes = make([]uint64, len(items))
	}
	tx.hashes = tx.hashes[:len(items)]
	for i, item := range items {
		tx.hashes[i] = salt.Mix(filter.Hash(item))
	}
	return tx.hashes
}

// flags returns n false values.
func (tx *Tx) flags(n int) []bool {
	if cap(tx.seen) < n {
		tx.seen = make([]bool, n)
	}
	tx.seen = tx.seen[:n]
	clear(tx.seen)
	return tx.seen
}

// log begins an operation in the transaction's record.
func (tx *Tx) log(kind opKind, key []byte) {
	if len(tx.record) == 0 {
		tx.record = appendRecordTime(tx.record, tx.now)
	}
	tx.record = appendOp(tx.record, kind, tx.store.policies.Load().Version(), key)
}
