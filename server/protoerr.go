package server

import "fmt"

// protocolError is what a client did to the framing; its text follows
// "-ERR Protocol error: " on the wire. Nothing after it can be understood, so
// it ends the connection. The texts are Redis's where Redis has one.
type protocolError string

func (e protocolError) Error() string { return "Protocol error: " + string(e) }

const (
	errMultibulkLength  protocolError = "invalid multibulk length"
	errMultibulkUnauth  protocolError = "unauthenticated multibulk length"
	errMultibulkLine    protocolError = "too big mbulk count string"
	errBulkLength       protocolError = "invalid bulk length"
	errBulkUnauth       protocolError = "unauthenticated bulk length"
	errBulkLine         protocolError = "too big bulk count string"
	errBulkEnd          protocolError = "expected CRLF after bulk"
	errInlineLength     protocolError = "too big inline request"
	errInlineArgs       protocolError = "too many arguments in inline request"
	errUnbalancedQuotes protocolError = "unbalanced quotes in request"
	errCommandLength    protocolError = "too big command"
)

func errExpectedBulk(got byte) protocolError {
	if got < ' ' || got > '~' {
		return protocolError(fmt.Sprintf(`expected '$', got '\x%02x'`, got))
	}
	return protocolError("expected '$', got '" + string(rune(got)) + "'")
}
