package cold

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestUseAfterClose: everything answers ErrClosed, nothing panics.
func TestUseAfterClose(t *testing.T) {
	d := open(t, testOptions(vfs.NewMem()))
	must(t, storySlot(d, 1))
	begun := d.NewSlot(2)
	must(t, begun.SetMeta([]byte("k"), nil))
	must(t, d.Close())
	_, commit := begun.Commit()
	_, newer := d.NewSlot(3).Commit()
	s := d.Snapshot()
	defer s.Close()
	_, _, row := s.Row(1, 1, storyKeys[0], nil)
	_, _, system := s.System("slot")
	_, rewrite := d.RewriteRange(1, 1, 1, func(_, _, dst []byte) []byte { return dst })
	_, live := d.LiveBlocks(1)
	_, delivered := d.LiveDelivered()
	_, look := d.Stats()
	for what, err := range map[string]error{
		"commit": commit, "new slot": newer, "row": row, "system": system, "rewrite": rewrite,
		"live": live, "delivered": delivered, "stats": look, "close": d.Close(),
		"drop": d.DropBlocks(1, 9), "drop delivered": d.DropDelivered(1, 0), "compact": d.Compact(t.Context()),
		"scan": d.Scan(Meta(), 0, nil, nil),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestCloseUnderLoad closes while readers, a writer and maintenance are at it.
func TestCloseUnderLoad(t *testing.T) {
	for range 15 {
		d := open(t, testOptions(vfs.NewMem()))
		must(t, storySlot(d, 1))
		var done sync.WaitGroup
		work := func(op func() error) {
			done.Go(func() {
				for {
					if err := op(); errors.Is(err, ErrClosed) {
						return
					} else if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for range 3 {
			work(func() error {
				s := d.Snapshot()
				defer s.Close()
				for _, key := range storyKeys {
					if _, _, err := s.Row(1, 1, key, nil); err != nil {
						return err
					}
				}
				return nil
			})
		}
		work(func() error { return storySlot(d, d.StoredSlot()+1) })
		work(func() error { return d.DropBlocks(2, int64(d.StoredSlot())) })
		work(func() error { return d.Compact(t.Context()) })
		work(func() error { _, err := d.Stats(); return err })
		work(func() error {
			_, err := d.RewriteRange(1, 1, Group(storyKeys[0]), func(_, v, dst []byte) []byte { return append(dst, v...) })
			return err
		})
		time.Sleep(10 * time.Millisecond)
		must(t, d.Close())
		done.Wait()
	}
}

// TestForeignDirectories are refused and left as they are.
func TestForeignDirectories(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"other files":      {"photo.jpg": "x"},
		"Pebble v1":        {"CURRENT": "MANIFEST-000001\n", "MANIFEST-000001": "x", "000004.sst": "x"},
		"tables only":      {"000004.sst": "x", "LOCK": ""},
		"newer format":     {"marker.format-version.000001.099": "", "marker.manifest.000001.MANIFEST-000001": "", "MANIFEST-000001": "x"},
		"old format":       {"marker.format-version.000001.003": "", "marker.manifest.000001.MANIFEST-000001": "", "MANIFEST-000001": "x"},
		"lost its markers": {"MANIFEST-000001": "x", "000004.sst": "x", "OPTIONS-000003": "x"},
	} {
		fs := vfs.NewMem()
		must(t, fs.MkdirAll("cold", 0o755))
		var want []string
		for file, content := range files {
			f, err := fs.Create("cold/"+file, vfs.WriteCategoryUnspecified)
			must(t, err)
			_, err = f.Write([]byte(content))
			must(t, err)
			must(t, f.Close())
			want = append(want, file)
		}
		_, err := Open(testOptions(fs))
		if !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
		got, err := fs.List("cold")
		must(t, err)
		slices.Sort(want)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %v became %v", name, want, got)
		}
	}
}

func TestOneProcessOnly(t *testing.T) {
	o := testOptions(vfs.Default)
	o.Dir = t.TempDir() + "/cold"
	d := open(t, o)
	if _, err := Open(o); err == nil {
		t.Fatal("opened twice")
	}
	must(t, storySlot(d, 1))
}

func TestOptionsAreChecked(t *testing.T) {
	for _, bad := range []Options{
		{}, {FS: vfs.NewMem()}, {Dir: "x"},
		{FS: vfs.NewMem(), Dir: "x", CacheBytes: -1},
		{FS: vfs.NewMem(), Dir: "x", ReserveBytes: -1},
		{FS: vfs.NewMem(), Dir: "x", TableBytes: 7},
		{FS: vfs.NewMem(), Dir: "x", Compactions: -1},
		{FS: vfs.NewMem(), Dir: "x", MaxOpenFiles: -1},
	} {
		if _, err := Open(bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// TestNothingIsLoggedInPeace: no line above the debug level in a normal life.
func TestNothingIsLoggedInPeace(t *testing.T) {
	var log logged
	o := testOptions(vfs.NewMem())
	o.Logger = log.logger()
	must(t, story(o, func(string) {}))
	if n := log.lines(); n > 0 {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
}

func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		var q quiet
		for range 1000 {
			q.warn(log.logger(), "again")
		}
		if log.lines() != 1 {
			t.Errorf("%d lines", log.lines())
		}
		time.Sleep(quietTime)
		q.warn(log.logger(), "again")
		if log.lines() != 2 {
			t.Errorf("%d lines", log.lines())
		}
	})
}

// stubDB always wants to compact.
type stubDB struct{ begun atomic.Int64 }

func (*stubDB) GetAllowedWithoutPermission() int { return 1 }
func (*stubDB) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	return true, pebble.WaitingCompaction{}
}
func (s *stubDB) Schedule(pebble.CompactionGrantHandle) bool { s.begun.Add(1); return true }

// TestFailedCompactionsHoldBack: compactions that fail at once are tried ever
// more rarely, and none begins without space.
func TestFailedCompactionsHoldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var space atomic.Bool
		space.Store(true)
		s := newScheduler(space.Load, make(chan struct{}))
		db := &stubDB{}
		s.Register(2, db)
		fail := func() { // each compaction begun fails at once
			for range 36_000 {
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				s.mu.Lock()
				running := s.running
				s.mu.Unlock()
				if running > 0 {
					s.finished(errors.New("corrupt"))
					(*grant)(s).Done()
				}
			}
		}
		fail()
		if n := db.begun.Load(); n < 50 || n > 80 {
			t.Errorf("%d attempts in an hour", n)
		}
		time.Sleep(2 * maxBackoff)
		synctest.Wait()
		s.finished(nil)
		(*grant)(s).Done()
		space.Store(false)
		time.Sleep(2 * spaceEvery)
		synctest.Wait()
		(*grant)(s).Done()
		before := db.begun.Load()
		time.Sleep(time.Minute)
		if db.begun.Load() != before {
			t.Error("compactions begin without space")
		}
		s.Unregister()
		s.Unregister()
	})
}
