package policy

import (
	"cmp"
	"slices"
	"strings"
)

// build derives the rules from the entries. Where an epoch needs a class that
// is not there, it is added if create is set, else an error.
func (d *Directory) build(create bool) error {
	d.rules = make([]rule, len(d.entries))
	var chain []*entry // the entries of the prefixes of the current one
	var above *rule
	for i := range d.entries {
		e := &d.entries[i]
		for above != nil && !strings.HasPrefix(e.prefix, above.prefix) {
			above = above.parent
			chain = chain[:len(chain)-1]
		}
		chain = append(chain, e)
		r := &d.rules[i]
		r.prefix = e.prefix
		r.parent = above
		r.cuts = e.cuts
		base := Defaults()
		if above != nil {
			r.depth = above.depth + 1
			r.cuts = mergeCuts(above.cuts, e.cuts)
			base = above.settings
		}
		if len(chain) > MaxNesting {
			return refuse("too many prefixes of one another, at most %d", MaxNesting)
		}
		r.given = e.live()
		r.settings = base
		if r.given != nil {
			r.settings = r.given.given.over(base)
		}
		if err := d.buildEpochs(r, chain, create); err != nil {
			return err
		}
		above = r
	}
	return nil
}

// buildEpochs replays the changes of class fields along a chain of prefixes.
// Epochs that ended by the horizon are left out: of what pruned versions said
// before it, nothing is known.
func (d *Directory) buildEpochs(r *rule, chain []*entry, create bool) error {
	type change struct {
		version *version
		depth   int
	}
	var changes []change
	for depth, e := range chain {
		for i := range e.versions {
			changes = append(changes, change{&e.versions[i], depth})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.version.classID, b.version.classID) })

	type stretch struct {
		settings    Settings
		from, until int64
	}
	var past []stretch
	last := stretch{settings: Defaults(), until: MaxTime}
	held := make([]Partial, len(chain))
	for _, c := range changes {
		held[c.depth] = Partial{}
		if !c.version.deleted {
			held[c.depth] = c.version.given
		}
		next := Defaults()
		for _, given := range held {
			next = given.over(next)
		}
		changed := keyOf(next) != keyOf(last.settings)
		if c.version.classFrom <= d.horizon {
			past = past[:0]
		} else if changed {
			past = append(past, stretch{last.settings, last.from, c.version.classFrom})
		}
		if changed {
			last.settings, last.from = next, c.version.classFrom
		}
	}
	for _, s := range append(past, last) {
		class, err := d.classOf(s.settings, create)
		if err != nil {
			return err
		}
		r.epochs = append(r.epochs, epoch{class: class, from: s.from, until: s.until})
	}
	return nil
}

// classOf finds the class of settings, or makes it under the lowest free id.
func (d *Directory) classOf(s Settings, create bool) (*Class, error) {
	free := -1
	key := keyOf(s)
	for i, class := range d.classes {
		switch {
		case class == nil:
			if free < 0 {
				free = i
			}
		case class.key() == key:
			return class, nil
		}
	}
	if !create {
		return nil, errMissingClass
	}
	if free < 0 {
		return nil, refuse("too many combinations of PERIOD, ZONE and KEEP are in use, at most %d", MaxClasses)
	}
	d.classes[free] = newClass(ClassID(free), s)
	return d.classes[free], nil
}
