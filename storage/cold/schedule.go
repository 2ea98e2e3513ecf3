package cold

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// scheduler decides when Pebble may compact. It differs from Pebble's own in
// that a failed compaction holds back the next ones for a while (Pebble retries
// one of L0 at once, for ever: a core is lost to a table that cannot be read),
// and that none begins while less than the reserve is free, so that a full disk
// meets our own files before a MANIFEST.
//
// Locks: Pebble's main lock comes before mu; mu is not held while calling Pebble
// except for GetAllowedWithoutPermission, which allows it.
type scheduler struct {
	hasSpace func() bool
	dead     <-chan struct{} // closed by a fatal error

	db   pebble.DBForCompaction // from Register on
	stop chan struct{}
	done chan struct{} // closed when the loop has ended; nil before Register
	once sync.Once

	mu          sync.Mutex
	turn        sync.Cond // granting has ended
	running     int
	granting    bool
	stopped     bool
	lowSpace    bool
	failures    int       // in a row, roughly
	retryAt     time.Time // no compaction begins before
	lastFailure time.Time
}

var _ pebble.CompactionScheduler = (*scheduler)(nil)

const (
	grantEvery = 100 * time.Millisecond
	spaceEvery = time.Second
	minBackoff = time.Second
	maxBackoff = time.Minute
)

func newScheduler(hasSpace func() bool, dead <-chan struct{}) *scheduler {
	s := &scheduler{hasSpace: hasSpace, dead: dead, stop: make(chan struct{})}
	s.turn.L = &s.mu
	return s
}

// Register is called by Pebble when it is open.
func (s *scheduler) Register(_ int, db pebble.DBForCompaction) {
	s.db, s.done = db, make(chan struct{})
	go s.loop()
}

// Unregister is called by Pebble when it closes, and by us when it failed to
// open.
func (s *scheduler) Unregister() {
	s.once.Do(func() {
		close(s.stop)
		s.mu.Lock()
		s.stopped = true
		s.mu.Unlock()
		if s.done != nil {
			<-s.done
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.granting {
		s.turn.Wait()
	}
}

// loop begins compactions that were held back when nothing else does.
func (s *scheduler) loop() {
	defer close(s.done)
	grants := time.NewTicker(grantEvery)
	defer grants.Stop()
	spaces := time.NewTicker(spaceEvery)
	defer spaces.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-s.dead:
			return
		case <-spaces.C:
			low := !s.hasSpace()
			s.mu.Lock()
			s.lowSpace = low
			s.mu.Unlock()
		case <-grants.C:
			s.grant()
		}
	}
}

// mayStart is how many more compactions may begin now. Call with mu held.
func (s *scheduler) mayStart() int {
	if s.stopped || s.lowSpace || time.Now().Before(s.retryAt) {
		return 0
	}
	return s.db.GetAllowedWithoutPermission() - s.running
}

// TrySchedule is called by Pebble, with its lock held, to begin a compaction.
func (s *scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mayStart() <= 0 {
		return false, nil
	}
	s.running++
	return true, (*grant)(s)
}

// UpdateGetAllowedWithoutPermission is called by Pebble after a flush. The loop
// looks often enough.
func (s *scheduler) UpdateGetAllowedWithoutPermission() {}

// grant begins compactions that wait, as many as may.
func (s *scheduler) grant() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.granting {
		s.turn.Wait()
	}
	s.granting = true
	for n := s.mayStart(); n > 0; n-- {
		s.running++
		s.mu.Unlock()
		waiting, _ := s.db.GetWaitingCompaction()
		begun := waiting && s.db.Schedule((*grant)(s))
		s.mu.Lock()
		if !begun {
			s.running--
			break
		}
	}
	s.granting = false
	s.turn.Broadcast()
}

// finished notes the outcome of a compaction. It is called with Pebble's lock
// held.
func (s *scheduler) finished(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if err == nil {
		if now.Sub(s.lastFailure) > maxBackoff {
			s.failures = 0
		}
		return
	}
	s.lastFailure = now
	s.retryAt = now.Add(min(minBackoff<<min(s.failures, 10), maxBackoff))
	s.failures++
}

// grant is the permission for one compaction.
type grant scheduler

var _ pebble.CompactionGrantHandle = (*grant)(nil)

func (*grant) Started()                                            {}
func (*grant) MeasureCPU(pebble.CompactionGoroutineKind)           {}
func (*grant) CumulativeStats(_ pebble.CompactionGrantHandleStats) {}

// Done is called when the compaction has ended, with no lock held.
func (g *grant) Done() {
	s := (*scheduler)(g)
	s.mu.Lock()
	s.running--
	stopped := s.stopped
	s.mu.Unlock()
	if !stopped {
		s.grant()
	}
}
