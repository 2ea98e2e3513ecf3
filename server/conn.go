package server

import (
	"net"
	"sync/atomic"
	"time"
)

// Session answers the commands of one connection. Its methods are called from
// that connection's goroutine only.
type Session interface {
	// Do runs one command and appends exactly its reply to dst. args[0] is the
	// command's name as it was sent; args are views of the read buffer and
	// valid only during the call, and so are dst and reply: other connections
	// use the same memory afterwards. wait, when not 0, is a position that must be
	// durable before this reply may leave.
	Do(dst []byte, args [][]byte) (reply []byte, wait uint64)
	// Wait blocks until everything up to pos is as durable as the server
	// promises. Its error is told to the client as MISCONF, in place of each
	// reply that depended on it.
	Wait(pos uint64) error
	// Close is called once, when the connection has ended.
	Close()
}

// Conn is one client's connection. One goroutine reads it, runs its commands
// and writes the replies. The methods are for that goroutine, so for its
// Session, except where they say otherwise.
type Conn struct {
	server  *Server
	nc      net.Conn
	id      int64
	created time.Duration // since server.start

	active atomic.Int64 // last time bytes arrived, as time.Duration since server.start
	killed atomic.Bool

	session       Session
	authenticated bool
	closing       bool // no further command of this connection is executed
	ended         bool // closing the connection can lose nothing, or nobody would notice

	parser parser
	in     readBuffer
	out    *batch        // nil while there is nothing to do
	readBy time.Duration // when the armed read deadline fires, since server.start; 0: none

	account  account
	reserved int64 // what the session keeps, by Reserve
	expected int64 // what the reply of the command that runs is expected to take
}

// ID is unique within the server's life, counted from 1. Safe from any goroutine.
func (c *Conn) ID() int64 { return c.id }

// RemoteAddr is the client's address. Safe from any goroutine.
func (c *Conn) RemoteAddr() string { return c.nc.RemoteAddr().String() }

// LocalAddr is the address the client connected to. Safe from any goroutine.
func (c *Conn) LocalAddr() string { return c.nc.LocalAddr().String() }

// CreatedAt is when the connection was accepted. Safe from any goroutine.
func (c *Conn) CreatedAt() time.Time { return c.server.start.Add(c.created) }

// LastActive is when bytes last arrived. Safe from any goroutine.
func (c *Conn) LastActive() time.Time {
	return c.server.start.Add(time.Duration(c.active.Load()))
}

// PasswordSet reports whether the server asks for a password at all. Safe from
// any goroutine.
func (c *Conn) PasswordSet() bool { return c.server.secret.set }

// Authenticated reports whether the client may do more than log in.
func (c *Conn) Authenticated() bool { return c.authenticated }

// Authenticate checks a user, "" meaning "default", and a password, in a time
// that tells nothing about the password. If they are wrong the connection stays
// as it was. With no password configured every password is right.
func (c *Conn) Authenticate(user, password []byte) bool {
	if !c.server.secret.admits(user, password) {
		c.server.counters.authFailures.Add(1)
		return false
	}
	c.setAuthenticated(true)
	return true
}

// Deauthenticate puts the connection back to where a new one begins.
func (c *Conn) Deauthenticate() { c.setAuthenticated(!c.PasswordSet()) }

func (c *Conn) setAuthenticated(yes bool) {
	c.authenticated = yes
	c.parser.allow(yes)
}

// CloseAfterReply ends the connection once the reply of the command that runs
// is written. What follows it in the pipeline is not executed.
func (c *Conn) CloseAfterReply() { c.closing = true }

// Kill cuts the connection: replies that are not written yet are lost, and no
// further command is executed. Safe from any goroutine, more than once, and
// does not wait.
func (c *Conn) Kill() {
	if !c.killed.Swap(true) {
		c.server.counters.killed.Add(1)
		// TLS would wait to say goodbye to a client that may not listen. The
		// read or write that this breaks tells the rest.
		_ = underlying(c.nc).Close()
	}
}
