package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// print writes the result as a table, or as JSON.
func (res *result) print(out io.Writer, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(res)
	}
	_, err := io.WriteString(out, res.table())
	return err
}

func (res *result) table() string {
	var b strings.Builder
	loop := "closed loop"
	if res.Rate > 0 {
		loop = fmt.Sprintf("open loop of %s calls/s, latencies from the intended time", thousands(res.Rate))
	}
	fmt.Fprintf(&b, "%s keys x %s items of %d B, %.1f %% of the candidates seen, seed %d\n",
		thousands(float64(res.Keys)), thousands(float64(res.Items)), res.ItemSize, res.SeenShare*100, res.Seed)
	fmt.Fprintf(&b, "%s, %d connections x %d calls, %s, %.1f s", res.Addr, res.Conns, res.Pipeline, loop, res.Seconds)
	if res.Interrupted {
		b.WriteString(" (interrupted)")
	}
	b.WriteString("\n\n")
	res.rows(&b)
	b.WriteString("\n")
	res.foot(&b)
	return b.String()
}

// rows is a line for each command, and one for all of a mix.
func (res *result) rows(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "command\titems\tcalls/s\t%s/s\tp50 us\tp99 us\tp99.9 us\tmax us\terrors\tseen\t\n", res.unit())
	for _, r := range res.Commands {
		printRow(t, r)
	}
	if len(res.Commands) > 1 {
		printRow(t, res.Total)
	}
	t.Flush()
}

func printRow(t io.Writer, r row) {
	items, seen := "", ""
	if r.Candidates > 0 {
		items = strconv.Itoa(r.Candidates)
	}
	if r.Seen != nil {
		seen = fmt.Sprintf("%.1f %%", *r.Seen*100)
	}
	fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", r.Command, items,
		thousands(r.CallsPerS), thousands(r.ItemsPerS),
		thousands(r.P50), thousands(r.P99), thousands(r.P999), thousands(r.Max),
		thousands(float64(r.Errors)), seen)
}

// foot is what holds for the whole run.
func (res *result) foot(b *strings.Builder) {
	if s := res.Server; s != nil {
		fmt.Fprintf(b, "server CPU %.2f s, %.2f of a core: %.2f us a call, %.0f ns %s\n",
			s.Seconds, s.Cores, s.MicrosCall, s.NanosItem, res.each())
	}
	fmt.Fprintf(b, "own CPU %.2f s, %.2f of a core\n", res.Own.Seconds, res.Own.Cores)
	if res.Unsent > 0 {
		fmt.Fprintf(b, "the server did not keep up: %s calls were due but could not be sent\n", thousands(float64(res.Unsent)))
	}
	if res.FirstError != "" {
		fmt.Fprintf(b, "first error: %s\n", res.FirstError)
	}
}

// unit is what an item of a call stands for.
func (res *result) unit() string {
	if res.writes {
		return "items"
	}
	return "checks"
}

// each is "for each unit" in words.
func (res *result) each() string {
	if res.writes {
		return "an item"
	}
	return "a check"
}

// thousands is a number without decimals, in groups of three.
func thousands(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
