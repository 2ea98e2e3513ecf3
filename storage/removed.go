package storage

// The removed list of a key holds the salted hashes of items that REM has
// taken out of the played layer (R12): the sets on disk only know union, so a
// removed item stays in them and this list hides it. An entry goes when the
// newest window that can hold the item goes, and when the item is played
// again.
//
//	word 0   count
//	word 1…  pairs: salted hash, end of the entry's life (unix ms)
const (
	removedHeader = 1
	removedPair   = 2
)

type removal struct {
	hash uint64
	end  int64
}

func removedCount(words []uint64) int { return int(words[0]) }

func removedAt(words []uint64, i int) removal {
	at := removedHeader + i*removedPair
	return removal{hash: words[at], end: int64(words[at+1])}
}

func setRemovedAt(words []uint64, i int, r removal) {
	at := removedHeader + i*removedPair
	words[at], words[at+1] = r.hash, uint64(r.end)
}

// hasRemoved says whether the hash is on the list.
func (e entry) hasRemoved(h uint64) bool {
	r := e.removed()
	if r == 0 {
		return false
	}
	words := e.shard.arena.words(r)
	for i := range removedCount(words) {
		if removedAt(words, i).hash == h {
			return true
		}
	}
	return false
}

// addRemoved puts the hash on the list until end.
func (e entry) addRemoved(h uint64, end int64) {
	a := &e.shard.arena
	r := e.removed()
	n := 0
	if r != 0 {
		n = removedCount(a.words(r))
	}
	if r == 0 || removedHeader+(n+1)*removedPair > len(a.words(r)) {
		grown := a.alloc(removedHeader + (n+1+n/2)*removedPair)
		words := a.words(grown)
		words[0] = uint64(n)
		if r != 0 {
			copy(words[removedHeader:], a.words(r)[removedHeader:removedHeader+n*removedPair])
			a.free(r)
		}
		e.setRemoved(grown)
		r = grown
	}
	words := a.words(r)
	setRemovedAt(words, n, removal{h, end})
	words[0]++
}

// dropRemoved takes the hash off the list and says whether it was there.
func (e entry) dropRemoved(h uint64) bool {
	return e.filterRemoved(func(r removal) bool { return r.hash != h })
}

// expireRemoved takes off what ended at now or before.
func (e entry) expireRemoved(now int64) bool {
	return e.filterRemoved(func(r removal) bool { return r.end > now })
}

// filterRemoved keeps what keep accepts and says whether anything went.
func (e entry) filterRemoved(keep func(removal) bool) bool {
	r := e.removed()
	if r == 0 {
		return false
	}
	words := e.shard.arena.words(r)
	n := 0
	before := removedCount(words)
	for i := range before {
		if one := removedAt(words, i); keep(one) {
			setRemovedAt(words, n, one)
			n++
		}
	}
	words[0] = uint64(n)
	if n == 0 {
		e.shard.arena.free(r)
		e.setRemoved(0)
	}
	return n != before
}
