package log

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// failing fails one operation, or it and all that follow.
type failing struct {
	at, ops atomic.Int64
	forGood bool
}

func (f *failing) inject(errorfs.Op) error {
	n := f.ops.Add(1) - 1
	if n == f.at.Load() || f.forGood && n > f.at.Load() {
		return syscall.EIO
	}
	return nil
}

// TestEveryOperationFails lets the n-th operation fail, for all n: nothing
// acknowledged is lost, and the error is clear and stays.
func TestEveryOperationFails(t *testing.T) {
	for _, forGood := range []bool{false, true} {
		for at := int64(0); ; at++ {
			f := &failing{forGood: forGood}
			f.at.Store(at)
			mem := vfs.NewCrashableMem()
			o := testOptions(errorfs.Wrap(mem, errorfs.InjectorFunc(f.inject)), Always)
			o.Preallocate = 1 << 10
			acked := failingStory(t, o)
			if f.ops.Load() <= at {
				break
			}
			l, got, _ := mustOpen(t, testOptions(crash(mem, 0, nil), Always))
			must(t, l.Close())
			if len(got) < len(acked) || !sameRecords(got[:len(acked)], acked) {
				t.Fatalf("operation %d: recovered %v, acknowledged %v", at, got, acked)
			}
		}
	}
}

// failingStory returns what was acknowledged before it had to end.
func failingStory(t *testing.T, o Options) (acked []rec) {
	l, _, _, err := open(o)
	if err != nil {
		clearError(t, err)
		return nil
	}
	defer func() {
		if err := l.Close(); err != nil {
			clearError(t, err)
		}
	}()
	for i := range 12 {
		end, err := l.Append(numbered(i, 30+i*90))
		if err == nil {
			err = l.Wait(end)
		}
		if err != nil {
			staysFailed(t, l, end, err)
			return acked
		}
		acked = append(acked, rec{slot: l.Slot(), payload: numbered(i, 30+i*90)})
		if i%4 != 3 {
			continue
		}
		if _, err := l.Roll(nil); err != nil {
			clearError(t, err)
		}
	}
	return acked
}

func clearError(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, syscall.EIO) || !strings.HasPrefix(err.Error(), "log: ") {
		t.Fatalf("error: %v", err)
	}
}

// staysFailed is called with the file system working again, or not.
func staysFailed(t *testing.T, l *Log, end Position, err error) {
	t.Helper()
	var failed *FailedError
	if clearError(t, err); !errors.As(err, &failed) || failed.File == "" {
		t.Fatalf("error: %v", err)
	}
	for range 3 {
		if _, err := l.Append([]byte("x")); !errors.Is(err, failed) {
			t.Fatalf("append: %v", err)
		}
		if err := l.Wait(end); end > 0 && !errors.Is(err, failed) {
			t.Fatalf("wait: %v", err)
		}
		if _, err := l.Roll(nil); !errors.Is(err, failed) {
			t.Fatalf("roll: %v", err)
		}
		if err := l.Stats().Failure; !errors.Is(err, failed) {
			t.Fatalf("stats: %v", err)
		}
	}
	if err := l.Wait(l.Stats().Synced); err != nil {
		t.Fatalf("what is synced: %v", err)
	}
	if err := l.Sync(); end > 0 && !errors.Is(err, failed) {
		t.Fatalf("sync: %v", err)
	}
}

// TestFailedSyncInEverySec: nobody waits for the sync, its failure shows.
func TestFailedSyncInEverySec(t *testing.T) {
	var fail atomic.Bool
	inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if fail.Load() && op.Kind == errorfs.OpFileSyncData {
			return syscall.EIO
		}
		return nil
	})
	l, _, _ := mustOpen(t, testOptions(errorfs.Wrap(vfs.NewCrashableMem(), inject), EverySec))
	r := write(t, l, []byte("acknowledged"))
	fail.Store(true)
	if err := l.Sync(); err == nil {
		t.Fatal("no error")
	}
	fail.Store(false)
	for _, err := range []error{l.Wait(r.end), l.Sync(), l.Close()} {
		var failed *FailedError
		if !errors.As(err, &failed) || failed.Op != "sync" {
			t.Fatalf("error: %v", err)
		}
	}
}

// TestNoRoomToPreallocate (B080): appending goes on without.
func TestNoRoomToPreallocate(t *testing.T) {
	inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFilePreallocate {
			return syscall.ENOSPC
		}
		return nil
	})
	var warned warnings
	o := testOptions(errorfs.Wrap(vfs.NewCrashableMem(), inject), Always)
	o.Logger = warned.logger()
	l, _, _ := mustOpen(t, o)
	for i := range 100 {
		write(t, l, numbered(i, 500))
	}
	must(t, l.Close())
	if warned.count() != 1 {
		t.Fatalf("warned %s", &warned)
	}
	l, got, _ := mustOpen(t, o)
	must(t, l.Close())
	if len(got) != 100 {
		t.Fatalf("recovered %d", len(got))
	}
}

// TestDiskFull (B080): no room for the records themselves.
func TestDiskFull(t *testing.T) {
	var full atomic.Bool
	inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && (op.Kind == errorfs.OpFileWriteAt || op.Kind == errorfs.OpFilePreallocate) {
			return syscall.ENOSPC
		}
		return nil
	})
	mem := vfs.NewCrashableMem()
	o := testOptions(errorfs.Wrap(mem, inject), EverySec)
	l, _, _ := mustOpen(t, o)
	want := []rec{write(t, l, []byte("fits"))}
	full.Store(true)
	end, err := l.Append([]byte("does not fit"))
	must(t, err)
	if err := l.Wait(end); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("error: %v", err)
	}
	if err := l.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("close: %v", err)
	}
	full.Store(false)
	l, got, _ := mustOpen(t, o)
	must(t, l.Close())
	if !sameRecords(got, want) {
		t.Fatalf("recovered %v", got)
	}
}

func TestClosed(t *testing.T) {
	l, _, _ := mustOpen(t, testOptions(vfs.NewCrashableMem(), No))
	r := mustAppend(t, l, []byte("never waited for"))
	must(t, l.Close())
	must(t, l.Close())
	must(t, l.Wait(r.end))
	if s := l.Stats(); s.Synced != r.end || s.UnsyncedAge != 0 {
		t.Fatalf("%+v", s)
	}
	_, appendErr := l.Append([]byte("x"))
	_, rollErr := l.Roll(nil)
	for _, err := range []error{appendErr, rollErr, l.Release(0)} {
		if !errors.Is(err, ErrClosed) {
			t.Fatalf("error: %v", err)
		}
	}
}
