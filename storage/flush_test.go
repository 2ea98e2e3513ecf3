package storage

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dedupd/storage/log"
	"dedupd/storage/policy"
)

var flushEvery = flag.Int("flush.every", 40, "of the operations of a flush, let each so-manieth fail, or crash there; 1: all")

// faults fails the n-th operation of a file system, or it and all later ones.
type faults struct {
	at, ops atomic.Int64
	forGood bool
}

func (f *faults) inject(errorfs.Op) error {
	n := f.ops.Add(1) - 1
	if at := f.at.Load(); n == at || f.forGood && n > at {
		return syscall.EIO
	}
	return nil
}

// flushStory is a run of commands and of what moves their slots, and what of
// it was acknowledged.
type flushStory struct {
	t        *testing.T
	s        *Store
	tx       *Tx
	seen     map[[2]string]bool // key and item; false: removed
	maybe    map[[2]string]bool // not acknowledged
	failures int
	retried  int
}

func newFlushStory(t *testing.T, s *Store) *flushStory {
	return &flushStory{t: t, s: s, tx: s.NewTx(), seen: map[[2]string]bool{}, maybe: map[[2]string]bool{}}
}

var flushStoryKeys = []string{"a", "b", "c", "d", "e"}

// do runs one command; a refusal must say that the store is read-only, or that
// the key cannot be read.
func (f *flushStory) do(key string, item string, seen bool, command func(key, items [][]byte)) {
	k := []byte(key)
	at := [2]string{key, item}
	if err := f.tx.Begin(Write, k); err != nil {
		f.failures++
		return
	}
	command([][]byte{k}, list(item))
	f.maybe[at] = true
	position, err := f.tx.Commit()
	if err == nil {
		err = f.s.Wait(position)
	}
	if err != nil {
		f.failures++
		if f.s.Stats().ReadOnly == nil {
			f.t.Errorf("%s %s failed with %v, and the store is not read-only", key, item, err)
		}
		return
	}
	f.seen[at] = seen
	delete(f.maybe, at)
}

func (f *flushStory) add(key, item string) {
	f.do(key, item, true, func(k, items [][]byte) { f.tx.Play(k[0], items, Now) })
}

func (f *flushStory) deliver(key, item string) {
	f.do(key, item, true, func(k, items [][]byte) { f.tx.Deliver(k[0], items) })
}

func (f *flushStory) rem(key, item string) {
	f.do(key, item, false, func(k, items [][]byte) { f.tx.Forget(k[0], items, All) })
}

func (f *flushStory) seal() {
	if _, err := f.s.Seal(); err != nil {
		f.failures++
		f.check("after a failed seal")
		f.s.Seal()
	}
}

// store stores the oldest slot. After a failure the slot is still there, all is
// still seen, and the next attempt succeeds unless the store is read-only.
func (f *flushStory) store() {
	before := f.s.Slots()
	stored, err := f.s.StoreOldest(context.Background())
	if err == nil {
		return
	}
	f.failures++
	if stored.Slot != 0 || f.s.Sealed() != len(before)-1 || !slices.Equal(f.s.Slots(), before) {
		f.t.Errorf("%v: slots %v, before %v", err, f.s.Slots(), before)
	}
	f.check("after a failed store")
	if f.s.Stats().ReadOnly != nil {
		return
	}
	if _, err = f.s.StoreOldest(context.Background()); err == nil {
		f.retried++
		return
	}
	if f.s.Stats().ReadOnly == nil && !f.forGood() {
		f.t.Errorf("a second attempt failed with %v, and the store is not read-only", err)
	}
}

func (f *flushStory) forGood() bool { return f.maybe[[2]string{"", "for good"}] }

func (f *flushStory) round(n int) {
	for i, key := range flushStoryKeys {
		f.add(key, fmt.Sprintf("p%d", n))
		if i%2 == 0 {
			f.add(key, fmt.Sprintf("p%d.2", n))
			f.deliver(key, fmt.Sprintf("d%d", n))
		}
	}
	f.rem("a", fmt.Sprintf("p%d", n-1)) // stored, sealed or staged
	f.rem("b", fmt.Sprintf("p%d", n))
	f.rem("c", fmt.Sprintf("d%d", n-1))
	f.add("a", fmt.Sprintf("p%d", n-2)) // removed before
}

