package storage

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dedupd/storage/log"
	"dedupd/storage/policy"
)

var (
	modelSeed  = flag.Uint64("model.seed", 0, "replay one run of the model test; 0: random seeds")
	modelRuns  = flag.Int("model.runs", 12, "runs of the model test")
	modelSteps = flag.Int("model.steps", 1500, "steps of a run")
)

// TestModel runs random commands, restarts and power cuts against a plain
// map. Every reply must equal the map's; after a power cut the store must be
// what the map was after some whole number of the commands, never fewer than
// were acknowledged. Time is synctest's.
func TestModel(t *testing.T) {
	for range *modelRuns {
		seed := *modelSeed
		if seed == 0 {
			seed = rand.Uint64()
		}
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newModelRun(t, seed).run(*modelSteps) })
		})
	}
}

// modelKey is what the map knows of a key.
type modelKey struct {
	played    map[string]int64 // item to the newest window it was played in
	removed   map[string]bool  // hidden until it is played again, in whatever window
	delivered []modelDelivery  // oldest first
}

type modelToken struct {
	answer string
	end    int64
}

type modelState map[string]*modelKey

func (m modelState) key(key string) *modelKey {
	if m[key] == nil {
		m[key] = &modelKey{played: map[string]int64{}, removed: map[string]bool{}}
	}
	return m[key]
}

// modelOp is one command; the same function drives map and history.
type modelOp struct {
	name   string
	key    string
	items  []string
	layers Layer
	mark   Layer
	limit  int
	token  string
	age    int64 // play: how old the event is, ms
	now    int64
	many   []modelOp // exec

	answered bool // by the token: nothing was looked up
}

// modelRun is a store, the map beside it, and what was done so far.
type modelRun struct {
	t     *testing.T
	rng   *rand.Rand
	o     Options
	store *Store
	tx    *Tx

	state   modelState
	tokens  map[[2]string]modelToken // by key and token
	history []modelOp                // those that wrote a record, since the directory was created
	acked   int                      // records that Wait confirmed in mode always
	keep    int                      // delivered items
	ttl     int64                    // theirs
	span    int64                    // length of a window, ms
	windows int64                    // kept
	cuts    int

	slots  map[uint64]int // by sealed slot: how many records there were up to its end
	stores int
}

func newModelRun(t *testing.T, seed uint64) *modelRun {
	rng := rand.New(rand.NewPCG(seed, seed))
	r := &modelRun{
		t: t, rng: rng, state: modelState{}, tokens: map[[2]string]modelToken{}, slots: map[uint64]int{},
		keep: 1 + rng.IntN(40), ttl: deliveredTTL.Milliseconds(),
		span: int64(5+rng.IntN(40)) * policy.Minute, windows: int64(1 + rng.IntN(8)),
	}
	r.o = testOptions()
	r.o.FS = vfs.NewCrashableMem()
	r.o.Fsync = []log.Fsync{log.Always, log.EverySec, log.No}[rng.IntN(3)]
	r.o.MaxSealed = 1000
	r.o.policies = testPolicy(t, policy.Settings{
		Error: []float64{0, 0.001}[rng.IntN(2)], Keep: r.windows, Period: every(t, r.span),
		Delivered: int64(r.keep), DeliveredTTL: r.ttl,
	})
	return r
}

