package server

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAuthentication(t *testing.T) {
	f := start(t, nil, authenticated(false))
	c := f.dial()
	c.send(command("AUTH", "wrong") + command("AUTH", "other", "secret") + command("AUTH", "") + command("AUTH", "secretsecret") + command("X"))
	c.expect(strings.Repeat("-WRONGPASS\r\n", 4) + "-NOAUTH Authentication required.\r\n")
	c.send(command("AUTH", "secret") + command("X") + command("AUTH", "wrong") + command("X"))
	c.expect("+OK\r\n-ERR unknown command\r\n-WRONGPASS\r\n-ERR unknown command\r\n")
	c.send(command("RESET") + command("X") + command("AUTH", "default", "secret") + command("X"))
	c.expect("+RESET\r\n-NOAUTH Authentication required.\r\n+OK\r\n-ERR unknown command\r\n")
	if n := f.Stats().AuthFailures; n != 5 {
		t.Errorf("%d failures", n)
	}
}

func TestNoPasswordConfigured(t *testing.T) {
	f := start(t, nil)
	c := f.dial()
	c.send(command("X") + command("RESET") + command("X") + command("AUTH", "any") + command("AUTH", "other", "any"))
	c.expect("-ERR unknown command\r\n+RESET\r\n-ERR unknown command\r\n+OK\r\n-WRONGPASS\r\n")
}

// The bounds follow the authentication within one segment, in both directions.
func TestLimitsFollowAuthentication(t *testing.T) {
	f := start(t, nil, authenticated(false))
	big := manyArgs("COUNT", 1000, 100)
	c := f.dial()
	c.send(command("AUTH", "secret") + big + command("RESET") + big)
	c.expectEnd("+OK\r\n:1000\r\n+RESET\r\n" + protocolReply(errMultibulkUnauth))
	c = f.dial()
	c.send(command("ECHO", strings.Repeat("x", 16<<10+1)))
	c.expectEnd(protocolReply(errBulkUnauth))
	c = f.dial()
	five := strings.Repeat("x", 16000)
	c.send(command("ECHO", five, five, five, five, five))
	c.expectEnd(protocolReply(errCommandLength))
}

func TestCommandSizeIsBounded(t *testing.T) {
	f := start(t, nil, func(cfg *Config) { cfg.Limits.MaxCommand = 1 << 20 })
	c := f.dial()
	c.send(manyArgs("COUNT", 100, 10_000)) // 1,000,000 bytes and their lengths
	c.expect(":100\r\n")
	_, _ = io.WriteString(c, manyArgs("COUNT", 110, 10_000)) // it may be cut meanwhile
	c.expectEnd(protocolReply(errCommandLength))
}

// waitLog is what sessions waited for.
type waitLog struct {
	mu  sync.Mutex
	pos []uint64
	err error
}

func (w *waitLog) wait(pos uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pos = append(w.pos, pos)
	return w.err
}

func (w *waitLog) waited() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprint(w.pos)
}

func TestOneWaitABatch(t *testing.T) {
	log := &waitLog{}
	f := start(t, &hooks{wait: log.wait})
	c := f.dial()
	c.send("PING\r\n")
	c.expect("+PONG\r\n")
	c.send(command("WRITE", "5") + command("PING") + command("WRITE", "9") + command("WRITE", "7"))
	c.expect(":5\r\n+PONG\r\n:9\r\n:7\r\n")
	c.send(command("PING") + command("WRITE", "11"))
	c.expect("+PONG\r\n:11\r\n")
	if got := log.waited(); got != "[9 11]" {
		t.Errorf("waited for %s", got)
	}
}

// No reply leaves before the position it depends on is durable.
func TestReplyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		durable := make(chan struct{})
		ln := newPipeListener()
		f := startOn(t, ln, &hooks{wait: func(uint64) error { <-durable; return nil }})
		nc := ln.dial()
		if _, err := io.WriteString(nc, command("WRITE", "1")); err != nil {
			t.Fatal(err)
		}
		var answered atomic.Bool
		go func() {
			if _, err := io.ReadFull(nc, make([]byte, len(":1\r\n"))); err == nil {
				answered.Store(true)
			}
			nc.Close()
		}()
		time.Sleep(time.Hour)
		if answered.Load() {
			t.Error("answered before it was durable")
		}
		close(durable)
		synctest.Wait()
		if !answered.Load() {
			t.Error("not answered")
		}
		f.stop(time.Second)
	})
}

