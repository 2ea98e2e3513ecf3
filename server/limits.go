package server

import (
	"errors"
	"fmt"
)

// Limits bounds what one command may ask of the server, in bytes on the wire.
// Each bound is checked before the announced length is used for anything.
type Limits struct {
	MaxArgs    int // arguments in one command, its name included
	MaxBulk    int // bytes in one argument
	MaxCommand int // bytes of one command, length lines included
	MaxInline  int // bytes in one line: an inline command, or a length line
}

// The ranges keep every offset within a command far below 1<<31.
const (
	maxArgsCeiling    = 1 << 24
	maxBulkCeiling    = 512 << 20
	maxCommandCeiling = 1 << 30
	maxInlineCeiling  = 1 << 20
)

// DefaultLimits holds for clients that are authenticated.
func DefaultLimits() Limits {
	return Limits{MaxArgs: 1 << 20, MaxBulk: 1 << 20, MaxCommand: 32 << 20, MaxInline: 64 << 10}
}

// DefaultPreAuthLimits holds for clients that are not authenticated yet:
// room for HELLO and AUTH, and for little else.
func DefaultPreAuthLimits() Limits {
	return Limits{MaxArgs: 10, MaxBulk: 16 << 10, MaxCommand: 64 << 10, MaxInline: 64 << 10}
}

func (l Limits) validate(field string) error {
	return errors.Join(
		inRange(field+".MaxArgs", l.MaxArgs, 1, maxArgsCeiling),
		inRange(field+".MaxBulk", l.MaxBulk, 1, maxBulkCeiling),
		inRange(field+".MaxCommand", l.MaxCommand, 16, maxCommandCeiling),
		inRange(field+".MaxInline", l.MaxInline, 16, maxInlineCeiling),
	)
}

// within returns the smaller of the two in every bound.
func (l Limits) within(m Limits) Limits {
	return Limits{
		MaxArgs:    min(l.MaxArgs, m.MaxArgs),
		MaxBulk:    min(l.MaxBulk, m.MaxBulk),
		MaxCommand: min(l.MaxCommand, m.MaxCommand),
		MaxInline:  min(l.MaxInline, m.MaxInline),
	}
}

func inRange(name string, v, low, high int) error {
	if v >= low && v <= high {
		return nil
	}
	return fmt.Errorf("%s is %d; valid: %d to %d", name, v, low, high)
}
