package policy

// SlotEnd is the monotonic deadline of a slot that begins at a wall and
// monotonic time: the wall clock's next multiple of the slot length, which then
// stays as it is whatever happens to the wall clock.
//
// A slot ends when the monotonic clock reaches its deadline, and the next one
// gets its own from where the clock then is: a pause over several multiples
// ends one slot, not several.
func SlotEnd(wall, mono, length int64) int64 {
	return mono + length - floorMod(wall, length)
}
