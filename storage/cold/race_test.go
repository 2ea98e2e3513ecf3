//go:build race

package cold

// maxReadAllocs bounds what a read allocates: the race detector makes
// sync.Pool forget at random, and Pebble's readers come from pools.
const maxReadAllocs = 50
