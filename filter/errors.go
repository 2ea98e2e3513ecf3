package filter

import "errors"

// The errors of reading stored bytes. They are wrapped with what was being
// read; test for them with errors.Is.
var (
	// ErrDamaged: the bytes contradict themselves or are cut short.
	ErrDamaged = errors.New("filter: damaged bytes")
	// ErrVersion: a kind or version that this program does not know, most
	// likely written by a newer one.
	ErrVersion = errors.New("filter: unknown kind or version")
	// ErrForeignSalt: a set whose fingerprints were made under another salt.
	// The kind is reserved; nothing reads or writes it yet.
	ErrForeignSalt = errors.New("filter: set under a foreign salt is not supported")
	// ErrBundle: a row that could not be merged into one list of sets, see
	// [RowMerger]. Its cause is wrapped beside it.
	ErrBundle = errors.New("filter: row is a bundle of unmerged operands")
)

// Kinds of encoded values: the upper half of the first byte; the lower half is
// the version of that kind. One numbering for sets and rows, so that neither
// is ever taken for the other.
const (
	kindSet         = 1
	kindRow         = 2
	kindBundle      = 3
	kindForeignSalt = 4

	version = 1
)

// tag is the first byte of an encoded value of a kind.
func tag(kind byte) byte { return kind<<4 | version }

// checkTag says why a value that begins with got is not a readable one of
// kind, or nil.
func checkTag(got, kind byte) error {
	switch {
	case got == tag(kind):
		return nil
	case got>>4 == kindForeignSalt:
		return ErrForeignSalt
	case got>>4 == kind || got>>4 > kindForeignSalt:
		return ErrVersion
	default:
		return ErrDamaged
	}
}
