// Package mcpproxy puts itself before any MCP server, so that an agent can be graded in a world that nobody here made. The
// server's own catalogue is the contract, what is observed of it are the answers to read-only calls, and faults that can be
// made on the way (an answer that is lost, late or damaged, a server that is not available) are injected and reported.
package mcpproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
)

const (
	startTime = 60 * time.Second // for a server to start: one from a registry may have to be fetched
	callTime  = 60 * time.Second // for one answer
	endTime   = 2 * time.Second  // for a server to end by itself
	maxTools  = 2000
	maxStderr = 4 << 10
	mostDelay = 10 * time.Second
)

// A Config says which server to put the proxy before.
type Config struct {
	Spec tare.MCPSpec
	Seed int64
	Dir  string // where the directory really lies that Spec.Dir stands for
}

// A Proxy is before one server. Its methods must not be called at once.
type Proxy struct {
	cfg       Config
	session   *mcp.ClientSession
	process   *exec.Cmd // nil: the server runs by itself
	stderr    *tail
	catalogue tare.Catalogue
	faults    *tare.FaultPlan
}

// Open starts the server, or connects to it, and asks for its tools.
func Open(ctx context.Context, cfg Config) (*Proxy, error) {
	p := &Proxy{cfg: cfg, stderr: &tail{}, faults: tare.PlanFaults(cfg.Seed, cfg.Spec.Faults)}
	began, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	var transport mcp.Transport
	if len(cfg.Spec.Command) > 0 {
		p.process = p.command()
		transport = &mcp.CommandTransport{Command: p.process, TerminateDuration: endTime}
	} else {
		transport = &mcp.StreamableClientTransport{Endpoint: cfg.Spec.URL, MaxRetries: -1, DisableStandaloneSSE: true}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "tare", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	var err error
	if p.session, err = client.Connect(began, transport, nil); err != nil {
		p.kill()
		return nil, fmt.Errorf("connecting to the server of the world: %w", p.explained(err))
	}
	if err := p.list(began); err != nil {
		return nil, errors.Join(fmt.Errorf("listing the tools of the world: %w", p.explained(err)), p.Close())
	}
	return p, nil
}

// command is the server as a process of its own, which knows of this one's environment only how to find programs.
func (p *Proxy) command() *exec.Cmd {
	argv := make([]string, len(p.cfg.Spec.Command))
	for i, a := range p.cfg.Spec.Command {
		argv[i] = strings.ReplaceAll(a, "{dir}", p.cfg.Dir)
	}
	cmd := exec.Command(argv[0], argv[1:]...) // ends with the proxy, not with the context that it was opened by
	cmd.Dir, cmd.Stderr = p.cfg.Dir, p.stderr
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "npm_config_cache", "npm_config_registry", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.cfg.Spec.Env)) {
		cmd.Env = append(cmd.Env, name+"="+strings.ReplaceAll(p.cfg.Spec.Env[name], "{dir}", p.cfg.Dir))
	}
	ownGroup(cmd)
	return cmd
}

func (p *Proxy) list(ctx context.Context) error {
	p.catalogue = tare.Catalogue{Servers: slices.Clone(p.cfg.Spec.Servers)}
	for t, err := range p.session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if len(p.catalogue.Tools) == maxTools {
			return fmt.Errorf("the server has more than %d tools", maxTools)
		}
		tool := tare.Tool{Name: t.Name, Description: string(p.shown([]byte(t.Description))), Hints: hints(t.Annotations)}
		if tool.InputSchema, err = json.Marshal(t.InputSchema); err != nil {
			return fmt.Errorf("reading the schema of %s: %w", t.Name, err)
		}
		if t.OutputSchema != nil {
			if tool.OutputSchema, err = json.Marshal(t.OutputSchema); err != nil {
				return fmt.Errorf("reading the schema of %s: %w", t.Name, err)
			}
		}
		p.catalogue.Tools = append(p.catalogue.Tools, tool)
	}
	slices.SortFunc(p.catalogue.Tools, func(a, b tare.Tool) int { return strings.Compare(a.Name, b.Name) })
	for _, r := range p.cfg.Spec.Observe {
		if t, how := p.catalogue.Place(r.Tool); how != tare.Placed {
			return fmt.Errorf("the server has no tool %q to observe it by", r.Tool)
		} else if !t.Hints.ReadOnly && t.Hints.Destructive && !r.Trusted {
			return fmt.Errorf("the server does not say that %q, by which it is to be observed, is read-only; the scenario can say so by trusted: true", r.Tool)
		}
	}
	return nil
}

// hints are annotations with the defaults of the protocol.
func hints(a *mcp.ToolAnnotations) tare.Hints {
	h := tare.Hints{Destructive: true}
	if a == nil {
		return h
	}
	h.ReadOnly, h.Idempotent = a.ReadOnlyHint, a.IdempotentHint
	if a.DestructiveHint != nil {
		h.Destructive = *a.DestructiveHint
	}
	if h.ReadOnly {
		h.Destructive, h.Idempotent = false, true
	}
	return h
}

// Catalogue is what the server said of its tools when it was asked.
func (p *Proxy) Catalogue() tare.Catalogue {
	c := p.catalogue
	c.Servers, c.Tools = slices.Clone(c.Servers), slices.Clone(c.Tools)
	return c
}

