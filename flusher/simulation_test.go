package flusher

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	wheelSlots = flag.Int("wheel.slots", 500, "how many slots TestSimulation stores")
	wheelSeed  = flag.Uint64("wheel.seed", 0, "seed of TestSimulation; 0: a random one")
)

// TestSimulation turns wheels of random lengths over one store that is slow,
// fails, pauses for several slots, is under pressure and is restarted, while
// flushes are asked for. Every slot must be stored exactly once and in order,
// every slot must end when it should, and no attempt may come when it must not.
func TestSimulation(t *testing.T) {
	seed := *wheelSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	for i, length := range []time.Duration{time.Second, time.Minute, time.Hour} {
		t.Run(length.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulation(t, seed+uint64(i), length)
				s.run(*wheelSlots)
				t.Logf("%d runs, %d flushes, %d of them failed, %d lost patience, %d stores failed, %d were cut, %v", s.runs, s.flushes, s.flushesFailed, s.impatient, s.storesFailed, s.cut, time.Since(midnight))
			})
		})
	}
}

// simulation is a store that misbehaves, and what must hold of the wheel over
// it. What the wheel's goroutine uses, and what the test's uses, is drawn from
// random numbers of their own, so that a seed replays.
type simulation struct {
	*fakeStore
	t      *testing.T
	config Config
	f      *Flusher
	length time.Duration
	disk   *rand.Rand // the wheel's goroutine
	world  *rand.Rand // the test's

	// The test's.
	runs, flushes, flushesFailed int
	impatient, cut               int
	asked                        atomic.Bool // a flush is on its way

	// The wheel's; the test uses them when it is stopped.
	lastSeal     time.Time // or start
	sealFailed   bool
	storeFailed  time.Time // zero: the last one did not
	busyUntil    time.Time
	early        bool // memory is short
	tooDeep      bool
	storesFailed int
}

func newSimulation(t *testing.T, seed uint64, length time.Duration) *simulation {
	s := &simulation{
		fakeStore: newFake(t), t: t, config: testConfig(), length: length,
		disk: rand.New(rand.NewPCG(seed, 1)), world: rand.New(rand.NewPCG(seed, 2)),
	}
	s.config.Slot = length
	s.config.MaxSealed = 1 + s.world.IntN(10)
	s.config.Poll = min(length/10, time.Minute)
	s.config.BackoffMin = length / 20
	s.config.BackoffMax = length * 2
	s.config.BackoffMax = min(s.config.BackoffMax, time.Hour)
	s.onSeal, s.onStore = s.seal, s.store
	return s
}

func (s *simulation) run(slots int) {
	for s.count() < slots {
		s.start()
		for range 20 + s.world.IntN(100) {
			s.sleep(5)
			s.disturb()
		}
		s.stopWheel()
	}
	s.fakeStore.setPressure(Pressure{})
	s.start()
	for s.Sealed() > 0 || s.f.Status().Lag > 0 {
		s.sleep(5)
	}
	s.stopWheel()
	s.checkStored(int(s.fakeStore.open) - 1)
}

func (s *simulation) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.stored)
}

// sleep lets up to some slots go by.
func (s *simulation) sleep(slots int) {
	time.Sleep(time.Duration(s.world.Int64N(int64(slots) * int64(s.length))))
	synctest.Wait()
}

func (s *simulation) start() {
	s.runs++
	s.f = newWheel(s.t, s, s.config, Chore{Name: "chore", Every: s.length / 3, Run: s.chore})
	s.f.random = s.disk.Int64N
	s.lastSeal, s.sealFailed, s.storeFailed = time.Now(), false, time.Time{}
	s.f.Start()
	synctest.Wait()
}

// stopWheel stops with a random patience, and checks the ledger of the run.
func (s *simulation) stopWheel() {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Duration(s.world.Int64N(int64(s.length))))
	defer cancel()
	if s.f.Stop(ctx) != nil {
		s.cut++
	}
	status, outcomes := s.f.Status(), s.f.Ledger()
	if int(status.Counters.Stored) != len(outcomes) {
		s.t.Errorf("%d slots were stored, %d are in the ledger", status.Counters.Stored, len(outcomes))
	}
	if n := len(s.f.turns); n > status.Sealed() {
		s.t.Errorf("the wheel remembers %d slots, %d are sealed", n, status.Sealed())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := s.stored[len(s.stored)-len(outcomes):]
	for i, o := range outcomes {
		if o.Slot != stored[i] || o.Attempts < 1 || (o.Attempts > 1) != (o.Error != "") || o.Sealed.Before(o.Began) || o.Stored.Before(o.Sealed) {
			s.t.Errorf("outcome %+v of slot %d", o, stored[i])
		}
	}
}