func TestWaitFails(t *testing.T) {
	log := &waitLog{err: errors.New("disk\r\n+full\x00")}
	h := &hooks{wait: log.wait, do: func(_ *Conn, dst []byte, args [][]byte) ([]byte, uint64, bool) {
		return dst, 3, string(args[0]) == "SILENT"
	}}
	f := start(t, h)
	c := f.dial()
	const misconf = "-MISCONF disk  +full \r\n"
	c.send(command("PING") + command("WRITE", "123456789") + command("ECHO", "abc") + command("WRITE", "2") + command("SILENT") + command("WRITE", "0") + command("PING"))
	c.expect("+PONG\r\n" + misconf + "$3\r\nabc\r\n" + misconf + ":0\r\n+PONG\r\n")
	c.send(command("WRITE", "1")) // nothing of the batch before is left
	c.expect(misconf)
	c.send(command("PING") + command("WRITE", "1") + "*x\r\n")
	c.expectEnd("+PONG\r\n" + misconf + protocolReply(errMultibulkLength))
	if n := f.Stats().WaitErrors; n != 3 {
		t.Errorf("%d errors", n)
	}
}

// A batch that passes the flush size is settled piece by piece.
func TestWaitFailsInALongBatch(t *testing.T) {
	var fails atomic.Bool
	f := start(t, &hooks{wait: func(pos uint64) error {
		if pos >= 2000 && pos < 3000 {
			fails.Store(true)
			return errors.New("no")
		}
		return nil
	}})
	c := f.dial()
	var request, want strings.Builder
	pad := strings.Repeat("x", 100)
	for range 4000 {
		request.WriteString(command("WRITE", "1") + command("ECHO", pad) + command("WRITE", "2500"))
		want.WriteString(":1\r\n$100\r\n" + pad + "\r\n-MISCONF no\r\n")
	}
	go c.send(request.String())
	got := make([]byte, 0, want.Len())
	for range 12_000 {
		line, err := c.r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == ":1\r\n" {
			line = "-MISCONF no\r\n" // in the same piece as a failed one, or not
		}
		got = append(got, line...)
		if line[0] == '$' {
			line, _ = c.r.ReadString('\n')
			got = append(got, line...)
		}
	}
	if string(got) != strings.ReplaceAll(want.String(), ":1\r\n", "-MISCONF no\r\n") || !fails.Load() {
		t.Error("replies differ")
	}
}

func TestRepliesAreFlushedAtASize(t *testing.T) {
	nc := &writesConn{memoryConn: memoryConn{request: []byte(strings.Repeat(command("BIG", "1000"), 1000)), rounds: 1}}
	serveAlone(t, nc)
	total := 0
	for _, n := range nc.writes {
		total += n
		if n > flushSize+1100 {
			t.Errorf("a write of %d bytes", n)
		}
	}
	if total != 1000*len("$1000\r\n\r\n")+1000*1000 {
		t.Errorf("%d bytes in all", total)
	}
	if len(nc.writes) > 40 {
		t.Errorf("%d writes", len(nc.writes))
	}
}

// writesConn notes the size of each write.
type writesConn struct {
	memoryConn
	writes []int
}

func (w *writesConn) Write(p []byte) (int, error) {
	w.writes = append(w.writes, len(p))
	return len(p), nil
}

func TestPanicEndsOneConnection(t *testing.T) {
	f := start(t, nil)
	f.mayPanic = true
	other := f.dial()
	other.send("PING\r\n")
	other.expect("+PONG\r\n")
	for range 3 {
		c := f.dial()
		c.send(command("PANIC"))
		c.expectEnd("")
	}
	other.send("PING\r\n")
	other.expect("+PONG\r\n")
	if n := f.Stats().Panics; n != 3 {
		t.Errorf("%d panics", n)
	}
	if log := f.log.String(); !strings.Contains(log, "as asked") || !strings.Contains(log, "helpers_test.go") {
		t.Errorf("log: %s", log)
	}
	eventually(t, "their sessions are closed", func() bool { return f.hooks.closed.Load() == 3 })
}

