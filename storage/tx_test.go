package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dedupd/storage/log"
)

// TestHotPathDoesNotAllocate holds the promise of no allocation per command,
// for checks and for adds.
func TestHotPathDoesNotAllocate(t *testing.T) {
	s := openTest(t, testOptions())
	tx := s.NewTx()
	key := []byte("home:42")
	items := make([][]byte, 200)
	for i := range items {
		items[i] = fmt.Appendf(nil, "item-%d", i)
	}
	play(t, tx, string(key), items[:100]...)
	fresh := 0
	item := make([]byte, 8)
	commands := map[string]func(){
		"MEXISTS of 200": func() {
			tx.Begin(Read, key)
			tx.Exists(key, items, All)
			tx.Commit()
		},
		"ADD of what is there": func() {
			tx.Begin(Write, key)
			tx.Play(key, items[:100], Now)
			tx.Commit()
		},
		"ADD of something new": func() {
			fresh++
			putUint64(item, uint64(fresh))
			tx.Begin(Write, key)
			tx.Play(key, [][]byte{item}, Now)
			tx.Commit()
		},
		"FILTER LIMIT 20 MARK": func() {
			tx.Begin(Write, key)
			tx.Filter(key, items, FilterOptions{Limit: 20, Layers: Played, Mark: Delivered})
			tx.Commit()
		},
		"REM": func() {
			tx.Begin(Write, key)
			tx.Forget(key, items[199:], All)
			tx.Commit()
		},
	}
	for name, command := range commands {
		if n := testing.AllocsPerRun(2000, command); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}

// TestB102OneWins adds the same item from many goroutines: exactly one is
// told that it is new.
func TestB102OneWins(t *testing.T) {
	s := openTest(t, testOptions())
	for round := range 300 {
		item := list(fmt.Sprint(round))
		var wins sync.Map
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() {
				tx := s.NewTx()
				if err := tx.Begin(Write, []byte("u")); err != nil {
					t.Error(err)
					return
				}
				if flags, _ := tx.Play([]byte("u"), item, Now); flags[0] {
					wins.Store(g, true)
				}
				tx.Commit()
			})
		}
		wg.Wait()
		n := 0
		wins.Range(func(any, any) bool { n++; return true })
		if n != 1 {
			t.Fatalf("round %d: %d were told that the item is new, want 1", round, n)
		}
	}
}

// TestB103ManyKeysManyWriters is for the race detector: transactions over
// several keys in any order, with removals, and counts that come out right.
func TestB103ManyKeysManyWriters(t *testing.T) {
	s := openTest(t, testOptions())
	const writers, rounds, keys = 8, 300, 50
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			tx := s.NewTx()
			for i := range rounds {
				a, b := fmt.Appendf(nil, "k%d", i%keys), fmt.Appendf(nil, "k%d", (i*7+w)%keys)
				if err := tx.Begin(Write, a, b); err != nil {
					t.Error(err)
					return
				}
				tx.Play(a, list(fmt.Sprintf("%d-%d", w, i), "passing"), Now)
				tx.Forget(a, list("passing"), All)
				tx.Filter(b, list("x", "y", "z"), FilterOptions{Limit: 2, Layers: All, Mark: Delivered})
				tx.Commit()
			}
		})
	}
	wg.Wait()
	tx := s.NewTx()
	total := 0
	for k := range keys {
		key := begin(t, tx, Read, fmt.Sprintf("k%d", k))
		total += tx.Card(key)
		commit(t, tx)
	}
	if total != writers*rounds {
		t.Errorf("%d items are played, want %d", total, writers*rounds)
	}
	// The item that was removed again and again stays staged, and hidden.
	if st := s.Stats(); st.Staged != int64(total+keys) || st.Keys != keys {
		t.Errorf("counters say %d items and %d keys, want %d and %d", st.Staged, st.Keys, total+keys, keys)
	}
}

