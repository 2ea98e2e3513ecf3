package log

import (
	"sync"
	"sync/atomic"
)

// committer lets one caller do an I/O that serves all who wait for it.
//
// Those who wait form rounds. The first to join a round is its leader; the rest
// follow. The leader waits for its turn, which begins when the I/O of the round
// before it has ended, closes the round and runs the I/O: everything its
// followers wait for was there before they joined. So there is one I/O at a
// time, a wake-up goes only to those whom the I/O served, and in the meantime
// the next round gathers. Two rounds are enough, and are reused: whoever waits
// asks for the position reached, never for the state of a round.
//
// Condition variables, and not a mutex, hold back those who wait for a turn: a
// slow disk is then visible to synctest as blocked goroutines.
type committer struct {
	run     func() (Position, error) // the I/O; runs in a turn
	reached atomic.Uint64            // what it has reached so far

	mu        sync.Mutex
	busy      bool // a turn is taken
	turn      sync.Cond
	rounds    [2]round
	gathering int // index of the round that may be joined
	err       error
}

type round struct {
	led    bool
	served sync.Cond
}

func (c *committer) init(run func() (Position, error), reached Position) {
	c.run = run
	c.reached.Store(uint64(reached))
	c.turn.L = &c.mu
	c.rounds[0].served.L = &c.mu
	c.rounds[1].served.L = &c.mu
}

// at returns the position reached.
func (c *committer) at() Position { return Position(c.reached.Load()) }

// wait returns when the position reached is at least p, or the I/O has failed.
// p must have been appended.
func (c *committer) wait(p Position) error {
	if c.at() >= p {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.rounds[c.gathering]
	if r.led {
		for c.at() < p && c.err == nil {
			r.served.Wait()
		}
		return c.verdict(p)
	}
	r.led = true
	c.take()
	c.gathering = 1 - c.gathering
	c.rounds[c.gathering].led = false // its own turn has ended: this one began
	c.finish()
	r.served.Broadcast()
	return c.verdict(p)
}

// now runs the I/O once, whatever was reached.
func (c *committer) now() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.take()
	c.finish()
	return c.err
}

// exclusive runs other work in a turn, while the I/O stands still.
func (c *committer) exclusive(work func() (Position, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.take()
	return c.do(work)
}

// take waits for a turn. It is called with mu held.
func (c *committer) take() {
	for c.busy {
		c.turn.Wait()
	}
	c.busy = true
}

// finish runs the I/O in the turn and ends it. It is called with mu held.
func (c *committer) finish() {
	if err := c.do(c.run); err != nil && c.err == nil {
		c.err = err
		c.rounds[0].served.Broadcast()
		c.rounds[1].served.Broadcast()
	}
}

func (c *committer) do(work func() (Position, error)) error {
	c.mu.Unlock()
	reached, err := work()
	c.mu.Lock()
	if err == nil && reached > c.at() {
		c.reached.Store(uint64(reached))
	}
	c.busy = false
	c.turn.Signal()
	return err
}

func (c *committer) verdict(p Position) error {
	if c.at() >= p {
		return nil
	}
	return c.err
}
