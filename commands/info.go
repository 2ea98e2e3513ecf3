package commands

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"dedupd/storage/log"
)

// section is one part of INFO; write appends its lines.
type section struct {
	name  string
	write func(b *strings.Builder, h *Handler)
}

// infoSections are Redis's, with its field names where there is a field to
// it, and our own at the end.
var infoSections = []section{
	{"Server", infoServer}, {"Clients", infoClients}, {"Memory", infoMemory}, {"Persistence", infoPersistence},
	{"Stats", infoStats}, {"Replication", infoReplication}, {"CPU", infoCPU}, {"Modules", infoModules},
	{"Cluster", infoCluster}, {"Keyspace", infoKeyspace}, {"Dedup", infoDedup},
}

// info writes the sections asked for, each once; without arguments, or with
// default, all or everything, all of them.
func (c *call) info() {
	wanted := func(name string) bool {
		if len(c.args) == 1 {
			return true
		}
		for _, arg := range c.args[1:] {
			if is(arg, strings.ToLower(name)) || is(arg, "default") || is(arg, "all") || is(arg, "everything") {
				return true
			}
		}
		return false
	}
	var b strings.Builder
	for _, s := range infoSections {
		if !wanted(s.name) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("# " + s.name + "\r\n")
		s.write(&b, c.session.handler)
	}
	c.verbatim(b.String())
}

func line(b *strings.Builder, name string, value any) {
	fmt.Fprintf(b, "%s:%v\r\n", name, value)
}

func infoServer(b *strings.Builder, h *Handler) {
	line(b, "redis_version", redisVersion)
	line(b, "redis_mode", "standalone")
	line(b, "dedupd_version", h.Version)
	line(b, "os", runtime.GOOS+" "+runtime.GOARCH)
	line(b, "arch_bits", 64)
	line(b, "go_version", runtime.Version())
	line(b, "process_id", os.Getpid())
	line(b, "run_id", h.runID)
	line(b, "tcp_port", h.Port)
	line(b, "server_time_usec", time.Now().UnixMicro())
	up := int64(time.Since(h.start).Seconds())
	line(b, "uptime_in_seconds", up)
	line(b, "uptime_in_days", up/86400)
}

func infoClients(b *strings.Builder, h *Handler) {
	st := h.Stats()
	line(b, "connected_clients", st.Clients)
	line(b, "maxclients", st.MaxClients)
	line(b, "blocked_clients", 0)
	line(b, "client_bytes", st.ClientBytes)
	line(b, "client_memory_refusals", st.MemoryRefusals)
}

func infoMemory(b *strings.Builder, h *Handler) {
	m, st := h.Memory(), h.Store.Stats()
	line(b, "used_memory", m.Total)
	line(b, "used_memory_rss", m.RSS)
	line(b, "used_memory_dataset", st.HotBytes)
	line(b, "maxmemory", m.Limit)
	line(b, "maxmemory_policy", "noeviction")
	line(b, "mem_allocator", "go")
}

func infoPersistence(b *strings.Builder, h *Handler) {
	st := h.Store.Stats()
	line(b, "loading", 0)
	line(b, "aof_enabled", 1)
	status := "ok"
	if st.ReadOnly != nil {
		status = "err"
	}
	line(b, "aof_last_write_status", status)
	line(b, "aof_current_size", st.Log.Bytes)
}

func infoStats(b *strings.Builder, h *Handler) {
	st := h.Stats()
	line(b, "total_connections_received", st.Accepted)
	line(b, "total_commands_processed", st.Commands)
	line(b, "total_net_input_bytes", st.BytesIn)
	line(b, "total_net_output_bytes", st.BytesOut)
	line(b, "rejected_connections", st.Rejected)
	line(b, "acl_access_denied_auth", st.AuthFailures)
	line(b, "protocol_errors", st.ProtocolErrors)
	line(b, "client_output_timeouts", st.OutputTimeouts)
	line(b, "session_panics", st.Panics)
}

func infoReplication(b *strings.Builder, h *Handler) {
	line(b, "role", "master")
	line(b, "connected_slaves", 0)
	line(b, "master_replid", h.runID)
	line(b, "master_repl_offset", uint64(h.Store.Stats().Log.Appended))
}

func infoCPU(b *strings.Builder, _ *Handler) {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return
	}
	seconds := func(t syscall.Timeval) string { return fmt.Sprintf("%d.%06d", t.Sec, t.Usec) }
	line(b, "used_cpu_sys", seconds(ru.Stime))
	line(b, "used_cpu_user", seconds(ru.Utime))
}

func infoModules(b *strings.Builder, _ *Handler) {}

func infoCluster(b *strings.Builder, _ *Handler) { line(b, "cluster_enabled", 0) }

func infoKeyspace(b *strings.Builder, h *Handler) {
	if keys := h.Store.Stats().Keys; keys > 0 {
		line(b, "db0", fmt.Sprintf("keys=%d,expires=0,avg_ttl=0", keys))
	}
}

func infoDedup(b *strings.Builder, h *Handler) {
	st := h.Store.Stats()
	line(b, "hot_keys", st.Keys)
	line(b, "hot_bytes", st.HotBytes)
	line(b, "hot_bytes_limit", st.HotLimit)
	line(b, "staged_items", st.Staged)
	line(b, "delivered_items", st.Delivered)
	line(b, "open_slot", st.OpenSlot)
	line(b, "sealed_slots", st.Sealed)
	line(b, "stored_slot", st.StoredSlot)
	line(b, "hot_table_bytes", st.TableBytes)
	line(b, "hot_unstored_bytes", st.Unstored)
	infoCold(b, h)
	infoLog(b, st.Log)
	line(b, "recovered_records", st.Recovery.Records)
	line(b, "recovered_bytes", st.Recovery.Bytes)
	readOnly, reason := 0, ""
	if st.ReadOnly != nil {
		readOnly, reason = 1, st.ReadOnly.Error()
	}
	line(b, "read_only", readOnly)
	line(b, "read_only_reason", strings.Join(strings.Fields(reason), " "))
}

func infoLog(b *strings.Builder, st log.Stats) {
	line(b, "log_segments", st.Segments)
	line(b, "log_bytes", st.Bytes)
	line(b, "log_appended_position", uint64(st.Appended))
	line(b, "log_synced_position", uint64(st.Synced))
	line(b, "log_syncs", st.Syncs)
}

func infoCold(b *strings.Builder, h *Handler) {
	st, err := h.Store.Cold()
	if err != nil {
		line(b, "cold_error", strings.Join(strings.Fields(err.Error()), " "))
		return
	}
	line(b, "cold_read_amplification", st.ReadAmp)
	line(b, "cold_table_bytes", st.TableBytes)
}