// Panics outside Do are caught, too.
func TestPanicElsewhere(t *testing.T) {
	f := start(t, &hooks{wait: func(uint64) error { panic("in Wait") }})
	c := f.dial()
	c.send(command("WRITE", "1"))
	c.expectEnd("")

	g := start(t, nil, func(cfg *Config) { cfg.NewSession = func(*Conn) Session { panic("in NewSession") } })
	c = g.dial()
	c.expectEnd("")

	k := start(t, nil, func(cfg *Config) { cfg.NewSession = func(*Conn) Session { return panicsAtClose{} } })
	c = k.dial()
	_ = c.CloseWrite()
	c.expectEnd("")
	for _, s := range []*fixture{f, g, k} {
		s.mayPanic = true
		eventually(t, "the connection is gone", func() bool { return s.Stats().Clients == 0 })
		if n := s.Stats().Panics; n != 1 {
			t.Errorf("%d panics", n)
		}
	}
}

type panicsAtClose struct{ Session }

func (panicsAtClose) Close() { panic("in Close") }

func TestKill(t *testing.T) {
	conns := make(chan *Conn, 2)
	h := &hooks{do: func(c *Conn, dst []byte, args [][]byte) ([]byte, uint64, bool) {
		if string(args[0]) == "KILLME" {
			c.Kill()
			return dst, 0, true
		}
		return dst, 0, false
	}}
	f := start(t, h, func(cfg *Config) {
		cfg.NewSession = func(c *Conn) Session {
			conns <- c
			return &echo{c, h}
		}
	})
	c := f.dial()
	c.send("PING\r\n")
	c.expect("+PONG\r\n")
	victim := <-conns
	victim.Kill()
	victim.Kill()
	c.gone()

	c = f.dial()
	c.send(command("KILLME") + command("PING"))
	c.gone()
	eventually(t, "gone", func() bool { return f.Stats().Clients == 0 })
	if n := h.ran.Load(); n != 2 {
		t.Errorf("%d commands ran", n)
	}
	if n := f.Stats().Killed; n != 2 {
		t.Errorf("%d killed", n)
	}
}

func TestConnTellsAboutItself(t *testing.T) {
	conns := make(chan *Conn, 1)
	f := start(t, nil, func(cfg *Config) {
		cfg.NewSession = func(c *Conn) Session {
			conns <- c
			return &echo{c, &hooks{}}
		}
	})
	began := time.Now()
	for id := range int64(3) {
		client := f.dial()
		c := <-conns
		if c.ID() != id+1 || c.RemoteAddr() != client.TCPConn.LocalAddr().String() || c.LocalAddr() != f.ln.Addr().String() {
			t.Errorf("%d, %s, %s", c.ID(), c.RemoteAddr(), c.LocalAddr())
		}
		if c.CreatedAt().Before(began) || c.LastActive().Before(c.CreatedAt()) {
			t.Error(c.CreatedAt(), c.LastActive())
		}
		last := c.LastActive()
		client.send("PING\r\n")
		client.expect("+PONG\r\n")
		if !c.LastActive().After(last) {
			t.Error("not active")
		}
	}
}

func TestStats(t *testing.T) {
	f := start(t, nil)
	c := f.dial()
	c.send("PING\r\n" + command("ECHO", "abc"))
	c.expect("+PONG\r\n$3\r\nabc\r\n")
	want := Stats{Clients: 1, MaxClients: 10000, Accepted: 1, Commands: 2,
		BytesIn: int64(len("PING\r\n" + command("ECHO", "abc"))), BytesOut: int64(len("+PONG\r\n$3\r\nabc\r\n"))}
	eventually(t, fmt.Sprintf("%+v", want), func() bool { return f.Stats() == want })
}

// Arguments are views of the read buffer, and none reaches into the next.
func TestArgumentsAreViews(t *testing.T) {
	h := &hooks{do: func(_ *Conn, dst []byte, args [][]byte) ([]byte, uint64, bool) {
		for i := range args {
			_ = append(args[i], "overwritten"...)
		}
		return dst, 0, false
	}}
	f := start(t, h)
	c := f.dial()
	c.send(command("ECHO", "a", "b") + command("ECHO", "c"))
	c.expect("$1\r\nb\r\n$1\r\nc\r\n")
}
