package server

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config is everything a Server needs to know. It is copied by New and not
// changed afterwards. DefaultConfig fills all but NewSession.
type Config struct {
	// NewSession makes the session of one connection. It is called from that
	// connection's goroutine, before anything is read. Required.
	NewSession func(c *Conn) Session

	Password   string // what AUTH must say; "" asks for none
	MaxClients int    // connections served at once; more are told so and closed

	IdleTimeout  time.Duration // a client silent for so long is dropped; 0: never
	WriteTimeout time.Duration // a client that takes no reply bytes for so long is dropped; also bounds a TLS handshake
	KeepAlive    time.Duration // silence before TCP probes the peer; 0: no probes

	// MaxClientBytes bounds what clients make the server hold: what they send
	// and have not finished, what they do not read, what sessions Reserve. Each
	// connection has 32 KiB outside it. One that needs more when it is used up
	// is told so and closed. A command needs up to three times its size, or
	// eight times if it is of very many small arguments. 0: no bound.
	MaxClientBytes int64

	Limits        Limits // for authenticated clients
	PreAuthLimits Limits // for the others; where Limits is smaller, Limits holds

	Logger *slog.Logger // nil: silent
}

// DefaultConfig returns the defaults; NewSession is left to the caller.
func DefaultConfig() Config {
	return Config{
		MaxClients:    10000,
		WriteTimeout:  10 * time.Second,
		KeepAlive:     time.Minute,
		Limits:        DefaultLimits(),
		PreAuthLimits: DefaultPreAuthLimits(),
	}
}

// Validate names every value that New would refuse, with its valid range.
func (c Config) Validate() error {
	var noSession error
	if c.NewSession == nil {
		noSession = errors.New("NewSession is nil; valid: a function")
	}
	return errors.Join(
		noSession,
		inRange("MaxClients", c.MaxClients, 1, 1<<20),
		timeInRange("IdleTimeout", c.IdleTimeout, time.Millisecond, 365*24*time.Hour, true),
		timeInRange("WriteTimeout", c.WriteTimeout, time.Millisecond, time.Hour, false),
		timeInRange("KeepAlive", c.KeepAlive, 3*time.Second, 24*time.Hour, true),
		bytesInRange("MaxClientBytes", c.MaxClientBytes, minClientBytes, maxClientBytes),
		c.Limits.validate("Limits"),
		c.PreAuthLimits.validate("PreAuthLimits"),
	)
}

const (
	minClientBytes = 1 << 20
	maxClientBytes = 1 << 50
)

func bytesInRange(name string, v, low, high int64) error {
	if v >= low && v <= high || v == 0 {
		return nil
	}
	return fmt.Errorf("%s is %d; valid: 0 (no bound), or %d to %d", name, v, low, high)
}

func timeInRange(name string, v, low, high time.Duration, zeroIsOff bool) error {
	if v >= low && v <= high || zeroIsOff && v == 0 {
		return nil
	}
	off := ""
	if zeroIsOff {
		off = "0 (off), or "
	}
	return fmt.Errorf("%s is %v; valid: %s%v to %v", name, v, off, low, high)
}
