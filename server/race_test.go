//go:build race

package server

// raceEnabled: the race detector makes pools forget and everything slow.
const raceEnabled = true
