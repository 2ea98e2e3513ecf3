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
	"dedupd/server"
	"dedupd/storage"
)

// hotShare is the part of --maxmemory that the hot layer may take. The rest
// is for connections, the log's buffers and the collector's slack.
const hotShare = 0.75

// instance is a running dedupd: what start opened, serve ends in reverse.
type instance struct {
	cfg      config
	log      *slog.Logger
	listener net.Listener
	store    *storage.Store
	server   *server.Server
}

// start opens listener and store, the cheap one that fails for a silly reason
// first. After an error nothing is left open.
func start(cfg config, stderr io.Writer) (*instance, error) {
	began := time.Now()
	in := &instance{cfg: cfg, log: slog.New(slog.NewTextHandler(stderr, nil))}
	debug.SetMemoryLimit(cfg.memory)
	var err error
	if in.listener, err = net.Listen("tcp", cfg.addr); err != nil {
		return nil, err
	}
	in.store, err = storage.Open(storage.Options{
		FS: vfs.Default, Dir: cfg.dir, Fsync: cfg.fsyncMode, HotBytes: int64(float64(cfg.memory) * hotShare),
		AcceptDamage: cfg.acceptDamage, Logger: in.log,
	})
	if err != nil {
		return nil, errors.Join(err, in.listener.Close())
	}
	if err = in.newServer(); err != nil {
		return nil, errors.Join(err, in.store.Close(), in.listener.Close())
	}
	in.announce(time.Since(began))
	return in, nil
}

func (in *instance) newServer() error {
	var handler *commands.Handler
	cfg := server.DefaultConfig()
	cfg.Password, cfg.MaxClients, cfg.IdleTimeout, cfg.Logger = in.cfg.requirePass, in.cfg.maxClients, in.cfg.timeout, in.log
	cfg.NewSession = func(c *server.Conn) server.Session { return handler.NewSession(c) }
	var err error
	if in.server, err = server.New(cfg); err != nil {
		return err
	}
	handler = commands.NewHandler(commands.Options{
		Store: in.store, Version: version, Port: in.listener.Addr().(*net.TCPAddr).Port, Settings: in.cfg.settings(),
		Stats:  func() commands.ServerStats { return serverStats(in.server.Stats()) },
		Memory: func() commands.Memory { return memoryNow(in.cfg.memory) },
	})
	return nil
}

func serverStats(st server.Stats) commands.ServerStats {
	return commands.ServerStats{
		Clients: st.Clients, MaxClients: st.MaxClients, Accepted: st.Accepted, Rejected: st.Rejected,
		Commands: st.Commands, BytesIn: st.BytesIn, BytesOut: st.BytesOut, AuthFailures: st.AuthFailures,
		ProtocolErrors: st.ProtocolErrors, OutputTimeouts: st.OutputTimeouts, Panics: st.Panics,
	}
}

// settings is what CONFIG GET shows, under Redis's names. Passwords are not
// among them.
func (c *config) settings() []commands.Setting {
	_, port, _ := net.SplitHostPort(c.addr)
	return []commands.Setting{
		{Name: "appendfsync", Value: c.fsyncMode.String()},
		{Name: "appendonly", Value: "yes"},
		{Name: "databases", Value: "1"},
		{Name: "dir", Value: c.dir},
		{Name: "maxclients", Value: strconv.Itoa(c.maxClients)},
		{Name: "maxmemory", Value: strconv.FormatInt(c.memory, 10)},
		{Name: "maxmemory-policy", Value: "noeviction"},
		{Name: "port", Value: port},
		{Name: "save", Value: ""},
		{Name: "timeout", Value: strconv.Itoa(int(c.timeout.Seconds()))},
	}
}

// announce is the one line that a start prints.
func (in *instance) announce(took time.Duration) {
	st := in.store.Stats()
	in.log.Info("dedupd "+version+" is ready", "addr", in.listener.Addr().String(), "dir", in.cfg.dir,
		"fsync", in.cfg.fsyncMode.String(), "maxmemory", in.cfg.memory,
		"recovered", fmt.Sprintf("%d keys, %d played, %d delivered from %d records (%d bytes)",
			st.Keys, st.Staged, st.Delivered, st.Recovery.Records, st.Recovery.Bytes),
		"took", took.Round(time.Millisecond).String())
}

// serve answers clients until ctx ends, then drains and closes: clients
// first, the store last.
func (in *instance) serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- in.server.Serve(in.listener) }()
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-served:
		served <- nil
	}
	grace, cancel := context.WithTimeout(context.Background(), in.cfg.shutdownGrace)
	defer cancel()
	drained := in.server.Shutdown(grace)
	if errors.Is(drained, context.DeadlineExceeded) {
		in.log.Warn("clients were cut: they did not finish in time", "grace", in.cfg.shutdownGrace)
		drained = nil
	}
	err := errors.Join(failed, drained, <-served, in.store.Close())
	if err == nil {
		in.log.Info("dedupd has stopped; everything acknowledged is on disk")
	}
	return err
}
