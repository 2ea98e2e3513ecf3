package commands

import "strings"

// serverCommands are those about the server itself.
func serverCommands() []command {
	return []command{
		{
			name: "command", arity: -1, flags: flagLoading, group: "server",
			summary: "Describe all commands.", run: (*call).commandAll,
			sub: []*command{
				{name: "count", arity: 2, flags: flagLoading, group: "server", summary: "Count the commands.", run: (*call).commandCount},
				{name: "docs", arity: -2, flags: flagLoading, group: "server", syntax: "[name ...]", summary: "Return the documentation of commands.", run: (*call).commandDocs},
				{name: "info", arity: -2, flags: flagLoading, group: "server", syntax: "[name ...]", summary: "Describe commands.", run: (*call).commandInfo},
			},
		},
		{
			name: "config", arity: -2, group: "server",
			sub: []*command{
				{name: "get", arity: -3, flags: flagAdmin | flagLoading, group: "server", syntax: "pattern [pattern ...]", summary: "Return the settings whose names match.", run: (*call).configGet},
			},
		},
		{
			name: "info", arity: -1, flags: flagNoMulti | flagLoading, group: "server", syntax: "[section ...]",
			summary: "Return the server's figures.", run: (*call).info,
		},
	}
}

func (c *call) commandAll() {
	rows := c.session.handler.table.rows
	c.array(len(rows))
	for _, cmd := range rows {
		c.describe(cmd)
	}
}

func (c *call) commandCount() { c.int(int64(len(c.session.handler.table.rows))) }

func (c *call) commandInfo() {
	if len(c.args) == 2 {
		c.commandAll()
		return
	}
	c.array(len(c.args) - 2)
	for _, name := range c.args[2:] {
		if cmd := c.session.handler.table.findFull(name); cmd != nil {
			c.describe(cmd)
		} else {
			c.null()
		}
	}
}

// describe writes the ten fields of Redis 7's COMMAND.
func (c *call) describe(cmd *command) {
	c.array(10)
	c.text(cmd.fullName())
	c.int(int64(cmd.arity))
	c.describeFlags(cmd)
	key := int64(0)
	if cmd.onKey() {
		key = 1
	}
	c.int(key) // first key
	c.int(key) // last key
	c.int(key) // step
	c.categories(cmd)
	c.array(0) // tips
	c.keySpecs(cmd)
	c.array(len(cmd.sub))
	for _, sub := range cmd.sub {
		c.describe(sub)
	}
}

func (c *call) describeFlags(cmd *command) {
	n := 0
	for _, f := range flagNames {
		if cmd.flags&f.flag != 0 {
			n++
		}
	}
	c.set(n)
	for _, f := range flagNames {
		if cmd.flags&f.flag != 0 {
			c.simple(f.name)
		}
	}
}

func (c *call) categories(cmd *command) {
	names := []string{"@slow"}
	if cmd.flags&flagFast != 0 {
		names[0] = "@fast"
	}
	switch {
	case cmd.flags&flagWrite != 0:
		names = append(names, "@write")
	case cmd.flags&flagReadonly != 0:
		names = append(names, "@read")
	}
	if cmd.flags&flagAdmin != 0 {
		names = append(names, "@admin", "@dangerous")
	}
	if cmd.group == "connection" {
		names = append(names, "@connection")
	}
	c.set(len(names))
	for _, name := range names {
		c.simple(name)
	}
}

// keySpecs says that the key is argument 1, where there is one.
func (c *call) keySpecs(cmd *command) {
	if !cmd.onKey() {
		c.array(0)
		return
	}
	access, mode := "RO", "access"
	if cmd.flags&flagWrite != 0 {
		access, mode = "RW", "update"
	}
	c.array(1)
	c.mapping(3)
	c.text("flags")
	c.set(2)
	c.simple(access)
	c.simple(mode)
	c.text("begin_search")
	c.spec("index", "index", 1)
	c.text("find_keys")
	c.mapping(2)
	c.text("type")
	c.text("range")
	c.text("spec")
	c.mapping(3)
	c.text("lastkey")
	c.int(0)
	c.text("keystep")
	c.int(1)
	c.text("limit")
	c.int(0)
}

func (c *call) spec(kind, field string, n int64) {
	c.mapping(2)
	c.text("type")
	c.text(kind)
	c.text("spec")
	c.mapping(1)
	c.text(field)
	c.int(n)
}

// commandDocs leaves names that are not there out, as Redis does.
func (c *call) commandDocs() {
	var rows []*command
	if len(c.args) == 2 {
		rows = c.session.handler.table.rows
	}
	for _, name := range c.args[2:] {
		if cmd := c.session.handler.table.findFull(name); cmd != nil {
			rows = append(rows, cmd)
		}
	}
	c.mapping(len(rows))
	for _, cmd := range rows {
		c.doc(cmd)
	}
}

func (c *call) doc(cmd *command) {
	n := 3
	if len(cmd.sub) > 0 {
		n++
	}
	c.text(cmd.fullName())
	c.mapping(n)
	c.text("summary")
	c.text(cmd.docSummary())
	c.text("since")
	c.text("0.1.0")
	c.text("group")
	c.text(cmd.docGroup())
	if len(cmd.sub) > 0 {
		c.text("subcommands")
		c.mapping(len(cmd.sub))
		for _, sub := range cmd.sub {
			c.doc(sub)
		}
	}
}

// help lists the subcommands of a container.
func (c *call) help() {
	container := c.cmd.parent
	c.array(1 + 2*len(container.sub))
	c.simple(upper(container.name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
	for _, sub := range container.sub {
		c.simple(strings.TrimSpace(upper(sub.name) + " " + sub.syntax))
		c.simple("    " + sub.summary)
	}
}

func (cmd *command) docSummary() string {
	if cmd.summary == "" {
		return "A container for " + cmd.name + " commands."
	}
	return cmd.summary
}

func (cmd *command) docGroup() string {
	if cmd.group == "" {
		return "dedup"
	}
	return cmd.group
}