func (f *flushStory) run() {
	f.round(2)
	f.seal()
	f.round(3)
	f.seal()
	f.store()
	f.check("one slot stored")
	evictAll(f.s)
	f.round(4)
	f.store()
	evictAll(f.s)
	f.check("two slots stored")
	f.seal()
	f.store()
	f.round(5)
	f.check("at the end")
}

// check asks for everything that was acknowledged.
func (f *flushStory) check(when string) {
	f.t.Helper()
	for at, want := range f.seen {
		if f.maybe[at] {
			continue
		}
		if err := f.tx.Begin(Read, []byte(at[0])); err != nil {
			f.failures++ // the disk cannot be read: told, not answered
			continue
		}
		got := f.tx.Exists([]byte(at[0]), list(at[1]), All)[0]
		f.tx.Commit()
		if got != want {
			f.t.Errorf("%s: %s %s is seen: %v, want %v", when, at[0], at[1], got, want)
		}
	}
}

// TestEveryOperationOfAFlushFails lets the n-th operation fail, for all n.
func TestEveryOperationOfAFlushFails(t *testing.T) {
	for _, forGood := range []bool{false, true} {
		retried, readOnly, step := 0, 0, int64(*flushEvery)
		if forGood {
			step *= 3
		}
		n := int64(0)
		for at := rand.Int64N(step); ; at += step {
			n++
			var err error
			reached := true
			ok := within(t, 20*time.Second, fmt.Sprintf("forGood=%v, operation %d", forGood, at), func() {
				var f *flushStory
				f, reached, err = faultyStory(t, at, forGood)
				if f != nil {
					retried += f.retried
					if f.s.Stats().ReadOnly != nil {
						readOnly++
					}
				}
			})
			if !ok || t.Failed() {
				t.Fatalf("forGood=%v, operation %d: %v", forGood, at, err)
			}
			if !reached {
				t.Logf("forGood=%v: %d runs up to operation %d, %d stores retried", forGood, n, at, retried)
				break
			}
		}
		if !forGood && retried == 0 {
			t.Error("no fault has met a store")
		}
	}
}

