package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dedupd/commands"
	"dedupd/flusher"
	"dedupd/server"
	"dedupd/storage"
)

// The parts of --maxmemory. The rest is for Pebble's memtables, the log's
// buffers and the collector's slack.
const (
	hotShare     = 0.6
	cacheShare   = 0.15
	clientsShare = 0.1 // unfinished commands and unread replies of all clients
	// unstoredShare is the part of the hot layer that may wait to be stored
	// before slots end early.
	unstoredShare = 0.6
)

// instance is a running dedupd: what start opened, serve ends in reverse.
type instance struct {
	cfg      config
	log      *slog.Logger
	listener net.Listener
	store    *storage.Store
	wheel    *flusher.Flusher
	server   *server.Server

	stopping context.Context // ends when clients may wait no longer for the wheel
	stop     context.CancelFunc
}

// start opens listener and store, the cheap one that fails for a silly reason
// first. After an error nothing is left open.
func start(ctx context.Context, cfg config, stderr io.Writer) (*instance, error) {
	began := time.Now()
	in := &instance{cfg: cfg, log: slog.New(slog.NewTextHandler(stderr, nil))}
	debug.SetMemoryLimit(cfg.memory)
	var err error
	if in.listener, err = net.Listen("tcp", cfg.addr); err != nil {
		return nil, err
	}
	in.store, err = storage.Open(ctx, storage.Options{
		FS: vfs.Default, Dir: cfg.dir, Fsync: cfg.fsyncMode, HotBytes: cfg.share(hotShare), CacheBytes: cfg.share(cacheShare),
		MaxSealed: cfg.wheelSlots, AcceptDamage: cfg.acceptDamage, Logger: in.log,
	})
	if err != nil {
		return nil, errors.Join(err, in.listener.Close())
	}
	in.stopping, in.stop = context.WithCancel(context.Background())
	if err = errors.Join(in.newWheel(), in.newServer()); err != nil {
		return nil, errors.Join(err, in.store.Close(), in.listener.Close())
	}
	in.announce(time.Since(began))
	if st := in.store.Stats(); st.HotBytes > st.HotLimit {
		in.log.Warn("what was recovered takes more than --maxmemory allows; writes answer -OOM until slots are stored",
			"hot_bytes", st.HotBytes, "limit", st.HotLimit)
	}
	return in, nil
}

// share is a part of the memory, in bytes.
func (c *config) share(part float64) int64 { return int64(float64(c.memory) * part) }

func (in *instance) newWheel() (err error) {
	cfg := flusher.DefaultConfig()
	cfg.Slot, cfg.MaxSealed, cfg.Logger = in.cfg.wheelSlot, in.cfg.wheelSlots, in.log
	store := wheelStore{Store: in.store, budget: in.cfg.share(hotShare * unstoredShare)}
	in.wheel, err = flusher.New(store, cfg)
	return err
}

func (in *instance) newServer() error {
	var handler *commands.Handler
	cfg := server.DefaultConfig()
	cfg.Password, cfg.MaxClients, cfg.IdleTimeout, cfg.Logger = in.cfg.requirePass, in.cfg.maxClients, in.cfg.timeout, in.log
	cfg.MaxClientBytes = in.cfg.share(clientsShare)
	cfg.NewSession = func(c *server.Conn) server.Session { return handler.NewSession(c) }
	var err error
	if in.server, err = server.New(cfg); err != nil {
		return err
	}
	handler = commands.NewHandler(commands.Options{
		Store: in.store, Version: version, Port: in.listener.Addr().(*net.TCPAddr).Port, Settings: in.settings(),
		Stats:  func() commands.ServerStats { return serverStats(in.server.Stats()) },
		Memory: func() commands.Memory { return memoryNow(in.cfg.memory) },
		Wheel:  wheelCommands{in.wheel}, Context: in.stopping,
	})
	return nil
}

func serverStats(st server.Stats) commands.ServerStats {
	return commands.ServerStats{
		Clients: st.Clients, MaxClients: st.MaxClients, Accepted: st.Accepted, Rejected: st.Rejected,
		Commands: st.Commands, BytesIn: st.BytesIn, BytesOut: st.BytesOut, AuthFailures: st.AuthFailures,
		ProtocolErrors: st.ProtocolErrors, OutputTimeouts: st.OutputTimeouts, Panics: st.Panics,
		ClientBytes: st.ClientBytes, MemoryRefusals: st.MemoryRefusals,
	}
}

// settings is what CONFIG GET shows, under Redis's names. Passwords are not
// among them.
func (in *instance) settings() []commands.Setting {
	c := &in.cfg
	return []commands.Setting{
		{Name: "appendfsync", Value: c.fsyncMode.String()},
		{Name: "appendonly", Value: "yes"},
		{Name: "databases", Value: "1"},
		{Name: "dir", Value: c.dir},
		{Name: "maxclients", Value: strconv.Itoa(c.maxClients)},
		{Name: "maxmemory", Value: strconv.FormatInt(c.memory, 10)},
		{Name: "maxmemory-policy", Value: "noeviction"},
		{Name: "port", Value: strconv.Itoa(in.listener.Addr().(*net.TCPAddr).Port)},
		{Name: "save", Value: ""},
		{Name: "timeout", Value: strconv.Itoa(int(c.timeout.Seconds()))},
	}
}

// announce is the one line that a start prints.
func (in *instance) announce(took time.Duration) {
	st := in.store.Stats()
	in.log.Info("dedupd "+version+" is ready", "addr", in.listener.Addr().String(), "dir", in.cfg.dir,
		"fsync", in.cfg.fsyncMode.String(), "maxmemory", in.cfg.memory,
		"stored", fmt.Sprintf("up to slot %d", st.StoredSlot),
		"recovered", fmt.Sprintf("%d keys, %d played, %d delivered from %d records (%d bytes) in %d slots",
			st.Keys, st.Staged, st.Delivered, st.Recovery.Records, st.Recovery.Bytes, st.Sealed),
		"took", took.Round(time.Millisecond).String())
}

// serve answers clients until ctx ends, then drains and closes: clients
// first, then the wheel, the store last. Slots that are not stored yet stay in
// the log, which is on disk then.
func (in *instance) serve(ctx context.Context) error {
	in.wheel.Start()
	served := make(chan error, 1)
	go func() { served <- in.server.Serve(in.listener) }()
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-served:
		served <- nil
	}
	in.stop()
	grace, cancel := context.WithTimeout(context.Background(), in.cfg.shutdownGrace)
	defer cancel()
	drained := in.server.Shutdown(grace)
	if errors.Is(drained, context.DeadlineExceeded) {
		in.log.Warn("clients were cut: they did not finish in time", "grace", in.cfg.shutdownGrace)
		drained = nil
	}
	if cut := in.wheel.Stop(grace); cut != nil {
		in.log.Warn("storing a slot was cut short; the next start goes on with it", "reason", cut)
	}
	err := errors.Join(failed, drained, <-served, in.store.Close())
	if err == nil {
		in.log.Info("dedupd has stopped; everything acknowledged is on disk")
	}
	return err
}
