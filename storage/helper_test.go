package storage

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dedupd/storage/log"
	"dedupd/storage/policy"
)

// deliveredTTL is that of the default policy.
var deliveredTTL = time.Duration(policy.Defaults().DeliveredTTL) * time.Millisecond

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func testOptions() Options {
	return Options{FS: vfs.NewMem(), Dir: "data", Fsync: log.No, HotBytes: 1 << 30, Logger: quiet(), preallocate: 64 << 10}
}

func openTest(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func putUint64(b []byte, v uint64) { binary.BigEndian.PutUint64(b, v) }

func begin(t testing.TB, tx *Tx, kind Kind, key string) []byte {
	t.Helper()
	if err := tx.Begin(kind, []byte(key)); err != nil {
		t.Fatal(err)
	}
	return []byte(key)
}

func commit(t testing.TB, tx *Tx) uint64 {
	t.Helper()
	position, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return position
}

func play(t testing.TB, tx *Tx, key string, items ...[]byte) []bool {
	t.Helper()
	k := begin(t, tx, Write, key)
	flags, err := tx.Play(k, items, Now)
	if err != nil {
		t.Fatal(err)
	}
	isNew := append([]bool(nil), flags...)
	commit(t, tx)
	return isNew
}

func exists(t testing.TB, tx *Tx, key string, layers Layer, items ...[]byte) []bool {
	t.Helper()
	k := begin(t, tx, Read, key)
	seen := append([]bool(nil), tx.Exists(k, items, layers)...)
	commit(t, tx)
	return seen
}

func list(items ...string) [][]byte {
	b := make([][]byte, len(items))
	for i, item := range items {
		b[i] = []byte(item)
	}
	return b
}
