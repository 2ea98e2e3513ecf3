package bench

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxLatency is the longest that a histogram tells apart.
const maxLatency = time.Hour

// tally is what one connection measured of one command. Calls that failed are
// in errors and nowhere else.
type tally struct {
	latency *hdrhistogram.Histogram // ns
	calls   int64
	errors  int64
	items   int64 // candidates of the calls
	seen    int64 // of those, how many the replies call seen
}

func newTally() *tally {
	return &tally{latency: hdrhistogram.New(1, maxLatency.Nanoseconds(), 3)}
}

// add books one reply.
func (t *tally) add(c *command, r reply, latency time.Duration) {
	if r.failed {
		t.errors++
		return
	}
	t.calls++
	t.items += int64(c.candidates)
	t.seen += c.seen(r)
	t.latency.RecordValue(min(latency, maxLatency).Nanoseconds())
}

// merge adds what another one measured.
func (t *tally) merge(o *tally) {
	t.latency.Merge(o.latency)
	t.calls += o.calls
	t.errors += o.errors
	t.items += o.items
	t.seen += o.seen
}
