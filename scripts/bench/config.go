package bench

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

const (
	keyDigits     = 8         // of the number in a key
	minItemSize   = 8         // room for the kind and 36 bits of number
	maxItems      = 100_000   // a key; fits in itemBits
	maxBatchBytes = 256 << 20 // one batch on every connection at once
)

// config is one run. Commands and Load are set by parseConfig from the flags
// of the same names.
type config struct {
	Addr       string
	Password   string
	Prefix     string
	Commands   []command
	Load       command
	NoLoad     bool
	Keys       int
	Items      int
	Candidates int
	Seen       float64
	ItemSize   int
	Conns      int
	Pipeline   int
	Seconds    float64
	Rate       float64
	PID        int
	JSON       bool
	Seed       int
}

// parseConfig reads and checks the flags. Nothing is opened before it returns
// without an error. -h prints the usage to stderr and returns flag.ErrHelp.
func parseConfig(args []string, stderr io.Writer) (*config, error) {
	cfg := &config{}
	var single, mix, loadWith string
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&cfg.Addr, "addr", "127.0.0.1:6380", "server, `host:port`")
	fs.StringVar(&cfg.Password, "password", "", "send AUTH with it first")
	fs.StringVar(&cfg.Prefix, "prefix", "bench:", "of every key, 0 to 64 bytes")
	fs.StringVar(&single, "command", "", "`command` to send, with options that go between key and items: \"DEDUP.FILTER LIMIT 50\" (default DEDUP.MEXISTS)")
	fs.StringVar(&mix, "mix", "", "several commands instead, `name:weight[:candidates],...`: \"DEDUP.MEXISTS:90,DEDUP.ADD:10:5\"")
	fs.StringVar(&loadWith, "load-command", "", "`command` that loads the seen items (default by the command: DEDUP.ADD, SADD, ZADD, BF.MADD, CF.INSERT)")
	fs.BoolVar(&cfg.NoLoad, "no-load", false, "the seen items are there from an earlier run")
	fs.BoolVar(&cfg.JSON, "json", false, "print JSON instead of the table")
	intFlag(fs, &cfg.Keys, "keys", 10_000, 1, 100_000_000, "number of keys")
	intFlag(fs, &cfg.Items, "items", 500, 0, maxItems, "seen items a key, loaded first")
	intFlag(fs, &cfg.Candidates, "candidates", 200, 1, 10_000, "items a call; commands that take one item send one")
	floatFlag(fs, &cfg.Seen, "seen", 0.1, 0, 1, "share of the candidates that are seen")
	intFlag(fs, &cfg.ItemSize, "item-size", 16, minItemSize, 1024, "bytes an item")
	intFlag(fs, &cfg.Conns, "conns", 16, 1, 1000, "connections")
	intFlag(fs, &cfg.Pipeline, "pipeline", 16, 1, 1000, "calls in one write: closed loop, in flight a connection; open loop, at most")
	floatFlag(fs, &cfg.Seconds, "seconds", 10, 0.1, 86_400, "how long to measure")
	floatFlag(fs, &cfg.Rate, "rate", 0, 0, 10_000_000, "calls/s, open loop; 0 is the closed loop")
	intFlag(fs, &cfg.PID, "pid", 0, 0, 1<<22, "process of the server, for its CPU; 0 is none")
	intFlag(fs, &cfg.Seed, "seed", 0, 0, 1<<62, "of the random choices; 0 draws one")

	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			printUsage(fs, stderr)
		}
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: bench takes only flags", fs.Arg(0))
	}
	if cfg.Seed == 0 {
		cfg.Seed = int(time.Now().UnixNano())
	}
	if err := cfg.setCommands(single, mix, loadWith); err != nil {
		return nil, err
	}
	return cfg, cfg.validate()
}

func printUsage(fs *flag.FlagSet, stderr io.Writer) {
	fmt.Fprintln(stderr, "usage: dedupd bench [flags]: load against dedupd or any RESP server")
	fs.SetOutput(stderr)
	fs.PrintDefaults()
}

// setCommands turns the three command flags into commands.
func (cfg *config) setCommands(single, mix, loadWith string) (err error) {
	switch {
	case single != "" && mix != "":
		return errors.New("--command and --mix exclude each other: give one")
	case mix != "":
		cfg.Commands, err = parseMix(mix, cfg.Candidates)
	default:
		cfg.Commands, err = parseSingle(single, cfg.Candidates)
	}
	if err != nil {
		return err
	}
	if cfg.Items == 0 {
		cfg.NoLoad = true
	}
	if cfg.NoLoad {
		return nil
	}
	cfg.Load, err = loadCommand(loadWith, cfg.Commands)
	return err
}

// validate checks what no flag can check alone.
func (cfg *config) validate() error {
	_, port, err := net.SplitHostPort(cfg.Addr)
	if n, portErr := strconv.Atoi(port); err != nil || portErr != nil || n < 1 || n > 65535 {
		return fmt.Errorf("--addr is %q: must be host:port with a port of 1 to 65535", cfg.Addr)
	}
	if len(cfg.Prefix) > 64 {
		return fmt.Errorf("--prefix has %d bytes: must be 0 to 64", len(cfg.Prefix))
	}
	if cfg.Items == 0 && cfg.Seen > 0 {
		return fmt.Errorf("--seen is %v: must be 0 when --items is 0", cfg.Seen)
	}
	if all := cfg.Conns * cfg.Pipeline * cfg.callBytes(); all > maxBatchBytes {
		return fmt.Errorf("a batch on each connection is %d MiB (--conns x --pipeline x --candidates x --item-size): must be at most %d MiB",
			all>>20, maxBatchBytes>>20)
	}
	if cfg.PID != 0 {
		if _, err := processCPU(cfg.PID); err != nil {
			return fmt.Errorf("--pid is %d: must be a running process of this machine, or 0: %w", cfg.PID, err)
		}
	}
	return nil
}

// callBytes is about the size of the largest call.
func (cfg *config) callBytes() int {
	largest := 0
	for i := range cfg.Commands {
		buf, _ := cfg.Commands[i].appendCall(nil, cfg, cfg.Commands[i].candidates)
		largest = max(largest, len(buf))
	}
	return largest
}

// bounded is a flag.Value that refuses what is outside its range, by name.
type bounded[T int | float64] struct {
	value  *T
	lo, hi T
	parse  func(string) (T, error)
}

func (b *bounded[T]) Set(text string) error {
	v, err := b.parse(text)
	if err != nil || !(v >= b.lo && v <= b.hi) { // NaN is in no range
		return fmt.Errorf("must be %v to %v", plain(b.lo), plain(b.hi))
	}
	*b.value = v
	return nil
}

func (b *bounded[T]) String() string {
	if b.value == nil {
		return ""
	}
	return plain(*b.value)
}

// plain is a number without an exponent.
func plain[T int | float64](v T) string {
	return strconv.FormatFloat(float64(v), 'f', -1, 64)
}

func intFlag(fs *flag.FlagSet, p *int, name string, def, lo, hi int, usage string) {
	*p = def
	fs.Var(&bounded[int]{p, lo, hi, strconv.Atoi}, name, fmt.Sprintf("%s, %d to %d", usage, lo, hi))
}

func floatFlag(fs *flag.FlagSet, p *float64, name string, def, lo, hi float64, usage string) {
	*p = def
	parse := func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }
	fs.Var(&bounded[float64]{p, lo, hi, parse}, name, fmt.Sprintf("%s, %s to %s", usage, plain(lo), plain(hi)))
}
