package filter

import (
	"slices"
	"testing"
)

// TestAllocations: nothing on the way of a command, and nothing in merging or
// building once the scratch memory has grown.
func TestAllocations(t *testing.T) {
	key, item := []byte("home:42"), []byte("v1")
	salt := testSecret.Salt(key)
	sets := []Set{setOf(t, 32, randomHashes(1, 300)), setOf(t, 32, randomHashes(2, 20)), setOf(t, 17, randomHashes(3, 90))}
	wide := []Set{setOf(t, 64, randomHashes(1, 300))}
	block, grown := make([]byte, TableSize(1000, true)), make([]byte, TableSize(1000, true))
	table := OpenTable(buildTable(t, sets, TableSizeOf(sets)))
	sorted := randomHashes(4, 200)
	slices.Sort(sorted)
	value := AppendWindow(AppendWindow(StartRow(nil), Label{Number: 5}, 32, sorted), Label{Number: 6, Cut: 7}, 32, sorted)

	var m Merger
	var rm RowMerger
	var row Row
	dst := make([]byte, 0, 4096)
	hashes := make([]uint64, 0, 1000)
	for name, call := range map[string]func(){
		"Hash":         func() { sink += int(Hash(item)) },
		"Salt":         func() { sink += int(testSecret.Salt(key).xor) },
		"Mix":          func() { sink += int(salt.Mix(1)) },
		"Parse":        func() { s, _, _ := Parse(sets[0].Bytes()); sink += s.Len() },
		"Contains":     func() { sets[0].Contains(uint64(sink)) },
		"AppendHashes": func() { _, _ = sets[0].AppendHashes(hashes) },
		"AppendSet":    func() { AppendSet(dst, 32, sorted) },
		"Union":        func() { _, _ = m.Union(dst, sets...) },
		"Narrow":       func() { _, _ = m.Narrow(dst, sets[0], 12) },
		"ParseRow":     func() { row, _ = ParseRow(row[:0], value) },
		"AppendRow":    func() { AppendRow(dst, row) },
		"RowMerger": func() {
			rm.Reset()
			rm.MergeNewer(value)
			rm.MergeOlder(value)
			rm.Finish(dst)
		},
		"Table.Contains":  func() { table.Contains(uint64(sink)) },
		"BuildTable":      func() { _ = BuildTable(block, sets) },
		"BuildTable wide": func() { _ = BuildTable(block, wide) },
		"AddTable":        func() { AddTable(block, uint64(sink), 32) },
		"GrowTable":       func() { _ = GrowTable(grown, block, true) },
	} {
		call()
		if got := testing.AllocsPerRun(20, call); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}
