package main

import (
	"context"
	"io"

	"dedupd/scripts/bench"
)

// runBench is the subcommand bench: load for any RESP server, measured.
func runBench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return bench.Run(ctx, args, stdout, stderr)
}
