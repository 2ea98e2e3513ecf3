package server

import (
	"io"
	"math/bits"
	"sync"
)

const (
	smallBuffer  = 4 << 10  // what a quiet connection keeps
	busyBuffer   = 64 << 10 // what a busy one may keep between commands
	pooledBuffer = 1 << 20  // the largest that is kept for reuse
)

// bufferPool lends byte slices whose capacity is a power of two of at least
// smallBuffer. It keeps those up to pooledBuffer, until the garbage collector
// wants them. Safe from any goroutine.
type bufferPool struct {
	classes [9]sync.Pool // 4 KiB << class, of *[]byte
	boxes   sync.Pool    // empty *[]byte, so that put need not allocate

	returned func([]byte) // nil but in tests: sees what will be lent again
}

func classOf(size int) int {
	if size <= smallBuffer {
		return 0
	}
	return bits.Len(uint(size-1)) - bits.Len(uint(smallBuffer-1))
}

// get returns a slice of length and capacity size, rounded up to a power of two.
func (p *bufferPool) get(size int) []byte {
	class := classOf(size)
	if class < len(p.classes) {
		if box, ok := p.classes[class].Get().(*[]byte); ok {
			b := *box
			*box = nil
			p.boxes.Put(box)
			return b
		}
	}
	return make([]byte, smallBuffer<<class)
}

// put takes a slice back that came from get; the caller forgets it.
func (p *bufferPool) put(b []byte) {
	if cap(b) < smallBuffer || cap(b) > pooledBuffer {
		return
	}
	box, ok := p.boxes.Get().(*[]byte)
	if !ok {
		box = new([]byte)
	}
	*box = b[:cap(b)]
	if p.returned != nil {
		p.returned(*box)
	}
	p.classes[classOf(cap(b))].Put(box)
}

// readBuffer holds the bytes that were received and not yet taken. It grows
// only as bytes arrive, never on a client's word, and belongs to one
// connection's goroutine.
type readBuffer struct {
	pool       *bufferPool
	b          []byte
	start, end int  // b[start:end] was received and not taken
	full       bool // the last fill left no room: more was probably waiting
}

func (r *readBuffer) init(pool *bufferPool) { r.pool, r.b = pool, pool.get(smallBuffer) }

func (r *readBuffer) unread() []byte { return r.b[r.start:r.end] }

func (r *readBuffer) take(n int) { r.start += n }

// compact moves what is left over to the front: a command's bytes are moved at
// most once for that, since from then on it starts at 0.
func (r *readBuffer) compact() {
	if r.start > 0 {
		r.end = copy(r.b, r.b[r.start:r.end])
		r.start = 0
	}
}

// must reports whether the next read needs a larger buffer, and should whether
// it would be better with one. Both are for a compact buffer.
func (r *readBuffer) must() bool   { return r.end == len(r.b) }
func (r *readBuffer) should() bool { return r.must() || r.full && len(r.b) < busyBuffer }

// fill reads once, into the room there is.
func (r *readBuffer) fill(from io.Reader) (int, error) {
	n, err := from.Read(r.b[r.end:])
	r.end += n
	r.full = r.end == len(r.b)
	return n, err
}

// large reports whether a quiet connection has memory to give back.
func (r *readBuffer) large() bool { return classOf(len(r.b)) > classOf(r.needs()) }

// needs is what the content takes, and room for the next byte.
func (r *readBuffer) needs() int { return r.end - r.start + 1 }

// shrinkTo brings the buffer down to size, or to what its content needs.
func (r *readBuffer) shrinkTo(size int) {
	size = max(size, r.needs())
	if classOf(size) < classOf(len(r.b)) {
		r.resize(size)
	}
}

func (r *readBuffer) resize(size int) {
	b := r.pool.get(size)
	n := copy(b, r.unread())
	r.pool.put(r.b)
	r.b, r.start, r.end, r.full = b, 0, n, false
}

// discard forgets the content and the memory for it.
func (r *readBuffer) discard() {
	r.start, r.end = 0, 0
	r.shrinkTo(smallBuffer)
}

func (r *readBuffer) release() {
	r.pool.put(r.b)
	r.b, r.start, r.end = nil, 0, 0
}
