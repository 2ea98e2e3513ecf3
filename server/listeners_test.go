package server

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// pipeListener hands out in-memory connections, for tests with a fake clock.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case nc := <-l.conns:
		return nc, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (l *pipeListener) dial() net.Conn {
	ours, theirs := net.Pipe()
	l.conns <- theirs
	return ours
}

// failingListener fails to accept for as long as it is told to.
type failingListener struct {
	*pipeListener
	mu    sync.Mutex
	fails int // to come
	tries int
}

var errNoFiles = &net.OpError{Op: "accept", Err: errors.Join(syscall.EMFILE)}

func (l *failingListener) Accept() (net.Conn, error) {
	l.mu.Lock()
	l.tries++
	fail := l.fails > 0
	if fail {
		l.fails--
	}
	l.mu.Unlock()
	if fail {
		return nil, errNoFiles
	}
	return l.pipeListener.Accept()
}

func (l *failingListener) tried() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tries
}
