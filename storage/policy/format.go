package policy

import (
	"encoding/binary"
	"math"
)

// The formats that are written. FORMAT.md describes the bytes.
const (
	directoryFormat = 1
	ownFormat       = 1
	clockFormat     = 1
)

func appendPeriod(dst []byte, p Period) []byte {
	dst = append(dst, byte(p.unit))
	if p.unit == UnitSpan {
		dst = binary.AppendUvarint(dst, uint64(p.span))
	}
	return dst
}

func (d *decoder) period() Period {
	p := Period{unit: Unit(d.byte())}
	if p.unit >= unitCount {
		d.fail("unknown period %d", p.unit)
		return Period{}
	}
	if p.unit == UnitSpan {
		p.span = d.number("period", MaxSpan)
	}
	return p
}

func (d *decoder) zone() Zone {
	text := d.text("zone", 64)
	if d.err != nil {
		return Zone{}
	}
	zone, err := ParseZone(text)
	if err != nil {
		d.fail("%w", err)
	} else if zone.String() != text {
		d.fail("zone %q is not written as %q", text, zone)
	}
	return zone
}

func appendPartial(dst []byte, p Partial) []byte {
	dst = append(dst, byte(p.Given))
	v := p.Values
	if p.Given&FieldError != 0 {
		dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(v.Error))
	}
	if p.Given&FieldPeriod != 0 {
		dst = appendPeriod(dst, v.Period)
	}
	if p.Given&FieldKeep != 0 {
		dst = binary.AppendUvarint(dst, uint64(v.Keep))
	}
	if p.Given&FieldZone != 0 {
		dst = appendText(dst, v.Zone.String())
	}
	if p.Given&FieldDelivered != 0 {
		dst = binary.AppendUvarint(dst, uint64(v.Delivered))
	}
	if p.Given&FieldDeliveredTTL != 0 {
		dst = binary.AppendUvarint(dst, uint64(v.DeliveredTTL))
	}
	return dst
}

func (d *decoder) partial() Partial {
	p := Partial{Given: Fields(d.byte())}
	v := &p.Values
	if p.Given&FieldError != 0 {
		v.Error = d.float()
	}
	if p.Given&FieldPeriod != 0 {
		v.Period = d.period()
	}
	if p.Given&FieldKeep != 0 {
		v.Keep = d.number("KEEP", MaxKeep)
	}
	if p.Given&FieldZone != 0 {
		v.Zone = d.zone()
	}
	if p.Given&FieldDelivered != 0 {
		v.Delivered = d.number("DELIVERED", MaxDelivered)
	}
	if p.Given&FieldDeliveredTTL != 0 {
		v.DeliveredTTL = d.number("DELIVEREDTTL", MaxDeliveredTTL)
	}
	if err := p.Validate(); err != nil {
		d.fail("%w", err)
	}
	return p
}

func appendTimes(dst []byte, times []int64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(times)))
	last := int64(0)
	for _, time := range times {
		dst = binary.AppendUvarint(dst, uint64(time-last))
		last = time
	}
	return dst
}

// times reads strictly ascending times above 0.
func (d *decoder) times() []int64 {
	n := d.count("number of cuts", MaxCuts)
	if n == 0 {
		return nil
	}
	times := make([]int64, n)
	last := int64(0)
	for i := range times {
		step := d.time()
		if d.err == nil && (step == 0 || step > MaxTime-last) {
			d.fail("cuts are not ascending")
		}
		last += step
		times[i] = last
	}
	return times
}
