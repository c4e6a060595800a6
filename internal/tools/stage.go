package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
	"tare/internal/mcpserve"
	"tare/internal/platform"
)

// A Backend carries out the tools of a scenario's world: a simulated platform, or a proxy before a live server. Its methods
// are called one at a time.
type Backend interface {
	Catalogue() tare.Catalogue // the caller's own

	// Call carries out a call. arrived must be called when nothing of it has been carried out yet and as much time has passed
	// as will before that. An error is a failure of ours; what the world refuses is in the Reply.
	Call(ctx context.Context, tool string, args json.RawMessage, arrived func()) (tare.Reply, error)

	// Observe looks at the world without changing it.
	Observe(ctx context.Context) (map[string]tare.Collection, []tare.Read, error)

	Clock() float64    // simulated seconds since the beginning; 0 where time is not simulated
	Watch() tare.Watch // which calls it is worth while to look at the world around
	Close() error
}

// A StageConfig says what a Stage is made of. Spec and Backend are required.
type StageConfig struct {
	Spec    *tare.ScenarioSpec
	Brief   string // what the agent is shown, for the record
	Backend Backend
	Limits  tare.Limits

	Faults *mcpserve.Faults // between the agent and the backend; nil: none

	OnStep    func(tare.Step) // as in Config
	OnProblem func(error)
	Began     time.Time
	Now       func() time.Time

	NewDir func(pattern string) (string, error) // where ServeStage puts its socket
}

// A Stage is the world of a scenario: the tools of a backend, which is watched where agents cannot reach.
type Stage struct {
	*endpoint
	backend Backend
	watcher *watcher
	reply   *tare.Reply // of the call that is being recorded
	Socket  string      // when it is served at one
	done    func() error
}

// NewStage opens the world of a scenario and observes it for the first time.
func NewStage(ctx context.Context, cfg StageConfig) (*Stage, error) {
	if cfg.Spec == nil || cfg.Backend == nil {
		return nil, errors.New("opening world: scenario and backend are required")
	}
	if cfg.Faults != nil {
		cfg.Backend = faulty{cfg.Backend, cfg.Faults}
	}
	s := &Stage{backend: cfg.Backend}
	problem := cfg.OnProblem
	if problem == nil {
		problem = func(error) {}
	}
	s.watcher = newWatcher(cfg.Spec, cfg.Backend, cfg.Brief)
	s.endpoint = newEndpoint(endpointConfig{
		onProblem: problem, began: cfg.Began, now: cfg.Now,
		tally: mcpserve.NewTally(cfg.Limits.Turns, func(step tare.Step) {
			s.watcher.reach(s.ctx, step)
			if cfg.OnStep != nil {
				cfg.OnStep(step)
			}
		}),
		describe: describe, observe: s.observe, done: func() error { return nil }, faults: cfg.Faults,
	}, mcp.Implementation{Name: s.watcher.evidence.Catalogue.Servers[0], Version: "1"}, "Operate the platform by these tools.")
	for _, t := range cfg.Backend.Catalogue().Tools {
		s.server.AddTool(advertised(t), s.handle)
	}
	s.watcher.take(ctx, tare.LabelBefore, 0)
	s.done = s.endpoint.Close
	return s, nil
}

// ServeStage opens a world and serves it at a new Unix socket.
func ServeStage(ctx context.Context, cfg StageConfig) (*Stage, error) {
	s, err := NewStage(ctx, cfg)
	if err != nil {
		return nil, errors.Join(err, cfg.Backend.Close())
	}
	if s.Socket, s.done, err = s.serveLocal(ctx, cfg.NewDir); err != nil {
		return nil, errors.Join(err, cfg.Backend.Close())
	}
	return s, nil
}

// advertised is a tool as clients see it.
func advertised(t tare.Tool) *mcp.Tool {
	no := false
	out := &mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema, Annotations: &mcp.ToolAnnotations{
		ReadOnlyHint: t.Hints.ReadOnly, DestructiveHint: &t.Hints.Destructive, IdempotentHint: t.Hints.Idempotent, OpenWorldHint: &no,
	}}
	if len(t.OutputSchema) > 0 {
		out.OutputSchema = t.OutputSchema
	}
	return out
}

