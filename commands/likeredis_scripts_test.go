package commands

import "regexp"

// redisDiffers is what may differ between Redis's replies and ours.
var redisDiffers = []difference{
	// A server's own: its version and how it numbers its connections.
	{regexp.MustCompile(`(\$7\r\nversion\r\n)\$\d+\r\n[0-9.]+`), "$1(version)"},
	{regexp.MustCompile(`(\$2\r\nid\r\n):\d+`), "$1(id)"},
	// The text of Redis 7.4, which ours says it is, has a word more than 7.0's.
	{regexp.MustCompile(`the HELLO <proto> AUTH`), "the HELLO AUTH"},
}

// redisOtherwise is the commands whose replies differ, and why.
var redisOtherwise = map[string]string{
	`HELLO 3 x*200`:       "an error text repeats at most 128 bytes of an argument",
	`CONFIG GET SAVE`:     "Redis repeats a name without wildcards as it was asked for; ours is the setting's own",
	`CONFIG GET "s\\ave"`: "Redis knows a backslash only beside a wildcard",
	`CONFIG GET s[e-a]ve`: "a range from high to low matches nothing",
	`CONFIG GET sav[e`:    "a bracket that is not closed matches nothing",
}

type difference struct {
	pattern *regexp.Regexp
	same    string
}

func (d difference) apply(reply string) string { return d.pattern.ReplaceAllString(reply, d.same) }

