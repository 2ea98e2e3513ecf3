package commands

import (
	"fmt"
	"math"

	"dedupd/storage"
	"dedupd/storage/policy"
)

// dedupCommands are the commands that the server exists for.
var dedupCommands = []command{
	{
		name: "dedup.add", arity: -3, flags: flagWrite | flagDenyOOM | flagFast, syntax: "key item [item ...]",
		summary: "Record items as played. Returns how many were new to the played layer; an item that was only delivered is new.",
		parse:   parseKeyItems, run: (*call).add,
	},
	{
		name: "dedup.madd", arity: -3, flags: flagWrite | flagDenyOOM | flagFast, syntax: "key item [item ...]",
		summary: "Record items as played. Returns for each 1 if it was new, 0 if it was there; checking and adding are atomic.",
		parse:   parseKeyItems, run: (*call).madd,
	},
	{
		name: "dedup.exists", arity: 3, flags: flagReadonly | flagFast, syntax: "key item",
		summary: "Has the key seen the item, played or delivered? Returns 1 or 0.",
		parse:   parseKeyItems, run: (*call).exists,
	},
	{
		name: "dedup.mexists", arity: -3, flags: flagReadonly | flagFast, syntax: "key item [item ...]",
		summary: "Which of the items has the key seen, played or delivered? Returns 1 or 0 for each; a missing key has seen nothing.",
		parse:   parseKeyItems, run: (*call).mexists,
	},
	{
		name: "dedup.filter", arity: -4, flags: flagWrite | flagDenyOOM,
		syntax:  "key [LIMIT n] [MARK [delivered|played]] [TOKEN t] [WITHINDEX] [LAYER all|played|delivered] ITEMS item [item ...]",
		summary: "Return only the unseen items, in their order, each once (WITHINDEX: their positions). MARK records exactly these, atomically; TOKEN makes a retry within 60 s get the same answer.",
		parse:   parseFilter, run: (*call).filter,
	},
	{
		name: "dedup.deliver", arity: -3, flags: flagWrite | flagDenyOOM | flagFast, syntax: "key item [item ...]",
		summary: "Record items as delivered. Returns how many are newly delivered; what is played already is not.",
		parse:   parseKeyItems, run: (*call).deliver,
	},
	{
		name: "dedup.insert", arity: -4, flags: flagWrite | flagDenyOOM, syntax: "key [AT unix-ms] [LAYER played|delivered] [BLIND] ITEMS item [item ...]",
		summary: "Record items in a layer, as MADD. AT is when it happened and picks the window; earlier than any kept window is LATE. BLIND looks at no older data and returns how many were accepted: for feeding logs.",
		parse:   parseInsert, run: (*call).insert,
	},
	{
		name: "dedup.rem", arity: -4, flags: flagWrite | flagDenyOOM, syntax: "key [LAYER played|delivered] ITEMS item [item ...]",
		summary: "Forget items, in both layers or in one. Returns how many were forgotten.",
		parse:   parseRem, run: (*call).rem,
	},
	{
		name: "dedup.card", arity: 2, flags: flagReadonly | flagFast, syntax: "key",
		summary: "Count the distinct items played.",
		parse:   (*call).parseKey, run: (*call).card,
	},
	{
		name: "dedup.recent", arity: -2, flags: flagReadonly, syntax: "key [COUNT n]",
		summary: "Return the newest delivered items, newest first, each with its time in unix milliseconds.",
		parse:   parseRecent, run: (*call).recent,
	},
}

func count(flags []bool) (n int64) {
	for _, f := range flags {
		if f {
			n++
		}
	}
	return n
}

func (c *call) add() {
	if flags, ok := c.play(); ok {
		c.int(count(flags))
	}
}

func (c *call) madd() {
	if flags, ok := c.play(); ok {
		c.flags(flags)
	}
}

// play records the items as played, or answers why it cannot.
func (c *call) play() ([]bool, bool) {
	flags, err := c.tx.Play(c.key, c.items, c.event)
	if err != nil {
		c.error(c.errorText(err))
	}
	return flags, err == nil
}

func (c *call) exists()  { c.flag(c.tx.Exists(c.key, c.items, storage.All)[0]) }
func (c *call) mexists() { c.flags(c.tx.Exists(c.key, c.items, storage.All)) }
func (c *call) deliver() { c.int(count(c.tx.Deliver(c.key, c.items))) }
func (c *call) card()    { c.int(int64(c.tx.Card(c.key))) }

func parseInsert(c *call) error {
	err := c.parseOptions("AT, LAYER, BLIND", insertOption)
	if err != nil {
		return err
	}
	if c.layers == 0 {
		c.layers = storage.Played
	}
	if c.blind && c.layers != storage.Played {
		return syntaxError("BLIND goes with LAYER played only")
	}
	if c.event != storage.Now && c.layers != storage.Played {
		return syntaxError("AT goes with LAYER played only")
	}
	return nil
}

func insertOption(c *call, args [][]byte) (int, error) {
	switch {
	case is(args[0], "layer"):
		return c.layerOption(args, false)
	case is(args[0], "at"):
		return c.atOption(args)
	case is(args[0], "blind"):
		err := once(c.blind, "BLIND")
		c.blind = true
		return 1, err
	}
	return 0, nil
}

func (c *call) atOption(args [][]byte) (int, error) {
	if err := once(c.event != storage.Now, "AT"); err != nil {
		return 0, err
	}
	v, err := value(args, "AT")
	if err != nil {
		return 0, err
	}
	ms, ok := parseInt(v, policy.MinTime, policy.MaxTime-1)
	if !ok {
		return 0, fmt.Errorf("AT %s is not a time in unix milliseconds from %d to %d", show(v), policy.MinTime, policy.MaxTime-1)
	}
	c.event = ms
	return 2, nil
}

func (c *call) insert() {
	switch {
	case c.blind:
		if err := c.tx.PlayBlind(c.key, c.items, c.event); err != nil {
			c.error(c.errorText(err))
			return
		}
		c.int(int64(len(c.items)))
	case c.layers == storage.Delivered:
		c.flags(c.tx.Deliver(c.key, c.items))
	default:
		c.madd()
	}
}

func parseRem(c *call) error {
	err := c.parseOptions("LAYER", func(c *call, args [][]byte) (int, error) {
		if is(args[0], "layer") {
			return c.layerOption(args, false)
		}
		return 0, nil
	})
	if c.layers == 0 {
		c.layers = storage.All
	}
	return err
}

func (c *call) rem() { c.int(int64(c.tx.Forget(c.key, c.items, c.layers))) }

func parseRecent(c *call) error {
	c.count = math.MaxInt
	if err := c.parseKey(); err != nil || len(c.args) == 2 {
		return err
	}
	if !is(c.args[2], "count") || len(c.args) != 4 {
		return syntaxError("%s behind the key; valid: COUNT n", show(c.args[2]))
	}
	n, ok := parseInt(c.args[3], 1, math.MaxInt32)
	if !ok {
		return fmt.Errorf("COUNT %s is not an integer from 1 to %d", show(c.args[3]), math.MaxInt32)
	}
	c.count = int(n)
	return nil
}

func (c *call) recent() {
	items := c.tx.Recent(c.key, c.count)
	c.array(len(items))
	for _, d := range items {
		c.array(2)
		c.bulk(d.Item)
		c.int(d.Time)
	}
}
