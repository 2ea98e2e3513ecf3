package bench

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/redcon"
)

func testConfig(t testing.TB, args ...string) *config {
	t.Helper()
	cfg, err := parseConfig(append([]string{"--seed", "7"}, args...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// parse splits formatted calls into their words.
func parse(t testing.TB, calls []byte) (parsed [][]string) {
	t.Helper()
	for len(calls) > 0 {
		complete, args, _, rest, err := redcon.ReadNextCommand(calls, nil)
		if err != nil || !complete {
			t.Fatalf("not a command: %v in %q", err, calls)
		}
		var words []string
		for _, arg := range args {
			words = append(words, string(arg))
		}
		parsed, calls = append(parsed, words), rest
	}
	return parsed
}

func TestRing(t *testing.T) {
	for _, test := range []struct{ args, words string }{
		{"--command SMISMEMBER", "SMISMEMBER KEY ITEM ITEM ITEM ITEM"},
		{"--command ZADD", "ZADD KEY 1 ITEM 1 ITEM 1 ITEM 1 ITEM"},
		{"--command BF.EXISTS", "BF.EXISTS KEY ITEM"},
		{"--mix dedup.filter|LIMIT|2|items:1", "DEDUP.FILTER KEY LIMIT 2 ITEMS ITEM ITEM ITEM ITEM"},
	} {
		args := strings.Fields(test.args)
		args[1] = strings.ReplaceAll(args[1], "|", " ")
		cfg := testConfig(t, append(args, "--candidates", "4", "--seen", "0.3", "--items", "3", "--keys", "20", "--pipeline", "3")...)
		r := newRing(cfg, newPlanner(cfg), 0)
		perCall := cfg.Commands[0].candidates
		seen, items, keys := 0, 0, map[string]bool{}
		for range 2 * len(r.calls) / cfg.Pipeline {
			calls, n := r.take(cfg.Pipeline)
			parsed := parse(t, calls)
			if n != cfg.Pipeline || len(parsed) != n {
				t.Fatalf("%s: took %d calls, %d parsed", test.args, n, len(parsed))
			}
			for _, words := range parsed {
				keys[words[1]] = true
				loaded := loadedItems(cfg, words[1])
				for i, word := range words {
					if len(word) == cfg.ItemSize && i >= len(words)-2*perCall {
						items++
						if loaded[word] {
							seen++
						}
						words[i] = "ITEM"
					}
				}
				words[1] = "KEY"
				if got := strings.Join(words, " "); got != test.words {
					t.Fatalf("%s: got %q, want %q", test.args, got, test.words)
				}
			}
		}
		if share := float64(seen) / float64(items); share < 0.29 || share > 0.31 {
			t.Errorf("%s: %.3f of the candidates are loaded items, want 0.3", test.args, share)
		}
		if len(keys) != cfg.Keys {
			t.Errorf("%s: %d keys used of %d", test.args, len(keys), cfg.Keys)
		}
	}
}

// loadedItems is what load adds to a key.
func loadedItems(cfg *config, key string) map[string]bool {
	n, _ := strconv.Atoi(strings.TrimPrefix(key, cfg.Prefix))
	items := map[string]bool{}
	for i := range cfg.Items {
		item := []byte(strings.Repeat(".", cfg.ItemSize))
		putItem(item, loadedItem, loadedNumber(n, i))
		items[string(item)] = true
	}
	return items
}

// No fresh item is sent twice, not even after many laps.
func TestFreshItems(t *testing.T) {
	cfg := testConfig(t, "--command", "SADD", "--candidates", "10", "--seen", "0", "--item-size", "8", "--conns", "1000")
	r := newRing(cfg, newPlanner(cfg), 0)
	sent := map[string]bool{}
	for range 200 {
		calls, _ := r.take(cfg.Pipeline)
		for _, words := range parse(t, calls) {
			for _, item := range words[2:] {
				if sent[item] {
					t.Fatalf("%q was sent twice", item)
				}
				sent[item] = true
			}
		}
	}
}

func TestTakeAtTheEnd(t *testing.T) {
	cfg := testConfig(t, "--command", "SMISMEMBER")
	r := newRing(cfg, newPlanner(cfg), 0)
	all := len(r.calls)
	r.take(all - 1)
	if calls, n := r.take(5); n != 1 || len(parse(t, calls)) != 1 {
		t.Errorf("took %d at the end, want 1", n)
	}
	if _, n := r.take(5); n != 5 {
		t.Errorf("took %d after the end, want 5", n)
	}
}

func TestTakeAllocatesNothing(t *testing.T) {
	cfg := testConfig(t, "--mix", "SMISMEMBER:1,SADD:1")
	r := newRing(cfg, newPlanner(cfg), 0)
	if n := testing.AllocsPerRun(100, func() { r.take(16) }); n != 0 {
		t.Errorf("%v allocations a batch, want 0", n)
	}
}

func TestPlanner(t *testing.T) {
	cfg := testConfig(t, "--mix", "SMISMEMBER:7,SISMEMBER:2,SADD:1:5", "--seen", "0.1")
	p := newPlanner(cfg)
	calls, seen := make([]int, 3), make([]int, 3)
	for range 1000 {
		i, n := p.next()
		calls[i]++
		seen[i] += n
	}
	if calls[0] != 700 || calls[1] != 200 || calls[2] != 100 || seen[0] != 14_000 || seen[1] != 20 || seen[2] != 50 {
		t.Errorf("calls %v, seen %v", calls, seen)
	}
}

func BenchmarkTake(b *testing.B) {
	for _, command := range []string{"SMISMEMBER", "SADD"} {
		b.Run(command, func(b *testing.B) {
			cfg := testConfig(b, "--command", command)
			r := newRing(cfg, newPlanner(cfg), 0)
			for b.Loop() {
				r.take(1)
			}
		})
	}
}
