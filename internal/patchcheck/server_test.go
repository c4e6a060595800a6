package patchcheck

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
	"tare/internal/mcpserve"
)

const patience = time.Minute

// served is a Server over a lab, on TCP.
type served struct {
	*lab
	c        *Checker
	s        *Server
	url      string
	mu       sync.Mutex
	steps    []tare.Step
	progress chan string
}

func serveLab(t *testing.T, l *lab, level Level, turns int) *served {
	t.Helper()
	out := &served{lab: l, progress: make(chan string, 1000)}
	out.c = l.checker(t, level)
	out.s = NewServer(out.c, ServerConfig{Logs: &Logs{Dir: t.TempDir()}, Tally: mcpserve.NewTally(turns, func(s tare.Step) {
		out.mu.Lock()
		defer out.mu.Unlock()
		out.steps = append(out.steps, s)
	})})
	listener, err := mcpserve.ListenTCP(t.Context(), "0", out.s.Handler())
	if err != nil {
		t.Fatal(err)
	}
	out.url = listener.URL
	t.Cleanup(func() {
		if err := errors.Join(out.s.Close(), listener.Close()); err != nil {
			t.Error(err)
		}
	})
	return out
}

func (s *served) client(t *testing.T, protocol string) *mcp.ClientSession {
	t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { s.progress <- r.Params.Message },
	}).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url, MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func callTool(ctx context.Context, c *mcp.ClientSession, p *mcp.CallToolParams) (text string, res *mcp.CallToolResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	res, err = c.CallTool(ctx, p)
	if err != nil {
		return "", nil, err
	}
	return res.Content[0].(*mcp.TextContent).Text, res, nil
}

// protocols are a version with sessions and one without.
var protocols = []string{"2025-06-18", "2026-07-28"}

func TestTool(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			s := serveLab(t, &lab{source: "one", scene: all()}, NoFutureTest, 0)
			client := s.client(t, protocol)
			if got := client.InitializeResult().ServerInfo.Name; got != "ssebench" {
				t.Errorf("the server is called %q", got)
			}
			list, err := client.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Tools) != 1 || list.Tools[0].Name != "test_patch" || list.Tools[0].Description == "" || !list.Tools[0].Annotations.ReadOnlyHint || list.Tools[0].OutputSchema == nil {
				t.Errorf("tools: %+v", list.Tools)
			}
			want, err := os.ReadFile("testdata/seed-level-2.txt")
			if err != nil {
				t.Fatal(err)
			}
			text, res, err := callTool(t.Context(), client, &mcp.CallToolParams{Name: ToolName})
			if err != nil || text+"\n" != string(want) || res.IsError {
				t.Fatalf("%q, %v", text, err)
			}
			var got Structured
			b, _ := json.Marshal(res.StructuredContent)
			if err := json.Unmarshal(b, &got); err != nil || got.Result != "every_check_that_ran_passed" || got.Level != (StructuredLevel{2, "NO_FUTURE_TEST"}) || len(got.Checks) != 2 || len(got.Withheld) != 2 {
				t.Errorf("structured: %s (%v)", b, err)
			}
			if len(s.steps) != 1 || s.steps[0].Call.Tool != ToolName || !s.steps[0].Observation.OK || s.steps[0].Observation.Preview != text {
				t.Errorf("recorded: %+v", s.steps)
			}
		})
	}
}

// TestStructuredFitsItsSchema: for every outcome the program's form is of the form that was published.
func TestStructuredFitsItsSchema(t *testing.T) {
	schema, err := outputSchema().Resolve(&jsonschema.ResolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]bool{}
	for level := FullAssistance; level <= NoBuild; level++ {
		for _, build := range []bool{true, false} {
			s := all()
			s.build = build
			r := s.report(t, level)
			_, shown := r.Text(nil)
			b, err := json.Marshal(structured(r, shown))
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal(b, &v); err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s: %v", b, err)
			}
			results[structured(r, shown).Result] = true
		}
	}
	if len(results) != 4 {
		t.Errorf("results seen: %v", results)
	}
}

// TestHole11ErrorsAreTold: a failure of ours is the sentence with isError, and its cause is the operator's.
func TestHole11ErrorsAreTold(t *testing.T) {
	l := &lab{source: "one", scene: all()}
	l.scene.fail = map[string]error{"tests": errors.New("the sandbox is gone")}
	s := serveLab(t, l, NoFutureTest, 0)
	text, res, err := callTool(t.Context(), s.client(t, ""), &mcp.CallToolParams{Name: ToolName})
	if err != nil || text != InternalError || !res.IsError || res.StructuredContent != nil {
		t.Errorf("%q, %+v, %v", text, res, err)
	}
	if len(l.problems) != 1 || l.problems[0].Error() != "checking functional tests: the sandbox is gone" {
		t.Errorf("the operator heard of %v", l.problems)
	}
	if s.steps[0].Observation.OK {
		t.Error("the record says that the call was fine")
	}
}

