package server

import (
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// protocolReply is the error reply for a protocol error.
func protocolReply(e protocolError) string { return "-ERR " + e.Error() + "\r\n" }

func authenticated(yes bool) func(*Config) {
	return func(cfg *Config) {
		if !yes {
			cfg.Password = "secret"
		}
	}
}

func TestB001BulkLengths(t *testing.T) {
	for _, auth := range []bool{true, false} {
		f := start(t, nil, authenticated(auth))
		for _, length := range []string{
			"9223372036854775807", "9223372036854775806", "9223372036854775790", "9223372036854775808",
			"18446744073709551615", "18446744073709551617", "4294967296", "2147483648", "2147483647", "536870912",
			"1048577", "-1", "-2", "-9223372036854775808", "99999999999999999999999999", "", "-", "+1", "01", "1e3", "0x10",
		} {
			for _, before := range []string{"*1\r\n", "*2\r\n$4\r\nPING\r\n", "*3\r\n$9\r\nDEDUP.ADD\r\n$1\r\nu\r\n"} {
				c := f.dial()
				c.send(before + "$" + length + "\r\nx")
				c.expectEnd(protocolReply(errBulkLength))
			}
		}
		f.stillServes()
	}
}

func TestB002ArgumentCounts(t *testing.T) {
	for _, auth := range []bool{true, false} {
		f := start(t, nil, authenticated(auth))
		for _, count := range []string{"9223372036854775807", "2147483647", "1000000000", "1048577", "9223372036854775808", "1x", "-", ""} {
			c := f.dial()
			c.send("*" + count + "\r\n") // held open
			c.expectEnd(protocolReply(errMultibulkLength))
		}
		f.stillServes()
	}
}

// A count that is allowed costs nothing before its arguments arrive.
func TestB002AllowedCountIsNotTrusted(t *testing.T) {
	f := start(t, nil)
	before := liveBytes()
	for range 50 {
		c := f.dial()
		c.send("*1048576\r\n$1048576\r\n")
	}
	eventually(t, "all headers read", func() bool { return f.Stats().BytesIn == 50*int64(len("*1048576\r\n$1048576\r\n")) })
	if grown := liveBytes() - before; grown > 3<<20 {
		t.Errorf("50 announcements cost %d KiB", grown>>10)
	}
}

// liveBytes is what heap and stacks hold after a collection.
func liveBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func TestB003InlineWithoutNewline(t *testing.T) {
	f := start(t, nil)
	c := f.dial()
	chunk := []byte(strings.Repeat("a", 4096))
	sent := 0
	for ; sent < 16<<20; sent += len(chunk) {
		if _, err := c.Write(chunk); err != nil {
			break
		}
	}
	if sent == 16<<20 {
		t.Error("16 MiB without a newline were taken")
	}
	c2 := f.dial()
	c2.send(strings.Repeat("a", 64<<10+1))
	c2.expectEnd(protocolReply(errInlineLength))
	f.stillServes()
}

func TestB004ManyArgumentsInSmallSegments(t *testing.T) {
	f := start(t, nil)
	stream := manyArgs("COUNT", 100_000, 8)
	var clients sync.WaitGroup
	for range 4 {
		c := f.dial()
		clients.Go(func() {
			for rest := stream; rest != ""; {
				n := min(1448, len(rest))
				if _, err := io.WriteString(c, rest[:n]); err != nil {
					t.Error(err)
				}
				rest = rest[n:]
			}
			if line, err := c.r.ReadString('\n'); line != ":100000\r\n" {
				t.Errorf("got %q, %v", line, err)
			}
		})
	}
	clients.Wait()
}

// One-byte packets inside one argument: each is one read and nothing more.
func TestOneBytePackets(t *testing.T) {
	listening := newPipeListener()
	startOn(t, listening, nil)
	nc := listening.dial()
	defer nc.Close()
	value := strings.Repeat("x", 20_000)
	request := []byte(command("ECHO", value))
	go func() {
		for i := range request {
			if _, err := nc.Write(request[i : i+1]); err != nil {
				t.Error(err)
			}
		}
	}()
	want := fmt.Sprintf("$%d\r\n%s\r\n", len(value), value)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(nc, got); err != nil || string(got) != want {
		t.Errorf("got %q, %v", clip(got), err)
	}
}

func TestB006ZeroSizedThings(t *testing.T) {
	f := start(t, nil)
	c := f.dial()
	c.send("*0\r\n*-1\r\n\r\n*1\r\n$4\r\nPING\r\n")
	c.expect("+PONG\r\n")
	c.send(command("ECHO", "") + command("COUNT", "", "") + command("ECHO", "") + command("") + "ECHO \"\"\r\n''\r\n" + command("PING"))
	c.expect("$0\r\n\r\n:2\r\n$0\r\n\r\n-ERR unknown command\r\n$0\r\n\r\n-ERR unknown command\r\n+PONG\r\n")
}

func TestB008Garbage(t *testing.T) {
	f := start(t, nil)
	program, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	binary, err := io.ReadAll(io.LimitReader(program, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	inputs := [][]byte{binary, {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")}
	rnd := rand.New(rand.NewPCG(8, 8))
	good := command("DEDUP.MEXISTS", "home:42", "abc", "defghijkl", "")
	for range 100 {
		mutant := []byte(strings.Repeat(good, 3))
		for range 1 + rnd.IntN(4) {
			mutant[rnd.IntN(len(mutant))] = "*$-+:0919\r\n\x00\xff \"'a"[rnd.IntN(17)]
		}
		inputs = append(inputs, mutant[:1+rnd.IntN(len(mutant))])
	}
	for _, input := range inputs {
		c := f.dial()
		_, _ = c.Write(input) // it may be cut meanwhile
		_ = c.CloseWrite()
		c.gone()
		c.Close()
	}
	f.stillServes()
	eventually(t, "all gone", func() bool { return f.Stats().Clients == 0 })
	if n := f.Stats().Panics; n > 0 {
		t.Errorf("%d panics: %s", n, f.log)
	}
}

func TestGoodCommandsBeforeGarbageAreAnswered(t *testing.T) {
	f := start(t, nil)
	c := f.dial()
	c.send(command("PING") + command("ECHO", "a") + "PING\r\n" + "*1\r\n!bad\r\n" + command("PING") + strings.Repeat("more", 10000))
	c.expectEnd("+PONG\r\n$1\r\na\r\n+PONG\r\n" + protocolReply(errExpectedBulk('!')))
	if got := f.Stats(); got.ProtocolErrors != 1 || got.Commands != 3 {
		t.Errorf("%+v", got)
	}
}

func TestNothingAfterQuitIsExecuted(t *testing.T) {
	f := start(t, nil)
	c := f.dial()
	c.send("PING\r\nQUIT\r\nPING\r\n" + command("PING"))
	c.expectEnd("+PONG\r\n+OK\r\n")
	if n := f.hooks.ran.Load(); n != 2 {
		t.Errorf("%d commands ran", n)
	}
}

func TestB012HalfClosedClientGetsItsReplies(t *testing.T) {
	f := start(t, nil)
	for _, tail := range []string{"", "*2\r\n$4\r\nECHO\r\n$5\r\nhal", "*2\r\n", "PING", "*"} {
		c := f.dial()
		go func() {
			c.send(strings.Repeat(command("PING"), 10_000) + tail)
			_ = c.CloseWrite()
		}()
		c.expectEnd(strings.Repeat("+PONG\r\n", 10_000))
	}
	if n := f.hooks.ran.Load(); n != 50_000 {
		t.Errorf("%d commands ran", n)
	}
}

// pour writes s until the connection is cut, without reading, and returns how
// much of it was taken.
func (c *client) pour(s string, most int) int {
	sent := 0
	for sent < most {
		n, err := io.WriteString(c.TCPConn, s)
		sent += n
		if err != nil {
			return sent
		}
	}
	return sent
}

func TestB013WritesEverythingBeforeReading(t *testing.T) {
	const timeout = 200 * time.Millisecond
	f := start(t, nil, func(cfg *Config) { cfg.WriteTimeout = timeout })
	c := f.dial()
	began := time.Now()
	if sent := c.pour(strings.Repeat(command("BIG", "10000"), 1000), 200<<20); sent >= 200<<20 {
		t.Error("200 MB were taken")
	}
	if took := time.Since(began); took < timeout {
		t.Errorf("cut after %v", took)
	}
	f.stillServes()
	eventually(t, "it is gone", func() bool { return f.Stats().Clients == 0 })
	if n := f.Stats().OutputTimeouts; n != 1 {
		t.Errorf("%d output timeouts", n)
	}
	if !strings.Contains(f.log.String(), "does not read") {
		t.Error("not logged")
	}
}

func TestB092ClientsThatNeverRead(t *testing.T) {
	for _, auth := range []bool{true, false} {
		if raceEnabled && !auth {
			continue // the same code, slowly
		}
		f := start(t, nil, authenticated(auth), func(cfg *Config) { cfg.WriteTimeout = 300 * time.Millisecond })
		before := liveBytes()
		var clients sync.WaitGroup
		for range 20 {
			c := f.dial()
			clients.Go(func() { c.pour(strings.Repeat(command("BIG", "100000"), 1000), 64<<20) })
		}
		time.Sleep(150 * time.Millisecond) // now they are stuck
		if grown := liveBytes() - before; grown > 20<<20 {
			t.Errorf("authenticated %v: 20 clients hold %d MiB", auth, grown>>20)
		}
		f.stillServes()
		clients.Wait()
		eventually(t, "they are gone", func() bool { return f.Stats().Clients == 0 })
		if n := f.Stats().OutputTimeouts; n != 20 {
			t.Errorf("%d output timeouts", n)
		}
	}
}

// A large reply to a client that reads slowly is not cut, however long it
// takes: the timeout is for progress.
func TestSlowReaderIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipeListener()
		f := startOn(t, ln, nil, func(cfg *Config) { cfg.WriteTimeout = 10 * time.Second })
		nc := ln.dial()
		const size = 4 << 20
		roundTrip(t, nc, command("BIG", fmt.Sprint(size)), fmt.Sprintf("$%d\r\n", size))
		for got := 0; got < size; got += 16 << 10 {
			time.Sleep(time.Second)
			if _, err := io.CopyN(io.Discard, nc, 16<<10); err != nil {
				t.Fatalf("after %d bytes: %v", got, err)
			}
		}
		nc.Close()
		f.stop(time.Second)
	})
}

func TestB084AcceptFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := &failingListener{pipeListener: newPipeListener(), fails: 1000}
		f := startOn(t, ln, nil)
		time.Sleep(time.Minute)
		// 5 ms doubling to 1 s: 8 pauses make 1.275 s, the rest are of 1 s.
		if n := ln.tried(); n < 60 || n > 70 {
			t.Errorf("%d tries in a minute", n)
		}
		if n := strings.Count(f.log.String(), "accept failed"); n < 30 || n > 61 {
			t.Errorf("%d log lines in a minute", n)
		}
		ln.mu.Lock()
		ln.fails = 0
		ln.mu.Unlock()
		nc := ln.dial()
		defer nc.Close()
		roundTrip(t, nc, "PING\r\n", "+PONG\r\n")
		if err := f.stop(time.Second); err != nil {
			t.Error(err)
		}
	})
}

