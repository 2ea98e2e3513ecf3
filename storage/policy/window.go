package policy

// A Window is one numbered period of a calendar: [Start, End), half-open, the
// one rule for every instant in this package. An instant T at which one window
// ends is the first of the next.
type Window struct {
	Number     int64
	Start, End int64 // ms
}

// Contains is the cheap check for a cached window.
func (w Window) Contains(ms int64) bool { return w.Start <= ms && ms < w.End }
