package policy

// Own is what the meta row of a key adds to the policy of its prefix: cuts of
// its own, and the settings that DEDUP.RESERVE gave it. The zero Own adds
// nothing. An Own is immutable.
type Own struct {
	Cuts Cuts

	Reserved bool
	Given    Partial // without period, zone and keep
	HasClass bool    // period, zone and keep are those of Class, for life
	Class    ClassID
}

// Empty reports whether a meta row needs nothing of this.
func (o Own) Empty() bool { return !o.Reserved && len(o.Cuts.Times) == 0 && o.Cuts.Gone == 0 }
