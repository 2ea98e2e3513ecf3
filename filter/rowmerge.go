package filter

import "slices"

// RowMerger merges the operands of one row, in the manner of Pebble's
// ValueMerger: give them with MergeNewer and MergeOlder in any interleaving,
// then call Finish, then Reset for the next row. Operands are copied.
//
// Sets are united label by label. An operand that cannot be read (damaged,
// from a newer version, of a reserved kind) is kept byte for byte: the result
// is then a bundle of that operand and what lies around it, merged, in order,
// and ParseRow answers its error. Merging itself never fails. An operand that
// is a bundle is taken apart first, so the result depends only on the operands
// and their order, not on how they were grouped.
//
// It owns scratch memory: a copy of the operands and 24 bytes for each
// fingerprint. The zero value is ready; it belongs to one goroutine at a time.
type RowMerger struct {
	operands []byte // copies, in the order of arrival
	newer    []span // those from MergeNewer, oldest first
	older    []span // those from MergeOlder, newest first
	floor    int64
	hasFloor bool

	pieces []piece  // sets of the readable operands not yet written
	hashes []uint64 // their content
	row    Row      // sets of one operand
	runs   runs     // union of one label
	bundle []byte   // operands of the result, once one is unreadable
	err    error    // why the result is a bundle
}

// span is a range of a slice.
type span struct{ start, end int }

// piece is a set of an operand, with where its hashes lie.
type piece struct {
	Labelled
	hashes span
}

// Reset forgets the operands and the floor, and keeps the scratch memory.
func (m *RowMerger) Reset() {
	m.operands, m.newer, m.older = m.operands[:0], m.newer[:0], m.older[:0]
	m.floor, m.hasFloor = 0, false
}

// SetFloor makes Finish leave out the sets of windows with a number below
// floor, which nobody asks for any more. Unreadable operands stay whole.
func (m *RowMerger) SetFloor(floor int64) { m.floor, m.hasFloor = floor, true }

// MergeNewer adds an operand newer than all before it.
func (m *RowMerger) MergeNewer(value []byte) { m.newer = append(m.newer, m.keep(value)) }

// MergeOlder adds an operand older than all before it.
func (m *RowMerger) MergeOlder(value []byte) { m.older = append(m.older, m.keep(value)) }

// keep copies a value into the operands.
func (m *RowMerger) keep(value []byte) span {
	start := len(m.operands)
	m.operands = append(m.operands, value...)
	return span{start, len(m.operands)}
}

// Finish appends the merged value to dst and returns the extended slice. It
// may be called for a part of a row's operands, and the results merged again.
// Equal content gives equal bytes.
func (m *RowMerger) Finish(dst []byte) []byte {
	m.startRun()
	m.bundle, m.err = m.bundle[:0], nil
	for _, s := range slices.Backward(m.older) {
		m.take(m.operands[s.start:s.end])
	}
	for _, s := range m.newer {
		m.take(m.operands[s.start:s.end])
	}
	if m.err == nil {
		return m.appendRun(dst)
	}
	m.bundleRun()
	return append(StartBundle(dst), m.bundle...)
}

// Err says why the last Finish gave a bundle; nil if it gave a row.
func (m *RowMerger) Err() error { return m.err }

// take adds an operand to the result, a well-formed bundle in its parts.
func (m *RowMerger) take(operand []byte) {
	if len(operand) == 0 || operand[0] != tag(kindBundle) || checkBundle(operand[1:]) != nil {
		m.takePlain(operand)
		return
	}
	for body := operand[1:]; len(body) > 0; {
		operand, body, _ = nextOperand(body)
		m.takePlain(operand)
	}
}

// takePlain adds an operand to the current run, or ends the run with it if it
// cannot be read.
func (m *RowMerger) takePlain(operand []byte) {
	err := m.read(operand)
	if err == nil {
		return
	}
	if m.err == nil {
		m.err = err
	}
	m.bundleRun()
	m.bundle = AppendOperand(m.bundle, operand)
}

// read decodes the sets of an operand behind those of the current run; all of
// them or, with an error, none.
func (m *RowMerger) read(operand []byte) (err error) {
	if m.row, err = ParseRow(m.row[:0], operand); err != nil {
		return err
	}
	pieces, hashes := len(m.pieces), len(m.hashes)
	for _, e := range m.row {
		if m.hasFloor && e.Number < m.floor {
			continue
		}
		start := len(m.hashes)
		if m.hashes, err = e.AppendHashes(m.hashes); err != nil {
			m.pieces, m.hashes = m.pieces[:pieces], m.hashes[:hashes]
			return err
		}
		m.pieces = append(m.pieces, piece{e, span{start, len(m.hashes)}})
	}
	return nil
}

// startRun begins a new run of readable operands.
func (m *RowMerger) startRun() {
	m.pieces, m.hashes = m.pieces[:0], m.hashes[:0]
}

// bundleRun writes the current run into the bundle, if there is anything in
// it, and begins a new one.
func (m *RowMerger) bundleRun() {
	if len(m.pieces) > 0 {
		m.bundle = AppendOperand(m.bundle, m.appendRun(nil))
	}
	m.startRun()
}

// appendRun appends the row value of the current run.
func (m *RowMerger) appendRun(dst []byte) []byte {
	slices.SortStableFunc(m.pieces, func(a, b piece) int { return a.Label.Compare(b.Label) })
	dst = StartRow(dst)
	for pieces := m.pieces; len(pieces) > 0; {
		n := 1
		for n < len(pieces) && pieces[n].Label == pieces[0].Label {
			n++
		}
		dst = m.appendUnion(AppendLabel(dst, pieces[0].Label), pieces[:n])
		pieces = pieces[n:]
	}
	return dst
}

// appendUnion appends the union of sets of one label. One alone is in its only
// form already: read has checked it.
func (m *RowMerger) appendUnion(dst []byte, pieces []piece) []byte {
	if len(pieces) == 1 {
		return append(dst, pieces[0].raw...)
	}
	m.runs.reset()
	width := MaxWidth
	for _, p := range pieces {
		m.runs.addHashes(m.hashes[p.hashes.start:p.hashes.end])
		width = min(width, p.Width())
	}
	return AppendSet(dst, width, m.runs.merged())
}
