package bench

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/redcon"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a small RESP server with sets of items, and commands that misbehave.
type fake struct {
	addr   string
	server *redcon.Server
	mu     sync.Mutex
	sets   map[string]map[string]bool
	served int
	stall  func(served int) // called before each command, under mu
}

func startFake(t testing.TB) *fake {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{addr: listener.Addr().String(), sets: map[string]map[string]bool{}, stall: func(int) {}}
	f.server = redcon.NewServer(f.addr, f.serve, nil, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.server.Serve(listener)
	}()
	t.Cleanup(func() {
		listener.Close()
		f.server.Close()
		<-done
	})
	return f
}

func (f *fake) serve(conn redcon.Conn, cmd redcon.Command) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.served++
	f.stall(f.served)
	switch name := strings.ToUpper(string(cmd.Args[0])); name {
	case "AUTH":
		if string(cmd.Args[1]) != "secret" {
			conn.WriteError("WRONGPASS invalid password")
			return
		}
		conn.WriteString("OK")
	case "SADD", "DEDUP.ADD":
		conn.WriteInt(f.add(string(cmd.Args[1]), cmd.Args[2:]))
	case "ZADD":
		var items [][]byte
		for i := 3; i < len(cmd.Args); i += 2 {
			items = append(items, cmd.Args[i])
		}
		conn.WriteInt(f.add(string(cmd.Args[1]), items))
	case "SISMEMBER":
		conn.WriteInt(f.has(cmd.Args[1], cmd.Args[2]))
	case "SMISMEMBER", "DEDUP.MEXISTS":
		conn.WriteArray(len(cmd.Args) - 2)
		for _, item := range cmd.Args[2:] {
			conn.WriteInt(f.has(cmd.Args[1], item))
		}
	case "ZMSCORE":
		conn.WriteArray(len(cmd.Args) - 2)
		for _, item := range cmd.Args[2:] {
			if f.has(cmd.Args[1], item) == 1 {
				conn.WriteBulkString("1")
			} else {
				conn.WriteNull()
			}
		}
	case "DEDUP.FILTER":
		var unseen [][]byte
		for _, item := range cmd.Args[3:] { // key ITEMS item...
			if f.has(cmd.Args[1], item) == 0 {
				unseen = append(unseen, item)
			}
		}
		conn.WriteArray(len(unseen))
		for _, item := range unseen {
			conn.WriteBulk(item)
		}
	case "NEST": // an error inside an array
		conn.WriteArray(2)
		conn.WriteInt(1)
		conn.WriteError("ERR filter is full")
	case "DIE":
		conn.Close()
	case "HANG":
	default:
		conn.WriteError("ERR unknown command '" + name + "'")
	}
}

func (f *fake) add(key string, items [][]byte) (added int) {
	set := f.sets[key]
	if set == nil {
		set = map[string]bool{}
		f.sets[key] = set
	}
	for _, item := range items {
		if !set[string(item)] {
			set[string(item)] = true
			added++
		}
	}
	return added
}

func (f *fake) has(key, item []byte) int {
	if f.sets[string(key)][string(item)] {
		return 1
	}
	return 0
}

// stallOnce makes the server stand still once, at a command.
func (f *fake) stallOnce(at int, d time.Duration) {
	f.stall = func(served int) {
		if served == at {
			time.Sleep(d)
		}
	}
}
