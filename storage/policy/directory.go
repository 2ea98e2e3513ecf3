package policy

import (
	"slices"
	"strings"
)

// The bounds of a directory.
const (
	MaxPrefixes     = 1024
	MaxPrefixLength = 1024

	// MaxNesting is how many known prefixes may be prefixes of one another.
	MaxNesting = 16

	// MaxVersions is how many changes of PERIOD, KEEP or ZONE of one prefix are
	// remembered at a time. (Changes of the other settings need no memory.)
	MaxVersions = 64
)

// A Directory holds the policies of all prefixes, the cuts of prefixes, and
// the classes. It is an immutable snapshot: changes return a new one, and the
// owner swaps it, so readers need no lock. A change costs time in proportion to
// the size of the directory; a look-up allocates nothing.
//
// A record is written under the newest version at its place in the log,
// whatever its time says; the time from which a version holds serves the
// windows that older versions wrote. It is the millisecond after its record, so
// that cuts of the same millisecond, if they came first, lie before it.
type Directory struct {
	version uint64
	last    int64 // time of the newest change or cut
	horizon int64 // epochs that ended by then are forgotten
	classes [MaxClasses]*Class
	entries []entry // by prefix; the first is the empty one
	rules   []rule  // one for each entry, derived from the above
}

// An entry is what the directory remembers of one prefix.
type entry struct {
	prefix   string
	versions []version // oldest first
	cuts     []int64   // ms, strictly ascending
}

// A version is one POLICY SET or DEL of a prefix. If its class fields are those
// of the version before it, it takes that one's place in the list, and only
// remembers since when they hold.
type version struct {
	id      uint64
	from    int64 // ms
	deleted bool
	given   Partial

	classID   uint64 // the version that brought the class fields
	classFrom int64
}

func (v *version) sameClass(other *version) bool {
	return v.deleted == other.deleted && v.given.equal(other.given, classFields)
}

// live is the version that holds now, if the prefix has a policy.
func (e *entry) live() *version {
	if n := len(e.versions); n > 0 && !e.versions[n-1].deleted {
		return &e.versions[n-1]
	}
	return nil
}

// A rule is what an entry's prefix means for a key whose longest known prefix
// it is.
type rule struct {
	prefix   string
	parent   *rule // the next shorter known prefix, nil for the empty one
	depth    int
	given    *version // of this prefix, nil if it has no policy now
	settings Settings
	epochs   []epoch // oldest first, never empty; the last one holds now
	cuts     []int64 // of this and all shorter prefixes
}

// An epoch is a stretch of time in which keys under a rule were written to one
// class.
type epoch struct {
	class *Class
	from  int64 // ms
	until int64 // ms; MaxTime for the one that holds now
}

// New is the directory of a new store: the defaults for every key.
func New() *Directory {
	d := &Directory{entries: []entry{{}}}
	d.classes[0] = newClass(0, Defaults())
	if err := d.build(false); err != nil {
		panic(err) // the defaults have a class
	}
	return d
}

// Version counts the changes of policies; records carry it.
func (d *Directory) Version() uint64 { return d.version }

// Class is the class with an id, or nil.
func (d *Directory) Class(id ClassID) *Class {
	if int(id) >= MaxClasses {
		return nil
	}
	return d.classes[id]
}

// Classes lists the living classes by id.
func (d *Directory) Classes() []*Class {
	var all []*Class
	for _, class := range d.classes {
		if class != nil {
			all = append(all, class)
		}
	}
	return all
}

// ruleOf finds the rule of the longest known prefix of a key. The greatest
// known prefix that is not after the key in order either is a prefix of it, or
// shares with it every known prefix that is.
func (d *Directory) ruleOf(key []byte) *rule {
	low, high := 0, len(d.rules) // rules[low].prefix <= key < rules[high].prefix
	for high-low > 1 {
		mid := (low + high) / 2
		if d.rules[mid].prefix <= string(key) {
			low = mid
		} else {
			high = mid
		}
	}
	r := &d.rules[low]
	for !hasPrefix(key, r.prefix) {
		r = r.parent
	}
	return r
}

func hasPrefix(key []byte, prefix string) bool {
	return len(key) >= len(prefix) && string(key[:len(prefix)]) == prefix
}

// find is the place of a prefix among the entries.
func (d *Directory) find(prefix string) (int, bool) {
	return slices.BinarySearchFunc(d.entries, prefix, func(e entry, p string) int {
		return strings.Compare(e.prefix, p)
	})
}

// A Policy is one line of POLICY LIST.
type Policy struct {
	Prefix   string
	Version  uint64 // 0 if these are the defaults
	From     int64  // ms
	Given    Partial
	Settings Settings // with those of shorter prefixes for what is not given
}

// Get is the policy of exactly this prefix. The empty prefix always has one.
func (d *Directory) Get(prefix string) (Policy, bool) {
	i, ok := d.find(prefix)
	if !ok {
		return Policy{}, false
	}
	return d.rules[i].policy()
}

// List lists the policies by prefix, that of the empty prefix first.
func (d *Directory) List() []Policy {
	var all []Policy
	for i := range d.rules {
		if p, ok := d.rules[i].policy(); ok {
			all = append(all, p)
		}
	}
	return all
}

func (r *rule) policy() (Policy, bool) {
	p := Policy{Prefix: r.prefix, Settings: r.settings}
	if r.given == nil {
		return p, r.prefix == ""
	}
	p.Version, p.From, p.Given = r.given.id, r.given.from, r.given.given
	return p, true
}
