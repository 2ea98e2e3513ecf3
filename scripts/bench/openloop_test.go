package bench

import (
	"testing"
	"time"
)

func TestSchedule(t *testing.T) {
	start := time.Now()
	for _, rate := range []float64{0.5, 3, 1000, 333_333} {
		cfg := &config{Conns: 7, Rate: rate}
		second := 0
		for index := range cfg.Conns {
			s := newSchedule(cfg, index, start)
			for _, i := range []int{0, 1, 2, 10, 12_345, 10_000_000} {
				if got := s.due(s.at(i)); got != i {
					t.Errorf("rate %v: %d calls are due before call %d", rate, got, i)
				}
				if got := s.due(s.at(i).Add(1)); got != i+1 {
					t.Errorf("rate %v: %d calls are due with call %d", rate, got, i)
				}
			}
			second += s.due(start.Add(10 * time.Second))
		}
		if want := int(10 * rate); second < want || second > want+1 {
			t.Errorf("rate %v: %d calls in 10 s over all connections, want %d", rate, second, want)
		}
	}
}

// All calls of the rate are made, in time.
func TestOpenLoop(t *testing.T) {
	t.Parallel()
	res, err := run(t, t.Context(), startFake(t), "--command", "SMISMEMBER", "--rate", "2000", "--seconds", "0.3")
	if err != nil {
		t.Fatal(err)
	}
	if res.Total.Calls != 600 || res.Unsent != 0 {
		t.Errorf("%d calls, %d unsent, want 600 and none", res.Total.Calls, res.Unsent)
	}
}

// A server that stands still is seen by every call that was due meanwhile.
func TestNoCoordinatedOmission(t *testing.T) {
	t.Parallel()
	const stall = 200 * time.Millisecond
	f := startFake(t)
	f.stallOnce(150, stall)
	res, err := run(t, t.Context(), f, "--command", "SMISMEMBER", "--no-load", "--seen", "0", "--rate", "1000", "--seconds", "0.5")
	if err != nil {
		t.Fatal(err)
	}
	// 200 of 500 calls were due in the stall and waited 100 ms on average:
	// more than a tenth of all of them 100 ms or longer.
	if res.Total.Calls != 500 || res.Total.Max < 190_000 || res.Total.P99 < 150_000 {
		t.Errorf("%+v: the stall of %v is not in the latencies", res.Total, stall)
	}
}

// A server that is too slow for the rate: the run ends, and says so.
func TestOverload(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	f.stall = func(int) { time.Sleep(time.Millisecond) }
	res, err := run(t, t.Context(), f, "--command", "SMISMEMBER", "--no-load", "--seen", "0",
		"--conns", "1", "--item-size", "1024", "--candidates", "1000", "--rate", "4000", "--seconds", "0.1")
	if err != nil {
		t.Fatal(err)
	}
	if res.Total.Calls+res.Unsent != 400 || res.Seconds > 5 {
		t.Errorf("%d calls and %d unsent in %.1f s, want 400 together", res.Total.Calls, res.Unsent, res.Seconds)
	}
}

func TestAlarm(t *testing.T) {
	a, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	start := time.Now()
	if err := a.sleep(5 * time.Millisecond); err != nil || time.Since(start) < 5*time.Millisecond {
		t.Errorf("slept %v, error %v", time.Since(start), err)
	}
	time.AfterFunc(5*time.Millisecond, a.interrupt)
	if err := a.sleep(time.Minute); err != nil || time.Since(start) > 10*time.Second {
		t.Errorf("not interrupted: %v, error %v", time.Since(start), err)
	}
}
