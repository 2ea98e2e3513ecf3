// Package filter holds the pure set structures of dedupd: the salted hash of
// an item, the fingerprint set that stores played items, the union of such
// sets, the value of a row, and the decoded table that answers for a hot key.
//
// A fingerprint of width q is the upper q bits of an item's salted 64-bit
// hash (see [Secret], [Salt] and [Hash]). A [Set] never answers "not there"
// for an item that was added; how often it answers "there" for one that was
// not is its FPR, n / 2^q.
//
// The package does no I/O, knows no clock and starts no goroutine. Parsed
// values are immutable views of the caller's bytes and safe for any number of
// readers; the types that hold scratch memory ([Merger], [RowMerger]) belong
// to one goroutine at a time. The bytes are specified in FORMAT.md.
// It needs a platform of 64 bits and does not compile on others.
package filter
