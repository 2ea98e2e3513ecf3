package filter

// AddTable adds to the table in a block the fingerprint of width bits of a
// salted hash. It reports false, and nothing has changed, if the table must be
// built anew: there is no room left where the entry belongs, the load would
// exceed 7/8, the width is above 32 and the table not wide, or the fingerprint
// is so short that it covers several homes. It does not allocate.
func AddTable(block []byte, hash uint64, width int) bool {
	t := OpenTable(block)
	if t.Len() >= t.slotCount()/8*7 || width > 32 && !t.wide {
		return false
	}
	h, e := &t.halves[hash>>63], entryOf(hash, width)
	if homeOf(h, least(e)) != homeOf(h, greatest(e)) {
		return false
	}
	taken, ok := t.insert(hash, width)
	t.putHead(block, t.Len()+taken)
	return ok
}

// insert puts an entry, with a copy for each home that it covers, into its
// half and returns how many slots that took.
func (t *Table) insert(hash uint64, width int) (taken int, ok bool) {
	h, e := &t.halves[hash>>63], entryOf(hash, width)
	if t.wide {
		return insertCopies(t.slots, h, e)
	}
	return insertCopies(t.slots, h, uint32(e>>32))
}

// insertCopies puts entry e into a half for each of its homes.
func insertCopies[W word](slots []byte, h *half, e W) (taken int, ok bool) {
	from, to := homeOf(h, least(e)), homeOf(h, greatest(e))
	for home := from; home <= to; home++ {
		n, ok := insertAt(slots, h, home, e)
		taken += n
		if !ok {
			return taken, false
		}
	}
	return taken, true
}

// insertAt puts e at home or behind it, behind the entries that begin no later
// than e, and moves those after it up to the next gap by one. It takes no slot
// if a search from home meets an entry that covers all of e.
func insertAt[W word](slots []byte, h *half, home uint32, e W) (taken int, ok bool) {
	end := uint(h.first + h.size - group)
	i := uint(h.first + home)
	for ; i < end; i++ {
		other := load[W](slots, i)
		if other == 0 || least(other) > least(e) {
			break
		}
		if other&-other >= e&-e && covers(other, e) != 0 {
			return 0, true
		}
	}
	gap := i
	for gap < end && load[W](slots, gap) != 0 {
		gap++
	}
	if gap >= end {
		return 0, false
	}
	size := sizeOf[W]()
	copy(slots[(i+1)*size:(gap+1)*size], slots[i*size:gap*size])
	store(slots, i, e)
	return 1, true
}
