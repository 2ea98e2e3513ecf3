package cold

import "context"

// Stats is a look at the store.
type Stats struct {
	StoredSlot uint64

	ReadAmp        int    // tables that a read of a row may have to ask
	L0Sublevels    int    // of these, in the level that slots arrive in
	L0Tables       int64  //
	CompactionDebt uint64 // bytes that are still to be compacted
	Compactions    int64  // that have run
	Compacting     int64  // that run now

	Tables     int64  // in use
	TableBytes uint64 // of rows in use
	DiskBytes  uint64 // of all files

	// Zombies are files out of use that a snapshot keeps; obsolete ones are about
	// to be removed.
	ZombieTables, ObsoleteTables int64
	ZombieBytes, ObsoleteBytes   uint64

	Ingests        uint64
	IngestedBytes  uint64
	CompactedBytes uint64 // written by compactions

	CacheBytes, CacheHits, CacheMisses int64
	OpenTables                         int64
	Iterators                          int64 // on tables, held by snapshots and compactions

	// FilterHits are lookups that a Bloom filter answered.
	FilterHits, FilterMisses int64

	CorruptFiles     int    // files found unreadable in part since the start
	BackgroundErrors uint64 // failed compactions and the like
	CompactionErrors uint64
	SlowDisk         uint64 // reports of operations that hung
}

// Stats takes a look at the store. After a FatalError it is the last one taken.
func (d *DB) Stats() (Stats, error) {
	if err := d.guard.enter(); err != nil {
		return Stats{}, err
	}
	defer d.guard.leave()
	s := d.lastStats()
	s.StoredSlot = d.StoredSlot()
	s.CorruptFiles = d.events.corruptFiles()
	s.BackgroundErrors = d.events.backgroundErrors.Load()
	s.CompactionErrors = d.events.compactionErrors.Load()
	s.SlowDisk = d.events.diskSlow.Load()
	return s, nil
}

// lastStats asks Pebble, or remembers its last answer.
func (d *DB) lastStats() Stats {
	measured := new(Stats) // not looked at unless run waited for it
	err := d.fatal.run(func() error {
		*measured = d.measure()
		return nil
	})
	if err == nil {
		d.last.Store(measured)
	}
	if last := d.last.Load(); last != nil {
		return *last
	}
	return Stats{}
}

// measure asks Pebble.
func (d *DB) measure() Stats {
	m := d.pebble.Metrics()
	total := m.Total()
	return Stats{
		ReadAmp:        m.ReadAmp(),
		L0Sublevels:    int(m.Levels[0].Sublevels),
		L0Tables:       m.Levels[0].TablesCount,
		CompactionDebt: m.Compact.EstimatedDebt,
		Compactions:    m.Compact.Count,
		Compacting:     m.Compact.NumInProgress,
		Tables:         total.TablesCount,
		TableBytes:     uint64(total.TablesSize),
		DiskBytes:      m.DiskSpaceUsage(),
		ZombieTables:   m.Table.ZombieCount,
		ZombieBytes:    m.Table.ZombieSize,
		ObsoleteTables: m.Table.ObsoleteCount,
		ObsoleteBytes:  m.Table.ObsoleteSize,
		Ingests:        m.Ingest.Count,
		IngestedBytes:  total.TableBytesIngested,
		CompactedBytes: total.TableBytesCompacted,
		CacheBytes:     m.BlockCache.Size,
		CacheHits:      m.BlockCache.Hits,
		CacheMisses:    m.BlockCache.Misses,
		OpenTables:     m.FileCache.TableCount,
		Iterators:      m.TableIters,
		FilterHits:     m.Filter.Hits,
		FilterMisses:   m.Filter.Misses,
	}
}

// Compact compacts everything, so that each row is in one table. It may take
// long; ending ctx ends it, and what it has done stays.
func (d *DB) Compact(ctx context.Context) error {
	if err := d.guard.enter(); err != nil {
		return err
	}
	defer d.guard.leave()
	return d.fatal.run(func() error {
		return d.pebble.Compact(ctx, []byte{spaceSystem}, []byte{spaceEnd}, true)
	})
}
