package cold

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// corruptStore stores rows in several tables on disk and flips bytes in the
// middle of the first data table.
func corruptStore(t *testing.T, at func(size int64) int64, length int64) (Options, [][]byte) {
	t.Helper()
	o := testOptions(vfs.Default)
	o.Dir = filepath.Join(t.TempDir(), "cold")
	o.TableBytes = 64 << 10
	d := open(t, o)
	keys := testKeys(6000)
	storeRows(t, d, 1, 1, 1, keys, func([]byte) []byte { return rowOf(1, 1, 2, 3) })
	must(t, d.Close())
	file := largest(t, o.Dir)
	info, err := os.Stat(file)
	must(t, err)
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	must(t, err)
	b := make([]byte, length)
	_, err = f.ReadAt(b, at(info.Size()))
	must(t, err)
	for i := range b {
		b[i] ^= 0x5a
	}
	_, err = f.WriteAt(b, at(info.Size()))
	must(t, err)
	must(t, f.Close())
	return o, keys
}

func largest(t *testing.T, dir string) (path string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	must(t, err)
	var size int64
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Size() > size {
			path, size = file, info.Size()
		}
	}
	return path
}

// TestFlippedBytes: only keys in the damaged part answer errors, always, and
// never "not found"; the others are found, and nothing ends or spins.
func TestFlippedBytes(t *testing.T) {
	for _, c := range []struct {
		name     string
		at       func(size int64) int64
		min, max int // keys that answer errors
	}{
		{"data block", func(int64) int64 { return 5000 }, 20, 400},
		{"index and filter", func(size int64) int64 { return size - 3500 }, 1, 2500},
		{"footer", func(size int64) int64 { return size - 30 }, 400, 2500},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, keys := corruptStore(t, c.at, 20)
			var log logged
			o.Logger = log.logger()
			o.OnFatal = func(err error) { t.Error(err) }
			d := open(t, o)
			for range 3 {
				failed := 0
				for _, key := range keys {
					s := d.Snapshot()
					_, found, err := s.Row(1, 1, key, nil)
					s.Close()
					if err != nil {
						failed++
					} else if !found {
						t.Fatalf("%s is answered as absent", key)
					}
				}
				if failed < c.min || failed > c.max {
					t.Errorf("%d keys answer errors, want %d to %d", failed, c.min, c.max)
				}
			}
			if s := stats(t, d); s.CorruptFiles != 1 || s.ZombieTables != 0 {
				t.Errorf("stats %+v", s)
			}
			if n := log.lines(); n != 1 || !strings.Contains(log.String(), ".sst") {
				t.Errorf("%d log lines:\n%s", n, log.String())
			}
			checkCorruptGoesOn(t, d, keys)
		})
	}
}

// checkCorruptGoesOn: slots are stored, compactions that meet the damage are held
// back, the block can be dropped.
func checkCorruptGoesOn(t *testing.T, d *DB, keys [][]byte) {
	t.Helper()
	for slot := range uint64(8) {
		storeRows(t, d, slot+2, 1, 1, keys, func([]byte) []byte { return rowOf(1, slot) })
	}
	time.Sleep(300 * time.Millisecond)
	if s := stats(t, d); s.CompactionErrors > 5 {
		t.Errorf("%d failed compactions", s.CompactionErrors)
	}
	if blocks, err := d.LiveBlocks(1); err != nil || len(blocks) != 1 {
		t.Errorf("live blocks %v, %v", blocks, err)
	}
	must(t, d.DropBlocks(1, 2))
	storeRows(t, d, 10, 1, 3, keys, func([]byte) []byte { return rowOf(1, 1) })
	if _, found := read(t, d, 1, 3, keys[0]); !found {
		t.Error("a later block is not found")
	}
}

// TestMissingTable: a table that is gone, or cut short, is found at Open, and
// the directory is left as it is.
func TestMissingTable(t *testing.T) {
	for _, cut := range []bool{false, true} {
		t.Run(fmt.Sprint("cut ", cut), func(t *testing.T) {
			o, _ := corruptStore(t, func(int64) int64 { return 0 }, 1)
			file := largest(t, o.Dir)
			if cut {
				must(t, os.Truncate(file, 0))
			} else {
				must(t, os.Remove(file))
			}
			d, err := Open(o)
			if err == nil {
				must(t, d.Close())
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), strings.TrimSuffix(filepath.Base(file), ".sst")) {
				t.Errorf("the error does not name %s: %v", file, err)
			}
		})
	}
}
