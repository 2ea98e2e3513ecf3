package storage

import (
	"bytes"
	"math"
)

// A delivered list is the newest items served to one key, as their bytes and
// times, oldest first, in one block:
//
//	word 0   entries used (u16) | first that may be live (u16) | live (u16) | log2 of the table's size (u16)
//	word 1   entries that fit (u32) | bytes of the heap used (u32)
//	word 2…  table: u16 entry number + 1, open addressing by the low bits of the hash
//	         entries: 2 words each: hash tag (u32) | heap offset (u32), then dead (1 bit) | time in ms (47) | length (16)
//	         heap: the items' bytes, to the end of the block
//
// An entry that is taken off stays as dead until the block is rebuilt, which
// an append does when entries or heap are full.
type delivered struct {
	words []uint64
	heap  []byte
	table int // entries of the table
	base  int // word of the first entry
}

const (
	deliveredHeader   = 2
	deliveredEntry    = 2
	minDelivered      = 4
	deliveredDead     = 1 << 63
	deliveredTimeMask = 1<<47 - 1
)

// MaxDelivered bounds a policy's DELIVERED N, MaxItem the length of an item
// and MaxKey that of a key.
const (
	MaxDelivered = 10000
	MaxItem      = math.MaxUint16
	MaxKey       = 4096
)

func openDelivered(words []uint64) delivered {
	table := 1 << uint(words[0]>>48)
	base := deliveredHeader + bytesToWords(table*2)
	d := delivered{words: words, table: table, base: base}
	d.heap = asBytes(words[base+d.fits()*deliveredEntry:])
	return d
}

// newDelivered allocates an empty list for so many entries and heap bytes.
func newDelivered(a *arena, entries, heap int) ref {
	shift := 0
	for 1<<shift <= entries*3/2 { // always an empty place, where a probe ends
		shift++
	}
	base := deliveredHeader + bytesToWords(2<<shift)
	r := a.alloc(base + entries*deliveredEntry + bytesToWords(heap))
	words := a.words(r)
	clear(words[:base])
	words[0] = uint64(shift) << 48
	words[1] = uint64(entries)
	return r
}

func (d delivered) used() int  { return int(uint16(d.words[0])) }
func (d delivered) first() int { return int(uint16(d.words[0] >> 16)) }
func (d delivered) live() int  { return int(uint16(d.words[0] >> 32)) }
func (d delivered) fits() int  { return int(uint32(d.words[1])) }
func (d delivered) heapUsed() int {
	return int(d.words[1] >> 32)
}

func (d delivered) addUsed(n int)     { d.words[0] += uint64(n) }
func (d delivered) addFirst(n int)    { d.words[0] += uint64(n) << 16 }
func (d delivered) dropLive()         { d.words[0] -= 1 << 32 }
func (d delivered) addLive()          { d.words[0] += 1 << 32 }
func (d delivered) addHeapUsed(n int) { d.words[1] += uint64(n) << 32 }

func (d delivered) tag(i int) uint32 { return uint32(d.words[d.base+i*deliveredEntry]) }
func (d delivered) info(i int) uint64 {
	return d.words[d.base+i*deliveredEntry+1]
}
func (d delivered) dead(i int) bool { return d.info(i)&deliveredDead != 0 }

// time is when entry i was delivered, in unix milliseconds.
func (d delivered) time(i int) int64 { return int64(d.info(i) >> 16 & deliveredTimeMask) }

func (d delivered) item(i int) []byte {
	off := int(d.words[d.base+i*deliveredEntry] >> 32)
	return d.heap[off : off+int(uint16(d.info(i)))]
}

func (d delivered) slot(i int) int {
	return int(d.words[deliveredHeader+i>>2] >> (i & 3 * 16) & 0xffff)
}

func (d delivered) setSlot(i, v int) {
	d.words[deliveredHeader+i>>2] |= uint64(v) << (i & 3 * 16)
}

func tagOfHash(h uint64) uint32 { return uint32(h >> 32) }

// find returns the entry number of item, or -1. h is its salted hash.
func (d delivered) find(h uint64, item []byte) int {
	mask := d.table - 1
	for i := int(h) & mask; ; i = (i + 1) & mask {
		n := d.slot(i)
		if n == 0 {
			return -1
		}
		if e := n - 1; d.tag(e) == tagOfHash(h) && !d.dead(e) && bytes.Equal(d.item(e), item) {
			return e
		}
	}
}