// TestMemoryRunsOut fills the hot layer: writes are refused, reads go on, and
// storing what is staged makes room again.
func TestMemoryRunsOut(t *testing.T) {
	o := testOptions()
	o.HotBytes = 8 << 20
	s := openTest(t, o)
	tx := s.NewTx()
	items := list("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	added := 0
	for ; ; added++ {
		key := fmt.Appendf(nil, "user:%d", added)
		err := tx.Begin(Write, key)
		if errors.Is(err, ErrMemory) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Play(key, items, Now); err != nil {
			t.Fatal(err)
		}
		commit(t, tx)
	}
	if used := s.used.Load(); used < o.HotBytes || used > o.HotBytes+1<<20 {
		t.Errorf("refused at %d bytes, the limit is %d", used, o.HotBytes)
	}
	if seen := exists(t, tx, "user:0", All, list("a", "no")...); !seen[0] || seen[1] {
		t.Errorf("a read without memory says %v", seen)
	}
	if _, err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.StoreOldest(context.Background()); err != nil {
		t.Fatal(err)
	}
	for k := range added {
		play(t, tx, fmt.Sprintf("user:%d", k), items[0])
		if seen := exists(t, tx, fmt.Sprintf("user:%d", added-1-k), All, items...); !seen[9] {
			t.Fatalf("user:%d has lost its items: %v", added-1-k, seen)
		}
		if used := s.used.Load(); used > o.HotBytes+1<<20 {
			t.Fatalf("%d bytes are used, the limit is %d", used, o.HotBytes)
		}
	}
}

// TestSweepGivesMemoryBack lets delivered items and tokens outlive their time
// under keys that nobody asks for again; writes elsewhere free them.
func TestSweepGivesMemoryBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions()
		o.Fsync = log.No
		s, err := Open(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		tx := s.NewTx()
		for k := range 20_000 {
			key := begin(t, tx, Write, fmt.Sprintf("user:%d", k))
			tx.Deliver(key, list("some item", "another item"))
			tx.Remember(key, []byte("token"), []byte("*0\r\n"))
			commit(t, tx)
		}
		full := s.used.Load()
		time.Sleep(deliveredTTL + time.Second)
		for k := range 40_000 {
			play(t, tx, fmt.Sprintf("other:%d", k%1000), list("x")...)
		}
		if st := s.Stats(); st.Delivered != 0 || st.Keys != 1000 {
			t.Errorf("%d delivered items and %d keys are left, want 0 and 1000", st.Delivered, st.Keys)
		}
		if used := s.used.Load(); used > full/2 { // some partly filled pages a shard remain
			t.Errorf("%d bytes used, %d when full", used, full)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestDeliveredLivesItsTime asks at the instants around the end of an item's
// life (B049): the life is half-open.
func TestDeliveredLivesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(context.Background(), testOptions())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		tx := s.NewTx()
		key := begin(t, tx, Write, "u")
		tx.Deliver(key, list("x"))
		commit(t, tx)
		time.Sleep(deliveredTTL - time.Millisecond)
		if !exists(t, tx, "u", All, list("x")...)[0] {
			t.Error("forgotten a millisecond too early")
		}
		time.Sleep(time.Millisecond)
		if exists(t, tx, "u", All, list("x")...)[0] {
			t.Error("still there at the end of its life")
		}
	})
}

// TestAbortRefusesWrites breaks off in the middle of a command: locks are
// free again, reads go on, and nothing is written on top of what may be half
// done.
func TestAbortRefusesWrites(t *testing.T) {
	s := openTest(t, testOptions())
	tx := s.NewTx()
	play(t, tx, "u", list("a")...)
	func() {
		defer func() {
			recover()
			tx.Abort()
		}()
		begin(t, tx, Write, "u")
		panic("in the middle")
	}()
	var readOnly *ReadOnlyError
	if err := tx.Begin(Write, []byte("u")); !errors.As(err, &readOnly) {
		t.Errorf("a write after an abort: %v, want a ReadOnlyError", err)
	}
	if !exists(t, tx, "u", All, list("a")...)[0] {
		t.Error("a read after an abort does not see the item")
	}
	if s.Stats().ReadOnly == nil {
		t.Error("the state is not visible")
	}
}
