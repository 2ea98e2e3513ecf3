package commands

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dedupd/storage"
)

const queued = "+QUEUED\r\n"

// A transaction whose record might have more than 64 MiB is refused while it
// is queued; nothing of it is done, and its memory is not kept.
func TestTransactionTooLarge(t *testing.T) {
	n := openNode(t, nodeOptions{})
	defer n.close()
	s := n.session()
	s.do("MULTI")
	s.expect(queued, "DEDUP.ADD", "k", "a")
	big := toBytes([]string{"PING", strings.Repeat("x", 1<<20)})
	refused := 0
	for range 66 {
		if reply, _ := s.run(big); reply != queued {
			refused++
			if want := "-ERR the transaction is too large: its commands may have 67108864 bytes together\r\n"; reply != want {
				t.Fatalf("%q", reply)
			}
		}
	}
	if refused != 3 || s.multi.calls != nil {
		t.Errorf("%d commands refused, %d kept", refused, len(s.multi.calls))
	}
	s.expect("-EXECABORT Transaction discarded because of previous errors.\r\n", "EXEC")
	s.expect("*1\r\n:0\r\n", "DEDUP.MEXISTS", "k", "a")
}

// What EXEC writes is never more than what was counted against the limit while
// the transaction was queued.
func TestTransactionRecordFits(t *testing.T) {
	n := openNode(t, nodeOptions{})
	defer n.close()
	s := n.session()
	for i, line := range []string{
		"DEDUP.ADD k a", `DEDUP.ADD "" ""`, "DEDUP.ADD k v#1000", "DEDUP.MADD k w#1000", "DEDUP.DELIVER k x", "DEDUP.DELIVER k x#1000",
		"DEDUP.DELIVER k y*65535", "DEDUP.INSERT k BLIND ITEMS z#100", "DEDUP.REM k ITEMS v#1000 w#1000 x#1000", "DEDUP.REM k LAYER delivered ITEMS y*65535",
		"DEDUP.FILTER k MARK ITEMS f#1000", "DEDUP.FILTER k MARK played TOKEN t ITEMS g#1000", "DEDUP.ADD k*4096 a",
	} {
		args, err := splitLine(line)
		if err != nil {
			t.Fatal(err)
		}
		before := n.store.Stats().Log.Appended
		s.do("MULTI")
		s.do(args...)
		size := s.multi.size
		s.do("EXEC")
		if wrote := int(n.store.Stats().Log.Appended - before); wrote > size || wrote == 0 {
			t.Errorf("%d: %.40s: a record of %d bytes, %d were counted", i, line, wrote, size)
		}
	}
}

// A few bytes may ask for many: the replies of a transaction are bounded.
func TestTransactionReplies(t *testing.T) {
	n := openNode(t, nodeOptions{})
	defer n.close()
	s := n.session()
	item := strings.Repeat("x", storage.MaxItem-4)
	for i := range 100 {
		s.do("DEDUP.DELIVER", "k", fmt.Sprintf("%s%04d", item, i))
	}
	s.do("MULTI")
	for range 20 {
		s.do("DEDUP.RECENT", "k")
	}
	s.do("DEDUP.ADD", "k", "a")
	reply := s.do("EXEC")
	if !strings.HasPrefix(reply, "*21\r\n") || !strings.HasSuffix(reply, strings.Repeat("-"+tooManyReplies+"\r\n", 10)) {
		t.Errorf("%d bytes, %.50q ... %q", len(reply), reply, reply[len(reply)-200:])
	}
	if len(reply) > maxReplies+7<<20 {
		t.Errorf("%d bytes", len(reply))
	}
	s.expect("*1\r\n:0\r\n", "DEDUP.MEXISTS", "k", "a")
}