func (s *simulation) disturb() {
	switch s.world.IntN(6) {
	case 0:
		s.setPressure(Pressure{ReadAmp: s.world.IntN(24), Budget: 10})
	case 1:
		s.setPressure(Pressure{Staged: 11, Budget: 10})
	case 2, 3:
		s.setPressure(Pressure{Budget: 10})
	case 4:
		s.flushNow()
	}
	synctest.Wait()
}

// flushNow checks that after a flush all that was there before is stored. Its
// caller may lose patience.
func (s *simulation) flushNow() {
	s.mu.Lock()
	open := s.fakeStore.open
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Duration(s.world.Int64N(20*int64(s.length))))
	defer cancel()
	s.asked.Store(true)
	defer s.asked.Store(false)
	s.flushes++
	err := s.f.FlushNow(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.impatient++
		err = s.f.FlushNow(s.t.Context()) // ends after the one before
	}
	if err != nil {
		s.flushesFailed++
		return
	}
	for _, slot := range s.Slots() {
		if slot.ID < open {
			s.t.Errorf("slot %d is not stored after a flush", slot.ID)
		}
	}
}

func (s *simulation) Pressure() Pressure {
	p := s.fakeStore.Pressure()
	s.early, s.tooDeep = p.overBudget(), p.ReadAmp > s.config.MaxReadAmp
	return p
}

// seal checks the time of a call: the first multiple since the last call, or
// the moment from which the wheel was free again.
func (s *simulation) seal() (bool, error) {
	now := time.Now()
	if s.Sealed() >= s.config.MaxSealed {
		s.t.Errorf("a slot more than %d is sealed", s.config.MaxSealed)
	}
	multiple := s.lastSeal.Truncate(s.length).Add(s.length)
	free := !now.Before(multiple) && (now.Equal(multiple) || now.Equal(s.busyUntil))
	if !free && !s.early && !s.sealFailed && !s.asked.Load() {
		s.t.Errorf("a slot ends at %v, the last one did at %v, the wheel was busy until %v", now, s.lastSeal, s.busyUntil)
	}
	if s.sealFailed && now.Sub(later(s.lastSeal, s.busyUntil)) > s.config.BackoffMax {
		s.t.Errorf("the back-off is above its bound: %v", now.Sub(s.lastSeal))
	}
	if s.sealFailed && now.Sub(s.lastSeal) < s.config.BackoffMin/2 && !s.asked.Load() {
		s.t.Errorf("no back-off: tried again after %v", now.Sub(s.lastSeal))
	}
	s.takeTime(s.length / 100)
	s.lastSeal = time.Now()
	s.sealFailed = s.disk.IntN(20) == 0
	if s.sealFailed {
		return false, errDisk
	}
	return s.disk.IntN(10) > 0, nil
}

func (s *simulation) takeTime(limit time.Duration) {
	time.Sleep(time.Duration(s.disk.Int64N(int64(limit))))
	s.busyUntil = time.Now()
}

func (s *simulation) chore(context.Context) error {
	s.takeTime(s.length / 50)
	if s.disk.IntN(10) == 0 {
		return errDisk
	}
	return nil
}

func (s *simulation) store(ctx context.Context, _ uint64) error {
	now := time.Now()
	if s.tooDeep && !s.asked.Load() {
		s.t.Errorf("a slot is stored at %v although reads are too deep", now)
	}
	if !s.storeFailed.IsZero() && now.Sub(s.storeFailed) < s.config.BackoffMin/2 && !s.asked.Load() {
		s.t.Errorf("no back-off: tried again after %v", now.Sub(s.storeFailed))
	}
	defer func() { s.busyUntil = time.Now() }()
	if err := takes(s.duration())(ctx, 0); err != nil {
		return err
	}
	s.storeFailed = time.Time{}
	if s.disk.IntN(4) == 0 {
		s.storesFailed++
		s.storeFailed = time.Now()
		return errDisk
	}
	return nil
}

// duration is mostly short, sometimes longer than a slot, and now and then a
// pause over several.
func (s *simulation) duration() time.Duration {
	slots := 0.5
	switch n := s.disk.IntN(20); {
	case n == 0:
		slots = 8
	case n < 4:
		slots = 2
	}
	return time.Duration(s.disk.Float64() * slots * float64(s.length))
}
