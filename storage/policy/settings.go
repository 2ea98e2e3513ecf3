package policy

import "math"

// The ranges of the settings.
const (
	MinKeep         = 1
	MaxKeep         = 1000
	MinDelivered    = 1
	MaxDelivered    = 10_000
	MinDeliveredTTL = Second
	MaxDeliveredTTL = 30 * Day
)

// finestError is the smallest error that 64-bit hashes can be narrowed for; a
// smaller one is kept exactly.
const finestError = 1e-12

// Settings are all settings of a policy. They can be copied; compare zones
// with Same.
type Settings struct {
	Error        float64 // budget of the whole key over all its windows; 0 <= e < 1, 0 is exact
	Period       Period
	Keep         int64 // windows that are searched, the open one included
	Zone         Zone
	Delivered    int64 // newest delivered items
	DeliveredTTL int64 // ms
}

// Defaults are the settings that no policy gives.
func Defaults() Settings {
	return Settings{
		Error:        0.001,
		Period:       Monthly,
		Keep:         3,
		Zone:         UTC,
		Delivered:    1000,
		DeliveredTTL: 10 * Minute,
	}
}

// Exact reports whether 64-bit hashes are kept for good.
func (s Settings) Exact() bool { return s.Error < finestError }

// Share is the part of Error that each window may have, so that all of them
// together keep within it: 1 - (1-share)^Keep = Error.
func (s Settings) Share() float64 {
	return -math.Expm1(math.Log1p(-s.Error) / float64(s.Keep))
}

// Fields is a set of settings.
type Fields uint8

// One bit for each setting, in the order in which they are written.
const (
	FieldError Fields = 1 << iota
	FieldPeriod
	FieldKeep
	FieldZone
	FieldDelivered
	FieldDeliveredTTL

	AllFields = 1<<iota - 1

	// ReserveFields are those that DEDUP.RESERVE takes.
	ReserveFields = AllFields &^ FieldZone

	// classFields are those that decide the class.
	classFields = FieldPeriod | FieldKeep | FieldZone
)

// A Partial holds the settings that a policy gives; the others come from the
// next shorter prefix.
type Partial struct {
	Given  Fields
	Values Settings // only the given fields mean something
}

// over is base with the given settings in place of its own.
func (p Partial) over(base Settings) Settings {
	if p.Given&FieldError != 0 {
		base.Error = p.Values.Error
	}
	if p.Given&FieldPeriod != 0 {
		base.Period = p.Values.Period
	}
	if p.Given&FieldKeep != 0 {
		base.Keep = p.Values.Keep
	}
	if p.Given&FieldZone != 0 {
		base.Zone = p.Values.Zone
	}
	if p.Given&FieldDelivered != 0 {
		base.Delivered = p.Values.Delivered
	}
	if p.Given&FieldDeliveredTTL != 0 {
		base.DeliveredTTL = p.Values.DeliveredTTL
	}
	return base
}

// equal reports whether two partials give the same values for the fields.
func (p Partial) equal(other Partial, fields Fields) bool {
	if (p.Given^other.Given)&fields != 0 {
		return false
	}
	return p.only(fields).over(Settings{}).equal(other.only(fields).over(Settings{}))
}

func (p Partial) only(fields Fields) Partial {
	return Partial{Given: p.Given & fields, Values: p.Values}
}

func (s Settings) equal(other Settings) bool {
	return s.Error == other.Error && s.Period == other.Period && s.Keep == other.Keep &&
		s.Zone.Same(other.Zone) && s.Delivered == other.Delivered && s.DeliveredTTL == other.DeliveredTTL
}

// Validate names the first given setting that is out of its range.
func (p Partial) Validate() error {
	v := p.over(Defaults())
	switch {
	case p.Given&^AllFields != 0:
		return refuse("unknown setting")
	case !(v.Error >= 0 && v.Error < 1): // NaN too
		return errorError(formatError(v.Error))
	case v.Period.unit >= unitCount:
		return periodError("")
	case v.Period.unit == UnitSpan && (v.Period.span < MinSpan || v.Period.span > MaxSpan):
		return periodError(v.Period.String())
	case v.Keep < MinKeep || v.Keep > MaxKeep:
		return keepError(formatInt(v.Keep))
	case v.Delivered < MinDelivered || v.Delivered > MaxDelivered:
		return deliveredError(formatInt(v.Delivered))
	case v.DeliveredTTL < MinDeliveredTTL || v.DeliveredTTL > MaxDeliveredTTL:
		return deliveredTTLError(formatInt(v.DeliveredTTL) + "ms")
	}
	return nil
}
