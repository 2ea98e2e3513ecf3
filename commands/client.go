package commands

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// clientCommands are the subcommands of CLIENT.
func clientCommands() []*command {
	row := func(name string, arity int, syntax, summary string, run func(*call)) *command {
		return &command{name: name, arity: arity, flags: flagLoading, group: "connection", syntax: syntax, summary: summary, run: run}
	}
	return []*command{
		row("id", 2, "", "Return the connection's number.", func(c *call) { c.int(c.session.client.ID()) }),
		row("setname", 3, "name", "Name the connection.", (*call).clientSetName),
		row("getname", 2, "", "Return the connection's name.", (*call).clientGetName),
		row("setinfo", 4, "LIB-NAME name | LIB-VER version", "Say which client library this is.", (*call).clientSetInfo),
		row("info", 2, "", "Describe this connection.", func(c *call) { c.verbatim(c.session.describe(time.Now()) + "\n") }),
		row("list", -2, "[TYPE normal|master|replica|pubsub] [ID id [id ...]]", "Describe all connections, or those of a type or with these numbers.", (*call).clientList),
		row("tracking", -3, "ON|OFF [options]", "Accepted for clients that always send it; no invalidations are sent, and CLIENT CACHING is refused.", (*call).clientTracking),
		row("maint_notifications", -3, "ON|OFF [options]", "Accepted; there are no maintenance notifications.", (*call).clientMaintNotifications),
	}
}

func (s *Session) setName(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name = name
}

func (s *Session) getName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name
}

func (c *call) clientSetName() {
	if !validName(c.args[2]) {
		c.error(nameText)
		return
	}
	c.session.setName(string(c.args[2]))
	c.ok()
}

func (c *call) clientGetName() {
	if name := c.session.getName(); name != "" {
		c.text(name)
		return
	}
	c.null()
}

func (c *call) clientSetInfo() {
	s, v := c.session, c.args[3]
	var field *string
	switch {
	case is(c.args[2], "lib-name"):
		field = &s.libName
	case is(c.args[2], "lib-ver"):
		field = &s.libVers
	default:
		c.error("ERR Unrecognized option '" + printable(c.args[2], 128) + "'")
		return
	}
	if !validName(v) {
		c.error("ERR " + strings.ToLower(string(c.args[2])) + " cannot contain spaces, newlines or special characters.")
		return
	}
	s.mu.Lock()
	*field = string(v)
	s.mu.Unlock()
	c.ok()
}

// clientTracking takes what Redis takes, and remembers only on or off: with
// no invalidations a client may not cache, which CACHING's absence tells it.
func (c *call) clientTracking() {
	if !c.onOff(c.args[2], &c.session.tracking) {
		return
	}
	c.ok()
}

func (c *call) clientMaintNotifications() {
	if c.onOff(c.args[2], nil) {
		c.ok()
	}
}

// onOff reads ON or OFF; otherwise it answers the error.
func (c *call) onOff(arg []byte, store interface{ Store(bool) }) bool {
	on := is(arg, "on")
	if !on && !is(arg, "off") {
		c.error("ERR syntax error")
		return false
	}
	if store != nil {
		store.Store(on)
	}
	return true
}

func (c *call) clientList() {
	wanted, text := c.clientFilter()
	if text != "" {
		c.error(text)
		return
	}
	now := time.Now()
	var b strings.Builder
	for _, s := range c.session.handler.list() {
		if wanted(s.client.ID()) {
			b.WriteString(s.describe(now))
			b.WriteByte('\n')
		}
	}
	c.verbatim(b.String())
}

// clientFilter reads the filter of CLIENT LIST. Every client is a normal one.
func (c *call) clientFilter() (wanted func(id int64) bool, errText string) {
	args := c.args[2:]
	switch {
	case len(args) == 0:
		return func(int64) bool { return true }, ""
	case len(args) == 2 && is(args[0], "type"):
		return clientType(args[1])
	case len(args) > 1 && is(args[0], "id"):
		return clientIDs(args[1:])
	}
	return nil, "ERR syntax error"
}

func clientType(name []byte) (wanted func(id int64) bool, errText string) {
	for _, valid := range []string{"normal", "master", "replica", "slave", "pubsub"} {
		if is(name, valid) {
			return func(int64) bool { return valid == "normal" }, ""
		}
	}
	return nil, "ERR Unknown client type '" + printable(name, 128) + "'"
}

func clientIDs(args [][]byte) (wanted func(id int64) bool, errText string) {
	ids := make(map[int64]bool, len(args))
	for _, arg := range args {
		id, ok := parseInt(arg, math.MinInt64, math.MaxInt64)
		if !ok {
			return nil, "ERR Invalid client ID"
		}
		ids[id] = true
	}
	return func(id int64) bool { return ids[id] }, ""
}

// list is the sessions in the order of their numbers.
func (h *Handler) list() []*Session {
	h.mu.Lock()
	list := make([]*Session, 0, len(h.sessions))
	for _, s := range h.sessions {
		list = append(list, s)
	}
	h.mu.Unlock()
	slices.SortFunc(list, func(a, b *Session) int { return int(a.client.ID() - b.client.ID()) })
	return list
}

// describe is a line of CLIENT LIST, with Redis's fields.
func (s *Session) describe(now time.Time) string {
	s.mu.Lock()
	name, libName, libVers := s.name, s.libName, s.libVers
	s.mu.Unlock()
	flags, last, proto := "N", "NULL", 2
	multi := s.queued.Load() - 1
	if multi >= 0 {
		flags = "x"
	}
	if s.tracking.Load() {
		flags = strings.TrimPrefix(flags, "N") + "t"
	}
	if cmd := s.last.Load(); cmd != nil {
		last = cmd.fullName()
	}
	if p := s.protocol.Load(); p != 0 {
		proto = int(p)
	}
	cl := s.client
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=0 name=%s age=%d idle=%d flags=%s db=0 sub=0 psub=0 ssub=0 multi=%d cmd=%s user=default redir=-1 resp=%d lib-name=%s lib-ver=%s",
		cl.ID(), cl.RemoteAddr(), cl.LocalAddr(), name, int(now.Sub(cl.CreatedAt()).Seconds()),
		max(0, int(now.Sub(cl.LastActive()).Seconds())), flags, multi, last, proto, libName, libVers)
}
