package policy

import (
	"encoding/binary"
	"fmt"
)

// AppendBinary writes the state of the clock guard.
func (s ClockState) AppendBinary(dst []byte) []byte {
	dst = append(dst, clockFormat, byte(s.Reason))
	dst = binary.AppendUvarint(dst, uint64(s.Uptime))
	dst = binary.AppendUvarint(dst, uint64(s.Wall))
	dst = binary.AppendVarint(dst, s.Difference)
	dst = binary.AppendUvarint(dst, uint64(s.QuietSince))
	dst = binary.AppendUvarint(dst, uint64(s.Passed))
	dst = binary.AppendUvarint(dst, uint64(len(s.Marks)))
	for _, m := range s.Marks {
		dst = binary.AppendUvarint(dst, uint64(m.Wall))
		dst = binary.AppendUvarint(dst, uint64(m.Uptime))
	}
	return dst
}

// maxMarks is above what markEvery and DeleteAfter leave room for.
const maxMarks = 256

// DecodeClockState reads what AppendBinary wrote, and nothing else.
func DecodeClockState(data []byte) (ClockState, error) {
	d := decoder{data: data}
	d.format("clock state", clockFormat)
	s := ClockState{Reason: Reason(d.byte())}
	if s.Reason >= reasonCount {
		d.fail("unknown reason %d", s.Reason)
	}
	s.Uptime = d.time()
	s.Wall = d.time()
	difference, n := binary.Varint(d.data)
	if n <= 0 || difference > MaxTime || difference < -MaxTime {
		d.fail("difference out of range")
	} else {
		d.data = d.data[n:]
		s.Difference = difference
	}
	s.QuietSince = d.number("quiet since", s.Uptime)
	s.Passed = d.number("passed", s.Wall)
	for range d.count("number of marks", maxMarks) {
		m := ClockMark{Wall: d.number("mark", s.Wall), Uptime: d.number("mark", s.Uptime)}
		if n := len(s.Marks); n > 0 && (m.Wall < s.Marks[n-1].Wall || m.Uptime < s.Marks[n-1].Uptime) {
			d.fail("marks are not ascending")
		}
		s.Marks = append(s.Marks, m)
	}
	if err := d.end(); err != nil {
		return ClockState{}, fmt.Errorf("decode clock state: %w", err)
	}
	return s, nil
}
