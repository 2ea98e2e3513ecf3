package server

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const oomLine = "-OOM client buffers exceed their share of maxmemory\r\n"

func clientBytes(n int64) func(*Config) {
	return func(cfg *Config) { cfg.MaxClientBytes = n }
}

// nothingHeld waits until all clients are gone and requires that nothing is
// charged any more.
func (f *fixture) nothingHeld() {
	f.Helper()
	eventually(f, "all gone", func() bool { return f.Stats().Clients == 0 })
	if n := f.Stats().ClientBytes; n != 0 {
		f.Errorf("%d bytes are still charged", n)
	}
}

// Unfinished commands of many clients together stay within the bound; one that
// would pass it is told so.
func TestUnfinishedCommandsAreBounded(t *testing.T) {
	const bound = 16 << 20
	f := start(t, nil, clientBytes(bound))
	before := liveBytes()
	unfinished := "*20\r\n$4\r\nECHO\r\n" + strings.Repeat("$1048576\r\n"+strings.Repeat("x", 1<<20)+"\r\n", 3)
	var clients sync.WaitGroup
	var told atomic.Int64
	for range 12 {
		c := f.dial()
		clients.Go(func() {
			if _, err := io.WriteString(c, unfinished); err == nil {
				_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			}
			if b, _ := io.ReadAll(c.r); string(b) == oomLine {
				told.Add(1)
			}
		})
	}
	clients.Wait()
	st := f.Stats()
	if st.ClientBytes > bound || st.ClientBytes < bound/4 || st.MemoryRefusals < 6 || told.Load() == 0 {
		t.Errorf("%d told, %+v", told.Load(), st)
	}
	if grown := liveBytes() - before; grown > bound+6<<20 {
		t.Errorf("%d MiB live", grown>>20)
	}
	f.stillServes() // everyday commands are outside the budget
	c := f.dial()
	c.send(manyArgs("COUNT", 200, 16))
	c.expect(":200\r\n")
	c.Close()
	_ = f.stop(time.Second)
	f.nothingHeld()
}

// Replies that nobody reads are bounded, too, and those before the refusal
// arrive.
func TestUnreadRepliesAreBounded(t *testing.T) {
	const bound = 16 << 20
	f := start(t, nil, clientBytes(bound))
	before := liveBytes()
	for range 8 {
		f.dial().send(command("BIG", "8000000"))
	}
	eventually(t, "some are refused", func() bool { return f.Stats().MemoryRefusals >= 6 })
	if st := f.Stats(); st.ClientBytes > bound || st.ClientBytes < 8_000_000 {
		t.Errorf("%+v", st)
	}
	if grown := liveBytes() - before; grown > bound+6<<20 {
		t.Errorf("%d MiB live", grown>>20)
	}
	c := f.dial()
	c.send(command("PING") + command("WRITE", "1") + command("BIG", "17000000") + command("PING"))
	c.expectEnd("+PONG\r\n:1\r\n" + oomLine)
	_ = f.stop(50 * time.Millisecond)
	f.nothingHeld()
}

// What the parser needs for very many small arguments counts.
func TestManyArgumentsAreCharged(t *testing.T) {
	f := start(t, nil, clientBytes(4<<20))
	c := f.dial()
	c.send(manyArgs("COUNT", 20_000, 4))
	c.expect(":20000\r\n")
	ran := f.hooks.ran.Load()
	_, _ = io.WriteString(c, command("PING")+manyArgs("COUNT", 200_000, 1)) // it may be cut meanwhile
	c.expectEnd("+PONG\r\n" + oomLine)
	if n := f.hooks.ran.Load() - ran; n != 1 {
		t.Errorf("%d ran", n)
	}
	f.nothingHeld()
}

func reserving(c *Conn, dst []byte, args [][]byte) ([]byte, uint64, bool) {
	var n int64
	if len(args) == 2 {
		_, _ = fmt.Sscan(string(args[1]), &n)
	}
	switch string(args[0]) {
	case "RESERVE":
		return fmt.Appendf(dst, "+%v\r\n", c.Reserve(n)), 0, true
	case "RELEASE":
		c.Release(n)
		return append(dst, "+OK\r\n"...), 0, true
	}
	return dst, 0, false
}

func TestReserve(t *testing.T) {
	f := start(t, &hooks{do: reserving}, clientBytes(1<<20))
	a, b := f.dial(), f.dial()
	a.send(command("RESERVE", "600000"))
	a.expect("+true\r\n")
	b.send(command("RESERVE", "600000") + command("RESERVE", "300000") + command("RESERVE", "9223372036854775807"))
	b.expect("+false\r\n+true\r\n+false\r\n")
	if st := f.Stats(); st.MemoryRefusals != 2 || st.ClientBytes < 800_000 || st.ClientBytes > 1<<20 {
		t.Errorf("%+v", st)
	}
	a.send(command("RELEASE", "500000") + command("RELEASE", "500000") + command("RELEASE", "-5") + command("RESERVE", "-5"))
	a.expect("+OK\r\n+OK\r\n+OK\r\n+true\r\n")
	b.send(command("RESERVE", "600000"))
	b.expect("+true\r\n")
	b.Close()
	a.Close()
	f.nothingHeld()
}

