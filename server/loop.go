package server

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime/debug"
	"time"
)

const (
	trimAfter  = time.Second // a client silent for so long gives its large buffers back
	writeChunk = 64 << 10    // bytes that one write deadline is for
	fewArgs    = 64          // what a quiet connection may have room for, beyond those that have arrived
)

// serve is the life of a connection. It returns when the connection is closed
// and everything it held is given back; a panic of the session ends there too.
func (c *Conn) serve() {
	defer c.end()
	c.in.init(&c.server.buffers)
	setOptions(c.nc, c.server.cfg.KeepAlive)
	if err := c.handshake(); err != nil {
		c.ended = true
		return
	}
	c.setAuthenticated(!c.PasswordSet())
	c.session = c.server.cfg.NewSession(c)
	for c.receive() && c.work() {
	}
}

// handshaker is a TLS connection.
type handshaker interface{ HandshakeContext(context.Context) error }

// handshake finishes what must come before the first byte, if c is a TLS
// connection, within the write timeout.
func (c *Conn) handshake() error {
	tls, ok := c.nc.(handshaker)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.server.cutting, c.server.cfg.WriteTimeout)
	defer cancel()
	return tls.HandshakeContext(ctx)
}

// receive waits for bytes. It returns false when no more are to come.
func (c *Conn) receive() bool {
	for {
		if !c.makeRoom() {
			c.noMemory()
			c.in.discard()
			c.settle()
			c.write(oomReply)
			return false
		}
		c.armRead()
		n, err := c.in.fill(c.nc)
		now := c.server.now()
		if n > 0 {
			c.active.Store(int64(now))
			c.server.counters.bytesIn.Add(int64(n))
			return true // an error comes again
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			c.ended = true
			return false
		}
		if c.server.draining() || !c.quiet(now) {
			return false
		}
	}
}

// makeRoom readies the read buffer for a read. It returns false if there is no
// room and there may be no more.
func (c *Conn) makeRoom() bool {
	c.in.compact()
	if !c.in.should() {
		return true
	}
	size := 2 * len(c.in.b)
	if !c.account.settle(c.held() + int64(size-cap(c.in.b))) {
		return !c.in.must()
	}
	c.in.resize(size)
	return true
}

// armRead sets the read deadline to when this connection's silence next means
// something. One that is armed already is left if it fires no later: it then
// finds that there was no silence and is set anew, which costs a busy client
// nothing.
func (c *Conn) armRead() {
	last := time.Duration(c.active.Load())
	var by time.Duration
	if idle := c.server.cfg.IdleTimeout; idle > 0 {
		by = last + idle
	}
	if (c.in.large() || c.parser.large(fewArgs)) && (by == 0 || last+trimAfter < by) {
		by = last + trimAfter
	}
	if by == 0 || c.readBy != 0 && c.readBy <= by {
		return
	}
	c.setReadDeadline(by)
}

// setReadDeadline arms the deadline, or none if by is 0. A drain that begins
// meanwhile wins: it is announced before it sets its own deadline, and looked
// for after this one is set.
func (c *Conn) setReadDeadline(by time.Duration) {
	c.readBy = by
	at := time.Time{}
	if by != 0 {
		at = c.server.start.Add(by)
	}
	_ = c.nc.SetReadDeadline(at) // on a closed connection, the read says so
	if c.server.draining() {
		c.drain()
	}
}

// quiet is called when the read deadline fired. It returns false if the client
// has been silent for too long.
func (c *Conn) quiet(now time.Duration) bool {
	silent := now - time.Duration(c.active.Load())
	if idle := c.server.cfg.IdleTimeout; idle > 0 && silent >= idle {
		c.server.counters.idleTimeouts.Add(1)
		c.ended = true // nothing is unread, nothing is unwritten
		return false
	}
	if silent >= trimAfter {
		c.in.shrinkTo(smallBuffer)
		c.parser.trim(fewArgs)
		c.settle()
	}
	c.setReadDeadline(0)
	return true
}

// work runs every complete command that has arrived and writes the replies. It
// returns false if the connection is to end.
func (c *Conn) work() bool {
	c.borrow()
	ok := c.runAll()
	c.trim()
	ok = ok && c.flush()
	c.giveBack()
	return ok && !c.closing
}

// borrow takes a batch, and from it the array that the parser needs. A pooled
// one may be larger than there is room for now; a new one is small.
func (c *Conn) borrow() {
	c.out = c.server.batches.get()
	if !c.settle() {
		c.server.batches.put(c.out)
		c.out = newBatch()
	}
	if c.parser.args == nil {
		c.parser.args, c.out.spans = c.out.spans, nil // an array has one holder
	}
}

// trim drops what the last commands needed and the next do not. That is before
// the last replies leave, since a client may take its time with those.
func (c *Conn) trim() {
	if c.closing {
		c.in.discard()
	}
	c.in.shrinkTo(busyBuffer)
	if c.parser.left == 0 {
		c.parser.args = c.parser.args[:0]
	}
	c.parser.trim(keptArgs)
	if cap(c.out.argv) > keptArgs {
		c.out.argv = nil
	}
	c.settle()
}

// giveBack returns the batch, and with it the parser's array; but what an
// incomplete command has so far stays with the connection.
func (c *Conn) giveBack() {
	c.server.counters.commands.Add(c.out.commands)
	c.out.commands = 0
	if c.parser.left == 0 {
		if cap(c.parser.args) >= cap(c.out.spans) {
			c.out.spans = c.parser.args[:0]
		}
		c.parser.args = nil
	}
	c.server.batches.put(c.out)
	c.out = nil
	c.settle()
}

