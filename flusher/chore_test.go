package flusher

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Chores run at Start and then each Every, between slots, whatever else fails.
func TestChores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(odd)
		s := newFake(t)
		var runs []time.Time // read when the wheel is stopped
		good := Chore{Name: "good", Every: 20 * time.Minute, Run: func(context.Context) error {
			defer s.enter()()
			runs = append(runs, time.Now())
			time.Sleep(time.Minute)
			return nil
		}}
		failures := 2
		bad := Chore{Name: "bad", Every: time.Minute, Run: func(context.Context) error {
			if failures > 0 {
				failures--
				return errDisk
			}
			return nil
		}}
		f := newWheel(t, s, testConfig(), good, bad)
		s.setOnStore(takes(30 * time.Minute))
		f.Start()
		sleepUntil(odd + 90*time.Second)
		checkChore(t, f, 0, ChoreStatus{Name: "good", Due: midnight.Add(odd + 21*time.Minute), Runs: 1, Took: time.Minute})
		checkChore(t, f, 1, ChoreStatus{Name: "bad", Due: midnight.Add(odd + 2*time.Minute), Runs: 1, Failures: 1, Error: "disk on fire"})
		sleepUntil(2*h - time.Second)
		stop(t, f)
		// The third run delays the end of the slot, whose store delays the fourth.
		want := []time.Duration{odd, odd + 21*time.Minute, odd + 42*time.Minute, odd + 73*time.Minute, odd + 94*time.Minute}
		if got := at(runs); !slices.Equal(got, want) {
			t.Errorf("ran at %v, want %v", got, want)
		}
		if c := f.Status().Chores[1]; c.Failures != 2 || c.Error != "" || c.Runs < 30 {
			t.Errorf("chore %+v", c)
		}
	})
}

func checkChore(t *testing.T, f *Flusher, i int, want ChoreStatus) {
	t.Helper()
	got := f.Status().Chores[i]
	if !got.Due.Equal(want.Due) {
		t.Errorf("%s is due %v, want %v", got.Name, got.Due, want.Due)
	}
	if got.Due = want.Due; got != want {
		t.Errorf("chore %+v, want %+v", got, want)
	}
}

// A slot ends when a chore lets it.
func TestChoreDelaysTheEnd(t *testing.T) {
	long := Chore{Name: "long", Every: 24 * h, Run: func(context.Context) error {
		time.Sleep(time.Hour)
		return nil
	}}
	turning(t, testConfig(), func(t *testing.T, s *fakeStore, f *Flusher) {
		sleepUntil(3 * h)
		if got, want := at(s.sealCalls()), []time.Duration{odd + h, 2 * h, 3 * h}; !slices.Equal(got, want) {
			t.Errorf("slots ended at %v, want %v", got, want)
		}
	}, long)
}
