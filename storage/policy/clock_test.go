package policy

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// A clockRun drives a guard with both clocks.
type clockRun struct {
	guard      *ClockGuard
	wall, mono int64
}

func startClock(state ClockState, wall int64) *clockRun {
	return &clockRun{guard: NewClockGuard(state, Hour, wall, 5), wall: wall, mono: 5}
}

// run lets time pass quietly.
func (r *clockRun) run(length int64) {
	for end := r.mono + length; r.mono < end; {
		step := min(Minute, end-r.mono)
		r.wall += step
		r.mono += step
		r.guard.Observe(r.wall, r.mono)
	}
}

func (r *clockRun) jump(by int64) {
	r.wall += by
	r.guard.Observe(r.wall, r.mono)
}

// restart stores the state, and starts again after an absence.
func (r *clockRun) restart(t interface{ Fatal(...any) }, absent int64) {
	state, err := DecodeClockState(r.guard.State().AppendBinary(nil))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(state, r.guard.State()) {
		t.Fatal("not read back as written")
	}
	*r = *startClock(state, r.wall+absent)
}

const clockStart int64 = 1_800_000_000_000

func TestDeleteOnlyADayAfterTheClockPassed(t *testing.T) {
	r := startClock(ClockState{}, clockStart)
	ended := clockStart + 10*Hour
	r.run(10 * Hour)
	r.run(Day - Minute)
	if r.guard.MayDelete(ended) {
		t.Error("deleted early")
	}
	r.run(Minute + markEvery)
	if !r.guard.MayDelete(ended) {
		t.Error("not deleted")
	}
	if r.guard.MayDelete(ended + Hour) {
		t.Error("deleted what ended later")
	}
}

// Only running time counts: many short runs add up, an absence does not.
func TestAbsenceIsNotRunning(t *testing.T) {
	r := startClock(ClockState{}, clockStart)
	ended := clockStart + 1
	r.run(Hour)
	for range 22 {
		r.restart(t, 10*Day)
		r.run(Hour)
		if r.guard.MayDelete(ended) || r.guard.Suspect() {
			t.Fatal("deleted, or suspect")
		}
	}
	r.restart(t, Day)
	if r.guard.MayDelete(r.wall) {
		t.Error("what ended during the absence is deleted at once")
	}
	r.run(2*Hour + 2*markEvery)
	if !r.guard.MayDelete(ended) {
		t.Error("not deleted after a day of running")
	}
}

// B058: a jump of some days for ten seconds deletes nothing, and after the
// correction the clock clears by itself.
func TestB058JumpForwardAndBack(t *testing.T) {
	r := startClock(ClockState{}, clockStart)
	r.run(30 * Hour)
	ended := r.wall + 2*Day // only under the wrong clock
	r.jump(3 * Day)
	if !r.guard.Suspect() || !r.guard.NeedsConfirm() || r.guard.MayDelete(clockStart) {
		t.Error("not suspect")
	}
	r.run(10 * Second)
	r.jump(-3 * Day)
	if !r.guard.Suspect() || r.guard.NeedsConfirm() || r.guard.ClearsIn() != QuietAfter {
		t.Errorf("after the correction: %+v", r.guard.State())
	}
	r.run(Day - Second)
	if !r.guard.Suspect() {
		t.Error("cleared early")
	}
	r.run(Minute)
	if r.guard.Suspect() || !r.guard.MayDelete(clockStart) {
		t.Error("not cleared")
	}
	if r.guard.MayDelete(ended) {
		t.Error("deleted under a wrong clock's word")
	}
	r.run(Day - 2*Minute)
	if r.guard.MayDelete(ended) {
		t.Error("deleted before the clock passed it again for a day")
	}
	r.run(Day + 2*markEvery)
	if !r.guard.MayDelete(ended) {
		t.Error("never deleted")
	}
}

func TestSuspicionThreshold(t *testing.T) {
	for _, test := range []struct {
		name     string
		jumps    []int64
		suspect  bool
		confirms bool
	}{
		{"a slot", []int64{Hour}, false, false},
		{"a slot back", []int64{-Hour}, false, false},
		{"more than a slot", []int64{Hour + 1}, true, false},
		{"more than a slot back", []int64{-Hour - 1}, true, false},
		{"in small steps", []int64{40 * Minute, 40 * Minute}, true, false},
		{"there and back", []int64{40 * Minute, -40 * Minute}, false, false},
		{"a day", []int64{Day}, true, false},
		{"more than a day", []int64{Day + 1}, true, true},
		{"more than a day back", []int64{-Day - 1}, true, true},
		{"a day in sum", []int64{20 * Hour, 20 * Hour}, true, true},
	} {
		r := startClock(ClockState{}, clockStart)
		for _, by := range test.jumps {
			r.run(Minute)
			r.jump(by)
		}
		if r.guard.Suspect() != test.suspect || r.guard.NeedsConfirm() != test.confirms {
			t.Errorf("%s: %+v", test.name, r.guard.State())
		}
		r.run(QuietAfter + Minute)
		if r.guard.Suspect() != test.confirms {
			t.Errorf("%s, after a quiet day: %+v", test.name, r.guard.State())
		}
		r.run(3 * Day)
		r.restart(t, Hour)
		if r.guard.Suspect() != test.confirms || r.guard.MayDelete(clockStart) == test.confirms {
			t.Errorf("%s, after a restart: %+v", test.name, r.guard.State())
		}
		r.guard.Confirm()
		if r.guard.Suspect() || !r.guard.MayDelete(clockStart) {
			t.Errorf("%s, confirmed: %+v", test.name, r.guard.State())
		}
	}
	short := NewClockGuard(ClockState{}, Second, clockStart, 0)
	short.Observe(clockStart+Minute, 0)
	if short.Suspect() {
		t.Error("a minute is suspect")
	}
	short.Observe(clockStart+Minute+1, 0)
	if !short.Suspect() {
		t.Error("more than a minute is not suspect")
	}
}

