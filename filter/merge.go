package filter

// Merger makes unions of sets and narrows them. It owns scratch memory that
// grows to 16 bytes for each fingerprint of the largest call and is used
// again; the zero value is ready. It belongs to one goroutine at a time, the
// sets it reads may be shared.
type Merger struct {
	runs runs
}

// Union appends to dst the union of the sets, decoding each once, and returns
// the extended slice. The result has the narrowest width among them (empty
// sets count too), which makes it associative, commutative and idempotent:
// equal content gives equal bytes, however it is merged. No set at all gives
// the empty set of [MaxWidth], the neutral element.
//
// If the content of a set is damaged, dst comes back as it was with an error
// that wraps [ErrDamaged].
func (m *Merger) Union(dst []byte, sets ...Set) ([]byte, error) {
	m.runs.reset()
	width := MaxWidth
	for _, s := range sets {
		if err := m.runs.add(s); err != nil {
			return dst, err
		}
		width = min(width, s.Width())
	}
	return AppendSet(dst, width, m.runs.merged()), nil
}

// Narrow appends to dst the set cut to width bits (at least 1), or as it is if
// it is not wider: fingerprints are never extended. Errors are as for Union.
func (m *Merger) Narrow(dst []byte, s Set, width int) ([]byte, error) {
	m.runs.reset()
	if err := m.runs.add(s); err != nil {
		return dst, err
	}
	return AppendSet(dst, min(width, s.Width()), m.runs.merged()), nil
}
