package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// inProcess is a dedupd in this process, started as run starts it.
type inProcess struct {
	t    *testing.T
	addr string
	log  *lines
	stop func()
}

// serveHere starts a server on loopback with these flags besides. The test ends
// it, and fails if it warned of anything.
func serveHere(t *testing.T, flags ...string) *inProcess {
	t.Helper()
	p := &inProcess{t: t, log: &lines{}}
	flags = append([]string{"--addr", "127.0.0.1:0", "--maxmemory", "1gb"}, flags...)
	cfg, err := parseConfig(flags, func(string) string { return "" }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	in, err := start(context.Background(), cfg, p.log)
	if err != nil {
		t.Fatal(err)
	}
	p.addr = in.listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- in.serve(ctx) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		for _, line := range p.log.all() {
			if !strings.Contains(line, "level=INFO") {
				t.Errorf("the server logs %q", line)
			}
		}
	})
	t.Cleanup(p.stop)
	return p
}

// client connects go-redis, which must log nothing until the test's end.
func (p *inProcess) client(o redis.Options) *redis.Client {
	p.t.Helper()
	o.Addr = p.addr
	rdb := redis.NewClient(&o)
	goRedisLog.take()
	p.t.Cleanup(func() {
		if err := rdb.Close(); err != nil {
			p.t.Error(err)
		}
		for _, line := range goRedisLog.take() {
			p.t.Errorf("go-redis logs %q", line)
		}
	})
	return rdb
}

// lines keeps what is logged, a line a call. Safe from any goroutine.
type lines struct {
	mu   sync.Mutex
	list []string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, string(bytes.TrimSpace(b)))
	return len(b), nil
}

func (l *lines) Printf(_ context.Context, format string, args ...any) {
	_, _ = fmt.Fprintf(l, format, args...) // it cannot fail
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list
}

func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list
	l.list = nil
	return list
}

// goRedisLog is go-redis's log, of all its clients.
var goRedisLog = func() *lines {
	l := &lines{}
	redis.SetLogger(l)
	return l
}()

// eachProtocol runs the test with a client of RESP2 and one of RESP3.
func eachProtocol(t *testing.T, test func(t *testing.T, rdb *redis.Client)) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			p := serveHere(t, "--dir", t.TempDir())
			test(t, p.client(redis.Options{Protocol: protocol, ClientName: "tester"}))
		})
	}
}

// expectReply compares what a command returned.
func expectReply(t *testing.T, cmd *redis.Cmd, want any) {
	t.Helper()
	if got, err := cmd.Result(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%.200v: %#v, %v, want %#v", cmd.Args(), got, err, want)
	}
}

// array is a reply of several elements; an int stands for an integer reply.
func array(elements ...any) []any {
	list := make([]any, len(elements)) // not nil when empty: go-redis's is not
	for i, element := range elements {
		list[i] = element
		if n, ok := element.(int); ok {
			list[i] = int64(n)
		}
	}
	return list
}

// B010: the replies are the same in both protocols.
func TestB010GoRedisDo(t *testing.T) {
	eachProtocol(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		expectReply(t, rdb.Do(ctx, "DEDUP.MEXISTS", "home:42", "a", "b"), array(0, 0))
		expectReply(t, rdb.Do(ctx, "DEDUP.ADD", "home:42", "a", "b", "a"), int64(2))
		expectReply(t, rdb.Do(ctx, "DEDUP.MADD", "home:42", "a", "c"), array(0, 1))
		expectReply(t, rdb.Do(ctx, "DEDUP.EXISTS", "home:42", "a"), int64(1))
		expectReply(t, rdb.Do(ctx, "DEDUP.MEXISTS", "home:42", "a", "z", []byte("\x00\r\n")), array(1, 0, 0))
		expectReply(t, rdb.Do(ctx, "DEDUP.FILTER", "home:42", "LIMIT", 2, "MARK", "TOKEN", "t", "ITEMS", "a", "x", "b", "y", "z"), array("x", "y"))
		expectReply(t, rdb.Do(ctx, "DEDUP.FILTER", "home:42", "WITHINDEX", "ITEMS", "a", "x", "b", "y", "z"), array(4))
		expectReply(t, rdb.Do(ctx, "DEDUP.FILTER", "home:42", "ITEMS", "a", "x"), array())
		expectReply(t, rdb.Do(ctx, "DEDUP.DELIVER", "home:42", "x", "q"), int64(1))
		expectReply(t, rdb.Do(ctx, "DEDUP.CARD", "home:42"), int64(3))
		expectReply(t, rdb.Do(ctx, "DEDUP.REM", "home:42", "ITEMS", "a"), int64(1))
		expectReply(t, rdb.Do(ctx, "DEDUP.INSERT", "home:42", "BLIND", "ITEMS", "a", "b"), int64(2))
		recent, err := rdb.Do(ctx, "DEDUP.RECENT", "home:42", "COUNT", 1).Slice()
		if err != nil || len(recent) != 1 || recent[0].([]any)[0] != "q" || recent[0].([]any)[1].(int64) < 1e12 {
			t.Errorf("RECENT: %v, %v", recent, err)
		}
	})
}

