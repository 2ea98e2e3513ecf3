package storage

import (
	"encoding/binary"

	"dedupd/storage/log"
	"dedupd/storage/policy"
)

// The rows of a key that are not sets: the meta row, which has the removed
// list, and the delivered list. They are written as they are at the moment,
// which may be ahead of the slot with which they are stored; so each says up
// to which position of the log it goes, and repeating the log begins behind
// that. FORMAT.md has the bytes.
const (
	metaVersion      = 1
	deliveredVersion = 1
)

// deliveredBlock is the block of rows to which a list goes that is stored at
// that time. It is alive for at most the length of a block from then on, so it
// is in the block of now or in the one before, and the newer one counts. (By
// the time of its newest item, it could go to an older block than a row that it
// replaces, when that item is taken off.)
func deliveredBlock(at, ttl int64) int64 { return at / max(ttl, policy.Hour) }

// appendMeta encodes the entry's removed list as of a position of the log.
func (e entry) appendMeta(dst []byte, at log.Position) []byte {
	dst = binary.AppendUvarint(append(dst, metaVersion), uint64(at))
	r := e.removed()
	if r == 0 {
		return binary.AppendUvarint(dst, 0)
	}
	words := e.shard.arena.words(r)
	dst = binary.AppendUvarint(dst, uint64(removedCount(words)))
	for i := range removedCount(words) {
		one := removedAt(words, i)
		dst = binary.LittleEndian.AppendUint64(dst, one.hash)
		dst = binary.AppendUvarint(dst, uint64(one.end))
	}
	return dst
}

func decodeMeta(b []byte) (removals []removal, at log.Position, err error) {
	var r recordReader
	r.b = b
	if r.byte() != metaVersion {
		r.fail(errRow)
	}
	at = log.Position(r.uvarint())
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail(errRow)
	}
	for i := uint64(0); i < n && r.err == nil; i++ {
		removals = append(removals, removal{hash: r.uint64(), end: int64(r.uvarint())})
	}
	return removals, at, r.ended()
}

// appendDelivered encodes the entry's delivered list as of a position of the
// log, oldest item first.
func (e entry) appendDelivered(dst []byte, at log.Position) []byte {
	dst = binary.AppendUvarint(append(dst, deliveredVersion), uint64(at))
	d, ok := e.list()
	if !ok {
		return binary.AppendUvarint(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(d.live()))
	for i := d.first(); i < d.used(); i++ {
		if !d.dead(i) {
			dst = binary.AppendUvarint(dst, uint64(d.time(i)))
			dst = appendBytes(dst, d.item(i))
		}
	}
	return dst
}

func decodeDelivered(b []byte) (list []delivery, at log.Position, err error) {
	var r recordReader
	r.b = b
	if r.byte() != deliveredVersion {
		r.fail(errRow)
	}
	at = log.Position(r.uvarint())
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail(errRow)
	}
	for i := uint64(0); i < n && r.err == nil; i++ {
		time := int64(r.uvarint())
		list = append(list, delivery{item: r.bytes(MaxItem), at: time})
	}
	return list, at, r.ended()
}
