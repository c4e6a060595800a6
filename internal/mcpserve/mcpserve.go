// Package mcpserve is what the MCP servers of all worlds have in common: how they are reached, over stdio, over HTTP on a
// TCP address and over HTTP on a Unix socket, and how their calls are counted and recorded together.
package mcpserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Path is where a server is found below an HTTP address.
const Path = "/mcp"

// stateless is the first version of the protocol that has no sessions; its clients name it in a header.
const stateless = "2026-07-28"

const (
	maxBody   = 8 << 20                // a write_file of the largest size, escaped
	maxFrame  = 8 << 20                // the same over stdio
	idle      = 30 * time.Minute       // after which a session that its client forgot is dropped
	lastWords = 500 * time.Millisecond // for answers to calls that Close cancelled
)

// ServeIO serves one client over a pair of streams until it closes its end or ctx ends; cancel must then cancel the calls
// that are under way. stdout belongs to the protocol: nothing else may write to it.
func ServeIO(ctx context.Context, server *mcp.Server, in io.ReadCloser, out io.WriteCloser, cancel func()) error {
	session, err := server.Connect(ctx, &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: maxFrame}, nil)
	if err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		// A reader that is not there to be interrupted would keep Close waiting: the world's calls are cancelled first.
		cancel()
		in.Close()
		session.Close()
		err = ctx.Err()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil
	}
	return err
}

// Handler serves a server over streamable HTTP at Path. Clients of the newest protocol are served without sessions, so that
// a connection which ends cancels its call; for older ones, whose cancellation is a message of its own, sessions are kept.
// Requests of web pages are refused: those with a foreign Origin, and, at a loopback address, with a foreign Host.
func Handler(server *mcp.Server) http.Handler {
	get := func(*http.Request) *mcp.Server { return server }
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

// EndSessions ends the sessions that clients of older protocols left open: each would hold all that its server works on until it is
// found idle. It is for a server whose calls have ended and which no listener serves any more.
func EndSessions(server *mcp.Server) {
	for s := range server.Sessions() {
		_ = s.Close() // how a client went is none of our failures
	}
}

// A Listener serves HTTP until it is closed.
type Listener struct {
	URL    string // of the MCP endpoint, where there is one; of a Unix socket, one whose host means nothing
	server *http.Server
	ended  chan struct{}
	err    error // of Serve, once ended is closed
}

// ListenTCP serves h at addr, "host:port" or ":port" or "port". Without a host that is 127.0.0.1: nobody but this machine's
// users reaches a server unless its address says so.
func ListenTCP(ctx context.Context, addr string, h http.Handler) (*Listener, error) {
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
	return serve(l, "http://"+l.Addr().String()+Path, h), nil
}

// ListenUnix serves h on a Unix socket at path with that mode. An existing file there is an error.
func ListenUnix(ctx context.Context, path string, mode os.FileMode, h http.Handler) (*Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	if err := os.Chmod(path, mode); err != nil {
		l.Close()
		return nil, fmt.Errorf("listening: %w", err)
	}
	return serve(l, "http://localhost"+Path, h), nil
}

func serve(l net.Listener, url string, h http.Handler) *Listener {
	out := &Listener{URL: url, ended: make(chan struct{}), server: &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    64 << 10,
	}}
	go func() {
		defer close(out.ended)
		out.err = out.server.Serve(l)
	}()
	return out
}

// Ended is closed when nothing is served any more, because of Close or because serving failed.
func (l *Listener) Ended() <-chan struct{} { return l.ended }

// Close stops listening and drops all connections. Close what is served first: then calls under way have ended, and what is
// dropped are idle connections and, after a moment, clients that do not read their answers.
func (l *Listener) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	// Streams that clients hold open for notifications never become idle, so that this mostly runs into its limit; it
	// returns early when there are none.
	_ = l.server.Shutdown(ctx)
	err := l.server.Close()
	<-l.ended
	err = errors.Join(err, l.err)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
