package commands

import (
	"encoding/binary"
	"runtime"
	"testing"
)

// The hot path allocates nothing once its buffers have grown.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		return // the race detector's own allocations are counted, too
	}
	for _, tc := range []struct {
		name  string
		setUp []string
		args  []string
		fresh int // so many of the last arguments are new items each time
	}{
		{"MEXISTS, 200 candidates, half of them seen", setUpHalf, candidates("DEDUP.MEXISTS", "k"), 0},
		{"EXISTS", setUpHalf, []string{"DEDUP.EXISTS", "k", "v1"}, 0},
		{"ADD, there already", setUpHalf, []string{"DEDUP.ADD", "k", "v1"}, 0},
		{"ADD, new", nil, []string{"DEDUP.ADD", "k", "12345678"}, 1},
		{"MADD, there already", setUpHalf, []string{"DEDUP.MADD", "k", "v1", "v2"}, 0},
		{"MADD, new", nil, []string{"DEDUP.MADD", "k", "12345678", "12345678"}, 2},
		{"FILTER LIMIT", setUpHalf, candidates("DEDUP.FILTER", "k", "LIMIT", "20", "ITEMS"), 0},
		{"FILTER LIMIT MARK, new", setUpHalf, candidates("DEDUP.FILTER", "k", "LIMIT", "10", "MARK", "ITEMS", "v1"), 20},
		{"FILTER LIMIT MARK played, new", setUpHalf, candidates("DEDUP.FILTER", "k", "LIMIT", "10", "MARK", "played", "ITEMS", "v1"), 20},
		{"DELIVER, new", nil, []string{"DEDUP.DELIVER", "k", "12345678"}, 1},
		{"INSERT BLIND, new", nil, []string{"DEDUP.INSERT", "k", "BLIND", "ITEMS", "12345678"}, 1},
		{"REM, not there", setUpHalf, []string{"DEDUP.REM", "k", "ITEMS", "nosuch"}, 0},
		{"RECENT", []string{"DEDUP.DELIVER", "k", "a", "b"}, []string{"DEDUP.RECENT", "k", "COUNT", "2"}, 0},
		{"PING", nil, []string{"PING"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := openNode(t, nodeOptions{})
			defer n.close()
			s := n.session()
			if tc.setUp != nil {
				s.do(tc.setUp...)
			}
			limit := 0.01 // what other goroutines do meanwhile
			if tc.fresh > 0 {
				limit = 0.1 // pages and tables that grow
			}
			if got := allocsPerCommand(t, s, toBytes(tc.args), tc.fresh); got > limit {
				t.Errorf("%v allocations a command", got)
			}
		})
	}
}

var setUpHalf = candidates("DEDUP.ADD", "k")[:102]

// candidates is a command followed by 200 items.
func candidates(command ...string) []string {
	for i := range 200 {
		command = append(command, "v"+string(rune('A'+i%26))+string(rune('a'+i/26)))
	}
	return command
}

// allocsPerCommand runs the command, waits for the log as the server does, and
// returns its allocations. testing.AllocsPerRun would round them down.
func allocsPerCommand(t *testing.T, s *session, args [][]byte, fresh int) float64 {
	number := uint64(0)
	for i := len(args) - fresh; i < len(args); i++ {
		args[i] = make([]byte, 8)
	}
	var buf []byte
	run := func() {
		for _, item := range args[len(args)-fresh:] {
			number++
			binary.LittleEndian.PutUint64(item, number)
		}
		var wait uint64
		if buf, wait = s.Do(buf[:0], args); buf[0] == '-' {
			t.Fatalf("%s", buf)
		}
		if err := s.Wait(wait); err != nil {
			t.Fatal(err)
		}
	}
	const runs = 2000
	for range runs {
		run()
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		run()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / runs
}
