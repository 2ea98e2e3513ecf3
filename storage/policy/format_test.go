package policy

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func exampleDirectory(t testing.TB) *Directory {
	now := ms(t, "2026-05-10T12:00:00Z")
	d := set(t, New(), "home:", "ERROR 0.01 PERIOD day KEEP 30 ZONE Europe/Berlin DELIVERED 5 DELIVEREDTTL 1m", now)
	d = set(t, d, "", "KEEP 5", now)
	d = set(t, d, "home:", "PERIOD 36h", now+Day)
	d, _, _ = d.Delete("home:", now+2*Day)
	d, _, _ = d.Rotate("home:", nil, now+3*Day)
	d, _, _ = d.Reserve([]byte("x"), mustPartial(t, "PERIOD week"))
	return d.RaiseFloor(0, 600)
}

func TestDirectoryFormatGolden(t *testing.T) {
	d := set(t, New(), "a", "KEEP 7", 1000)
	want := []byte{
		1,                // format
		1, 0xe9, 0x07, 0, // version, last, horizon
		2,                               // classes
		0, 0, 3, 3, 'U', 'T', 'C', 3, 0, // month, KEEP 3
		1, 0, 3, 3, 'U', 'T', 'C', 7, 0, // month, KEEP 7
		2,       // prefixes
		0, 0, 0, // the empty one
		1, 'a', 1, 1, 0xe9, 0x07, 1, 0xe9, 0x07, 4, 7, 0, // KEEP 7 from 1001
	}
	if got := d.AppendBinary(nil); !bytes.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// Every cut and every changed byte is an error or a valid directory.
func TestDamagedDirectory(t *testing.T) {
	data := exampleDirectory(t).AppendBinary(nil)
	for n := range data {
		if _, err := Decode(data[:n]); err == nil {
			t.Errorf("accepted %d of %d bytes", n, len(data))
		}
		for _, flip := range []byte{1, 0x80, 0xff} {
			damaged := bytes.Clone(data)
			damaged[n] ^= flip
			checkDecoded(t, damaged)
		}
	}
	if _, err := Decode(append(data, 0)); err == nil {
		t.Error("accepted a byte too many")
	}
}

// A forged count must not reserve memory.
func TestForgedCounts(t *testing.T) {
	head := []byte{1, 1, 1, 0}
	for _, data := range [][]byte{
		binary.AppendUvarint(bytes.Clone(head), 1<<62),
		append(bytes.Clone(head), 64),
		append(bytes.Clone(head), 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
		{1, 3, 1, 0, 0, 1, 0, 0, 0x80, 0x20},
	} {
		if n := testing.AllocsPerRun(1, func() {
			if _, err := Decode(data); err == nil {
				t.Errorf("accepted %v", data)
			}
		}); n > 30 {
			t.Errorf("%v allocations", n)
		}
	}
}

func TestOwnRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o Own
		if o.Reserved = rapid.Bool().Draw(t, "reserved"); o.Reserved {
			p := drawPartial(t)
			p = Partial{Given: p.Given &^ classFields}
			p.Values = drawPartial(t).Values
			p.Values.Delivered, p.Values.DeliveredTTL = 5, Minute
			o.Given = Partial{Given: p.Given, Values: p.over(Settings{})}
			if o.HasClass = rapid.Bool().Draw(t, "class"); o.HasClass {
				o.Class = ClassID(rapid.IntRange(0, MaxClasses-1).Draw(t, "id"))
			}
		}
		for range rapid.IntRange(0, 5).Draw(t, "cuts") {
			o.Cuts.Times = insertCut(o.Cuts.Times, rapid.Int64Range(1, MaxTime).Draw(t, "cut"))
		}
		if o.Cuts.Gone = rapid.Int64Range(0, 3).Draw(t, "gone"); o.Cuts.Gone > 0 {
			o.Cuts.GoneSince = rapid.Int64Range(0, MaxTime).Draw(t, "since")
		}
		data := AppendOwn(nil, o)
		again, err := DecodeOwn(data)
		if err != nil || !reflect.DeepEqual(again, o) {
			t.Fatalf("%+v is read back as %+v, %v", o, again, err)
		}
		for n := range data {
			if _, err := DecodeOwn(data[:n]); err == nil {
				t.Fatalf("accepted %d of %d bytes", n, len(data))
			}
		}
	})
}