func faultyStory(t *testing.T, at int64, forGood bool) (f *flushStory, reached bool, err error) {
	inject := &faults{forGood: forGood}
	inject.at.Store(at)
	mem := vfs.NewCrashableMem()
	o := testOptions()
	o.FS, o.Fsync, o.CacheBytes = errorfs.Wrap(mem, errorfs.InjectorFunc(inject.inject)), log.Always, 1
	s, err := Open(context.Background(), o)
	if err == nil {
		f = newFlushStory(t, s)
		if forGood {
			f.maybe[[2]string{"", "for good"}] = true
		}
		f.run()
	}
	reached = inject.ops.Load() > at
	clone := mem.CrashClone(vfs.CrashCloneCfg{})
	if s != nil {
		_ = s.Close()
	}
	if f == nil {
		return nil, reached, err
	}
	o.FS = clone
	again, err := Open(context.Background(), o)
	if err != nil {
		t.Errorf("open after operation %d failed: %v", at, err)
		return f, reached, err
	}
	old := f.s
	f.s, f.tx = again, again.NewTx()
	failures := f.failures
	f.check("after a restart")
	storeAll(t, again)
	f.check("after a restart, stored")
	evictAll(again)
	f.check("after a restart, fetched")
	if f.failures > failures {
		t.Errorf("operation %d: %d reads fail on a good disk", at, f.failures-failures)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	f.s = old
	return f, reached, nil
}

// TestCrashAtEveryStepOfAFlush clones the disk before each operation of two
// stores, with none, half and all of what was not synced. Each clone has
// exactly what was acknowledged.
func TestCrashAtEveryStepOfAFlush(t *testing.T) {
	mem := vfs.NewCrashableMem()
	rng := rand.New(rand.NewPCG(1, 1))
	var clones []*vfs.MemFS
	var taking atomic.Bool
	ops := 0
	hook := func(errorfs.Op) error {
		if !taking.Load() {
			return nil
		}
		if ops++; ops%*flushEvery == 0 {
			percent := []int{0, 50, 100}[ops / *flushEvery % 3]
			clones = append(clones, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng}))
		}
		return nil
	}
	var mu = make(chan struct{}, 1)
	o := testOptions()
	o.Fsync = log.Always
	o.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu <- struct{}{}
		defer func() { <-mu }()
		return hook(op)
	}))
	s := openTest(t, o)
	f := newFlushStory(t, s)
	f.round(2)
	f.seal()
	f.store()
	f.round(3)
	f.seal()
	f.round(4)
	f.seal()
	f.round(5)
	taking.Store(true)
	f.store()
	f.store()
	taking.Store(false)
	mu <- struct{}{}
	for i, clone := range clones {
		clones[i] = nil
		o.FS = clone
		again, err := Open(context.Background(), o)
		if err != nil {
			t.Fatalf("clone %d of %d: %v", i, len(clones), err)
		}
		g := &flushStory{t: t, s: again, tx: again.NewTx(), seen: f.seen, maybe: f.maybe}
		g.check(fmt.Sprintf("clone %d of %d", i, len(clones)))
		slots := again.Slots()
		if first := slots[0].ID; first <= again.cold.StoredSlot() {
			t.Errorf("clone %d: slot %d is staged, stored are those up to %d", i, first, again.cold.StoredSlot())
		}
		if i%4 == 0 {
			storeAll(t, again)
			evictAll(again)
			g.check(fmt.Sprintf("clone %d of %d, stored", i, len(clones)))
		}
		if g.failures > 0 {
			t.Errorf("clone %d: %d failures", i, g.failures)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			break
		}
	}
	<-mu
	t.Logf("%d clones", len(clones))
}

// TestMemoryIsBounded stores ten times what the hot layer may hold and reads
// it in random order.
func TestMemoryIsBounded(t *testing.T) {
	o := testOptions()
	o.HotBytes, o.CacheBytes, o.MaxSealed = 8<<20, 1<<20, 1000
	s := openTest(t, o)
	tx := s.NewTx()
	const perKey, keys = 2500, 5500 // 4 B and a bit an item: 80 MiB
	stores, used := 0, int64(0)
	var items [7][][]byte // keys do not have the same ones
	for n := range items {
		items[n] = numbered(fmt.Sprint(n), 0, perKey)
	}
	for k := range keys {
		key := fmt.Appendf(nil, "user:%d", k)
		err := tx.Begin(Write, key)
		if errors.Is(err, ErrMemory) {
			if s.Stats().Staged < 100_000 {
				t.Fatalf("refused with %d items staged, %d bytes of tables", s.Stats().Staged, s.Stats().TableBytes)
			}
			stores++
			storeAll(t, s)
			err = tx.Begin(Write, key)
		}
		if err != nil {
			t.Fatalf("key %d: %v", k, err)
		}
		if _, err := tx.Play(key, items[k%7], Now); err != nil {
			t.Fatal(err)
		}
		commit(t, tx)
		used = max(used, s.used.Load())
	}
	storeAll(t, s)
	if stores == 0 {
		t.Error("no write was refused")
	}
	rng := rand.New(rand.NewPCG(2, 2))
	usedBySomeRead := int64(0)
	within(t, 20*time.Second, "reading", func() {
		for range 3000 {
			k, i := rng.IntN(keys), rng.IntN(perKey)
			key := fmt.Sprintf("user:%d", k)
			if got := exists(t, tx, key, All, items[k%7][i], items[(k+1)%7][i]); !got[0] || got[1] {
				t.Errorf("%s, item %d and one never added: %v", key, i, got)
				return
			}
			usedBySomeRead = max(usedBySomeRead, s.used.Load())
		}
	})
	if limit := o.HotBytes + 1<<20; used > limit || usedBySomeRead > limit {
		t.Errorf("%d bytes used while writing, %d while reading, the limit is %d", used, usedBySomeRead, o.HotBytes)
	}
	t.Logf("%d times refused and stored; %.1f MiB used at most while writing, %.1f while reading",
		stores, float64(used)/(1<<20), float64(usedBySomeRead)/(1<<20))
}

