package cold

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// story is a small life of a store: slots, a drop, a rewrite, a compaction, a
// restart. Slot n adds item n to block 1 of every key, item n to a block of its
// own, and sets the system row "slot" to n. Its steps are atomic, so at any
// instant the store is in one of few states; state tells them apart.
//
// done is told what has been completed.
func story(o Options, done func(step string)) error {
	for restart := range 2 {
		d, err := Open(o)
		if err != nil {
			return err
		}
		err = storyRun(d, restart, done)
		if e := d.Close(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var storyKeys = testKeys(40)

func storyRun(d *DB, restart int, done func(string)) error {
	for range 2 {
		slot := d.StoredSlot() + 1
		if err := storySlot(d, slot); err != nil {
			return err
		}
		done(fmt.Sprint("slot ", slot))
	}
	if restart == 0 {
		if err := d.DropBlocks(2, 2); err != nil {
			return err
		}
		done("drop")
		for group := uint8(0); group < Groups; group += 12 {
			if _, err := d.RewriteRange(1, 1, group, func(_, value, dst []byte) []byte { return append(dst, value...) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func storySlot(d *DB, slot uint64) error {
	w := d.NewSlot(slot)
	w.SetSystem("slot", []byte{byte(slot)})
	for _, key := range storyKeys {
		w.Merge(1, 1, key, rowOf(1, slot))
	}
	for _, key := range storyKeys {
		w.Merge(2, int64(slot), key, rowOf(1, slot))
	}
	_, err := w.Commit()
	return err
}

// checkStory checks that a store is whole: rows and the stored slot agree.
func checkStory(t *testing.T, what string, d *DB, acked uint64, dropped bool) {
	t.Helper()
	slot := d.StoredSlot()
	if slot < acked || slot > acked+1 {
		t.Fatalf("%s: slot %d is stored, %d was acknowledged", what, slot, acked)
	}
	s := d.Snapshot()
	defer s.Close()
	system, _, err := s.System("slot")
	must(t, err)
	if slot > 0 && (len(system) != 1 || system[0] != byte(slot)) {
		t.Fatalf("%s: system row %v, slot %d", what, system, slot)
	}
	for _, key := range storyKeys {
		value, found, err := s.Row(1, 1, key, nil)
		must(t, err)
		if found != (slot > 0) || found && len(hashesOf(t, value)) != int(slot) {
			t.Fatalf("%s: %s has %x at slot %d", what, key, value, slot)
		}
		for block := uint64(1); block < 6; block++ {
			_, found, err := s.Row(2, int64(block), key, nil)
			must(t, err)
			if want := block <= slot; found && !want || !found && want && block >= 2 || found && dropped && block < 2 {
				t.Fatalf("%s: %s in block %d: %v at slot %d", what, key, block, found, slot)
			}
		}
	}
}

// progress is what a story has done.
type progress struct {
	slot    uint64
	dropped bool
}

func (p *progress) note(step string) {
	if step == "drop" {
		p.dropped = true
	} else {
		fmt.Sscanf(step, "slot %d", &p.slot)
	}
}

// TestCrashAtEveryOperation cuts the power at each file system operation of the
// story: a slot is stored as a whole or not at all, what was acknowledged is.
func TestCrashAtEveryOperation(t *testing.T) {
	rng := newRand(t)
	for _, percent := range []int{0, 50, 100} {
		crashes := takePictures(t, percent, rng)
		t.Logf("%d %% of unsynced data: %d crashes", percent, len(crashes))
		for _, c := range crashes {
			o := testOptions(c.fs)
			what := fmt.Sprintf("%d %%, operation %d", percent, c.at)
			d, err := Open(o)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if names := buildFiles(t, c.fs); len(names) > 0 {
				t.Fatalf("%s: left in the build directory: %v", what, names)
			}
			checkStory(t, what, d, c.slot, c.dropped)
			if err := storySlot(d, d.StoredSlot()+1); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			checkStory(t, what, d, d.StoredSlot(), c.dropped)
			must(t, d.Close())
		}
	}
}

type picture struct {
	fs *vfs.MemFS
	at int64
	progress
}

// takePictures runs the story once and clones the file system as a crash would
// leave it, at each operation that changes anything.
func takePictures(t *testing.T, percent int, rng *rand.Rand) (all []picture) {
	mem := vfs.NewCrashableMem()
	var ops atomic.Int64
	var now progress
	pictures := make(chan picture, 10_000)
	var turn = make(chan struct{}, 1) // clones, and the story's progress, one at a time
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
			return nil
		}
		turn <- struct{}{}
		defer func() { <-turn }()
		clone := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
		pictures <- picture{fs: clone, at: ops.Add(1) - 1, progress: now}
		return nil
	}))
	must(t, story(testOptions(fs), func(step string) {
		turn <- struct{}{}
		now.note(step)
		<-turn
	}))
	close(pictures)
	for p := range pictures {
		all = append(all, p)
	}
	return all
}
