package storage

import (
	"math/bits"
	"time"

	"dedupd/filter"
	"dedupd/storage/log"
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
	Read   Kind = iota
	Write       // may take memory: refused when there is none left
	Forget      // only gives memory back: allowed without any
)

// Tx is one command, or one MULTI/EXEC, on the store: Begin locks the shards
// of its keys, the operations decide and change memory, Commit appends one
// record to the log under the locks, so that the order of the log is the
// order in which things were decided. No I/O happens in between.
//
// A Tx belongs to one goroutine and is used again and again; what its methods
// return is valid until the next call.
type Tx struct {
	store  *Store
	now    int64  // unix ms: one time for the whole transaction
	locked uint64 // set of shards
	kind   Kind
	record []byte

	hashes    []uint64
	seen      []bool
	staging   []uint64
	marked    [][]byte // FILTER: what it returns
	kept      [][]byte // DELIVER, REM: what goes into the record
	positions []int
	distinct  distinct
	recent    []Delivery
}

// NewTx returns a transaction for one session.
func (s *Store) NewTx() *Tx { return &Tx{store: s} }

// Begin starts a transaction on the keys. After an error nothing is locked.
// Writes fail with an error that says why when the log has failed or memory
// has run out.
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
	tx.lock(set)
	tx.now = time.Now().UnixMilli()
	if kind == Write {
		tx.sweep()
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

// sweepPlaces is how many places of the index a write looks at for memory
// that has outlived its time.
const sweepPlaces = 4

func (tx *Tx) sweep() {
	for set := tx.locked; set != 0; set &= set - 1 {
		tx.store.shards[bits.TrailingZeros64(set)].sweep(sweepPlaces, tx.since(), tx.now)
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

// Abort unlocks after a panic in the middle of a transaction. What was
// changed stays changed in memory and is not in the log, so the store takes
// no more writes.
func (tx *Tx) Abort() {
	if tx.locked != 0 {
		tx.store.fail(errAborted)
		tx.unlock()
	}
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

// since is the time after which an item must have been delivered to count.
func (tx *Tx) since() int64 { return tx.now - tx.store.deliveredTTL }

func (tx *Tx) find(key []byte) entry {
	salt := tx.store.secret.Salt(key)
	return tx.store.shard(salt).find(salt, key)
}

// create finds the key's entry, or makes it.
func (tx *Tx) create(key []byte) entry {
	salt := tx.store.secret.Salt(key)
	return tx.store.shard(salt).findOrCreate(salt, key)
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
	tx.record = appendOp(tx.record, kind, policyVersion, key)
}

// policyVersion is the version of the only policy there is so far.
const policyVersion = 0
