package server

import (
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/tidwall/redcon"
)

const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
	rejectWithin   = 10 * time.Millisecond
)

// Serve accepts connections on ln until Shutdown, and then returns nil. It
// closes ln. An accept that fails, as when file descriptors run out, is tried
// again after a pause; Serve gives up only if ln was closed by somebody else.
func (s *Server) Serve(ln net.Listener) error {
	defer func() { _ = ln.Close() }() // nothing to lose
	if !s.addListener(ln) {
		return nil
	}
	defer s.removeListener(ln)
	pause := acceptPauseMin
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil:
			pause = acceptPauseMin
			s.admit(nc)
		case s.draining():
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		default:
			s.acceptFailed(err, pause)
			pause = min(2*pause, acceptPauseMax)
		}
	}
}

// acceptFailed waits for pause, or until a drain begins.
func (s *Server) acceptFailed(err error, pause time.Duration) {
	s.counters.acceptErrors.Add(1)
	s.logThrottled(&s.acceptLog, slog.LevelError, "accept failed", "error", err.Error(), "pause", pause)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.drained:
	}
}

// admit starts serving nc, or tells it that there is no room.
func (s *Server) admit(nc net.Conn) {
	c := s.newConn(nc)
	if s.add(c) {
		go c.serve()
		return
	}
	if !s.draining() {
		s.counters.rejected.Add(1)
		reject(nc)
	}
	_ = nc.Close() // nothing to lose
}

func (s *Server) newConn(nc net.Conn) *Conn {
	c := &Conn{server: s, nc: nc, created: s.now(), account: account{budget: &s.budget}}
	c.active.Store(int64(c.created))
	c.parser.init(s.cfg.Limits, s.cfg.PreAuthLimits)
	return c
}

// reject says why nc is about to be closed. A new socket has room for one line,
// so this does not hold up the accept loop; a TLS client, which would have to
// shake hands first, is told nothing.
func reject(nc net.Conn) {
	if _, tls := nc.(handshaker); tls {
		return
	}
	if nc.SetWriteDeadline(time.Now().Add(rejectWithin)) == nil {
		_, _ = nc.Write(redcon.AppendError(nil, "ERR max number of clients reached")) // it is a courtesy
	}
}

func (s *Server) addListener(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining() {
		return false
	}
	s.listeners[ln] = struct{}{}
	s.running.Add(1)
	return true
}

func (s *Server) removeListener(ln net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, ln)
	s.running.Done()
}

// add enters c unless the server is full or draining.
func (s *Server) add(c *Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining() || len(s.conns) >= s.cfg.MaxClients {
		return false
	}
	s.lastID++
	c.id = s.lastID
	s.conns[c] = struct{}{}
	s.running.Add(1)
	s.counters.accepted.Add(1)
	return true
}

func (s *Server) remove(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.running.Done()
}

// setOptions sends replies without delay and lets TCP find out about peers
// that have vanished.
func setOptions(nc net.Conn, keepAlive time.Duration) {
	tcp, ok := underlying(nc).(*net.TCPConn)
	if !ok {
		return
	}
	// A connection that refuses these is broken, which its first read tells.
	_ = tcp.SetNoDelay(true)
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable:   keepAlive > 0,
		Idle:     keepAlive,
		Interval: keepAlive / 3,
		Count:    3,
	})
}

// underlying is the connection that carries nc, if that is a TLS connection.
func underlying(nc net.Conn) net.Conn {
	if tls, ok := nc.(interface{ NetConn() net.Conn }); ok {
		return tls.NetConn()
	}
	return nc
}
