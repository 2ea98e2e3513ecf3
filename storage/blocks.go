package storage

import (
	"slices"
	"sync"

	"dedupd/storage/policy"
)

// blocks lists each class's blocks that may have rows, so that a fetch looks
// at no others, whatever the clock says. A block is added before its rows
// become visible. Safe for concurrent use; the lists are never changed.
type blocks struct {
	mu    sync.RWMutex
	lists map[policy.ClassID][]int64
}

func (b *blocks) of(class policy.ClassID) []int64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.lists[class]
}

func (b *blocks) add(class policy.ClassID, block int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, found := slices.BinarySearch(b.lists[class], block)
	if found {
		return
	}
	if b.lists == nil {
		b.lists = make(map[policy.ClassID][]int64)
	}
	b.lists[class] = slices.Insert(slices.Clone(b.lists[class]), at, block)
}
