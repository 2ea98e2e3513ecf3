package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"dedupd/storage"
	"dedupd/storage/log"
)

// config is every setting of the server. defaultConfig has the defaults,
// validate the valid ranges.
type config struct {
	addr          string
	dir           string
	fsync         string
	maxMemory     string
	maxClients    int
	timeout       time.Duration
	requirePass   string
	shutdownGrace time.Duration
	acceptDamage  bool
	wheelSlot     time.Duration
	wheelSlots    int

	memory    int64     // maxMemory in bytes
	fsyncMode log.Fsync // fsync, parsed
	exit      bool      // --help or --version was answered
}

func defaultConfig() config {
	return config{
		addr: "127.0.0.1:6380", dir: "./data", fsync: "everysec", maxMemory: "60%",
		maxClients: 10000, shutdownGrace: 10 * time.Second,
		wheelSlot: time.Hour, wheelSlots: storage.DefaultMaxSealed,
	}
}

// The valid ranges, as help and errors name them; validate has the numbers.
const (
	maxClientsRange = "1 to 1048576"
	timeoutRange    = "0s (never), or 1s to 8760h"
	graceRange      = "0s to 10m"
	wheelSlotRange  = "1s to 24h"
	wheelSlotsRange = "1 to 1024"
)

const usage = `dedupd remembers, for every user, which items were already seen, and speaks RESP.

usage: dedupd [flags]          run the server
       dedupd bench [flags]    measure this or any other RESP server (bench --help)

Each flag can also be set by an environment variable: --shutdown-grace by
DEDUPD_SHUTDOWN_GRACE, and so on. A flag wins over its variable.

`

// flags binds the settings to a flag set.
func (c *config) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.addr, "addr", c.addr, "`host:port` to listen on")
	fs.StringVar(&c.dir, "dir", c.dir, "data `directory`; created if missing")
	fs.StringVar(&c.fsync, "fsync", c.fsync, "when a write is on disk: `mode` always (before its reply), everysec or no")
	fs.StringVar(&c.maxMemory, "maxmemory", c.maxMemory, "memory for everything, a `size`: bytes, or with kb, mb, gb, or n% of the machine's or cgroup's")
	fs.Var(intValue{&c.maxClients, maxClientsRange}, "maxclients", "how many connections at once, "+maxClientsRange)
	fs.Var(durationValue{&c.timeout, timeoutRange}, "timeout", "drop a client that is silent for so long: "+timeoutRange)
	fs.StringVar(&c.requirePass, "requirepass", c.requirePass, "`password` that AUTH must give; better set by DEDUPD_REQUIREPASS")
	fs.Var(durationValue{&c.shutdownGrace, graceRange}, "shutdown-grace", "on SIGTERM, how long clients may take to finish, "+graceRange)
	fs.Var(durationValue{&c.wheelSlot, wheelSlotRange}, "wheel-slot", "how often memory moves to disk, "+wheelSlotRange)
	fs.Var(intValue{&c.wheelSlots, wheelSlotsRange}, "wheel-slots", "how many slots may wait for the disk before writes answer -BUSY, "+wheelSlotsRange)
	fs.BoolVar(&c.acceptDamage, "accept-damage", c.acceptDamage, "start although the log is damaged, and say what was lost")
}

// parseConfig reads flags and environment. Nothing is opened before all of
// them are valid.
func parseConfig(args []string, getenv func(string) string, stdout io.Writer) (config, error) {
	c := defaultConfig()
	fs := flag.NewFlagSet("dedupd", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are returned, help is printed below
	c.flags(fs)
	if err := fromEnvironment(fs, getenv); err != nil {
		return c, err
	}
	showVersion := fs.Bool("version", false, "print the version and exit")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		c.exit = true
		printUsage(fs, stdout)
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("%w; see dedupd --help", err)
	}
	if fs.NArg() > 0 {
		return c, fmt.Errorf("unknown command %q; valid: bench, or flags only; see dedupd --help", fs.Arg(0))
	}
	if *showVersion {
		c.exit = true
		fmt.Fprintln(stdout, "dedupd", version)
		return c, nil
	}
	return c, c.validate()
}

func fromEnvironment(fs *flag.FlagSet, getenv func(string) string) error {
	var errs []error
	fs.VisitAll(func(f *flag.Flag) {
		name := "DEDUPD_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if v := getenv(name); v != "" {
			if err := f.Value.Set(v); err != nil {
				errs = append(errs, fmt.Errorf("%s: invalid value %q: %w", name, v, err))
			}
		}
	})
	return errors.Join(errs...)
}

func printUsage(fs *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, usage)
	fs.VisitAll(func(f *flag.Flag) {
		arg, text := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" {
			text += " (" + f.DefValue + ")"
		}
		fmt.Fprintf(w, "  %-28s %s\n", strings.TrimSpace("--"+f.Name+" "+arg), text)
	})
}

// validate names every wrong value with its valid range.
func (c *config) validate() error {
	var errs []error
	wrong := func(name string, value any, valid string) {
		errs = append(errs, fmt.Errorf("--%s is %v; valid: %s", name, value, valid))
	}
	if _, port, err := net.SplitHostPort(c.addr); err != nil || !validPort(port) {
		wrong("addr", strconv.Quote(c.addr), "host:port with a port from 0 to 65535, such as 127.0.0.1:6380 or :6380")
	}
	if c.dir == "" {
		wrong("dir", `""`, "the path of a directory")
	}
	var err error
	if c.fsyncMode, err = log.ParseFsync(c.fsync); err != nil {
		wrong("fsync", strconv.Quote(c.fsync), "always, everysec, no")
	}
	if c.memory, err = parseMemory(c.maxMemory); err != nil {
		errs = append(errs, fmt.Errorf("--maxmemory is %q; %w", c.maxMemory, err))
	}
	if c.maxClients < 1 || c.maxClients > 1<<20 {
		wrong("maxclients", c.maxClients, maxClientsRange)
	}
	if c.timeout != 0 && (c.timeout < time.Second || c.timeout > 365*24*time.Hour) {
		wrong("timeout", c.timeout, timeoutRange)
	}
	if c.shutdownGrace < 0 || c.shutdownGrace > 10*time.Minute {
		wrong("shutdown-grace", c.shutdownGrace, graceRange)
	}
	if c.wheelSlot < time.Second || c.wheelSlot > 24*time.Hour {
		wrong("wheel-slot", c.wheelSlot, wheelSlotRange)
	}
	if c.wheelSlots < 1 || c.wheelSlots > 1024 {
		wrong("wheel-slots", c.wheelSlots, wheelSlotsRange)
	}
	return errors.Join(errs...)
}

func validPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 0 && n <= 65535
}
