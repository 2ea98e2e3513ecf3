package server

import "sync/atomic"

// freeBytes is what each connection may hold outside the budget: what everyday
// commands and their replies take, so that these work when others have used
// the budget up.
const freeBytes = 32 << 10

// budget bounds what all clients together make the server hold, beyond
// freeBytes each. Safe from any goroutine.
type budget struct {
	limit   int64 // 0: none
	used    atomic.Int64
	reclaim reclaimer
}

// take is exact: of two that would pass the limit together, one is refused.
func (b *budget) take(n int64) bool {
	for {
		used := b.used.Load()
		if b.limit > 0 && n > b.limit-used {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

func (b *budget) give(n int64) {
	b.used.Add(-n)
	b.reclaim.drop(n)
}

// account is one connection's part of the budget. It is told what is held, not
// what has changed, so nothing can be charged twice or be forgotten. It belongs
// to the connection's goroutine.
type account struct {
	budget  *budget
	charged int64
}

// settle brings the charge to what held bytes cost. If that would pass the
// limit it returns false and leaves the charge; less is never refused.
func (a *account) settle(held int64) bool {
	more := max(0, held-freeBytes) - a.charged
	switch {
	case more > 0 && !a.budget.take(more):
		return false
	case more < 0:
		a.budget.give(-more)
	}
	a.charged += more
	return true
}

// Reserve charges n bytes that the session is about to keep to the clients'
// common budget, Config.MaxClientBytes. If it returns false there is no room,
// nothing is charged, and the session should refuse the command. What is not
// released is released when the connection ends.
func (c *Conn) Reserve(n int64) bool {
	n = max(0, n)
	if n > maxClientBytes || !c.account.settle(c.held()+n) { // a sum of larger ones could overflow
		c.server.counters.memoryRefusals.Add(1)
		return false
	}
	c.reserved += n
	return true
}

// Release gives back n bytes of what Reserve has charged, or all if n is more.
func (c *Conn) Release(n int64) {
	c.reserved -= min(max(0, n), c.reserved)
	c.settle()
}

// held is the memory that this connection alone keeps from being used
// otherwise, in bytes.
func (c *Conn) held() int64 {
	n := c.reserved + c.expected + int64(cap(c.in.b)) + int64(cap(c.parser.args))*spanSize
	if c.out != nil {
		n += c.out.size()
	}
	return n
}

// settle accounts for what c holds now. It returns false if that is more than
// it may have.
func (c *Conn) settle() bool { return c.account.settle(c.held()) }
