//go:build unix

package server

import (
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rawDial connects without any of Go's memory for the client's side.
func rawDial(tb testing.TB, addr net.Addr) (fd int) {
	tb.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		to := &syscall.SockaddrInet4{Port: addr.(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
		err = syscall.Connect(fd, to)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return fd
}

func rawRoundTrip(tb testing.TB, fd int, request []byte, replySize int) {
	tb.Helper()
	for len(request) > 0 {
		n, err := syscall.Write(fd, request)
		if err != nil {
			tb.Fatal(err)
		}
		request = request[n:]
	}
	reply := make([]byte, replySize)
	for replySize > 0 {
		n, err := syscall.Read(fd, reply)
		if n <= 0 || err != nil {
			tb.Fatal(n, err)
		}
		replySize -= n
	}
}

// TestIdleConnectionsAreSmall: connections that have worked and are quiet now.
func TestIdleConnectionsAreSmall(t *testing.T) {
	const clients = 1000
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur < 2*clients+100 {
		t.Skipf("needs %d files, has %d", 2*clients+100, files.Cur)
	}
	f := start(t, nil)
	f.stillServes()
	before := liveBytes()
	request := []byte(manyArgs("COUNT", 100, 16))
	for range clients {
		fd := rawDial(t, f.ln.Addr())
		defer syscall.Close(fd)
		rawRoundTrip(t, fd, request, len(":100\r\n"))
	}
	time.Sleep(50 * time.Millisecond)
	each := (liveBytes() - before) / clients
	t.Logf("%d bytes a connection, with its stack", each)
	if each > 15<<10 && !raceEnabled {
		t.Errorf("%d bytes a connection", each)
	}
}

// TestBuffersShrink: clients that have each sent a large command, a long
// pipeline and a command with very many arguments hold no more than others.
func TestBuffersShrink(t *testing.T) {
	clients := 100
	if raceEnabled || testing.Short() {
		clients = 10
	}
	f := start(t, nil)
	large := []byte(command("COUNT", strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20-1)))
	many := []byte(manyArgs("ONES", 20_000, 4))
	pipeline := []byte(strings.Repeat(command("PING"), 5000))
	fds := make([]int, clients)
	for i := range fds {
		fds[i] = rawDial(t, f.ln.Addr())
		defer syscall.Close(fds[i])
		rawRoundTrip(t, fds[i], []byte("PING\r\n"), len("+PONG\r\n"))
	}
	before := liveBytes()
	for _, fd := range fds {
		rawRoundTrip(t, fd, large, len(":4\r\n"))
		rawRoundTrip(t, fd, many, len("*20000\r\n")+20_000*4)
		rawRoundTrip(t, fd, pipeline, 5000*len("+PONG\r\n"))
	}
	time.Sleep(trimAfter + 200*time.Millisecond)
	if each := (liveBytes() - before) / int64(clients); each > 4<<10 {
		t.Errorf("%d bytes a connection above the baseline", each)
	}
}

// TestLoopAllocatesNothing counts what the whole process allocates for a
// pipeline over a real connection.
func TestLoopAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	f := start(t, nil)
	for name, tc := range map[string]struct {
		request string
		reply   int
	}{
		"pipeline":       {strings.Repeat(manyArgs("ONES", 200, 16), 16), 16 * (len("*200\r\n") + 200*4)},
		"one at a time":  {command("PING"), len("+PONG\r\n")},
		"inline":         {"ECHO \"a b\"\r\n", len("$3\r\na b\r\n")},
		"many arguments": {manyArgs("COUNT", 10_000, 16), len(":10000\r\n")},
		"with a wait":    {strings.Repeat(command("WRITE", "5"), 100), 100 * len(":5\r\n")},
	} {
		c := f.dial()
		request, reply := []byte(tc.request), make([]byte, tc.reply)
		run := func() {
			if _, err := c.Write(request); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c.r, reply); err != nil {
				t.Fatal(err)
			}
		}
		for range 20 {
			run()
		}
		if n := testing.AllocsPerRun(200, run); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
