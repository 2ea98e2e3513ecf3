package server

import (
	"strings"
	"testing"
	"time"
)

func TestDefaultConfigIsValid(t *testing.T) {
	if err := testConfig(&hooks{}).Validate(); err != nil {
		t.Error(err)
	}
}

// Every bad value is named with its range, all of them at once.
func TestValidate(t *testing.T) {
	cases := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"session", func(c *Config) { c.NewSession = nil }, "NewSession is nil; valid: a function"},
		{"clients", func(c *Config) { c.MaxClients = 0 }, "MaxClients is 0; valid: 1 to 1048576"},
		{"idle", func(c *Config) { c.IdleTimeout = -1 }, "IdleTimeout is -1ns; valid: 0 (off), or 1ms to 8760h0m0s"},
		{"write", func(c *Config) { c.WriteTimeout = 0 }, "WriteTimeout is 0s; valid: 1ms to 1h0m0s"},
		{"keepalive", func(c *Config) { c.KeepAlive = time.Second }, "KeepAlive is 1s; valid: 0 (off), or 3s to 24h0m0s"},
		{"memory", func(c *Config) { c.MaxClientBytes = 1 }, "MaxClientBytes is 1; valid: 0 (no bound), or 1048576 to 1125899906842624"},
		{"args", func(c *Config) { c.Limits.MaxArgs = 0 }, "Limits.MaxArgs is 0; valid: 1 to 16777216"},
		{"bulk", func(c *Config) { c.Limits.MaxBulk = 1 << 40 }, "Limits.MaxBulk is 1099511627776; valid: 1 to 536870912"},
		{"command", func(c *Config) { c.Limits.MaxCommand = -1 }, "Limits.MaxCommand is -1; valid: 16 to 1073741824"},
		{"inline", func(c *Config) { c.PreAuthLimits.MaxInline = 1 << 30 }, "PreAuthLimits.MaxInline is 1073741824; valid: 16 to 1048576"},
	}
	all := testConfig(&hooks{})
	for _, tc := range cases {
		cfg := testConfig(&hooks{})
		tc.change(&cfg)
		tc.change(&all)
		if _, err := New(cfg); err == nil || err.Error() != tc.want {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	err := all.Validate()
	for _, tc := range cases {
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("all together: %q is missing from %v", tc.want, err)
		}
	}
}

// Bounds for clients that are not authenticated are never wider than the others.
func TestPreAuthLimitsAreWithinLimits(t *testing.T) {
	var p parser
	p.init(Limits{MaxArgs: 5, MaxBulk: 1 << 20, MaxCommand: 1000, MaxInline: 1 << 20}, DefaultPreAuthLimits())
	if want := (Limits{MaxArgs: 5, MaxBulk: 16 << 10, MaxCommand: 1000, MaxInline: 64 << 10}); p.limits != want {
		t.Errorf("%+v", p.limits)
	}
}

func TestThrottle(t *testing.T) {
	var th throttle
	now := time.Unix(1000, 0)
	lines, skipped := 0, int64(0)
	for range 3000 { // three seconds
		if n, ok := th.allow(now); ok {
			lines++
			skipped += n
		}
		now = now.Add(time.Millisecond)
	}
	if lines != 3 || skipped != 2*999 {
		t.Errorf("%d lines, %d skipped", lines, skipped)
	}
}
