package server

import (
	"sync"
	"unsafe"

	"github.com/tidwall/redcon"
)

const (
	flushSize   = 64 << 10 // replies are written when so many bytes have gathered
	keptReplies = 2 * flushSize
	keptArgs    = 16384
)

// batch gathers the replies of the commands that one read brought, and knows
// which of them rest on a position that is not durable yet. A connection holds
// one only while it works; it belongs to that connection's goroutine.
type batch struct {
	buf   []byte
	waits []replySpan // the replies in buf that depend on wait, in order
	wait  uint64      // the position that must be durable before buf may leave; 0: none
	argv  [][]byte    // the arguments of the command that runs; its length is the most there were
	spans []span      // for the parser of the connection that works, which takes it away: an array has one holder

	commands int64 // run and not yet counted in the statistics
}

// replySpan is the place of one reply in a batch.
type replySpan struct{ start, end int }

// run lets s answer one command.
func (b *batch) run(s Session, args [][]byte) {
	start := len(b.buf)
	reply, wait := s.Do(b.buf, args)
	b.buf = reply
	b.commands++
	if wait > 0 {
		b.wait = max(b.wait, wait)
		b.waits = append(b.waits, replySpan{start, len(reply)})
	}
}

// settle makes the batch fit to leave: it waits for the latest position any
// reply depends on. If that fails, each reply that depends on a position says
// so instead; the others stand.
func (b *batch) settle(s Session) error {
	if b.wait == 0 {
		return nil
	}
	err := s.Wait(b.wait)
	if err != nil {
		b.replaceWaits("MISCONF " + err.Error())
	}
	b.waits, b.wait = b.waits[:0], 0
	return err
}

func (b *batch) replaceWaits(text string) {
	old := b.buf
	b.buf = make([]byte, 0, len(old))
	from := 0
	for _, w := range b.waits {
		b.buf = append(b.buf, old[from:w.start]...)
		if w.end > w.start { // a client that wants no replies gets none
			b.buf = appendError(b.buf, text)
		}
		from = w.end
	}
	b.buf = append(b.buf, old[from:]...)
}

// cut takes back what was appended behind size, and with it the memory.
func (b *batch) cut(size int) {
	for n := len(b.waits); n > 0 && b.waits[n-1].start >= size; n-- {
		b.waits = b.waits[:n-1]
	}
	b.buf = append(make([]byte, 0, max(size+64, smallBuffer)), b.buf[:size]...)
	b.argv = nil
}

// size is what the batch takes, in bytes.
func (b *batch) size() int64 {
	return int64(cap(b.buf)) + int64(cap(b.argv))*viewSize + int64(cap(b.spans))*spanSize + int64(cap(b.waits))*waitSize
}

const (
	viewSize = int64(unsafe.Sizeof([]byte(nil)))
	waitSize = int64(unsafe.Sizeof(replySpan{}))
)

// trim drops what grew out of proportion and holds nothing now.
func (b *batch) trim() {
	if cap(b.buf) > keptReplies && len(b.buf) == 0 {
		b.buf = make([]byte, 0, smallBuffer)
	}
	if cap(b.argv) > keptArgs {
		b.argv = nil
	}
	if cap(b.spans) > keptArgs {
		b.spans = nil
	}
	if cap(b.waits) > keptArgs && len(b.waits) == 0 {
		b.waits = nil
	}
}

func (b *batch) reset() {
	b.buf = b.buf[:0]
	b.waits, b.wait = b.waits[:0], 0
}

// appendError appends an error reply; whatever the text holds, it stays one line.
func appendError(dst []byte, text string) []byte {
	return redcon.AppendError(dst, oneLine(text))
}

// oneLine replaces everything in s that could end or disturb a line.
func oneLine(s string) string {
	clean := []byte(s)
	for i, c := range clean {
		if c < ' ' || c == 0x7f {
			clean[i] = ' '
		}
	}
	return string(clean)
}

// batchPool lends batches; what grew out of proportion is not kept. Safe from
// any goroutine.
type batchPool struct {
	pool sync.Pool

	returned func(*batch) // nil but in tests: sees what will be lent again
}

func (p *batchPool) get() *batch {
	if b, ok := p.pool.Get().(*batch); ok {
		return b
	}
	return newBatch()
}

func newBatch() *batch { return &batch{buf: make([]byte, 0, smallBuffer)} }

// put takes a batch back; the caller forgets it and all that is in it.
func (p *batchPool) put(b *batch) {
	b.reset()
	b.trim()
	clear(b.argv) // they point into a read buffer
	b.argv = b.argv[:0]
	if p.returned != nil {
		p.returned(b)
	}
	p.pool.Put(b)
}
