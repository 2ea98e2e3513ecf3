package policy

import (
	"fmt"
	"strconv"
)

// A Refusal is an error for the client: Code is the first word of a Redis
// error ("ERR", "LATE"), Text the rest, always on one line.
type Refusal struct {
	Code string
	Text string
}

func (r *Refusal) Error() string { return r.Code + " " + r.Text }

func refuse(format string, args ...any) *Refusal {
	return &Refusal{Code: "ERR", Text: fmt.Sprintf(format, args...)}
}

// quoted shows what a client sent in an error: escaped, and not all of it.
func quoted(text string) string {
	const most = 40
	if len(text) > most {
		return strconv.Quote(text[:most]) + "..."
	}
	return strconv.Quote(text)
}
