package cold

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"dedupd/filter"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0: a new one")

// newRand returns random numbers whose seed is printed, for -seed.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("replay with -run '^%s$' -seed=%d", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustBe(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%v, want %v", err, want)
	}
}

// testOptions are small ones.
func testOptions(fs vfs.FS) Options {
	return Options{FS: fs, Dir: "cold", CacheBytes: 1 << 20, TableBytes: 16 << 10}
}

// open opens a store that is closed, without an error and without a goroutine
// left, when the test ends, unless the test has closed it.
func open(t testing.TB, o Options) *DB {
	t.Helper()
	before := goleak.IgnoreCurrent()
	d, err := Open(o)
	must(t, err)
	t.Cleanup(func() {
		if err := d.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Errorf("close: %v", err)
		}
		if err := goleak.Find(before); err != nil {
			t.Error(err)
		}
	})
	return d
}

func reopen(t testing.TB, d *DB) *DB {
	t.Helper()
	must(t, d.Close())
	return open(t, d.opts)
}

// sortedKeys sorts keys as rows lie.
func sortedKeys(keys [][]byte) [][]byte {
	slices.SortFunc(keys, CompareKeys)
	return keys
}

func testKeys(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "home:%d", i)
	}
	return sortedKeys(keys)
}

// rowOf is a row value with one window.
func rowOf(window int64, hashes ...uint64) []byte {
	slices.Sort(hashes)
	return filter.AppendWindow(filter.StartRow(nil), filter.Label{Number: window}, 64, slices.Compact(hashes))
}

// hashesOf are the hashes of a row value of width 64, over all its windows.
func hashesOf(t testing.TB, value []byte) (hashes []uint64) {
	t.Helper()
	row, err := filter.ParseRow(nil, value)
	must(t, err)
	for _, set := range row {
		hashes, err = set.AppendHashes(hashes)
		must(t, err)
	}
	slices.Sort(hashes)
	return hashes
}

// storeRows stores a slot that merges one value into the same block of all keys.
func storeRows(t testing.TB, d *DB, slot uint64, class uint8, block int64, keys [][]byte, value func(key []byte) []byte) Written {
	t.Helper()
	w := d.NewSlot(slot)
	for _, key := range keys {
		must(t, w.Merge(class, block, key, value(key)))
	}
	written, err := w.Commit()
	must(t, err)
	return written
}

// read reads one data row.
func read(t testing.TB, d *DB, class uint8, block int64, key []byte) ([]byte, bool) {
	t.Helper()
	s := d.Snapshot()
	defer s.Close()
	value, found, err := s.Row(class, block, key, nil)
	must(t, err)
	return value, found
}

// eventually waits for what happens in the background.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 500 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not within 5 s: %s", what)
}

func stats(t testing.TB, d *DB) Stats {
	t.Helper()
	s, err := d.Stats()
	must(t, err)
	return s
}

// logged keeps what was logged.
type logged struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logged) lines() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.Bytes(), []byte("\n"))
}