// checkDecoded uses what was decoded from any bytes.
func checkDecoded(t *testing.T, data []byte) {
	d, err := Decode(data)
	if err != nil {
		return
	}
	written := d.AppendBinary(nil)
	again, err := Decode(written)
	if err != nil || !bytes.Equal(again.AppendBinary(nil), written) {
		t.Fatalf("not read back as written: %v", err)
	}
	for _, key := range []string{"", "home:42", "x\xff"} {
		for _, now := range []int64{-1 << 63, 0, 1_800_000_000_000, 1<<63 - 1} {
			v := d.View([]byte(key), nil)
			v.Explain(now)
			spans := v.Spans(nil, now)
			if current := v.Current(now); !spans[0].Holds(current) {
				t.Fatalf("%q at %d: the open window %+v is not searched: %+v", key, now, current, spans)
			}
			v.Until(now)
			if _, err := v.Decide(now, now); err != nil && InRange(now) {
				t.Fatal(err)
			}
			if own, ok := v.Rotate(nil, now); !ok || len(own.Cuts.Times) == 0 {
				t.Fatalf("%q at %d: not rotated", key, now)
			}
		}
	}
	d.Prune(1_800_000_000_000, func(ClassID) bool { return false })
	d.List()
	if next, _, err := d.Set("home:", Partial{Given: FieldKeep, Values: Settings{Keep: 9}}, 1_800_000_000_000); err == nil {
		next.Prune(MaxTime, func(ClassID) bool { return false })
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(New().AppendBinary(nil))
	f.Add(exampleDirectory(f).AppendBinary(nil))
	f.Add(exampleDirectory(f).Prune(1_800_000_000_000, func(ClassID) bool { return true }).AppendBinary(nil))
	f.Fuzz(checkDecoded)
}

func FuzzDecodeOwn(f *testing.F) {
	f.Add(AppendOwn(nil, Own{}))
	f.Add(AppendOwn(nil, Own{Reserved: true, HasClass: true, Class: 3, Cuts: Cuts{Times: []int64{1, 2, 1_800_000_000_000}, Gone: 4, GoneSince: 9}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := DecodeOwn(data)
		if err != nil {
			return
		}
		if again, err := DecodeOwn(AppendOwn(nil, o)); err != nil || !reflect.DeepEqual(again, o) {
			t.Fatalf("%+v is read back as %+v, %v", o, again, err)
		}
		d := New()
		v := d.View([]byte("x"), &o)
		v.Explain(1_800_000_000_000)
		v.Rotate(nil, 1_800_000_000_000)
	})
}

func FuzzDecodeClockState(f *testing.F) {
	f.Add(ClockState{}.AppendBinary(nil))
	f.Add(ClockState{Uptime: 9, Wall: 10, Reason: WallMoved, Difference: -7, Passed: 3, Marks: []ClockMark{{4, 1}, {10, 9}}}.AppendBinary(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := DecodeClockState(data)
		if err != nil {
			return
		}
		if again, err := DecodeClockState(s.AppendBinary(nil)); err != nil || !reflect.DeepEqual(again, s) {
			t.Fatalf("%+v is read back as %+v, %v", s, again, err)
		}
		g := NewClockGuard(s, Hour, s.Wall+Minute, 0)
		g.Observe(s.Wall+2*Minute, Minute)
		if _, err := DecodeClockState(g.State().AppendBinary(nil)); err != nil {
			t.Fatal(err)
		}
	})
}
