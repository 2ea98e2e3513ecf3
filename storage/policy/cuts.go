package policy

import "slices"

// Cuts are the cuts of one key. Those that are older than every kept window
// are forgotten; of them only the number within the current calendar window
// remains, so that ordinals do not go back. Cuts are immutable.
type Cuts struct {
	Times []int64 // ms, strictly ascending

	// Gone cuts were forgotten in the calendar window that began at GoneSince.
	Gone      int64
	GoneSince int64
}

// MaxCuts bounds the cuts that are kept of one key, and those of all prefixes.
const MaxCuts = 4096

// with adds a cut and forgets those before keep; since is the start of the
// current calendar window.
func (c Cuts) with(cut, keep, since int64) Cuts {
	result := Cuts{GoneSince: since}
	if c.GoneSince == since {
		result.Gone = c.Gone
	}
	times := insertCut(c.Times, cut)
	first, _ := slices.BinarySearch(times, keep)
	first = max(first, len(times)-MaxCuts)
	for _, time := range times[:first] {
		if time > since {
			result.Gone++
		}
	}
	result.Times = slices.Clip(times[first:])
	if result.Gone == 0 {
		result.GoneSince = 0
	}
	return result
}

// insertCut returns a new list with the cut in its place.
func insertCut(times []int64, cut int64) []int64 {
	at, found := slices.BinarySearch(times, cut)
	if found {
		return times
	}
	return slices.Insert(slices.Clone(times), at, cut)
}

// mergeCuts returns the union of two ascending lists.
func mergeCuts(a, b []int64) []int64 {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	merged := append(slices.Clone(a), b...)
	slices.Sort(merged)
	return slices.Compact(merged)
}

// cutsOf are the cuts that hold for a key: those of its prefixes and its own,
// two ascending lists that are read as one. A cut exactly at a calendar edge
// starts nothing there that the edge does not, so it does not count in that
// calendar.
type cutsOf struct {
	shared, own []int64
}

// A cutWalk reads cuts from the newest at or before a time backwards.
type cutWalk struct {
	shared, own []int64 // not yet read
}

func (c cutsOf) until(ms int64) cutWalk {
	return cutWalk{shared: c.shared[:countUntil(c.shared, ms)], own: c.own[:countUntil(c.own, ms)]}
}

// next is the next older cut, or -1.
func (w *cutWalk) next() int64 {
	a, b := int64(-1), int64(-1)
	if n := len(w.shared); n > 0 {
		a = w.shared[n-1]
	}
	if n := len(w.own); n > 0 {
		b = w.own[n-1]
	}
	cut := max(a, b)
	if cut < 0 {
		return -1
	}
	if a == cut {
		w.shared = w.shared[:len(w.shared)-1]
	}
	if b == cut {
		w.own = w.own[:len(w.own)-1]
	}
	return cut
}

// countUntil is how many of the ascending times are at or before ms.
func countUntil(times []int64, ms int64) int {
	low, high := 0, len(times)
	for low < high {
		mid := (low + high) / 2
		if times[mid] <= ms {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// newest is the newest cut at or before a time, or -1.
func (c cutsOf) newest(ms int64) int64 {
	walk := c.until(ms)
	return walk.next()
}

// after is the oldest cut after a time, or MaxTime.
func (c cutsOf) after(ms int64) int64 {
	next := MaxTime
	if i := countUntil(c.shared, ms); i < len(c.shared) {
		next = min(next, c.shared[i])
	}
	if i := countUntil(c.own, ms); i < len(c.own) {
		next = min(next, c.own[i])
	}
	return next
}

// labelAt is the label of the window that holds a time.
func (c *Calendar) labelAt(cuts cutsOf, ms int64) Label {
	number := c.number(ms)
	if cut := cuts.newest(ms); cut > c.start(number) {
		return Label{Number: number, Cut: cut}
	}
	return Label{Number: number}
}

// LabelStart is the first instant of a label's window.
func (c *Calendar) LabelStart(label Label) int64 { return c.startOf(label) }

func (c *Calendar) startOf(label Label) int64 {
	if label.Cut != 0 {
		return label.Cut
	}
	return c.start(label.Number)
}

// endOf is the first instant after a label's window.
func (c *Calendar) endOf(cuts cutsOf, label Label) int64 {
	return min(c.start(label.Number+1), cuts.after(c.startOf(label)))
}

// ordinal counts the cuts in the calendar window that holds a time, up to it.
func (c *Calendar) ordinal(cuts cutsOf, ms int64) int64 {
	start := c.start(c.number(ms))
	var count int64
	walk := cuts.until(ms)
	for walk.next() > start {
		count++
	}
	return count
}

// oldestKept is the oldest of the keep windows that are kept at a time: starts
// are counted back from it, at calendar edges and at cuts.
func (c *Calendar) oldestKept(keep int64, cuts cutsOf, ms int64) Label {
	number := c.number(ms)
	var counted int64 // starts at cuts
	walk := cuts.until(ms)
	for cut := walk.next(); cut >= 0; cut = walk.next() {
		of := c.number(cut)
		later := counted + number - of // starts after this cut
		if later >= keep {
			break
		}
		if c.start(of) == cut {
			continue
		}
		counted++
		if later+1 == keep {
			return Label{Number: of, Cut: cut}
		}
	}
	return Label{Number: max(0, number+1+counted-keep)}
}
