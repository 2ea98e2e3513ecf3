package commands

import (
	"fmt"
	"strings"

	"dedupd/storage"
)

var transactionCommands = []command{
	{
		name: "multi", arity: 1, flags: flagFast | flagNoMulti | flagLoading, group: "transactions",
		summary: "Begin a transaction: what follows is queued until EXEC.", run: (*call).multi,
	},
	{
		name: "exec", arity: 1, flags: flagNoMulti | flagLoading, group: "transactions",
		summary: "Run the queued commands as one: one time, one record in the log, nothing of others in between.",
	},
	{
		name: "discard", arity: 1, flags: flagFast | flagNoMulti | flagLoading, group: "transactions",
		summary: "Forget the queued commands.", run: (*call).discard,
	},
}

// transaction is what MULTI has queued: commands with copies of their
// arguments.
type transaction struct {
	calls   []queuedCall
	size    int   // an upper bound of the record that EXEC would write
	held    int64 // charged to the clients' memory
	spoiled bool  // a command was refused, so EXEC will be
}

type queuedCall struct {
	cmd  *command
	args [][]byte
}

// recordRoom is what a command adds to a record beyond its arguments' bytes:
// at most so much for itself, and so much for each argument (a hash or a
// length).
const recordRoom, recordRoomArg = 64, 12

func (cmd *command) isExec() bool { return cmd.name == "exec" && cmd.parent == nil }

// What a queued command takes in memory beyond its arguments' bytes.
const queuedCallBytes, queuedArgBytes = 64, 24

func endsMulti(cmd *command) bool {
	switch cmd.name {
	case "multi", "exec", "discard", "quit", "reset":
		return cmd.parent == nil
	}
	return false
}

func (c *call) multi() {
	s := c.session
	if s.multi != nil {
		c.error("ERR MULTI calls can not be nested")
		return
	}
	s.setMulti(&transaction{})
	c.ok()
}

func (c *call) discard() {
	if c.session.multi == nil {
		c.error("ERR DISCARD without MULTI")
		return
	}
	c.session.setMulti(nil)
	c.ok()
}

func (s *Session) setMulti(m *transaction) {
	s.dropQueue()
	s.multi = m
	s.queued.Store(0)
	if m != nil {
		s.queued.Store(int32(len(m.calls)) + 1)
	}
}

// dropQueue gives the memory of the queue back.
func (s *Session) dropQueue() {
	if s.multi != nil {
		s.client.Release(s.multi.held)
		s.multi.held, s.multi.calls = 0, nil
	}
}

// enqueue copies the command into the transaction.
func (s *Session) enqueue(cmd *command, args [][]byte) {
	m := s.multi
	if cmd.flags&flagNoMulti != 0 {
		s.refuse("ERR Command not allowed inside a transaction")
		return
	}
	bytes := 0
	for _, arg := range args {
		bytes += len(arg)
	}
	m.size += bytes + recordRoom + recordRoomArg*len(args)
	if m.size > storage.MaxRecord {
		s.refuse(fmt.Sprintf("ERR the transaction is too large: its commands may have %d bytes together", storage.MaxRecord))
		s.dropQueue()
		return
	}
	if m.spoiled {
		s.call.simple("QUEUED") // it will not run, so it need not be kept
		return
	}
	held := int64(bytes + queuedCallBytes + queuedArgBytes*len(args))
	if !s.client.Reserve(held) {
		s.refuse("OOM the clients' commands take more than their share of maxmemory")
		s.dropQueue()
		return
	}
	m.held += held
	m.calls = append(m.calls, queuedCall{cmd: cmd, args: copyArgs(args, bytes)})
	s.queued.Store(int32(len(m.calls)) + 1)
	s.call.simple("QUEUED")
}

func copyArgs(args [][]byte, bytes int) [][]byte {
	all := make([]byte, 0, bytes)
	copies := make([][]byte, len(args))
	for i, arg := range args {
		from := len(all)
		all = append(all, arg...)
		copies[i] = all[from:len(all):len(all)]
	}
	return copies
}

// exec runs the queue under the locks of all its keys, and logs it as one
// record.
func (s *Session) exec() (wait uint64) {
	c, m := &s.call, s.multi
	if m == nil {
		c.error("ERR EXEC without MULTI")
		return 0
	}
	s.multi = nil
	s.queued.Store(0)
	defer s.client.Release(m.held)
	if m.spoiled {
		c.error("EXECABORT Transaction discarded because of previous errors.")
		return 0
	}
	kind, keys := m.scope(c)
	if err := c.tx.Begin(kind, keys...); err != nil {
		return s.abort(c.errorText(err))
	}
	from := len(c.buf)
	c.array(len(m.calls))
	for _, q := range m.calls {
		if len(c.buf)-from > maxReplies {
			c.error(tooManyReplies)
			continue
		}
		c.begin(q.cmd, q.args)
		c.runQueued()
	}
	return c.commit(from)
}

// abort ends the transaction, of which nothing was done.
func (s *Session) abort(text string) (wait uint64) {
	s.setMulti(nil)
	s.call.error("EXECABORT Transaction discarded because of: " + strings.TrimPrefix(text, "ERR "))
	return 0
}

// maxReplies bounds the replies of a transaction, which are gathered in
// memory: a few bytes can ask for many. Answers that hold only items that were
// sent stay below it.
const maxReplies = storage.MaxRecord

const tooManyReplies = "ERR not run: the replies of the transaction have become too large"

// scope is what the transaction must be allowed to do, and on which keys. A
// call that does not parse does nothing; it fails again when its turn comes.
func (m *transaction) scope(c *call) (storage.Kind, [][]byte) {
	kind := storage.Read
	var keys [][]byte
	for _, q := range m.calls {
		c.begin(q.cmd, q.args)
		if !q.cmd.onKey() || q.cmd.parse(c) != nil {
			continue
		}
		keys = append(keys, c.key)
		if c.kind() != storage.Read { // also if BLIND: the others may look at older items
			kind = storage.Write
		}
	}
	return kind, keys
}

// runQueued runs one command of a transaction; its errors are its reply.
func (c *call) runQueued() {
	if c.cmd.onKey() {
		if err := c.cmd.parse(c); err != nil {
			c.error(c.errorText(err))
			return
		}
	}
	c.cmd.run(c)
}