func every(t *testing.T, ms int64) policy.Period {
	p, err := policy.Every(ms)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// testPolicy is a directory in which the settings hold for all keys, and have
// since 1970.
func testPolicy(t *testing.T, settings policy.Settings) *policy.Directory {
	t.Helper()
	dir, _, err := policy.New().Set("", policy.Partial{Given: policy.AllFields, Values: settings}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return dir.Flushed()
}

func (r *modelRun) run(steps int) {
	r.open()
	defer func() {
		if r.t.Failed() {
			r.store.Close() // ends its goroutines, so that synctest reports the failure and nothing else
		}
	}()
	for i := range steps {
		switch n := r.rng.IntN(1000); {
		case n < 4:
			r.restart()
		case n < 8:
			r.powerCut()
		case n < 80:
			time.Sleep(time.Duration(r.rng.IntN(90_000)) * time.Millisecond)
		case n < 90:
			r.seal()
		case n < 100:
			r.storeOldest()
		case n < 105:
			r.evictAll()
		default:
			r.command(i)
		}
	}
	r.seal()
	for r.store.Sealed() > 0 {
		r.storeOldest()
	}
	r.checkAll("after the last slot was stored")
	r.evictAll()
	r.checkAll("evicted")
	r.restart()
	r.checkAll("after a restart")
	r.t.Logf("%v, keep %d: %d records, %d power cuts, %d slots stored", r.o.Fsync, r.keep, len(r.history), r.cuts, r.stores)
	if err := r.store.Close(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *modelRun) seal() {
	slot, err := r.store.Seal()
	if err != nil {
		r.t.Fatal(err)
	}
	if slot != 0 {
		r.slots[slot] = len(r.history)
	}
}

func (r *modelRun) storeOldest() {
	stored, err := r.store.StoreOldest(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	if stored.Slot != 0 {
		r.stores++
		r.acked = max(r.acked, r.slots[stored.Slot]) // what is stored is on disk in every mode
	}
}

// evictAll makes the hot layer forget whatever it can read again.
func (r *modelRun) evictAll() {
	for _, sh := range r.store.shards {
		sh.mu.Lock()
		for range 2 { // an entry that was used is spared once
			sh.evict(len(sh.index.slots), r.store.coldEmpty.Load())
		}
		sh.mu.Unlock()
	}
}

func (r *modelRun) open() {
	var err error
	if r.store, err = Open(context.Background(), r.o); err != nil {
		r.t.Fatalf("open after %d records, %d of them acknowledged: %v", len(r.history), r.acked, err)
	}
	r.tx = r.store.NewTx()
}

func (r *modelRun) restart() {
	if err := r.store.Close(); err != nil {
		r.t.Fatal(err)
	}
	written := len(r.history)
	r.slots[r.store.slot] = written
	if got := r.reopen(); got != written {
		r.t.Fatalf("a clean restart recovered %d records of %d", got, written)
	}
}

// powerCut goes on from what the disk may look like after one: of what was not
// synced, nothing or half of the blocks are there.
func (r *modelRun) powerCut() {
	r.cuts++
	percent := []int{0, 50}[r.rng.IntN(2)]
	clone := r.o.FS.(*vfs.MemFS).CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: r.rng})
	if err := r.store.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.o.FS = clone
	written := len(r.history)
	open := r.store.slot
	recovered := r.reopen()
	r.slots[open] = recovered
	for slot, records := range r.slots {
		r.slots[slot] = min(records, recovered) // its end may have been cut
	}
	if recovered < r.acked {
		r.t.Fatalf("power cut (%d %% kept) lost acknowledged records: %d recovered, %d acknowledged", percent, recovered, r.acked)
	}
	if recovered > written {
		r.t.Fatalf("power cut recovered %d records, only %d were written", recovered, written)
	}
	r.acked = recovered // they are on disk, and stay there
}

// reopen opens the store, cuts the history to what it recovered and makes the
// map what that history says. It returns the number of records recovered.
func (r *modelRun) reopen() int {
	r.open()
	recovered := r.recovered()
	r.history = r.history[:min(len(r.history), recovered)]
	r.state = modelState{}
	for i := range r.history {
		clear(r.tokens)
		r.expect(&r.history[i])
	}
	clear(r.tokens) // a restart forgets them
	return recovered
}

// recovered is how many records the directory had: those of stored slots and
// those that the log repeated.
func (r *modelRun) recovered() int {
	return r.slots[r.store.cold.StoredSlot()] + int(r.store.recovery.Records)
}

func (r *modelRun) command(step int) {
	op := r.draw()
	if r.rng.IntN(12) == 0 {
		op = modelOp{name: "exec", many: []modelOp{op, r.draw(), r.draw()}}
	}
	op.now = time.Now().UnixMilli()
	before := r.store.log.End()
	got, position := r.perform(op)
	wrote := r.store.log.End() != before
	want, changed := r.expect(&op)
	if !reflect.DeepEqual(got, want) {
		r.t.Fatalf("step %d, %+v\n got  %v\n want %v", step, op, got, want)
	}
	if wrote {
		r.history = append(r.history, op)
	}
	if changed && !wrote {
		r.t.Fatalf("step %d, %+v: a change without a record", step, op)
	}
	if position != 0 && r.rng.IntN(3) > 0 {
		if err := r.store.Wait(position); err != nil {
			r.t.Fatal(err)
		}
		if r.o.Fsync == log.Always {
			r.acked = len(r.history)
		}
	}
}

func (r *modelRun) draw() modelOp {
	op := modelOp{key: fmt.Sprintf("user:%d", r.rng.IntN(6)), layers: Layer(1 + r.rng.IntN(3))}
	for range 1 + r.rng.IntN(12) {
		op.items = append(op.items, fmt.Sprintf("item-%d", r.rng.IntN(150)))
	}
	op.name = []string{"play", "play", "exists", "exists", "filter", "filter", "deliver", "forget", "card", "recent"}[r.rng.IntN(10)]
	if op.name == "play" && r.rng.IntN(3) == 0 {
		op.age = 1 + r.rng.Int64N(r.span*(r.windows+2))
	}
	if op.name == "filter" {
		op.limit = r.rng.IntN(6)
		op.mark = []Layer{0, Played, Delivered, Delivered}[r.rng.IntN(4)]
		if op.mark != 0 && r.rng.IntN(2) == 0 {
			op.token = fmt.Sprintf("t%d", r.rng.IntN(8))
		}
	}
	return op
}

// perform runs the command on the store.
func (r *modelRun) perform(op modelOp) (any, uint64) {
	ops := []modelOp{op}
	if op.many != nil {
		ops = op.many
	}
	kind, keys := Read, [][]byte{}
	for _, o := range ops {
		keys = append(keys, []byte(o.key))
		if o.writes() {
			kind = Write
		}
	}
	if err := r.tx.Begin(kind, keys...); err != nil {
		r.t.Fatal(err)
	}
	var replies []any
	for _, o := range ops {
		replies = append(replies, r.one(o))
	}
	position, err := r.tx.Commit()
	if err != nil {
		r.t.Fatal(err)
	}
	if kind == Read && position != 0 || kind != Read && position != uint64(r.store.log.End()) {
		r.t.Fatalf("%+v: position %d, the log ends at %d", op, position, r.store.log.End())
	}
	return replies, position
}

func (o modelOp) writes() bool {
	return o.name == "play" || o.name == "deliver" || o.name == "filter" || o.name == "forget"
}

func (r *modelRun) one(o modelOp) any {
	key, items := []byte(o.key), list(o.items...)
	switch o.name {
	case "play":
		event := int64(Now)
		if o.age > 0 {
			event = r.tx.now - o.age
		}
		flags, err := r.tx.Play(key, items, event)
		if err != nil {
			return err.Error()[:4]
		}
		return slices.Clone(flags)
	case "exists":
		return slices.Clone(r.tx.Exists(key, items, o.layers))
	case "deliver":
		return slices.Clone(r.tx.Deliver(key, items))
	case "forget":
		return r.tx.Forget(key, items, o.layers)
	case "card":
		return r.tx.Card(key)
	case "recent":
		var got []modelDelivery
		for _, d := range r.tx.Recent(key, len(items)) {
			got = append(got, modelDelivery{string(d.Item), d.Time})
		}
		return got
	}
	if o.token != "" {
		if answer, ok := r.tx.Answer(key, []byte(o.token)); ok {
			return string(answer)
		}
	}
	positions, err := r.tx.Filter(key, items, FilterOptions{Limit: o.limit, Layers: o.layers, Mark: o.mark})
	if err != nil {
		return err.Error()
	}
	answer := fmt.Sprint(positions)
	if o.token != "" {
		r.tx.Remember(key, []byte(o.token), []byte(answer))
	}
	return answer
}

// expect runs the command on the map; wrote says whether it must have
// written a record.
func (r *modelRun) expect(op *modelOp) (any, bool) {
	if op.many == nil {
		reply, wrote := r.expectOne(op, op.now)
		return []any{reply}, wrote
	}
	var replies []any
	wrote := false
	for i := range op.many {
		reply, w := r.expectOne(&op.many[i], op.now)
		replies = append(replies, reply)
		wrote = wrote || w
	}
	return replies, wrote
}

func (r *modelRun) expectOne(o *modelOp, now int64) (any, bool) {
	k := r.state.key(o.key)
	switch o.name {
	case "play":
		window := r.window(now)
		if o.age > 0 {
			window = r.window(now - o.age)
		}
		if window <= r.window(now)-r.windows {
			return "LATE", false
		}
		flags := k.play(o.items, window, r.oldest(now))
		return flags, slices.Contains(flags, true)
	case "exists":
		flags := make([]bool, len(o.items))
		for i, item := range o.items {
			flags[i] = k.has(item, o.layers, now-r.ttl, r.oldest(now))
		}
		return flags, false
	case "deliver":
		return k.deliver(o.items, now, r.ttl, r.keep, r.oldest(now))
	case "forget":
		n := 0
		for _, item := range o.items {
			if k.forget(item, o.layers, now-r.ttl, r.oldest(now)) {
				n++
			}
		}
		return n, n > 0
	case "card":
		n := 0
		for item := range k.played {
			if k.isPlayed(item, r.oldest(now)) {
				n++
			}
		}
		return n, false
	case "recent":
		var recent []modelDelivery
		for i := len(k.delivered) - 1; i >= 0 && len(recent) < len(o.items); i-- {
			if k.delivered[i].at > now-r.ttl {
				recent = append(recent, k.delivered[i])
			}
		}
		return recent, false
	}
	return r.expectFilter(k, o, now)
}

func (r *modelRun) expectFilter(k *modelKey, o *modelOp, now int64) (any, bool) {
	token, ok := r.tokens[[2]string{o.key, o.token}]
	if o.answered || ok && token.end > now {
		o.answered = true
		return token.answer, false
	}
	distinct := map[string]bool{}
	for _, item := range o.items {
		distinct[item] = true
	}
	limit := o.limit
	if limit == 0 {
		limit = len(o.items)
	}
	if n := min(limit, len(distinct)); o.mark == Delivered && n > r.keep {
		return (&TooManyDeliveredError{Items: n, Keep: r.keep}).Error(), false
	}
	positions, returned := []int{}, []string{}
	for i, item := range o.items {
		if len(positions) < limit && !slices.Contains(returned, item) && !k.has(item, o.layers, now-r.ttl, r.oldest(now)) {
			positions, returned = append(positions, i), append(returned, item)
		}
	}
	wrote := false
	switch o.mark {
	case Played:
		wrote = slices.Contains(k.play(returned, r.window(now), r.oldest(now)), true)
	case Delivered:
		_, wrote = k.deliver(returned, now, r.ttl, r.keep, r.oldest(now))
	}
	answer := fmt.Sprint(positions)
	if o.token != "" {
		r.tokens[[2]string{o.key, o.token}] = modelToken{answer, now + TokenLife}
	}
	return answer, wrote
}

func (k *modelKey) find(item string) int {
	return slices.IndexFunc(k.delivered, func(d modelDelivery) bool { return d.item == item })
}

// window is the number of the window that is open at a time.
func (r *modelRun) window(now int64) int64 { return now / r.span }

// oldest is the number of the oldest window that is kept.
func (r *modelRun) oldest(now int64) int64 { return r.window(now) - r.windows + 1 }

func (k *modelKey) isPlayed(item string, oldest int64) bool {
	window, ok := k.played[item]
	return ok && window >= oldest && !k.removed[item]
}

func (k *modelKey) has(item string, layers Layer, since, oldest int64) bool {
	if layers&Played != 0 && k.isPlayed(item, oldest) {
		return true
	}
	i := k.find(item)
	return layers&Delivered != 0 && i >= 0 && k.delivered[i].at > since
}

func (k *modelKey) play(items []string, window, oldest int64) []bool {
	flags := make([]bool, len(items))
	for i, item := range items {
		flags[i] = !k.isPlayed(item, oldest)
		k.played[item] = max(k.played[item], window)
		delete(k.removed, item)
		if d := k.find(item); d >= 0 {
			k.delivered = slices.Delete(k.delivered, d, d+1)
		}
	}
	return flags
}

func (k *modelKey) deliver(items []string, now, ttl int64, keep int, oldest int64) ([]bool, bool) {
	flags := make([]bool, len(items))
	wrote := false
	for i, item := range items {
		if k.isPlayed(item, oldest) {
			continue
		}
		wrote = true
		flags[i] = !k.has(item, Delivered, now-ttl, oldest)
		if d := k.find(item); d >= 0 {
			k.delivered = slices.Delete(k.delivered, d, d+1)
		}
		k.delivered = append(k.delivered, modelDelivery{item, now})
		k.delivered = k.delivered[max(0, len(k.delivered)-keep):]
	}
	return flags, wrote
}

func (k *modelKey) forget(item string, layers Layer, since, oldest int64) bool {
	found := layers&Played != 0 && k.isPlayed(item, oldest)
	if found {
		k.removed[item] = true
	}
	if d := k.find(item); layers&Delivered != 0 && d >= 0 {
		found = found || k.delivered[d].at > since
		k.delivered = slices.Delete(k.delivered, d, d+1)
	}
	return found
}

// checkAll asks for everything there could be.
func (r *modelRun) checkAll(when string) {
	now := time.Now().UnixMilli()
	for n := range 6 {
		for _, layers := range []Layer{Played, Delivered, All} {
			op := modelOp{name: "exists", key: fmt.Sprintf("user:%d", n), layers: layers}
			for i := range 150 {
				op.items = append(op.items, fmt.Sprintf("item-%d", i))
			}
			got := r.one2(op)
			if want, _ := r.expectOne(&op, now); !reflect.DeepEqual(got, want) {
				r.t.Fatalf("%s, layers %d %s:\n got  %v\n want %v", op.key, layers, when, got, want)
			}
		}
	}
}

func (r *modelRun) one2(op modelOp) any {
	begin(r.t, r.tx, Read, op.key)
	reply := r.one(op)
	commit(r.t, r.tx)
	return reply
}
