package policy

// An Explanation is the answer of POLICY EXPLAIN: what holds for a key, and
// why.
type Explanation struct {
	Prefix   string // the longest one that has a policy
	Version  uint64 // of that policy, 0 for the defaults
	From     int64  // ms
	Settings []SettingSource
	Class    ClassID
	Open     Stamp
	Window   Window // the open one
	Searched []SearchedSpan
}

// A SettingSource is a setting and where it comes from.
type SettingSource struct {
	Name, Value string
	Source      Source
	Prefix      string // where Source is FromPrefix
}

// Source says who gave a setting.
type Source uint8

// The sources of a setting.
const (
	FromDefault Source = iota
	FromPrefix
	FromKey // DEDUP.RESERVE
)

// A SearchedSpan is a Span with its edges.
type SearchedSpan struct {
	Class  ClassID
	Period Period
	Zone   Zone
	Keep   int64
	From   Label
	Start  int64 // ms
}

// Explain says what holds for the key.
func (v *View) Explain(now int64) Explanation {
	e := Explanation{
		Class:  v.class.ID,
		Open:   v.Stamp(now),
		Window: v.Bounds(v.class, v.Current(now)),
	}
	policy := v.rule
	for policy.given == nil && policy.parent != nil {
		policy = policy.parent
	}
	e.Prefix = policy.prefix
	if policy.given != nil {
		e.Version, e.From = policy.given.id, policy.given.from
	}
	all := v.Settings()
	for _, s := range settings {
		source, prefix := v.sourceOf(s.field)
		e.Settings = append(e.Settings, SettingSource{Name: s.name, Value: s.format(all), Source: source, Prefix: prefix})
	}
	for _, s := range v.Spans(nil, now) {
		e.Searched = append(e.Searched, SearchedSpan{
			Class:  s.Class.ID,
			Period: s.Class.period,
			Zone:   s.Class.zone,
			Keep:   s.Class.Keep,
			From:   s.From,
			Start:  s.Class.startOf(s.From),
		})
	}
	return e
}

func (v *View) sourceOf(field Fields) (Source, string) {
	if v.own != nil && (v.own.Given.Given&field != 0 || v.own.HasClass && field&classFields != 0) {
		return FromKey, ""
	}
	for r := v.rule; r != nil; r = r.parent {
		if r.given != nil && r.given.given.Given&field != 0 {
			return FromPrefix, r.prefix
		}
	}
	return FromDefault, ""
}
