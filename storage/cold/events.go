package cold

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// events counts what Pebble reports and logs what somebody should know. Pebble
// calls it from any goroutine, with locks held: it only counts and logs.
type events struct {
	log      *slog.Logger
	schedule *scheduler

	backgroundErrors atomic.Uint64
	compactionErrors atomic.Uint64
	diskSlow         atomic.Uint64

	background, slow quiet

	mu      sync.Mutex
	corrupt map[string]bool // paths of files with unreadable parts
}

// maxCorrupt bounds the files that are told apart.
const maxCorrupt = 1000

// listener returns the hooks for Pebble. DataCorruption is set in any case:
// Pebble's default for it ends the process.
func (e *events) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: e.onBackgroundError,
		DataCorruption:  e.onCorruption,
		CompactionEnd:   e.onCompaction,
		DiskSlow:        e.onDiskSlow,
		TableIngested: func(i pebble.TableIngestInfo) {
			e.log.Debug("ingested", "tables", len(i.Tables), "err", i.Err)
		},
	}
}

func (e *events) onBackgroundError(err error) {
	e.backgroundErrors.Add(1)
	e.background.warn(e.log, "background work of the cold layer failed, it is retried", "err", err)
}

func (e *events) onCorruption(i pebble.DataCorruptionInfo) {
	if e.noteCorrupt(i.Path) {
		e.log.Error("unreadable part of a file: keys in it answer errors", "file", i.Path, "err", i.Details)
	}
}

func (e *events) noteCorrupt(path string) (isNew bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.corrupt[path] || len(e.corrupt) >= maxCorrupt {
		return false
	}
	if e.corrupt == nil {
		e.corrupt = map[string]bool{}
	}
	e.corrupt[path] = true
	return true
}

// corruptFiles is how many files have been found unreadable in part.
func (e *events) corruptFiles() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.corrupt)
}

func (e *events) onCompaction(i pebble.CompactionInfo) {
	switch {
	case errors.Is(i.Err, pebble.ErrCancelledCompaction):
		return // by a drop; it is chosen again
	case i.Err != nil:
		e.compactionErrors.Add(1)
	default:
		e.log.Debug("compacted", "from", len(i.Input), "to_level", i.Output.Level, "took", i.TotalDuration)
	}
	e.schedule.finished(i.Err)
}

func (e *events) onDiskSlow(i pebble.DiskSlowInfo) {
	e.diskSlow.Add(1)
	e.slow.warn(e.log, "the disk is slow", "what", i.String())
}
