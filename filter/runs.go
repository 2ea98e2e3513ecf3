package filter

// runs gathers sorted runs of hashes one behind the other and merges them into
// one. It is scratch memory: reset and use again. Neighbouring runs are merged
// as soon as the later one is at least half as long as the earlier (as in
// timsort), so each hash moves about log2(runs) times, and a long run behind
// which many short ones come moves once or twice.
type runs struct {
	hashes []uint64
	starts []int    // where the runs not yet merged begin
	spare  []uint64 // copy of the later of two runs that are being merged
}

// reset forgets all runs and keeps the memory.
func (r *runs) reset() {
	r.hashes = r.hashes[:0]
	r.starts = r.starts[:0]
}

// add decodes a set as the next run. On an error nothing is added.
func (r *runs) add(s Set) (err error) {
	start := len(r.hashes)
	if r.hashes, err = s.AppendHashes(r.hashes); err != nil {
		return err
	}
	r.push(start)
	return nil
}

// addHashes copies sorted hashes as the next run.
func (r *runs) addHashes(sorted []uint64) {
	start := len(r.hashes)
	r.hashes = append(r.hashes, sorted...)
	r.push(start)
}

// push declares that a run begins at start and ends where the hashes do.
func (r *runs) push(start int) {
	r.starts = append(r.starts, start)
	for len(r.starts) > 1 && r.lengthFromEnd(2) < 2*r.lengthFromEnd(1) {
		r.mergeLast()
	}
}

// merged returns all hashes in ascending order, duplicates included. They are
// valid until the next call of another method.
func (r *runs) merged() []uint64 {
	for len(r.starts) > 1 {
		r.mergeLast()
	}
	return r.hashes
}

// lengthFromEnd is the length of the i-th run from the end; 1 is the last.
func (r *runs) lengthFromEnd(i int) int {
	at := len(r.starts) - i
	end := len(r.hashes)
	if i > 1 {
		end = r.starts[at+1]
	}
	return end - r.starts[at]
}

// mergeLast merges the last two runs.
func (r *runs) mergeLast() {
	last := len(r.starts) - 1
	left, right := r.starts[last-1], r.starts[last]
	r.starts = r.starts[:last]
	r.spare = append(r.spare[:0], r.hashes[right:]...)
	mergeBackward(r.hashes[left:], right-left, r.spare)
}

// mergeBackward merges the sorted a[:n] and b into a, whose length is n plus
// that of b. It goes from the back, without a branch on which is larger.
func mergeBackward(a []uint64, n int, b []uint64) {
	i, j := n-1, len(b)-1
	for i >= 0 && j >= 0 {
		x, y := a[i], b[j]
		k := i + j + 1
		left := 0
		if x > y {
			left = 1
		}
		a[k] = max(x, y)
		i -= left
		j -= 1 - left
	}
	copy(a[:j+1], b[:j+1])
}
