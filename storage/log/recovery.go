package log

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Recovery is what Open did.
type Recovery struct {
	Segments int    // segments read
	Records  uint64 // given to apply
	Bytes    int64  // of the sequence in these records
	Cut      *Cut   // the torn tail, if something was there to cut
	Lost     *Damage
	LastSlot uint64 // highest slot seen, or stored; the open slot is above it
	Duration time.Duration
}

// recovery is one run of Open: it reads the segments as one sequence, judges
// what is unreadable, and only then changes the disk.
type recovery struct {
	opts  Options
	dir   vfs.File
	apply Apply

	stored   []*found // up to the stored slot, ascending; not read
	segments []*found // the others, ascending

	current int // index of the segment that is open for reading
	reading *recordReader

	result Recovery
	files  []file // what is left on disk, for the log
}

// run returns the segment of the new slot.
func (r *recovery) run() (*segment, error) {
	defer r.closeReader()
	if err := r.discover(); err != nil {
		return nil, err
	}
	end, err := r.replay()
	if err != nil {
		return nil, err
	}
	if err := r.cutAfter(end); err != nil {
		return nil, err
	}
	return r.begin(end)
}

// discover lists the directory and reads all headers.
func (r *recovery) discover() error {
	names, err := r.opts.FS.List(r.opts.Dir)
	if err != nil {
		return err
	}
	slices.Sort(names) // the order of slots: names are of one length
	var foreign []string
	for _, name := range names {
		slot, ok := parseFileName(name)
		if !ok {
			foreign = append(foreign, name)
			continue
		}
		f, err := probe(r.opts, slot, name)
		if err != nil {
			return err
		}
		r.add(f)
	}
	if len(foreign) > 0 {
		return fmt.Errorf("the directory holds what is not the log's: %s; move it away", strings.Join(foreign, ", "))
	}
	if len(r.segments) == 0 && r.opts.StoredSlot > 0 {
		r.opts.Logger.Warn("log has no segment behind the stored slot: if its files were removed, so were the writes in them",
			"dir", r.opts.Dir, "stored", r.opts.StoredSlot)
	}
	r.result.LastSlot = max(r.result.LastSlot, r.opts.StoredSlot)
	r.result.Segments = len(r.segments)
	r.inferBases()
	return r.checkOrder()
}

func (r *recovery) add(f *found) {
	r.result.LastSlot = f.slot
	if f.slot <= r.opts.StoredSlot {
		r.stored = append(r.stored, f)
		return
	}
	r.segments = append(r.segments, f)
}

// inferBases takes the base of a segment without a header from the one behind.
func (r *recovery) inferBases() {
	for i := 1; i < len(r.segments); i++ {
		s, next := r.segments[i-1], r.segments[i]
		if !s.baseKnown && next.intact && next.header.previousSlot == s.slot {
			s.base, s.baseKnown = next.header.previousBase, true
		}
	}
}

func (r *recovery) checkOrder() error {
	var last *found
	for _, s := range r.segments {
		if !s.intact {
			continue
		}
		if last != nil && s.base < last.base {
			return fmt.Errorf("%s begins at position %d, before %s at %d: they are not of one log", s.path, s.base, last.path, last.base)
		}
		last = s
	}
	return nil
}

// replay applies the sequence and returns where it ends.
func (r *recovery) replay() (place, error) {
	p := r.start()
	if len(r.segments) == 0 {
		return p, nil
	}
	for {
		var err error
		if p, err = r.readFrom(p); err != nil {
			return p, err
		}
		next, err := r.judge(p)
		if err != nil || next == nil {
			return p, err
		}
		p = *next
	}
}

// start is the first record's place. Where the first segment does not say that
// the sequence begins with it, that place lies before it, in a missing file.
func (r *recovery) start() place {
	if len(r.segments) == 0 {
		return place{segment: -1, pos: r.storedEnd()}
	}
	s := r.segments[0]
	switch {
	case !s.intact && s.baseKnown:
		return place{segment: -1, pos: s.base}
	case !s.intact:
		return place{segment: -1, pos: r.storedEnd()}
	case s.header.previousSlot > r.opts.StoredSlot:
		return place{segment: -1, pos: s.header.previousBase}
	}
	return place{segment: 0, offset: headerSize, pos: s.base}
}

// storedEnd is a position which no record of the stored segments is behind.
func (r *recovery) storedEnd() Position {
	var end Position
	for _, s := range r.stored {
		if s.intact {
			end = max(end, s.end())
		}
	}
	return end
}

