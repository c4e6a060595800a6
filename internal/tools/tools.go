// Package tools is the world of a ticket: an MCP server with six tools over one workspace.
//
// The tools are list_files, read_file, search_code, write_file, run_tests and git_diff; a world without a runner has no
// run_tests and runs no code at all. One [World] can be served over stdio, over HTTP on a TCP address and over HTTP on a Unix socket, to any number of clients; however it is reached, it is
// one workspace, one limit on the number of calls and one record. Calls are carried out one at a time, in the order in
// which they came, so that the record is what happened.
//
// What goes wrong is one of three things. A call that asks for what cannot be had is answered with an error that the
// agent can act on. A failing or endless test run is a result like any other. What fails on our side is reported through
// [Config.OnProblem], and the agent learns only that it was not its fault. No text that an agent sees names a path outside
// the workspace.
package tools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
	"tare/internal/check"
	"tare/internal/mcpserve"
	"tare/internal/sandbox"
	"tare/internal/workspace"
)

// Config says what a World is made of. Workspace and Sandbox are required.
type Config struct {
	Name      string // of the server; default tare
	Workspace *workspace.Workspace
	Sandbox   sandbox.Sandbox
	Runner    check.Runner // nil: there is no run_tests
	Views     []View
	More      []Tool      // of others', beside its own
	Sources   []string    // roots of the import path, as in tare.Task
	Limits    tare.Limits // Turns bounds the calls, Check one run_tests; zero: no limit on calls, 60 s

	// OnStep is handed every call with what came of it, one at a time, in order, before the caller gets its answer.
	OnStep func(tare.Step)
	// Tally counts and records in place of Limits.Turns and OnStep, where the agent has further servers.
	Tally *mcpserve.Tally
	// OnProblem is handed what failed on our side; the call that met it is a failed one.
	OnProblem func(error)

	Faults *mcpserve.Faults // between the agent and the tools; nil: none

	Began time.Time        // where Call.At counts from; default: when New is called
	Now   func() time.Time // default time.Now
}

// A Tool is one that another room brings.
type Tool struct {
	Tool   *mcp.Tool
	Handle mcp.ToolHandler
}

// A View is a directory of this machine's whose regular files read_file shows, below an absolute path of the agent's.
type View struct{ Host, Guest string }

// defaultCheck bounds run_tests where the task does not.
const defaultCheck = 60 * time.Second

// A World is the six tools over one workspace.
type World struct {
	*endpoint
	cfg    Config
	root   *os.Root
	token  string       // part of the names of temporary files
	serial atomic.Int64 // another
}

