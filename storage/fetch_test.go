package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dedupd/storage/log"
)

func seal(t testing.TB, s *Store) uint64 {
	t.Helper()
	slot, err := s.Seal()
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

func storeOldest(t testing.TB, s *Store) Stored {
	t.Helper()
	stored, err := s.StoreOldest(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// storeAll seals the open slot and stores all there are.
func storeAll(t testing.TB, s *Store) {
	t.Helper()
	seal(t, s)
	for s.Sealed() > 0 {
		storeOldest(t, s)
	}
}

// evictAll makes the hot layer forget whatever it can read again.
func evictAll(s *Store) {
	for _, sh := range s.shards {
		sh.mu.Lock()
		for range 2 { // the first visit spares what was used
			sh.evict(len(sh.index.slots), s.coldEmpty.Load())
		}
		sh.mu.Unlock()
	}
}

// evictKey makes the hot layer forget what is stored of one key.
func evictKey(s *Store, key string) {
	salt := s.secret.Salt([]byte(key))
	sh := s.shard(salt)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.find(salt, []byte(key))
	if !e.exists() || s.coldEmpty.Load() {
		return
	}
	e.forgetStored()
	if e.bare() {
		sh.drop(e)
	}
}

// isHot says whether a check of the key needs no read from disk.
func isHot(s *Store, key string) bool {
	salt := s.secret.Salt([]byte(key))
	sh := s.shard(salt)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.find(salt, []byte(key)).knows(Everything, nowMillis())
}

func numbered(name string, from, n int) [][]byte {
	items := make([][]byte, n)
	for i := range items {
		items[i] = fmt.Appendf(nil, "%s-%d", name, from+i)
	}
	return items
}

// withPressure makes the budget so small that each command evicts, but does
// not refuse writes.
func withPressure(s *Store) { s.evictAt = 0 }

// within fails the test if fn does not end in time. fn goes on then.
func within(t *testing.T, d time.Duration, what string, fn func()) bool {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	select {
	case <-done:
		return true
	case <-time.After(d):
		t.Errorf("%s has not ended after %v", what, d)
		return false
	}
}

// TestFetchUnderPressureEnds: whoever reads a key gets it, even if nothing but
// what was just read can be evicted.
func TestFetchUnderPressureEnds(t *testing.T) {
	s := openTest(t, testOptions())
	tx := s.NewTx()
	play(t, tx, "u", list("a", "b")...)
	play(t, tx, "v", list("c")...)
	storeAll(t, s)
	evictAll(s)
	evictAt := s.evictAt
	withPressure(s)
	ended := within(t, 2*time.Second, "a read under memory pressure", func() {
		if seen := exists(t, s.NewTx(), "u", All, list("a", "x")...); !seen[0] || seen[1] {
			t.Errorf("answer %v", seen)
		}
	})
	if ended {
		within(t, 2*time.Second, "a transaction over two keys under memory pressure", func() {
			tx := s.NewTx()
			if err := tx.Begin(Read, []byte("u"), []byte("v")); err != nil {
				t.Error(err)
				return
			}
			if !tx.Exists([]byte("u"), list("a"), All)[0] || !tx.Exists([]byte("v"), list("c"), All)[0] {
				t.Error("wrong answers")
			}
			tx.Commit()
		})
	}
	s.evictAt = evictAt // lets it end
	time.Sleep(20 * time.Millisecond)
}

// TestBeginKeepsItsKeys: what Begin does for memory must not take away what it
// has just seen to: that the keys of the transaction are known.
func TestBeginKeepsItsKeys(t *testing.T) {
	for _, pressure := range []bool{false, true} {
		t.Run(fmt.Sprintf("pressure=%v", pressure), func(t *testing.T) {
			s := openTest(t, testOptions())
			tx := s.NewTx()
			const keys = 200
			key := func(k int) string { return fmt.Sprintf("user:%d", k) }
			for k := range keys {
				play(t, tx, key(k), list("removed", "kept", "rem later")...)
				begin(t, tx, Write, key(k))
				tx.Forget([]byte(key(k)), list("removed"), All)
				tx.Deliver([]byte(key(k)), list("delivered"))
				commit(t, tx)
			}
			storeAll(t, s)
			evictAll(s)
			for k := range keys {
				exists(t, tx, key(k), All, list("kept")...) // without pressure
				if k%2 == 0 {
					evictKey(s, key(k)) // the next command must fetch
				}
			}
			press := func(on bool) { // only while a command on a hot key begins
				if on && pressure {
					s.evictAt = 0
				} else {
					s.evictAt = s.hotBytes
				}
			}
			wrong := map[string]int{}
			for k := range keys {
				name := []byte(key(k))
				if pressure {
					exists(t, tx, key(k), All)
				}
				press(true)
				switch k % 4 {
				case 0: // BLIND knows the lists only
					begin(t, tx, Blind, key(k))
					if err := tx.PlayBlind(name, list("removed"), Now); err != nil {
						t.Error(err)
					}
				case 1:
					begin(t, tx, Write, key(k))
					if isNew, _ := tx.Play(name, list("kept", "removed"), Now); isNew[0] {
						wrong["ADD says that a stored item is new"]++
					}
				case 2:
					begin(t, tx, Write, key(k))
					if tx.Forget(name, list("rem later"), All) != 1 {
						wrong["REM does not find a stored item"]++
					}
					tx.Play(name, list("removed"), Now)
				case 3:
					begin(t, tx, Write, key(k))
					tx.Deliver(name, list("delivered later"))
					tx.Play(name, list("removed"), Now)
				}
				commit(t, tx)
				press(false)
			}
			s.evictAt = s.hotBytes
			evictAll(s)
			for k := range keys {
				got := exists(t, tx, key(k), All, list("removed", "kept", "delivered")...)
				if slices.Contains(got, false) {
					wrong[fmt.Sprintf("case %d: acknowledged items are unseen: removed+added, kept, delivered: %v", k%4, got)]++
				}
				if k%4 == 3 && !exists(t, tx, key(k), Delivered, list("delivered later")...)[0] {
					wrong["a delivered item is lost"]++
				}
				if k%4 == 2 && exists(t, tx, key(k), All, list("rem later")...)[0] {
					wrong["an item that was removed is seen"]++
				}
			}
			for what, n := range wrong {
				t.Errorf("%s: %d of %d keys", what, n, keys)
			}
		})
	}
}

// TestBlindDeliverKeepsTheList: what a transaction that knows only the lists
// does to them is still there when the windows are read.
func TestBlindDeliverKeepsTheList(t *testing.T) {
	s := openTest(t, testOptions())
	tx := s.NewTx()
	const keys = 200
	key := func(k int) string { return fmt.Sprintf("user:%d", k) }
	for k := range keys {
		play(t, tx, key(k), list("a")...)
	}
	storeAll(t, s)
	evictAll(s)
	lost := 0
	for k := range keys {
		begin(t, tx, Blind, key(k))
		tx.Deliver([]byte(key(k)), list("d"))
		commit(t, tx)
		if got := exists(t, tx, key(k), All, list("a", "d")...); !got[0] || !got[1] {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d keys have lost a delivered item", lost, keys)
	}
}

// TestReplayFindsListOfLaterBlock: the delivered list goes to the block of the
// time at which it is stored. Records that are older than that are repeated
// on top of it all the same.
func TestReplayFindsListOfLaterBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions()
		mem := vfs.NewCrashableMem()
		o.FS, o.Fsync = mem, log.Always
		s, err := Open(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour - 15*time.Second)))
		tx := s.NewTx()
		deliver := func(item string) {
			begin(t, tx, Write, "u")
			tx.Deliver([]byte("u"), list(item))
			if err := s.Wait(commit(t, tx)); err != nil {
				t.Fatal(err)
			}
		}
		deliver("first")
		seal(t, s)
		time.Sleep(time.Second)
		deliver("second")
		time.Sleep(30 * time.Second) // into the next block
		storeOldest(t, s)
		o.FS = mem.CrashClone(vfs.CrashCloneCfg{})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = Open(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		tx = s.NewTx()
		if got := exists(t, tx, "u", Delivered, list("first", "second")...); !got[0] || !got[1] {
			t.Errorf("delivered first, second after a kill: %v", got)
		}
		storeAll(t, s)
		evictAll(s)
		if got := exists(t, tx, "u", Delivered, list("first", "second")...); !got[0] || !got[1] {
			t.Errorf("delivered first, second, stored again: %v", got)
		}
	})
}

