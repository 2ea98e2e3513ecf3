package storage

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
)

type modelDelivery struct {
	item string
	at   int64
}

// TestDeliveredAgainstModel drives one list against a plain slice: pushes,
// pushes of what is there, removals by item and by hash, expiry, small and
// large items.
func TestDeliveredAgainstModel(t *testing.T) {
	hash := func(item []byte) uint64 {
		f := fnv.New64a()
		f.Write(item)
		return f.Sum64()
	}
	for _, keep := range []int{1, 2, 7, 1000} {
		var used atomic.Int64
		a := newArena(&used)
		rng := rand.New(rand.NewPCG(5, uint64(keep)))
		draw := func() []byte {
			n := rng.IntN(2 * keep)
			return fmt.Appendf(nil, "%d%s", n, bytes.Repeat([]byte{'x'}, n%5*n%300))
		}
		var r ref
		var model []modelDelivery
		drop := func(item string) bool {
			i := slices.IndexFunc(model, func(m modelDelivery) bool { return m.item == item })
			if i >= 0 {
				model = slices.Delete(model, i, i+1)
			}
			return i >= 0
		}
		for now := int64(1); now < 20_000; now++ {
			item := draw()
			switch op := rng.IntN(100); {
			case op < 60:
				drop(string(item))
				model = append(model, modelDelivery{string(item), now})
				model = model[max(0, len(model)-keep):]
				r = deliver(&a, r, hash(item), item, now, keep, hash)
			case r == 0:
			case op < 75:
				d := openDelivered(a.words(r))
				e := d.find(hash(item), item)
				if e >= 0 {
					d.kill(e)
				}
				if drop(string(item)) != (e >= 0) {
					t.Fatalf("keep %d, step %d: find(%q) = %d against the model", keep, now, item, e)
				}
			case op < 90:
				drop(string(item))
				openDelivered(a.words(r)).killHash(hash(item), hash)
			case op < 92:
				since := now - int64(rng.IntN(2*keep))
				model = slices.DeleteFunc(model, func(m modelDelivery) bool { return m.at <= since })
				openDelivered(a.words(r)).expire(since)
			}
			if r != 0 {
				compareDelivered(t, openDelivered(a.words(r)), model)
			}
		}
		a.free(r)
		if used.Load() != 0 {
			t.Errorf("keep %d: %d bytes left", keep, used.Load())
		}
	}
}

func compareDelivered(t *testing.T, d delivered, model []modelDelivery) {
	t.Helper()
	if d.live() != len(model) {
		t.Fatalf("%d live, want %d", d.live(), len(model))
	}
	i := 0
	for e := d.first(); e < d.used(); e++ {
		if d.dead(e) {
			continue
		}
		if string(d.item(e)) != model[i].item || d.time(e) != model[i].at {
			t.Fatalf("entry %d is %q at %d, want %q at %d", i, d.item(e), d.time(e), model[i].item, model[i].at)
		}
		i++
	}
}
