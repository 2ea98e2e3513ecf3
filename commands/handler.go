package commands

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"dedupd/storage"
)

// Client is the connection behind a session, as the server shows it.
type Client interface {
	ID() int64
	RemoteAddr() string
	LocalAddr() string
	CreatedAt() time.Time
	LastActive() time.Time
	PasswordSet() bool
	Authenticated() bool
	Authenticate(user, password []byte) bool
	Deauthenticate()
	CloseAfterReply()

	// Reserve charges memory that the session keeps for the client to what all
	// clients may have together; false: there is no room. Release gives it back;
	// the end of the connection gives back what is left.
	Reserve(n int64) bool
	Release(n int64)
}

// ServerStats are the server's figures for INFO.
type ServerStats struct {
	Clients, MaxClients          int64
	Accepted, Rejected, Commands int64
	BytesIn, BytesOut            int64
	AuthFailures, ProtocolErrors int64
	OutputTimeouts, Panics       int64
	ClientBytes, MemoryRefusals  int64
}

// Setting is one row of CONFIG GET.
type Setting struct{ Name, Value string }

// Options of a Handler.
type Options struct {
	Store    *storage.Store
	Version  string // of dedupd
	Port     int    // for INFO
	Settings []Setting
	Stats    func() ServerStats
	Memory   func() Memory
	Wheel    Wheel
	Context  context.Context // ends when the server stops: commands that wait give up
}

// Memory is what the process has, for INFO.
type Memory struct{ RSS, Heap, Total, Limit int64 }

// Handler holds what all sessions share. It is safe for concurrent use.
type Handler struct {
	Options
	table *table
	runID string
	start time.Time

	mu       sync.Mutex
	sessions map[int64]*Session
}

// NewHandler returns the handler of one server.
func NewHandler(o Options) *Handler {
	id := make([]byte, 20)
	rand.Read(id) // never fails
	return &Handler{
		Options: o, table: newTable(), runID: hex.EncodeToString(id), start: time.Now(),
		sessions: make(map[int64]*Session),
	}
}

// NewSession begins the session of a connection.
func (h *Handler) NewSession(client Client) *Session {
	s := &Session{handler: h, client: client}
	s.call.session = s
	s.call.proto = 2
	s.call.tx = h.Store.NewTx()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions[client.ID()] = s
	return s
}

func (h *Handler) forget(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, s.client.ID())
}
