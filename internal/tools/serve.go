package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare/internal/workspace"
)

// Path is where a world is served below an HTTP address.
const Path = "/mcp"

// stateless is the first version of the protocol that has no sessions; its clients name it in a header.
const stateless = "2026-07-28"

const (
	maxBody   = 8 << 20                // a write_file of the largest size, escaped
	maxFrame  = 8 << 20                // the same over stdio
	idle      = 30 * time.Minute       // after which a session that its client forgot is dropped
	lastWords = 500 * time.Millisecond // for answers to calls that Close cancelled
)

// ServeIO serves one client over a pair of streams until it closes its end or ctx ends. stdout belongs to the protocol:
// nothing else may write to it.
func (w *endpoint) ServeIO(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	session, err := w.server.Connect(ctx, &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: maxFrame}, nil)
	if err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		// A reader that is not there to be interrupted would keep Close waiting: the world's calls are cancelled first.
		w.cancelCalls()
		in.Close()
		session.Close()
		err = ctx.Err()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil
	}
	return err
}

// cancelCalls cancels what is under way and refuses what comes.
func (w *endpoint) cancelCalls() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel(errClosed)
}

// Handler serves the world over streamable HTTP. Clients of the newest protocol are served without sessions, so that a
// connection which ends cancels its call; for older ones, whose cancellation is a message of its own, sessions are kept.
// Requests of web pages are refused: those with a foreign Origin, and, at a loopback address, with a foreign Host.
func (w *endpoint) Handler() http.Handler {
	get := func(*http.Request) *mcp.Server { return w.server }
	newest := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody})
	older := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{MaxRequestBodyBytes: maxBody, SessionTimeout: idle})
	mux := http.NewServeMux()
	mux.HandleFunc(Path, func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= stateless {
			newest.ServeHTTP(rw, r)
			return
		}
		older.ServeHTTP(rw, r)
	})
	return http.NewCrossOriginProtection().Handler(mux)
}

// A Listener serves a world over HTTP until it is closed.
type Listener struct {
	URL    string // of the MCP endpoint; of a Unix socket, one whose host means nothing
	server *http.Server
	done   chan error
}

// ListenTCP serves the world at addr, "host:port" or ":port" or "port". Without a host that is 127.0.0.1: nobody but this
// machine's users reaches a world unless its address says so. There is no authentication.
func (w *endpoint) ListenTCP(ctx context.Context, addr string) (*Listener, error) {
	if !strings.Contains(addr, ":") {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	return w.serve(l, "http://"+l.Addr().String()+Path), nil
}

// ListenUnix serves the world on a Unix socket at path, which only its owner may use. An existing file there is an error.
func (w *endpoint) ListenUnix(ctx context.Context, path string) (*Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("listening: %w", err)
	}
	return w.serve(l, "http://localhost"+Path), nil
}

func (w *endpoint) serve(l net.Listener, url string) *Listener {
	out := &Listener{URL: url, done: make(chan error, 1), server: &http.Server{
		Handler:           w.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    64 << 10,
	}}
	go func() { out.done <- out.server.Serve(l) }()
	return out
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
	return socket, sync.OnceValue(func() error { return errors.Join(w.Close(), l.Close(), held.Remove()) }), nil
}

// Close closes the world, then the socket. When it returns no call is under way and none will be recorded.
func (l *Local) Close() error { return l.close() }

// Close stops listening and drops all connections. Close the World first: then calls under way have ended, and what is
// dropped are idle connections and, after a moment, clients that do not read their answers.
func (l *Listener) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	// Streams that clients hold open for notifications never become idle, so that this mostly runs into its limit; it
	// returns early when there are none.
	_ = l.server.Shutdown(ctx)
	err := errors.Join(l.server.Close(), <-l.done)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