// gate is a file system on which reads of tables can be held.
type gate struct {
	vfs.FS
	mu   sync.Mutex
	hold chan struct{} // nil: reads pass
	held chan struct{}
}

type gateFile struct {
	vfs.File
	g *gate
}

func (g *gate) Open(path string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := g.FS.Open(path, opts...)
	if err != nil || !strings.HasSuffix(path, ".sst") {
		return f, err
	}
	return &gateFile{f, g}, nil
}

func (g *gate) Unwrap() vfs.FS { return g.FS }

func (f *gateFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off) // what was on disk before it is held
	f.g.mu.Lock()
	hold := f.g.hold
	f.g.hold = nil
	f.g.mu.Unlock()
	if hold != nil {
		f.g.held <- struct{}{}
		<-hold
	}
	return n, err
}

// catch holds the next read, until the returned channel is closed.
func (g *gate) catch() chan struct{} {
	hold := make(chan struct{})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hold = hold
	return hold
}

// TestR5HeldFetch: while a fetch is held within its read, the key is written
// to, its slot sealed and stored, again and again. Nothing acknowledged is
// missing in what the fetch installs. (Commit takes Pebble's locks, not those
// of the read.)
func TestR5HeldFetch(t *testing.T) {
	for _, need := range []Need{Everything, Lists} {
		for slots := range 4 {
			t.Run(fmt.Sprintf("need=%d/slots=%d", need, slots), func(t *testing.T) { heldFetch(t, need, slots) })
		}
	}
}

