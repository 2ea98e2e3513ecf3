package flusher

import "testing"

func TestLedgerKeepsTheNewest(t *testing.T) {
	var l ledger
	for slot := uint64(1); slot <= 3*LedgerSize+7; slot++ {
		l.add(Outcome{Result: Result{Slot: slot}})
		all := l.outcomes()
		if uint64(len(all)) != min(slot, LedgerSize) {
			t.Fatalf("%d outcomes of %d", len(all), slot)
		}
		if first, last := all[0].Slot, all[len(all)-1].Slot; last != slot || last-first != uint64(len(all)-1) {
			t.Fatalf("outcomes from %d to %d of %d", first, last, slot)
		}
		all[0].Slot = 0 // a copy
	}
}