// New opens a World. Close it when the agent is done.
func New(cfg Config) (*World, error) {
	if cfg.Workspace == nil || cfg.Sandbox == nil {
		return nil, errors.New("opening world: workspace and sandbox are required")
	}
	if cfg.Name == "" {
		cfg.Name = "tare"
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.OnStep == nil {
		cfg.OnStep = func(tare.Step) {}
	}
	if cfg.OnProblem == nil {
		cfg.OnProblem = func(error) {}
	}
	if cfg.Limits.Check <= 0 {
		cfg.Limits.Check = defaultCheck
	}
	root, err := os.OpenRoot(cfg.Workspace.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening world: %w", err)
	}
	w := &World{cfg: cfg, root: root, token: rand.Text()}
	tally := cfg.Tally
	if tally == nil {
		tally = mcpserve.NewTally(cfg.Limits.Turns, func(s tare.Step) { w.cfg.OnStep(s) })
	}
	w.endpoint = newEndpoint(endpointConfig{
		tally: tally, began: cfg.Began, now: cfg.Now, onProblem: func(err error) { w.cfg.OnProblem(err) },
		describe: describeNoted, observe: observe, done: root.Close, faults: cfg.Faults,
		perturb: func(ctx context.Context, c tare.Call, do func() *mcp.CallToolResult) (*mcp.CallToolResult, tare.FaultKind) {
			return cfg.Faults.Result(ctx, c.Tool, c.Args, do)
		},
	}, mcp.Implementation{Name: cfg.Name, Title: "tare workspace", Version: "1"},
		"One small repository. All paths are relative to it. The tools are the only way to see and change it.")
	w.addTools()
	for _, t := range cfg.More {
		w.server.AddTool(t.Tool, t.Handle)
	}
	return w, nil
}

// Noted is the argument that every tool takes besides its own.
type Noted struct {
	Note string `json:"note,omitempty" jsonschema:"why you make this call; recorded, not acted on"`
}

// A call is what a tool may know of the request beyond its arguments.
type call struct {
	session  *mcp.ServerSession
	progress any // the token under which the client wants to hear of progress, or nil
}

// A handler does one tool's work. The texts are what a model reads, each a block of its own; out says the same in a form
// for programs.
type handler[In, Out any] func(ctx context.Context, c call, in In) (texts []string, out Out, err error)

func (w *World) addTools() {
	yes, no := true, false
	reads := func(title string) *mcp.ToolAnnotations {
		return &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no}
	}
	add(w, &mcp.Tool{
		Name: "list_files", Annotations: reads("List files"),
		Description: "List all files of the repository, sorted, as paths relative to it. Leaves out .git, .venv, __pycache__ and .pytest_cache.",
	}, w.listFiles)
	add(w, &mcp.Tool{
		Name: "read_file", Annotations: reads("Read a file"),
		Description: "Read a text file. A large file comes in pages of whole lines: when the result has next, call again with that as offset, or begin at a line that search_code named.",
	}, w.readFile)
	add(w, &mcp.Tool{
		Name: "search_code", Annotations: reads("Search"),
		Description: "Find a piece of text in all text files, of whatever kind. Literal and case-sensitive unless ignore_case is set. Shows path, line number and line of at most 200 matches.",
	}, w.searchCode)
	add(w, &mcp.Tool{
		Name: "write_file", Annotations: &mcp.ToolAnnotations{Title: "Write a file", DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &no},
		Description: "Create a file or replace all of its text. Makes missing directories. Refuses .git, symbolic links and whatever lies outside the repository.",
	}, w.writeFile)
	if w.cfg.Runner != nil {
		add(w, &mcp.Tool{
			Name: "run_tests", Annotations: &mcp.ToolAnnotations{Title: "Run the tests", ReadOnlyHint: true, OpenWorldHint: &no},
			Description: "Run the repository's whole test suite, offline, on a copy, so that it changes nothing. Failing tests and a time-out are results: look at returncode and timed_out.",
		}, w.runTests)
	}
	add(w, &mcp.Tool{
		Name: "git_diff", Annotations: reads("Show changes"),
		Description: "Show all changes since the beginning as a diff, new and deleted files included, committed or not.",
	}, w.gitDiff)
}

// add registers a tool. Errors that are no refusals go to OnProblem, and the agent gets a text that says nothing of the
// machine.
func add[In, Out any](w *World, t *mcp.Tool, h handler[In, Out]) {
	t.InputSchema, t.OutputSchema = schemaOf[In](), schemaOf[Out]()
	mcp.AddTool(w.server, t, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		texts, out, err := h(ctx, call{session: req.Session, progress: req.Params.GetProgressToken()}, in)
		if err != nil {
			var none Out
			return nil, none, w.explain(ctx, t.Name, err)
		}
		res := &mcp.CallToolResult{}
		for _, text := range texts {
			res.Content = append(res.Content, &mcp.TextContent{Text: text})
		}
		return res, out, nil
	})
}

// schemaOf is the schema of T in which a list is always a list: a nil slice is never sent, so null need not be allowed.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // the types are this package's own; the tests make every one
	}
	for p := range properties(s) {
		if slices.Contains(p.Types, "null") && len(p.Types) == 2 {
			p.Type, p.Types = strings.Join(slices.DeleteFunc(p.Types, func(t string) bool { return t == "null" }), ""), nil
		}
	}
	return s
}

// properties yields all schemas within s.
func properties(s *jsonschema.Schema) func(yield func(*jsonschema.Schema) bool) {
	return func(yield func(*jsonschema.Schema) bool) {
		for _, p := range s.Properties {
			if !yield(p) {
				return
			}
			if p.Items != nil {
				for q := range properties(p.Items) {
					if !yield(q) {
						return
					}
				}
			}
		}
	}
}