func heldFetch(t *testing.T, need Need, slots int) {
	g := &gate{FS: vfs.NewMem(), held: make(chan struct{}, 1)}
	o := testOptions()
	o.FS, o.CacheBytes = g, 1
	s := openTest(t, o)
	tx := s.NewTx()
	play(t, tx, "u", numbered("old", 0, 100)...)
	begin(t, tx, Write, "u")
	tx.Forget([]byte("u"), list("old-7", "old-8"), All)
	tx.Deliver([]byte("u"), list("d0"))
	commit(t, tx)
	storeAll(t, s)
	evictAll(s)

	salt := s.secret.Salt([]byte("u"))
	rows, err := s.readRows([]byte("u"), Everything, nowMillis())
	if err != nil {
		t.Fatal(err)
	}
	release := g.catch()
	fetched := make(chan error, 1)
	go func() { fetched <- s.know(salt, []byte("u"), need, nowMillis()) }()
	<-g.held

	// Writers must not wait for the read: the key is known from before it.
	sh := s.shard(salt)
	if slots > 0 {
		sh.mu.Lock()
		if err := sh.findOrCreate(salt, []byte("u"), false).install(rows); err != nil {
			t.Fatal(err)
		}
		sh.mu.Unlock()
	}
	want := numbered("old", 0, 100)
	for n := range slots {
		fresh := numbered(fmt.Sprintf("new%d", n), 0, 50)
		play(t, tx, "u", fresh...)
		want = append(want, fresh...)
		if n == 0 {
			play(t, tx, "u", list("old-7", "old-8")...)
		}
		begin(t, tx, Write, "u")
		tx.Deliver([]byte("u"), list(fmt.Sprintf("d%d", n+1)))
		commit(t, tx)
		seal(t, s)
		if n < 2 {
			storeOldest(t, s) // the third stays sealed
		}
		if n == 1 {
			sh.mu.Lock() // what is stored is forgotten: only the fetch can bring it back
			e := sh.find(salt, []byte("u"))
			e.dropTable()
			sh.mu.Unlock()
			break
		}
	}
	if slots == 1 {
		evictKey(s, "u")
	}
	close(release)
	if err := <-fetched; err != nil {
		t.Fatal(err)
	}
	for i, seen := range exists(t, tx, "u", Played, want...) {
		if hidden := slots == 0 && (i == 7 || i == 8); seen == hidden {
			t.Errorf("%s: seen %v", want[i], seen)
		}
	}
	if got := exists(t, tx, "u", Delivered, list("d0", "d1")...); !got[0] || got[1] != (slots > 0) {
		t.Errorf("delivered: %v", got)
	}
}

