package commands

import (
	"path"
	"strings"
)

// configGet answers each setting once, however many patterns it matches.
func (c *call) configGet() {
	var found []Setting
	for _, setting := range c.session.handler.Settings {
		if matchesAny(setting.Name, c.args[2:]) {
			found = append(found, setting)
		}
	}
	c.mapping(len(found))
	for _, setting := range found {
		c.text(setting.Name)
		c.text(setting.Value)
	}
}

// matchesAny compares a lower-case name with glob patterns in any case.
func matchesAny(name string, patterns [][]byte) bool {
	for _, pattern := range patterns {
		if ok, err := path.Match(strings.ToLower(string(pattern)), name); ok && err == nil {
			return true
		}
	}
	return false
}