func TestSuspicionAtStart(t *testing.T) {
	for _, test := range []struct {
		name     string
		absent   int64
		reason   Reason
		confirms bool
	}{
		{"at once", 0, NotSuspect, false},
		{"back by a slot", -Hour, NotSuspect, false},
		{"back by more", -Hour - 1, SteppedBack, false},
		{"back by days", -3 * Day, SteppedBack, true},
		{"30 days", LongAbsence, NotSuspect, false},
		{"more than 30 days", LongAbsence + 1, AbsentTooLong, true},
	} {
		r := startClock(ClockState{}, clockStart)
		r.run(2 * Day)
		r.restart(t, test.absent)
		if r.guard.State().Reason != test.reason || r.guard.NeedsConfirm() != test.confirms {
			t.Errorf("%s: %+v", test.name, r.guard.State())
		}
	}
	if g := NewClockGuard(ClockState{}, Hour, clockStart, 0); g.Suspect() {
		t.Error("a first start is suspect")
	}
}

// Whatever the clocks do: a delete is allowed only if, of the process's running
// time, the last day was all after the wall clock passed the end for good.
func TestMayDeleteAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := startClock(ClockState{}, clockStart)
		type seen struct{ wall, uptime int64 }
		history := []seen{{clockStart, 0}}
		var uptime int64
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0:
				r.jump(rapid.SampledFrom([]int64{-5 * Day, -Hour, -Second, Second, 20 * Minute, 5 * Hour, 3 * Day}).Draw(t, "jump"))
			case 1:
				r.restart(t, rapid.SampledFrom([]int64{-Day, 0, Hour, 3 * Day, 40 * Day}).Draw(t, "absent"))
			case 2:
				r.guard.Confirm()
			default:
				length := rapid.SampledFrom([]int64{Second, 7 * Minute, 5 * Hour, Day}).Draw(t, "length")
				for length > 0 {
					step := min(length, 30*Minute)
					r.wall, r.mono, length = r.wall+step, r.mono+step, length-step
					r.guard.Observe(r.wall, r.mono)
					uptime += step
					history = append(history, seen{r.wall, uptime})
				}
			}
			history = append(history, seen{r.wall, uptime})
			if n := len(r.guard.state.Marks); n > 160 {
				t.Fatalf("%d marks", n)
			}
			for _, ended := range []int64{clockStart - Day, clockStart + Day, r.wall - 2*Day, r.wall - Day, r.wall} {
				since := int64(-1) // uptime since which the clock is past the end
				for _, s := range history {
					if s.wall < ended {
						since = -1
					} else if since < 0 {
						since = s.uptime
					}
				}
				passed := since >= 0 && uptime-since >= DeleteAfter
				if r.guard.MayDelete(ended) && (!passed || r.guard.Suspect()) {
					t.Fatalf("deletes what ended at %d, passed at uptime %d of %d", ended, since, uptime)
				}
				if late := since >= 0 && uptime-since >= DeleteAfter+Hour; late && !r.guard.Suspect() && !r.guard.MayDelete(ended) {
					t.Fatalf("does not delete what ended at %d, passed at uptime %d of %d: %+v", ended, since, uptime, r.guard.State())
				}
			}
		}
	})
}

// B051: a pause over several multiples ends one slot, and the next deadline is
// on time.
func TestB051SlotEnd(t *testing.T) {
	wall, mono := ms(t, "2026-05-10T12:20:00Z"), int64(1000)
	end := SlotEnd(wall, mono, Hour)
	if end != mono+40*Minute {
		t.Errorf("ends in %d", end-mono)
	}
	// The process was stopped until 16:05, monotonic time went on: one slot.
	pause := 3*Hour + 45*Minute
	slots := 0
	for mono += pause; end <= mono; slots++ {
		end = SlotEnd(wall+pause, mono, Hour)
	}
	if slots != 1 || end != mono+55*Minute {
		t.Errorf("%d slots, the next one ends in %d", slots, end-mono)
	}
	// B049: at the multiple itself a whole slot begins.
	at := ms(t, "2026-05-10T13:00:00Z")
	for by, want := range map[int64]int64{-1: 1, 0: Hour, 1: Hour - 1} {
		if got := SlotEnd(at+by, 0, Hour); got != want {
			t.Errorf("%d ms after: %d", by, got)
		}
	}
}