// handle carries out one call, which has its turn.
func (s *Stage) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args := req.Params.Arguments
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	reply, err := s.watcher.around(ctx, s.tally.Recorded(), req.Params.Name, args)
	if err != nil {
		return failed(s.explain(ctx, req.Params.Name, err).Error()), nil
	}
	s.reply = &reply
	res := &mcp.CallToolResult{IsError: reply.IsError, Content: []mcp.Content{&mcp.TextContent{Text: reply.Text}}}
	if reply.Content != nil {
		var sent mcp.CallToolResult
		if err := json.Unmarshal(slices.Concat([]byte(`{"content":`), reply.Content, []byte(`}`)), &sent); err != nil {
			return failed(s.explain(ctx, req.Params.Name, err).Error()), nil
		}
		res.Content = sent.Content
	}
	if reply.Data != nil {
		res.StructuredContent = reply.Data
	}
	return res, nil
}

const maxScenarioPreview = 16 << 10

// describe is the call as the record keeps it, its arguments as they came.
func describe(p *mcp.CallToolParamsRaw) tare.Call {
	c := describeNoted(&mcp.CallToolParamsRaw{Name: p.Name, Arguments: p.Arguments})
	if c.Note != "" {
		c.Note, c.Args = "", json.RawMessage(strings.ToValidUTF8(string(p.Arguments), "\ufffd"))
	}
	return c
}

// observe is what came back, as the record keeps it. What never reached a tool has no reply.
func (s *Stage) observe(tool string, res *mcp.CallToolResult) tare.Observation {
	o := observe(tool, res)
	if t, ok := textOf(res); ok {
		o.Preview = ends(strings.ToValidUTF8(t, "\ufffd"), maxScenarioPreview)
	}
	o.Clock = s.backend.Clock()
	if s.reply != nil {
		if len(s.reply.Data) <= tare.MaxData {
			o.Data = s.reply.Data
		}
		if s.reply.Fault != nil {
			o.Fault = string(s.reply.Fault.Kind)
		}
		s.reply = nil
	}
	return o
}

func textOf(res *mcp.CallToolResult) (string, bool) {
	if len(res.Content) != 1 {
		return "", false
	}
	t, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return "", false
	}
	return t.Text, true
}

// Finish closes the world and its socket, observes it for the last time, when nobody can act any more, and says all that was
// seen. It is to be called once.
func (s *Stage) Finish(ctx context.Context) (*tare.ScenarioEvidence, error) {
	err := s.done()
	s.watcher.finish(ctx, s.tally.Recorded())
	return s.watcher.evidence, errors.Join(err, s.backend.Close())
}

// faulty is a backend with faults on the way to it. Observations are ours and meet none.
type faulty struct {
	Backend
	faults *mcpserve.Faults
}

func (f faulty) Call(ctx context.Context, tool string, args json.RawMessage, arrived func()) (tare.Reply, error) {
	return f.faults.Reply(ctx, tool, args, arrived, func() (tare.Reply, error) { return f.Backend.Call(ctx, tool, args, arrived) })
}

// Simulated is the backend that a simulated platform is.
func Simulated(p *platform.Platform) Backend { return simulated{p} }

type simulated struct{ p *platform.Platform }

func (s simulated) Catalogue() tare.Catalogue { return platform.Catalogue() }
func (s simulated) Clock() float64            { return s.p.Clock() }
func (s simulated) Watch() tare.Watch         { return tare.WatchEvery }
func (s simulated) Close() error              { return nil }

func (s simulated) Call(ctx context.Context, tool string, args json.RawMessage, arrived func()) (tare.Reply, error) {
	if err := ctx.Err(); err != nil {
		return tare.Reply{}, fmt.Errorf("calling %s: %w", tool, err)
	}
	return s.p.Call(tool, args, arrived), nil
}

func (s simulated) Observe(context.Context) (map[string]tare.Collection, []tare.Read, error) {
	return s.p.Observe(), nil, nil
}
