package patchcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
	"tare/internal/mcpserve"
)

// Names of the MCP server and of its tool.
const (
	ServerName = "ssebench"
	ToolName   = "test_patch"
)

const description = "Check the current state of the task's source tree, with every uncommitted change: build it and run the checks that the " +
	"difficulty level makes available. The result says how each check ended, and which checks are not available; it speaks of those checks and of nothing else. " +
	"A call builds and tests the project, so it can take minutes; a call that is made again while nothing has changed joins the one under way."

const (
	beat        = time.Second // between reports of progress
	maxPreview  = 16 << 10    // of the text, in a record
	overText    = "the agent's phase is over; test_patch is closed"
	cancelText  = "the call was cancelled"
	maxToolName = 128
)

// A ServerConfig says how a Server records. All of it may be left out.
type ServerConfig struct {
	Logs  *Logs           // nil: long logs cannot be saved
	Tally *mcpserve.Tally // nil: its own, without a limit
	Began time.Time       // where Call.At counts from; default: when NewServer is called
	Now   func() time.Time

	Faults *mcpserve.Faults // between the agent and the tool; nil: none
}

// A Server is the MCP server with the one tool test_patch.
type Server struct {
	checker *Checker
	cfg     ServerConfig
	server  *mcp.Server

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	mu     sync.Mutex // guards closed and adding to active
	closed bool
	active sync.WaitGroup
}

// NewServer makes the server of a Checker, which stays the caller's.
func NewServer(c *Checker, cfg ServerConfig) *Server {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Began.IsZero() {
		cfg.Began = cfg.Now()
	}
	if cfg.Tally == nil {
		cfg.Tally = mcpserve.NewTally(0, nil)
	}
	s := &Server{checker: c, cfg: cfg}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.server = mcp.NewServer(&mcp.Implementation{Name: ServerName, Title: "Check a patch", Version: "1"}, &mcp.ServerOptions{
		Instructions: "One tool, test_patch, which checks the source tree as it is.",
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // the list of tools never changes
	})
	s.server.AddTool(Tool(), s.Handle)
	s.server.AddReceivingMiddleware(s.record)
	return s
}

// Tool is test_patch as clients see it.
func Tool() *mcp.Tool {
	no := false
	return &mcp.Tool{
		Name: ToolName, Title: "Test the patch", Description: description,
		Annotations:  &mcp.ToolAnnotations{Title: "Test the patch", ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
		InputSchema:  &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}},
		OutputSchema: outputSchema(),
	}
}

// Handler serves the tool over streamable HTTP.
func (s *Server) Handler() http.Handler { return s.cfg.Faults.Handler(mcpserve.Handler(s.server)) }

// MCP is the server itself, for other transports.
func (s *Server) MCP() *mcp.Server { return s.server }

// CancelCalls refuses further calls and cancels those under way.
func (s *Server) CancelCalls() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
}

// Close does the same and returns when none is left. No step is recorded after it. It may be called again.
func (s *Server) Close() error {
	s.CancelCalls()
	s.active.Wait()
	return nil
}

// enter counts a call in; leave must be called after it.
func (s *Server) enter(ctx context.Context) (inner context.Context, leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, false
	}
	s.active.Add(1)
	inner, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return inner, func() { stop(); cancel(); s.active.Done() }, true
}

// record is around every call of a tool, of whatever name: it counts, times and records them. Calls run beside each other,
// so that one can join another.
func (s *Server) record(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		ask, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		ctx, leave, ok := s.enter(ctx)
		if !ok {
			return mcpserve.Failed(overText), nil
		}
		defer leave()
		began := s.cfg.Now()
		step := tare.Step{Call: tare.Call{Tool: toolName(ask.Params.Name), At: since(s.cfg.Began, began), Args: json.RawMessage(`{}`)}}
		if len(ask.Params.Arguments) > 0 {
			step.Call.Args, _ = json.Marshal(map[string]any{"left_out_bytes": len(ask.Params.Arguments), "digest": tare.HashBytes(ask.Params.Arguments)})
		}
		if len(ask.Params.Arguments) <= 2 {
			step.Call.Args = json.RawMessage(`{}`)
		}
		res, record := s.cfg.Tally.Begin()
		if !record {
			return res, nil
		}
		var fault tare.FaultKind
		if res == nil {
			res, fault = s.cfg.Faults.Result(ctx, step.Call.Tool, step.Call.Args, func() *mcp.CallToolResult { return s.carryOut(ctx, next, method, ask) })
		}
		step.Observation = mcpserve.Observe(res, maxPreview)
		step.Observation.Fault = string(fault)
		if fault.Spoils() {
			s.cfg.Tally.Forgive()
		}
		if fault == tare.FaultDisconnect {
			s.cfg.Faults.Cut(ask.Extra)
		}
		step.Observation.Seconds = since(began, s.cfg.Now())
		s.cfg.Tally.Record(step)
		return res, nil
	}
}

// carryOut has the call done; an unknown name and bad arguments are answers too.
func (s *Server) carryOut(ctx context.Context, next mcp.MethodHandler, method string, ask *mcp.CallToolRequest) *mcp.CallToolResult {
	got, err := next(ctx, method, ask)
	if res, ok := got.(*mcp.CallToolResult); ok && err == nil {
		return res
	}
	if err == nil {
		err = fmt.Errorf("a call was answered with %T", got)
		s.checker.problem(err)
		return internalError()
	}
	return mcpserve.Failed(mcpserve.Ends(err.Error(), 500))
}

