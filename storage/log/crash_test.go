package log

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// scene is a power cut at one file system operation.
type scene struct {
	fs     *vfs.MemFS
	acked  int // records acknowledged by then
	stored uint64
}

// camera takes a clone of a file system before its n-th operation.
type camera struct {
	mem     *vfs.MemFS
	percent int
	rng     *rand.Rand
	at      int64
	ops     atomic.Int64
	acked   atomic.Int64
	stored  atomic.Uint64
	scene   *scene
}

func (c *camera) fs() vfs.FS { return errorfs.Wrap(c.mem, errorfs.InjectorFunc(c.shoot)) }

func (c *camera) shoot(errorfs.Op) error {
	if c.ops.Add(1)-1 == c.at {
		c.scene = &scene{fs: crash(c.mem, c.percent, c.rng), acked: int(c.acked.Load()), stored: c.stored.Load()}
	}
	return nil
}

// story writes, rolls, stores and restarts, and returns the records it wrote.
func story(t *testing.T, c *camera, fsync Fsync) []rec {
	o := testOptions(c.fs(), fsync)
	o.Preallocate = 1 << 10
	var all []rec
	for range 2 {
		l, _, _ := mustOpen(t, o)
		for i := range 9 {
			if i%2 == 0 {
				mustAppend(t, l, numbered(1000+i, 200)) // its slot's next record waits for it
				all = append(all, rec{slot: l.Slot(), payload: numbered(1000+i, 200)})
			}
			all = append(all, write(t, l, numbered(i, 50+i*100)))
			c.acked.Store(int64(len(all)))
			if i%3 == 2 {
				mustRoll(t, l)
			}
		}
		c.stored.Store(l.Slot() - 2)
		o.StoredSlot = l.Slot() - 2
		must(t, l.Release(o.StoredSlot))
		must(t, l.Close())
	}
	return all
}

// TestCrashAtEveryOperation cuts the power at each file system operation of a
// story, and then again at operations of the recovery.
func TestCrashAtEveryOperation(t *testing.T) {
	rng := newRand(t)
	for _, percent := range []int{0, 50, 100} {
		for at := int64(0); ; at++ {
			c := &camera{mem: vfs.NewCrashableMem(), percent: percent, rng: rng, at: at}
			all := story(t, c, Always)
			if c.scene == nil {
				break
			}
			what := fmt.Sprintf("%d %%, crash at operation %d", percent, at)
			c.scene.check(t, what, all)
			if percent == 50 {
				c.scene.crashAgain(t, what, all, percent, rng)
			}
		}
	}
}

func (s *scene) check(t *testing.T, what string, all []rec) {
	t.Helper()
	o := testOptions(s.fs, Always)
	o.StoredSlot = s.stored
	l, got, _, err := open(o)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	must(t, l.Close())
	want, need := live(all, s.stored), len(live(all[:s.acked], s.stored))
	if len(got) < need || len(got) > len(want) || !sameRecords(got, want[:len(got)]) {
		t.Fatalf("%s: recovered %d, of %d acknowledged:\n%v\n%v", what, len(got), need, got, want)
	}
}

func live(all []rec, stored uint64) []rec {
	for len(all) > 0 && all[0].slot <= stored {
		all = all[1:]
	}
	return all
}

// crashAgain crashes the recovery of s at a few of its operations.
func (s *scene) crashAgain(t *testing.T, what string, all []rec, percent int, rng *rand.Rand) {
	for at := rng.Int64N(4); ; at += 1 + rng.Int64N(8) {
		c := &camera{mem: crash(s.fs, 100, rng), percent: percent, rng: rng, at: at}
		o := testOptions(c.fs(), Always)
		o.StoredSlot = s.stored
		l, _, _ := mustOpen(t, o)
		must(t, l.Close())
		if c.scene == nil {
			return
		}
		c.scene.acked, c.scene.stored = s.acked, s.stored
		c.scene.check(t, fmt.Sprintf("%s, recovery crashed at operation %d", what, at), all)
	}
}
