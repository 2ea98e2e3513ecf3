package policy

import (
	"errors"
	"slices"
)

var errMissingClass = errors.New("a policy has no class")

// near is how far ahead of the clock a time still counts as now. It is the one
// bound for event times (R8), for cuts, and for the order of changes: what lies
// further ahead was written under a wrong clock, and does not hold back what
// comes after the clock was set right.
const near = Day

// afterLast is the time of a change: now, but later than the last one.
func afterLast(now, last int64) int64 {
	now = clamp(now)
	if last >= now && last-now <= near {
		return min(last+1, MaxTime-1)
	}
	return now
}

// A Change says what POLICY SET did.
type Change struct {
	Version uint64
	From    int64 // ms

	// ErrorFrom is the time from which a new ERROR holds for keys of the
	// prefix: at once if they change class as well, else from the next calendar
	// window, as the open one has sets of the old width. 0: the ERROR is as it
	// was.
	ErrorFrom int64
}

// edit is a copy whose entries can be changed.
func (d *Directory) edit() *Directory {
	copied := *d
	copied.entries = slices.Clone(d.entries)
	return &copied
}

// entryOf finds or adds the entry of a prefix in an edited directory.
func (d *Directory) entryOf(prefix string) (*entry, error) {
	i, ok := d.find(prefix)
	if !ok {
		if len(prefix) > MaxPrefixLength {
			return nil, refuse("the prefix must have 0 to %d bytes, not %d", MaxPrefixLength, len(prefix))
		}
		if len(d.entries) >= MaxPrefixes {
			return nil, refuse("too many prefixes, at most %d", MaxPrefixes)
		}
		d.entries = slices.Insert(d.entries, i, entry{prefix: prefix})
	}
	return &d.entries[i], nil
}

// Set gives a prefix a policy. It replaces the one before: what is not given
// comes from the next shorter prefix from now on. If the prefix has exactly
// this policy already, nothing changes, and the same directory is returned.
func (d *Directory) Set(prefix string, given Partial, now int64) (*Directory, Change, error) {
	given = Partial{Given: given.Given, Values: given.over(Settings{})}
	if given.Given == 0 {
		return nil, Change{}, refuse("syntax error, a policy needs at least one of %s", namesOf(AllFields))
	}
	if err := given.Validate(); err != nil {
		return nil, Change{}, err
	}
	if i, ok := d.find(prefix); ok {
		if v := d.entries[i].live(); v != nil && v.given.equal(given, AllFields) {
			return d, Change{Version: v.id, From: v.from}, nil
		}
	}
	next, v, err := d.append(prefix, version{given: given}, now)
	if err != nil {
		return nil, Change{}, err
	}
	return next, Change{Version: v.id, From: v.from, ErrorFrom: next.errorFrom(d, prefix, v.from)}, nil
}

func (d *Directory) errorFrom(before *Directory, prefix string, from int64) int64 {
	was, is := before.View([]byte(prefix), nil), d.View([]byte(prefix), nil)
	switch {
	case was.Settings().Error == is.Settings().Error:
		return 0
	case was.Class().ID != is.Class().ID:
		return from
	}
	return is.Class().start(is.Current(from).Number + 1)
}

// Delete takes a prefix's policy away, so that its keys get the next shorter
// one's; for the empty prefix these are the defaults. Without a policy, the
// same directory is returned, and false.
func (d *Directory) Delete(prefix string, now int64) (*Directory, bool, error) {
	i, ok := d.find(prefix)
	if !ok || d.entries[i].live() == nil {
		return d, false, nil
	}
	next, _, err := d.append(prefix, version{deleted: true}, now)
	if err != nil {
		return nil, false, err
	}
	return next, true, nil
}

// append adds a version to a prefix, and builds.
func (d *Directory) append(prefix string, v version, now int64) (*Directory, version, error) {
	next := d.edit()
	e, err := next.entryOf(prefix)
	if err != nil {
		return nil, v, err
	}
	next.version++
	next.last = afterLast(clamp(now)+1, d.last)
	v.id, v.from = next.version, next.last
	v.classID, v.classFrom = v.id, v.from
	e.versions = slices.Clone(e.versions)
	if n := len(e.versions); n > 0 && e.versions[n-1].sameClass(&v) {
		v.classID, v.classFrom = e.versions[n-1].classID, e.versions[n-1].classFrom
		e.versions[n-1] = v
	} else {
		if n >= MaxVersions {
			return nil, v, refuse("too many changes of PERIOD, KEEP or ZONE of this prefix are still alive, at most %d", MaxVersions)
		}
		e.versions = append(e.versions, v)
	}
	if err := next.build(true); err != nil {
		return nil, v, err
	}
	return next, v, nil
}

// Rotate cuts the windows of all keys that start with a prefix, whether or not
// it has a policy; they keep the cut for life. With cond, nothing happens
// unless the prefix's open window is that one (cuts of single keys apart); then
// the same directory is returned. The cut's time is returned, or 0.
func (d *Directory) Rotate(prefix string, cond *Stamp, now int64) (*Directory, int64, error) {
	view := d.View([]byte(prefix), nil)
	if cond != nil && *cond != view.Stamp(now) {
		return d, 0, nil
	}
	next := d.edit()
	e, err := next.entryOf(prefix)
	if err != nil {
		return nil, 0, err
	}
	if d.cutCount() >= MaxCuts {
		return nil, 0, refuse("too many cuts of prefixes are still alive, at most %d", MaxCuts)
	}
	cut := view.nextCut(now)
	e.cuts = insertCut(e.cuts, cut)
	next.version++
	next.last = max(cut, afterLast(now, d.last))
	if err := next.build(false); err != nil {
		return nil, 0, err
	}
	return next, cut, nil
}

