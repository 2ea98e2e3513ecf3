package log

import "time"

// Stats is a snapshot of a log.
type Stats struct {
	Segments    int   // files on disk, the open one included
	Bytes       int64 // headers and records in them, without what is preallocated
	Appended    Position
	Written     Position
	Synced      Position
	UnsyncedAge time.Duration // of the oldest byte that is not synced; 0: all is
	Records     uint64        // appended since Open
	Syncs       uint64        // fdatasync calls since Open
	Failure     error         // nil while the log accepts writes
}

// Stats returns a snapshot.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Stats{
		Segments:    len(l.files) + 1,
		Bytes:       l.open.offset(l.End()),
		Appended:    l.End(),
		Written:     l.writes.at(),
		Synced:      l.syncs.at(),
		UnsyncedAge: l.unsyncedAge(),
		Records:     l.records,
		Syncs:       l.syncCount,
		Failure:     l.failed(),
	}
	for _, f := range l.files {
		s.Bytes += f.bytes
	}
	return s
}
