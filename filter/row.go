package filter

import "fmt"

// Labelled is a set of a row with its label.
type Labelled struct {
	Label
	Set
}

// Row is the decoded value of a row: the sets of one key in one block of
// windows, in ascending order of their labels, each label once. The sets are
// views of the bytes the row was parsed from.
type Row []Labelled

// StartRow appends the head of a row value; a row without sets is just that.
// Append the sets in ascending order of their labels, each as a label (see
// [AppendLabel]) and an encoded set, as [AppendWindow] does.
func StartRow(dst []byte) []byte { return append(dst, tag(kindRow)) }

// AppendWindow appends to a row value the set of sorted salted hashes under a
// label. For the hashes and the width see [AppendSet].
func AppendWindow(dst []byte, label Label, width int, sortedHashes []uint64) []byte {
	return AppendSet(AppendLabel(dst, label), width, sortedHashes)
}

// AppendRow appends a row value with the sets of row and returns the extended
// slice. It panics if the labels do not ascend.
func AppendRow(dst []byte, row Row) []byte {
	dst = StartRow(dst)
	for i, e := range row {
		if i > 0 && row[i-1].Label.Compare(e.Label) >= 0 {
			panic("filter: labels of a row do not ascend")
		}
		dst = append(AppendLabel(dst, e.Label), e.raw...)
	}
	return dst
}

// ParseRow appends to dst the sets of a row value and returns the extended
// slice; reuse dst[:0] to read without allocating. Headers, lengths and the
// order of the labels are checked, the content of the sets is not (see
// [Parse]).
//
// The error wraps [ErrDamaged], [ErrVersion] or [ErrForeignSalt], and
// [ErrBundle] with its cause if the value is a bundle; dst then comes back as
// it was.
func ParseRow(dst Row, value []byte) (Row, error) {
	if len(value) == 0 {
		return dst, fmt.Errorf("empty row value: %w", ErrDamaged)
	}
	if value[0] == tag(kindBundle) {
		return dst, bundleError(value[1:])
	}
	if err := checkTag(value[0], kindRow); err != nil {
		return dst, fmt.Errorf("row value: %w", err)
	}
	row, err := parseSets(dst, value[1:])
	if err != nil {
		return dst, fmt.Errorf("row value: %w", err)
	}
	return row, nil
}

// parseSets appends the labelled sets that b consists of.
func parseSets(row Row, b []byte) (Row, error) {
	first := len(row)
	for len(b) > 0 {
		var e Labelled
		var err error
		if e.Label, b, err = parseLabel(b); err != nil {
			return row[:first], fmt.Errorf("label %d: %w", len(row)-first, err)
		}
		if len(row) > first && row[len(row)-1].Label.Compare(e.Label) >= 0 {
			return row[:first], fmt.Errorf("label %d out of order: %w", len(row)-first, ErrDamaged)
		}
		if e.Set, b, err = Parse(b); err != nil {
			return row[:first], fmt.Errorf("window %d: %w", e.Number, err)
		}
		row = append(row, e)
	}
	return row, nil
}
