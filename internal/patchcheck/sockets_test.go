package patchcheck

import (
	"context"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func checkSockets(t *testing.T, dir string) {
	t.Helper()
	for name, want := range map[string]fs.FileMode{"a": fs.ModeDir | 0o755, "a/agent.sock": fs.ModeSocket | 0o666, "b": fs.ModeDir | 0o700, "b/admin.sock": fs.ModeSocket | 0o600} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || info.Mode() != want {
			t.Errorf("%s is %v, want %v (%v)", name, info.Mode(), want, err)
		}
	}
}

// TestAdminDirectory: the admin socket goes into no directory that others can come into, and through no link.
func TestAdminDirectory(t *testing.T) {
	r := newRig(t, NoFutureTest)
	for name, plant := range map[string]func(dir string) error{
		"open to others": func(dir string) error { return os.Mkdir(dir, 0o755) },
		"a link":         func(dir string) error { return os.Symlink(t.TempDir(), dir) },
		"a file":         func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
	} {
		base := t.TempDir()
		dir := filepath.Join(base, "admin")
		if err := plant(dir); err != nil {
			t.Fatal(err)
		}
		s, err := ListenSockets(t.Context(), NewDaemon(r.c, DaemonConfig{}), filepath.Join(base, "agent", "s"), filepath.Join(dir, "s"))
		if err == nil {
			s.Close()
			t.Errorf("%s: served", name)
		}
	}
}

// TestStaleSocket: what a daemon that was killed left behind does not keep the next one from starting; a file is no socket.
func TestStaleSocket(t *testing.T) {
	r := newRig(t, NoFutureTest)
	dir := t.TempDir()
	agent, admin := filepath.Join(dir, "a", "s"), filepath.Join(dir, "b", "s")
	if err := os.Mkdir(filepath.Dir(agent), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", agent)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	s, err := ListenSockets(t.Context(), NewDaemon(r.c, DaemonConfig{}), agent, admin)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(agent, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err = ListenSockets(t.Context(), NewDaemon(r.c, DaemonConfig{}), agent, admin); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("a file in the place of the socket: %v, %v", s, err)
	}
}

// TestHole11DeathIsNoticed: a server that ends is noticed at once, before and after it was ready.
func TestHole11DeathIsNoticed(t *testing.T) {
	r := newRig(t, NoFutureTest)
	dir := t.TempDir()
	s, err := ListenSockets(t.Context(), NewDaemon(r.c, DaemonConfig{}), filepath.Join(dir, "a", "s"), filepath.Join(dir, "b", "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	address := Address{"the daemon", s.Agent, "http://localhost/version"}
	if err := Await(t.Context(), time.Minute, s.Died(), address); err != nil {
		t.Fatal(err)
	}
	s.listeners[1].Close() // as if serving had failed
	select {
	case <-s.Died():
	case <-time.After(time.Minute):
		t.Fatal("nobody noticed")
	}
	began := time.Now()
	if err := Await(t.Context(), time.Minute, s.Died(), address); err == nil || !strings.Contains(err.Error(), "it ended") || time.Since(began) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	if err := Await(t.Context(), 20*time.Millisecond, nil, Address{"nothing", filepath.Join(dir, "none"), "http://localhost/"}); err == nil || !strings.Contains(err.Error(), "waiting 20ms for nothing") {
		t.Errorf("a server that never comes: %v", err)
	}
}

// TestAwaitWantsAnAnswer: a server that answers with errors of its own is not ready.
func TestAwaitWantsAnAnswer(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	status := make(chan int, 1)
	status <- 503
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s := <-status
		w.WriteHeader(s)
		status <- 404
	})}
	go server.Serve(l)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := Await(ctx, time.Minute, nil, Address{"x", socket, "http://localhost/mcp"}); err != nil {
		t.Error(err)
	}
	if got := <-status; got != 404 {
		t.Errorf("ready after the first answer")
	}
}
