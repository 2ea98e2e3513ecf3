package server

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A drain lets the command that runs finish, and those behind it that have
// arrived.
func TestDrainFinishesWhatHasArrived(t *testing.T) {
	running, proceed := make(chan struct{}), make(chan struct{})
	h := &hooks{do: func(_ *Conn, dst []byte, args [][]byte) ([]byte, uint64, bool) {
		if string(args[0]) == "BLOCK" {
			close(running)
			<-proceed
		}
		return dst, 0, false
	}}
	f := start(t, h)
	c := f.dial()
	c.send(command("BLOCK") + strings.Repeat(command("PING"), 100) + "*2\r\n$4\r\nPING\r\n$1")
	<-running
	ended := make(chan error)
	go func() { ended <- f.stop(5 * time.Second) }()
	eventually(t, "draining", f.draining)
	select {
	case err := <-ended:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(2 * drainRead):
	}
	close(proceed)
	c.expectEnd("-ERR unknown command\r\n" + strings.Repeat("+PONG\r\n", 100))
	c.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if f.tryDial() != nil {
		t.Error("still accepting")
	}
	if h.closed.Load() != 1 {
		t.Error("session not closed")
	}
}

// What was in the kernel's buffers when the drain began is answered, too.
func TestDrainReadsWhatIsThere(t *testing.T) {
	for range 10 {
		f := start(t, nil)
		c := f.dial()
		c.send(command("PING"))
		c.expect("+PONG\r\n")
		c.send(strings.Repeat(command("PING"), 1000))
		go f.stop(5 * time.Second)
		c.expectEnd(strings.Repeat("+PONG\r\n", 1000))
		c.Close()
	}
}

func TestDrainOfIdleClients(t *testing.T) {
	f := start(t, nil)
	clients := make([]*client, 50)
	for i := range clients {
		clients[i] = f.dial()
		clients[i].send("PING\r\n")
		clients[i].expect("+PONG\r\n")
	}
	began := time.Now()
	if err := f.stop(5 * time.Second); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	for _, c := range clients {
		c.expectEnd("")
	}
}

// Busy clients get a reply to all that was read, and none is half.
func TestDrainOfBusyClients(t *testing.T) {
	f := start(t, nil)
	var clients sync.WaitGroup
	var replies atomic.Int64
	for range 10 {
		c := f.dial()
		clients.Go(func() {
			for {
				if _, err := io.WriteString(c, command("ECHO", "abc")); err != nil {
					return
				}
				line, err := c.r.ReadString('\n')
				if err != nil {
					if line != "" {
						t.Errorf("half a reply: %q", line)
					}
					return
				}
				if line, err = c.r.ReadString('\n'); line != "abc\r\n" {
					t.Errorf("half a reply: %q, %v", line, err)
				}
				replies.Add(1)
			}
		})
	}
	time.Sleep(50 * time.Millisecond)
	if err := f.stop(5 * time.Second); err != nil {
		t.Error(err)
	}
	clients.Wait()
	if ran := f.hooks.ran.Load(); ran != replies.Load() {
		t.Errorf("%d commands ran, %d replies arrived", ran, replies.Load())
	}
}

func TestB071ShutdownFinishes(t *testing.T) {
	f := start(t, nil)
	stuck := f.dial()
	stuck.send(command("BIG", "64000000"))
	half := f.dial()
	half.send("*2\r\n$4\r\nECHO\r\n$100\r\nab")
	long := f.dial()
	go long.pour(strings.Repeat(command("PING"), 1000), 64<<20)
	eventually(t, "the stuck client is stuck and all are served", func() bool {
		return f.Stats().BytesOut > writeChunk && f.Stats().Accepted == 3
	})
	began := time.Now()
	err := f.stop(500 * time.Millisecond)
	if took := time.Since(began); took > time.Second {
		t.Errorf("took %v", took)
	}
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "clients cut") {
		t.Errorf("error %v", err)
	}
	if got := f.Stats(); got.Clients != 0 || got.Killed == 0 { // the stuck one at least
		t.Errorf("%+v", got)
	}
	half.expectEnd("")
}

// A drain that has ended, or never had clients, or is asked for twice.
func TestShutdownTwice(t *testing.T) {
	f := start(t, nil)
	var calls sync.WaitGroup
	for range 3 {
		calls.Go(func() {
			if err := f.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Serve(ln); err != nil {
		t.Errorf("Serve after Shutdown: %v", err)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error("Serve after Shutdown left the listener open")
	}
}

func TestServeTellsThatItsListenerWasClosed(t *testing.T) {
	s, err := New(testConfig(&hooks{}))
	if err != nil {
		t.Fatal(err)
	}
	ln := newPipeListener()
	_ = ln.Close()
	if err := s.Serve(ln); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestTwoListeners(t *testing.T) {
	f := start(t, nil)
	second := newPipeListener()
	ended := make(chan error)
	go func() { ended <- f.Serve(second) }()
	nc := second.dial()
	roundTrip(t, nc, "PING\r\n", "+PONG\r\n")
	f.stillServes()
	nc.Close()
	if err := f.stop(time.Second); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestB107CloseWhileCommandsRun(t *testing.T) {
	rounds := 8
	if raceEnabled {
		rounds = 4
	}
	for round := range rounds {
		f := start(t, nil)
		var clients sync.WaitGroup
		for range 20 {
			c := f.dial()
			clients.Go(func() {
				request := strings.Repeat(manyArgs("ONES", 50, 4), 10)
				for {
					if _, err := io.WriteString(c, request); err != nil {
						return
					}
					if _, err := io.CopyN(io.Discard, c.r, 10*int64(len("*50\r\n")+50*4)); err != nil {
						return
					}
				}
			})
		}
		time.Sleep(5 * time.Millisecond)
		grace := time.Second
		if round%2 == 1 {
			grace = 0
		}
		_ = f.stop(grace) // cut or not
		if n := f.Stats().Clients; n != 0 {
			t.Errorf("%d clients left", n)
		}
		clients.Wait()
		if f.hooks.closed.Load() != f.Stats().Accepted {
			t.Error("a session was not closed")
		}
	}
}
