package policy

import (
	"encoding/binary"
	"fmt"
)

// AppendOwn writes what a key has of its own, for its meta row.
func AppendOwn(dst []byte, o Own) []byte {
	var flags byte
	if o.Reserved {
		flags |= 1
	}
	if o.HasClass {
		flags |= 2
	}
	dst = append(dst, ownFormat, flags)
	if o.Reserved {
		dst = appendPartial(dst, o.Given)
	}
	if o.HasClass {
		dst = append(dst, byte(o.Class))
	}
	dst = appendTimes(dst, o.Cuts.Times)
	dst = binary.AppendUvarint(dst, uint64(o.Cuts.Gone))
	if o.Cuts.Gone > 0 {
		dst = binary.AppendUvarint(dst, uint64(o.Cuts.GoneSince))
	}
	return dst
}

// DecodeOwn reads what AppendOwn wrote, and nothing else.
func DecodeOwn(data []byte) (Own, error) {
	d := decoder{data: data}
	var o Own
	d.format("own settings", ownFormat)
	flags := d.byte()
	if flags > 3 || flags == 2 {
		d.fail("unknown flags %#x", flags)
	}
	if o.Reserved = flags&1 != 0; o.Reserved {
		o.Given = d.partial()
		if o.Given.Given&classFields != 0 {
			d.fail("a class beside its settings")
		}
	}
	if o.HasClass = flags&2 != 0; o.HasClass {
		o.Class = ClassID(d.number("class", MaxClasses-1))
	}
	o.Cuts.Times = d.times()
	if o.Cuts.Gone = d.time(); o.Cuts.Gone > 0 {
		o.Cuts.GoneSince = d.time()
	}
	if err := d.end(); err != nil {
		return Own{}, fmt.Errorf("decode own settings: %w", err)
	}
	return o, nil
}
