package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// run runs bench against a fake server with JSON output.
func run(t *testing.T, ctx context.Context, f *fake, args ...string) (result, error) {
	t.Helper()
	args = append([]string{"--addr", f.addr, "--keys", "50", "--items", "40", "--candidates", "20",
		"--conns", "4", "--pipeline", "4", "--seconds", "0.1", "--json"}, args...)
	var out bytes.Buffer
	err := Run(ctx, args, &out, io.Discard)
	var res result
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &res); err != nil {
			t.Fatalf("output is not JSON: %v\n%s", err, out.String())
		}
	}
	return res, err
}

func TestClosedLoop(t *testing.T) {
	for _, args := range []string{
		"--command SMISMEMBER",
		"--command ZMSCORE --seen 0.5",
		"--command SISMEMBER",
		"--command DEDUP.FILTER",
		"--command SADD --seen 0.25",
		"--command SMISMEMBER --item-size 8 --seen 1",
		"--command SMISMEMBER --load-command SADD --candidates 1",
		"--mix DEDUP.MEXISTS:9,DEDUP.ADD:1:5",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			res, err := run(t, t.Context(), startFake(t), strings.Fields(args)...)
			if err != nil {
				t.Fatal(err)
			}
			if res.Total.Calls == 0 || res.Total.Errors != 0 || res.Total.P50 <= 0 || res.Total.Max < res.Total.P99 {
				t.Errorf("got %+v", res.Total)
			}
			for _, r := range res.Commands {
				if r.Seen == nil || math.Abs(*r.Seen-res.SeenShare) > 0.03 {
					t.Errorf("%s: seen %v, want %v", r.Command, r.Seen, res.SeenShare)
				}
			}
		})
	}
}

func TestMixWeights(t *testing.T) {
	t.Parallel()
	res, err := run(t, t.Context(), startFake(t), "--mix", "SMISMEMBER:9,SADD:1:5")
	if err != nil {
		t.Fatal(err)
	}
	share := float64(res.Commands[1].Calls) / float64(res.Total.Calls)
	if math.Abs(share-0.1) > 0.02 || res.Commands[1].Candidates != 5 {
		t.Errorf("SADD has a share of %.3f with %d items, want 0.1 with 5", share, res.Commands[1].Candidates)
	}
}

func TestServerCPU(t *testing.T) {
	t.Parallel()
	res, err := run(t, t.Context(), startFake(t), "--command", "SMISMEMBER", "--pid", strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	if res.Server == nil || res.Server.MicrosCall <= 0 || res.Own.Seconds <= 0 {
		t.Errorf("server %+v, own %+v: want both", res.Server, res.Own)
	}
}

func TestErrorsAreNotSuccesses(t *testing.T) {
	for command, want := range map[string]string{
		"NEST":       "filter is full",
		"NOSUCH":     "unknown command",
		"DIE":        "connection",
		"SMISMEMBER": "were the keys loaded",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			res, err := run(t, t.Context(), startFake(t), "--command", command, "--no-load")
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("got error %v, want one with %q", err, want)
			}
			if command != "SMISMEMBER" && res.Total.Calls != 0 {
				t.Errorf("%d calls counted as successes", res.Total.Calls)
			}
		})
	}
}

func TestLoadFails(t *testing.T) {
	_, err := run(t, t.Context(), startFake(t), "--command", "SMISMEMBER", "--load-command", "NOSUCH")
	if err == nil || !strings.Contains(err.Error(), "load: NOSUCH: ERR unknown command") {
		t.Errorf("got %v", err)
	}
}

func TestPassword(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	if _, err := run(t, t.Context(), f, "--command", "SMISMEMBER", "--password", "secret"); err != nil {
		t.Error(err)
	}
	_, err := run(t, t.Context(), f, "--command", "SMISMEMBER", "--password", "wrong")
	if err == nil || !strings.Contains(err.Error(), "AUTH: WRONGPASS") {
		t.Errorf("got %v", err)
	}
}

