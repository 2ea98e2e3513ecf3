package bench

import (
	"io"
	"strings"
	"testing"
)

// Every wrong value is named with its valid range. The address leads nowhere:
// nothing may be opened before.
func TestWrongFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--keys 0":                               "-keys: must be 1 to 100000000",
		"--keys many":                            "-keys: must be 1 to 100000000",
		"--items -1":                             "-items: must be 0 to 100000",
		"--items 100001":                         "-items: must be 0 to 100000",
		"--candidates 0":                         "-candidates: must be 1 to 10000",
		"--seen 1.1":                             "-seen: must be 0 to 1",
		"--seen NaN":                             "-seen: must be 0 to 1",
		"--item-size 7":                          "-item-size: must be 8 to 1024",
		"--conns 0":                              "-conns: must be 1 to 1000",
		"--pipeline 1001":                        "-pipeline: must be 1 to 1000",
		"--seconds 0":                            "-seconds: must be 0.1 to 86400",
		"--seconds Inf":                          "-seconds: must be 0.1 to 86400",
		"--rate -1":                              "-rate: must be 0 to 10000000",
		"--pid -1":                               "-pid: must be 0 to 4194304",
		"--pid 4194304":                          "--pid is 4194304: must be a running process",
		"--seed -1":                              "-seed: must be 0 to",
		"--addr nowhere":                         "port of 1 to 65535",
		"--addr localhost:0":                     "port of 1 to 65535",
		"--addr :65536":                          "port of 1 to 65535",
		"--prefix " + strings.Repeat("x", 65):    "--prefix has 65 bytes: must be 0 to 64",
		"--items 0":                              "--seen is 0.1: must be 0 when --items is 0",
		"--command GET":                          "--load-command must be given for GET",
		"--command SADD --mix SADD:1":            "exclude each other",
		"--mix SADD":                             "must be name:weight",
		"--mix SADD:1:2:3":                       "must be name:weight",
		"--mix SADD:0":                           "weight must be 1 to 10000",
		"--mix SADD:1:0":                         "candidates must be 1 to 10000",
		"--mix :1":                               "a command is empty",
		"--mix " + strings.Repeat("SADD:1,", 17): "must be name:weight",
		"--mix SADD:1" + strings.Repeat(",SADD:1", 16): "--mix has 17 commands: must be 1 to 16",
		"--conns 1000 --pipeline 1000":                 "must be at most 256 MiB",
		"--nosuch 1":                                   "not defined: -nosuch",
		"stray":                                        `unexpected argument "stray"`,
	} {
		err := Run(t.Context(), append([]string{"--addr", "127.0.0.1:1"}, strings.Fields(args)...), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
}

func TestDefaults(t *testing.T) {
	for args, want := range map[string]struct{ commands, load string }{
		"":                                 {"DEDUP.MEXISTS/200", "DEDUP.ADD"},
		"--command smismember":             {"SMISMEMBER/200", "SADD"},
		"--command ZMSCORE":                {"ZMSCORE/200", "ZADD"},
		"--command BF.MEXISTS":             {"BF.MEXISTS/200", "BF.MADD"},
		"--command CF.EXISTS":              {"CF.EXISTS/1", "CF.INSERT"},
		"--command DEDUP.EXISTS":           {"DEDUP.EXISTS/1", "DEDUP.ADD"},
		"--mix DEDUP.MEXISTS:90,SADD:10:5": {"DEDUP.MEXISTS/200 SADD/5", "DEDUP.ADD"},
		"--command GET --no-load":          {"GET/200", ""},
		"--items 0 --seen 0":               {"DEDUP.MEXISTS/200", ""},
	} {
		cfg, err := parseConfig(strings.Fields(args), io.Discard)
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		var commands []string
		for _, c := range cfg.Commands {
			commands = append(commands, c.name+"/"+plain(c.candidates))
		}
		if got := strings.Join(commands, " "); got != want.commands || cfg.Load.name != want.load {
			t.Errorf("%s: got %s loaded by %q, want %s by %q", args, got, cfg.Load.name, want.commands, want.load)
		}
		if cfg.Seed == 0 {
			t.Errorf("%s: no seed was drawn", args)
		}
	}
}

func TestHelp(t *testing.T) {
	var usage strings.Builder
	if err := Run(t.Context(), []string{"-h"}, io.Discard, &usage); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(usage.String(), "1 to 100000000 (default 10000)") {
		t.Errorf("the usage names no range:\n%s", usage.String())
	}
}
