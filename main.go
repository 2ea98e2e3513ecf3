// Command dedupd is a server that remembers, for every user, which items were
// already seen. It speaks RESP: any Redis client is a client of it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // zones work on machines without zone files
)

// version is what INFO and --version say.
const version = "0.1.0"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dedupd:", err)
		os.Exit(1)
	}
}

// run is the whole program but for the exit: the server, or a subcommand.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "bench" {
		return runBench(ctx, args[1:], stdout, stderr)
	}
	cfg, err := parseConfig(args, getenv, stdout)
	if err != nil || cfg.exit {
		return err
	}
	srv, err := start(ctx, cfg, stderr)
	if err != nil {
		return err
	}
	return srv.serve(ctx)
}
