package commands

import (
	"sync"
	"sync/atomic"

	"dedupd/storage"
)

// Session runs the commands of one connection, on its goroutine. What other
// sessions may ask of it (CLIENT LIST) is atomic or guarded by mu.
type Session struct {
	handler *Handler
	client  Client
	call    call
	multi   *transaction // between MULTI and EXEC or DISCARD

	last     atomic.Pointer[command]
	protocol atomic.Int32 // as call.proto, 0 meaning 2
	queued   atomic.Int32 // commands in multi, plus 1; 0: no MULTI
	tracking atomic.Bool

	mu               sync.Mutex
	name             string
	libName, libVers string
}

// Do runs one command and appends its reply to dst. args are not kept. wait,
// when it is not 0, is the position that must be durable before the reply may
// leave.
func (s *Session) Do(dst []byte, args [][]byte) (buf []byte, wait uint64) {
	c := &s.call
	c.buf = dst
	defer func() {
		c.tx.Abort() // after a panic only; else nothing is locked
		c.end()
		c.buf = nil
	}()
	wait = s.dispatch(c, args)
	return c.buf, wait
}

// dispatch finds the command, checks what all commands have in common, and
// runs or queues it.
func (s *Session) dispatch(c *call, args [][]byte) (wait uint64) {
	cmd, text := s.resolve(args)
	if cmd == nil {
		return s.refuse(text)
	}
	s.last.Store(cmd)
	if text := s.forbids(cmd, len(args)); text != "" {
		if cmd.isExec() {
			return s.abort(text)
		}
		return s.refuse(text)
	}
	if s.multi != nil && !endsMulti(cmd) {
		s.enqueue(cmd, args)
		return 0
	}
	c.begin(cmd, args)
	if cmd.onKey() {
		return c.runOnKey()
	}
	if cmd.isExec() {
		return s.exec()
	}
	cmd.run(c)
	return 0
}

// forbids says why the command may not run, or "".
func (s *Session) forbids(cmd *command, args int) string {
	switch {
	case !cmd.arityFits(args):
		return arityText(cmd.fullName())
	case cmd.flags&flagNoAuth == 0 && !s.client.Authenticated():
		return "NOAUTH Authentication required."
	}
	return ""
}

// refuse answers an error; within MULTI it also spoils the transaction.
func (s *Session) refuse(text string) (wait uint64) {
	if s.multi != nil {
		s.multi.spoiled = true
	}
	s.call.error(text)
	return 0
}

// resolve finds the command or subcommand, or says what is wrong.
func (s *Session) resolve(args [][]byte) (cmd *command, text string) {
	cmd = s.handler.table.find(args[0])
	switch {
	case cmd == nil:
		return nil, unknownText(args)
	case len(cmd.sub) == 0 || len(args) == 1 && cmd.run != nil:
		return cmd, ""
	case len(args) == 1:
		return nil, arityText(cmd.name)
	}
	if sub := cmd.find(args[1]); sub != nil {
		return sub, ""
	}
	return nil, "ERR unknown subcommand '" + printable(args[1], 128) + "'. Try " + upper(cmd.name) + " HELP."
}

// runOnKey runs a command on one key as a transaction of its own.
func (c *call) runOnKey() (wait uint64) {
	if err := c.cmd.parse(c); err != nil {
		c.error(c.errorText(err))
		return 0
	}
	if err := c.tx.Begin(c.kind(), c.key); err != nil {
		c.error(c.errorText(err))
		return 0
	}
	from := len(c.buf)
	c.cmd.run(c)
	return c.commit(from)
}

// commit ends the transaction; the replies from there on stand only if it
// succeeds.
func (c *call) commit(from int) (wait uint64) {
	wait, err := c.tx.Commit()
	if err != nil {
		c.buf = c.buf[:from]
		c.error(c.errorText(&storage.ReadOnlyError{Cause: err}))
		return 0
	}
	return wait
}

// Wait blocks until the store is durable up to the position.
func (s *Session) Wait(position uint64) error { return s.handler.Store.Wait(position) }

// Close ends the session.
func (s *Session) Close() { s.handler.forget(s) }

// setProto switches between RESP2 and RESP3.
func (s *Session) setProto(proto int) {
	s.call.proto = proto
	s.protocol.Store(int32(proto))
}
