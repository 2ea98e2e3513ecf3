package commands

import (
	"math"
	"strings"
)

// redisVersion is the version of Redis whose behaviour clients may expect.
const redisVersion = "7.4.0"

func connectionCommands() []command {
	return []command{
		{
			name: "ping", arity: -1, flags: flagFast, group: "connection", syntax: "[message]",
			summary: "Return PONG, or the message.", run: (*call).ping,
		},
		{
			name: "echo", arity: 2, flags: flagFast, group: "connection", syntax: "message",
			summary: "Return the message.", run: func(c *call) { c.bulk(c.args[1]) },
		},
		{
			name: "hello", arity: -1, flags: flagFast | flagNoAuth | flagLoading, group: "connection",
			syntax:  "[protover [AUTH username password] [SETNAME clientname]]",
			summary: "Choose RESP2 or RESP3, authenticate, name the connection.", run: (*call).hello,
		},
		{
			name: "auth", arity: -2, flags: flagFast | flagNoAuth | flagLoading, group: "connection", syntax: "[username] password",
			summary: "Authenticate.", run: (*call).auth,
		},
		{
			name: "select", arity: 2, flags: flagFast | flagLoading, group: "connection", syntax: "index",
			summary: "Choose the database; there is one, 0.", run: (*call).selectDB,
		},
		{
			name: "quit", arity: -1, flags: flagFast | flagNoAuth | flagLoading, group: "connection",
			summary: "Close the connection.", run: (*call).quit,
		},
		{
			name: "reset", arity: 1, flags: flagFast | flagNoAuth | flagLoading, group: "connection",
			summary: "Return the connection to its first state.", run: (*call).reset,
		},
		{name: "client", arity: -2, group: "connection", sub: clientCommands()},
	}
}

func (c *call) ping() {
	switch len(c.args) {
	case 1:
		c.simple("PONG")
	case 2:
		c.bulk(c.args[1])
	default:
		c.error(arityText("ping"))
	}
}

func (c *call) selectDB() {
	n, ok := parseInt(c.args[1], math.MinInt64, math.MaxInt64)
	switch {
	case !ok:
		c.error("ERR value is not an integer or out of range")
	case n != int64(int32(n)):
		c.error("ERR value is out of range, value must between -2147483648 and 2147483647")
	case n != 0:
		c.error("ERR DB index is out of range")
	default:
		c.ok()
	}
}

func (c *call) quit() {
	c.session.client.CloseAfterReply()
	c.ok()
}

// reset also leaves MULTI, as Redis does.
func (c *call) reset() {
	s := c.session
	s.setMulti(nil)
	s.setProto(2)
	s.setName("")
	s.tracking.Store(false)
	s.client.Deauthenticate()
	c.simple("RESET")
}

func (c *call) auth() {
	var user []byte
	password := c.args[len(c.args)-1]
	switch len(c.args) {
	case 2:
		if !c.session.client.PasswordSet() {
			c.error("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
			return
		}
	case 3:
		user = c.args[1]
	default:
		c.error("ERR syntax error")
		return
	}
	if c.authenticate(user, password) {
		c.ok()
	}
}

// authenticate answers the error itself. A nil user was not given.
func (c *call) authenticate(user, password []byte) bool {
	unnamed := user != nil && len(user) == 0 // to a Client, "" is the default user
	if !unnamed && c.session.client.Authenticate(user, password) {
		return true
	}
	c.error("WRONGPASS invalid username-password pair or user is disabled.")
	return false
}

// hello reads everything before it changes anything.
func (c *call) hello() {
	h, text := c.parseHello()
	if text != "" {
		c.error(text)
		return
	}
	if h.auth && !c.authenticate(h.user, h.password) {
		return
	}
	if !c.session.client.Authenticated() {
		c.error("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
		return
	}
	if h.setName {
		c.session.setName(string(h.name))
	}
	if h.proto != 0 {
		c.session.setProto(h.proto)
	}
	c.helloReply()
}

type helloOptions struct {
	proto                int
	auth, setName        bool
	user, password, name []byte
}

func (c *call) parseHello() (h helloOptions, errText string) {
	if len(c.args) == 1 {
		return h, ""
	}
	n, ok := parseInt(c.args[1], math.MinInt64, math.MaxInt64)
	if !ok {
		return h, "ERR Protocol version is not an integer or out of range"
	}
	if n != 2 && n != 3 {
		return h, "NOPROTO unsupported protocol version"
	}
	h.proto = int(n)
	for rest := c.args[2:]; len(rest) > 0; {
		switch {
		case is(rest[0], "auth") && len(rest) >= 3:
			h.auth, h.user, h.password = true, rest[1], rest[2]
			rest = rest[3:]
		case is(rest[0], "setname") && len(rest) >= 2:
			h.setName, h.name = true, rest[1]
			if !validName(h.name) {
				return h, nameText
			}
			rest = rest[2:]
		default:
			return h, "ERR Syntax error in HELLO option '" + printable(rest[0], 128) + "'"
		}
	}
	return h, ""
}

func (c *call) helloReply() {
	c.mapping(7)
	c.text("server")
	c.text("redis")
	c.text("version")
	c.text(redisVersion)
	c.text("proto")
	c.int(int64(c.proto))
	c.text("id")
	c.int(c.session.client.ID())
	c.text("mode")
	c.text("standalone")
	c.text("role")
	c.text("master")
	c.text("modules")
	c.array(0)
}

const nameText = "ERR Client names cannot contain spaces, newlines or special characters."

// maxClientName bounds names and library names: they are kept.
const maxClientName = 1024

func validName(b []byte) bool {
	if len(b) > maxClientName {
		return false
	}
	for _, c := range b {
		if c < '!' || c > '~' {
			return false
		}
	}
	return true
}

func upper(s string) string { return strings.ToUpper(s) }
