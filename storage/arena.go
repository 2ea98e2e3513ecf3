package storage

import (
	"math/bits"
	"sort"
	"sync/atomic"
	"unsafe"
)

// ref names a block of an arena: page number and offset in 8-byte words. The
// zero ref names nothing. Refs instead of pointers keep the hot layer out of
// the garbage collector's sight: it sees a few large pages without pointers,
// however many keys there are.
type ref uint32

const (
	pageShift  = 11 // a page is 2,048 words, 16 KiB
	pageWords  = 1 << pageShift
	pageMask   = pageWords - 1
	pageBytes  = pageWords * 8
	maxInPage  = pageWords / 4 // larger blocks get a page of their own size
	largeStep  = 128           // in words
	largeClass = -1
	noPage     = 0 // page 0 is never handed out, so that ref 0 is free to mean nothing
)

// classWords are the block sizes within pages, in words: dense while small,
// then such that they divide a page with little left over.
var classWords = buildClasses()

// classOf maps a size in words to its class.
var classOf = buildClassOf(classWords)

func buildClasses() []int {
	var sizes []int
	for w := 2; w <= 10; w++ {
		sizes = append(sizes, w)
	}
	for step := 2; sizes[len(sizes)-1] < 128; step *= 2 {
		for range 4 {
			sizes = append(sizes, sizes[len(sizes)-1]+step)
		}
	}
	for n := 14; n >= pageWords/maxInPage; n-- {
		if w := pageWords / n; w > sizes[len(sizes)-1] {
			sizes = append(sizes, w)
		}
	}
	sort.Ints(sizes)
	return sizes
}

func buildClassOf(sizes []int) []int8 {
	table := make([]int8, maxInPage+1)
	class := 0
	for w := range table {
		if w > sizes[class] {
			class++
		}
		table[w] = int8(class)
	}
	return table
}

// page holds the blocks of one size class, or one large block.
type page struct {
	words      []uint64
	class      int8
	listed     bool  // in its class's list of pages with room
	live       int32 // blocks in use
	bump       int32 // words handed out so far
	free       int32 // offset+1 of the first freed block; each holds the next in its first word
	prev, next int32 // in the list of pages with room
}

// arena allocates the blocks of one shard in size classes. A page whose last
// block is freed goes back to the Go heap, so memory follows the content down
// as well as up. Not safe for concurrent use: the shard's lock guards it.
type arena struct {
	pages []page
	empty []int32 // numbers of pages without memory
	room  []int32 // by class: head of the list of pages with room
	used  *atomic.Int64
}

func newArena(used *atomic.Int64) arena {
	return arena{pages: make([]page, 1), room: make([]int32, len(classWords)), used: used}
}

// alloc returns a block of at least words words. Its content is whatever was
// there before.
func (a *arena) alloc(words int) ref {
	if words > maxInPage {
		return a.allocLarge(words)
	}
	class := classOf[words]
	n := a.room[class]
	if n == noPage {
		n = a.addPage(pageWords, class)
		a.link(n)
	}
	p := &a.pages[n]
	size := int32(classWords[class])
	off := p.bump
	if p.free != 0 {
		off = p.free - 1
		p.free = int32(p.words[off])
	} else {
		p.bump += size
	}
	p.live++
	if p.free == 0 && p.bump+size > pageWords {
		a.unlink(n)
	}
	return ref(n)<<pageShift | ref(off)
}

func (a *arena) allocLarge(words int) ref {
	words = blockWords(words)
	n := a.addPage(words, largeClass)
	a.pages[n].live = 1
	return ref(n) << pageShift
}

func (a *arena) addPage(words int, class int8) int32 {
	var n int32
	if k := len(a.empty); k > 0 {
		n = a.empty[k-1]
		a.empty = a.empty[:k-1]
	} else {
		n = int32(len(a.pages))
		a.pages = append(a.pages, page{})
	}
	a.pages[n] = page{words: make([]uint64, words), class: class}
	a.used.Add(int64(words) * 8)
	return n
}

// words is the block of r, as long as its size class. It is valid until the
// block is freed.
func (a *arena) words(r ref) []uint64 {
	p := &a.pages[r>>pageShift]
	if p.class == largeClass {
		return p.words
	}
	off := int(r & pageMask)
	return p.words[off : off+classWords[p.class] : off+classWords[p.class]]
}

// free gives the block back.
func (a *arena) free(r ref) {
	if r == 0 {
		return
	}
	n := int32(r >> pageShift)
	p := &a.pages[n]
	p.live--
	if p.live == 0 {
		a.dropPage(n)
		return
	}
	off := int32(r & pageMask)
	p.words[off] = uint64(p.free)
	p.free = off + 1
	if !p.listed {
		a.link(n)
	}
}

func (a *arena) dropPage(n int32) {
	p := &a.pages[n]
	if p.listed {
		a.unlink(n)
	}
	a.used.Add(-int64(len(p.words)) * 8)
	*p = page{}
	a.empty = append(a.empty, n)
}

func (a *arena) link(n int32) {
	p := &a.pages[n]
	p.prev, p.next = 0, a.room[p.class]
	if p.next != 0 {
		a.pages[p.next].prev = n
	}
	a.room[p.class] = n
	p.listed = true
}

func (a *arena) unlink(n int32) {
	p := &a.pages[n]
	if p.prev != 0 {
		a.pages[p.prev].next = p.next
	} else {
		a.room[p.class] = p.next
	}
	if p.next != 0 {
		a.pages[p.next].prev = p.prev
	}
	p.prev, p.next, p.listed = 0, 0, false
}

// blockWords is the size of the block that alloc returns for a request of
// words words.
func blockWords(words int) int {
	if words > maxInPage {
		return (words + largeStep - 1) / largeStep * largeStep
	}
	return classWords[classOf[words]]
}

// asBytes views words as bytes; the two share memory.
func asBytes(w []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), len(w)*8)
}

// bytesToWords is how many words hold n bytes.
func bytesToWords(n int) int { return (n + 7) / 8 }

// ceilPow2 is the least power of two that is at least n, and at least 1.
func ceilPow2(n int) int {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len(uint(n-1))
}
