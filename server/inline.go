package server

// inline reads one command as people and health checks type it: a line of
// words. It returns 0 if the line is incomplete.
func (p *parser) inline(data []byte) (int, error) {
	end := p.newline(data)
	if end > p.limits.MaxInline || end < 0 && len(data) > p.limits.MaxInline {
		return 0, errInlineLength
	}
	if end < 0 {
		return 0, nil
	}
	line := data[:end]
	if end > 0 && line[end-1] == '\r' {
		line = line[:end-1]
	}
	p.examined += int64(len(line))
	if err := p.words(line); err != nil {
		return 0, err
	}
	return p.done(end + 1), nil
}

// words splits a line by the rules of Redis's sdssplitargs. What a word means
// is never longer than how it is written, so it is written over itself.
func (p *parser) words(line []byte) error {
	for i := 0; ; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return nil
		}
		if len(p.args) == p.limits.MaxArgs {
			return errInlineArgs
		}
		size, next, ok := unquote(line, i)
		if !ok {
			return errUnbalancedQuotes
		}
		p.args = append(p.args, span{uint32(i), uint32(size)})
		i = next
	}
}

// unquote reads the word at line[i], writes its meaning to line[i:i+size] and
// returns where it ends. A quote may begin within a word; where it closes, the
// word must end. ok is false if it does not, or if the quote never closes.
func unquote(line []byte, i int) (size, next int, ok bool) {
	w := i
	for r := i; r < len(line); r++ {
		switch c := line[r]; c {
		case ' ', '\t', '\r', '\n':
			return w - i, r, true
		case '"', '\'':
			w, r, ok = quoted(line, w, r)
			if !ok || r < len(line) && !isSpace(line[r]) {
				return 0, 0, false
			}
			return w - i, r, true
		default:
			line[w] = c
			w++
		}
	}
	return w - i, len(line), true
}

// quoted copies what stands between the quote at line[r] and its match to
// line[w:], and returns the ends of both. "..." knows \xHH, \n, \r, \t, \b and
// \a, and takes any other escaped byte as itself; '...' knows \' alone.
func quoted(line []byte, w, r int) (wEnd, rEnd int, ok bool) {
	quote := line[r]
	for r++; r < len(line); r++ {
		c := line[r]
		switch {
		case c == quote:
			return w, r + 1, true
		case c == '\\' && quote == '"' && r+3 < len(line) && line[r+1] == 'x' && isHex(line[r+2]) && isHex(line[r+3]):
			c = hexValue(line[r+2])<<4 | hexValue(line[r+3])
			r += 3
		case c == '\\' && quote == '"' && r+1 < len(line):
			r++
			c = escaped(line[r])
		case c == '\\' && quote == '\'' && r+1 < len(line) && line[r+1] == '\'':
			r++
			c = '\''
		}
		line[w] = c
		w++
	}
	return w, r, false
}

func escaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func hexValue(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}
