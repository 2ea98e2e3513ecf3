package log

import (
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestGroupCommit: one sync serves many, on a real file system, while segments
// are rolled and released.
func TestGroupCommit(t *testing.T) {
	const appenders, each = 16, 150
	l, _, _ := mustOpen(t, Options{FS: vfs.Default, Dir: t.TempDir() + "/log", Fsync: Always, Preallocate: 1 << 20})
	var wg sync.WaitGroup
	for a := range appenders {
		wg.Go(func() {
			for i := range each {
				end, err := l.Append(numbered(a*each+i, 100))
				if err == nil {
					err = l.Wait(end)
				}
				if err != nil {
					t.Error(err)
					return
				}
				if synced := l.Stats().Synced; synced < end {
					t.Errorf("acknowledged %d, synced %d", end, synced)
				}
			}
		})
	}
	wg.Go(func() {
		for range 3 {
			sealed, err := l.Roll(nil)
			if err != nil {
				t.Error(err)
				return
			}
			if err := l.Release(sealed - 1); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	s := l.Stats()
	if s.Records != appenders*each || s.Segments != 2 {
		t.Errorf("%+v", s)
	}
	if s.Syncs > s.Records/2 {
		t.Errorf("%d syncs for %d waits", s.Syncs, s.Records)
	}
	t.Logf("%d waits, %d syncs", s.Records, s.Syncs)
	must(t, l.Close())
}

// TestRollBesideAppends: in every mode the order of the log is that of Append,
// over any number of switches.
func TestRollBesideAppends(t *testing.T) {
	for _, fsync := range []Fsync{Always, EverySec, No} {
		fs := vfs.NewCrashableMem()
		l, _, _ := mustOpen(t, testOptions(fs, fsync))
		var mu sync.Mutex // the caller's shard lock
		var order []rec
		var wg sync.WaitGroup
		for a := range 8 {
			wg.Go(func() {
				for i := range 100 {
					mu.Lock()
					end, err := l.Append(numbered(a*100+i, 40))
					order = append(order, rec{payload: numbered(a*100+i, 40)})
					mu.Unlock()
					if err == nil && i%3 == 0 {
						err = l.Wait(end)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Go(func() {
			for range 20 {
				if _, err := l.Roll(nil); err != nil {
					t.Error(err)
				}
				if err := l.Sync(); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Wait()
		must(t, l.Close())
		l, got, r := mustOpen(t, testOptions(fs, fsync))
		must(t, l.Close())
		for i := range got {
			if i > 0 && got[i].slot < got[i-1].slot {
				t.Fatalf("slot %d after %d", got[i].slot, got[i-1].slot)
			}
			got[i].slot = 0
		}
		if !sameRecords(got, order) || r.Segments < 20 {
			t.Fatalf("%v: recovered %d of %d, %+v", fsync, len(got), len(order), r)
		}
	}
}

// TestWaitSealed: what is sealed is on disk, with the next segment's header,
// without any other wait.
func TestWaitSealed(t *testing.T) {
	fs := vfs.NewCrashableMem()
	l, _, _ := mustOpen(t, testOptions(fs, No))
	r := mustAppend(t, l, []byte("sealed"))
	if err := l.WaitSealed(1); err == nil {
		t.Fatal("waited for the open slot")
	}
	if err := l.Release(1); err == nil {
		t.Fatal("released the open slot")
	}
	mustRoll(t, l)
	all := readFiles(t, crash(fs, 0, nil))
	must(t, l.Close())
	if _, ok, err := decodeHeader(all[fileName(2)]); !ok || err != nil {
		t.Fatal("the next header is not on disk")
	}
	l, got, _ := mustOpen(t, testOptions(all.on(t), No))
	must(t, l.Close())
	if !sameRecords(got, []rec{r}) {
		t.Fatalf("recovered %v", got)
	}
}
