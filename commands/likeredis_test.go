package commands

import (
	"bufio"
	"bytes"
	stdflag "flag"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/redcon"
)

var redisServer = stdflag.String("redis", "", "the redis-server that TestLikeRedis starts and compares with; \"\": it compares nothing")

// TestLikeRedis runs scripts on a Redis server and on a session, and expects
// the same bytes. scripts/clients/run runs it with -redis.
func TestLikeRedis(t *testing.T) {
	if *redisServer == "" {
		return
	}
	addr := startRedis(t, *redisServer)
	admin := dialRedis(t, addr)
	for _, script := range redisScripts {
		t.Run(script.name, func(t *testing.T) {
			admin.do(t, "CONFIG", "SET", "requirepass", script.password)
			defer func() {
				admin.do(t, "CONFIG", "SET", "requirepass", "")
			}()
			theirs := dialRedis(t, addr)
			n := openNode(t, nodeOptions{password: script.password})
			defer n.close()
			ours := n.session()
			for _, line := range script.lines {
				compareWithRedis(t, theirs, ours, line)
			}
		})
	}
}

func compareWithRedis(t *testing.T, theirs *redisConn, ours *session, line string) {
	t.Helper()
	args, err := splitLine(line)
	if err != nil {
		t.Fatal(err)
	}
	reply, _ := ours.Do(nil, toBytes(args))
	got, want := string(reply), theirs.do(t, args...)
	for _, pattern := range redisDiffers {
		got, want = pattern.apply(got), pattern.apply(want)
	}
	if _, may := redisOtherwise[line]; may == (got == want) {
		t.Errorf("%.200s (may differ: %v)\nours  %.600q\nRedis %.600q", line, may, got, want)
	}
}

// redisConn is a connection to Redis on which each command is sent alone.
type redisConn struct {
	net.Conn
	in *bufio.Reader
}

func dialRedis(t *testing.T, addr string) *redisConn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &redisConn{Conn: nc, in: bufio.NewReader(nc)}
}

func (c *redisConn) do(t *testing.T, args ...string) string {
	t.Helper()
	request := redcon.AppendArray(nil, len(args))
	for _, arg := range args {
		request = redcon.AppendBulkString(request, arg)
	}
	if _, err := c.Write(request); err != nil {
		t.Fatal(err)
	}
	var reply bytes.Buffer
	if err := copyReply(&reply, c.in); err != nil {
		t.Fatalf("%q: %v after %q", args, err, reply.Bytes())
	}
	return reply.String()
}

// copyReply copies one reply from in.
func copyReply(to *bytes.Buffer, in *bufio.Reader) error {
	line, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	to.WriteString(line)
	if strings.IndexByte("$=*~%>", line[0]) < 0 {
		return nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil {
		return err
	}
	switch line[0] {
	case '$', '=':
		if n >= 0 {
			_, err = io.CopyN(to, in, int64(n)+2)
		}
		return err
	case '%':
		n *= 2
	}
	for ; n > 0 && err == nil; n-- {
		err = copyReply(to, in)
	}
	return err
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
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if nc, err := net.Dial("tcp", addr); err == nil {
			nc.Close()
			return addr
		}
		if time.Now().After(deadline) {
			t.Fatal("Redis does not answer")
		}
	}
}
