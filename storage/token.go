package storage

import "bytes"

// A token remembers the answer to a FILTER ... MARK ... TOKEN, so that a
// client's own retry gets the same answer and records nothing again. Tokens
// of a key form a list, newest first:
//
//	word 0   next (ref) | length of the token << 32
//	word 1   end of its life, unix ms
//	word 2   length of the answer
//	word 3…  the token, then the answer
const (
	tokenHeader = 3
	// TokenLife is how long a token is remembered, in milliseconds.
	TokenLife = 60_000
	// maxTokens is how many tokens of a key are remembered, the newest.
	maxTokens = 1024
	// MaxToken is the greatest length of a token in bytes.
	MaxToken = 256
)

func tokenNext(words []uint64) ref  { return ref(words[0]) }
func tokenEnd(words []uint64) int64 { return int64(words[1]) }

func tokenParts(words []uint64) (token, answer []byte) {
	b := asBytes(words[tokenHeader:])
	n := int(words[0] >> 32)
	return b[:n], b[n : n+int(words[2])]
}

// answer is what was answered under the token, if it is still remembered. It
// is valid until the shard's lock is released.
func (e entry) answer(token []byte, now int64) ([]byte, bool) {
	for r := e.tokens(); r != 0; {
		words := e.shard.arena.words(r)
		if t, answer := tokenParts(words); tokenEnd(words) > now && bytes.Equal(t, token) {
			return answer, true
		}
		r = tokenNext(words)
	}
	return nil, false
}

func (e entry) remember(token, answer []byte, now int64) {
	e.trimTokens(now, maxTokens-1)
	end := now + TokenLife
	a := &e.shard.arena
	r := a.alloc(tokenHeader + bytesToWords(len(token)+len(answer)))
	words := a.words(r)
	words[0] = uint64(e.tokens()) | uint64(len(token))<<32
	words[1], words[2] = uint64(end), uint64(len(answer))
	b := asBytes(words[tokenHeader:])
	copy(b[copy(b, token):], answer)
	e.setTokens(r)
}

func (e entry) expireTokens(now int64) { e.trimTokens(now, maxTokens) }

// trimTokens keeps the newest tokens, at most so many, that have not ended.
func (e entry) trimTokens(now int64, most int) {
	a := &e.shard.arena
	prev := ref(0)
	for r := e.tokens(); r != 0; {
		words := a.words(r)
		next := tokenNext(words)
		if tokenEnd(words) > now && most > 0 {
			prev, r = r, next
			most--
			continue
		}
		if prev == 0 {
			e.setTokens(next)
		} else {
			p := a.words(prev)
			p[0] = p[0]&^0xffffffff | uint64(next)
		}
		a.free(r)
		r = next
	}
}
