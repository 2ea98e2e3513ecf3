package commands

import (
	"bytes"
	"strings"
	"testing"
)

// fuzzArgs are the arguments that a fuzzed command is put together from.
var fuzzArgs = []string{
	"k", "j", "", "a", "b", "c", "items", "LIMIT", "1", "2", "0", "-1", "mark", "delivered", "PLAYED", "all", "TOKEN", "t", "WITHINDEX", "layer",
	"BLIND", "AT", "COUNT", "3", "4", "AUTH", "default", "secret", "SETNAME", "name", "ON", "OFF", "LIB-NAME", "LIB-VER", "TYPE", "ID", "normal",
	"*", "s[a-z]ve", "[", "server", "everything", "dedup.add", "client", "9223372036854775808", "-9223372036854775808", "a\r\nb", "\x00", "\xff",
	strings.Repeat("x", 257), strings.Repeat("y", 4097), strings.Repeat("z", 65536),
}

// fuzzCommands turns data into commands, two bytes the shape of each: which row
// of the table, how many arguments behind its name; then one byte an argument.
// A byte beyond the list stands for the bytes that follow, so that anything can
// be an argument.
func fuzzCommands(data []byte) (list [][][]byte) {
	rows := allRows()
	for len(data) >= 2 && len(list) < 40 {
		cmd := rows[int(data[0])%len(rows)]
		args := toBytes(strings.Split(cmd.fullName(), "|"))
		n := int(data[1]) % 12
		for data = data[2:]; n > 0 && len(data) > 0; n-- {
			if i := int(data[0]); i < len(fuzzArgs) {
				args = append(args, []byte(fuzzArgs[i]))
				data = data[1:]
				continue
			}
			size := min(int(data[0])-len(fuzzArgs), len(data)-1)
			args = append(args, data[1:1+size])
			data = data[1+size:]
		}
		list = append(list, args)
	}
	return list
}

// FuzzDo runs commands made from the table and checks that each gets exactly
// one well-formed reply, that arguments are neither changed nor kept, and that
// the store still answers.
func FuzzDo(f *testing.F) {
	for _, seed := range fuzzSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n := openNode(t, nodeOptions{password: "secret"})
		defer n.close()
		s := n.session()
		if len(data) > 0 && data[0]%8 > 0 {
			s.do("AUTH", "secret")
		}
		for _, args := range fuzzCommands(data) {
			sent := make([][]byte, len(args))
			for i, arg := range args {
				sent[i] = bytes.Clone(arg)
			}
			s.run(sent)
			for i, arg := range args {
				if !bytes.Equal(sent[i], arg) {
					t.Fatalf("argument %d of %q was changed to %q", i, args, sent[i])
				}
				clear(sent[i]) // the read buffer is used again
			}
		}
		s.do("RESET")
		s.do("AUTH", "secret")
		s.expect("+PONG\r\n", "PING")
		s.do("DEDUP.ADD", "last", "item")
		s.expect("*1\r\n:1\r\n", "DEDUP.MEXISTS", "last", "item")
	})
}

// fuzzSeeds is scripts in the form of fuzzCommands.
func fuzzSeeds() (seeds [][]byte) {
	for _, script := range [][]string{
		{"dedup.add k a b", "dedup.mexists k a c", "dedup.filter k LIMIT 1 mark TOKEN t items a b c", "dedup.filter k mark TOKEN t items a", "dedup.recent k COUNT 2", "dedup.card k"},
		{"hello 3 AUTH default secret SETNAME name", "client list", "client list TYPE normal", "client list ID 1 2", "client info", "client help", "config get *", "info", "hello 2", "info everything"},
		{"multi", "dedup.add k a", "dedup.filter k mark PLAYED WITHINDEX items a b", "dedup.rem k items a", "hello 3", "client getname", "exec", "multi", "dedup.add k", "exec", "multi", "discard"},
		{"command", "command docs", "command info dedup.add client", "command count", "command help", "config help", "hello 3", "command docs dedup.add", "command", "reset", "ping"},
		{"dedup.insert k BLIND items a b", "dedup.insert k layer delivered items c c", "dedup.deliver k a b", "dedup.rem k layer delivered items c", "dedup.madd k c b", "dedup.exists k a", "quit"},
		{"client setinfo LIB-NAME name", "client setname name", "client tracking ON", "client maint_notifications OFF", "auth secret", "select 0", "echo a", "multi", "quit", "ping"},
	} {
		var seed []byte
		for _, line := range script {
			seed = append(seed, fuzzSeed(line)...)
		}
		seeds = append(seeds, seed)
	}
	return seeds
}

func fuzzSeed(line string) []byte {
	words := strings.Fields(line)
	var seed []byte
	for i, cmd := range allRows() {
		name := strings.ReplaceAll(cmd.fullName(), "|", " ")
		if line == name || strings.HasPrefix(line, name+" ") {
			words = strings.Fields(line[len(name):])
			seed = []byte{byte(i), byte(len(words))}
		}
	}
	for _, word := range words {
		for i, arg := range fuzzArgs {
			if arg == word {
				seed = append(seed, byte(i))
			}
		}
	}
	return seed
}

// The seeds say what they mean to.
func TestFuzzSeeds(t *testing.T) {
	for _, seed := range fuzzSeeds() {
		list := fuzzCommands(seed)
		if len(list) < 6 {
			t.Errorf("%q: %q", seed, list)
		}
		for _, args := range list {
			for _, arg := range args {
				if len(arg) == 0 {
					t.Errorf("an empty argument in %q", args)
				}
			}
		}
	}
}