// A drain does not wait for the pause after a failed accept.
func TestB084DrainWhileAcceptFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startOn(t, &failingListener{pipeListener: newPipeListener(), fails: 1 << 30}, nil)
		time.Sleep(10500 * time.Millisecond)
		began := time.Now()
		if err := f.stop(time.Minute); err != nil || time.Since(began) > 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func roundTrip(tb testing.TB, nc net.Conn, request, want string) {
	tb.Helper()
	if _, err := io.WriteString(nc, request); err != nil {
		tb.Fatal(err)
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(nc, got); err != nil || string(got) != want {
		tb.Fatalf("got %q, %v; want %q", got, err, want)
	}
}

func TestB094VanishedClients(t *testing.T) {
	f := start(t, nil, func(cfg *Config) { cfg.IdleTimeout = 100 * time.Millisecond })
	f.stillServes()
	before := runtime.NumGoroutine()
	rounds := 10
	if raceEnabled {
		rounds = 4
	}
	for round := range rounds {
		for range 50 {
			c := f.dial()
			c.send("*1\r\n$4\r\nPI")
			_ = c.SetLinger(0)
			c.Close() // a reset
		}
		silent := f.dial() // as if its host were gone
		accepted := int64(1 + 51*(round+1))
		eventually(t, "all gone", func() bool { return f.Stats().Accepted == accepted && f.Stats().Clients == 0 })
		silent.Close()
		if n := f.Stats().IdleTimeouts; n != int64(round+1) {
			t.Errorf("%d idle timeouts", n)
		}
	}
	eventually(t, "no goroutine left", func() bool { return runtime.NumGoroutine() <= before })
	eventually(t, "each session closed", func() bool { return f.hooks.closed.Load() == f.Stats().Accepted })
}

func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipeListener()
		f := startOn(t, ln, nil, func(cfg *Config) { cfg.IdleTimeout = time.Minute })
		nc := ln.dial()
		for range 5 { // never silent for a minute
			roundTrip(t, nc, "PING\r\n", "+PONG\r\n")
			time.Sleep(59 * time.Second)
		}
		roundTrip(t, nc, "PING\r\n", "+PONG\r\n")
		began := time.Now()
		if n, err := nc.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%d, %v", n, err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("dropped after %v", took)
		}
		f.stop(time.Second)
	})
}

func TestNoIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipeListener()
		f := startOn(t, ln, nil)
		nc := ln.dial()
		roundTrip(t, nc, "PING\r\n", "+PONG\r\n")
		time.Sleep(1000 * time.Hour)
		roundTrip(t, nc, "PING\r\n", "+PONG\r\n")
		nc.Close()
		f.stop(time.Second)
	})
}

func TestHTTPIsCutAtItsFirstLine(t *testing.T) {
	f := start(t, nil)
	for _, first := range []string{
		"GET / HTTP/1.1", "POST /x HTTP/1.1", "post", "Host: example.org", "HEAD /?a=b HTTP/1.0", "OPTIONS * HTTP/1.1",
		"PUT / HTTP/1.1", "DELETE /a HTTP/1.1", "CONNECT h:1 HTTP/1.1", "PRI * HTTP/2.0", "get / HTTP/1.1",
	} {
		c := f.dial()
		c.send("PING\r\n" + first + "\r\nContent-Length: 6\r\n\r\nPING\r\n" + command("PING"))
		c.expectEnd("+PONG\r\n")
	}
	if got := f.Stats(); got.HTTPRequests != 11 || got.Commands != 11 {
		t.Errorf("%+v", got)
	}
	if n := strings.Count(f.log.String(), "HTTP request cut"); n < 1 || n > 3 {
		t.Errorf("%d log lines", n)
	}
	c := f.dial()
	c.send("GET k\r\nECHO HTTP/1.1\r\n" + command("POST") + command("GET", "/", "HTTP/1.1") + "PING\r\n")
	c.expect(strings.Replace("-ERR unknown command\r\n$8\r\nHTTP/1.1\r\nXX+PONG\r\n", "XX", strings.Repeat("-ERR unknown command\r\n", 2), 1))
}

