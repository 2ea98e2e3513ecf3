package cold

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options are the settings of a cold layer. FS and Dir are required.
type Options struct {
	FS     vfs.FS
	Dir    string
	Logger *slog.Logger // nil: says nothing

	// CacheBytes bounds the block cache, which also holds Bloom filters and
	// index blocks. 0: 64 MiB. Give it room for the filters, about 1.3 bytes a
	// row, or lookups of absent rows go to disk.
	CacheBytes int64

	// OnFatal is told once why nothing can be stored any more, on a goroutine
	// that holds locks of the store: it may not call back and must return soon.
	OnFatal func(reason error)

	// ReserveBytes is the free space that tables and compactions leave. 0: 256
	// MiB.
	ReserveBytes int64

	// Floor is the first window of a class that anybody may still ask for;
	// merges discard those below it. nil: none are discarded. It is called for
	// each merge, from any goroutine.
	Floor func(class uint8) (firstWindow int64)

	// TableBytes is the size at which a table is complete and the next one
	// begins. 0: 32 MiB.
	TableBytes int64

	// Compactions is how many may run at a time. 0: half the processors.
	Compactions int

	// MaxOpenFiles bounds the tables that are kept open. 0: 1,000.
	MaxOpenFiles int

	blocks blockOptions // for measurements
}

const (
	defaultCacheBytes   = 64 << 20
	defaultReserveBytes = 256 << 20
	defaultTableBytes   = 32 << 20
	defaultMaxOpenFiles = 1000
)

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.ReserveBytes == 0 {
		o.ReserveBytes = defaultReserveBytes
	}
	if o.TableBytes == 0 {
		o.TableBytes = defaultTableBytes
	}
	if o.Compactions == 0 {
		o.Compactions = max(1, runtime.GOMAXPROCS(0)/2)
	}
	if o.MaxOpenFiles == 0 {
		o.MaxOpenFiles = defaultMaxOpenFiles
	}
	o.blocks = o.blocks.withDefaults()
	return o
}

func (o Options) validate() error {
	switch {
	case o.FS == nil:
		return errors.New("cold: no file system")
	case o.Dir == "":
		return errors.New("cold: no directory")
	case o.CacheBytes < 0:
		return fmt.Errorf("cold: CacheBytes %d: it must not be negative", o.CacheBytes)
	case o.ReserveBytes < 0:
		return fmt.Errorf("cold: ReserveBytes %d: it must not be negative", o.ReserveBytes)
	case o.TableBytes < 1<<10 || o.TableBytes > 1<<30:
		return fmt.Errorf("cold: TableBytes %d: it must be from 1 KiB to 1 GiB", o.TableBytes)
	case o.Compactions < 1:
		return fmt.Errorf("cold: Compactions %d: it must be at least 1", o.Compactions)
	case o.MaxOpenFiles < 1:
		return fmt.Errorf("cold: MaxOpenFiles %d: it must be at least 1", o.MaxOpenFiles)
	}
	return nil
}
