package server

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/redcon"
)

// watchPools spoils what a connection of s gives back, so that whoever still
// uses it shows: views of spoiled spans panic, spoiled replies are no RESP, and
// the race detector sees both sides.
func watchPools(tb testing.TB, s *Server) {
	if _, ok := tb.(*testing.B); ok {
		return // it would be measured
	}
	s.buffers.returned = func(b []byte) { fill(b, 0xdb) }
	s.batches.returned = func(b *batch) {
		if len(b.buf)+len(b.argv)+len(b.spans)+len(b.waits) > 0 || b.wait != 0 || b.commands != 0 {
			tb.Errorf("a batch was given back in use: %+v", b)
		}
		fill(b.buf[:cap(b.buf)], 0xdb)
		fill(b.spans[:cap(b.spans)], span{1 << 31, 1 << 30})
		fill(b.argv[:cap(b.argv)], nil)
	}
}

// fill doubles what is filled, which the race detector sees as few accesses.
func fill[T any](s []T, v T) {
	if len(s) == 0 {
		return
	}
	s[0] = v
	for n := 1; n < len(s); n *= 2 {
		copy(s[n:], s[:n])
	}
}

// tell is a command's reply in tests that check every argument: all of them,
// with their places and lengths.
func tell(c *Conn, dst []byte, args [][]byte) ([]byte, uint64, bool) {
	dst = redcon.AppendArray(dst, len(args))
	for _, a := range args {
		dst = redcon.AppendBulk(dst, a)
	}
	return dst, 0, true
}

// TestCutCommandsStayApart is for what connections lend each other: clients
// whose commands come in two pieces, cut at each byte, between clients whose
// commands come whole. Each has keys of its own, and what the server understood
// comes back byte for byte.
func TestCutCommandsStayApart(t *testing.T) {
	f := start(t, &hooks{do: tell})
	const cutters, wholes = 8, 4
	stop := make(chan struct{})
	var busy, cutting sync.WaitGroup
	for id := range wholes {
		c := f.dial()
		busy.Go(func() {
			for round := 0; ; round++ {
				select {
				case <-stop:
					return
				default:
				}
				cmd := ownCommand("whole", id, round, 1+round%40)
				if !c.exchange(t, strings.Repeat(cmd, 1+round%3), "", "", strings.Repeat(cmd, 1+round%3)) {
					return
				}
			}
		})
	}
	for id := range cutters {
		c := f.dial()
		cutting.Go(func() {
			size := len(ownCommand("cut", id, 0, 12))
			step := 1
			if raceEnabled {
				step = 3
			}
			for cut := id % step; cut < size; cut += step {
				cmd := ownCommand("cut", id, cut, 12)
				cut := min(cut, len(cmd))
				before := ""
				if cut%2 == 1 {
					before = ownCommand("before", id, cut, 30)
				}
				if !c.exchange(t, before+cmd[:cut], before, cmd[cut:], cmd) {
					return
				}
			}
		})
	}
	cutting.Wait()
	close(stop)
	busy.Wait()
	if n := f.Stats(); n.Panics != 0 || n.ProtocolErrors != 0 {
		t.Errorf("%+v: %s", n, f.log)
	}
}

// ownCommand has arguments that no other client, and no other round, has.
func ownCommand(kind string, id, round, args int) string {
	all := []string{"TELL"}
	for i := range args {
		all = append(all, fmt.Sprintf("%s:%d:%d:%s%d", kind, id, round, strings.Repeat("x", i%7), i))
	}
	return command(all...)
}

// exchange sends first, expects wantFirst (commands and replies of tell are the
// same bytes), gives others time to work, sends rest and expects want.
func (c *client) exchange(t *testing.T, first, wantFirst, rest, want string) bool {
	if _, err := io.WriteString(c, first); err != nil {
		t.Error(err)
		return false
	}
	if !c.same(t, wantFirst) {
		return false
	}
	if rest != "" {
		time.Sleep(200 * time.Microsecond)
		if _, err := io.WriteString(c, rest); err != nil {
			t.Error(err)
			return false
		}
	}
	return c.same(t, want)
}

func (c *client) same(t *testing.T, want string) bool {
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c.r, got); err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", clip(got[:n]), err, clip([]byte(want)))
		return false
	}
	return true
}

// TestCutAnywhereManyTimes: commands of many shapes in random pieces, on
// connections that take turns, some of which leave in the middle.
func TestCutAnywhereManyTimes(t *testing.T) {
	f := start(t, &hooks{do: tell})
	var clients sync.WaitGroup
	for id := range 12 {
		clients.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(id), 1))
			for life := range 6 {
				c := f.dial()
				var stream bytes.Buffer
				for round := range 20 {
					stream.WriteString(ownCommand("r", id*100+life, round, 1+rnd.IntN(1<<rnd.IntN(9))))
				}
				go func(rest []byte) {
					for len(rest) > 0 {
						n := min(len(rest), 1+rnd.IntN(1<<rnd.IntN(13)))
						if _, err := c.Write(rest[:n]); err != nil {
							return
						}
						rest = rest[n:]
					}
				}(stream.Bytes())
				if !c.same(t, stream.String()) {
					return
				}
				_, _ = io.WriteString(c, "*3\r\n$4\r\nTELL\r\n$2\r\nha")
				c.Close()
			}
		})
	}
	clients.Wait()
	eventually(t, "all gone", func() bool { return f.Stats().Clients == 0 })
	if n := f.Stats(); n.Panics != 0 || n.ProtocolErrors != 0 || n.ClientBytes != 0 {
		t.Errorf("%+v: %s", n, f.log)
	}
}

// An array has one holder: a connection that keeps it for an incomplete command
// has not left it in the batch.
func TestLentArrayHasOneHolder(t *testing.T) {
	s, err := New(testConfig(&hooks{}))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	var c *Conn
	s.batches.returned = func(b *batch) {
		if cap(c.parser.args) > 0 && cap(b.spans) > 0 && &c.parser.args[:1][0] == &b.spans[:1][0] {
			t.Error("one array, two holders")
		}
		seen++
	}
	whole := manyArgs("COUNT", 50, 4)
	for cut := range len(whole) {
		c = s.newConn(&memoryConn{request: []byte(whole + whole[:cut]), rounds: 1})
		if !s.add(c) {
			t.Fatal("not added")
		}
		c.serve()
	}
	if seen < len(whole) {
		t.Errorf("%d batches", seen)
	}
}

// A client that is silent within a command keeps no more than its arguments.
func TestIncompleteCommandIsTrimmed(t *testing.T) {
	var p parser
	p.init(DefaultLimits(), DefaultLimits())
	p.args = make([]span, 0, keptArgs)
	if _, err := p.next([]byte("*5\r\n$1\r\na\r\n$1\r\nb\r\n")); err != nil || !p.large(fewArgs) {
		t.Fatal(err, cap(p.args))
	}
	p.trim(fewArgs)
	if len(p.args) != 2 || cap(p.args) > fewArgs || p.large(fewArgs) {
		t.Errorf("%d of %d", len(p.args), cap(p.args))
	}
}
