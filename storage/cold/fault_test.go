package cold

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"
)

// failing fails one operation, or it and all that follow.
type failing struct {
	at, ops atomic.Int64
	forGood bool
}

func (f *failing) inject(errorfs.Op) error {
	n := f.ops.Add(1) - 1
	if at := f.at.Load(); n == at || f.forGood && n > at {
		return syscall.EIO
	}
	return nil
}

// TestEveryOperationFails lets the n-th operation of the story fail, for all n:
// an error is returned or the store says that it failed, nothing panics, and
// after a restart nothing acknowledged is missing and the story can go on.
func TestEveryOperationFails(t *testing.T) {
	for _, forGood := range []bool{false, true} {
		fatals := 0
		for at := int64(0); ; at++ {
			f := &failing{forGood: forGood}
			f.at.Store(at)
			mem := vfs.NewCrashableMem()
			o := testOptions(errorfs.Wrap(mem, errorfs.InjectorFunc(f.inject)))
			told := make(chan error, 10)
			o.OnFatal = func(err error) { told <- err }
			var now progress
			err := story(o, now.note)
			if f.ops.Load() <= at {
				t.Logf("%d operations, %d fatal", at, fatals)
				break
			}
			var fatal *FatalError
			if errors.As(err, &fatal) {
				fatals++
			}
			if n := len(told); n > 2 { // once for each of the two stores of the story
				t.Fatalf("operation %d: OnFatal was told %d times, the story ended with %v", at, n, err)
			}
			checkAfterFault(t, at, mem, now)
		}
	}
}

func checkAfterFault(t *testing.T, at int64, mem *vfs.MemFS, now progress) {
	t.Helper()
	fs := mem.CrashClone(vfs.CrashCloneCfg{})
	d, err := Open(testOptions(fs))
	if err != nil {
		t.Fatalf("operation %d: %v", at, err)
	}
	checkStory(t, "after a fault", d, now.slot, now.dropped)
	must(t, storySlot(d, d.StoredSlot()+1))
	must(t, d.Close())
}

// TestFailedCommitIsRetried: a slot that failed leaves nothing behind and is
// stored at the next attempt, in the same process.
func TestFailedCommitIsRetried(t *testing.T) {
	retried, fatals := 0, 0
	for at := int64(0); ; at++ {
		f := &failing{}
		f.at.Store(1 << 40)
		mem := vfs.NewCrashableMem()
		d, err := Open(testOptions(errorfs.Wrap(mem, errorfs.InjectorFunc(f.inject))))
		must(t, err)
		must(t, storySlot(d, 1))
		f.ops.Store(0)
		f.at.Store(at)
		err = storySlot(d, 2)
		reached := f.ops.Load() > at
		f.at.Store(1 << 40)
		switch {
		case d.Err() != nil:
			fatals++
			checkFatal(t, d, err)
			continue
		case err != nil:
			retried++
			checkStory(t, "after a failed commit", d, 1, false)
			if names := buildFiles(t, mem); len(names) > 0 && !strings.Contains(err.Error(), "remove") {
				t.Errorf("operation %d: %v: left in the build directory: %v", at, err, names)
			}
			must(t, storySlot(d, 2))
		}
		checkStory(t, "after a retry", d, 2, false)
		must(t, d.Close())
		if !reached {
			break
		}
	}
	t.Logf("%d retried, %d fatal", retried, fatals)
	if retried == 0 || fatals == 0 {
		t.Error("the faults were not where they should be")
	}
}

