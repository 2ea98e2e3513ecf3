package log

import (
	"fmt"
	"time"
)

const (
	syncEvery = time.Second
	// holdAfter is the age of the oldest unsynced byte from which EverySec
	// accepts nothing more until the disk has caught up.
	holdAfter = 1500 * time.Millisecond
)

// Wait returns when everything before p is as durable as the setting promises.
// In every setting it is at least written to the file. It returns nil for what
// is synced even if the log has failed since.
func (l *Log) Wait(p Position) error {
	if p <= l.syncs.at() {
		return nil
	}
	if p > l.End() {
		return fmt.Errorf("log: nothing was appended up to position %d, the log ends at %d", p, l.End())
	}
	if err := l.failed(); err != nil {
		return err
	}
	if l.opts.Fsync == Always {
		return l.syncs.wait(p)
	}
	if err := l.writes.wait(p); err != nil {
		return err
	}
	if l.opts.Fsync == EverySec && l.unsyncedAge() >= holdAfter {
		return l.syncs.wait(p)
	}
	return nil
}

// Sync returns when everything appended so far is on disk, whatever the
// setting.
func (l *Log) Sync() error { return l.syncs.wait(l.End()) }

// syncing is what one sync covers. It belongs to whoever has the sync turn.
type syncing struct {
	target Position
	open   *segment
	sealed []*segment
}

// syncWritten writes what was gathered and syncs it. It runs in the sync turn.
// Sealed segments come first: a position is synced only if all before it is.
func (l *Log) syncWritten() (Position, error) {
	began := l.clock()
	if err := l.writes.exclusive(l.beginSync); err != nil {
		return 0, err
	}
	s := &l.syncing
	if s.target == l.syncs.at() && len(s.sealed) == 0 {
		return s.target, nil
	}
	if err := l.syncSegments(s.sealed, s.open); err != nil {
		return 0, err
	}
	l.noteSynced(s.target, began, len(s.sealed))
	return s.target, nil
}

// writeAndMark writes what was gathered and notes what a sync has to cover. It
// runs in both turns: within the write turn no switch is under way, and the
// segments noted are all that hold bytes before the target.
func (l *Log) writeAndMark() (Position, error) {
	target, err := l.writeGathered()
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.syncing = syncing{target: target, open: l.open, sealed: l.sealing}
	return target, nil
}

// syncSegments syncs the open segment even where it has no record yet: a sealed
// segment may be released only if the header of the next one is on disk, since
// that says where the sequence goes on.
func (l *Log) syncSegments(sealed []*segment, open *segment) error {
	for _, s := range sealed {
		if err := s.syncer.SyncData(); err != nil {
			return l.fail("sync", s.path, err)
		}
	}
	if err := open.syncer.SyncData(); err != nil {
		return l.fail("sync", open.path, err)
	}
	return nil
}

func (l *Log) noteSynced(target Position, began int64, sealed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.sealing[:sealed] {
		if err := s.close(); err != nil {
			l.opts.Logger.Warn("log segment not closed", "file", s.path, "err", err)
		}
	}
	l.sealing = l.sealing[sealed:]
	l.syncCount += uint64(sealed) + 1
	if l.End() == target {
		l.oldest.Store(0)
	} else {
		l.oldest.Store(began) // what is left came after the sync began
	}
}

// clock counts nanoseconds since the log was opened; it is never 0.
func (l *Log) clock() int64 { return int64(time.Since(l.opened)) + 1 }

// noteUnsynced remembers since when there has been something to sync. It is
// called with mu held.
func (l *Log) noteUnsynced() {
	if l.oldest.Load() != 0 {
		return
	}
	l.oldest.Store(l.clock())
	if l.opts.Fsync == EverySec {
		kick(l.appended)
	}
}

// unsyncedAge is how long the oldest unsynced byte has been waiting.
func (l *Log) unsyncedAge() time.Duration {
	oldest := l.oldest.Load()
	if oldest == 0 {
		return 0
	}
	return time.Duration(l.clock() - oldest)
}

// syncLoop syncs sealed segments, and in EverySec the open one each second
// while it has anything unsynced. Open starts it, Close ends it.
func (l *Log) syncLoop() {
	defer l.loops.Done()
	timer := time.NewTimer(syncEvery)
	defer timer.Stop()
	for {
		var due <-chan time.Time
		if l.opts.Fsync == EverySec && l.oldest.Load() != 0 {
			timer.Reset(max(0, syncEvery-l.unsyncedAge()))
			due = timer.C
		}
		select {
		case <-l.stop:
			return
		case <-l.appended:
			continue
		case <-l.sealed:
		case <-due:
		}
		if l.syncs.now() != nil {
			return // the log has failed and said so
		}
	}
}
