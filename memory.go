package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"

	"dedupd/commands"
)

// minMemory is what the server needs to be of any use.
const minMemory = 64 << 20

// parseMemory reads a size: bytes, kb, mb, gb, or a share of what there is.
func parseMemory(s string) (int64, error) {
	valid := fmt.Errorf("valid: at least 64mb, as bytes, kb, mb, gb, or 1%% to 100%%")
	text := strings.ToLower(strings.TrimSpace(s))
	if share, ok := strings.CutSuffix(text, "%"); ok {
		n, err := strconv.ParseInt(share, 10, 64)
		if err != nil || n < 1 || n > 100 {
			return 0, valid
		}
		total, err := availableMemory()
		if err != nil {
			return 0, fmt.Errorf("the machine's memory is unknown (%w); give a size", err)
		}
		return max(total/100*n, minMemory), nil
	}
	shift := 0
	for unit, s := range map[string]int{"kb": 10, "mb": 20, "gb": 30} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			text, shift = number, s
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > 1<<50>>shift || n<<shift < minMemory {
		return 0, valid
	}
	return n << shift, nil
}

// availableMemory is the machine's memory, or the limit of the cgroup if that
// is smaller.
func availableMemory() (int64, error) {
	total, err := machineMemory()
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		b, readErr := os.ReadFile(path)
		if readErr != nil {
			continue
		}
		limit, parseErr := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
		if parseErr == nil && limit > 0 && (err != nil || limit < total) {
			total, err = limit, nil
		}
	}
	return total, err
}

func machineMemory() (int64, error) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	var kb int64
	if _, err := fmt.Sscanf(string(b), "MemTotal: %d kB", &kb); err != nil {
		return 0, errors.New("no MemTotal in /proc/meminfo")
	}
	return kb << 10, nil
}

// memoryNow is what the process takes at the moment.
func memoryNow(limit int64) commands.Memory {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}}
	metrics.Read(samples)
	m := commands.Memory{Heap: int64(samples[0].Value.Uint64()), Total: int64(samples[1].Value.Uint64()), Limit: limit}
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		var size, resident int64
		if _, err := fmt.Sscan(string(b), &size, &resident); err == nil {
			m.RSS = resident * int64(os.Getpagesize())
		}
	}
	return m
}
