package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	loadItems   = 500              // a call
	loadBytes   = 256 << 10        // of one write, about
	loadTimeout = 30 * time.Second // of one write and its replies
)

// load adds every key's seen items, each connection its share of the keys. The
// first error reply ends it: a run over keys that are not there would measure
// something else.
func load(ctx context.Context, cfg *config, workers []*worker, stderr io.Writer) error {
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(run, func() { interrupt(workers) })()

	var keys atomic.Int64
	progress := startProgress(stderr, func() string {
		return fmt.Sprintf("loading: %s of %s keys", thousands(float64(keys.Load())), thousands(float64(cfg.Keys)))
	})
	defer progress.stop()

	var wg sync.WaitGroup
	for i, w := range workers {
		wg.Go(func() {
			l := loader{cfg: cfg, client: w.client, keys: &keys}
			if err := l.run(run, i, len(workers)); err != nil {
				stop(err)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted after %d of %d keys", keys.Load(), cfg.Keys)
	}
	return context.Cause(run)
}

// loader loads keys over one connection.
type loader struct {
	*client
	cfg     *config
	keys    *atomic.Int64 // loaded, over all connections
	buf     []byte
	calls   int // in buf
	entered int // keys that end in buf
}

// run loads every stride-th key from the first on.
func (l *loader) run(ctx context.Context, first, stride int) error {
	for key := first; key < l.cfg.Keys && ctx.Err() == nil; key += stride {
		if err := l.key(key); err != nil {
			return err
		}
	}
	return l.flush()
}

// key appends the calls that load one key, and sends when enough are together.
func (l *loader) key(key int) error {
	atOnce := loadItems
	if l.cfg.Load.one {
		atOnce = 1
	}
	for from := 0; from < l.cfg.Items; from += atOnce {
		l.call(key, from, min(from+atOnce, l.cfg.Items))
		if len(l.buf) < loadBytes {
			continue
		}
		if err := l.flush(); err != nil {
			return err
		}
	}
	l.entered++
	return nil
}

// call appends the call that adds items from to to (exclusive).
func (l *loader) call(key, from, to int) {
	buf, at := l.cfg.Load.appendCall(l.buf, l.cfg, to-from)
	putKey(buf[at.key:at.key+keyDigits], key)
	for i := range to - from {
		item := buf[at.item+i*at.stride:][:l.cfg.ItemSize]
		putItem(item, loadedItem, loadedNumber(key, from+i))
	}
	l.buf = buf
	l.calls++
}

// flush sends what is together and reads the replies.
func (l *loader) flush() error {
	if err := l.SetDeadline(time.Now().Add(loadTimeout)); err != nil {
		return err
	}
	if err := l.send(l.buf); err != nil {
		return err
	}
	for range l.calls {
		r, err := l.next()
		if err != nil {
			return err
		}
		if r.failed {
			return fmt.Errorf("%s: %w", l.cfg.Load.name, errors.New(l.errText))
		}
	}
	l.keys.Add(int64(l.entered))
	l.buf, l.calls, l.entered = l.buf[:0], 0, 0
	return nil
}
