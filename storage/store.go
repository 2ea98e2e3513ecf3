// Package storage keeps the seen items of every key: the hot layer in memory,
// the log that makes it durable, and the cold layer on disk, to which sealed
// slots of the log move.
package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dedupd/filter"
	"dedupd/storage/cold"
	"dedupd/storage/log"
	"dedupd/storage/policy"
)

// Options of a store.
type Options struct {
	FS           vfs.FS // every file goes through it
	Dir          string
	Fsync        log.Fsync
	HotBytes     int64 // what the hot layer may take; beyond it writes fail with ErrMemory
	CacheBytes   int64 // of the cold layer's block cache; 0: its default
	MaxSealed    int   // so many sealed slots may wait to be stored; beyond it writes fail with ErrBusy
	AcceptDamage bool  // start although acknowledged records were lost, and say which
	Logger       *slog.Logger

	policies    *policy.Directory // nil: the defaults; tests set it
	preallocate int64             // of log segments; 0: the log's default; tests set it
}

// DefaultMaxSealed is how many sealed slots may wait to be stored.
const DefaultMaxSealed = 24

// Store is the whole of a data directory. Its methods may be called from any
// goroutine, those of a Tx from one at a time. Locks are taken in the order
// shards (by number), then the log's own, blocks and sealedMu; no lock of a
// shard is held during I/O.
type Store struct {
	dir    *directory
	secret filter.Secret
	logger *slog.Logger
	log    *log.Log
	cold   *cold.DB

	slot      uint64       // the open one; changes only while all shards are locked
	slotStart log.Position // where its records begin; alike

	sealedMu  sync.Mutex
	sealed    []SlotInfo // slots that are not stored yet, oldest first; guarded by sealedMu
	backlog   atomic.Int64
	maxSealed int64

	policies  atomic.Pointer[policy.Directory]
	coldEmpty atomic.Bool // nothing was ever stored: what is in memory is all there is
	blocks    blocks

	shards   [shards]*shard
	hotBytes int64
	evictAt  int64
	used     atomic.Int64 // bytes of all arenas and indexes
	failure  atomic.Pointer[ReadOnlyError]

	recovery log.Recovery
}

// Open opens the directory, or creates it, and repeats its log. The error
// says what is wrong and, where there is one, the way out.
//
// ctx ends a recovery that takes too long for whoever waits.
func Open(ctx context.Context, o Options) (*Store, error) {
	dir, err := openDirectory(o.FS, o.Dir)
	if err != nil {
		return nil, err
	}
	s := newStore(o, dir)
	if err := s.open(ctx, o); err != nil {
		return nil, errors.Join(err, s.closeFiles())
	}
	return s, nil
}

func newStore(o Options, dir *directory) *Store {
	s := &Store{
		dir: dir, secret: dir.secret, logger: o.Logger, hotBytes: o.HotBytes,
		evictAt: int64(float64(o.HotBytes) * evictShare), maxSealed: int64(cmp.Or(o.MaxSealed, DefaultMaxSealed)),
	}
	for i := range s.shards {
		s.shards[i] = newShard(&s.used)
	}
	s.policies.Store(cmp.Or(o.policies, policy.New()))
	return s
}

// open opens the cold layer, which says up to which slot all is stored, and
// then the log, which has the rest.
func (s *Store) open(ctx context.Context, o Options) (err error) {
	s.cold, err = cold.Open(cold.Options{
		FS: o.FS, Dir: o.FS.PathJoin(o.Dir, coldDir), CacheBytes: o.CacheBytes, Logger: o.Logger, OnFatal: s.fail,
	})
	if err != nil {
		return err
	}
	stored := s.cold.StoredSlot()
	s.coldEmpty.Store(stored == 0)
	if err := s.loadBlocks(); err != nil {
		return err
	}
	replay := s.newReplay(ctx)
	defer replay.close()
	s.log, s.recovery, err = log.Open(log.Options{
		FS: o.FS, Dir: o.FS.PathJoin(o.Dir, logDir), Fsync: o.Fsync, Logger: o.Logger,
		AcceptDamage: o.AcceptDamage, StoredSlot: stored, MaxRecord: MaxRecord, Preallocate: o.preallocate,
	}, replay.apply)
	if err != nil {
		return err
	}
	replay.end(nowMillis())
	s.slot, s.slotStart = s.log.Slot(), s.log.End()
	s.backlog.Store(int64(len(s.sealed)))
	return nil
}

func (s *Store) loadBlocks() error {
	for _, class := range s.policies.Load().Classes() {
		live, err := s.cold.LiveBlocks(uint8(class.ID))
		if err != nil {
			return err
		}
		for _, block := range live {
			s.blocks.add(class.ID, block)
		}
	}
	return nil
}

// Close makes everything durable and gives the directory free. No Tx may be
// open, and none may begin afterwards; nor may a slot be on its way.
func (s *Store) Close() error {
	s.fail(ErrClosed)
	return s.closeFiles()
}

// closeFiles closes what is open, in the reverse of the order of opening.
func (s *Store) closeFiles() error {
	var errs []error
	if s.log != nil {
		if err := s.log.Close(); err != nil {
			errs = append(errs, fmt.Errorf("closing the log: %w", err))
		}
	}
	if s.cold != nil {
		if err := s.cold.Close(); err != nil {
			errs = append(errs, fmt.Errorf("closing the cold layer: %w", err))
		}
	}
	return errors.Join(append(errs, s.dir.lock.Close())...)
}

func (s *Store) view(key []byte) policy.View { return s.policies.Load().View(key, nil) }

func (s *Store) settings(key []byte) policy.Settings {
	view := s.view(key)
	return view.Settings()
}

// longestTTL is how long a delivered item of any key may live, in ms.
func (s *Store) longestTTL() int64 { return s.settings(nil).DeliveredTTL }

// width is that of the fingerprints in the open sets of a key.
func (s *Store) width(key []byte, class *policy.Class) int {
	return filter.OpenWidth(s.settings(key).Error, int(class.Keep))
}

// Wait blocks until the log is as durable up to the position as its setting
// promises.
func (s *Store) Wait(position uint64) error {
	if err := s.log.Wait(log.Position(position)); err != nil {
		return &ReadOnlyError{Cause: err}
	}
	return nil
}

func (s *Store) shard(salt filter.Salt) *shard {
	return s.shards[salt.ID()>>(64-shardBits)]
}

// admit says whether a transaction may begin.
func (s *Store) admit(kind Kind) error {
	if kind == Read {
		return nil
	}
	if failure := s.failure.Load(); failure != nil {
		return failure
	}
	if err := s.log.Err(); err != nil {
		return &ReadOnlyError{Cause: err}
	}
	if s.backlog.Load() >= s.maxSealed {
		return ErrBusy
	}
	return nil
}

// fail refuses writes from now on.
func (s *Store) fail(cause error) {
	s.failure.CompareAndSwap(nil, &ReadOnlyError{Cause: cause})
}