// TestSealedSlotsAreStoredAfterAKill leaves several sealed slots behind; the
// next process stores them in order.
func TestSealedSlotsAreStoredAfterAKill(t *testing.T) {
	mem := vfs.NewCrashableMem()
	o := testOptions()
	o.FS, o.Fsync = mem, log.Always
	s := openTest(t, o)
	f := newFlushStory(t, s)
	for n := range 6 {
		f.round(n + 2)
		f.seal()
		if n == 1 {
			f.store()
		}
	}
	f.round(8)
	slots := s.Slots()
	o.FS = mem.CrashClone(vfs.CrashCloneCfg{})
	again := openTest(t, o)
	f.s, f.tx = again, again.NewTx()
	f.check("after the kill")
	got := again.Slots()
	var want []uint64
	for _, slot := range slots {
		want = append(want, slot.ID)
	}
	var ids []uint64
	for _, slot := range got {
		ids = append(ids, slot.ID)
	}
	if len(ids) != len(want)+1 || !slices.Equal(ids[:len(want)], want) { // the open one was sealed by the kill
		t.Errorf("slots %v before the kill, %v after", want, ids)
	}
	for i, slot := range slots[:len(slots)-1] {
		if !reflect.DeepEqual(slot, got[i]) {
			t.Errorf("slot %+v before the kill, %+v after", slot, got[i])
		}
	}
	for again.Sealed() > 0 {
		next := again.Slots()[0].ID
		if stored := storeOldest(t, again); stored.Slot != next || again.cold.StoredSlot() != next {
			t.Fatalf("stored slot %d, %d was next, %d is in the cold layer", stored.Slot, next, again.cold.StoredSlot())
		}
		if st := again.Stats(); st.Log.Segments != again.Sealed()+1 {
			t.Errorf("%d segments with %d sealed slots", st.Log.Segments, again.Sealed())
		}
		f.check("storing")
	}
	evictAll(again)
	f.check("stored")
	if st := again.Stats(); st.Staged != 0 {
		t.Errorf("%d items are still staged", st.Staged)
	}
}

