package server

import "sync/atomic"

// Stats is a snapshot. All but Clients and ClientBytes count since New; a snapshot taken while
// clients work may be of slightly different moments for each field.
type Stats struct {
	Clients    int64 // connections being served
	MaxClients int64

	Accepted     int64 // connections served, now or before
	Rejected     int64 // connections refused because of MaxClients
	AcceptErrors int64

	Commands int64 // commands executed
	BytesIn  int64
	BytesOut int64

	AuthFailures   int64
	ProtocolErrors int64 // connections ended by one
	HTTPRequests   int64 // connections cut at an HTTP request's first line
	IdleTimeouts   int64 // connections dropped for silence
	OutputTimeouts int64 // connections dropped for not reading
	Killed         int64 // connections cut by Kill or at the end of a drain
	WaitErrors     int64 // batches of replies whose durability failed
	Panics         int64 // sessions that panicked

	ClientBytes    int64 // held for clients now, as Config.MaxClientBytes counts it
	MemoryRefusals int64 // growths refused because of MaxClientBytes
}

// counters are the live form of Stats.
type counters struct {
	accepted, rejected, acceptErrors           atomic.Int64
	commands, bytesIn, bytesOut                atomic.Int64
	authFailures, protocolErrors, httpRequests atomic.Int64
	idleTimeouts, outputTimeouts, killed       atomic.Int64
	waitErrors, panics, memoryRefusals         atomic.Int64
}

// Stats returns a snapshot. Safe from any goroutine.
func (s *Server) Stats() Stats {
	n := &s.counters
	return Stats{
		Clients:        int64(s.clients()),
		MaxClients:     int64(s.cfg.MaxClients),
		Accepted:       n.accepted.Load(),
		Rejected:       n.rejected.Load(),
		AcceptErrors:   n.acceptErrors.Load(),
		Commands:       n.commands.Load(),
		BytesIn:        n.bytesIn.Load(),
		BytesOut:       n.bytesOut.Load(),
		AuthFailures:   n.authFailures.Load(),
		ProtocolErrors: n.protocolErrors.Load(),
		HTTPRequests:   n.httpRequests.Load(),
		IdleTimeouts:   n.idleTimeouts.Load(),
		OutputTimeouts: n.outputTimeouts.Load(),
		Killed:         n.killed.Load(),
		WaitErrors:     n.waitErrors.Load(),
		Panics:         n.panics.Load(),
		ClientBytes:    s.budget.used.Load(),
		MemoryRefusals: n.memoryRefusals.Load(),
	}
}
