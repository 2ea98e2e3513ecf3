package main

import (
	"fmt"
	"strconv"
	"time"
)

// intValue and durationValue are flags whose errors name the valid range, as
// those of package flag do not.
type intValue struct {
	n     *int
	valid string
}

func (v intValue) String() string {
	if v.n == nil {
		return ""
	}
	return strconv.Itoa(*v.n)
}

func (v intValue) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil {
		return fmt.Errorf("not an integer; valid: %s", v.valid)
	}
	*v.n = n
	return nil
}

type durationValue struct {
	d     *time.Duration
	valid string
}

func (v durationValue) String() string {
	if v.d == nil {
		return ""
	}
	return v.d.String()
}

func (v durationValue) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("not a duration such as 90s or 1h; valid: %s", v.valid)
	}
	*v.d = d
	return nil
}
