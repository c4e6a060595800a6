package tools

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
	"tare/internal/mcpserve"
)

// An endpointConfig says what is done with calls, whichever tools they are of.
type endpointConfig struct {
	tally     *mcpserve.Tally // of the episode's calls, which other servers may share
	onProblem func(error)
	began     time.Time
	now       func() time.Time

	faults  *mcpserve.Faults                                                                                   // that may cut a call's connection; nil: none
	perturb func(context.Context, tare.Call, func() *mcp.CallToolResult) (*mcp.CallToolResult, tare.FaultKind) // has a call carried out; nil: as it is

	describe func(*mcp.CallToolParamsRaw) tare.Call                      // the call as the record keeps it
	observe  func(tool string, res *mcp.CallToolResult) tare.Observation // what came back, likewise
	done     func() error                                                // closes what the tools work on
}

// An endpoint is an MCP server of some tools, whatever these are: it takes calls one at a time, counts and records them,
// and can be served over stdio and HTTP to any number of clients.
type endpoint struct {
	endpointConfig
	server *mcp.Server

	turn chan struct{} // holds one token, which whoever carries out a call has taken

	ctx    context.Context // ends when the endpoint is closed; a field since it bounds the endpoint, not a call
	cancel context.CancelCauseFunc
	mu     sync.Mutex // guards closed and adding to active
	closed bool
	active sync.WaitGroup
	finish func() error // done, once
}

var errClosed = errors.New("the world is closed")

func newEndpoint(cfg endpointConfig, who mcp.Implementation, instructions string) *endpoint {
	if cfg.now == nil {
		cfg.now = time.Now
	}
	if cfg.began.IsZero() {
		cfg.began = cfg.now()
	}
	if cfg.tally == nil {
		cfg.tally = mcpserve.NewTally(0, nil)
	}
	if cfg.onProblem == nil {
		cfg.onProblem = func(error) {}
	}
	w := &endpoint{endpointConfig: cfg, turn: make(chan struct{}, 1), finish: sync.OnceValue(cfg.done)}
	w.turn <- struct{}{}
	w.ctx, w.cancel = context.WithCancelCause(context.Background())
	w.server = mcp.NewServer(&who, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // the list of tools never changes
	})
	w.server.AddReceivingMiddleware(w.record)
	return w
}

// Exhausted is closed when a call was refused because the limit on calls had been reached. From then on all are.
func (w *endpoint) Exhausted() <-chan struct{} { return w.tally.Exhausted() }

// Close refuses further calls, cancels those under way and returns when none is left and nothing that they started is
// alive. No step is recorded after it has returned. It may be called again.
func (w *endpoint) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel(errClosed)
	w.active.Wait()
	return w.finish()
}

// enter counts a call in; leave must be called after it. It fails once the endpoint is closed.
func (w *endpoint) enter(ctx context.Context) (inner context.Context, leave func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, nil, errClosed
	}
	w.active.Add(1)
	inner, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(w.ctx, func() { cancel(context.Cause(w.ctx)) })
	return inner, func() {
		stop()
		cancel(nil)
		w.active.Done()
	}, nil
}

// explain is err as the agent may see it.
func (w *endpoint) explain(ctx context.Context, tool string, err error) error {
	var refused refusal
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(context.Cause(ctx), errClosed):
		return refuse("the episode is over")
	case ctx.Err() != nil:
		return refuse("the call was cancelled")
	}
	w.onProblem(fmt.Errorf("tool %s: %w", tool, err))
	return refuse("%s failed on the server's side; this is not your doing", tool)
}
