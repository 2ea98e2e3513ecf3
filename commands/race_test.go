//go:build race

package commands

// raceEnabled: the race detector allocates, too.
const raceEnabled = true