// runAll runs the complete commands in the buffer. It returns false if the
// connection is to end at once, with nothing more written.
func (c *Conn) runAll() bool {
	for !c.closing {
		size, err := c.parser.next(c.in.unread())
		if err != nil {
			c.refuse(err)
			return true
		}
		if size == 0 {
			if !c.settle() {
				c.refuseMemory(len(c.out.buf))
			}
			return true
		}
		if len(c.parser.args) > 0 {
			c.run(size)
		}
		c.in.take(size)
		if c.killed.Load() || len(c.out.buf) >= flushSize && !c.flush() {
			return false
		}
	}
	return true
}

// run runs the command of size bytes that the parser has just found.
func (c *Conn) run(size int) {
	data := c.in.unread()
	args := c.parser.views(c.out.argv[:0], data)
	if len(args) > len(c.out.argv) {
		c.out.argv = args
	}
	if data[0] != '*' && isHTTP(args) {
		c.refuseHTTP()
		return
	}
	before := len(c.out.buf)
	if size > smallBuffer { // about no reply is larger than what it answers
		c.expected = int64(size)
	}
	ok := c.settle()
	if ok {
		c.out.run(c.session, args)
	}
	c.expected = 0
	if !ok || !c.settle() {
		c.refuseMemory(before)
	}
}

// refuse tells the client, behind the replies it still gets, what it did wrong.
func (c *Conn) refuse(err error) {
	c.closing = true
	c.out.buf = appendError(c.out.buf, "ERR "+err.Error())
	c.server.counters.protocolErrors.Add(1)
	c.server.logThrottled(&c.server.protocolLog, slog.LevelInfo, "protocol error",
		"client", c.RemoteAddr(), "error", err.Error())
}

const oomText = "OOM client buffers exceed their share of maxmemory"

var oomReply = appendError(nil, oomText)

// refuseMemory tells the client, behind the replies before, that there is no
// room for the rest.
func (c *Conn) refuseMemory(before int) {
	c.server.budget.reclaim.drop(c.out.size()) // was not charged
	c.out.cut(before)
	c.out.buf = append(c.out.buf, oomReply...)
	c.noMemory()
}

func (c *Conn) noMemory() {
	c.closing = true
	c.parser.args = nil
	c.server.counters.memoryRefusals.Add(1)
	c.server.logThrottled(&c.server.memoryLog, slog.LevelWarn, "clients hold too much memory, one is closed",
		"client", c.RemoteAddr(), "bound", c.server.cfg.MaxClientBytes)
}

func (c *Conn) refuseHTTP() {
	c.closing = true
	c.server.counters.httpRequests.Add(1)
	c.server.logThrottled(&c.server.httpLog, slog.LevelWarn, "HTTP request cut", "client", c.RemoteAddr())
}

// flush writes the replies gathered so far, once what they promise is durable.
// It returns false if the client is not to be reached.
func (c *Conn) flush() bool {
	b := c.out
	if len(b.buf) == 0 {
		b.reset()
		return true
	}
	if err := b.settle(c.session); err != nil {
		c.server.counters.waitErrors.Add(1)
		c.server.logThrottled(&c.server.waitLog, slog.LevelError, "replies not durable", "error", err.Error())
	}
	ok := c.write(b.buf)
	b.reset()
	b.trim()
	return ok
}

// write sends b in pieces, each of which the client must take within the write
// timeout.
func (c *Conn) write(b []byte) bool {
	for len(b) > 0 {
		piece := b[:min(len(b), writeChunk)]
		_ = c.nc.SetWriteDeadline(time.Now().Add(c.server.cfg.WriteTimeout)) // on a closed connection, the write says so
		n, err := c.nc.Write(piece)
		c.server.counters.bytesOut.Add(int64(n))
		if err != nil {
			c.writeFailed(err)
			return false
		}
		b = b[n:]
	}
	return true
}

func (c *Conn) writeFailed(err error) {
	c.ended = true // there is nobody to wait for
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.server.counters.outputTimeouts.Add(1)
		c.server.logThrottled(&c.server.outputLog, slog.LevelWarn, "client does not read", "client", c.RemoteAddr())
	}
}

// end closes the connection and gives back what it held. It recovers the
// goroutine's panic, if that is how it ends.
func (c *Conn) end() {
	c.recovered(recover())
	if c.out != nil { // a panic left it, so it is in nobody's pool
		c.server.counters.commands.Add(c.out.commands)
		c.out = nil
	}
	c.in.discard()
	c.parser.args, c.expected = nil, 0
	c.settle()
	if !c.ended && !c.killed.Load() {
		c.linger()
	}
	_ = c.nc.Close() // nothing is left to be lost
	if c.session != nil {
		c.closeSession()
	}
	c.in.release()
	c.account.settle(0)
	c.server.remove(c)
}

func (c *Conn) closeSession() {
	defer func() { c.recovered(recover()) }()
	c.session.Close()
}

func (c *Conn) recovered(reason any) {
	if reason == nil {
		return
	}
	c.server.counters.panics.Add(1)
	c.server.log.Error("session panicked", "client", c.RemoteAddr(), "panic", reason, "stack", string(debug.Stack()))
}
