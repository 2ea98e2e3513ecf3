package log

import (
	"encoding/binary"
	"fmt"
)

// DamageError says that records which were synced cannot be read any more. That
// is not what a crash leaves behind: the disk, or somebody, changed the files.
type DamageError struct {
	File     string // the unreadable place
	Offset   int64
	Position Position
	Missing  bool // there is no such file

	// What proves that it was once readable.
	ProofFile   string
	ProofOffset int64
	Synced      Position // up to here everything was synced, it states; 0: it states no position
	Proof       string   // in words
}

func (e *DamageError) Error() string {
	what := fmt.Sprintf("unreadable at offset %d", e.Offset)
	if e.Missing {
		what = "missing"
	}
	return fmt.Sprintf("damaged: %s is %s (log position %d), but %s. "+
		"Accepted writes are lost there, and no crash explains it: the disk or a change to the files does. "+
		"Nothing was changed. Restore the directory from a copy, or start with --accept-damage "+
		"to go on without what is unreadable", e.File, what, e.Position, e.Proof)
}

// Damage is what a recovery lost that was told to accept damage, or that came
// over damage accepted before.
type Damage struct {
	Stretches int    // unreadable stretches
	Bytes     uint64 // of the sequence in them
	First     DamageError
}

// place is where the next record of the sequence is expected.
type place struct {
	segment int // index; -1: in a file that is missing before the first
	offset  int64
	pos     Position
}

// sign is something readable behind an unreadable place: a record, or the
// header of a later segment.
type sign struct {
	place
	synced   Position
	isHeader bool
}

// signsBehind looks for readable things behind the unreadable place p. first is
// the nearest, proof the nearest that states as synced what is unreadable.
func (r *recovery) signsBehind(p place) (first, proof *sign, err error) {
	visit := func(s sign) bool {
		if first == nil {
			first = &s
		}
		if s.synced > p.pos {
			proof = &s
		}
		return proof == nil
	}
	if p.segment >= 0 {
		if err := r.scanSegment(p.segment, p.offset+alignment, p.pos, visit); err != nil {
			return nil, nil, err
		}
	}
	for i := p.segment + 1; i < len(r.segments) && proof == nil; i++ {
		s := r.segments[i]
		if s.intact && !visit(sign{place: place{i, headerSize, s.base}, synced: s.header.synced, isHeader: true}) {
			break
		}
		if err := r.scanSegment(i, headerSize, p.pos, visit); err != nil {
			return nil, nil, err
		}
	}
	return first, proof, nil
}

func (r *recovery) scanSegment(i int, off int64, guess Position, visit func(sign) bool) error {
	rr, err := r.reader(i, guess)
	if err != nil {
		return err
	}
	return rr.scan(off, func(off int64, rec record) bool {
		return visit(sign{place: place{i, off, rec.position}, synced: rec.synced})
	})
}

// findBase finds where a segment without a readable header begins: there its
// first record is readable. It is at the end of the sequence before it, or, for
// the first record after a start, at the position which that record states as
// synced.
func (s *found) findBase(rr *recordReader, guess Position) error {
	candidates := []Position{guess}
	if rr.window.size >= headerSize+recordHeaderSize {
		b, err := rr.window.bytes(headerSize, recordHeaderSize)
		if err != nil {
			return err
		}
		candidates = append(candidates, Position(binary.LittleEndian.Uint64(b[8:])))
	}
	for _, c := range candidates {
		if c > maxPosition || c%alignment != 0 {
			continue
		}
		rr.base = c
		if _, ok, err := rr.at(headerSize); err != nil || ok {
			s.base, s.baseKnown = c, ok
			return err
		}
	}
	rr.base = guess
	return nil
}