// redisScripts are played on a connection each, against Redis and against a
// session.
var redisScripts = []struct {
	name     string
	password string
	lines    []string
}{
	{name: "ping, echo and select", lines: []string{
		"PING", "ping hello", `PING ""`, `PING "\x00\r\n\xff"`, "PING a b", "PiNg x",
		"ECHO a", `ECHO ""`, "ECHO", "ECHO a b", `eChO "\r\n\x00\x80"`, "ECHO x*70000",
		"SELECT 0", "SELECT", "SELECT a", "SELECT 1 2", "SELECT -1", "SELECT 16", "SELECT 99999999999", `SELECT ""`, `SELECT " 0"`, "SELECT 00", "SELECT +0", "SELECT 0x0",
	}},
	{name: "unknown commands", lines: []string{
		"NOSUCH", "NOSUCH a", "NOSUCH a b c", `NOSUCH ""`, `""`, `"" a`, `"NO\r\nSUCH" "a\r\nb"`, `"NO\x00SUCH" "a\x00b"`, `"\xff\xfe" "\xff"`,
		"x*200", "x*200 y", "NOSUCH a*200", "NOSUCH a*120 bbbbbbbbbbbbb", "NOSUCH a#100", "NOSUCH a*124 b", "NOSUCH a*125 b", "NOSUCH a*126 b c",
		"NOSUCH é*100", `NOSUCH "\""`, "NOSUCH 'a'", "client|id", "é",
	}},
	{name: "unknown subcommands", lines: []string{
		"CLIENT", "CLIENT NOSUCH", "client nosuch a b", `CLIENT "a\r\nb"`, "CLIENT x*200", `CLIENT ""`, `CLIENT "\xff"`, "CONFIG", "CONFIG NOSUCH", "COMMAND NOSUCH",
	}},
	{name: "hello", lines: []string{
		"HELLO", "HELLO 2", "HELLO 3", "HELLO", "HELLO 2", "hello 3 setname abc", "CLIENT GETNAME", "HELLO 2 SETNAME x AUTH default any",
		"CLIENT GETNAME", "HELLO 2 AUTH default a SETNAME y", "CLIENT GETNAME", "HELLO 4", "HELLO 1", "HELLO 0", "HELLO -3", "HELLO abc", `HELLO ""`, "HELLO 99999999999999999999",
		"HELLO 3.0", "HELLO 03", "HELLO 3 AUTH", "HELLO 3 AUTH default", "HELLO 3 AUTH nobody x", "HELLO 3 SETNAME", "HELLO 3 NOSUCH", "HELLO 3 NOSUCH a", `HELLO 3 "a\r\nb"`,
		`HELLO 3 SETNAME "a b"`, `HELLO 3 SETNAME "a\nb"`, `HELLO 3 SETNAME ""`, "CLIENT GETNAME", "HELLO 3 AUTH nobody x SETNAME z", "CLIENT GETNAME",
		"HELLO 3 SETNAME p SETNAME q", "CLIENT GETNAME", "HELLO 4 SETNAME z", "HELLO AUTH default x", "HELLO 3 x*200",
	}},
	{name: "auth without a password", lines: []string{
		"AUTH x", "AUTH default x", "AUTH nobody x", "AUTH", "AUTH a b c", `AUTH ""`, `AUTH default ""`, `AUTH "" ""`,
	}},
	{name: "auth with a password", password: "secret", lines: []string{
		"PING", "PING a b", "ECHO", "NOSUCH a", "CLIENT NOSUCH", "CLIENT ID", "CLIENT", "MULTI", "EXEC", "DISCARD", "COMMAND", "CONFIG GET *", "INFO", "SELECT 0",
		"HELLO", "HELLO 3", "HELLO 3 SETNAME x", "HELLO 4", "HELLO 3 NOSUCH", `HELLO 3 SETNAME "a b"`, "HELLO 3 AUTH default wrong", "HELLO 3 AUTH secret", "AUTH", "AUTH a b c", "AUTH wrong", `AUTH ""`, "AUTH nobody secret", "AUTH default wrong",
		"PING", "RESET", "PING", "AUTH secret", "PING", "AUTH wrong", "PING", "AUTH default secret", "HELLO", "CLIENT GETNAME", "RESET", "PING",
		"HELLO 3 AUTH default secret SETNAME abc", "CLIENT GETNAME", "PING", "RESET", "HELLO 2 AUTH nobody secret", "HELLO 2 SETNAME n AUTH default secret", "CLIENT GETNAME", "QUIT",
	}},
	{name: "quit before auth", password: "secret", lines: []string{"QUIT"}},
	{name: "reset", lines: []string{
		"HELLO 3 SETNAME abc", "RESET", "CLIENT GETNAME", "HELLO", "RESET x", "reset", "MULTI", "PING", "RESET", "EXEC", "MULTI", "RESET a", "EXEC",
	}},
	{name: "quit", lines: []string{"quit"}},
	{name: "quit in a transaction", lines: []string{"MULTI", "PING", "QUIT"}},
	{name: "client", lines: []string{
		"CLIENT GETNAME", "CLIENT SETNAME abc", "CLIENT GETNAME", `CLIENT SETNAME ""`, "CLIENT GETNAME", `CLIENT SETNAME "a b"`, `CLIENT SETNAME "\xff"`, "CLIENT SETNAME", "CLIENT SETNAME a b", "client getname x",
		"CLIENT ID x", "CLIENT INFO x", "HELLO 3", "CLIENT GETNAME",
		"CLIENT LIST NOSUCH", "CLIENT LIST TYPE", "CLIENT LIST TYPE nosuch", "CLIENT LIST TYPE normal x", "CLIENT LIST TYPE master", "CLIENT LIST TYPE replica", "client list type slave", "CLIENT LIST TYPE pubsub",
		"CLIENT LIST ID", "CLIENT LIST ID abc", "CLIENT LIST ID 999999", "CLIENT LIST ID 0", "CLIENT LIST ID -1", "CLIENT LIST ID 999999 888888", "CLIENT LIST ID 999999 x", "CLIENT LIST NOSUCH 1",
		"CLIENT TRACKING", "CLIENT TRACKING MAYBE", "CLIENT TRACKING OFF",
	}},
	{name: "command", lines: []string{
		"COMMAND COUNT x", "COMMAND INFO nosuch", "COMMAND INFO nosuch nosuch", "COMMAND DOCS nosuch", "HELLO 3", "COMMAND INFO nosuch", "COMMAND DOCS nosuch",
	}},
	{name: "config", lines: []string{
		"CONFIG GET", "CONFIG GET nosuch", "CONFIG GET save", "CONFIG GET SAVE", "CONFIG GET sav?", "CONFIG GET s[a-b]ve", "CONFIG GET s[^b]ve", `CONFIG GET "s\\ave"`, `CONFIG GET ""`, "CONFIG GET save nosuch sav*", "CONFIG GET SaV*",
		"HELLO 3", "CONFIG GET save", "CONFIG GET nosuch", "CONFIG GET sa[v", "CONFIG GET [s", "CONFIG GET save[", "CONFIG GET s[a-", "CONFIG GET sav**", "CONFIG GET s[e-a]ve", `CONFIG GET "save\\"`,
		"CONFIG GET maxclients[", "CONFIG GET sav[e", "CONFIG GET sav[]e", "CONFIG GET sav[^]e", "CONFIG GET sav[]",
	}},
	{name: "info", lines: []string{"INFO nosuch", "INFO nosuch nothing", "HELLO 3", "INFO nosuch", "INFO modules", "info CLUSTER", "HELLO 2", "INFO cluster"}},
	{name: "transactions", lines: []string{
		"EXEC", "DISCARD", "MULTI", "EXEC", "MULTI", "DISCARD", "MULTI", "PING", "PING a", "ECHO b", "EXEC", "EXEC", "MULTI x", "MULTI", "MULTI x", "EXEC", "MULTI", "MULTI", "PING", "EXEC",
		"MULTI", "PING", "DISCARD", "EXEC", "MULTI", "DISCARD x", "EXEC", "MULTI", "EXEC x", "PING", "EXEC", "multi", "pInG", "exec",
	}},
	{name: "errors in transactions", lines: []string{
		"MULTI", "NOSUCH", "PING", "EXEC", "MULTI", "ECHO", "PING", "EXEC", "MULTI", "CLIENT", "EXEC", "MULTI", "CLIENT NOSUCH", "EXEC", "MULTI", "PING a b c", "ECHO x", "EXEC",
		"MULTI", "SELECT a", "SELECT 99", "SELECT 0", "EXEC", "MULTI", "NOSUCH", "DISCARD", "MULTI", "PING", "EXEC", "MULTI", "ECHO", "ECHO", "EXEC",
		"MULTI", "AUTH x", "HELLO 4", "CLIENT SETNAME n", "CLIENT GETNAME", "CONFIG GET save", "EXEC",
	}},
	{name: "protocol changes in transactions", lines: []string{
		"MULTI", "CLIENT GETNAME", "HELLO 3", "CLIENT GETNAME", "CONFIG GET save", "HELLO 2", "CLIENT GETNAME", "EXEC", "CLIENT GETNAME", "MULTI", "HELLO 3", "EXEC", "CLIENT GETNAME",
	}},
}
