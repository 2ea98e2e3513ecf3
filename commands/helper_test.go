package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dedupd/storage"
	"dedupd/storage/log"
)

// fakeClient is a connection as the server would show it.
type fakeClient struct {
	id            int64
	password      string
	authenticated bool
	closing       bool
	created       time.Time
}

func (c *fakeClient) ID() int64             { return c.id }
func (c *fakeClient) RemoteAddr() string    { return fmt.Sprintf("127.0.0.1:%d", 50000+c.id) }
func (c *fakeClient) LocalAddr() string     { return "127.0.0.1:6380" }
func (c *fakeClient) CreatedAt() time.Time  { return c.created }
func (c *fakeClient) LastActive() time.Time { return c.created }
func (c *fakeClient) PasswordSet() bool     { return c.password != "" }
func (c *fakeClient) Authenticated() bool   { return c.authenticated }
func (c *fakeClient) Deauthenticate()       { c.authenticated = c.password == "" }
func (c *fakeClient) CloseAfterReply()      { c.closing = true }
func (c *fakeClient) Reserve(n int64) bool  { return true }
func (c *fakeClient) Release(n int64)       {}
func (c *fakeClient) Authenticate(user, password []byte) bool {
	if c.password != "" && string(password) != c.password || len(user) > 0 && string(user) != "default" {
		return false
	}
	c.authenticated = true
	return true
}

// node is a handler over a store of its own.
type node struct {
	tb       testing.TB
	store    *storage.Store
	handler  *Handler
	password string
	clients  int64
}

type nodeOptions struct {
	fs       vfs.FS // nil: an empty one in memory
	hotBytes int64  // 0: enough
	password string
}

// memory is an empty file system on which files grow as they are written:
// making room ahead would cost each test 16 MiB of zeros.
func memory() vfs.FS {
	return errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFilePreallocate {
			return syscall.ENOSPC
		}
		return nil
	}))
}

func openNode(tb testing.TB, o nodeOptions) *node {
	tb.Helper()
	if o.fs == nil {
		o.fs = memory()
	}
	if o.hotBytes == 0 {
		o.hotBytes = 1 << 30
	}
	store, err := storage.Open(context.Background(), storage.Options{
		FS: o.fs, Dir: "data", Fsync: log.No, HotBytes: o.hotBytes,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		tb.Fatal(err)
	}
	n := &node{tb: tb, store: store, password: o.password}
	n.handler = NewHandler(Options{
		Store: store, Version: "0.0.0", Port: 6380,
		Settings: []Setting{{"appendonly", "yes"}, {"maxclients", "100"}, {"maxmemory", "1000"}, {"save", ""}},
		Stats:    func() ServerStats { return ServerStats{Clients: n.clients, MaxClients: 100} },
		Memory:   func() Memory { return Memory{RSS: 1, Heap: 2, Total: 3, Limit: 4} },
		Wheel:    &handWheel{store: store}, Context: context.Background(),
	})
	return n
}

func (n *node) close() {
	if err := n.store.Close(); err != nil {
		n.tb.Error(err)
	}
}

// session connects one more client.
func (n *node) session() *session {
	n.clients++
	c := &fakeClient{id: n.clients, password: n.password, authenticated: n.password == "", created: time.Now()}
	return &session{tb: n.tb, client: c, Session: n.handler.NewSession(c)}
}

// session is a Session with its client at hand.
type session struct {
	*Session
	tb     testing.TB
	client *fakeClient
}

// do runs one command and returns its reply, which must be exactly one, well
// formed in the protocol that the session speaks.
func (s *session) do(args ...string) string {
	s.tb.Helper()
	reply, _ := s.run(toBytes(args))
	return reply
}

func (s *session) run(args [][]byte) (reply string, wait uint64) {
	s.tb.Helper()
	const before = "what was there before"
	resp3 := s.speaksRESP3()
	buf, wait := s.Do([]byte(before), args)
	got, ok := bytes.CutPrefix(buf, []byte(before))
	if !ok {
		s.tb.Fatalf("%q: the buffer's beginning was changed", args[0])
	}
	if err := oneReply(got, resp3 || s.speaksRESP3()); err != nil {
		s.tb.Fatalf("%q: %v in reply %q", args, err, got[:min(len(got), 1000)])
	}
	return string(got), wait
}

// speaksRESP3 is also true where a queued HELLO may make it so half-way.
func (s *session) speaksRESP3() bool {
	if s.multi != nil {
		for _, q := range s.multi.calls {
			if q.cmd.name == "hello" {
				return true
			}
		}
	}
	return s.call.proto == 3
}

// expect runs one command and compares its reply.
func (s *session) expect(want string, args ...string) {
	s.tb.Helper()
	if got := s.do(args...); got != want {
		s.tb.Errorf("%.200q: %.1000q, want %.1000q", args, got, want)
	}
}

func toBytes(args []string) [][]byte {
	b := make([][]byte, len(args))
	for i, arg := range args {
		b[i] = []byte(arg)
	}
	return b
}

var errShort = errors.New("the reply ends too early")

// oneReply checks that b is exactly one reply, strictly by the protocol.
func oneReply(b []byte, resp3 bool) error {
	rest, err := walk(b, resp3)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes follow the reply", len(rest))
	}
	return err
}

