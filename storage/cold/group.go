package cold

import "bytes"

const (
	hashSlots = 16384 // of a Redis cluster
	// Groups is the number of runs of hash slots; groups are numbered from 0.
	Groups = 48
)

// Group is the run of hash slots that a key belongs to: one range of rows in
// each block, so that it can move or replicate as a whole.
func Group(key []byte) uint8 { return uint8(hashSlot(key) * Groups / hashSlots) }

// hashSlot is a key's slot in a Redis cluster: CRC16 over its hash tag, the part
// between the first { and the next } if it is not empty, else over all of it.
func hashSlot(key []byte) int {
	if open := bytes.IndexByte(key, '{'); open >= 0 {
		if n := bytes.IndexByte(key[open+1:], '}'); n > 0 {
			key = key[open+1 : open+1+n]
		}
	}
	return int(crc16(key)) % hashSlots
}

// crc16 is CRC-16/XMODEM: polynomial 0x1021, initially 0.
func crc16(b []byte) (sum uint16) {
	for _, c := range b {
		sum = sum<<8 ^ crc16Table[byte(sum>>8)^c]
	}
	return sum
}

// crc16Table is read-only after initialisation.
var crc16Table = func() (table [256]uint16) {
	for i := range table {
		sum := uint16(i) << 8
		for range 8 {
			carry := sum >> 15
			sum = sum<<1 ^ carry*0x1021
		}
		table[i] = sum
	}
	return table
}()