// However a connection ends, nothing of it stays charged.
func TestEveryEndGivesBack(t *testing.T) {
	large := "*9\r\n$4\r\nECHO\r\n$1000000\r\n" + strings.Repeat("x", 500_000)
	for name, end := range map[string]func(c *client, conn *Conn){
		"close":      func(c *client, _ *Conn) { c.send(large); c.Close() },
		"half-close": func(c *client, _ *Conn) { c.send(large); _ = c.CloseWrite(); c.gone() },
		"reset":      func(c *client, _ *Conn) { c.send(large); _ = c.SetLinger(0); c.Close() },
		"kill":       func(c *client, conn *Conn) { c.send(large); conn.Kill(); c.gone() },
		"kill in reply": func(c *client, conn *Conn) {
			c.send(command("BIG", "20000000"))
			time.Sleep(50 * time.Millisecond)
			conn.Kill()
		},
		"quit":           func(c *client, _ *Conn) { c.send(command("QUIT") + large); c.gone() },
		"protocol error": func(c *client, _ *Conn) { c.send(command("COUNT", strings.Repeat("x", 500_000)) + "*x\r\n"); c.gone() },
		"idle":           func(c *client, _ *Conn) { c.send(large); c.gone() },
		"does not read":  func(c *client, _ *Conn) { c.send(command("BIG", "20000000")); time.Sleep(400 * time.Millisecond) },
		"panic": func(c *client, _ *Conn) {
			c.send(manyArgs("COUNT", 10_000, 8) + command("BIG", "60000") + command("PANIC", strings.Repeat("x", 500_000)))
			c.gone()
		},
		"refusal": func(c *client, _ *Conn) { c.send(command("BIG", "70000000")); c.expectEnd(oomLine) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conns := make(chan *Conn, 1)
			h := &hooks{do: reserving}
			f := start(t, h, clientBytes(64<<20), func(cfg *Config) {
				cfg.IdleTimeout, cfg.WriteTimeout = 400*time.Millisecond, 300*time.Millisecond
				cfg.NewSession = func(c *Conn) Session { conns <- c; return &echo{c, h} }
			})
			f.mayPanic = name == "panic"
			c := f.dial()
			c.send(command("RESERVE", "100000"))
			c.expect("+true\r\n")
			if n := f.Stats().ClientBytes; n < 100_000-freeBytes {
				t.Errorf("%d charged", n)
			}
			end(c, <-conns)
			f.nothingHeld()
		})
	}
}

func TestDrainGivesBack(t *testing.T) {
	f := start(t, nil, clientBytes(64<<20))
	f.dial().send("*9\r\n$4\r\nECHO\r\n$1000000\r\n" + strings.Repeat("x", 500_000))
	f.dial().send(command("BIG", "20000000"))
	eventually(t, "both are charged", func() bool { return f.Stats().ClientBytes > 20_400_000 })
	_ = f.stop(100 * time.Millisecond)
	f.nothingHeld()
}

// What a connection is charged is what it holds: random totals of many
// connections, with the sum in hand.
func TestBudgetIsExact(t *testing.T) {
	b := &budget{limit: 1 << 20}
	var workers sync.WaitGroup
	for id := range 8 {
		workers.Go(func() {
			a := account{budget: b}
			for i := range int64(20_000) {
				a.settle((i*7919*int64(id+1))%(300<<10) + 1)
				if used := b.used.Load(); used > b.limit || used < a.charged {
					t.Errorf("%d used, %d of it mine", used, a.charged)
					return
				}
			}
			a.settle(0)
		})
	}
	workers.Wait()
	if n := b.used.Load(); n != 0 {
		t.Errorf("%d left", n)
	}
}

// Large memory that was dropped is given back soon after the last of it, but
// not too often, not while traffic collects it, and never after the end.
func TestReclaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var freed atomic.Int64
		r := &reclaimer{free: func() { freed.Add(1) }}
		after := func(d time.Duration, want int64, what string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if n := freed.Load(); n != want {
				t.Errorf("%s: freed %d times, want %d", what, n, want)
			}
		}
		r.drop(reclaimLeast - 1)
		r.drop(reclaimBytes - 1)
		after(time.Hour, 0, "too little")
		for range 10 {
			r.drop(reclaimBytes)
			after(reclaimSoon/2, 0, "a burst")
		}
		after(2*reclaimSoon, 1, "behind the burst")
		r.drop(reclaimBytes)
		after(reclaimEvery-2*reclaimSoon, 1, "soon again")
		after(2*reclaimSoon, 2, "later")
		after(time.Hour, 2, "nothing more")
		for range 15 { // no collection: it is not put off for ever
			r.drop(reclaimBytes)
			time.Sleep(reclaimEvery / 12)
		}
		after(0, 3, "a trickle")
		after(time.Hour, 4, "the rest of it")
		r.drop(reclaimBytes)
		runtime.GC()
		runtime.GC()
		after(time.Hour, 4, "collected already")
		r.drop(reclaimBytes)
		r.stop()
		r.drop(reclaimBytes)
		r.stop()
		after(time.Hour, 4, "the end")
	})
}
