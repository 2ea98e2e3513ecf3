package flusher

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestValidateNamesEachWrongValue(t *testing.T) {
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Slot = time.Second - 1 }, "Slot is 999.999999ms; valid: 1s to 24h0m0s"},
		{func(c *Config) { c.Slot = 24*time.Hour + 1 }, "Slot is 24h0m0.000000001s; valid: 1s to 24h0m0s"},
		{func(c *Config) { c.MaxSealed = 0 }, "MaxSealed is 0; valid: 1 to 1024"},
		{func(c *Config) { c.MaxSealed = 1025 }, "MaxSealed is 1025; valid: 1 to 1024"},
		{func(c *Config) { c.MaxReadAmp = 9 }, "MaxReadAmp is 9; valid: 10 to 1000"},
		{func(c *Config) { c.BackoffMin = 0 }, "BackoffMin is 0s; valid: 10ms to 1h0m0s"},
		{func(c *Config) { c.BackoffMax = c.BackoffMin - 1 }, "BackoffMax is 999.999999ms; valid: 1s to 1h0m0s"},
		{func(c *Config) { c.BackoffMax = 2 * time.Hour }, "BackoffMax is 2h0m0s; valid: 1s to 1h0m0s"},
		{func(c *Config) { c.Poll = time.Hour }, "Poll is 1h0m0s; valid: 10ms to 1m0s"},
	} {
		c := DefaultConfig()
		test.change(&c)
		if _, err := New(nil, c); err == nil || err.Error() != "flusher: "+test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	if n := strings.Count((Config{}).Validate().Error(), "valid: "); n != 6 {
		t.Errorf("%d wrong values are named: %v", n, Config{}.Validate())
	}
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidateChores(t *testing.T) {
	run := func(context.Context) error { return nil }
	for want, chores := range map[string][]Chore{
		"Every of chore \"a\" is 0s; valid: 10ms to 24h0m0s": {{Name: "a", Run: run}},
		"chore \"\": it must have":                           {{Every: time.Hour, Run: run}},
		"chore \"a\": it must have":                          {{Name: "a", Every: time.Hour}},
		"chore \"b\": it must have":                          {{Name: "b", Every: time.Hour, Run: run}, {Name: "b", Every: time.Hour, Run: run}},
	} {
		if _, err := New(nil, DefaultConfig(), chores...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
