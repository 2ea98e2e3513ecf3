package log

import "fmt"

// Cut is the torn tail that a crash left and recovery cut: the first unreadable
// place and everything behind it. None of it was stated as synced.
type Cut struct {
	File     string // where the sequence ends now
	Slot     uint64
	Offset   int64
	Position Position
	Bytes    int64 // cut away, later segments included; preallocated zeros do not count
	Segments int   // later segments removed
}

// cutAfter removes everything behind end: later segments are deleted, the rest
// of end's own segment is cut by the base of the segment that begins next.
// Only files that never had a record and a header are no tail, just unused.
func (r *recovery) cutAfter(end place) error {
	cut, err := r.measure(end)
	if err != nil {
		return err
	}
	later := r.segments[end.segment+1:]
	for i := len(later) - 1; i >= 0; i-- {
		// One by one, so that a crash leaves no gap in the middle.
		if err := r.remove(later[i:]); err != nil {
			return err
		}
		later = later[:i]
	}
	r.segments = r.segments[:end.segment+1]
	if cut.Bytes == 0 {
		return nil
	}
	r.result.Cut = cut
	r.opts.Logger.Warn("log had a torn tail after a crash, cut it", "file", cut.File,
		"offset", cut.Offset, "position", cut.Position, "bytes", cut.Bytes, "segments", cut.Segments)
	return nil
}

func (r *recovery) measure(end place) (*Cut, error) {
	cut := &Cut{Position: end.pos, Offset: end.offset}
	if end.segment >= 0 {
		cut.File, cut.Slot = r.segments[end.segment].path, r.segments[end.segment].slot
	}
	for i := max(0, end.segment); i < len(r.segments); i++ {
		from := int64(0)
		if i == end.segment {
			from = end.offset
		} else {
			cut.Segments++
		}
		rr, err := r.reader(i, end.pos)
		if err != nil {
			return nil, err
		}
		content, err := rr.contentEnd()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.segments[i].path, err)
		}
		cut.Bytes += max(0, content-from)
	}
	r.closeReader()
	return cut, nil
}

// remove deletes segment files and syncs the directory.
func (r *recovery) remove(segments []*found) error {
	for _, s := range segments {
		if err := removeSegment(r.opts, s.slot); err != nil {
			return err
		}
	}
	if len(segments) == 0 {
		return nil
	}
	if err := r.dir.Sync(); err != nil {
		return fmt.Errorf("sync directory %s: %w", r.opts.Dir, err)
	}
	return nil
}

func removeSegment(o Options, slot uint64) error {
	path := o.FS.PathJoin(o.Dir, fileName(slot))
	if err := o.FS.Remove(path); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}
