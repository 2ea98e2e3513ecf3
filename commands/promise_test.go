package commands

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"dedupd/storage"
)

// B102: of many sessions that add the same item at once, one is told that it
// is new, whichever command they use.
func TestB102OneIsToldNew(t *testing.T) {
	n := openNode(t, nodeOptions{})
	defer n.close()
	const sessions, rounds = 32, 200
	adds := [][]string{
		{"DEDUP.ADD", "", "x"}, {"DEDUP.MADD", "", "x"}, {"DEDUP.INSERT", "", "ITEMS", "x"}, {"DEDUP.FILTER", "", "MARK", "PLAYED", "WITHINDEX", "ITEMS", "y", "x"},
	}
	told := make([]atomic.Int32, rounds)
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range sessions {
		s := n.session()
		s.do("DEDUP.ADD", "other", "y")
		all.Go(func() {
			<-begin
			for round := range rounds {
				args := append([]string(nil), adds[i%len(adds)]...)
				args[1] = fmt.Sprint(round)
				reply := s.do(args...)
				if i%len(adds) == 3 { // FILTER names position 1
					reply = strings.ReplaceAll(reply, ":0\r\n", "")
				}
				if strings.HasSuffix(reply, ":1\r\n") {
					told[round].Add(1)
				}
			}
		})
	}
	close(begin)
	all.Wait()
	for round := range told {
		if got := told[round].Load(); got != 1 {
			t.Fatalf("round %d: %d sessions were told that the item is new", round, got)
		}
	}
}

// B103: many keys at once, with pipelines of MADD and transactions over two keys.
func TestB103ManyKeysAtOnce(t *testing.T) {
	n := openNode(t, nodeOptions{})
	defer n.close()
	const sessions, keys, perCall = 16, 500, 10
	var all sync.WaitGroup
	for range sessions {
		s := n.session()
		all.Go(func() {
			for key := range keys {
				args := []string{"DEDUP.MADD", fmt.Sprint(key)}
				for item := range perCall {
					args = append(args, fmt.Sprint(item))
				}
				s.do(args...)
				s.do("MULTI")
				s.do("DEDUP.ADD", fmt.Sprint(key), "both")
				s.do("DEDUP.ADD", fmt.Sprint(keys-1-key), "both")
				s.do("EXEC")
			}
		})
	}
	all.Wait()
	s := n.session()
	for key := range keys {
		s.expect(fmt.Sprintf(":%d\r\n", perCall+1), "DEDUP.CARD", fmt.Sprint(key))
	}
}

// B042: whatever the bytes of an item, it is there once it was added, and
// found by every command, also after a restart.
func TestB042NoFalseNegatives(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	n := openNode(t, nodeOptions{})
	defer n.close()
	s := n.session()
	var items [][]byte
	for round := range 60 {
		args := toBytes([]string{[]string{"DEDUP.ADD", "DEDUP.DELIVER", "DEDUP.MADD"}[round%3], "k"})
		for range 1 + rng.IntN(20) {
			args = append(args, randomItem(rng))
		}
		items = append(items, args[2:]...)
		s.run(args)
	}
	reply, _ := s.run(append(toBytes([]string{"DEDUP.MEXISTS", "k"}), items...))
	if want := fmt.Sprintf("*%d\r\n%s", len(items), strings.Repeat(":1\r\n", len(items))); reply != want {
		t.Error("MEXISTS misses an item")
	}
	if reply, _ := s.run(append(toBytes([]string{"DEDUP.FILTER", "k", "ITEMS"}), items...)); reply != "*0\r\n" {
		t.Errorf("FILTER returns items that were seen: %.100q", reply)
	}
}

// randomItem is mostly short, sometimes as long as may be.
func randomItem(rng *rand.Rand) []byte {
	size := rng.IntN(40)
	if rng.IntN(20) == 0 {
		size = rng.IntN(storage.MaxItem + 1)
	}
	item := make([]byte, size)
	for i := range item {
		item[i] = byte(rng.Uint32())
	}
	return item
}
