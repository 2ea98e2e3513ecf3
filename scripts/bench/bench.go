// Package bench is the subcommand `dedupd bench`: raw RESP load from
// preformatted requests, against dedupd or any other RESP2 server, with so
// little CPU of its own that the server's figures are the server's.
//
// The story of a run: check every flag, connect, load the keys with their
// seen items, measure for a time, print a table.
//
// Closed loop (the default): each connection sends --pipeline calls in one
// write and sends the next ones when the last reply is in; a call's latency
// runs from that write to the arrival of its own reply.
//
// Open loop (--rate): call i has an intended time, spaced evenly, and its
// latency runs from that time whether or not it could be sent then, so a
// stalled server shows in the latencies instead of hiding in calls not made.
// Calls that are due together are sent in one write.
//
// Every reply is looked at, not only counted: an error anywhere in a reply
// makes the call an error, and where the command's reply says which items are
// seen, their share is compared with --seen at the end.
package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
)

// Run is `dedupd bench`: it parses args, runs the load until its time is up or
// ctx is done, and writes the table (or JSON) to stdout, progress to stderr.
// A run cut short still prints what it measured. The error names a wrong flag
// and its valid range, or what broke.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, err := parseConfig(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	workers, err := connect(ctx, cfg)
	if err != nil {
		return err
	}
	defer closeAll(workers)

	if !cfg.NoLoad {
		if err := load(ctx, cfg, workers, stderr); err != nil {
			return fmt.Errorf("load: %w", err)
		}
	}
	result, err := measure(ctx, cfg, workers, stderr)
	if printErr := result.print(stdout, cfg.JSON); printErr != nil {
		return fmt.Errorf("print the result: %w", printErr)
	}
	return errors.Join(err, result.verdict())
}
