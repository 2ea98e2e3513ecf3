package log

import (
	"encoding/hex"
	"flag"
	"hash/crc32"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGoldenBytes holds the bytes on disk: a change here is a new version.
func TestGoldenBytes(t *testing.T) {
	h := header{
		slot: 0x1122, base: 0x3340, synced: 0x3300, created: time.Unix(1_700_000_000, 5),
		previousSlot: 0x1121, previousBase: 0x2000, accepted: true, lost: 24,
	}
	b := h.encode()
	sum := newHeaderSum(h.slot)
	for _, payload := range []string{"x", "four", "twelve bytes", "a record of thirty-two bytes ..."} {
		pos := h.base + Position(len(b)-headerSize)
		b = sum.appendRecord(b, pos, h.synced, []byte(payload), crc32.Checksum([]byte(payload), castagnoli))
	}
	const path = "testdata/segment.golden"
	got := hex.Dump(b)
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if got != string(want) {
		t.Fatalf("the format changed:\n%s", got)
	}
	back, ok, err := decodeHeader(b)
	if !ok || err != nil || back != h {
		t.Fatalf("header %+v became %+v, %v, %v", h, back, ok, err)
	}
}

func TestDecodeHeader(t *testing.T) {
	good := header{slot: 7, base: 80, synced: 80, previousSlot: 6, previousBase: 8}
	for _, test := range []struct {
		name   string
		change func(*header)
		ok     bool
	}{
		{"good", func(h *header) {}, true},
		{"slot 0", func(h *header) { h.slot = 0 }, false},
		{"synced behind its base", func(h *header) { h.synced = 88 }, false},
		{"base not aligned", func(h *header) { h.base = 84 }, false},
		{"base too large", func(h *header) { h.base = maxPosition + 8 }, false},
		{"previous slot not before", func(h *header) { h.previousSlot = 7 }, false},
		{"previous base behind", func(h *header) { h.previousBase = 88 }, false},
	} {
		h := good
		test.change(&h)
		if _, ok, err := decodeHeader(h.encode()); ok != test.ok || err != nil {
			t.Errorf("%s: %v, %v", test.name, ok, err)
		}
	}
	b := good.encode()
	for i := range b {
		b[i] ^= 0x10
		if _, ok, err := decodeHeader(b); ok || err != nil {
			t.Errorf("byte %d flipped: %v, %v", i, ok, err)
		}
		b[i] ^= 0x10
	}
	if _, ok, _ := decodeHeader(b[:headerSize-1]); ok {
		t.Error("a short header was read")
	}
}

func TestNewerVersionIsRefused(t *testing.T) {
	fs := files{}.on(t)
	l, _, _ := mustOpen(t, testOptions(fs, Always))
	must(t, l.Close())
	all := readFiles(t, fs)
	b := all[fileName(1)]
	b[8] = 2
	putSum(b)
	_, _, _, err := open(testOptions(all.on(t), Always))
	if err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Fatalf("error: %v", err)
	}
}

func putSum(b []byte) {
	sum := crc32.Checksum(b[:76], castagnoli)
	b[76], b[77], b[78], b[79] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
}

func TestFileNames(t *testing.T) {
	if got := fileName(0x1f); got != "000000000000001f.log" {
		t.Error(got)
	}
	for name, want := range map[string]uint64{
		"000000000000001f.log": 0x1f, "0000000000000000.log": 0, "000000000000001F.log": 0,
		"1f.log": 0, "000000000000001f": 0, "000000000000001f.log.tmp": 0, "ffffffffffffffff.log": 0,
		"+00000000000001f.log": 0,
	} {
		if got, ok := parseFileName(name); got != want || ok != (want != 0) {
			t.Errorf("%s: %d, %v", name, got, ok)
		}
	}
}

func TestParseFsync(t *testing.T) {
	for _, f := range []Fsync{Always, EverySec, No} {
		if got, err := ParseFsync(strings.ToUpper(f.String())); got != f || err != nil {
			t.Errorf("%v: %v, %v", f, got, err)
		}
	}
	if _, err := ParseFsync("sometimes"); err == nil || !strings.Contains(err.Error(), "everysec") {
		t.Error(err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good := testOptions(files{}.on(t), Always)
	for name, change := range map[string]func(*Options){
		"no file system":       func(o *Options) { o.FS = nil },
		"no directory":         func(o *Options) { o.Dir = "" },
		"unknown fsync":        func(o *Options) { o.Fsync = 9 },
		"MaxRecord -1":         func(o *Options) { o.MaxRecord = -1 },
		"MaxRecord 2147483647": func(o *Options) { o.MaxRecord = 1<<31 - 1 },
		"Preallocate 8":        func(o *Options) { o.Preallocate = 8 },
		"StoredSlot":           func(o *Options) { o.StoredSlot = 1 << 63 },
	} {
		o := good
		change(&o)
		if _, _, err := Open(o, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRecordBounds(t *testing.T) {
	o := testOptions(files{}.on(t), Always)
	o.MaxRecord = 10
	l, _, _ := mustOpen(t, o)
	defer l.Close()
	for size, ok := range map[int]bool{0: false, 1: true, 10: true, 11: false} {
		if _, err := l.Append(make([]byte, size)); (err == nil) != ok {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if err := l.Wait(l.End() + 1); err == nil {
		t.Error("waited for what was not appended")
	}
}
