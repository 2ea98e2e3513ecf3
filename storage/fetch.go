package storage

import (
	"fmt"
	"slices"

	"dedupd/filter"
	"dedupd/storage/cold"
	"dedupd/storage/log"
	"dedupd/storage/policy"
)

// Need says how much of what is stored of a key a command must know.
type Need uint8

const (
	Everything Need = iota // all windows that are searched, and the lists
	Lists                  // the removed and the delivered list
)

// fetch is a read of a key's rows that is under way: the placeholder that a
// store of a slot marks when it changes those rows. Guarded by the shard's
// lock.
type fetch struct {
	done   chan struct{}
	marked bool
}

// rows is what the cold layer has of a key at one moment.
type rows struct {
	need      Need
	until     int64 // the sets are those searched until then
	sets      []filter.Set
	own       filter.Set // of ownWindow, the newest of the class that is written to; Len 0: none
	ownWindow window
	removals  []removal
	delivered []delivery // oldest first
	keep      int        // so many delivered items at most

	removalsAt, deliveredAt log.Position // up to where the lists go; 0: there is no row
	listStored              bool
}

type delivery struct {
	item []byte
	at   int64
}

// know makes the key's entry know what the command needs. Whoever comes first
// reads, without any lock, and the others wait for it. It may have to be
// called again: the entry can be evicted before the caller has its lock.
func (s *Store) know(salt filter.Salt, key []byte, need Need, now int64) error {
	sh := s.shard(salt)
	sh.mu.Lock()
	if sh.find(salt, key).knows(need, now) {
		sh.mu.Unlock()
		return nil
	}
	if f := sh.fetches[string(key)]; f != nil {
		sh.mu.Unlock()
		<-f.done
		return nil
	}
	f := &fetch{done: make(chan struct{})}
	name := string(key)
	sh.fetches[name] = f
	sh.mu.Unlock()
	defer close(f.done)
	return s.fetch(sh, salt, name, need, now, f)
}

// fetch reads and installs, again if the rows changed in between.
func (s *Store) fetch(sh *shard, salt filter.Salt, key string, need Need, now int64, f *fetch) error {
	for {
		rows, err := s.readRows([]byte(key), need, now)
		sh.mu.Lock()
		if err == nil && f.marked {
			f.marked = false
			sh.mu.Unlock()
			continue
		}
		delete(sh.fetches, key)
		if err == nil {
			if s.used.Load() > s.evictAt { // before the install: what was read must be found by whoever waits
				sh.evict(evictPlaces, s.coldEmpty.Load())
			}
			e := sh.findOrCreate(salt, []byte(key), s.coldEmpty.Load())
			err = e.install(rows)
		}
		sh.mu.Unlock()
		return err
	}
}

// readRows reads all rows of the key from one snapshot.
func (s *Store) readRows(key []byte, need Need, now int64) (rows, error) {
	snapshot := s.cold.Snapshot()
	defer snapshot.Close()
	return s.readFrom(snapshot, key, need, now)
}

func (s *Store) readFrom(snapshot *cold.Snapshot, key []byte, need Need, now int64) (rows, error) {
	view := s.view(key)
	r := rows{need: need, until: view.Until(now)}
	if err := r.readLists(snapshot, key, &view, now); err != nil {
		return rows{}, fmt.Errorf("reading the lists of a key: %w", err)
	}
	if need == Lists {
		return r, nil
	}
	var spans [4]policy.Span
	for _, span := range view.Spans(spans[:0], now) {
		if err := r.readSpan(snapshot, s.blocks.of(span.Class.ID), key, span, view.Class().ID); err != nil {
			return rows{}, fmt.Errorf("reading the windows of a key: %w", err)
		}
	}
	return r, nil
}

func (r *rows) readSpan(snapshot *cold.Snapshot, blocks []int64, key []byte, span policy.Span, class policy.ClassID) error {
	first := span.FirstBlock()
	for _, block := range blocks {
		if block < first {
			continue
		}
		value, found, err := snapshot.Row(uint8(span.Class.ID), block, key, nil)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		row, err := filter.ParseRow(nil, value)
		if err != nil {
			return err
		}
		for _, set := range row {
			w := window{class: span.Class.ID, part: set.Part, label: policy.Label{Number: set.Number, Cut: set.Cut}}
			if !span.Holds(w.label) {
				continue
			}
			r.sets = append(r.sets, set.Set)
			if w.class == class && w.part == filter.Main && (r.own.Len() == 0 || w.newer(r.ownWindow)) {
				r.own, r.ownWindow = set.Set, w
			}
		}
	}
	return nil
}

func (r *rows) readLists(snapshot *cold.Snapshot, key []byte, view *policy.View, now int64) error {
	value, found, err := snapshot.Meta(key, nil)
	if err != nil {
		return err
	}
	if found {
		if r.removals, r.removalsAt, err = decodeMeta(value); err != nil {
			return err
		}
		r.removals = slices.DeleteFunc(r.removals, func(one removal) bool { return one.end <= now })
	}
	settings := view.Settings()
	ttl := settings.DeliveredTTL
	r.keep = int(settings.Delivered)
	newest := deliveredBlock(now, ttl)
	for block := newest; block >= 0 && block > newest-2; block-- {
		value, found, err := snapshot.Delivered(ttl, block, key, nil)
		if err != nil {
			return err
		}
		if found {
			r.listStored = true
			r.delivered, r.deliveredAt, err = decodeDelivered(value)
			return err
		}
	}
	return nil
}

// install takes over what was read. Lists that are in memory are newer.
func (e entry) install(r rows) error {
	if !e.has(flagLists) {
		e.installLists(r)
	}
	if r.need == Lists {
		return nil
	}
	if err := e.buildTable(r.sets); err != nil {
		e.unset(flagTable)
		return fmt.Errorf("decoding the windows of a key: %w", err)
	}
	e.freeOwn()
	if r.own.Len() > 0 {
		e.putOwn(r.ownWindow, r.own.Bytes())
	}
	e.set(flagTable | flagUsed)
	e.setUntil(r.until)
	return nil
}

func (e entry) installLists(r rows) {
	for _, one := range r.removals {
		e.addRemoved(one.hash, one.end)
	}
	list := ref(0)
	for _, d := range r.delivered {
		list = deliver(&e.shard.arena, list, e.hash(d.item), d.item, d.at, r.keep, e.hash)
	}
	e.setDelivered(list)
	if d, ok := e.list(); ok {
		e.shard.delivered.add(d.live())
	}
	e.set(flagLists)
	if r.listStored {
		e.set(flagListStored)
	}
}
