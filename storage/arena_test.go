package storage

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

func TestArenaKeepsBlocksApart(t *testing.T) {
	var used atomic.Int64
	a := newArena(&used)
	rng := rand.New(rand.NewPCG(1, 2))
	type block struct {
		ref  ref
		mark uint64
	}
	var live []block
	for i := range 200_000 {
		if len(live) > 0 && rng.IntN(100) < 48 {
			k := rng.IntN(len(live))
			b := live[k]
			for _, w := range a.words(b.ref) {
				if w != b.mark {
					t.Fatalf("step %d: block %x holds %x, want %x", i, b.ref, w, b.mark)
				}
			}
			a.free(b.ref)
			live[k] = live[len(live)-1]
			live = live[:len(live)-1]
			continue
		}
		words := 1 + rng.IntN(64)
		if rng.IntN(100) == 0 {
			words = 1 + rng.IntN(4*maxInPage)
		}
		r := a.alloc(words)
		if r == 0 || len(a.words(r)) < words || len(a.words(r)) != blockWords(words) {
			t.Fatalf("step %d: alloc(%d) is ref %x with %d words, want %d", i, words, r, len(a.words(r)), blockWords(words))
		}
		mark := rng.Uint64()
		for k := range a.words(r) {
			a.words(r)[k] = mark
		}
		live = append(live, block{r, mark})
	}
	for _, b := range live {
		a.free(b.ref)
	}
	if used.Load() != 0 {
		t.Errorf("%d bytes are used after everything was freed", used.Load())
	}
	for class, head := range a.room {
		if head != noPage {
			t.Errorf("class %d lists page %d after everything was freed", class, head)
		}
	}
}

func TestArenaClasses(t *testing.T) {
	for words := 1; words <= 4*maxInPage; words++ {
		got := blockWords(words)
		if got < words {
			t.Fatalf("a request of %d words gets %d", words, got)
		}
		if words > 10 && got-words > words*27/100 {
			t.Errorf("a request of %d words gets %d: more than 27 %% too many", words, got)
		}
	}
}

func TestArenaDoesNotAllocate(t *testing.T) {
	var used atomic.Int64
	a := newArena(&used)
	a.alloc(8)
	if n := testing.AllocsPerRun(1000, func() { a.free(a.alloc(8)) }); n != 0 {
		t.Errorf("%v allocations for a block, want 0", n)
	}
}
