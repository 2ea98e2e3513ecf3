package log

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// model runs random operations on a log and holds what must be in it.
type model struct {
	t    *testing.T
	rng  *rand.Rand
	opts Options
	fs   *vfs.MemFS
	dead *atomic.Bool // the process that runs log was killed
	log  *Log

	next     int
	appended []rec    // of slots that are not stored
	waited   Position // acknowledged up to here
}

func (m *model) open() []rec {
	var got []rec
	dead := &atomic.Bool{}
	m.dead = dead
	m.opts.FS = errorfs.Wrap(m.fs, errorfs.InjectorFunc(func(errorfs.Op) error {
		if dead.Load() {
			return errKilled
		}
		return nil
	}))
	m.log, got, _ = mustOpen(m.t, m.opts)
	return got
}

func (m *model) append() {
	size := 1 + m.rng.IntN(300)
	if m.rng.IntN(20) == 0 {
		size = m.rng.IntN(20_000)
	}
	m.next++
	m.appended = append(m.appended, mustAppend(m.t, m.log, numbered(m.next, size)))
}

func (m *model) wait() {
	if len(m.appended) == 0 {
		return
	}
	p := m.appended[m.rng.IntN(len(m.appended))].end
	if m.rng.IntN(2) == 0 {
		p = m.log.End()
	}
	must(m.t, m.log.Wait(p))
	m.waited = max(m.waited, p)
}

func (m *model) store() {
	slot := m.log.Slot() - 1
	if slot <= m.opts.StoredSlot {
		return
	}
	must(m.t, m.log.WaitSealed(slot))
	m.opts.StoredSlot = slot
	if m.rng.IntN(3) > 0 { // else: crashed between storing and releasing
		must(m.t, m.log.Release(slot))
	}
	for len(m.appended) > 0 && m.appended[0].slot <= slot {
		m.appended = m.appended[1:]
	}
}

func (m *model) crash() {
	percent := []int{0, 50, 100}[m.rng.IntN(3)]
	safe := m.log.Stats().Synced
	if m.opts.Fsync == Always || percent == 100 {
		safe = max(safe, m.waited)
	}
	clone := crash(m.fs, percent, m.rng)
	must(m.t, m.log.Close())
	m.fs = clone
	m.check(m.open(), safe)
}

var errKilled = errors.New("killed")

// kill ends the process: what was written is there, but not for good.
func (m *model) kill() {
	old := m.log
	m.dead.Store(true)
	_ = old.Close() // ends its goroutines, cannot do more
	m.check(m.open(), m.waited)
}

func (m *model) reopen() {
	must(m.t, m.log.Close())
	m.check(m.open(), m.log.End())
}

// check compares the recovered records: a prefix of those appended, and at
// least those up to safe.
func (m *model) check(got []rec, safe Position) {
	m.t.Helper()
	if len(got) > len(m.appended) || !sameRecords(got, m.appended[:len(got)]) {
		m.t.Fatalf("recovered is no prefix of what was appended:\n%v\n%v", got, m.appended)
	}
	if lost := m.appended[len(got):]; len(lost) > 0 && lost[0].end <= safe {
		m.t.Fatalf("lost %v, which ends at %d: safe up to %d", lost[0], lost[0].end, safe)
	}
	m.appended = m.appended[:len(got)]
	if n := len(got); n > 0 && m.log.End() != m.appended[n-1].end {
		m.t.Fatalf("the log goes on at %d, its last record ended at %d", m.log.End(), m.appended[n-1].end)
	}
	if m.log.End() < safe && len(got) > 0 {
		m.t.Fatalf("position went back from %d to %d", safe, m.log.End())
	}
	m.waited = min(m.waited, m.log.End())
}

func (m *model) step() {
	switch n := m.rng.IntN(100); {
	case n < 50:
		m.append()
	case n < 80:
		m.wait()
	case n < 86:
		_, err := m.log.Roll(nil)
		must(m.t, err)
	case n < 89:
		m.store()
	case n < 92:
		must(m.t, m.log.Sync())
	case n < 95:
		m.crash()
	case n < 98:
		m.kill()
	default:
		m.reopen()
	}
}

func TestModel(t *testing.T) {
	for _, fsync := range []Fsync{Always, EverySec, No} {
		t.Run(fsync.String(), func(t *testing.T) {
			rng := newRand(t)
			for range 25 {
				fs := vfs.NewCrashableMem()
				m := &model{t: t, rng: rng, fs: fs, opts: testOptions(fs, fsync)}
				m.open()
				for range 200 {
					m.step()
				}
				m.reopen()
				must(t, m.log.Close())
			}
		})
	}
}
