package server

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestLikeRedis sends the same bytes to a Redis server, where one is installed,
// and to ours, and expects the same bytes back.
func TestLikeRedis(t *testing.T) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server here")
	}
	redis := startRedis(t, path)
	h := &hooks{do: likeRedis}
	for _, auth := range []bool{true, false} {
		ours := start(t, h, authenticated(auth))
		if !auth {
			exchange(t, redis, command("CONFIG", "SET", "requirepass", "secret"))
		}
		for _, stream := range redisStreams {
			want := exchange(t, redis, stream)
			got := exchange(t, ours.ln.Addr().String(), stream)
			if got != want {
				t.Errorf("authenticated %v, %q:\nRedis %q\nours  %q", auth, clip([]byte(stream)), want, got)
			}
		}
	}
}

// likeRedis answers the commands of redisStreams as Redis does.
func likeRedis(c *Conn, dst []byte, args [][]byte) ([]byte, uint64, bool) {
	if bytes.EqualFold(args[0], []byte("quit")) || c.Authenticated() && bytes.EqualFold(args[0], []byte("echo")) {
		return dst, 0, false
	}
	if !c.Authenticated() {
		return append(dst, "-NOAUTH Authentication required.\r\n"...), 0, true
	}
	return dst, 0, false
}

var redisStreams = []string{
	"PING\r\n", "\r\n\r\nPING\r\n", "PING\n", "PING", command("PING"), "QUIT\r\nPING\r\n", command("QUIT") + command("PING"),
	"*0\r\n*-1\r\n*-100\r\n*1\r\n$4\r\nPING\r\n",
	"*1\r\n$4\r\nPING\r\n*x\r\n", "*\r\n", "*-\r\n", "*-0\r\n", "*01\r\n", "*+1\r\n", "* 1\r\n", "*1 \r\n", "*9223372036854775807\r\n",
	"*9223372036854775808\r\n", "*99999999999999999999999\r\n", "*2147483648\r\n", "*-9223372036854775808\r\nPING\r\n",
	"*-9223372036854775809\r\n", "*" + strings.Repeat("1", 70000), "*11\r\n",
	"*1\r\n$-1\r\n", "*1\r\n$-2\r\n", "*1\r\n$\r\n", "*1\r\n$+4\r\nPING\r\n", "*1\r\n$04\r\nPING\r\n", "*1\r\n$4 \r\nPING\r\n", "*1\r\n$ 4\r\nPING\r\n",
	"*1\r\n$9223372036854775807\r\n", "*1\r\n$9223372036854775806\r\n", "*1\r\n$9223372036854775808\r\n", "*1\r\n$1000000000\r\n",
	"*1\r\n$" + strings.Repeat("1", 70000), "*1\r\nPING\r\n", "*1\r\n:1\r\n", "*1\r\n+a\r\n", "*1\r\n*1\r\n", "*2\r\n$4\r\nECHO\r\nx\r\n",
	"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPI", "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", command("ECHO", "a\r\nb\x00c"), "*1\r\n$16385\r\n",
	strings.Repeat("a", 70000),
	`ECHO "a b"` + "\r\n", `ECHO 'a b'` + "\r\n", `ECHO "a\x41\x4g\n\r\t\b\a\"\\\q\'"` + "\r\n", `ECHO 'a\'\n"'` + "\r\n", `ECHO ""` + "\r\n", `ECHO ''` + "\r\n",
	`ECHO a"b c"` + "\r\n", `ECHO a'b c'` + "\r\n", "ECHO\t\v\fa\v\f \t \r\n", "  ECHO   a  \r\n", "ECHO a\r\r\n", `ECHO "\x4"` + "\r\n", `ECHO "\x"` + "\r\n",
	`ECHO "a` + "\r\n", `ECHO 'a` + "\r\n", `ECHO "a"b` + "\r\n", `ECHO 'a'b` + "\r\n", `ECHO "a\"` + "\r\n", `ECHO "a\` + "\r\n", `ECHO 'a\'` + "\r\n", "PING\r\nECHO \"\r\nPING\r\n",
	"POST / HTTP/1.1\r\n\r\nPING\r\n", "Host: x\r\nPING\r\n", "post\r\nPING\r\n",
}

// exchange sends stream, ends its side, and returns all that comes back.
func exchange(t *testing.T, addr, stream string) string {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(nc, stream) // it may be cut meanwhile
	_ = nc.(*net.TCPConn).CloseWrite()
	got, _ := io.ReadAll(nc) // a reset ends it, too
	return string(got)
}

// startRedis runs a Redis server on loopback until the test ends.
func startRedis(t *testing.T, path string) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = ln.Addr().String()
	ln.Close() // the port was free a moment ago
	cmd := exec.Command(path, "--port", fmt.Sprint(ln.Addr().(*net.TCPAddr).Port), "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(t, "Redis answers", func() bool {
		nc, err := net.Dial("tcp", addr)
		if err == nil {
			nc.Close()
		}
		return err == nil
	})
	return addr
}
