package tools

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"sync"

	"tare/internal/mcpserve"
	"tare/internal/workspace"
)

// A Listener serves a world over HTTP until it is closed.
type Listener = mcpserve.Listener

// ServeIO serves one client over a pair of streams until it closes its end or ctx ends. stdout belongs to the protocol:
// nothing else may write to it.
func (w *endpoint) ServeIO(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return mcpserve.ServeIO(ctx, w.server, in, out, w.cancelCalls)
}

// cancelCalls cancels what is under way and refuses what comes.
func (w *endpoint) cancelCalls() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel(errClosed)
}

// Handler serves the world over streamable HTTP.
func (w *endpoint) Handler() http.Handler { return w.faults.Handler(mcpserve.Handler(w.server)) }

// ListenTCP serves the world at addr, "host:port" or ":port" or "port". Without a host that is 127.0.0.1. There is no
// authentication.
func (w *endpoint) ListenTCP(ctx context.Context, addr string) (*Listener, error) {
	return mcpserve.ListenTCP(ctx, addr, w.Handler())
}

// ListenUnix serves the world on a Unix socket at path, which only its owner may use. An existing file there is an error.
func (w *endpoint) ListenUnix(ctx context.Context, path string) (*Listener, error) {
	return mcpserve.ListenUnix(ctx, path, 0o600, w.Handler())
}

// A Local is a world of its own behind a Unix socket in the sandbox's state, where agents of every kind find it.
type Local struct {
	*World
	Socket string
	close  func() error
}

// ServeLocal opens a world and serves it at a new socket.
func ServeLocal(ctx context.Context, cfg Config) (*Local, error) {
	w, err := New(cfg)
	if err != nil {
		return nil, err
	}
	socket, done, err := w.serveLocal(ctx, cfg.Sandbox.NewDir)
	if err != nil {
		return nil, err
	}
	return &Local{World: w, Socket: socket, close: done}, nil
}

// serveLocal serves an endpoint at a new socket in a directory that newDir makes. done closes the endpoint, then the socket;
// on an error both are closed.
func (w *endpoint) serveLocal(ctx context.Context, newDir func(pattern string) (string, error)) (socket string, done func() error, err error) {
	dir, err := newDir("m-*")
	if err != nil {
		return "", nil, errors.Join(err, w.Close())
	}
	held := &workspace.Workspace{Dir: dir}
	socket = filepath.Join(dir, "s")
	l, err := w.ListenUnix(ctx, socket)
	if err != nil {
		return "", nil, errors.Join(err, w.Close(), held.Remove())
	}
	return socket, sync.OnceValue(func() error {
		err := errors.Join(w.Close(), l.Close())
		mcpserve.EndSessions(w.server)
		return errors.Join(err, held.Remove())
	}), nil
}

// Close closes the world, then the socket. When it returns no call is under way and none will be recorded.
func (l *Local) Close() error { return l.close() }