func TestMaxClients(t *testing.T) {
	f := start(t, nil, func(cfg *Config) { cfg.MaxClients = 3 })
	clients := []*client{f.dial(), f.dial(), f.dial()}
	for _, c := range clients {
		c.send("PING\r\n")
		c.expect("+PONG\r\n")
	}
	for range 5 {
		f.dial().expectEnd("-ERR max number of clients reached\r\n")
	}
	if got := f.Stats(); got.Clients != 3 || got.Rejected != 5 || got.Accepted != 3 {
		t.Errorf("%+v", got)
	}
	clients[0].Close()
	eventually(t, "room again", func() bool { return f.Stats().Clients == 2 })
	f.stillServes()
}

// TestTLSHandshakeDeadline: a client that connects to a TLS port and says
// nothing is dropped; one that says the right things is served.
func TestTLSHandshakeDeadline(t *testing.T) {
	certs := httptest.NewUnstartedServer(nil)
	certs.StartTLS()
	defer certs.Close()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := startOn(t, tls.NewListener(plain, &tls.Config{Certificates: certs.TLS.Certificates}), nil,
		func(cfg *Config) { cfg.WriteTimeout = 200 * time.Millisecond })
	silent := f.dial()
	nc, err := tls.Dial("tcp", f.ln.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	roundTrip(t, nc, "PING\r\n", "+PONG\r\n")
	silent.gone()
	roundTrip(t, nc, "PING\r\n", "+PONG\r\n")
	roundTrip(t, nc, "*x\r\n", protocolReply(errMultibulkLength))
}