func toolName(s string) string {
	if len(s) > maxToolName {
		return s[:maxToolName] + "…"
	}
	return s
}

func since(from, to time.Time) float64 {
	return float64(max(0, to.Sub(from)).Round(time.Microsecond)) / float64(time.Second)
}

func internalError() *mcp.CallToolResult { return mcpserve.Failed(InternalError) }

// Handle carries out one call of the tool. It records nothing: whoever serves it does.
func (s *Server) Handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	wait, err := s.checker.Start()
	if err != nil {
		return failure(ctx, err), nil
	}
	stop := s.progress(ctx, req, wait)
	report, err := wait.Wait(ctx)
	stop()
	if err != nil {
		return failure(ctx, err), nil
	}
	text, shown := report.Text(s.cfg.Logs)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: structured(report, shown)}, nil
}

// failure is the answer to a call that got no report.
func failure(ctx context.Context, err error) *mcp.CallToolResult {
	switch {
	case errors.Is(err, ErrPhase):
		return mcpserve.Failed(overText)
	case errors.Is(err, ErrBusy):
		return mcpserve.Failed(ErrBusy.Error())
	case ctx.Err() != nil:
		return mcpserve.Failed(cancelText)
	}
	return internalError()
}

// progress tells a client that asked for it, every beat, that the run goes on: many give up after a minute of silence. It
// does so beside the call, so that a client which does not read cannot hold it up.
func (s *Server) progress(ctx context.Context, req *mcp.CallToolRequest, w *Waiter) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	gone := make(chan struct{})
	began := s.cfg.Now()
	go func() {
		defer close(gone)
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for n := 0; ; n++ {
			// The client may have gone; the call's own ctx notices.
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: since(began, s.cfg.Now()) + float64(n)*1e-6, Message: w.Stage().String(),
			})
			select {
			case <-tick.C:
			case <-w.Done():
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-gone }
}

// String says how far a run is, to a person.
func (s Stage) String() string {
	switch {
	case s.Queued:
		return "waiting for another run"
	case s.PoC > 0:
		return fmt.Sprintf("PoC %d of %d", s.PoC, s.Of)
	}
	return s.Kind.String()
}

// Structured says what the text says, for programs. The log is in the text alone.
type Structured struct {
	Result    string            `json:"result"`
	Headline  string            `json:"headline"`
	Level     StructuredLevel   `json:"level"`
	Checks    []StructuredCheck `json:"checks"`
	Withheld  []string          `json:"withheld"`
	FailedBy  string            `json:"failed_by,omitempty"`
	Truncated bool              `json:"log_truncated,omitempty"`
	File      string            `json:"log_file,omitempty"`
}

// A StructuredLevel is the level of a result.
type StructuredLevel struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
}

// A StructuredCheck is one line of a result.
type StructuredCheck struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"`
}

func structured(r Report, shown Shown) Structured {
	out := Structured{
		Headline: r.Headline(), Level: StructuredLevel{int(r.Level), r.Level.String()},
		Checks: []StructuredCheck{}, Withheld: []string{}, Truncated: shown.Truncated, File: shown.File,
	}
	for _, l := range r.Lines {
		status := map[Status]string{Passed: "passed", Failed: "failed", NotRun: "not_run"}[l.Status]
		out.Checks = append(out.Checks, StructuredCheck{l.Kind.String(), status, l.Detail})
	}
	for _, k := range r.Level.Withheld() {
		out.Withheld = append(out.Withheld, k.String())
	}
	cause, failed := r.Cause()
	switch {
	case failed:
		out.Result, out.FailedBy = "failed", cause.String()
	case len(r.Lines) == 0:
		out.Result = "no_checks_ran"
	case len(out.Withheld) > 0:
		out.Result = "every_check_that_ran_passed"
	default:
		out.Result = "every_check_passed"
	}
	return out
}

func outputSchema() *jsonschema.Schema {
	text := func(d string, enum ...any) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: d, Enum: enum}
	}
	object := func(required []string, p map[string]*jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", Properties: p, Required: required}
	}
	return object([]string{"result", "headline", "level", "checks", "withheld"}, map[string]*jsonschema.Schema{
		"result":   text("how the run ended", "every_check_passed", "every_check_that_ran_passed", "no_checks_ran", "failed"),
		"headline": text("the first line of the text"),
		"level":    object([]string{"number", "name"}, map[string]*jsonschema.Schema{"number": {Type: "integer"}, "name": text("")}),
		"checks": {Type: "array", Description: "the checks that the level makes available, in the order in which they are made", Items: object([]string{"name", "status"}, map[string]*jsonschema.Schema{
			"name": text(""), "status": text("", "passed", "failed", "not_run"), "detail": text(""),
		})},
		"withheld":      {Type: "array", Description: "the checks that the level withholds", Items: text("")},
		"failed_by":     text("the failed check that the headline names"),
		"log_truncated": {Type: "boolean", Description: "the text holds the end of the log only"},
		"log_file":      text("where the whole log is"),
	})
}
