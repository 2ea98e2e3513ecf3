package bench

import (
	"slices"
	"strconv"
)

// layout says where a formatted call has what changes from lap to lap.
type layout struct {
	key    int // offset of the digits of its key
	item   int // offset of its first item's text
	stride int // from one item's text to the next
}

// appendCall appends the call with n items to buf. Key and items are to be
// written in place by putKey and putItem.
func (c *command) appendCall(buf []byte, cfg *config, n int) ([]byte, layout) {
	words := c.options
	if c.itemsBy != "" {
		words = append(slices.Clip(words), c.itemsBy)
	}
	count := 2 + len(words) + n
	if c.before != "" {
		count += n
	}
	buf = appendHeader(buf, '*', count)

	var l layout
	buf = appendBulk(buf, c.name)
	buf, l.key = appendHole(buf, cfg.Prefix, keyDigits)
	for _, word := range words {
		buf = appendBulk(buf, word)
	}
	for i := range n {
		start := len(buf)
		if c.before != "" {
			buf = appendBulk(buf, c.before)
		}
		var at int
		buf, at = appendHole(buf, "", cfg.ItemSize)
		if i == 0 {
			l.item, l.stride = at, len(buf)-start
		}
	}
	return buf, l
}

func appendHeader(buf []byte, kind byte, n int) []byte {
	buf = append(buf, kind)
	buf = strconv.AppendInt(buf, int64(n), 10)
	return append(buf, "\r\n"...)
}

func appendBulk(buf []byte, text string) []byte {
	buf = appendHeader(buf, '$', len(text))
	buf = append(buf, text...)
	return append(buf, "\r\n"...)
}

// appendHole appends a bulk string of prefix and size bytes to be overwritten,
// and returns where those are.
func appendHole(buf []byte, prefix string, size int) ([]byte, int) {
	buf = appendHeader(buf, '$', len(prefix)+size)
	buf = append(buf, prefix...)
	at := len(buf)
	for range size {
		buf = append(buf, '.')
	}
	return append(buf, "\r\n"...), at
}