func TestGoRedisPipeline(t *testing.T) {
	eachProtocol(t, func(t *testing.T, rdb *redis.Client) {
		const calls = 500
		replies, err := rdb.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for i := range calls {
				pipe.Do(t.Context(), "DEDUP.MADD", "k", i, i/2)
			}
			return nil
		})
		if err != nil || len(replies) != calls {
			t.Fatal(len(replies), err)
		}
		expectReply(t, replies[0].(*redis.Cmd), array(1, 0))
		for i, reply := range replies[1:] {
			if got := reply.(*redis.Cmd).Val(); !reflect.DeepEqual(got, array(1, 0)) {
				t.Fatalf("reply %d: %v", i+1, got)
			}
		}
		expectReply(t, rdb.Do(t.Context(), "DEDUP.CARD", "k"), int64(calls))
	})
}

func TestGoRedisTransaction(t *testing.T) {
	eachProtocol(t, func(t *testing.T, rdb *redis.Client) {
		var added, seen, wrong, unseen *redis.Cmd
		_, err := rdb.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error {
			added = pipe.Do(t.Context(), "DEDUP.ADD", "k", "a", "b")
			seen = pipe.Do(t.Context(), "DEDUP.MEXISTS", "k", "a", "z")
			wrong = pipe.Do(t.Context(), "DEDUP.FILTER", "k", "LIMIT", 0, "ITEMS", "a")
			unseen = pipe.Do(t.Context(), "DEDUP.FILTER", "k", "ITEMS", "a", "y")
			return nil
		})
		if err == nil || err.Error() != wrong.Err().Error() || !strings.HasPrefix(err.Error(), "ERR LIMIT '0'") {
			t.Errorf("error %v", err)
		}
		expectReply(t, added, int64(2))
		expectReply(t, seen, array(1, 0))
		expectReply(t, unseen, array("y"))
		_, err = rdb.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error {
			pipe.Do(t.Context(), "DEDUP.ADD", "k", "c")
			pipe.Do(t.Context(), "DEDUP.ADD", "k")
			return nil
		})
		if err == nil || !strings.HasPrefix(err.Error(), "EXECABORT") && !strings.HasPrefix(err.Error(), "ERR wrong number") {
			t.Errorf("error %v", err)
		}
		expectReply(t, rdb.Do(t.Context(), "DEDUP.EXISTS", "k", "c"), int64(0))
	})
}

func TestGoRedisErrors(t *testing.T) {
	eachProtocol(t, func(t *testing.T, rdb *redis.Client) {
		for _, tc := range []struct {
			args []any
			want string
		}{
			{[]any{"DEDUP.ADD", "k"}, "ERR wrong number of arguments for 'dedup.add' command"},
			{[]any{"DEDUP.FILTER", "k", "LIMIT", 1, "a"}, "ERR syntax error: 'a' before ITEMS; valid: LIMIT, MARK, TOKEN, WITHINDEX, LAYER"},
			{[]any{"GET", "k"}, "ERR unknown command 'GET', with args beginning with: 'k' "},
			{[]any{"CLIENT", "CACHING", "YES"}, "ERR unknown subcommand 'CACHING'. Try CLIENT HELP."},
			{[]any{"DEDUP.ADD", strings.Repeat("k", 5000), "a"}, "ERR the key has 5000 bytes; valid: 0 to 4096"},
		} {
			if err := rdb.Do(t.Context(), tc.args...).Err(); err == nil || err.Error() != tc.want {
				t.Errorf("%.50v: %v", tc.args, err)
			}
		}
		if err := rdb.Ping(t.Context()).Err(); err != nil {
			t.Error(err)
		}
	})
}

