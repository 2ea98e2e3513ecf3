package log

import (
	"errors"
	"fmt"
	"time"
)

// Roll ends the segment of the open slot, begins that of the next slot, and
// returns the slot that is sealed now. The sealed segment is synced in the
// background.
//
// The new file is created, preallocated and synced, and the directory too,
// before the switch, which is a swap in memory: appends never wait for I/O. The
// new header says where the sequence goes on, so it is written right after the
// switch, before any record of the new segment; those who wait for such a
// record wait for its header too.
//
// The switch runs within around, which may take the caller's locks for it, so
// that what the caller keeps by slot changes in the same instant. around must
// call swap exactly once and do no I/O; nil just switches.
func (l *Log) Roll(around func(swap func())) (sealed uint64, err error) {
	if around == nil {
		around = func(swap func()) { swap() }
	}
	l.rolling.Lock()
	defer l.rolling.Unlock()
	old, err := l.openSegment()
	if err != nil {
		return 0, err
	}
	next, err := l.prepare(old.slot + 1)
	if err != nil {
		return 0, fmt.Errorf("log: roll to slot %d: %w", old.slot+1, err)
	}
	err = l.writes.exclusive(func() (Position, error) { return l.switchTo(next, around) })
	kick(l.sealed)
	if err != nil {
		return 0, err
	}
	return old.slot, nil
}

func (l *Log) openSegment() (*segment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.refusal()
}

// prepare makes the file of the next segment, without its header. A file that
// is left over from an attempt that failed is taken as it is: it holds zeros.
func (l *Log) prepare(slot uint64) (*segment, error) {
	s, err := createSegment(l.opts, slot)
	if err != nil {
		return nil, err
	}
	if err := s.syncer.Sync(); err != nil {
		return nil, errors.Join(fmt.Errorf("sync %s: %w", s.path, err), s.close())
	}
	if err := l.dir.Sync(); err != nil {
		return nil, errors.Join(fmt.Errorf("sync directory %s: %w", l.opts.Dir, err), s.close())
	}
	return s, nil
}

// switchTo makes next the open segment. It runs in the write turn. What has
// been gathered by then belongs to the old segment.
func (l *Log) switchTo(next *segment, around func(swap func())) (Position, error) {
	if _, err := l.writeGathered(); err != nil { // leaves little to write after the switch
		return 0, errors.Join(err, next.close())
	}
	var old *segment
	var b []byte
	var from Position
	var h header
	around(func() { old, b, from, h = l.swap(next) })

	end, err := l.writeTaken(old, b, from)
	if err != nil {
		return 0, err
	}
	if err := old.closeWriter(); err != nil {
		return 0, l.fail("close", old.path, err)
	}
	if err := next.writeHeader(h); err != nil {
		return 0, l.fail("write header of", next.path, err)
	}
	return end, nil
}

// swap makes next the open segment in memory, and returns what is still to be
// written: the rest of the old one and the header of the new one.
func (l *Log) swap(next *segment) (old *segment, rest []byte, from Position, h header) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old = l.open
	rest, from = l.gather.take(l.End())
	next.base = l.End()
	l.gather.sum = newHeaderSum(next.slot)
	h = header{
		slot: next.slot, base: next.base, synced: l.syncs.at(), created: time.Now(),
		previousSlot: old.slot, previousBase: old.base,
	}
	l.open = next
	l.sealing = append(l.sealing, old)
	l.files = append(l.files, file{slot: old.slot, bytes: old.offset(next.base)})
	return old, rest, from, h
}

// WaitSealed returns when a sealed slot's segment is on disk, and the header of
// the segment behind it.
func (l *Log) WaitSealed(slot uint64) error {
	if open := l.Slot(); slot >= open {
		return fmt.Errorf("log: slot %d is not sealed, slot %d is open", slot, open)
	}
	if !l.isSealing(slot) {
		return nil
	}
	return l.syncs.now()
}

func (l *Log) isSealing(slot uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sealing) > 0 && l.sealing[0].slot <= slot
}

// Release removes the segments up to slot, which must be sealed, and syncs the
// directory. After an error it may be called again.
func (l *Log) Release(slot uint64) error {
	if err := l.WaitSealed(slot); err != nil {
		return err
	}
	l.rolling.Lock()
	defer l.rolling.Unlock()
	if _, err := l.openSegment(); errors.Is(err, ErrClosed) {
		return err
	}
	removed := 0
	defer func() { l.forget(removed) }()
	for _, f := range l.filesUpTo(slot) {
		if err := removeSegment(l.opts, f.slot); err != nil {
			return fmt.Errorf("log: release slot %d: %w", slot, err)
		}
		removed++
	}
	if err := l.dir.Sync(); err != nil {
		return fmt.Errorf("log: release slot %d: sync directory %s: %w", slot, l.opts.Dir, err)
	}
	return nil
}

// filesUpTo is called with rolling held, so that only Release takes from files.
func (l *Log) filesUpTo(slot uint64) []file {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.files) && l.files[n].slot <= slot {
		n++
	}
	return l.files[:n:n]
}

func (l *Log) forget(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files = l.files[n:]
}