// Reserve makes settings of its own for a new key, and registers their class.
//
// If PERIOD or KEEP is given, all of period, zone and keep are fixed as they
// are now, so that the key has one class for life, which is pinned. What else
// is not given comes from the key's prefix whenever it is read.
func (d *Directory) Reserve(key []byte, given Partial) (*Directory, Own, error) {
	given = Partial{Given: given.Given, Values: given.over(Settings{})}
	if given.Given&^ReserveFields != 0 {
		return nil, Own{}, refuse("syntax error, only %s can be reserved", namesOf(ReserveFields))
	}
	if err := given.Validate(); err != nil {
		return nil, Own{}, err
	}
	own := Own{Reserved: true, Given: given.only(AllFields &^ classFields)}
	if given.Given&classFields == 0 {
		return d, own, nil
	}
	next := d.edit()
	class, err := next.classOf(given.over(d.ruleOf(key).settings), true)
	if err != nil {
		return nil, Own{}, err
	}
	own.HasClass, own.Class = true, class.ID
	if class.Pinned {
		return d, own, nil
	}
	pinned := *class
	pinned.Pinned = true
	next.classes[class.ID] = &pinned
	next.version++
	return next, own, next.build(false)
}

// Unpin says that no reserved key uses a class any more.
func (d *Directory) Unpin(id ClassID) *Directory {
	class := d.Class(id)
	if class == nil || !class.Pinned {
		return d
	}
	unpinned := *class
	unpinned.Pinned = false
	return d.replace(&unpinned)
}

// RaiseFloor sets the oldest block of a class that may have rows. A floor never
// goes down.
func (d *Directory) RaiseFloor(id ClassID, block int64) *Directory {
	class := d.Class(id)
	if class == nil {
		return d
	}
	block = min(block, class.LastBlock())
	if block <= class.Floor {
		return d
	}
	return d.replace(class.withFloor(block))
}

func (d *Directory) replace(class *Class) *Directory {
	next := d.edit()
	next.classes[class.ID] = class
	if err := next.build(false); err != nil {
		panic(err) // the same combinations have classes as before
	}
	return next
}

func (d *Directory) cutCount() int {
	count := 0
	for i := range d.entries {
		count += len(d.entries[i].cuts)
	}
	return count
}

// Prune forgets versions and cuts that no kept window needs at a time, and
// retires classes that neither a policy, nor a reserved key, nor rows use
// (hasRows; operands on their way count). The time must be one up to which
// ClockGuard allows deletes, as what is forgotten is not known again if the
// clock turns out to be ahead. Its effect is that of a delete: it belongs in
// the log.
func (d *Directory) Prune(now int64, hasRows func(ClassID) bool) *Directory {
	now = clamp(now)
	next := d.edit()
	next.horizon = max(d.horizon, d.keptSince(now, nil)-near)
	for i := range next.entries {
		next.entries[i] = next.entries[i].pruned(next.horizon, d.keptSince(now, d.rules[i].cuts))
	}
	next.entries = slices.DeleteFunc(next.entries, entry.unused)
	if err := next.build(true); err != nil {
		return d // no class is free for what is left; try again when one is
	}
	used := make(map[ClassID]bool)
	for _, r := range next.rules {
		for _, e := range r.epochs {
			used[e.class.ID] = true
		}
	}
	for id, class := range next.classes {
		if class != nil && !used[class.ID] && !class.Pinned && !hasRows(class.ID) {
			next.classes[id] = nil
		}
	}
	return next
}

// Flushed is the directory of a store whose keys are all gone at once
// (FLUSHALL, or one that was never written): policies, classes and floors stay,
// while earlier versions, cuts and pins served nobody any more.
func (d *Directory) Flushed() *Directory {
	next := d.edit()
	next.version++
	for i := range next.entries {
		e := &next.entries[i]
		for _, v := range e.versions {
			next.horizon = max(next.horizon, v.classFrom)
		}
		var live []version
		if v := e.live(); v != nil {
			live = []version{*v}
		}
		e.versions, e.cuts = live, nil
	}
	next.entries = slices.DeleteFunc(next.entries, entry.unused)
	for i, class := range next.classes {
		if class != nil && class.Pinned {
			unpinned := *class
			unpinned.Pinned = false
			next.classes[i] = &unpinned
		}
	}
	if err := next.build(false); err != nil {
		panic(err) // what holds now has its classes
	}
	return next
}

// unused reports that an entry says nothing; that of the empty prefix stays.
func (e entry) unused() bool {
	return e.prefix != "" && len(e.versions) == 0 && len(e.cuts) == 0
}

// keptSince is the start of the oldest window that any class keeps for keys
// with these cuts.
func (d *Directory) keptSince(now int64, cuts []int64) int64 {
	since := now
	for _, class := range d.Classes() {
		kept := class.startOf(class.oldestKept(class.Keep, cutsOf{shared: cuts}, now))
		// The cuts of the open calendar window are counted by its ordinal.
		since = min(since, kept, class.start(class.number(now)))
	}
	return since
}

// pruned drops versions whose successor holds since the horizon or longer, and
// cuts before kept.
func (e entry) pruned(horizon, kept int64) entry {
	first := 0
	for first+1 < len(e.versions) && e.versions[first+1].classFrom <= horizon {
		first++
	}
	if first+1 == len(e.versions) && e.versions[first].deleted && e.versions[first].classFrom <= horizon {
		first++
	}
	e.versions = slices.Clone(e.versions[first:])
	old, _ := slices.BinarySearch(e.cuts, kept)
	e.cuts = slices.Clone(e.cuts[old:])
	return e
}
