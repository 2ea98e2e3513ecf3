package commands

import (
	"fmt"
	"math"

	"dedupd/storage"
)

const filterOptions = "LIMIT, MARK, TOKEN, WITHINDEX, LAYER"

func parseFilter(c *call) error {
	if err := c.parseOptions(filterOptions, filterOption); err != nil {
		return err
	}
	if c.layers == 0 {
		c.layers = storage.All
	}
	if c.mark == storage.Delivered && c.layers == storage.Delivered {
		return syntaxError("MARK delivered goes with LAYER all or played: what is played already cannot be marked as delivered")
	}
	c.readOnly = c.mark == 0
	if c.hasToken && c.readOnly {
		return syntaxError("TOKEN goes with MARK only")
	}
	return nil
}

func filterOption(c *call, args [][]byte) (int, error) {
	switch {
	case is(args[0], "limit"):
		return c.limitOption(args)
	case is(args[0], "mark"):
		return c.markOption(args)
	case is(args[0], "token"):
		return c.tokenOption(args)
	case is(args[0], "layer"):
		return c.layerOption(args, true)
	case is(args[0], "withindex"):
		err := once(c.indices, "WITHINDEX")
		c.indices = true
		return 1, err
	}
	return 0, nil
}

func (c *call) limitOption(args [][]byte) (int, error) {
	if err := once(c.limit != 0, "LIMIT"); err != nil {
		return 0, err
	}
	v, err := value(args, "LIMIT")
	if err != nil {
		return 0, err
	}
	n, ok := parseInt(v, 1, math.MaxInt32)
	if !ok {
		return 0, fmt.Errorf("LIMIT %s is not an integer from 1 to %d", show(v), math.MaxInt32)
	}
	c.limit = int(n)
	return 2, nil
}

func (c *call) markOption(args [][]byte) (int, error) {
	if err := once(c.mark != 0, "MARK"); err != nil {
		return 0, err
	}
	c.mark = storage.Delivered
	if len(args) < 2 {
		return 1, nil
	}
	switch {
	case is(args[1], "delivered"):
		return 2, nil
	case is(args[1], "played"):
		c.mark = storage.Played
		return 2, nil
	}
	return 1, nil
}

func (c *call) tokenOption(args [][]byte) (int, error) {
	if err := once(c.hasToken, "TOKEN"); err != nil {
		return 0, err
	}
	v, err := value(args, "TOKEN")
	if err != nil {
		return 0, err
	}
	if len(v) == 0 || len(v) > storage.MaxToken {
		return 0, fmt.Errorf("the TOKEN has %d bytes; valid: 1 to %d", len(v), storage.MaxToken)
	}
	c.token, c.hasToken = v, true
	return 2, nil
}

func (c *call) filter() {
	if c.hasToken {
		if answer, ok := c.tx.Answer(c.key, c.token); ok {
			c.buf = append(c.buf, answer...)
			return
		}
	}
	positions, err := c.tx.Filter(c.key, c.items, storage.FilterOptions{Limit: c.limit, Layers: c.layers, Mark: c.mark})
	if err != nil {
		c.error(c.errorText(err))
		return
	}
	from := len(c.buf)
	c.unseen(positions)
	if c.hasToken {
		c.tx.Remember(c.key, c.token, c.buf[from:])
	}
}

func (c *call) unseen(positions []int) {
	c.array(len(positions))
	for _, i := range positions {
		if c.indices {
			c.int(int64(i))
		} else {
			c.bulk(c.items[i])
		}
	}
}
