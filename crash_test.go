package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	crashRounds = flag.Int("crash.rounds", 2, "rounds of the kill -9 test")
	crashItems  = flag.Int("crash.items", 100_000, "items acknowledged in each round of the kill -9 test, at least")
	crashSeed   = flag.Uint64("crash.seed", 0, "seed of the kill -9 test; 0: a random one")
)

// asServer makes the test binary run as dedupd: the tests that kill it start
// the real program without having to build it.
const asServer = "DEDUPD_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestKill9LosesNothing writes from several connections, kills the process at
// a random moment, in the middle of a flush or while it still starts, and asks the next one
// for every item that was acknowledged, in every durability setting: what is
// acknowledged has been handed to the system, which outlives the process.
func TestKill9LosesNothing(t *testing.T) {
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	c := &crashTest{t: t, rng: rand.New(rand.NewPCG(seed, 0)), dir: t.TempDir(), acked: map[string]int{}}
	for round := range *crashRounds {
		c.fsync = []string{"everysec", "always", "no"}[round%3]
		c.round(round)
	}
	p := c.start()
	c.check(p)
	p.kill()
}

type crashTest struct {
	t     *testing.T
	rng   *rand.Rand
	dir   string
	fsync string

	mu    sync.Mutex
	acked map[string]int // by key: items 0 to n-1 were acknowledged
	total int
}

// round checks what the rounds before left behind, writes, and kills.
func (c *crashTest) round(round int) {
	if c.rng.IntN(3) == 0 { // killed while it starts
		p := c.launch()
		time.Sleep(time.Duration(c.rng.IntN(60)) * time.Millisecond)
		p.kill()
	}
	p := c.start()
	c.check(p)
	before := c.total
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() { c.write(p, fmt.Sprintf("round:%d:writer:%d", round, w)) })
	}
	writers.Go(func() { c.flush(p) })
	for c.count()-before < *crashItems {
		if c.t.Failed() {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(time.Duration(c.rng.IntN(50)) * time.Millisecond)
	p.kill()
	writers.Wait()
	c.t.Logf("round %d, fsync %s: %d items acknowledged", round, c.fsync, c.total-before)
}

// flush moves what there is to disk, again and again, until the server is
// gone; the wheel does the same once a second.
func (c *crashTest) flush(p *process) {
	client := p.client()
	defer client.Close()
	for {
		if err := client.Do(context.Background(), "DEDUP.WHEEL", "FLUSH").Err(); err != nil {
			if strings.HasPrefix(err.Error(), "ERR") {
				c.t.Error(err)
			}
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (c *crashTest) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// write adds items to keys of its own until the server is gone, and notes
// those whose reply came.
func (c *crashTest) write(p *process, name string) {
	client := p.client()
	defer client.Close()
	const perCall, calls = 20, 10
	for n := 0; ; n++ {
		key := fmt.Sprintf("%s:%d", name, n)
		pipe := client.Pipeline()
		for call := range calls {
			pipe.Do(context.Background(), append([]any{"DEDUP.ADD", key}, crashNames(call*perCall, perCall)...)...)
		}
		replies, err := pipe.Exec(context.Background())
		done := 0
		for _, reply := range replies {
			if reply.Err() != nil {
				break
			}
			done += perCall
		}
		c.mu.Lock()
		c.acked[key] = done
		c.total += done
		c.mu.Unlock()
		if err != nil {
			if strings.HasPrefix(err.Error(), "ERR") || strings.HasPrefix(err.Error(), "MISCONF") {
				c.t.Error(err)
			}
			return
		}
	}
}

func crashNames(from, n int) []any {
	items := make([]any, n)
	for i := range items {
		items[i] = fmt.Sprintf("item-%d", from+i)
	}
	return items
}

// check asks for all that was ever acknowledged.
func (c *crashTest) check(p *process) {
	client := p.client()
	defer client.Close()
	missing := 0
	for key, n := range c.acked {
		if n == 0 {
			continue
		}
		seen, err := client.Do(context.Background(), append([]any{"DEDUP.MEXISTS", key}, crashNames(0, n)...)...).Int64Slice()
		if err != nil {
			c.t.Fatal(err)
		}
		for _, flag := range seen {
			missing += int(1 - flag)
		}
	}
	if missing > 0 {
		c.t.Fatalf("%d of %d acknowledged items are missing after kill -9", missing, c.total)
	}
}

// process is a dedupd that can be killed.
type process struct {
	cmd  *exec.Cmd
	addr string
}

func (c *crashTest) launch() *process {
	c.t.Helper()
	p := &process{addr: freeAddr(c.t)}
	p.cmd = exec.Command(os.Args[0], "--addr", p.addr, "--dir", c.dir, "--fsync", c.fsync, "--maxmemory", "256mb", "--wheel-slot", "1s")
	p.cmd.Env = append(os.Environ(), asServer+"=1")
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if line := lines.Text(); !strings.Contains(line, "level=INFO") && !strings.Contains(line, "torn") {
				c.t.Log(line)
			}
		}
	}()
	c.t.Cleanup(p.kill)
	return p
}

// start launches the server and waits until it answers.
func (c *crashTest) start() *process {
	c.t.Helper()
	p := c.launch()
	client := p.client()
	defer client.Close()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if client.Ping(context.Background()).Err() == nil {
			return p
		}
		if time.Now().After(deadline) {
			c.t.Fatal("the server does not answer")
		}
	}
}

func (p *process) client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: p.addr, MaxRetries: -1, Protocol: 2, DisableIdentity: true})
}

// kill is kill -9, as often as one likes.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// freeAddr is an address on loopback that nobody listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// TestB128OneProcessADirectory starts a second process on a directory in use,
// by its name and through a link: refused at once, the first undisturbed. A
// lock left by kill -9 is no obstacle.
func TestB128OneProcessADirectory(t *testing.T) {
	c := &crashTest{t: t, dir: t.TempDir(), fsync: "no", acked: map[string]int{}}
	first := c.start()
	link := t.TempDir() + "/link"
	if err := os.Symlink(c.dir, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{c.dir, link} {
		second := exec.Command(os.Args[0], "--addr", freeAddr(t), "--dir", dir)
		second.Env = append(os.Environ(), asServer+"=1")
		out, err := second.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "in use by another process") {
			t.Errorf("a second process on %s: %v, %s", dir, err, out)
		}
	}
	client := first.client()
	defer client.Close()
	if err := client.Do(context.Background(), "DEDUP.ADD", "u", "a").Err(); err != nil {
		t.Error(err)
	}
	first.kill()
	c.start().kill()
}
