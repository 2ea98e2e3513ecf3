package log

import (
	"fmt"
	"hash/crc32"
)

// gather is the buffer of records that wait to be written, all of the open
// segment. Two byte slices take turns: one gathers while the other is written.
type gather struct {
	from  Position // of the first byte in bytes
	bytes []byte
	spare []byte
	sum   headerSum // of the open segment
}

// take hands out what was gathered and goes on with the spare slice.
func (g *gather) take(end Position) (b []byte, from Position) {
	b, from = g.bytes, g.from
	g.bytes, g.spare, g.from = g.spare[:0], nil, end
	return b, from
}

// keptBuffer is the capacity up to which a buffer is always kept.
const keptBuffer = 1 << 20

// giveBack returns a written slice for reuse, unless it is a large one of
// which the last write used little.
func (g *gather) giveBack(b []byte) {
	if cap(b) > keptBuffer && len(b) < cap(b)/4 {
		return
	}
	g.spare = b[:0]
}

// Append adds a record to the log's memory and returns the position after it.
// It does no I/O and is meant to be called under the caller's own locks, so
// that log order is the order of their decisions. The record is accepted once
// Wait returned nil for the position. payload is not retained.
func (l *Log) Append(payload []byte) (Position, error) {
	if len(payload) == 0 || len(payload) > l.opts.MaxRecord {
		return 0, fmt.Errorf("log: a record of %d bytes: it must have from 1 to %d", len(payload), l.opts.MaxRecord)
	}
	sum := crc32.Checksum(payload, castagnoli)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refusal(); err != nil {
		return 0, err
	}
	end := l.End()
	g := &l.gather
	g.bytes = g.sum.appendRecord(g.bytes, end, l.syncs.at(), payload, sum)
	end += Position(recordSize(len(payload)))
	l.end.Store(uint64(end))
	l.records++
	l.noteUnsynced()
	return end, nil
}

// refusal returns why the log takes no more work, or nil. It is called with mu
// held.
func (l *Log) refusal() error {
	if l.closed {
		return ErrClosed
	}
	return l.failed()
}

// writeGathered writes what was gathered to the open segment. It runs in the
// write turn and holds mu only to swap the buffers.
func (l *Log) writeGathered() (Position, error) {
	if err := l.failed(); err != nil {
		return 0, err
	}
	l.mu.Lock()
	b, from := l.gather.take(l.End())
	open := l.open
	l.mu.Unlock()
	return l.writeTaken(open, b, from)
}

func (l *Log) writeTaken(s *segment, b []byte, from Position) (Position, error) {
	end := from + Position(len(b))
	if len(b) > 0 {
		if err := s.write(b, from); err != nil {
			return 0, l.fail("write", s.path, err)
		}
	}
	l.mu.Lock()
	l.gather.giveBack(b)
	l.mu.Unlock()
	if s.wantsRoom(end) {
		kick(l.grow)
	}
	return end, nil
}

// growLoop extends the open segment ahead of need. Open starts it, Close ends
// it.
func (l *Log) growLoop() {
	defer l.loops.Done()
	for {
		select {
		case <-l.stop:
			return
		case <-l.grow:
			l.growOpen()
		}
	}
}

func (l *Log) growOpen() {
	_ = l.writes.exclusive(func() (Position, error) {
		l.mu.Lock()
		open := l.open
		l.mu.Unlock()
		written := l.writes.at()
		if !open.wantsRoom(written) {
			return 0, nil
		}
		if open.grow(open.offset(written)); open.noRoom != nil {
			l.opts.Logger.Warn("log segment is not preallocated any further", "file", open.path, "err", open.noRoom)
		}
		return 0, nil
	})
}

// kick wakes the goroutine that listens on c, if it has not been woken already.
func kick(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
