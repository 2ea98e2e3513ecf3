package policy

import (
	"encoding/binary"
	"fmt"
)

// AppendBinary writes the directory.
func (dir *Directory) AppendBinary(dst []byte) []byte {
	dst = append(dst, directoryFormat)
	dst = binary.AppendUvarint(dst, dir.version)
	dst = binary.AppendUvarint(dst, uint64(dir.last))
	dst = binary.AppendUvarint(dst, uint64(dir.horizon))
	classes := dir.Classes()
	dst = binary.AppendUvarint(dst, uint64(len(classes)))
	for _, class := range classes {
		dst = append(dst, byte(class.ID), boolByte(class.Pinned))
		dst = appendPeriod(dst, class.period)
		dst = appendText(dst, class.zone.String())
		dst = binary.AppendUvarint(dst, uint64(class.Keep))
		dst = binary.AppendUvarint(dst, uint64(class.Floor))
	}
	dst = binary.AppendUvarint(dst, uint64(len(dir.entries)))
	for _, e := range dir.entries {
		dst = appendText(dst, e.prefix)
		dst = binary.AppendUvarint(dst, uint64(len(e.versions)))
		for _, v := range e.versions {
			dst = binary.AppendUvarint(dst, v.id)
			dst = binary.AppendUvarint(dst, uint64(v.from))
			dst = binary.AppendUvarint(dst, v.classID)
			dst = binary.AppendUvarint(dst, uint64(v.classFrom))
			dst = appendPartial(dst, v.given) // of a DEL: nothing given
		}
		dst = appendTimes(dst, e.cuts)
	}
	return dst
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Decode reads a directory. Any bytes are safe to decode: they give a valid
// directory or an error.
func Decode(data []byte) (*Directory, error) {
	d := decoder{data: data}
	dir := &Directory{}
	d.format("policy directory", directoryFormat)
	dir.version = d.uvarint()
	dir.last = d.time()
	dir.horizon = d.time()
	for range d.count("number of classes", MaxClasses) {
		dir.decodeClass(&d)
	}
	seen := make(map[uint64]bool)
	cuts := 0
	for range d.count("number of prefixes", MaxPrefixes) {
		e := dir.decodeEntry(&d, seen)
		if n := len(dir.entries); n == 0 && e.prefix != "" || n > 0 && e.prefix <= dir.entries[n-1].prefix {
			d.fail("prefixes are not in order")
		}
		if cuts += len(e.cuts); cuts > MaxCuts {
			d.fail("more than %d cuts", MaxCuts)
		}
		if d.err != nil {
			break
		}
		dir.entries = append(dir.entries, e)
	}
	if d.err == nil && len(dir.entries) == 0 {
		d.fail("no policy for the empty prefix")
	}
	err := d.end()
	if err == nil {
		err = dir.build(false)
	}
	if err != nil {
		return nil, fmt.Errorf("decode policy directory: %w", err)
	}
	return dir, nil
}

func (dir *Directory) decodeClass(d *decoder) {
	id := d.number("class", MaxClasses-1)
	pinned := d.number("pin", 1) == 1
	given := Partial{Given: classFields}
	given.Values.Period = d.period()
	given.Values.Zone = d.zone()
	given.Values.Keep = d.number("KEEP", MaxKeep)
	floor := d.number("floor", MaxTime)
	if err := given.Validate(); err != nil {
		d.fail("%w", err)
	}
	if d.err != nil {
		return
	}
	class := newClass(ClassID(id), given.Values)
	for _, other := range dir.classes {
		if other != nil && (other.ID == class.ID || other.key() == class.key()) {
			d.fail("class %d is there twice", id)
			return
		}
	}
	if floor > class.LastBlock() {
		d.fail("floor %d is above %d", floor, class.LastBlock())
		return
	}
	if floor > 0 {
		class = class.withFloor(floor)
	}
	class.Pinned = pinned
	dir.classes[id] = class
}

func (dir *Directory) decodeEntry(d *decoder, seen map[uint64]bool) entry {
	e := entry{prefix: d.text("prefix", MaxPrefixLength)}
	last := uint64(0)
	for range d.count("number of versions", MaxVersions) {
		v := version{id: d.uvarint(), from: d.time(), classID: d.uvarint(), classFrom: d.time()}
		v.given = d.partial()
		v.deleted = v.given.Given == 0
		if v.id > dir.version || v.classID > v.id || v.classID <= last || v.classFrom == 0 || seen[v.classID] {
			d.fail("version %d is out of order", v.id)
		}
		if d.err != nil {
			return entry{}
		}
		last = v.id
		seen[v.classID] = true
		e.versions = append(e.versions, v)
	}
	e.cuts = d.times()
	return e
}
