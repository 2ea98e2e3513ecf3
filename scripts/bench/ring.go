package bench

import "math/rand/v2"

const (
	ringBytes = 32 << 20 // of all connections together, about
	ringCalls = 1024     // of one connection, at most about
)

// ring is a connection's calls, formatted once and sent again and again. Each
// lap writes new random keys, and what follows from them, over the old ones.
//
// The sender owns buf, at and the random state. calls is immutable once built,
// so the reader of an open loop may look up what it gets a reply to.
type ring struct {
	cfg   *config
	buf   []byte
	calls []call
	at    int // the next call to send
	rand  rand.PCG
	fresh uint64 // number of the next fresh item
}

// call is one formatted call of a ring.
type call struct {
	layout
	start, end int
	command    int   // index in cfg.Commands
	seen       []int // offsets of the items that are seen
}

// newRing formats the calls of connection conn.
func newRing(cfg *config, plan *planner, conn int) *ring {
	r := &ring{cfg: cfg}
	r.rand.Seed(uint64(cfg.Seed), uint64(conn))
	r.fresh = r.rand.Uint64()
	n := min(ringBytes/cfg.Conns/cfg.callBytes(), ringCalls) / cfg.Pipeline
	for range max(n, 1) * cfg.Pipeline { // whole batches
		r.add(plan.next())
	}
	return r
}

// add formats one call of a command with so many seen candidates, at random
// places among the others.
func (r *ring) add(index, seen int) {
	cmd := &r.cfg.Commands[index]
	c := call{start: len(r.buf), command: index}
	r.buf, c.layout = cmd.appendCall(r.buf, r.cfg, cmd.candidates)
	c.end = len(r.buf)
	for i, place := range rand.New(&r.rand).Perm(cmd.candidates) {
		at := c.item + place*c.stride
		if i < seen {
			c.seen = append(c.seen, at)
		}
		putItem(r.buf[at:at+r.cfg.ItemSize], neverItem, r.rand.Uint64())
	}
	r.calls = append(r.calls, c)
}

// take returns the next n calls, or fewer where the ring ends, ready to be
// sent, and their number. The bytes are valid until the next take.
func (r *ring) take(n int) ([]byte, int) {
	calls := r.calls[r.at:min(r.at+n, len(r.calls))]
	r.at = (r.at + len(calls)) % len(r.calls)
	for i := range calls {
		r.redraw(&calls[i])
	}
	return r.buf[calls[0].start:calls[len(calls)-1].end], len(calls)
}

// redraw gives a call a new key and the items that belong to it.
func (r *ring) redraw(c *call) {
	cmd := &r.cfg.Commands[c.command]
	key := r.below(r.cfg.Keys)
	putKey(r.buf[c.key:c.key+keyDigits], key)
	if cmd.writes {
		for i := range cmd.candidates {
			at := c.item + i*c.stride
			putItem(r.buf[at:at+r.cfg.ItemSize], freshItem, r.fresh)
			r.fresh++
		}
	}
	if len(c.seen) == 0 {
		return
	}
	i := r.below(r.cfg.Items)
	for _, at := range c.seen {
		putItem(r.buf[at:at+r.cfg.ItemSize], loadedItem, loadedNumber(key, i))
		if i++; i == r.cfg.Items {
			i = 0
		}
	}
}

// below draws a number in [0, n).
func (r *ring) below(n int) int {
	return int(r.rand.Uint64() >> 32 * uint64(n) >> 32)
}

// planner deals out the commands of a mix by weight, and to each call its
// share of seen candidates: exact over many calls, also where a call has one
// candidate.
type planner struct {
	cfg    *config
	total  int
	credit []int
	seen   []float64
}

func newPlanner(cfg *config) *planner {
	p := &planner{cfg: cfg, credit: make([]int, len(cfg.Commands)), seen: make([]float64, len(cfg.Commands))}
	for i := range cfg.Commands {
		p.total += cfg.Commands[i].weight
	}
	return p
}

// next is the command of the next call and how many of its candidates are
// seen. (Smooth weighted round robin: most credit goes next and pays.)
func (p *planner) next() (index, seen int) {
	for i := range p.credit {
		p.credit[i] += p.cfg.Commands[i].weight
		if p.credit[i] > p.credit[index] {
			index = i
		}
	}
	p.credit[index] -= p.total
	p.seen[index] += float64(p.cfg.Commands[index].candidates) * p.cfg.Seen
	seen = int(p.seen[index] + 1e-6)
	p.seen[index] -= float64(seen)
	return index, seen
}
