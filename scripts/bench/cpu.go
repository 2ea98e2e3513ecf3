package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// clockTick is the unit of the times in /proc/pid/stat (USER_HZ is 100).
const clockTick = 10 * time.Millisecond

// processCPU is the CPU time that a process has used, user and system, all
// its threads.
func processCPU(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// pid (name) state ...; the name may hold anything, so count from its end:
	// utime and stime are the 12th and 13th behind it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has an unknown form", pid)
	}
	user, err := strconv.ParseInt(string(fields[11]), 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * clockTick, err
}

// ownCPU is the CPU time that this process has used.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// meter measures CPU from its start on.
type meter struct {
	pid         int
	server, own time.Duration
	err         error
}

func startMeter(pid int) meter {
	m := meter{pid: pid, own: ownCPU()}
	if pid != 0 {
		m.server, m.err = processCPU(pid)
	}
	return m
}

// ownUsed is the CPU time that this process used since the start.
func (m meter) ownUsed() time.Duration { return ownCPU() - m.own }

// serverUsed is the CPU time that the server used since the start. It fails
// when the server is gone.
func (m meter) serverUsed() (time.Duration, error) {
	if m.err != nil {
		return 0, m.err
	}
	now, err := processCPU(m.pid)
	return now - m.server, err
}
