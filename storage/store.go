// Package storage keeps the seen items of every key: the hot layer in memory
// and the log that makes it durable.
package storage

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dedupd/filter"
	"dedupd/storage/log"
)

// Options of a store.
type Options struct {
	FS           vfs.FS // every file goes through it
	Dir          string
	Fsync        log.Fsync
	HotBytes     int64 // what the hot layer may take; beyond it writes fail with ErrMemory
	AcceptDamage bool  // start although acknowledged records were lost, and say which
	Logger       *slog.Logger

	deliveredKeep int // 0: DefaultDelivered; tests set it
}

// What a key keeps of its delivered items unless a policy says otherwise.
const (
	DefaultDelivered    = 1000
	DefaultDeliveredTTL = 10 * time.Minute
)

// Store is the whole of a data directory. Its methods may be called from any
// goroutine, those of a Tx from one at a time. Locks are taken in the order
// shards (by number), then the log's own.
type Store struct {
	dir    *directory
	secret filter.Secret
	log    *log.Log
	slot   uint64 // the open one; changes only while all shards are locked

	shards        [shards]*shard
	hotBytes      int64
	used          atomic.Int64 // bytes of all arenas and indexes
	deliveredKeep int
	deliveredTTL  int64 // ms
	failure       atomic.Pointer[ReadOnlyError]

	recovery log.Recovery
	replay   recordReader
}

// Open opens the directory, or creates it, and repeats its log. The error
// says what is wrong and, where there is one, the way out.
func Open(o Options) (*Store, error) {
	dir, err := openDirectory(o.FS, o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Store{
		dir: dir, secret: dir.secret, hotBytes: o.HotBytes,
		deliveredKeep: cmp.Or(o.deliveredKeep, DefaultDelivered), deliveredTTL: DefaultDeliveredTTL.Milliseconds(),
	}
	for i := range s.shards {
		s.shards[i] = newShard(&s.used)
	}
	s.log, s.recovery, err = log.Open(log.Options{
		FS: o.FS, Dir: o.FS.PathJoin(o.Dir, logDir), Fsync: o.Fsync, Logger: o.Logger,
		AcceptDamage: o.AcceptDamage, MaxRecord: MaxRecord,
	}, s.apply)
	if err != nil {
		return nil, errors.Join(err, dir.lock.Close())
	}
	s.slot = s.log.Slot()
	s.replay = recordReader{}
	return s, nil
}

// Close makes everything durable and gives the directory free. No Tx may be
// open, and none may begin afterwards.
func (s *Store) Close() error {
	s.fail(ErrClosed)
	err := s.log.Close()
	if err != nil {
		err = fmt.Errorf("closing the log: %w", err)
	}
	return errors.Join(err, s.dir.lock.Close())
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
	if kind == Write && s.used.Load() > s.hotBytes {
		return ErrMemory
	}
	return nil
}

// fail refuses writes from now on.
func (s *Store) fail(cause error) {
	s.failure.CompareAndSwap(nil, &ReadOnlyError{Cause: cause})
}
