// Package cold is the cold layer: the rows of all keys, in Pebble.
//
// It knows rows, keys, the ingest of one sealed slot, the reads of one key, and
// drops and rewrites of ranges. It knows nothing of the hot layer, the log,
// policies or clocks: classes and blocks are plain numbers here. FORMAT.md
// describes the bytes on disk.
//
// The way through the package, from below:
//
//	key.go, group.go      row keys, their order, the runs of hash slots
//	merger.go             how operands of a data row become one
//	tables.go, slot.go    one slot's sorted tables, visible in one step
//	snapshot.go, scan.go  reads of one key, pages of many keys
//	drop.go, rewrite.go   blocks that go as a whole, ranges that are narrowed
//	fatal.go, events.go, schedule.go  what Pebble reports and does by itself
//	db.go, guard.go       opening, closing, and what comes after that
package cold
