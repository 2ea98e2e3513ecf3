package policy

// The limits of R11.
const (
	// DeleteAfter is how long the process must have run since the clock first
	// passed the end of a life before what ended may be deleted.
	DeleteAfter = Day

	// QuietAfter is how long the clock must run quietly for a suspicion to
	// clear by itself.
	QuietAfter = Day

	// SelfClearing is the largest difference that clears by itself.
	SelfClearing = Day

	// LongAbsence is how long a process may have been stopped without
	// suspicion.
	LongAbsence = 30 * Day

	// markEvery is how precisely it is remembered when the clock passed a time:
	// a delete is up to this much later than it could be, never earlier.
	markEvery = 10 * Minute
)

// A Reason says what raised clock_suspect last.
type Reason uint8

// The reasons for suspicion.
const (
	NotSuspect    Reason = iota
	WallMoved            // against the monotonic clock, while running
	SteppedBack          // between two runs
	AbsentTooLong        // between two runs, or the clock jumped while stopped
	reasonCount          //
)

func (r Reason) String() string {
	return [...]string{"none", "the wall clock moved", "the clock stepped back while stopped", "stopped for more than 30 days"}[r]
}

// ClockState is what outlives a run. Store it at least at every slot; what was
// not stored only makes deletes later.
type ClockState struct {
	Uptime int64 // ms that the process has run, over all runs
	Wall   int64 // ms, as seen last; 0: never

	Reason     Reason
	Difference int64 // ms that the wall clock was displaced in sum since suspicion
	QuietSince int64 // Uptime of the last disturbance

	// Passed is the time up to which everything ended so long ago (in Uptime)
	// that it may be deleted; Marks say when the clock first reached the times
	// after it, both ascending.
	Passed int64
	Marks  []ClockMark
}

// A ClockMark says that at an uptime the wall clock had reached a time, and has
// not gone back behind it since.
type ClockMark struct {
	Wall, Uptime int64 // ms
}

// A ClockGuard decides whether the clock may be trusted with deletes (R11). It
// has no clock: its owner calls Observe with both clocks, at least once a
// minute. It is not safe for concurrent use.
//
// Differences add up while the clock is suspect: a jump by three days and back
// again is a difference of zero, which clears by itself.
type ClockGuard struct {
	state     ClockState
	threshold int64

	// Against these the clocks are compared; mono is that of the last Observe.
	anchorWall, anchorMono, mono int64
}

// NewClockGuard begins a run with the state that the last one left.
func NewClockGuard(state ClockState, slot, wall, mono int64) *ClockGuard {
	state.Marks = append([]ClockMark(nil), state.Marks...)
	wall = clamp(wall)
	g := &ClockGuard{state: state, threshold: max(slot, Minute), anchorWall: wall, anchorMono: mono, mono: mono}
	if state.Wall != 0 {
		absent := wall - state.Wall
		switch {
		case absent < -g.threshold:
			g.raise(SteppedBack, absent)
		case absent > LongAbsence:
			g.raise(AbsentTooLong, absent)
		}
	}
	g.mark(wall)
	return g
}

// Observe tells the guard what both clocks say.
func (g *ClockGuard) Observe(wall, mono int64) {
	wall = clamp(wall)
	mono = max(mono, g.mono)
	g.state.Uptime += mono - g.mono
	g.mono = mono
	moved := (wall - g.anchorWall) - (mono - g.anchorMono)
	if moved > g.threshold || moved < -g.threshold {
		g.raise(WallMoved, moved)
		g.anchorWall, g.anchorMono = wall, mono
	}
	if g.Suspect() && !g.NeedsConfirm() && g.state.Uptime-g.state.QuietSince >= QuietAfter {
		g.clear()
	}
	g.mark(wall)
}

func (g *ClockGuard) raise(reason Reason, difference int64) {
	g.state.Reason = reason
	g.state.Difference = min(max(g.state.Difference+difference, -MaxTime), MaxTime)
	g.state.QuietSince = g.state.Uptime
}

func (g *ClockGuard) clear() {
	g.state.Reason = NotSuspect
	g.state.Difference = 0
}

// mark remembers which times the clock has passed, and forgets those behind
// which it went back.
func (g *ClockGuard) mark(wall int64) {
	s := &g.state
	s.Wall = wall
	s.Passed = min(s.Passed, wall)
	for i := range s.Marks {
		s.Marks[i].Wall = min(s.Marks[i].Wall, wall)
	}
	old := 0
	for old < len(s.Marks) && s.Uptime-s.Marks[old].Uptime >= DeleteAfter {
		s.Passed = max(s.Passed, s.Marks[old].Wall)
		old++
	}
	s.Marks = append(s.Marks[:0], s.Marks[old:]...)
	if n := len(s.Marks); n == 0 || wall > s.Marks[n-1].Wall && s.Uptime-s.Marks[n-1].Uptime >= markEvery {
		s.Marks = append(s.Marks, ClockMark{Wall: wall, Uptime: s.Uptime})
	}
}

// Suspect is the visible clock_suspect: deletes are held.
func (g *ClockGuard) Suspect() bool { return g.state.Reason != NotSuspect }

// NeedsConfirm reports that the suspicion does not clear by itself.
func (g *ClockGuard) NeedsConfirm() bool {
	return g.state.Difference > SelfClearing || g.state.Difference < -SelfClearing
}

// ClearsIn is how long the clock must still run quietly until a suspicion that
// clears by itself does.
func (g *ClockGuard) ClearsIn() int64 {
	if !g.Suspect() || g.NeedsConfirm() {
		return 0
	}
	return max(0, QuietAfter-(g.state.Uptime-g.state.QuietSince))
}

// Confirm is the operator's word that the clock is right. It waives the
// suspicion, not the time that must have run since a life ended.
func (g *ClockGuard) Confirm() { g.clear() }

// DeletableUntil is the time up to which lives must have ended for a delete to
// be allowed now; 0 while the clock is suspect.
func (g *ClockGuard) DeletableUntil() int64 {
	if g.Suspect() {
		return 0
	}
	return g.state.Passed
}

// MayDelete reports whether what ended at a time may be deleted now: the clock
// is not suspect, it is past that time, and the process has run for a day since
// the clock first passed it.
func (g *ClockGuard) MayDelete(ended int64) bool {
	return !g.Suspect() && ended <= g.state.Passed
}

// State is what to store. The slices in it are the caller's.
func (g *ClockGuard) State() ClockState {
	s := g.state
	s.Marks = append([]ClockMark(nil), s.Marks...)
	return s
}
