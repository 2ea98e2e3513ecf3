//go:build !race

package cold

// maxReadAllocs bounds what a read allocates: Pebble's, where a table is
// opened.
const maxReadAllocs = 1