// TestProgressAndCancellation: while a run goes on its client hears of it, and a client that cancels ends it.
func TestProgressAndCancellation(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			l := &lab{source: "one", scene: all(), gate: make(chan struct{}), begun: make(chan string, 10)}
			s := serveLab(t, l, BuildOnly, 0)
			client := s.client(t, protocol)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			p := &mcp.CallToolParams{Name: ToolName}
			p.SetProgressToken("p")
			go func() {
				_, _, err := callTool(ctx, client, p)
				ended <- err
			}()
			<-l.begun
			for said := range s.progress {
				if said == "build" {
					break
				}
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			s.s.Close() // returns when no call is under way
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.closed != 1 || l.busy != 0 || len(l.problems) > 0 {
				t.Errorf("closed %d, busy %d, problems %v", l.closed, l.busy, l.problems)
			}
		})
	}
}

// TestRepeatedCallJoins: a client that lost its connection and asks again gets the run that is under way.
func TestRepeatedCallJoins(t *testing.T) {
	l := &lab{source: "one", scene: all(), gate: make(chan struct{}), begun: make(chan string, 10)}
	s := serveLab(t, l, BuildOnly, 0)
	texts := make(chan string, 2)
	for i := range 2 {
		client := s.client(t, protocols[i])
		go func() {
			text, _, err := callTool(t.Context(), client, &mcp.CallToolParams{Name: ToolName})
			if err != nil {
				text = err.Error()
			}
			texts <- text
		}()
		if i == 0 {
			<-l.begun
		}
	}
	for joined := false; !joined; runtime.Gosched() { // until the second has been counted in
		s.c.mu.Lock()
		for _, r := range s.c.runs {
			joined = r.waiting == 2
		}
		s.c.mu.Unlock()
	}
	close(l.gate)
	if a, b := <-texts, <-texts; a != b || !strings.HasPrefix(a, "test_patch result: every check that ran passed.") {
		t.Errorf("%q and %q", a, b)
	}
	if len(l.opened) != 1 {
		t.Errorf("opened %v", l.opened)
	}
}

// TestCallsThatAreNone: unknown tools and arguments are answered, and calls over the limit are refused.
func TestCallsThatAreNone(t *testing.T) {
	s := serveLab(t, &lab{source: "one", scene: all()}, BuildOnly, 3)
	client := s.client(t, "")
	for _, p := range []*mcp.CallToolParams{{Name: "run_anything"}, {Name: ToolName, Arguments: map[string]any{"level": 0}}, {Name: ToolName}} {
		text, res, err := callTool(t.Context(), client, p)
		if err != nil || strings.Contains(text, "level 0") || p.Name != ToolName && !res.IsError {
			t.Errorf("%s: %q, %v", p.Name, text, err)
		}
	}
	for range 2 {
		if text, res, err := callTool(t.Context(), client, &mcp.CallToolParams{Name: ToolName}); err != nil || !res.IsError || text != "no further calls: the limit of 3 is reached" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if len(s.steps) != 4 {
		t.Errorf("%d steps", len(s.steps))
	}
	s.c.EndPhase()
	s2 := NewServer(s.c, ServerConfig{})
	near, far := mcp.NewInMemoryTransports()
	if _, err := s2.MCP().Connect(t.Context(), near, nil); err != nil {
		t.Fatal(err)
	}
	after, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	if text, res, err := callTool(t.Context(), after, &mcp.CallToolParams{Name: ToolName}); err != nil || !res.IsError || text != overText {
		t.Errorf("after the phase: %q, %v", text, err)
	}
}

// TestLongLogOverMCP: the file that the answer names holds the log, without what is hidden.
func TestLongLogOverMCP(t *testing.T) {
	l := &lab{source: "one", scene: all()}
	l.scene.build = false
	secret := "the input that triggers it 0123456789"
	l.scene.log = func(string) []byte { return []byte(words(maxWords, "\n") + secret + "\nlast line\n") }
	logs := &Logs{Dir: t.TempDir()}
	c := l.checker(t, BuildOnly, func(cfg *Config) { cfg.Cut = NewCutter([][]byte{[]byte(secret)}, nil).Cut })
	w := mustStart(t, c)
	report, err := w.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, shown := report.Text(logs)
	kept, err := os.ReadFile(filepath.Clean(shown.File))
	if err != nil {
		t.Fatal(err)
	}
	for what, s := range map[string]string{"the answer": text, "the file": string(kept)} {
		if strings.Contains(s, "triggers it") || !strings.Contains(s, leftOut) || !strings.Contains(s, "last line") {
			t.Errorf("%s holds it, or lacks the rest", what)
		}
	}
}