// readFrom applies records from p on and returns the first unreadable place. A
// segment that begins at the position reached continues the sequence.
func (r *recovery) readFrom(p place) (place, error) {
	for p.segment >= 0 {
		if err := r.readSegment(&p); err != nil {
			return p, err
		}
		next := p.segment + 1
		if next == len(r.segments) || !r.segments[next].intact || r.segments[next].base != p.pos {
			break
		}
		p = place{segment: next, offset: headerSize, pos: p.pos}
	}
	return p, nil
}

func (r *recovery) readSegment(p *place) error {
	rr, err := r.reader(p.segment, p.pos)
	if err != nil {
		return err
	}
	s := r.segments[p.segment]
	for {
		rec, ok, err := rr.at(p.offset)
		if err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
		if !ok {
			return nil
		}
		if err := r.apply(s.slot, p.pos+Position(rec.size), rec.payload); err != nil {
			return fmt.Errorf("apply the record at offset %d of %s: %w", p.offset, s.path, err)
		}
		s.base, s.baseKnown = rr.base, true // also where it was a guess
		p.offset += rec.size
		p.pos += Position(rec.size)
		s.records++
		r.result.Records++
		r.result.Bytes += rec.size
	}
}

// reader returns the reader of segment i. guess is where the segment begins if
// nothing else says so.
func (r *recovery) reader(i int, guess Position) (*recordReader, error) {
	if r.reading != nil && r.current == i {
		return r.reading, nil
	}
	s := r.segments[i]
	file, err := r.opts.FS.Open(s.path, vfs.SequentialReadsOption)
	if err != nil {
		return nil, err
	}
	var buf []byte
	if r.reading != nil {
		buf = r.reading.window.buf[:0]
	}
	r.closeReader()
	s.file, r.current = file, i
	r.reading = &recordReader{
		window: window{file: file, size: s.size, buf: buf},
		sum:    newHeaderSum(s.slot),
		base:   s.base,
		limit:  r.limit(i),
		end:    -1,
	}
	if !s.baseKnown {
		if err := s.findBase(r.reading, guess); err != nil {
			return nil, fmt.Errorf("%s: %w", s.path, err)
		}
	}
	return r.reading, nil
}

// limit is where the sequence leaves segment i: where the next one begins. What
// a segment holds behind that was cut by an earlier recovery and is no part of
// the sequence, readable or not.
func (r *recovery) limit(i int) Position {
	for _, s := range r.segments[i+1:] {
		if s.baseKnown {
			return s.base
		}
	}
	return maxPosition
}

func (r *recovery) closeReader() {
	if r.reading == nil {
		return
	}
	closeFile(&r.segments[r.current].file)
	r.reading = nil
}

// begin makes the new slot's segment at the end of the sequence. All that the
// segment's header will state as synced is synced first: a killed process
// leaves records that only the operating system knows.
func (r *recovery) begin(end place) (*segment, error) {
	keep, spent := r.segments, []*found(nil)
	for len(keep) > 0 && keep[len(keep)-1].records == 0 {
		keep, spent = keep[:len(keep)-1], append(spent, keep[len(keep)-1])
	}
	for _, s := range keep {
		if err := r.syncFound(s); err != nil {
			return nil, err
		}
	}
	open, err := r.create(r.newHeader(end, keep))
	if err != nil {
		return nil, err
	}
	if err := r.remove(append(spent, r.stored...)); err != nil {
		return nil, errors.Join(err, open.close())
	}
	return open, nil
}

func (r *recovery) syncFound(s *found) error {
	f, err := r.opts.FS.Open(s.path)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", s.path, err)
	}
	return nil
}

// newHeader also notes what the log is to know about the segments it keeps.
func (r *recovery) newHeader(end place, keep []*found) header {
	h := header{
		slot: r.result.LastSlot + 1, base: end.pos, synced: end.pos, created: time.Now(),
	}
	if r.result.Lost != nil {
		h.accepted, h.lost = true, r.result.Lost.Bytes
	}
	for i, s := range keep {
		h.previousSlot, h.previousBase = s.slot, s.base
		next := end.pos
		if i+1 < len(keep) {
			next = keep[i+1].base
		}
		r.files = append(r.files, file{slot: s.slot, bytes: headerSize + int64(next-s.base)})
	}
	return h
}

func (r *recovery) create(h header) (*segment, error) {
	s, err := createSegment(r.opts, h.slot)
	if err != nil {
		return nil, err
	}
	s.base = h.base
	if err := errors.Join(s.writeHeader(h), s.syncer.Sync(), r.dir.Sync()); err != nil {
		return nil, errors.Join(fmt.Errorf("begin segment %s: %w", s.path, err), s.close())
	}
	return s, nil
}
