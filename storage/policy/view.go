package policy

// A View says how one key is read and written under a directory. It is a value
// that is made for a command, and allocates nothing; the directory and the Own
// that it was made from must not change.
//
// All methods take the time of the command's record. A time out of range counts
// as the nearest one within.
type View struct {
	rule  *rule
	own   *Own   // nil: nothing of its own
	class *Class // that writes go to
	cuts  cutsOf
}

// View looks a key up. own may be nil.
func (d *Directory) View(key []byte, own *Own) View {
	v := View{rule: d.ruleOf(key)}
	v.cuts.shared = v.rule.cuts
	v.class = v.rule.epochs[len(v.rule.epochs)-1].class
	if own == nil {
		return v
	}
	v.own = own
	v.cuts.own = own.Cuts.Times
	if own.HasClass {
		if class := d.Class(own.Class); class != nil {
			v.class = class
		}
	}
	return v
}

// Class is the class that writes go to.
func (v *View) Class() *Class { return v.class }

// Settings are all settings of the key.
func (v *View) Settings() Settings {
	s := v.rule.settings
	if v.own != nil && v.own.Reserved {
		s = v.own.Given.over(s)
		if v.own.HasClass {
			s.Period, s.Zone, s.Keep = v.class.period, v.class.zone, v.class.Keep
		}
	}
	return s
}

// clock is the time that counts for windows: the record's, but
//
//   - not before the newest cut that lies at most a day ahead (rotated twice in
//     a millisecond, or a clock set back a little): what was ended stays ended;
//   - not below the class's floor, where a write would be discarded.
func (v *View) clock(now int64) int64 {
	now = max(clamp(now), v.class.floorStart)
	return max(now, v.cuts.newest(min(now+near, MaxTime-1)))
}

// Current is the label of the open window, the one that a write at this time
// goes to (R7).
func (v *View) Current(now int64) Label {
	return v.class.labelAt(v.cuts, v.clock(now))
}

// Stamp is the open window as clients see it.
func (v *View) Stamp(now int64) Stamp {
	at := v.clock(now)
	number := v.class.number(at)
	s := Stamp{Number: number, Ordinal: v.class.ordinal(v.cuts, at)}
	if v.own != nil && v.own.Cuts.Gone > 0 && v.own.Cuts.GoneSince == v.class.start(number) {
		s.Ordinal += v.own.Cuts.Gone
	}
	return s
}

// A Span is the part of a class in which a key is searched: the windows from
// one on. There is no last one, as windows newer than the open one are searched
// too (R11).
type Span struct {
	Class *Class
	From  Label
}

// Holds reports whether a label of the class is searched.
func (s Span) Holds(l Label) bool { return !l.Before(s.From) }

// FirstBlock is the oldest block that is searched.
func (s Span) FirstBlock() int64 { return s.Class.Block(s.From.Number) }

// Spans appends what is searched for the key: first the class that writes go
// to, then those of earlier versions (R10). With room for a few spans in dst it
// allocates nothing.
//
// A class is searched from the oldest window that lives under it, and not below
// the window that holds the instant at which the oldest kept window of any
// later version began: those before it ended by then, and are hidden. A later
// version hides for as long as it is the newest; what it has hidden stays so
// after it is replaced. A class that an earlier version used as well counts
// from its first use, so that going back to it brings nothing back.
func (v *View) Spans(dst []Span, now int64) []Span {
	t := v.clock(now)
	if v.own != nil && v.own.HasClass {
		return append(dst, Span{v.class, v.livesFrom(v.class, t)})
	}
	first := len(dst)
	hidden := MinTime // windows that ended by then are hidden
	for i := len(v.rule.epochs) - 1; i >= 0; i-- {
		e := &v.rule.epochs[i]
		from := v.livesFrom(e.class, t)
		if e.class.startOf(from)-near <= e.until { // else nothing that was written then is left
			if hidden > MinTime {
				from = laterLabel(from, e.class.labelAt(v.cuts, hidden))
			}
			dst = addSpan(dst, first, Span{e.class, from})
		}
		if i > 0 {
			kept := e.class.oldestKept(e.class.Keep, v.cuts, min(t, e.until-1))
			hidden = max(hidden, e.class.startOf(kept))
		}
	}
	return dst
}

