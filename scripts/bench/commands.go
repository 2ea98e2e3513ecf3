package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// replyKind is what a command's reply says about its candidates.
type replyKind uint8

const (
	opaque      replyKind = iota // nothing that is checked
	seenInts                     // integers whose sum is the number seen
	newInts                      // integers whose sum is the number not seen
	seenBulks                    // a string for each one seen, a null for the others
	unseenBulks                  // a string for each one not seen
)

// verb is what bench knows of a command by its name.
type verb struct {
	load    string    // loads the keys this command reads
	itemsBy string    // word between key and items
	before  string    // word before each item
	reply   replyKind // without options
	writes  bool      // records its candidates: each call brings new ones
	forgets bool      // takes seen items away: the share of the seen is not checked
	one     bool      // takes one item
}

// verbs lists the commands known. Any other one is sent as NAME key item...,
// its reply is only looked at for errors, and its load command must be given.
var verbs = map[string]verb{
	"DEDUP.ADD":     {load: "DEDUP.ADD", reply: newInts, writes: true},
	"DEDUP.MADD":    {load: "DEDUP.ADD", reply: newInts, writes: true},
	"DEDUP.DELIVER": {load: "DEDUP.ADD", reply: newInts, writes: true},
	"DEDUP.INSERT":  {load: "DEDUP.ADD", itemsBy: "ITEMS", reply: newInts, writes: true},
	"DEDUP.EXISTS":  {load: "DEDUP.ADD", reply: seenInts, one: true},
	"DEDUP.MEXISTS": {load: "DEDUP.ADD", reply: seenInts},
	"DEDUP.FILTER":  {load: "DEDUP.ADD", itemsBy: "ITEMS", reply: unseenBulks},
	"DEDUP.REM":     {load: "DEDUP.ADD", itemsBy: "ITEMS", forgets: true},
	"SADD":          {load: "SADD", reply: newInts, writes: true},
	"SISMEMBER":     {load: "SADD", reply: seenInts, one: true},
	"SMISMEMBER":    {load: "SADD", reply: seenInts},
	"SREM":          {load: "SADD", forgets: true},
	"ZADD":          {load: "ZADD", before: "1", reply: newInts, writes: true},
	"ZSCORE":        {load: "ZADD", reply: seenBulks, one: true},
	"ZMSCORE":       {load: "ZADD", reply: seenBulks},
	"ZREM":          {load: "ZADD", forgets: true},
	"BF.ADD":        {load: "BF.MADD", reply: newInts, writes: true, one: true},
	"BF.MADD":       {load: "BF.MADD", reply: newInts, writes: true},
	"BF.INSERT":     {load: "BF.MADD", itemsBy: "ITEMS", reply: newInts, writes: true},
	"BF.EXISTS":     {load: "BF.MADD", reply: seenInts, one: true},
	"BF.MEXISTS":    {load: "BF.MADD", reply: seenInts},
	"CF.ADD":        {load: "CF.INSERT", writes: true, one: true},
	"CF.INSERT":     {load: "CF.INSERT", itemsBy: "ITEMS", writes: true},
	"CF.EXISTS":     {load: "CF.INSERT", reply: seenInts, one: true},
	"CF.MEXISTS":    {load: "CF.INSERT", reply: seenInts},
	"CF.DEL":        {load: "CF.INSERT", forgets: true, one: true},
}

// command is one command of the run: what is sent, how often, with how many
// candidates.
type command struct {
	verb
	name       string
	options    []string // between key and items
	weight     int
	candidates int
}

// parseCommand reads "NAME option option".
func parseCommand(text string, candidates int) (command, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return command{}, fmt.Errorf("a command is empty: must be a name, with options that go between key and items")
	}
	c := command{name: strings.ToUpper(words[0]), weight: 1, candidates: candidates}
	c.verb = verbs[c.name]
	for _, word := range words[1:] {
		if strings.EqualFold(word, c.itemsBy) { // added by appendCall
			continue
		}
		c.options = append(c.options, word)
		c.reply = opaque // options may change the reply
		c.writes = c.writes || strings.EqualFold(word, "MARK")
	}
	if c.one {
		c.candidates = 1
	}
	return c, nil
}

// parseSingle reads --command.
func parseSingle(text string, candidates int) ([]command, error) {
	if text == "" {
		text = "DEDUP.MEXISTS"
	}
	c, err := parseCommand(text, candidates)
	if err != nil {
		return nil, fmt.Errorf("--command: %w", err)
	}
	return []command{c}, nil
}

// parseMix reads --mix, "NAME options:weight[:candidates],...".
func parseMix(text string, candidates int) ([]command, error) {
	var commands []command
	for part := range strings.SplitSeq(text, ",") {
		c, err := parseMixPart(part, candidates)
		if err != nil {
			return nil, fmt.Errorf("--mix: %q: %w", part, err)
		}
		commands = append(commands, c)
	}
	if len(commands) > 16 {
		return nil, fmt.Errorf("--mix has %d commands: must be 1 to 16", len(commands))
	}
	return commands, nil
}

func parseMixPart(part string, candidates int) (command, error) {
	fields := strings.Split(part, ":")
	if len(fields) < 2 || len(fields) > 3 {
		return command{}, fmt.Errorf("must be name:weight or name:weight:candidates")
	}
	weight, err := strconv.Atoi(fields[1])
	if err != nil || weight < 1 || weight > 10_000 {
		return command{}, fmt.Errorf("weight must be 1 to 10000")
	}
	if len(fields) == 3 {
		candidates, err = strconv.Atoi(fields[2])
		if err != nil || candidates < 1 || candidates > 10_000 {
			return command{}, fmt.Errorf("candidates must be 1 to 10000")
		}
	}
	c, err := parseCommand(fields[0], candidates)
	c.weight = weight
	return c, err
}

// loadCommand is --load-command, or the one that goes with the first command.
func loadCommand(text string, commands []command) (command, error) {
	if text == "" {
		text = commands[0].load
	}
	if text == "" {
		return command{}, fmt.Errorf("--load-command must be given for %s: a command that adds items to a key (or --no-load)", commands[0].name)
	}
	c, err := parseCommand(text, 1)
	if err != nil {
		return command{}, fmt.Errorf("--load-command: %w", err)
	}
	return c, nil
}

// seen is how many of its candidates the reply calls seen.
func (c *command) seen(r reply) int64 {
	switch c.reply {
	case seenInts:
		return r.sum
	case newInts:
		return int64(c.candidates) - r.sum
	case seenBulks:
		return int64(r.bulks)
	case unseenBulks:
		return int64(c.candidates - r.bulks)
	}
	return 0
}

// String is the command as it was given.
func (c *command) String() string {
	return strings.Join(append([]string{c.name}, c.options...), " ")
}
