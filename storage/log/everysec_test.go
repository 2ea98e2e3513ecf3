package log

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// slowDisk is a file system whose data syncs take a while.
type slowDisk struct {
	*vfs.MemFS
	takes atomic.Int64 // every second sync
	other atomic.Int64 // the others
	syncs atomic.Int64
}

func (d *slowDisk) fs() vfs.FS {
	return errorfs.Wrap(d.MemFS, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData {
			takes := &d.takes
			if d.syncs.Add(1)%2 == 1 {
				takes = &d.other
			}
			time.Sleep(time.Duration(takes.Load()))
		}
		return nil
	}))
}

// TestEverySecLosesTwoSeconds cuts the power every 50 ms, on disks of every
// speed: what is lost was acknowledged within two seconds of each other, and on
// a disk that keeps up within the last two.
func TestEverySecLosesTwoSeconds(t *testing.T) {
	const ms = time.Millisecond
	for _, takes := range [][2]time.Duration{{0, 0}, {5 * ms, 5 * ms}, {450 * ms, 450 * ms}, {450 * ms, 1400 * ms}, {3000 * ms, 0}, {20_000 * ms, 20_000 * ms}} {
		synctest.Test(t, func(t *testing.T) {
			disk := &slowDisk{MemFS: vfs.NewCrashableMem()}
			disk.other.Store(int64(takes[0]))
			disk.takes.Store(int64(takes[1]))
			keepsUp := max(takes[0], takes[1]) < time.Second
			l, _, _ := mustOpen(t, testOptions(disk.fs(), EverySec))
			type ack struct {
				end Position
				at  time.Time
			}
			var mu sync.Mutex
			var acks []ack
			var stop atomic.Bool
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := 0; !stop.Load(); i++ {
					r := write(t, l, numbered(i, 30))
					mu.Lock()
					acks = append(acks, ack{r.end, time.Now()})
					mu.Unlock()
					time.Sleep(10 * time.Millisecond)
				}
			}()
			for range 300 {
				time.Sleep(50 * time.Millisecond)
				synctest.Wait()
				safe := l.Stats().Synced // a real disk may have kept no more than this
				if r := replay(t, crash(disk.MemFS, 0, nil)); Position(r.Bytes) < safe {
					t.Fatalf("recovered %d, synced %d", r.Bytes, safe)
				}
				mu.Lock()
				lost := acks
				mu.Unlock()
				for len(lost) > 0 && lost[0].end <= safe {
					lost = lost[1:]
				}
				if len(lost) == 0 {
					continue
				}
				// Two seconds are promised; records are held back a little before.
				if span := lost[len(lost)-1].at.Sub(lost[0].at); span > holdAfter+100*ms {
					t.Fatalf("disk takes %v: lost %v of acknowledged records", takes, span)
				}
				if age := time.Since(lost[0].at); age > 2*time.Second && keepsUp {
					t.Fatalf("disk takes %v: lost a record of %v ago", takes, age)
				}
			}
			stop.Store(true)
			disk.takes.Store(0)
			disk.other.Store(0)
			<-done
			must(t, l.Close())
		})
	}
}

// replay reads a log without leaving it open.
func replay(t *testing.T, fs vfs.FS) Recovery {
	t.Helper()
	l, _, r := mustOpen(t, testOptions(fs, No))
	must(t, l.Close())
	return r
}

// TestEverySecHoldsBack: while a sync hangs, Wait takes about 1.5 s of records
// and then blocks until the disk is back.
func TestEverySecHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &slowDisk{MemFS: vfs.NewCrashableMem()}
		disk.takes.Store(int64(10 * time.Second))
		disk.other.Store(int64(10 * time.Second))
		l, _, _ := mustOpen(t, testOptions(disk.fs(), EverySec))
		began := time.Now()
		for time.Since(began) < 1500*time.Millisecond {
			write(t, l, []byte("accepted at once"))
			time.Sleep(100 * time.Millisecond)
		}
		if waited := time.Since(began); waited > 1600*time.Millisecond {
			t.Fatalf("blocked too early: %v", waited)
		}
		write(t, l, []byte("blocked"))
		// The sync that began after 1 s does not cover this record, the next does.
		if waited := time.Since(began); waited < 11*time.Second {
			t.Fatalf("accepted after %v with nothing synced", waited)
		}
		disk.takes.Store(0)
		disk.other.Store(0)
		must(t, l.Close())
	})
}

// TestIdleDoesNotSync: nothing unsynced, no sync, in any mode.
func TestIdleDoesNotSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &slowDisk{MemFS: vfs.NewCrashableMem()}
		l, _, _ := mustOpen(t, testOptions(disk.fs(), EverySec))
		time.Sleep(time.Minute)
		if n := disk.syncs.Load(); n != 0 {
			t.Fatalf("%d syncs of nothing", n)
		}
		mustAppend(t, l, []byte("nobody waits"))
		if age := l.Stats().UnsyncedAge; age > time.Millisecond {
			t.Fatalf("age %v", age)
		}
		time.Sleep(time.Hour)
		if s := l.Stats(); disk.syncs.Load() != 1 || s.Synced != l.End() || s.UnsyncedAge != 0 {
			t.Fatalf("%d syncs, %+v", disk.syncs.Load(), s)
		}
		must(t, l.Close())
	})
}

// TestNoSyncsOnlyAtRollAndClose holds what `no` means.
func TestNoSyncsOnlyAtRollAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &slowDisk{MemFS: vfs.NewCrashableMem()}
		l, _, _ := mustOpen(t, testOptions(disk.fs(), No))
		write(t, l, []byte("x"))
		time.Sleep(time.Hour)
		if n := disk.syncs.Load(); n != 0 {
			t.Fatalf("%d syncs", n)
		}
		_, err := l.Roll(nil)
		must(t, err)
		time.Sleep(time.Second) // in the background
		if n := disk.syncs.Load(); n != 2 {
			t.Fatalf("%d syncs after a roll", n)
		}
		write(t, l, []byte("y"))
		must(t, l.Close())
		if n := disk.syncs.Load(); n != 3 {
			t.Fatalf("%d syncs after close", n)
		}
	})
}