// has says whether item was delivered after the time since.
func (d delivered) has(h uint64, item []byte, since int64) bool {
	e := d.find(h, item)
	return e >= 0 && d.time(e) > since
}

// kill takes entry e off.
func (d delivered) kill(e int) {
	d.words[d.base+e*deliveredEntry+1] |= deliveredDead
	d.dropLive()
}

// killHash takes off whatever was delivered under the salted hash h: what is
// played answers "seen" for every item of this hash anyway. It says whether
// anything went.
func (d delivered) killHash(h uint64, hash func(item []byte) uint64) (killed bool) {
	mask := d.table - 1
	for i := int(h) & mask; ; i = (i + 1) & mask {
		n := d.slot(i)
		if n == 0 {
			return killed
		}
		if e := n - 1; d.tag(e) == tagOfHash(h) && !d.dead(e) && hash(d.item(e)) == h {
			d.kill(e)
			killed = true
		}
	}
}

// dropOldest takes off the oldest live entry; there must be one.
func (d delivered) dropOldest() {
	e := d.skipDead()
	d.kill(e)
	d.addFirst(e + 1 - d.first())
}

// skipDead is the number of the oldest live entry, or used().
func (d delivered) skipDead() int {
	e := d.first()
	for e < d.used() && d.dead(e) {
		e++
	}
	return e
}

// expire takes off the entries that were delivered at since or before, from
// the oldest on.
func (d delivered) expire(since int64) {
	for {
		e := d.skipDead()
		if e == d.used() || d.time(e) > since {
			return
		}
		d.dropOldest()
	}
}

func (d delivered) room(item []byte) bool {
	return d.used() < d.fits() && d.heapUsed()+len(item) <= len(d.heap)
}

// push appends item; there must be room.
func (d delivered) push(h uint64, item []byte, at int64) {
	e, off := d.used(), d.heapUsed()
	copy(d.heap[off:], item)
	d.words[d.base+e*deliveredEntry] = uint64(tagOfHash(h)) | uint64(off)<<32
	d.words[d.base+e*deliveredEntry+1] = uint64(at)&deliveredTimeMask<<16 | uint64(len(item))
	d.addUsed(1)
	d.addLive()
	d.addHeapUsed(len(item))
	mask := d.table - 1
	i := int(h) & mask
	for d.slot(i) != 0 {
		i = (i + 1) & mask
	}
	d.setSlot(i, e+1)
}

// deliver puts item at the newest end of the list r (0: none yet), which
// keeps at most keep items, and returns the list's block.
func deliver(a *arena, r ref, h uint64, item []byte, at int64, keep int, hash func([]byte) uint64) ref {
	if r == 0 {
		r = newDelivered(a, min(minDelivered, keep), (minDelivered*len(item)+7)&^7)
	}
	d := openDelivered(a.words(r))
	if e := d.find(h, item); e >= 0 {
		d.kill(e)
	}
	for d.live() >= keep {
		d.dropOldest()
	}
	if !d.room(item) {
		r = rebuildDelivered(a, r, item, keep, hash)
		d = openDelivered(a.words(r))
	}
	d.push(h, item, at)
	return r
}

// rebuildDelivered copies the live entries into a block with room for more,
// item among them, and frees r. hash gives an item's salted hash.
func rebuildDelivered(a *arena, r ref, item []byte, keep int, hash func([]byte) uint64) ref {
	old := openDelivered(a.words(r))
	heap := 0
	for e := old.first(); e < old.used(); e++ {
		if !old.dead(e) {
			heap += len(old.item(e))
		}
	}
	live := old.live() + 1
	entries := min(live+max(live/2, minDelivered), keep+max(keep/4, 1))
	heap += len(item)
	grown := newDelivered(a, entries, heap*entries/live)
	d := openDelivered(a.words(grown))
	for e := old.first(); e < old.used(); e++ {
		if !old.dead(e) {
			d.push(hash(old.item(e)), old.item(e), old.time(e))
		}
	}
	a.free(r)
	return grown
}
