package cold

import "sync"

// guard keeps Close away from those who still use the store, and them away from
// a closed one: Pebble panics when it is used after its Close.
type guard struct {
	mu     sync.Mutex
	users  int
	closed bool
	idle   chan struct{} // closed when the last user leaves; made by close
}

// enter counts a user in, or answers ErrClosed.
func (g *guard) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	g.users++
	return nil
}

// leave counts a user out.
func (g *guard) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users--
	if g.closed && g.users == 0 {
		close(g.idle)
	}
}

// close lets nobody in any more and waits for all users to leave. It reports
// whether it was the first to close.
func (g *guard) close() (first bool) {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return false
	}
	g.closed, g.idle = true, make(chan struct{})
	if g.users == 0 {
		close(g.idle)
	}
	g.mu.Unlock()
	<-g.idle
	return true
}
