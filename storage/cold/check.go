package cold

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/cockroachdb/errors"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// blockTrailer is what follows each block of a table: one byte that says how it
// is compressed, and the CRC-32C over block and byte, masked.
const blockTrailer = 5

// castagnoli is read-only after initialisation.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkedTable is a table opened for reading, which looks at the checksums of
// blocks before Pebble does. Pebble does it too; but where one does not match,
// it flips bit after bit to find out whether a single one was wrong, each time
// that the block is asked for: 25 ms for a data block, 15 s for a Bloom filter
// of 1 MB, with every key of the table waiting for it. So a damaged block is an
// error here and never gets there.
//
// Pebble reads tables block by block, with the trailer; the one exception is the
// footer, which ends the file.
type checkedTable struct {
	vfs.File
	path string
	size int64
}

var _ vfs.File = (*checkedTable)(nil)

// checkTable makes an open table a checked one.
func checkTable(file vfs.File, path string) (vfs.File, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &checkedTable{File: file, path: path, size: info.Size()}, nil
}

// ReadAt is part of vfs.File.
func (t *checkedTable) ReadAt(p []byte, off int64) (int, error) {
	n, err := t.File.ReadAt(p, off)
	if err != nil || off+int64(n) >= t.size || isWholeBlock(p) {
		return n, err
	}
	err = fmt.Errorf("%s: block of %d bytes at %d: checksum mismatch", t.path, len(p), off)
	return 0, errors.Mark(err, pebble.ErrCorruption)
}

// isWholeBlock reports whether p is a block with its trailer.
func isWholeBlock(p []byte) bool {
	if len(p) < blockTrailer {
		return false
	}
	body, sum := p[:len(p)-4], binary.LittleEndian.Uint32(p[len(p)-4:])
	c := crc32.Checksum(body, castagnoli)
	return sum == (c>>15|c<<17)+0xa282ead8
}
