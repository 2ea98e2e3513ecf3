package server

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

const benchArgs = 200

// BenchmarkParse: one command of 200 arguments of 16 bytes, parsed and turned
// into views.
func BenchmarkParse(b *testing.B) {
	data := []byte(manyArgs("DEDUP.MEXISTS", benchArgs-1, 16))
	p := newParser()
	var argv [][]byte
	b.ReportAllocs()
	for b.Loop() {
		size, err := p.next(data)
		if size != len(data) || err != nil {
			b.Fatal(size, err)
		}
		argv = p.views(argv[:0], data)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchArgs, "ns/arg")
}

func newParser() *parser {
	p := &parser{}
	p.init(DefaultLimits(), DefaultPreAuthLimits())
	p.allow(true)
	return p
}

// BenchmarkLoop: 16 commands of 200 arguments in flight over loopback, an
// integer an argument back; client and server share the machine.
func BenchmarkLoop(b *testing.B) {
	f := start(b, nil)
	c := f.dial()
	const inFlight = 16
	request := []byte(strings.Repeat(manyArgs("ONES", benchArgs-1, 16), inFlight))
	reply := make([]byte, inFlight*(len("*199\r\n")+4*(benchArgs-1)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c.r, reply); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(inFlight*benchArgs), "ns/arg")
}

// BenchmarkLoopAlone is BenchmarkLoop without the kernel: what the connection
// loop, the parser and the replies cost.
func BenchmarkLoopAlone(b *testing.B) {
	const inFlight = 16
	nc := &memoryConn{request: []byte(strings.Repeat(manyArgs("ONES", benchArgs-1, 16), inFlight))}
	b.ReportAllocs()
	b.ResetTimer()
	nc.rounds = b.N
	serveAlone(b, nc)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(inFlight*benchArgs), "ns/arg")
}

// memoryConn is a client that sends its request a number of times and takes
// every reply at once.
type memoryConn struct {
	net.Conn
	request []byte
	rounds  int
	sent    int // bytes of this round's request
}

func (m *memoryConn) Read(p []byte) (int, error) {
	if m.sent == len(m.request) {
		m.rounds--
		m.sent = 0
	}
	if m.rounds == 0 {
		return 0, io.EOF
	}
	n := copy(p, m.request[m.sent:])
	m.sent += n
	return n, nil
}

func (m *memoryConn) Write(p []byte) (int, error)      { return len(p), nil }
func (m *memoryConn) Close() error                     { return nil }
func (m *memoryConn) SetReadDeadline(time.Time) error  { return nil }
func (m *memoryConn) SetWriteDeadline(time.Time) error { return nil }

// serveAlone runs the loop of one connection in this goroutine, to its end.
func serveAlone(tb testing.TB, nc net.Conn) {
	s, err := New(testConfig(&hooks{}))
	if err != nil {
		tb.Fatal(err)
	}
	c := s.newConn(nc)
	if !s.add(c) {
		tb.Fatal("not added")
	}
	c.serve()
}

// BenchmarkPing: one small command in flight.
func BenchmarkPing(b *testing.B) {
	f := start(b, nil)
	c := f.dial()
	request, reply := []byte("*1\r\n$4\r\nPING\r\n"), make([]byte, len("+PONG\r\n"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c.r, reply); err != nil {
			b.Fatal(err)
		}
	}
}