// The typed commands of go-redis read our replies.
func TestGoRedisIntrospection(t *testing.T) {
	eachProtocol(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		table, err := rdb.Command(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		if row := table["dedup.filter"]; row == nil || row.FirstKeyPos != 1 || row.LastKeyPos != 1 || row.StepCount != 1 || row.Arity != -4 || row.ReadOnly {
			t.Errorf("dedup.filter: %+v", row)
		}
		if row := table["dedup.mexists"]; row == nil || !row.ReadOnly {
			t.Errorf("dedup.mexists: %+v", row)
		}
		if docs, err := rdb.Do(ctx, "COMMAND", "DOCS").Result(); err != nil || reflect.ValueOf(docs).Len() < len(table) {
			t.Errorf("COMMAND DOCS: %v, %v", docs, err)
		}
		if name, err := rdb.ClientGetName(ctx).Result(); err != nil || name != "tester" {
			t.Errorf("name %q, %v", name, err)
		}
		if info, err := rdb.ClientInfo(ctx).Result(); err != nil || info.Name != "tester" || info.LibVer == "" || !strings.Contains(info.LibName, "go-redis") {
			t.Errorf("CLIENT INFO: %+v, %v", info, err)
		}
		if settings, err := rdb.ConfigGet(ctx, "*").Result(); err != nil || settings["appendonly"] != "yes" || settings["save"] != "" {
			t.Errorf("CONFIG GET: %v, %v", settings, err)
		}
		if info, err := rdb.InfoMap(ctx, "server", "replication").Result(); err != nil || info["Replication"]["role"] != "master" || info["Server"]["redis_mode"] != "standalone" {
			t.Errorf("INFO: %v, %v", info, err)
		}
		if echo, err := rdb.Echo(ctx, "\x00\r\n").Result(); err != nil || echo != "\x00\r\n" {
			t.Errorf("ECHO: %q, %v", echo, err)
		}
	})
}

func TestGoRedisPassword(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		p := serveHere(t, "--dir", t.TempDir(), "--requirepass", "a secret")
		right := p.client(redis.Options{Protocol: protocol, Password: "a secret"})
		expectReply(t, right.Do(t.Context(), "DEDUP.ADD", "k", "a"), int64(1))
		named := p.client(redis.Options{Protocol: protocol, Username: "default", Password: "a secret"})
		expectReply(t, named.Do(t.Context(), "DEDUP.EXISTS", "k", "a"), int64(1))
		for want, options := range map[string]redis.Options{
			"NOAUTH":    {},
			"WRONGPASS": {Password: "wrong"},
		} {
			options.Protocol, options.MaxRetries = protocol, -1
			err := p.client(options).Do(t.Context(), "DEDUP.EXISTS", "k", "a").Err()
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("RESP%d: %v, want %s", protocol, err, want)
			}
		}
	}
}

// A client goes on when the server was stopped and started again, and finds
// all that it had added.
func TestGoRedisReconnects(t *testing.T) {
	dir := t.TempDir()
	p := serveHere(t, "--dir", dir)
	rdb := p.client(redis.Options{})
	expectReply(t, rdb.Do(t.Context(), "DEDUP.ADD", "k", "always"), int64(1))
	for round := range 3 {
		expectReply(t, rdb.Do(t.Context(), "DEDUP.ADD", "k", round, "always"), int64(1))
		p.stop()
		p = serveHere(t, "--dir", dir, "--addr", p.addr)
	}
	expectReply(t, rdb.Do(t.Context(), "DEDUP.MEXISTS", "k", 0, 1, 2, 3, "always"), array(1, 1, 1, 0, 1))
}
