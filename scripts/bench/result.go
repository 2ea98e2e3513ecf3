package bench

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// result is what a run measured: what --json prints, and the table shows.
type result struct {
	Addr        string  `json:"addr"`
	Keys        int     `json:"keys"`
	Items       int     `json:"items"`
	ItemSize    int     `json:"item_size"`
	SeenShare   float64 `json:"seen"`
	Conns       int     `json:"conns"`
	Pipeline    int     `json:"pipeline"`
	Rate        float64 `json:"rate"` // 0: closed loop
	Seed        int     `json:"seed"`
	Seconds     float64 `json:"seconds"`
	Interrupted bool    `json:"interrupted"`
	Commands    []row   `json:"commands"`
	Total       row     `json:"total"`
	Unsent      int64   `json:"unsent"` // open loop: due but never sent
	FirstError  string  `json:"first_error,omitempty"`
	Server      *usage  `json:"server_cpu,omitempty"`
	Own         usage   `json:"own_cpu"`
	writes      bool
}

// row is one command, or all of them.
type row struct {
	Command    string   `json:"command"`
	Candidates int      `json:"candidates,omitempty"`
	Calls      int64    `json:"calls"`
	Errors     int64    `json:"errors"`
	CallsPerS  float64  `json:"calls_per_s"`
	ItemsPerS  float64  `json:"items_per_s"`
	P50        float64  `json:"p50_us"`
	P99        float64  `json:"p99_us"`
	P999       float64  `json:"p999_us"`
	Max        float64  `json:"max_us"`
	Seen       *float64 `json:"seen_in_replies,omitempty"` // where the replies say it
	items      int64
}

// usage is the CPU that a process used.
type usage struct {
	Seconds    float64 `json:"seconds"`
	Cores      float64 `json:"cores"` // seconds used a second
	MicrosCall float64 `json:"us_a_call"`
	NanosItem  float64 `json:"ns_an_item"`
}

func newResult(cfg *config, workers []*worker, elapsed time.Duration) *result {
	res := &result{
		Addr: cfg.Addr, Keys: cfg.Keys, Items: cfg.Items, ItemSize: cfg.ItemSize, SeenShare: cfg.Seen,
		Conns: cfg.Conns, Pipeline: cfg.Pipeline, Rate: cfg.Rate, Seed: cfg.Seed, Seconds: elapsed.Seconds(),
	}
	total := newTally()
	for i := range cfg.Commands {
		c := &cfg.Commands[i]
		t := newTally()
		for _, w := range workers {
			t.merge(w.tallies[i])
		}
		r := newRow(c.String(), t, elapsed)
		r.Candidates = c.candidates
		if cfg.checked(c) && t.items > 0 {
			share := float64(t.seen) / float64(t.items)
			r.Seen = &share
		}
		res.Commands = append(res.Commands, r)
		res.writes = res.writes || c.writes
		total.merge(t)
	}
	res.Total = newRow("total", total, elapsed)
	for _, w := range workers {
		res.Unsent += w.unsent
		if res.FirstError == "" {
			res.FirstError = w.errText
		}
	}
	return res
}

// checked is whether the replies of a command tell the share of the seen that
// was sent.
func (cfg *config) checked(c *command) bool {
	for i := range cfg.Commands {
		if cfg.Commands[i].forgets {
			return false
		}
	}
	return c.reply != opaque
}

func newRow(name string, t *tally, elapsed time.Duration) row {
	micros := func(ns int64) float64 { return float64(ns) / 1e3 }
	return row{
		Command: name, Calls: t.calls, Errors: t.errors, items: t.items,
		CallsPerS: float64(t.calls) / elapsed.Seconds(),
		ItemsPerS: float64(t.items) / elapsed.Seconds(),
		P50:       micros(t.latency.ValueAtPercentile(50)),
		P99:       micros(t.latency.ValueAtPercentile(99)),
		P999:      micros(t.latency.ValueAtPercentile(99.9)),
		Max:       micros(t.latency.Max()),
	}
}

// setCPU sets what server and load used since the meter was started.
func (res *result) setCPU(m meter) {
	res.Own = res.usage(m.ownUsed())
	if m.pid == 0 {
		return
	}
	if used, err := m.serverUsed(); err == nil {
		u := res.usage(used)
		res.Server = &u
	}
}

func (res *result) usage(used time.Duration) usage {
	u := usage{Seconds: used.Seconds(), Cores: used.Seconds() / res.Seconds}
	if res.Total.Calls > 0 {
		u.MicrosCall = float64(used.Microseconds()) / float64(res.Total.Calls)
		u.NanosItem = float64(used.Nanoseconds()) / float64(res.Total.items)
	}
	return u
}

// verdict is an error where the figures are not those of the load asked for.
func (res *result) verdict() error {
	if res.Total.Calls == 0 && res.Total.Errors > 0 {
		return fmt.Errorf("every call failed: %s", res.FirstError)
	}
	var wrong []error
	for _, r := range res.Commands {
		if res.wrongShare(r) {
			wrong = append(wrong, fmt.Errorf("%s: its replies call %.1f %% of the candidates seen, but %.1f %% are: were the keys loaded with the same --items, --item-size and --prefix, for this command?",
				r.Command, *r.Seen*100, res.SeenShare*100))
		}
	}
	return errors.Join(wrong...)
}

// wrongShare allows for false positives, and for the first calls of each
// connection's plan.
func (res *result) wrongShare(r row) bool {
	return r.Seen != nil && r.items >= 1000 && math.Abs(*r.Seen-res.SeenShare) > 0.03
}