// judge decides about the unreadable place p: nil, nil means that it is the
// torn tail; a place is where to go on behind damage that is accepted.
func (r *recovery) judge(p place) (*place, error) {
	first, proof, err := r.signsBehind(p)
	if err != nil {
		return nil, err
	}
	damage := r.damageAt(p)
	switch {
	case proof != nil:
		damage.prove(r.segments[proof.segment].path, proof)
	default:
		headless, err := r.headless(p)
		if err != nil || headless == nil {
			return nil, err
		}
		*damage = *headless
	}
	var bytes Position
	if first != nil && first.pos > p.pos {
		bytes = first.pos - p.pos
	}
	if !r.accepts(p, uint64(bytes)) {
		return nil, damage
	}
	r.lose(damage, uint64(bytes))
	if first == nil {
		return nil, nil // nothing readable behind it: the rest is cut
	}
	return &first.place, nil
}

// damageAt names the unreadable place p. Where a segment is complete, that is
// the one behind it: a header, or a file that is not there.
func (r *recovery) damageAt(p place) *DamageError {
	d := &DamageError{Position: p.pos}
	if p.segment >= 0 {
		d.File, d.Offset = r.segments[p.segment].path, p.offset
	}
	if p.segment+1 == len(r.segments) {
		return d
	}
	next := r.segments[p.segment+1]
	switch h := next.header; {
	case !next.intact && (p.segment < 0 || next.baseKnown && next.base == p.pos):
		d.File, d.Offset = next.path, 0
	case next.intact && h.previousBase == p.pos && (p.segment < 0 || h.previousSlot > r.segments[p.segment].slot):
		d.File, d.Offset = r.opts.FS.PathJoin(r.opts.Dir, fileName(h.previousSlot)), 0
		d.Missing = true
	}
	return d
}

func (e *DamageError) prove(file string, s *sign) {
	e.ProofFile, e.ProofOffset, e.Synced = file, s.offset, s.synced
	e.Proof = fmt.Sprintf("the record at offset %d of %s", s.offset, file)
	if s.isHeader {
		e.ProofOffset = 0
		e.Proof = "the header of " + file
	}
	e.Proof += fmt.Sprintf(" states that everything up to position %d was on disk", s.synced)
}

// headless returns the damage of a first segment whose header is unreadable
// although there is something behind it, or nil. Without the header the
// positions of its records are unknown and may not be found. But a header is on
// disk before the segments in front of it are released, so a crash leaves the
// first segment without one only if it has no records.
func (r *recovery) headless(p place) (*DamageError, error) {
	if p.segment >= 0 || r.segments[0].intact {
		return nil, nil
	}
	rr, err := r.reader(0, p.pos)
	if err != nil {
		return nil, err
	}
	end, err := rr.contentEnd()
	if err != nil || end <= headerSize {
		return nil, err
	}
	file := r.segments[0].path
	return &DamageError{
		File: file, Position: p.pos, ProofFile: file, ProofOffset: headerSize,
		Proof: "there are records behind this header, and none is written before the header is on disk",
	}, nil
}

// accepts reports whether to go on over damage at p that costs bytes: told so
// now, or told so by an earlier recovery, which left a mark in the header of
// the segment it began. A mark covers no more than what was lost then.
func (r *recovery) accepts(p place, bytes uint64) bool {
	if r.opts.AcceptDamage {
		return true
	}
	var before uint64
	if r.result.Lost != nil {
		before = r.result.Lost.Bytes
	}
	for _, s := range r.segments[p.segment+1:] {
		if s.intact && s.header.accepted && before+bytes <= s.header.lost {
			return true
		}
	}
	return false
}

func (r *recovery) lose(d *DamageError, bytes uint64) {
	if r.result.Lost == nil {
		r.result.Lost = &Damage{First: *d}
	}
	r.result.Lost.Stretches++
	r.result.Lost.Bytes += bytes
	r.opts.Logger.Error("log damaged, going on without what is unreadable",
		"file", d.File, "offset", d.Offset, "position", d.Position, "bytes", bytes, "proof", d.Proof)
}
