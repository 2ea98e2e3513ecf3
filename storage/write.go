package storage

import "dedupd/filter"

// Play records the items as played and says for each whether it was new to
// the played layer. An item that was only delivered is new, and leaves the
// delivered list.
func (tx *Tx) Play(key []byte, items [][]byte) []bool {
	e := tx.create(key)
	hashes := tx.hash(e.salt, items)
	isNew := tx.flags(len(items))
	tx.staging = tx.staging[:0]
	for i, h := range hashes {
		if e.stagedAny(h) {
			continue
		}
		e.play(tx.store.slot, h)
		isNew[i] = true
		tx.staging = append(tx.staging, h)
	}
	if len(tx.staging) > 0 {
		tx.log(opPlay, key)
		tx.record = appendHashes(tx.record, tx.staging)
	}
	return isNew
}

// Deliver records the items as delivered, except those that are played
// already, and says for each whether it was newly delivered. Items that are on
// the list already become its newest.
func (tx *Tx) Deliver(key []byte, items [][]byte) []bool {
	e := tx.create(key)
	hashes := tx.hash(e.salt, items)
	played := tx.flags(len(items))
	e.probe(hashes, played)
	isNew := played // turned over item by item below
	tx.kept = tx.kept[:0]
	for i, item := range items {
		if played[i] {
			isNew[i] = false
			continue
		}
		d, ok := e.list()
		isNew[i] = !ok || !d.has(hashes[i], item, tx.since())
		e.deliver(hashes[i], item, tx.now, tx.store.deliveredKeep)
		tx.kept = append(tx.kept, item)
	}
	if len(tx.kept) > 0 {
		tx.log(opDeliver, key)
		tx.record = appendItems(tx.record, tx.kept)
	}
	return isNew
}

// Forget takes the items out of the layers and counts those that were in one.
func (tx *Tx) Forget(key []byte, items [][]byte, layers Layer) int {
	e := tx.find(key)
	if !e.exists() {
		return 0
	}
	tx.kept = tx.kept[:0]
	for _, item := range items {
		if e.forget(e.salt.Mix(filter.Hash(item)), item, layers, tx.since()) {
			tx.kept = append(tx.kept, item)
		}
	}
	if len(tx.kept) > 0 {
		tx.log(opForget, key)
		tx.record = append(tx.record, byte(layers))
		tx.record = appendItems(tx.record, tx.kept)
	}
	e.shard.dropIfEmpty(e)
	return len(tx.kept)
}
