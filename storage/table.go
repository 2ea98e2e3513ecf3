package storage

import "dedupd/filter"

// The table of an entry is the decoded form of its stored windows, a block
// that filter's table functions understand.

// buildTable makes the entry's table answer for the sets, and them only.
func (e entry) buildTable(sets []filter.Set) error {
	e.freeTable()
	if len(sets) == 0 {
		return nil
	}
	r, block := e.allocTable(filter.TableSizeOf(sets))
	if err := filter.BuildTable(block, sets); err != nil {
		e.shard.arena.free(r)
		return err
	}
	e.useTable(r)
	return nil
}

func (e entry) allocTable(bytes int) (ref, []byte) {
	r := e.shard.arena.alloc(bytesToWords(bytes))
	return r, asBytes(e.shard.arena.words(r))
}

func (e entry) useTable(r ref) {
	e.freeTable()
	e.setTable(r)
	e.shard.tables.add(len(e.shard.arena.words(r)) * 8)
}

// fold adds the hashes, cut to width bits as the operand on disk is, to the
// table. It reports false if that cannot be done in place; the table is then
// of no use.
func (e entry) fold(hashes []uint64, width int) bool {
	if e.table() == 0 && !e.growTable(len(hashes), width) {
		return false
	}
	for i, h := range hashes {
		if filter.AddTable(asBytes(e.shard.arena.words(e.table())), h, width) {
			continue
		}
		if !e.growTable(len(hashes)-i, width) ||
			!filter.AddTable(asBytes(e.shard.arena.words(e.table())), h, width) {
			return false
		}
	}
	return true
}

// growTable makes room for more entries of the width.
func (e entry) growTable(more, width int) bool {
	wide := width > 32
	r := e.table()
	if r == 0 {
		grown, block := e.allocTable(filter.TableSize(more, wide))
		if err := filter.BuildTable(block, nil); err != nil {
			e.shard.arena.free(grown)
			return false
		}
		e.useTable(grown)
		return true
	}
	old := asBytes(e.shard.arena.words(r))
	table := filter.OpenTable(old)
	grown, block := e.allocTable(filter.TableSize(table.Len()+more+table.Len()/8, wide))
	if err := filter.GrowTable(block, old, wide); err != nil {
		e.shard.arena.free(grown)
		return false
	}
	e.useTable(grown)
	return true
}
