package storage

import "dedupd/storage/policy"

// Play records the items as played at the time of the transaction, or at an
// event's time, and says for each whether it was new to the played layer. An
// item that was only delivered is new, and leaves the delivered list. An item
// that an older window has is not new, but is written all the same: else it
// would be forgotten with that window. The error is that of an event time that
// has no window; nothing is recorded then.
func (tx *Tx) Play(key []byte, items [][]byte, event int64) ([]bool, error) {
	return tx.play(key, items, event, false)
}

// PlayBlind is Play for a transaction that knows only the key's lists: it does
// not say what was new.
func (tx *Tx) PlayBlind(key []byte, items [][]byte, event int64) error {
	_, err := tx.play(key, items, event, true)
	return err
}

// Now stands for the transaction's own time as the time of an event.
const Now = -1

func (tx *Tx) play(key []byte, items [][]byte, event int64, blind bool) ([]bool, error) {
	view := tx.store.view(key)
	w, err := tx.window(&view, event)
	if err != nil {
		return nil, err
	}
	e := tx.create(key)
	hashes := tx.hash(e.salt, items)
	seen := tx.flags(len(items))
	if !blind {
		e.probe(hashes, seen, tx.searched(&view))
	}
	tx.staging = tx.staging[:0]
	for i, h := range hashes {
		changed := e.play(tx.store.slot, w, h)
		if changed {
			tx.staging = append(tx.staging, h)
		}
		seen[i] = !seen[i] && changed // from here on: it was new
	}
	if len(tx.staging) > 0 {
		tx.log(opPlay, key)
		tx.record = appendWindow(tx.record, w)
		tx.record = appendHashes(tx.record, tx.staging)
	}
	return seen, nil
}

// window is where an event goes.
func (tx *Tx) window(view *policy.View, event int64) (window, error) {
	if event == Now {
		return window{class: view.Class().ID, label: view.Current(tx.now)}, nil
	}
	d, err := view.Decide(event, tx.now)
	return window{class: view.Class().ID, label: d.Label}, err
}

// Deliver records the items as delivered, except those that are played
// already, and says for each whether it was newly delivered. Items that are on
// the list already become its newest.
func (tx *Tx) Deliver(key []byte, items [][]byte) []bool {
	view := tx.store.view(key)
	settings := view.Settings()
	since := tx.now - settings.DeliveredTTL
	e := tx.create(key)
	hashes := tx.hash(e.salt, items)
	played := tx.flags(len(items))
	e.probe(hashes, played, tx.searched(&view))
	isNew := played // turned over item by item below
	tx.kept = tx.kept[:0]
	for i, item := range items {
		if played[i] {
			isNew[i] = false
			continue
		}
		d, ok := e.list()
		isNew[i] = !ok || !d.has(hashes[i], item, since)
		e.deliver(tx.store.slot, hashes[i], item, tx.now, int(settings.Delivered))
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
	view := tx.store.view(key)
	class := view.Class()
	f := forgetting{
		tx: tx, e: e, spans: tx.searched(&view), since: tx.now - view.Settings().DeliveredTTL,
		end: class.LifeEnd(view.Current(tx.now).Number),
	}
	tx.kept, tx.marked = tx.kept[:0], tx.marked[:0]
	n := 0
	for _, item := range items {
		if f.one(item, layers) {
			n++
		}
	}
	f.log(key, Played, tx.kept)
	f.log(key, Delivered, tx.marked)
	e.shard.dropIfEmpty(e)
	return n
}

// forgetting is a Forget under way.
type forgetting struct {
	tx    *Tx
	e     entry
	spans []policy.Span
	since int64 // what was delivered later counts
	end   int64 // until when a removal must hide its item
}

// one forgets an item and says whether it was there.
func (f *forgetting) one(item []byte, layers Layer) (found bool) {
	h := [1]uint64{f.e.hash(item)}
	var seen [1]bool
	if layers&Played != 0 {
		f.e.probe(h[:], seen[:], f.spans)
	}
	slot := f.tx.store.slot
	if seen[0] {
		f.e.remove(slot, h[0], f.end)
		f.tx.kept = append(f.tx.kept, item)
		found = true
	}
	if layers&Delivered != 0 && f.e.undeliver(slot, h[0], item, f.since) {
		f.tx.marked = append(f.tx.marked, item)
		found = true
	}
	return found
}

func (f *forgetting) log(key []byte, layer Layer, items [][]byte) {
	if len(items) == 0 {
		return
	}
	tx := f.tx
	tx.log(opForget, key)
	tx.record = append(tx.record, byte(layer))
	tx.record = appendUvarint(tx.record, uint64(f.end))
	tx.record = appendItems(tx.record, items)
}
