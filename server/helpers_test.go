package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/redcon"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hooks are what a test may watch or change in all its sessions.
type hooks struct {
	do     func(c *Conn, dst []byte, args [][]byte) (reply []byte, wait uint64, done bool)
	wait   func(pos uint64) error
	closed atomic.Int64
	ran    atomic.Int64 // commands
}

// echo is the tests' session: a few commands with replies that tell what was
// understood.
type echo struct {
	c *Conn
	h *hooks
}

func (e *echo) Do(dst []byte, args [][]byte) ([]byte, uint64) {
	e.h.ran.Add(1)
	if e.h.do != nil {
		if reply, wait, done := e.h.do(e.c, dst, args); done {
			return reply, wait
		}
	}
	switch strings.ToUpper(string(args[0])) {
	case "PING":
		return redcon.AppendString(dst, "PONG"), 0
	case "QUIT":
		e.c.CloseAfterReply()
		return redcon.AppendOK(dst), 0
	case "ECHO":
		return redcon.AppendBulk(dst, args[len(args)-1]), 0
	case "COUNT": // the number of arguments
		return redcon.AppendInt(dst, int64(len(args)-1)), 0
	case "ONES": // an integer an argument
		dst = redcon.AppendArray(dst, len(args)-1)
		for range args[1:] {
			dst = append(dst, ":1\r\n"...)
		}
		return dst, 0
	case "BIG": // a bulk of the given size
		n, _ := strconv.Atoi(string(args[1]))
		return redcon.AppendBulk(dst, make([]byte, n)), 0
	case "WRITE": // a reply that waits for the given position
		pos, _ := strconv.ParseUint(string(args[1]), 10, 64)
		return redcon.AppendInt(dst, int64(pos)), pos
	case "AUTH":
		user := []byte(nil)
		if len(args) == 3 {
			user = args[1]
		}
		if !e.c.Authenticate(user, args[len(args)-1]) {
			return redcon.AppendError(dst, "WRONGPASS"), 0
		}
		return redcon.AppendOK(dst), 0
	case "RESET":
		e.c.Deauthenticate()
		return redcon.AppendString(dst, "RESET"), 0
	case "PANIC":
		panic("as asked")
	}
	if !e.c.Authenticated() {
		return redcon.AppendError(dst, "NOAUTH Authentication required."), 0
	}
	return redcon.AppendError(dst, "ERR unknown command"), 0
}

func (e *echo) Wait(pos uint64) error {
	if e.h.wait != nil {
		return e.h.wait(pos)
	}
	return nil
}

func (e *echo) Close() { e.h.closed.Add(1) }

// logText is a logger's output, for tests that read it.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logText) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// fixture is a server under test.
type fixture struct {
	testing.TB
	*Server
	hooks *hooks
	log   *logText
	ln    net.Listener
	done  chan error

	mayPanic bool // sessions of this test do
}

func testConfig(h *hooks, change ...func(*Config)) Config {
	cfg := DefaultConfig()
	cfg.NewSession = func(c *Conn) Session { return &echo{c: c, h: h} }
	for _, f := range change {
		f(&cfg)
	}
	return cfg
}

// start serves on loopback until the test ends.
func start(tb testing.TB, h *hooks, change ...func(*Config)) *fixture {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return startOn(tb, ln, h, change...)
}

// startOn serves on ln until the test ends.
func startOn(tb testing.TB, ln net.Listener, h *hooks, change ...func(*Config)) *fixture {
	tb.Helper()
	if h == nil {
		h = &hooks{}
	}
	log := &logText{}
	cfg := testConfig(h, change...)
	cfg.Logger = log.logger()
	s, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	watchPools(tb, s)
	f := &fixture{TB: tb, Server: s, hooks: h, log: log, ln: ln, done: make(chan error, 1)}
	go func() { f.done <- s.Serve(f.ln) }()
	tb.Cleanup(func() {
		f.stop(5 * time.Second)
		st := f.Stats()
		if st.Panics > 0 && !f.mayPanic {
			tb.Errorf("%d panics: %s", st.Panics, f.log)
		}
		if st.ClientBytes != 0 {
			tb.Errorf("%d bytes are charged to nobody", st.ClientBytes)
		}
	})
	return f
}

// stop drains the server once; later calls find it drained.
func (f *fixture) stop(grace time.Duration) error {
	f.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := f.Shutdown(ctx)
	select {
	case serveErr, open := <-f.done:
		if open {
			close(f.done)
			if serveErr != nil {
				f.Errorf("Serve: %v", serveErr)
			}
		}
	case <-time.After(5 * time.Second):
		f.Errorf("Serve did not return")
	}
	return err
}

// client is a raw connection; every read and write has a deadline.
type client struct {
	*net.TCPConn
	tb testing.TB
	r  *bufio.Reader
}

func (f *fixture) dial() *client {
	f.Helper()
	c := f.tryDial()
	if c == nil {
		f.Fatal("dial failed")
	}
	return c
}

// tryDial returns nil if nobody listens any more.
func (f *fixture) tryDial() *client {
	nc, err := net.Dial("tcp", f.ln.Addr().String())
	if err != nil {
		return nil
	}
	c := &client{TCPConn: nc.(*net.TCPConn), tb: f.TB, r: bufio.NewReader(nc)}
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	f.Cleanup(func() { c.Close() })
	return c
}

func (c *client) send(s string) {
	c.tb.Helper()
	if _, err := io.WriteString(c.TCPConn, s); err != nil {
		c.tb.Fatalf("send: %v", err)
	}
}

// expect reads exactly want.
func (c *client) expect(want string) {
	c.tb.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(c.r, got)
	if string(got[:n]) != want {
		c.tb.Fatalf("got %q, %v; want %q", clip(got[:n]), err, clip([]byte(want)))
	}
}

// expectEnd reads want and then the end of the connection.
func (c *client) expectEnd(want string) {
	c.tb.Helper()
	got, err := io.ReadAll(c.r)
	if string(got) != want || err != nil {
		c.tb.Fatalf("got %q, %v; want %q and the end", clip(got), err, clip([]byte(want)))
	}
}

// gone reads until the connection ends in any way and returns what came.
func (c *client) gone() string {
	c.tb.Helper()
	got, err := io.ReadAll(c.r)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		c.tb.Fatalf("the connection still stands")
	}
	return string(got)
}

func clip(b []byte) []byte {
	if len(b) > 300 {
		return append(append([]byte{}, b[:300]...), "..."...)
	}
	return b
}

// stillServes fails the test unless a new client is answered.
func (f *fixture) stillServes() {
	f.Helper()
	c := f.dial()
	defer c.Close()
	c.send("PING\r\n")
	c.expect("+PONG\r\n")
}

// eventually waits for what happens soon but not at once.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for end := time.Now().Add(5 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("not within 5 s: %s", what)
		}
	}
}

// command is a command in RESP.
func command(args ...string) string {
	var b []byte
	b = redcon.AppendArray(b, len(args))
	for _, a := range args {
		b = redcon.AppendBulkString(b, a)
	}
	return string(b)
}

// manyArgs is a command with n arguments of size bytes behind its name.
func manyArgs(name string, n, size int) string {
	args := make([]string, n+1)
	args[0] = name
	for i := range n {
		args[i+1] = (strconv.Itoa(i) + strings.Repeat("x", size))[:size]
	}
	return command(args...)
}