// Clock is 0: a live world's time is everybody's.
func (p *Proxy) Clock() float64 { return 0 }

// Watch says that looking costs calls, so that it is done around changes only.
func (p *Proxy) Watch() tare.Watch { return tare.WatchMutations }

// Call has the server carry out a call, unless a fault is in the way. That the server refuses is a Reply; an error says that
// the server could not be asked.
func (p *Proxy) Call(ctx context.Context, tool string, args json.RawMessage, arrived func()) (tare.Reply, error) {
	fault, due := p.faults.Place(tool, args, func(tare.FaultKind) bool { return true })
	if arrived != nil {
		arrived()
	}
	if !due {
		return p.forward(ctx, tool, args)
	}
	yes, no := true, false
	injected := &tare.Injected{ID: fault.ID, Kind: fault.Kind, Applied: &no}
	refused := func(code string, status int, message string, retryAfter time.Duration) tare.Reply {
		e := map[string]any{"code": code, "status": status, "message": message, "retryable": retryAfter > 0}
		if retryAfter > 0 {
			e["retry_after_seconds"] = retryAfter.Seconds()
		}
		data, err := json.Marshal(map[string]any{"error": e})
		if err != nil {
			panic(err) // texts and numbers always encode
		}
		return tare.Reply{Data: data, Text: string(data), IsError: true, Fault: injected}
	}
	switch fault.Kind {
	case tare.FaultUnavailable:
		return refused("unavailable", 503, "the service is overloaded; try again later", max(fault.RetryAfter, time.Second)), nil
	case tare.FaultTimeoutBefore:
		return refused("timeout", 504, "there was no answer in time; whether the request was carried out is not known", 0), nil
	}
	reply, err := p.forward(ctx, tool, args)
	if err != nil {
		return reply, err
	}
	injected.Applied = nil // that the server answered does not say that it did what it was asked
	if reply.IsError {
		injected.Applied = &no
	}
	switch fault.Kind {
	case tare.FaultTimeoutAfter:
		injected.Applied = &yes
		if reply.IsError {
			injected.Applied = &no
		}
		return refused("timeout", 504, "there was no answer in time; whether the request was carried out is not known", 0), nil
	case tare.FaultDelay:
		if err := pause(ctx, min(fault.Slower, mostDelay)); err != nil {
			return reply, err
		}
	case tare.FaultCorrupted:
		reply.Data, reply.Content = nil, nil
		reply.Text = strings.ToValidUTF8(reply.Text[:len(reply.Text)/2], "") + "\ufffd\ufffd"
	}
	reply.Fault = injected
	return reply, nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// forward asks the server.
func (p *Proxy) forward(ctx context.Context, tool string, args json.RawMessage) (tare.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	res, err := p.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(p.real(args))})
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire):
		text := string(p.shown([]byte(wire.Message)))
		return tare.Reply{Text: text, IsError: true}, nil
	case err != nil:
		if p.process != nil && (errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed)) {
			_ = p.session.Close() // it is gone: what it said last is whole once it was waited for
		}
		return tare.Reply{}, fmt.Errorf("asking the server of the world: %w", p.explained(err))
	}
	reply := tare.Reply{IsError: res.IsError}
	var texts []string
	other := false
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		} else {
			other = true
		}
	}
	reply.Text = string(p.shown([]byte(strings.Join(texts, "\n"))))
	if other || len(texts) != 1 {
		b, err := json.Marshal(res.Content)
		if err != nil {
			return tare.Reply{}, fmt.Errorf("reading the answer of %s: %w", tool, err)
		}
		reply.Content = p.shown(b)
	}
	if res.StructuredContent != nil {
		b, err := json.Marshal(res.StructuredContent)
		if err != nil {
			return tare.Reply{}, fmt.Errorf("reading the answer of %s: %w", tool, err)
		}
		reply.Data = p.shown(b)
	}
	return reply, nil
}

// real is what agents write with the real directory in the place of the one that they see, and shown the other way about.
// Neither path holds a character that JSON writes in another way.
func (p *Proxy) real(b []byte) []byte { return p.swap(b, p.cfg.Spec.Dir, p.cfg.Dir) }

func (p *Proxy) shown(b []byte) []byte { return p.swap(b, p.cfg.Dir, p.cfg.Spec.Dir) }

func (p *Proxy) swap(b []byte, from, to string) []byte {
	if p.cfg.Spec.Dir == "" || p.cfg.Dir == "" {
		return b
	}
	return bytes.ReplaceAll(b, []byte(from), []byte(to))
}

// Close ends the connection and, when the server was started here, the server with all that it started.
func (p *Proxy) Close() error {
	err := p.session.Close()
	if p.process == nil {
		return err
	}
	p.kill()
	var exited *exec.ExitError
	if errors.As(err, &exited) { // how a server ends that is told to is its own affair
		return nil
	}
	return err
}

func (p *Proxy) kill() {
	if p.process != nil && p.process.Process != nil {
		killGroup(p.process)
	}
}

// explained is err with the last that the server said on stderr.
func (p *Proxy) explained(err error) error {
	if said := p.stderr.String(); said != "" {
		return fmt.Errorf("%w; the server said: %s", err, said)
	}
	return err
}

// A tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if len(t.b) > maxStderr {
		t.b = append([]byte(nil), t.b[len(t.b)-maxStderr:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(bytes.TrimSpace(t.b)), "\ufffd")
}