// A server that dies in the middle gives an error and what was measured.
func TestServerDies(t *testing.T) {
	t.Parallel()
	for _, rate := range []string{"0", "5000"} {
		f := startFake(t)
		f.stall = func(served int) {
			if served == 500 {
				go f.server.Close()
			}
		}
		start := time.Now()
		res, err := run(t, t.Context(), f, "--command", "SMISMEMBER", "--rate", rate, "--seconds", "30")
		if err == nil || res.Total.Calls == 0 || time.Since(start) > 20*time.Second {
			t.Errorf("rate %s: %d calls after %v, error %v", rate, res.Total.Calls, time.Since(start), err)
		}
	}
}

// Ctrl-C ends the run early, also where the server hangs.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--command SMISMEMBER", "--command SMISMEMBER --rate 50", "--command HANG", "--command HANG --rate 50"} {
		ctx, cancel := context.WithCancel(t.Context())
		f := startFake(t)
		f.stall = func(served int) {
			if served == 4 {
				cancel()
			}
		}
		start := time.Now()
		args := append(strings.Fields(args), "--seconds", "60", "--no-load", "--seen", "0")
		res, err := run(t, ctx, f, args...)
		cancel()
		if err != nil || !res.Interrupted || time.Since(start) > 20*time.Second {
			t.Errorf("%v: after %v: interrupted %v, error %v", args, time.Since(start), res.Interrupted, err)
		}
	}
}

func TestInterruptedLoad(t *testing.T) {
	f := startFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.stall = func(served int) {
		if served == 50 {
			cancel()
		}
	}
	_, err := run(t, ctx, f, "--command", "SMISMEMBER", "--keys", "10000")
	if err == nil || !strings.Contains(err.Error(), "load: interrupted after") {
		t.Errorf("got %v", err)
	}
}

func TestTable(t *testing.T) {
	seen := 0.1004
	res := result{Addr: "127.0.0.1:6380", Keys: 10_000, Items: 500, ItemSize: 16, SeenShare: 0.1, Conns: 16, Pipeline: 16, Rate: 20_000,
		Seed: 7, Seconds: 10.02, Interrupted: true, Unsent: 1234, FirstError: "BUSY try later", writes: true,
		Commands: []row{
			{Command: "DEDUP.MEXISTS", Candidates: 200, CallsPerS: 18_000, ItemsPerS: 3.6e6, P50: 48.2, P99: 210, P999: 1400, Max: 2001, Errors: 3, Seen: &seen},
			{Command: "DEDUP.ADD", Candidates: 5, CallsPerS: 2_000, ItemsPerS: 10_000, P50: 51, P99: 222, P999: 1500, Max: 1999},
		},
		Total:  row{Command: "total", CallsPerS: 20_000, ItemsPerS: 3.61e6, P50: 49, P99: 211, P999: 1410, Max: 2001, Errors: 3},
		Server: &usage{Seconds: 4, Cores: 0.4, MicrosCall: 20, NanosItem: 110.8},
		Own:    usage{Seconds: 1.5, Cores: 0.15},
	}
	want := strings.TrimPrefix(`
10,000 keys x 500 items of 16 B, 10.0 % of the candidates seen, seed 7
127.0.0.1:6380, 16 connections x 16 calls, open loop of 20,000 calls/s, latencies from the intended time, 10.0 s (interrupted)

        command  items  calls/s    items/s  p50 us  p99 us  p99.9 us  max us  errors    seen
  DEDUP.MEXISTS    200   18,000  3,600,000      48     210     1,400   2,001       3  10.0 %
      DEDUP.ADD      5    2,000     10,000      51     222     1,500   1,999       0        
          total          20,000  3,610,000      49     211     1,410   2,001       3        

server CPU 4.00 s, 0.40 of a core: 20.00 us a call, 111 ns an item
own CPU 1.50 s, 0.15 of a core
the server did not keep up: 1,234 calls were due but could not be sent
first error: BUSY try later
`, "\n")
	if got := res.table(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
