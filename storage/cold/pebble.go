package cold

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
)

// formatVersion is the newest format of Pebble v2.1.7, named so that a newer
// Pebble does not upgrade directories by itself. It has Excise and
// IngestAndExcise, and tables whose footers carry a checksum.
const formatVersion = pebble.FormatValueSeparation

// blockOptions are what measurements vary: `go test -bench .` on rows of 20 items
// and 92 bytes, an EPYC core each for the writer and for compactions, tables in
// the operating system's cache.
//
//	data block            4 KiB   8 KiB  16 KiB
//	read of a row, cold   6.5 us  6.8 us  7.9 us    (2.2 us from the block cache)
//
// Of these 8 KiB halve the index, which is what a store far above its cache reads
// beside the block; for the same reason the index comes in blocks of 16 KiB.
//
//	compression           none    Snappy
//	bytes a row           91.5    91.4
//	rows ingested a s     2.0 M   1.75 M
//
//	L0 trigger               2      4      8        (24 slots, a quarter of the keys each)
//	bytes written/ingested  10.0    4.8    2.2
//	tables deep, at worst    1      2      4
//
// Of these 4: reads are what suffers from depth, and a slot is small.
type blockOptions struct {
	data, index int
	compression *block.CompressionProfile
	filterBits  int // below 0: no filter
	l0Trigger   int
}

func (b blockOptions) withDefaults() blockOptions {
	if b.data == 0 {
		b.data = 8 << 10
	}
	if b.index == 0 {
		b.index = 16 << 10
	}
	if b.compression == nil {
		b.compression = sstable.NoCompression // fingerprints do not compress
	}
	if b.filterBits == 0 {
		b.filterBits = 10
	}
	if b.l0Trigger == 0 {
		b.l0Trigger = 4
	}
	return b
}

// levels are the same for all: rows are found by whole keys on every level, the
// last included, so every level has filters.
func (b blockOptions) levels(o *pebble.Options) {
	for i := range o.Levels {
		l := &o.Levels[i]
		l.BlockSize, l.IndexBlockSize = b.data, b.index
		l.Compression = func() *block.CompressionProfile { return b.compression }
		if b.filterBits > 0 {
			l.FilterPolicy = bloom.FilterPolicy(b.filterBits)
		}
	}
}

// pebbleOptions are the settings of Pebble.
//
// Nothing is ever written through Pebble's WAL and memtable: rows come and go by
// Ingest, Excise and IngestAndExcise, whose only record is the MANIFEST. The WAL
// stays on all the same, empty: turned off it would save nothing, and Pebble
// says of that setting that it is little tested.
func (o Options) pebbleOptions(f *fatal, e *events, s *scheduler) *pebble.Options {
	p := &pebble.Options{
		FS:                          o.FS,
		Comparer:                    pebble.DefaultComparer,
		Merger:                      newMerger(o.Floor),
		FormatMajorVersion:          formatVersion,
		Logger:                      &pebbleLogger{fatal: f},
		EventListener:               e.listener(),
		MemTableSize:                256 << 10,
		MaxOpenFiles:                o.MaxOpenFiles,
		L0CompactionThreshold:       o.blocks.l0Trigger,
		L0StopWritesThreshold:       o.blocks.l0Trigger + 100, // concerns only memtables
		LBaseMaxBytes:               256 << 20,
		CompactionConcurrencyRange:  func() (int, int) { return 1, o.Compactions },
		TargetByteDeletionRate:      0, // a drop frees the disk at once
		MemTableStopWritesThreshold: 2,
	}
	for i := range p.TargetFileSizes {
		p.TargetFileSizes[i] = o.TableBytes
	}
	o.blocks.levels(p)
	p.Experimental.CompactionScheduler = s
	// Compactions end a table where the next space begins, as slots do.
	p.Experimental.SpanPolicyFunc = func(row []byte) (pebble.SpanPolicy, []byte, error) {
		return pebble.SpanPolicy{}, tableEnd(row), nil
	}
	// Pebble would read a bit of every table at start, for choosing tables with many
	// tombstones first, and where one cannot be read it tries again for ever, at
	// once. What frees the disk here are drops.
	p.DisableTableStats = true
	// Reads never ask for compactions: noting that would take Pebble's main lock.
	p.Experimental.ReadSamplingMultiplier = -1
	p.EnsureDefaults()
	return p
}