// A transaction is one record.
func TestTransactionIsOneRecord(t *testing.T) {
	fs := memory()
	n := openNode(t, nodeOptions{fs: fs})
	s := n.session()
	s.do("MULTI")
	s.do("DEDUP.ADD", "k", "a")
	s.do("DEDUP.DELIVER", "j", "b")
	s.do("DEDUP.MEXISTS", "j", "b")
	s.do("DEDUP.ADD", "k", "c")
	s.expect("*4\r\n:1\r\n:1\r\n*1\r\n:1\r\n:1\r\n", "EXEC")
	n.close()
	n = openNode(t, nodeOptions{fs: fs})
	defer n.close()
	if got := n.store.Stats().Recovery.Records; got != 1 {
		t.Errorf("%d records", got)
	}
	n.session().expect("*3\r\n:1\r\n:1\r\n:0\r\n", "DEDUP.MEXISTS", "k", "a", "c", "d")
}

// R1: the reply of every write command waits for the log, also when it changed
// nothing; that of a read does not.
func TestR1EveryWriteWaits(t *testing.T) {
	n := openNode(t, nodeOptions{})
	defer n.close()
	s := n.session()
	s.do("DEDUP.ADD", "k", "a")
	for _, tc := range []struct {
		line  string
		waits bool
	}{
		{"DEDUP.ADD k a", true}, {"DEDUP.MADD k a", true}, {"DEDUP.DELIVER k a", true}, {"DEDUP.INSERT k ITEMS a", true},
		{"DEDUP.REM k ITEMS b", true}, {"DEDUP.REM nosuch ITEMS b", true}, {"DEDUP.FILTER k MARK ITEMS a", true},
		{"DEDUP.FILTER k MARK TOKEN t ITEMS a", true}, {"DEDUP.FILTER k ITEMS a b", false}, {"DEDUP.MEXISTS k a", false},
		{"DEDUP.EXISTS k a", false}, {"DEDUP.CARD k", false}, {"DEDUP.RECENT k", false}, {"DEDUP.ADD k*5000 a", false}, {"PING", false}, {"INFO", false},
	} {
		args, err := splitLine(tc.line)
		if err != nil {
			t.Fatal(err)
		}
		if _, wait := s.run(toBytes(args)); (wait != 0) != tc.waits {
			t.Errorf("%.50s: waits for %d", tc.line, wait)
		}
		s.do("MULTI")
		s.run(toBytes(args))
		if _, wait := s.run(toBytes([]string{"EXEC"})); (wait != 0) != tc.waits {
			t.Errorf("%.50s in a transaction: waits for %d", tc.line, wait)
		}
	}
}

// When the disk fails, writes are refused with the reason, alone and in EXEC,
// and reads go on.
func TestFailedLogRefusesWrites(t *testing.T) {
	var broken atomic.Bool
	n := openNode(t, nodeOptions{fs: errorfs.Wrap(memory(), errorfs.InjectorFunc(func(errorfs.Op) error {
		if broken.Load() {
			return syscall.EIO
		}
		return nil
	}))})
	s := n.session()
	s.do("DEDUP.ADD", "k", "a")
	broken.Store(true)
	_, wait := s.run(toBytes([]string{"DEDUP.ADD", "k", "b"}))
	err := s.Wait(wait)
	if err == nil || !strings.HasPrefix(err.Error(), "writes are refused, they could not be made durable") {
		t.Errorf("Wait: %v", err)
	}
	const refused = "MISCONF writes are refused, they could not be made durable: "
	if got := s.do("DEDUP.ADD", "k", "c"); !strings.HasPrefix(got, "-"+refused) {
		t.Errorf("%q", got)
	}
	s.do("MULTI")
	s.do("DEDUP.ADD", "k", "d")
	s.do("DEDUP.MEXISTS", "k", "d")
	if got := s.do("EXEC"); !strings.HasPrefix(got, "-EXECABORT Transaction discarded because of: "+refused) {
		t.Errorf("%q", got)
	}
	s.expect("*1\r\n:1\r\n", "DEDUP.MEXISTS", "k", "a")
	s.expect("*1\r\n$1\r\nd\r\n", "DEDUP.FILTER", "k", "ITEMS", "a", "d")
	if err := n.store.Close(); err == nil {
		t.Error("Close says nothing")
	}
}
