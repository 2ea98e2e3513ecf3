package server

import (
	"context"
	"fmt"
	"time"
)

// drainRead is how long a drain reads on: what clients had sent when it began
// is then out of the kernel's buffers.
const drainRead = 20 * time.Millisecond

func (s *Server) draining() bool { return s.drainBy.Load() != 0 }

// Shutdown is the drain. It stops accepting; every client gets the replies of
// the commands that have arrived in full, and is closed. When ctx ends, the
// connections that are left are cut, and the error says how many. In each case
// Shutdown returns only when no goroutine of the server is left, so it lasts at
// least as long as the longest call of a Session.
func (s *Server) Shutdown(ctx context.Context) error {
	s.beginDrain()
	defer s.budget.reclaim.stop()
	defer s.cut()
	ended := make(chan struct{})
	go func() { // ends with the connections; waited for below
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	n := s.killAll()
	<-ended
	if n == 0 {
		return nil
	}
	return fmt.Errorf("drain: %d clients cut: %w", n, context.Cause(ctx))
}

func (s *Server) beginDrain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining() {
		return
	}
	s.drainBy.Store(int64(s.now() + drainRead))
	close(s.drained)
	for ln := range s.listeners {
		_ = ln.Close() // its accept loop ends by it
	}
	for c := range s.conns {
		c.drain()
	}
}

// drain lets c read until the drain's deadline and no longer. Safe from any
// goroutine.
func (c *Conn) drain() {
	by := c.server.start.Add(time.Duration(c.server.drainBy.Load()))
	_ = c.nc.SetReadDeadline(by) // on a closed connection there is nothing to end
}

func (s *Server) killAll() int {
	s.cut()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Kill()
	}
	return len(s.conns)
}
