package bench

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// progress writes a line every now and then: the same one over and over on a
// terminal, seldom and below each other elsewhere. It owns its goroutine.
type progress struct {
	quit chan struct{}
	wg   sync.WaitGroup
}

func startProgress(out io.Writer, line func() string) *progress {
	p := &progress{quit: make(chan struct{})}
	terminal := isTerminal(out)
	every, format, last := 5*time.Second, "%s\n", ""
	if terminal {
		every, format, last = 500*time.Millisecond, "\r\x1b[K%s", "\r\x1b[K"
	}
	p.wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(out, format, line())
			case <-p.quit:
				io.WriteString(out, last)
				return
			}
		}
	})
	return p
}

// stop ends it and wipes the line.
func (p *progress) stop() {
	close(p.quit)
	p.wg.Wait()
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
