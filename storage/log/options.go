package log

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Position counts the bytes of the whole log's sequence of records. It runs on
// over segments and restarts and never goes back. 0 means nothing: the first
// record ends at a position above it.
type Position uint64

// Fsync says when an accepted record must be on disk.
type Fsync int

const (
	// EverySec syncs each second while there is anything unsynced: a power cut
	// loses at most two seconds of records, a killed process none.
	EverySec Fsync = iota
	// Always lets Wait return only when the record is synced.
	Always
	// No leaves the open segment to the operating system: it is synced when it
	// is sealed and at Close. A killed process still loses nothing.
	No
)

var fsyncNames = map[Fsync]string{EverySec: "everysec", Always: "always", No: "no"}

// String returns the setting's name, as ParseFsync reads it.
func (f Fsync) String() string {
	if name, ok := fsyncNames[f]; ok {
		return name
	}
	return fmt.Sprintf("Fsync(%d)", int(f))
}

// ParseFsync reads "always", "everysec" or "no", in any case.
func ParseFsync(s string) (Fsync, error) {
	for f, name := range fsyncNames {
		if strings.EqualFold(s, name) {
			return f, nil
		}
	}
	return 0, fmt.Errorf("log: fsync %q: it is one of always, everysec, no", s)
}

// Options are the settings of a log. FS and Dir are required.
type Options struct {
	FS     vfs.FS
	Dir    string
	Fsync  Fsync
	Logger *slog.Logger // nil: says nothing

	// Preallocate is the size in which a segment's file grows ahead of its
	// records. 0: 16 MiB. Below 0: files grow with each write.
	Preallocate int64

	// MaxRecord bounds a record's payload. 0: 64 MiB.
	MaxRecord int

	// StoredSlot is the highest slot that no longer needs its segment. Segments
	// up to it are not read, and are removed.
	StoredSlot uint64

	// AcceptDamage lets Open go on over records that were synced and cannot be
	// read any more. What is lost is in Recovery.Lost.
	AcceptDamage bool
}

const (
	defaultPreallocate = 16 << 20
	defaultMaxRecord   = 64 << 20
)

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Preallocate == 0 {
		o.Preallocate = defaultPreallocate
	}
	if o.MaxRecord == 0 {
		o.MaxRecord = defaultMaxRecord
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.FS == nil:
		return errors.New("log: no file system")
	case o.Dir == "":
		return errors.New("log: no directory")
	case fsyncNames[o.Fsync] == "":
		return fmt.Errorf("log: unknown fsync setting %d", int(o.Fsync))
	case o.MaxRecord < 1 || o.MaxRecord > maxPayload:
		return fmt.Errorf("log: MaxRecord %d: it must be from 1 to %d", o.MaxRecord, maxPayload)
	case o.Preallocate > 0 && o.Preallocate < headerSize:
		return fmt.Errorf("log: Preallocate %d: it must be at least %d, or below 0 for none", o.Preallocate, headerSize)
	case o.StoredSlot >= maxSlot:
		return fmt.Errorf("log: StoredSlot %d: it must be below %d", o.StoredSlot, uint64(maxSlot))
	}
	return nil
}
