package storage

import (
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
	played    map[string]bool
	delivered []modelDelivery // oldest first
}

type modelToken struct {
	answer string
	end    int64
}

type modelState map[string]*modelKey

func (m modelState) key(key string) *modelKey {
	if m[key] == nil {
		m[key] = &modelKey{played: map[string]bool{}}
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
	history []modelOp // those that wrote a record, since the directory was created
	acked   int       // records that Wait confirmed in mode always
	keep    int
	ttl     int64
	cuts    int
}

func newModelRun(t *testing.T, seed uint64) *modelRun {
	rng := rand.New(rand.NewPCG(seed, seed))
	r := &modelRun{t: t, rng: rng, state: modelState{}, tokens: map[[2]string]modelToken{}, keep: 1 + rng.IntN(40), ttl: DefaultDeliveredTTL.Milliseconds()}
	r.o = testOptions()
	r.o.FS = vfs.NewCrashableMem()
	r.o.Fsync = []log.Fsync{log.Always, log.EverySec, log.No}[rng.IntN(3)]
	r.o.deliveredKeep = r.keep
	return r
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
		default:
			r.command(i)
		}
	}
	r.restart()
	r.checkAll()
	if err := r.store.Close(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *modelRun) open() {
	var err error
	if r.store, err = Open(r.o); err != nil {
		r.t.Fatalf("open after %d records, %d of them acknowledged: %v", len(r.history), r.acked, err)
	}
	r.tx = r.store.NewTx()
}

func (r *modelRun) restart() {
	if err := r.store.Close(); err != nil {
		r.t.Fatal(err)
	}
	written := len(r.history)
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
	recovered := r.reopen()
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
	recovered := int(r.store.recovery.Records)
	r.history = r.history[:min(len(r.history), recovered)]
	r.state = modelState{}
	for i := range r.history {
		clear(r.tokens)
		r.expect(&r.history[i])
	}
	clear(r.tokens) // a restart forgets them
	return recovered
}

func (r *modelRun) command(step int) {
	op := r.draw()
	if r.rng.IntN(12) == 0 {
		op = modelOp{name: "exec", many: []modelOp{op, r.draw(), r.draw()}}
	}
	op.now = time.Now().UnixMilli()
	got, position := r.perform(op)
	want, wrote := r.expect(&op)
	if !reflect.DeepEqual(got, want) {
		r.t.Fatalf("step %d, %+v\n got  %v\n want %v", step, op, got, want)
	}
	if wrote {
		r.history = append(r.history, op)
	}
	if records := r.store.recovery.Records + r.store.Stats().Log.Records; int(records) != len(r.history) {
		r.t.Fatalf("step %d, %+v: the log has %d records, want %d", step, op, records, len(r.history))
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
		return slices.Clone(r.tx.Play(key, items))
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
		flags := k.play(o.items)
		return flags, slices.Contains(flags, true)
	case "exists":
		flags := make([]bool, len(o.items))
		for i, item := range o.items {
			flags[i] = k.has(item, o.layers, now-r.ttl)
		}
		return flags, false
	case "deliver":
		return k.deliver(o.items, now, r.ttl, r.keep)
	case "forget":
		n := 0
		for _, item := range o.items {
			if k.forget(item, o.layers, now-r.ttl) {
				n++
			}
		}
		return n, n > 0
	case "card":
		return len(k.played), false
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
		if len(positions) < limit && !slices.Contains(returned, item) && !k.has(item, o.layers, now-r.ttl) {
			positions, returned = append(positions, i), append(returned, item)
		}
	}
	wrote := false
	switch o.mark {
	case Played:
		wrote = slices.Contains(k.play(returned), true)
	case Delivered:
		_, wrote = k.deliver(returned, now, r.ttl, r.keep)
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

func (k *modelKey) has(item string, layers Layer, since int64) bool {
	if layers&Played != 0 && k.played[item] {
		return true
	}
	i := k.find(item)
	return layers&Delivered != 0 && i >= 0 && k.delivered[i].at > since
}

func (k *modelKey) play(items []string) []bool {
	flags := make([]bool, len(items))
	for i, item := range items {
		flags[i] = !k.played[item]
		k.played[item] = true
		if d := k.find(item); flags[i] && d >= 0 {
			k.delivered = slices.Delete(k.delivered, d, d+1)
		}
	}
	return flags
}

func (k *modelKey) deliver(items []string, now, ttl int64, keep int) ([]bool, bool) {
	flags := make([]bool, len(items))
	wrote := false
	for i, item := range items {
		if k.played[item] {
			continue
		}
		wrote = true
		flags[i] = !k.has(item, Delivered, now-ttl)
		if d := k.find(item); d >= 0 {
			k.delivered = slices.Delete(k.delivered, d, d+1)
		}
		k.delivered = append(k.delivered, modelDelivery{item, now})
		k.delivered = k.delivered[max(0, len(k.delivered)-keep):]
	}
	return flags, wrote
}

func (k *modelKey) forget(item string, layers Layer, since int64) bool {
	found := layers&Played != 0 && k.played[item]
	if found {
		delete(k.played, item)
	}
	if d := k.find(item); layers&Delivered != 0 && d >= 0 {
		found = found || k.delivered[d].at > since
		k.delivered = slices.Delete(k.delivered, d, d+1)
	}
	return found
}

// checkAll asks for everything there could be.
func (r *modelRun) checkAll() {
	now := time.Now().UnixMilli()
	for n := range 6 {
		for _, layers := range []Layer{Played, Delivered, All} {
			op := modelOp{name: "exists", key: fmt.Sprintf("user:%d", n), layers: layers}
			for i := range 150 {
				op.items = append(op.items, fmt.Sprintf("item-%d", i))
			}
			got := r.one2(op)
			if want, _ := r.expectOne(&op, now); !reflect.DeepEqual(got, want) {
				r.t.Fatalf("%s, layers %d after the last restart:\n got  %v\n want %v", op.key, layers, got, want)
			}
		}
	}
	r.t.Logf("%v, keep %d: %d records, %d power cuts", r.o.Fsync, r.keep, len(r.history), r.cuts)
}

func (r *modelRun) one2(op modelOp) any {
	begin(r.t, r.tx, Read, op.key)
	reply := r.one(op)
	commit(r.t, r.tx)
	return reply
}
