package policy

import "strconv"

// A Label names a set in a row: the calendar number, and the time of the cut
// at which the window began, or 0 if it began at the calendar edge. Within a
// class, labels order as the starts of their windows do.
type Label struct {
	Number int64
	Cut    int64 // ms
}

// Before is the order of labels.
func (l Label) Before(other Label) bool {
	return l.Number < other.Number || l.Number == other.Number && l.Cut < other.Cut
}

func laterLabel(a, b Label) Label {
	if a.Before(b) {
		return b
	}
	return a
}

// A Stamp is what clients see of an open window, number.ordinal: the ordinal
// is how many cuts there were in that number so far. `IF number.ordinal` makes
// a repeated ROTATE exact.
type Stamp struct {
	Number  int64
	Ordinal int64
}

func (s Stamp) String() string {
	return strconv.FormatInt(s.Number, 10) + "." + strconv.FormatInt(s.Ordinal, 10)
}

// ParseStamp reads number.ordinal; a number alone has the ordinal 0.
func ParseStamp(text string) (Stamp, error) {
	number, ordinal := text, "0"
	for i := 0; i < len(text); i++ {
		if text[i] == '.' {
			number, ordinal = text[:i], text[i+1:]
			break
		}
	}
	n, ok := parseCount(number)
	o, also := parseCount(ordinal)
	if !ok || !also {
		return Stamp{}, refuse("IF must be followed by a window as number.ordinal, such as 682.0, not %s", quoted(text))
	}
	return Stamp{Number: n, Ordinal: o}, nil
}

// parseCount reads digits only: no sign, no space, at most 15 of them.
func parseCount(text string) (int64, bool) {
	if len(text) == 0 || len(text) > 15 {
		return 0, false
	}
	var n int64
	for i := 0; i < len(text); i++ {
		if !isDigit(text[i]) {
			return 0, false
		}
		n = n*10 + int64(text[i]-'0')
	}
	return n, true
}
