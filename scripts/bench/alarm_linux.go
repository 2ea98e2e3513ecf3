package bench

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes one goroutine on time. time.Sleep in an idle process is up to a
// millisecond late, because the runtime's poller counts in milliseconds; the
// kernel's timer, waited for as a file, is some 50 us late.
type alarm struct {
	fd   int
	file *os.File
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &alarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}, nil
}

// sleep returns after d, or at once when it was interrupted.
func (a *alarm) sleep(d time.Duration) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(d, 1).Nanoseconds())}
	if err := unix.TimerfdSettime(a.fd, 0, &spec, nil); err != nil {
		return os.NewSyscallError("timerfd_settime", err)
	}
	var expirations [8]byte
	_, err := a.file.Read(expirations[:])
	if os.IsTimeout(err) {
		return nil
	}
	return err
}

// interrupt ends the sleep, and every later one at once.
func (a *alarm) interrupt() { a.file.SetReadDeadline(time.Unix(1, 0)) }

// close frees the timer, once nobody sleeps.
func (a *alarm) close() { a.file.Close() }