// livesFrom is the oldest label that lives under a class.
func (v *View) livesFrom(class *Class, t int64) Label {
	from := class.oldestKept(class.Keep, v.cuts, max(t, class.floorStart))
	if class.Floor > 0 {
		from = laterLabel(from, Label{Number: class.FirstWindow(class.Floor)})
	}
	return from
}

func addSpan(dst []Span, first int, s Span) []Span {
	for i := first; i < len(dst); i++ {
		if dst[i].Class == s.Class {
			dst[i].From = laterLabel(dst[i].From, s.From)
			return dst
		}
	}
	return append(dst, s)
}

// Until is the first time after now at which Current or Spans may answer
// differently if nothing but time changes: what they answered can be kept until
// then, or until the directory or the key's Own changes, or the clock goes
// back.
func (v *View) Until(now int64) int64 {
	now = clamp(now)
	t := v.clock(now)
	until := v.class.start(v.class.number(t) + 1)
	if v.own == nil || !v.own.HasClass {
		for i := range v.rule.epochs {
			class := v.rule.epochs[i].class
			until = min(until, class.start(class.number(max(t, class.floorStart))+1))
		}
	}
	// A cut that is further ahead than a day begins to count a day before.
	return max(now+1, min(until, v.cuts.after(min(max(now, v.class.floorStart)+near, MaxTime-1))-near))
}

// Bounds are the first instant of a label's window and the one after its last,
// for the key and a class that it is searched in.
func (v *View) Bounds(class *Class, label Label) Window {
	return Window{Number: label.Number, Start: class.startOf(label), End: class.endOf(v.cuts, label)}
}

// nextCut is the time of a cut of this key, or prefix, made now: never below
// the last cut's + 1 ms, nor before the newest version holds, and never on an
// edge of the calendar, where it would end nothing.
func (v *View) nextCut(now int64) int64 {
	now = max(clamp(now), v.class.floorStart)
	cut := afterLast(now, v.cuts.newest(min(now+near, MaxTime-1)))
	if from := v.rule.epochs[len(v.rule.epochs)-1].from; from-now <= near {
		cut = max(cut, from)
	}
	if cut == v.class.start(v.class.number(cut)) {
		cut++
	}
	return cut
}

// Rotate ends the key's open window and begins the next one. It returns what
// the key has of its own from then on, and forgets cuts that are older than
// every kept window. With cond, nothing happens unless the open window is that
// one; then false is returned. That a key whose open window is empty is not to
// be rotated is for the caller to see.
func (v *View) Rotate(cond *Stamp, now int64) (Own, bool) {
	var own Own
	if v.own != nil {
		own = *v.own
	}
	if cond != nil && *cond != v.Stamp(now) {
		return own, false
	}
	cut := v.nextCut(now)
	after := *v
	after.cuts.own = insertCut(own.Cuts.Times, cut)
	own.Cuts = own.Cuts.with(cut, after.keptSince(now), v.class.start(v.class.number(cut)))
	return own, true
}

// keptSince is the start of the oldest window that lives under any class of the
// key. It also counts the classes that Spans leaves out as they have nothing
// left: without the cuts that ended the life of their windows, these would come
// back.
func (v *View) keptSince(now int64) int64 {
	t := v.clock(now)
	since := v.class.startOf(v.class.oldestKept(v.class.Keep, v.cuts, t))
	if v.own != nil && v.own.HasClass {
		return since
	}
	for i := range v.rule.epochs {
		class := v.rule.epochs[i].class
		since = min(since, class.startOf(class.oldestKept(class.Keep, v.cuts, t)))
	}
	return since
}