// checkFatal checks what still goes after a fatal error, and what does not.
func checkFatal(t *testing.T, d *DB, err error) {
	t.Helper()
	var fatal *FatalError
	if !errors.As(err, &fatal) || !strings.Contains(fatal.Reason, "MANIFEST") && !strings.Contains(fatal.Reason, "syncing directory") {
		t.Fatalf("a fatal commit answers %v", err)
	}
	checkStory(t, "after a fatal error", d, 1, false)
	for what, err := range map[string]error{
		"commit":  storySlot(d, 2),
		"drop":    d.DropBlocks(1, 5),
		"compact": d.Compact(t.Context()),
		"close":   d.Close(),
	} {
		if !errors.As(err, &fatal) && !errors.Is(err, ErrClosed) {
			t.Errorf("%s after a fatal error: %v", what, err)
		}
	}
	if err := d.Close(); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// TestReadsAfterFatal: snapshots from before and after a fatal error are read
// and closed, and Stats answers.
func TestReadsAfterFatal(t *testing.T) {
	f := &failing{forGood: true}
	f.at.Store(1 << 40)
	o := testOptions(nil)
	told := make(chan error, 10)
	o.OnFatal = func(err error) { told <- err }
	o.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.Contains(op.Path, "MANIFEST") {
			return f.inject(op)
		}
		return nil
	}))
	d, err := Open(o)
	must(t, err)
	must(t, storySlot(d, 1))
	old := d.Snapshot() // of a version that the next slot replaces
	must(t, storySlot(d, 2))
	before, _ := d.Stats()
	current := d.Snapshot()
	f.at.Store(0)
	if err := storySlot(d, 3); err == nil {
		t.Fatal("stored without a MANIFEST")
	}
	if len(told) != 1 {
		t.Errorf("OnFatal was called %d times", len(told))
	}
	for range 100 {
		s := d.Snapshot()
		if v, found, err := s.Row(1, 1, storyKeys[0], nil); !found || err != nil || len(hashesOf(t, v)) != 2 {
			t.Fatal(found, err)
		}
		s.Close()
	}
	old.Close()
	current.Close()
	after, err := d.Stats()
	must(t, err)
	if before.Tables != after.Tables || after.StoredSlot != 2 {
		t.Errorf("stats %+v", after)
	}
	var fatal *FatalError
	if err := d.Close(); !errors.As(err, &fatal) {
		t.Errorf("close: %v", err)
	}
}

// TestReadErrorsLeakNothing: 10,000 reads with injected errors, then no iterator
// and no zombie is left, and Close is clean.
func TestReadErrorsLeakNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	var armed atomic.Bool
	var n atomic.Int64
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if armed.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsRead && n.Add(1)%17 == 0 {
			return syscall.EIO
		}
		return nil
	}))
	o := testOptions(fs)
	o.CacheBytes = 1
	o.MaxOpenFiles = 1
	d, err := Open(o)
	must(t, err)
	keys := testKeys(3000)
	for slot := range uint64(3) {
		storeRows(t, d, slot+1, 1, 1, keys, func([]byte) []byte { return rowOf(1, slot) })
	}
	must(t, d.Compact(t.Context()))
	armed.Store(true)
	failed := 0
	for i := range 10_000 {
		s := d.Snapshot()
		_, found, err := s.Row(1, 1, keys[i%len(keys)], nil)
		s.Close()
		if err != nil {
			failed++
		} else if !found {
			t.Fatalf("%s: an I/O error makes it absent", keys[i%len(keys)])
		}
		if i == 5000 {
			_ = d.Scan(Data(1, 1), 0, nil, func(uint8, []byte, []byte) bool { return true })
			_, _ = d.RewriteRange(1, 1, 3, func(_, v, dst []byte) []byte { return append(dst, v...) })
		}
	}
	armed.Store(false)
	if failed == 0 || failed == 10_000 {
		t.Errorf("%d of 10,000 reads failed", failed)
	}
	if s := stats(t, d); s.ZombieTables != 0 || s.Iterators != 0 {
		t.Errorf("after the reads: %+v", s)
	}
	must(t, d.Close())
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// TestDiskFull: too little space is told before anything is written.
func TestDiskFull(t *testing.T) {
	mem := vfs.NewMem()
	o := testOptions(mem)
	o.ReserveBytes = 1 << 20
	d := open(t, o)
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1<<20 + 8<<10, TotalBytes: 1 << 30})
	err := storySlot(d, 1)
	mustBe(t, err, ErrDiskFull)
	var full *DiskFullError
	if !errors.As(err, &full) || full.Free != 1<<20+8<<10 || full.Need <= full.Free {
		t.Errorf("%+v", full)
	}
	if names := buildFiles(t, mem); len(names) > 0 {
		t.Errorf("left in the build directory: %v", names)
	}
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 29, TotalBytes: 1 << 30})
	must(t, storySlot(d, 1))
	_, err = d.RewriteRange(1, 1, Group(storyKeys[0]), func(_, v, dst []byte) []byte {
		mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1, TotalBytes: 1 << 30})
		return append(dst, v...)
	})
	mustBe(t, err, ErrDiskFull)
	checkStory(t, "after a full disk", d, 1, false)
}