// TestRecoveryOfManyItems measures.
func TestRecoveryOfManyItems(t *testing.T) {
	const keys, perKey = 20_000, 100
	o := testOptions()
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	tx := s.NewTx()
	play(t, tx, "stored", list("x")...)
	storeAll(t, s) // so that recovery has to look for lists
	items := numbered("item", 0, perKey)
	for round := range 4 {
		for k := range keys {
			play(t, tx, fmt.Sprintf("user:%d", k), items[round*perKey/4:(round+1)*perKey/4]...)
		}
		if round < 3 {
			seal(t, s)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	again := openTest(t, o)
	took := time.Since(began)
	if st := again.Stats(); st.Staged != keys*perKey || st.Sealed != 4 {
		t.Errorf("%d items, %d slots", st.Staged, st.Sealed)
	}
	t.Logf("%d staged items of %d keys, %d records recovered in %v", keys*perKey, keys, again.recovery.Records, took)
	began = time.Now()
	storeAll(t, again)
	t.Logf("stored in %v", time.Since(began))
	if got := exists(t, again.NewTx(), "user:777", All, items...); slices.Contains(got, false) {
		t.Error("an item is missing")
	}
}

// TestR12Removed: exactly the item that is removed is forgotten, wherever it
// is, through all that follows; adding it brings it back; the list goes with
// its window.
func TestR12Removed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions()
		defaults := policy.Defaults()
		const span, keep = 10 * policy.Minute, 4
		o.policies = testPolicy(t, policy.Settings{
			Error: defaults.Error, Keep: keep, Period: every(t, span),
			Delivered: defaults.Delivered, DeliveredTTL: defaults.DeliveredTTL,
		})
		s, err := Open(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { s.Close() }()
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + time.Second)))
		tx := s.NewTx()
		at := func(item string, age int64) {
			begin(t, tx, Write, "u")
			if _, err := tx.Play([]byte("u"), list(item), tx.now-age); err != nil {
				t.Fatal(err)
			}
			commit(t, tx)
		}
		both := []string{"stored", "old window", "two windows", "sealed", "two slots", "staged", "delivered"}
		for _, twin := range []string{"", "'"} { // each with one that stays
			play(t, tx, "u", list("stored"+twin, "two windows"+twin, "two slots"+twin)...)
			at("old window"+twin, 2*span)
			at("two windows"+twin, span)
		}
		storeAll(t, s)
		for _, twin := range []string{"", "'"} {
			play(t, tx, "u", list("sealed"+twin, "two slots"+twin)...)
		}
		seal(t, s)
		for _, twin := range []string{"", "'"} {
			play(t, tx, "u", list("staged"+twin, "two slots"+twin)...)
			begin(t, tx, Write, "u")
			tx.Deliver([]byte("u"), list("delivered"+twin))
			commit(t, tx)
		}
		items := append(list(both...), list("stored'", "old window'", "two windows'", "sealed'", "two slots'", "staged'", "delivered'", "never")...)
		check := func(when string, seen bool) {
			t.Helper()
			got := exists(t, tx, "u", All, items...)
			for i, item := range items {
				want := string(item) != "never" && (seen || i >= len(both))
				if got[i] != want {
					t.Errorf("%s: %q is seen: %v", when, item, got[i])
				}
			}
		}
		forget := func() {
			t.Helper()
			begin(t, tx, Write, "u")
			if n := tx.Forget([]byte("u"), list(append([]string{"never"}, both...)...), All); n != len(both) {
				t.Errorf("%d forgotten, want %d", n, len(both))
			}
			if n := tx.Forget([]byte("u"), list(both...), All); n != 0 {
				t.Errorf("%d forgotten again", n)
			}
			commit(t, tx)
		}
		restart := func() {
			t.Helper()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = Open(context.Background(), o); err != nil {
				t.Fatal(err)
			}
			tx = s.NewTx()
		}
		everywhere := func(what string, seen bool) {
			t.Helper()
			check(what, seen)
			evictAll(s)
			check(what+", evicted", seen)
			restart()
			check(what+", restarted", seen)
			storeAll(t, s)
			check(what+", stored", seen)
			evictAll(s)
			check(what+", stored, evicted", seen)
			restart()
			check(what+", stored, restarted", seen)
		}
		check("added", true)
		forget()
		everywhere("removed", false)
		play(t, tx, "u", list(both[:3]...)...)
		begin(t, tx, Blind, "u")
		if err := tx.PlayBlind([]byte("u"), list(both[3:]...), Now); err != nil {
			t.Fatal(err)
		}
		commit(t, tx)
		everywhere("added again", true)
		forget()
		storeAll(t, s)

		// The list goes with the newest window that can hold the items, and no
		// earlier.
		removedCountOf := func() int {
			evictAll(s)
			exists(t, tx, "u", All, list("x")...)
			salt := s.secret.Salt([]byte("u"))
			sh := s.shard(salt)
			sh.mu.Lock()
			defer sh.mu.Unlock()
			if e := sh.find(salt, []byte("u")); e.removed() != 0 {
				return removedCount(sh.arena.words(e.removed()))
			}
			return 0
		}
		end := time.UnixMilli((nowMillis()/span + keep) * span)
		time.Sleep(time.Until(end) - time.Millisecond)
		if got := exists(t, tx, "u", All, list(both...)...); slices.Contains(got, true) {
			t.Errorf("a millisecond before the end: %v", got)
		}
		if n := removedCountOf(); n == 0 {
			t.Error("the list has gone too early")
		}
		time.Sleep(time.Millisecond)
		if got := exists(t, tx, "u", All, items...); slices.Contains(got, true) {
			t.Errorf("at the end: %v", got)
		}
		if n := removedCountOf(); n != 0 {
			t.Errorf("%d entries outlive their windows", n)
		}
	})
}
