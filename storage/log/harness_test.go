package log

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0: a new one")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newRand returns random numbers whose seed is printed, for -seed.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("replay with -run '^%s$' -seed=%d", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// rec is a record as a test knows it.
type rec struct {
	slot    uint64
	payload []byte
	end     Position // 0: not known
}

func (r rec) String() string {
	return fmt.Sprintf("%d:%.12x(%d)", r.slot, r.payload, len(r.payload))
}

func sameRecords(a, b []rec) bool {
	return slices.EqualFunc(a, b, func(a, b rec) bool {
		return a.slot == b.slot && bytes.Equal(a.payload, b.payload)
	})
}

// numbered returns a payload of n bytes, at least 8, that begins with i.
func numbered(i, n int) []byte {
	b := bytes.Repeat([]byte{byte(i) | 1}, max(8, n))
	binary.LittleEndian.PutUint64(b, uint64(i))
	return b
}

// testOptions are options with small chunks over fs.
func testOptions(fs vfs.FS, fsync Fsync) Options {
	return Options{FS: fs, Dir: "log", Fsync: fsync, Preallocate: 8 << 10}
}

// open opens a log and returns what it replayed.
func open(o Options) (*Log, []rec, Recovery, error) {
	var got []rec
	l, r, err := Open(o, func(slot uint64, _ Position, payload []byte) error {
		got = append(got, rec{slot: slot, payload: bytes.Clone(payload)})
		return nil
	})
	return l, got, r, err
}

func mustOpen(t testing.TB, o Options) (*Log, []rec, Recovery) {
	t.Helper()
	l, got, r, err := open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l, got, r
}

func mustAppend(t testing.TB, l *Log, payload []byte) rec {
	t.Helper()
	end, err := l.Append(payload)
	if err != nil {
		t.Fatal(err)
	}
	return rec{slot: l.Slot(), payload: payload, end: end}
}

// write appends and waits.
func write(t testing.TB, l *Log, payload []byte) rec {
	t.Helper()
	r := mustAppend(t, l, payload)
	must(t, l.Wait(r.end))
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustRoll(t testing.TB, l *Log) {
	t.Helper()
	sealed, err := l.Roll(nil)
	must(t, err)
	must(t, l.WaitSealed(sealed))
}

// files are the contents of the log's directory.
type files map[string][]byte

func readFiles(t testing.TB, fs vfs.FS) files {
	t.Helper()
	names, err := fs.List("log")
	must(t, err)
	all := files{}
	for _, name := range names {
		f, err := fs.Open("log/" + name)
		must(t, err)
		info, err := f.Stat()
		must(t, err)
		b := make([]byte, info.Size())
		if len(b) > 0 {
			_, err = f.ReadAt(b, 0)
			must(t, err)
		}
		must(t, f.Close())
		all[name] = b
	}
	return all
}

// on returns a new file system that holds the files.
func (all files) on(t testing.TB) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	must(t, fs.MkdirAll("log", 0o755))
	for name, b := range all {
		f, err := fs.Create("log/"+name, vfs.WriteCategoryUnspecified)
		must(t, err)
		_, err = f.Write(bytes.Clone(b))
		must(t, err)
		must(t, f.Sync())
		must(t, f.Close())
	}
	must(t, syncDir(fs, "log"))
	must(t, syncDir(fs, "."))
	return fs
}

func (all files) clone() files {
	c := files{}
	for name, b := range all {
		c[name] = bytes.Clone(b)
	}
	return c
}

func (all files) equal(other files) bool {
	if len(all) != len(other) {
		return false
	}
	for name, b := range all {
		if o, ok := other[name]; !ok || !bytes.Equal(b, o) {
			return false
		}
	}
	return true
}

// warnings counts the log lines of a level and above.
type warnings struct{ bytes.Buffer }

func (w *warnings) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func (w *warnings) count() int { return bytes.Count(w.Bytes(), []byte("\n")) }

func crash(fs *vfs.MemFS, percent int, rng *rand.Rand) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
}

func crcOf(s string) uint32 { return crc32.Checksum([]byte(s), castagnoli) }
