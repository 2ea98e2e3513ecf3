package commands

import (
	"regexp"
	"strings"
	"testing"
)

func TestInfoSections(t *testing.T) {
	n := openNode(t, nodeOptions{})
	defer n.close()
	s := n.session()
	s.do("DEDUP.ADD", "k", "a")
	s.do("DEDUP.DELIVER", "k", "b", "c")
	names := []string{"Server", "Clients", "Memory", "Persistence", "Stats", "Replication", "CPU", "Modules", "Cluster", "Keyspace", "Dedup"}
	for _, args := range [][]string{{"INFO"}, {"info", "ALL"}, {"INFO", "default"}, {"INFO", "Everything", "cpu"}, append([]string{"INFO"}, names...)} {
		if got := sectionsOf(s.do(args...)); strings.Join(got, " ") != strings.Join(names, " ") {
			t.Errorf("%q: sections %q", args, got)
		}
	}
	for _, name := range names {
		if got := sectionsOf(s.do("INFO", strings.ToUpper(name))); len(got) != 1 || got[0] != name {
			t.Errorf("%s: sections %q", name, got)
		}
	}
}

func sectionsOf(info string) (names []string) {
	for _, found := range regexp.MustCompile(`(?m)^# (\w+)\r$`).FindAllStringSubmatch(info, -1) {
		names = append(names, found[1])
	}
	return names
}

// Clients and exporters look for these, and each line has one form.
func TestInfoFields(t *testing.T) {
	n := openNode(t, nodeOptions{})
	defer n.close()
	s := n.session()
	s.do("DEDUP.ADD", "k", "a")
	s.do("DEDUP.DELIVER", "k", "b", "c")
	_, body, _ := strings.Cut(s.do("INFO"), "\r\n")
	fields := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(body, "\r\n"), "\r\n") {
		name, value, ok := strings.Cut(line, ":")
		if !ok && line != "" && !strings.HasPrefix(line, "# ") {
			t.Errorf("line %q", line)
		}
		fields[name] = value
	}
	for name, pattern := range map[string]string{
		"redis_version": `7\.\d+\.\d+`, "redis_mode": "standalone", "dedupd_version": `0\.0\.0`, "run_id": "[0-9a-f]{40}", "tcp_port": "6380",
		"uptime_in_seconds": `\d+`, "connected_clients": "1", "maxclients": "100", "used_memory": "3", "used_memory_rss": "1", "maxmemory": "4",
		"loading": "0", "role": "master", "connected_slaves": "0", "master_replid": "[0-9a-f]{40}", "master_repl_offset": `[1-9]\d*`,
		"used_cpu_user": `\d+\.\d{6}`, "cluster_enabled": "0", "db0": "keys=1,expires=0,avg_ttl=0", "aof_last_write_status": "ok",
		"staged_items": "1", "delivered_items": "2", "hot_keys": "1", "read_only": "0", "read_only_reason": "", "total_commands_processed": `\d+`,
	} {
		if got, ok := fields[name]; !ok || !regexp.MustCompile("^(?:"+pattern+")$").MatchString(got) {
			t.Errorf("%s:%s, want %s", name, got, pattern)
		}
	}
}

func TestInfoSaysWhyWritesAreRefused(t *testing.T) {
	n := openNode(t, nodeOptions{})
	s := n.session()
	n.close()
	for _, line := range []string{"aof_last_write_status:err\r\n", "read_only:1\r\n", "read_only_reason:writes are refused"} {
		if info := s.do("INFO"); !strings.Contains(info, line) {
			t.Errorf("%q is missing from %q", line, info)
		}
	}
}
