package commands

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestGolden plays the scripts in testdata: commands and the bytes of their
// replies, with CRLF shown as a space. Each script runs in both protocols; a
// reply that differs is shown for both. Its clock is that of a synctest bubble,
// so times are the same in every run.
//
//	open [password=p] [hotbytes=n]   begin with an empty store
//	do [client=name]                 run commands, one a line, on a connection
//	sleep duration
//	close-store                      from now on writes cannot be made durable
//
// An argument in quotes is a Go string; word*1000 is word a thousand times
// over, and word#3 is the arguments word0 word1 word2.
//
// go test ./commands -run TestGolden -rewrite writes the replies anew.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			g := &golden{t: t}
			g.open(nodeOptions{})
			datadriven.RunTest(t, path, g.directive)
			g.close()
		})
	})
}

// golden is one script on its way: the same world twice, once a protocol.
type golden struct {
	t      *testing.T
	worlds [2]world
	failed bool // the store is closed already
}

type world struct {
	proto    int
	node     *node
	sessions map[string]*session
}

func (g *golden) open(o nodeOptions) {
	for i := range g.worlds {
		g.worlds[i] = world{proto: 2 + i, node: openNode(g.t, o), sessions: map[string]*session{}}
	}
	g.failed = false
}

func (g *golden) close() {
	if g.failed {
		return
	}
	for _, w := range g.worlds {
		w.node.close()
	}
	g.failed = true
}

func (g *golden) directive(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "open":
		g.close()
		var o nodeOptions
		d.MaybeScanArgs(t, "password", &o.password)
		d.MaybeScanArgs(t, "hotbytes", &o.hotBytes)
		g.open(o)
	case "close-store":
		g.close()
	case "sleep":
		pause, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		time.Sleep(pause)
	case "do":
		client := "a"
		d.MaybeScanArgs(t, "client", &client)
		return g.do(client, strings.Split(d.Input, "\n"))
	default:
		d.Fatalf(t, "unknown directive")
	}
	return ""
}

func (g *golden) do(client string, lines []string) string {
	var out strings.Builder
	for _, line := range lines {
		args, err := splitLine(line)
		if err != nil {
			g.t.Fatalf("%s: %v", line, err)
		}
		resp2, resp3 := g.worlds[0].do(client, args), g.worlds[1].do(client, args)
		if resp2 == resp3 {
			fmt.Fprintln(&out, resp2)
		} else {
			fmt.Fprintf(&out, "2> %s\n3> %s\n", resp2, resp3)
		}
	}
	return out.String()
}

// do runs one command on the named connection, which begins in the world's
// protocol.
func (w *world) do(client string, args []string) string {
	s := w.sessions[client]
	if s == nil {
		s = w.node.session()
		s.setProto(w.proto)
		w.sessions[client] = s
	}
	reply := showReply(s.do(args...))
	if s.client.closing {
		s.Close()
		delete(w.sessions, client)
		reply += " (and closes)"
	}
	return reply
}

func showReply(reply string) string {
	quoted := strconv.Quote(strings.ReplaceAll(strings.TrimSuffix(reply, "\r\n"), "\r\n", " "))
	quoted = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	const most = 1500
	if len(quoted) > most {
		return fmt.Sprintf("%s... (%d bytes)", quoted[:60], len(reply))
	}
	return quoted
}

// splitLine reads the arguments of one command.
func splitLine(line string) (args []string, err error) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		var word, mark string
		if word, line, err = cutWord(line); err != nil {
			return nil, err
		}
		n := 1
		if mark, line = cutMark(line); mark != "" {
			if n, err = strconv.Atoi(mark[1:]); err != nil {
				return nil, err
			}
		}
		switch {
		case mark == "":
			args = append(args, word)
		case mark[0] == '*':
			args = append(args, strings.Repeat(word, n))
		default:
			for i := range n {
				args = append(args, word+strconv.Itoa(i))
			}
		}
	}
	return args, nil
}

// cutWord takes a word, or a quoted string, off the line.
func cutWord(line string) (word, rest string, err error) {
	if quoted, err := strconv.QuotedPrefix(line); err == nil {
		word, err = strconv.Unquote(quoted)
		return word, line[len(quoted):], err
	}
	i := strings.IndexAny(line, " *#")
	if i == 0 || i > 0 && line[i] != ' ' && !isMark(line[i:]) { // a glob, or the like
		i = strings.IndexByte(line, ' ')
	}
	if i < 0 {
		i = len(line)
	}
	return line[:i], line[i:], nil
}

func cutMark(line string) (mark, rest string) {
	if !isMark(line) {
		return "", line
	}
	i := strings.IndexByte(line+" ", ' ')
	return line[:i], line[i:]
}

func isMark(s string) bool {
	return len(s) > 1 && (s[0] == '*' || s[0] == '#') && s[1] >= '0' && s[1] <= '9'
}