// walk checks one value and returns what follows it.
func walk(b []byte, resp3 bool) ([]byte, error) {
	kind, text, rest, err := cutLine(b)
	if err != nil {
		return nil, err
	}
	if !resp3 && !bytes.ContainsRune([]byte("+-:$*"), rune(kind)) {
		return nil, fmt.Errorf("type %q in RESP2", kind)
	}
	switch kind {
	case '+', '-':
		return rest, checkLine(kind, text)
	case ':':
		_, err := canonical(text)
		return rest, err
	case '_':
		if len(text) > 0 {
			return nil, errors.New("a null with content")
		}
		return rest, nil
	case '$', '=':
		return walkBulk(kind, text, rest, resp3)
	case '*', '~', '%':
		return walkAggregate(kind, text, rest, resp3)
	}
	return nil, fmt.Errorf("unknown type %q", kind)
}

func cutLine(b []byte) (kind byte, text, rest []byte, err error) {
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	if !ok || len(line) == 0 {
		return 0, nil, nil, errShort
	}
	return line[0], line[1:], rest, nil
}

func checkLine(kind byte, text []byte) error {
	if bytes.ContainsAny(text, "\r\n\x00") {
		return fmt.Errorf("line %q is not one line", text)
	}
	if kind == '-' && !(len(text) > 0 && text[0] >= 'A' && text[0] <= 'Z') {
		return fmt.Errorf("error %q without a code", text)
	}
	return nil
}

// canonical reads an integer that is written in the one right way.
func canonical(text []byte) (int64, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err == nil && strconv.FormatInt(n, 10) != string(text) {
		err = fmt.Errorf("integer %q", text)
	}
	return n, err
}

func walkBulk(kind byte, text, rest []byte, resp3 bool) ([]byte, error) {
	n, err := canonical(text)
	switch {
	case err != nil:
		return nil, err
	case n == -1 && kind == '$' && !resp3:
		return rest, nil
	case n < 0:
		return nil, fmt.Errorf("length %d", n)
	case int64(len(rest)) < n+2:
		return nil, errShort
	case string(rest[n:n+2]) != "\r\n":
		return nil, errors.New("no CRLF behind a bulk")
	case kind == '=' && (n < 4 || rest[3] != ':'):
		return nil, errors.New("a verbatim string without its format")
	}
	return rest[n+2:], nil
}

func walkAggregate(kind byte, text, rest []byte, resp3 bool) ([]byte, error) {
	n, err := canonical(text)
	if err == nil && n < 0 {
		err = fmt.Errorf("length %d", n)
	}
	if kind == '%' {
		n *= 2
	}
	for ; n > 0 && err == nil; n-- {
		rest, err = walk(rest, resp3)
	}
	return rest, err
}