// TestB104NeverBrieflyGone: writers add and check at once, readers check all
// that was acknowledged, while slots are sealed and stored and keys evicted as
// fast as it goes. Nothing acknowledged is ever unseen.
func TestB104NeverBrieflyGone(t *testing.T) {
	for _, pressure := range []bool{false, true} {
		t.Run(fmt.Sprintf("pressure=%v", pressure), func(t *testing.T) { neverBrieflyGone(t, pressure) })
	}
}

func neverBrieflyGone(t *testing.T, pressure bool) {
	o := testOptions()
	o.CacheBytes, o.MaxSealed = 64<<10, 1<<20
	s := openTest(t, o)
	if pressure {
		s.evictAt = 64 << 10
	}
	const writers, readers, keys = 2, 4, 24
	var acked [writers]atomic.Int64
	var misses, checks atomic.Int64
	key := func(w, i int) string { return fmt.Sprintf("u%d", (i*7+w)%keys) }
	item := func(w, i int) []byte { return fmt.Appendf(nil, "i-%d-%d", w, i) }
	stop := make(chan struct{})
	stopped := func() bool {
		select {
		case <-stop:
			return true
		default:
			return false
		}
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			tx := s.NewTx()
			for i := 0; !stopped(); i++ {
				k, one := key(w, i), [][]byte{item(w, i)}
				layer := Played
				if i%5 == 0 { // the delivered list moves as well
					begin(t, tx, Write, k)
					tx.Deliver([]byte(k), one)
					commit(t, tx)
					layer = All
				}
				if i%5 != 0 || i%10 == 0 {
					if !play(t, tx, k, one...)[0] {
						t.Errorf("%s %s is not new", k, one[0])
					}
					layer = Played
				}
				if !exists(t, tx, k, layer, one...)[0] {
					misses.Add(1)
					t.Errorf("%s %s (i=%d): unseen right after it was acknowledged", k, one[0], i)
				}
				acked[w].Store(int64(i + 1))
			}
		})
	}
	for r := range readers {
		wg.Go(func() {
			tx := s.NewTx()
			for round := r; !stopped(); round++ {
				w := round % writers
				n := int(acked[w].Load())
				byKey := map[string][][]byte{}
				for j := range min(n, 300) {
					i := n - 1 - j
					if j >= 150 { // older ones, anywhere
						i = (round*7919 + j*104729) % n
					}
					if i%5 == 0 && i%10 != 0 && n-i > 900 {
						continue // the list keeps 1,000 a key
					}
					byKey[key(w, i)] = append(byKey[key(w, i)], item(w, i))
				}
				for k, items := range byKey {
					for j, seen := range exists(t, tx, k, All, items...) {
						checks.Add(1)
						if !seen {
							misses.Add(1)
							t.Errorf("%s %s: acknowledged, unseen", k, items[j])
						}
					}
				}
			}
		})
	}
	stores := 0
	end := time.Now().Add(time.Second)
	for ; time.Now().Before(end) && misses.Load() == 0; stores++ {
		seal(t, s)
		if stores%3 > 0 {
			for s.Sealed() > 0 {
				storeOldest(t, s)
				if stores%2 == 0 {
					evictAll(s)
				}
			}
		}
		evictAll(s)
		if cap := s.used.Load(); cap > 512<<20 {
			t.Fatalf("%d bytes used", cap)
		}
	}
	close(stop)
	if !within(t, 5*time.Second, "writers and readers", wg.Wait) {
		s.evictAt = s.hotBytes
		wg.Wait()
	}
	t.Logf("%d and %d items, %d checks, %d rounds of seal and store, %d misses",
		acked[0].Load(), acked[1].Load(), checks.Load(), stores, misses.Load())
}
