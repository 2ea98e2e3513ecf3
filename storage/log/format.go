package log

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
)

// The bytes on disk. FORMAT.md draws them; the golden test holds them.

const (
	magic         = "dedupLOG"
	formatVersion = 1

	headerSize       = 80 // of a segment
	recordHeaderSize = 20
	alignment        = 8

	maxPayload  = 1 << 30 // no length above it is believed
	maxPosition = 1 << 62
	maxSlot     = 1 << 62

	fileSuffix = ".log"
)

// flagAccepted marks a segment begun by a recovery that was told to go on over
// damage in the segments before it.
const flagAccepted = 1 << 0

// castagnoli is read-only after initialisation.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the first block of a segment.
type header struct {
	slot    uint64
	base    Position // of the segment's first record
	synced  Position // everything before it was synced when the header was made
	created time.Time

	// The segment that this one continues: it tells a missing file from one
	// that never was, and stands in for that file's own header.
	previousSlot uint64 // 0: none
	previousBase Position

	accepted bool   // flagAccepted
	lost     uint64 // bytes that the recovery which began this segment accepted as lost
}

func (h header) encode() []byte {
	b := make([]byte, headerSize)
	copy(b, magic)
	le := binary.LittleEndian
	le.PutUint32(b[8:], formatVersion)
	if h.accepted {
		le.PutUint32(b[12:], flagAccepted)
	}
	le.PutUint64(b[16:], h.slot)
	le.PutUint64(b[24:], uint64(h.base))
	le.PutUint64(b[32:], uint64(h.synced))
	le.PutUint64(b[40:], h.previousSlot)
	le.PutUint64(b[48:], uint64(h.previousBase))
	le.PutUint64(b[56:], h.lost)
	le.PutUint64(b[64:], uint64(h.created.UnixNano()))
	le.PutUint32(b[76:], crc32.Checksum(b[:76], castagnoli))
	return b
}

// decodeHeader reads a segment's header. It reports false if the block is not
// one, whatever the reason, and an error only for an intact header that this
// version must not touch.
func decodeHeader(b []byte) (header, bool, error) {
	le := binary.LittleEndian
	if len(b) < headerSize || string(b[:8]) != magic || le.Uint32(b[76:]) != crc32.Checksum(b[:76], castagnoli) {
		return header{}, false, nil
	}
	if v := le.Uint32(b[8:]); v != formatVersion {
		return header{}, false, fmt.Errorf("it is of format version %d, this program knows version %d", v, formatVersion)
	}
	h := header{
		slot:         le.Uint64(b[16:]),
		base:         Position(le.Uint64(b[24:])),
		synced:       Position(le.Uint64(b[32:])),
		previousSlot: le.Uint64(b[40:]),
		previousBase: Position(le.Uint64(b[48:])),
		lost:         le.Uint64(b[56:]),
		created:      time.Unix(0, int64(le.Uint64(b[64:]))),
		accepted:     le.Uint32(b[12:])&flagAccepted != 0,
	}
	return h, h.sane(), nil
}

func (h header) sane() bool {
	return h.slot > 0 && h.slot <= maxSlot && h.previousSlot < h.slot &&
		h.base <= maxPosition && h.base%alignment == 0 &&
		h.synced <= h.base && h.previousBase <= h.base
}

// recordSize is the room that a record with a payload of n bytes takes.
func recordSize(n int) int64 {
	return (recordHeaderSize + int64(n) + alignment - 1) &^ (alignment - 1)
}

// headerSum computes the checksums of record headers of one segment. It owns
// the scratch space that keeps the computation off the heap, so it is used by
// one goroutine at a time.
type headerSum struct {
	seed    uint32 // of the segment's id
	scratch [24]byte
}

func newHeaderSum(slot uint64) headerSum {
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], slot)
	return headerSum{seed: crc32.Checksum(id[:], castagnoli)}
}

// of covers the segment's id, the record's position and the header's fields
// (its bytes 4 to 20).
func (s *headerSum) of(pos Position, fields []byte) uint32 {
	binary.LittleEndian.PutUint64(s.scratch[:8], uint64(pos))
	copy(s.scratch[8:], fields)
	return crc32.Update(s.seed, castagnoli, s.scratch[:])
}

// appendRecord appends the record of payload, whose checksum is sum, to b.
func (s *headerSum) appendRecord(b []byte, pos, synced Position, payload []byte, sum uint32) []byte {
	le := binary.LittleEndian
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = le.AppendUint32(b, uint32(len(payload)))
	b = le.AppendUint64(b, uint64(synced))
	b = le.AppendUint32(b, sum)
	le.PutUint32(b[at:], s.of(pos, b[at+4:at+recordHeaderSize]))
	b = append(b, payload...)
	var zeros [alignment]byte
	return append(b, zeros[:recordSize(len(payload))-recordHeaderSize-int64(len(payload))]...)
}

// recordHeader is the checked header of a record.
type recordHeader struct {
	length int
	synced Position
	sum    uint32 // of the payload
}

// parse reads the header of the record at pos. It reports false unless every
// bound and the checksum hold. The bounds come first: they turn away nearly all
// bytes that are not a header, which keeps scanning cheap.
func (s *headerSum) parse(b []byte, pos Position) (recordHeader, bool) {
	le := binary.LittleEndian
	length := le.Uint32(b[4:])
	if length == 0 || length > maxPayload {
		return recordHeader{}, false
	}
	synced := Position(le.Uint64(b[8:]))
	if synced > pos || le.Uint32(b) != s.of(pos, b[4:recordHeaderSize]) {
		return recordHeader{}, false
	}
	return recordHeader{length: int(length), synced: synced, sum: le.Uint32(b[16:])}, true
}

func fileName(slot uint64) string {
	return fmt.Sprintf("%016x%s", slot, fileSuffix)
}

// parseFileName reports false for every name that fileName does not make.
func parseFileName(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, fileSuffix)
	if !ok {
		return 0, false
	}
	slot, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || slot == 0 || slot > maxSlot || fileName(slot) != name {
		return 0, false
	}
	return slot, true
}
