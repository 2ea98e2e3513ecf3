// Package server turns bytes into commands and replies into bytes. It owns the
// listeners, the connections, the framing and its limits, whether a client is
// authenticated, and the drain at the end. It knows RESP; what the commands
// mean is the Session's business.
//
// Each connection has one goroutine, which reads, runs every complete command
// that has arrived, waits once until what they promise is durable, and writes
// their replies at once. Nothing a client sends is trusted: every length is
// checked against Limits before it is used.
package server

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Server serves any number of listeners. All methods are safe from any
// goroutine.
type Server struct {
	cfg    Config
	log    *slog.Logger
	secret secret
	start  time.Time // durations in this package count from here, on the monotonic clock

	buffers  bufferPool
	batches  batchPool
	budget   budget
	counters counters

	acceptLog, protocolLog, httpLog, outputLog, waitLog, memoryLog throttle

	drainBy atomic.Int64    // when reading ends, as time.Duration since start; 0: no drain yet
	drained chan struct{}   // closed when a drain begins
	cutting context.Context // ends when the drain has no more patience
	cut     context.CancelFunc

	mu        sync.Mutex
	listeners map[net.Listener]struct{} // guarded by mu
	conns     map[*Conn]struct{}        // guarded by mu
	lastID    int64                     // guarded by mu
	running   sync.WaitGroup            // accept loops and connections; added to under mu, never once a drain has begun
}

// New returns a server that listens nowhere yet, or says what is wrong with cfg.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		cfg:       cfg,
		log:       log,
		secret:    newSecret(cfg.Password),
		start:     time.Now(),
		drained:   make(chan struct{}),
		listeners: make(map[net.Listener]struct{}),
		conns:     make(map[*Conn]struct{}),
	}
	s.budget.limit = cfg.MaxClientBytes
	s.cutting, s.cut = context.WithCancel(context.Background())
	return s, nil
}

// now is the monotonic time since the server was made.
func (s *Server) now() time.Duration { return time.Since(s.start) }

func (s *Server) clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func (s *Server) logThrottled(t *throttle, level slog.Level, text string, args ...any) {
	if skipped, ok := t.allow(time.Now()); ok {
		s.log.Log(context.Background(), level, text, append(args, "skipped", skipped)...)
	}
}
