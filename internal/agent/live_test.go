package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/agent"
	"tare/internal/llm"
	"tare/internal/mockmodel"
)

// plays are conversations of the scripted model, by what the brief says.
const plays = `
usage: {input: 100, output: 10, cache_read: 20, cache_write: 0}
conversations:
  - match: parallel
    steps:
      - say: I look and mend.
        think: which file was it
        calls:
          - {tool: read_file, args: {path: src/shop/cart.py}}
          - {tool: write_file, args: {path: src/shop/cart.py, content: "# ünïcode ☃\n"}}
          - {tool: read_file, args: {path: src/shop/cart.py}}
      - {say: "It is mended: ☃."}
  - match: mistakes
    steps:
      - calls: [{name: no_such_tool, args: {}}]
      - calls: [{tool: read_file, raw: '{"path": "src'}]
      - calls: [{tool: read_file, raw: '["src"]'}]
      - calls: [{tool: read_file, args: {file: 3}, exact: true}]
      - calls: [{name: "", raw: "{}", tool: list_files}]
      - {say: I give up.}
  - {match: long result, steps: [{calls: [{tool: read_file, args: {path: long.txt}}]}, {say: read}]}
  - {match: refusal, steps: [{say: I will not., stop: refusal}]}
  - {match: token limit, steps: [{say: and so on, stop: max_tokens, calls: [{tool: write_file, args: {path: x, content: half}}]}]}
  - {match: overflow, steps: [{calls: [{tool: list_files}]}, {fail: {overflow: true}}]}
  - {match: provider, steps: [{calls: [{tool: list_files}]}, {fail: {status: 400, message: out of order}}]}
  - {match: recovers, steps: [{fail: {status: 529, times: 2}}, {calls: [{tool: list_files}], fail: {cut: true, after: 6, times: 1}}, {say: done}]}
  - {match: forever, steps: [{calls: [{tool: list_files}]}, {calls: [{tool: list_files}]}, {calls: [{tool: list_files}]}, {calls: [{tool: list_files}]}, {say: done}]}
  - {match: silent, steps: [{calls: [{tool: list_files}], usage: {unknown: true}}, {say: done}]}
  - {match: waits, steps: [{calls: [{tool: run_tests}]}, {say: done}]}
  - {match: hangs, steps: [{say: abcdefghijklmnopqrst, fail: {hang: true, after: 3}}]}
  - match: policy
    steps:
      - calls: [{tool: write_file, args: {path: x.txt, content: x}}]
      - {say: done}
      - {say: done}
      - calls: [{tool: run_tests}]
      - {say: really done}
`

// models are the APIs that a test of the loop goes through; what differs between them is for the tests of llm.
var models = llm.APIs()

// A play is one episode of a live agent.
type play struct {
	end       agent.Ending
	err       error
	turns     []tare.ModelTurn
	approvals []tare.Approval
	last      string // body of the last request
}

type playing struct {
	api     string
	brief   string
	limits  tare.Limits
	tests   string // what run_tests runs
	policy  string
	prices  string
	live    func(*agent.Live)
	ctx     context.Context
	files   map[string]string
	started func(log string) // called while the model is asked
}

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (p playing) play(t *testing.T) (*stage, play) {
	t.Helper()
	script, err := mockmodel.Parse("plays", []byte(plays))
	if err != nil {
		t.Fatal(err)
	}
	var log logged
	srv := httptest.NewServer(mockmodel.New(script, &log))
	t.Cleanup(srv.Close)
	url := srv.URL
	if p.api != "anthropic" {
		url += "/v1"
	}
	model, err := llm.New(p.api, "mock", llm.Options{BaseURL: url, Key: "k", HTTP: srv.Client(), Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	if err != nil {
		t.Fatal(err)
	}
	if p.policy == "" {
		p.policy = "name: plain\nsystem: be good\n"
	}
	policy, err := agent.ParsePolicy("p.yaml", []byte(p.policy))
	if err != nil {
		t.Fatal(err)
	}
	prices, err := llm.ParsePrices("prices.yaml", []byte("prices: ["+p.prices+"]"))
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, p.limits, p.tests)
	for name, content := range p.files {
		writeFile(t, s.ws.Dir, name, content)
	}
	live := agent.Live{Label: "live", Model: model, Policy: policy, Prices: prices}
	if p.live != nil {
		p.live(&live)
	}
	var out play
	s.OnTurn = func(m tare.ModelTurn) { m.Seconds = 0; out.turns = append(out.turns, m) }
	s.OnApproval = func(a tare.Approval) { out.approvals = append(out.approvals, a) }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if p.started != nil {
		go func() {
			for ctx.Err() == nil && !strings.Contains(log.String(), `"api"`) {
				runtime.Gosched()
			}
			cancel()
		}()
	}
	if p.ctx != nil {
		ctx = p.ctx
	}
	out.end, out.err = live.Play(ctx, tare.Brief{Title: "A task", Text: p.brief, Limits: p.limits}, s.World)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	var e struct{ Body json.RawMessage }
	json.Unmarshal([]byte(lines[len(lines)-1]), &e)
	out.last = string(e.Body)
	return s, out
}

func TestLiveParallel(t *testing.T) {
	for _, api := range models {
		t.Run(api, func(t *testing.T) {
			s, got := playing{api: api, brief: "parallel", prices: "{model: mock, input: 1, output: 10, cache_read: 0.5}"}.play(t)
			if got.err != nil || got.end.Stop != tare.EndTurn || got.end.Final != "It is mended: ☃." {
				t.Fatalf("%+v, %v", got.end, got.err)
			}
			if d := cmp.Diff([]string{"read_file src/shop/cart.py", "write_file src/shop/cart.py", "read_file src/shop/cart.py"}, s.calls()); d != "" {
				t.Error(d)
			}
			for _, part := range []string{"return sum(prices[1:])", "ünïcode ☃"} { // each result, in its place
				if !strings.Contains(got.last, part) {
					t.Errorf("the model was not shown %q: %s", part, got.last)
				}
			}
			if len(got.turns) != 2 || got.turns[0].Calls != 3 || got.turns[0].Stop != "tool_use" || got.turns[0].Thought != "" {
				t.Errorf("turns: %+v", got.turns)
			}
			total := tare.TotalUsage(got.turns)
			if d := cmp.Diff(&total, got.end.Usage); d != "" {
				t.Errorf("the total is not that of the answers: %s", d)
			}
			if u := got.end.Usage; *u.InputTokens != 240 || *u.OutputTokens != 20 || *u.CacheReadTokens != 40 || *u.Dollars < 0.000419 || *u.Dollars > 0.000421 {
				t.Errorf("usage: %+v", u)
			}
		})
	}
}

func TestLiveThoughts(t *testing.T) {
	_, got := playing{api: "anthropic", brief: "parallel", live: func(l *agent.Live) { l.Thoughts = true }}.play(t)
	if len(got.turns) == 0 || got.turns[0].Thought != "which file was it" {
		t.Errorf("turns: %+v", got.turns)
	}
	if got.end.Usage.Dollars != nil {
		t.Errorf("a model without a price cost %v", *got.end.Usage.Dollars)
	}
}

// What the model gets wrong goes back to it, and is recorded; the episode goes on.
func TestLiveMistakes(t *testing.T) {
	for _, api := range models {
		t.Run(api, func(t *testing.T) {
			s, got := playing{api: api, brief: "mistakes"}.play(t)
			if got.err != nil || got.end.Stop != tare.EndTurn || got.end.Final != "I give up." {
				t.Fatalf("%+v, %v", got.end, got.err)
			}
			if d := cmp.Diff([]string{"no_such_tool !", "read_file !", "list_files"}, s.calls()); d != "" {
				t.Error(d)
			}
			for _, part := range []string{"unknown tool", "unexpected EOF", "cannot unmarshal array", "validating root"} {
				if !strings.Contains(got.last, part) {
					t.Errorf("the model was not told %q: %s", part, got.last)
				}
			}
			if len(got.turns) != 6 || len(got.turns[1].Mistakes) != 1 || len(got.turns[2].Mistakes) != 1 || len(got.turns[3].Mistakes) != 0 {
				t.Errorf("turns: %+v", got.turns)
			}
		})
	}
}

func TestLiveLongResult(t *testing.T) {
	long := strings.Repeat("ä", 5000) + "THE END"
	for _, api := range models {
		_, got := playing{api: api, brief: "long result", files: map[string]string{"long.txt": long}, live: func(l *agent.Live) { l.Result = 1001 }}.play(t)
		if got.err != nil || got.end.Stop != tare.EndTurn {
			t.Fatalf("%s: %+v, %v", api, got.end, got.err)
		}
		if !strings.Contains(got.last, "bytes are left out here: the result is longer than the limit of 1001]") || !strings.Contains(got.last, "THE END") || strings.Contains(got.last, `\ufffd`) || len(got.last) > 8000 {
			t.Errorf("%s: %d bytes: %.3000s", api, len(got.last), got.last)
		}
	}
}

func TestLiveStops(t *testing.T) {
	for _, c := range []struct {
		brief  string
		limits tare.Limits
		prices string
		stop   tare.StopReason
		detail string
		calls  int
		turns  int
	}{
		{"refusal", tare.Limits{}, "", tare.Refusal, "the model refused", 0, 1},
		{"token limit", tare.Limits{}, "", tare.TokenLimit, "cut off", 0, 1},
		{"overflow", tare.Limits{}, "", tare.TokenLimit, "too long for the model", 1, 2},
		{"provider", tare.Limits{}, "", tare.ProviderError, "status 400: invalid_request_error: out of order", 1, 2},
		{"recovers", tare.Limits{}, "", tare.EndTurn, "", 1, 2},
		{"forever", tare.Limits{Tokens: 250}, "", tare.BudgetLimit, "the budget in tokens is spent: 260 of 250", 2, 2},
		{"forever", tare.Limits{Tokens: 2500}, "", tare.EndTurn, "", 4, 5},
		{"forever", tare.Limits{Dollars: 0.0003}, "{model: mock, input: 1, output: 1}", tare.BudgetLimit, "the budget in money is spent: $0.0004 of $0.0003", 3, 3},
		{"forever", tare.Limits{Dollars: 1}, "", tare.BudgetLimit, "what an answer cost is unknown", 1, 1},
		{"silent", tare.Limits{Tokens: 1000}, "", tare.BudgetLimit, "what an answer took is unknown", 1, 1},
		{"silent", tare.Limits{}, "", tare.EndTurn, "", 1, 2},
	} {
		for _, api := range models {
			t.Run(c.brief+" "+api, func(t *testing.T) {
				s, got := playing{api: api, brief: c.brief, limits: c.limits, prices: c.prices}.play(t)
				if got.err != nil || got.end.Stop != c.stop || !strings.Contains(got.end.Detail, c.detail) {
					t.Errorf("%+v, %v", got.end, got.err)
				}
				if n := len(s.calls()); n != c.calls || len(got.turns) != c.turns {
					t.Errorf("%d calls, %d turns: %+v", n, len(got.turns), got.turns)
				}
				unknown := c.brief == "silent" || c.brief == "overflow" || c.brief == "provider" || c.brief == "recovers"
				if (got.end.Usage == nil) != unknown {
					t.Errorf("usage %+v", got.end.Usage)
				}
			})
		}
	}
}

// An episode that is over ends the agent, in the middle of an answer and in the middle of a tool.
func TestLiveCancelled(t *testing.T) {
	_, got := playing{api: "anthropic", brief: "hangs", started: func(string) {}}.play(t)
	if got.err != nil || got.end.Stop != tare.Cancelled || len(got.turns) != 1 || got.end.Usage != nil {
		t.Errorf("in an answer: %+v, %v, %+v", got.end, got.err, got.turns)
	}
	for _, api := range models {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		_, got = playing{api: api, brief: "waits", tests: "sleep 600", ctx: ctx}.play(t)
		cancel()
		if got.err != nil || got.end.Stop != tare.WallLimit || len(got.turns) > 1 {
			t.Errorf("%s, in a tool: %+v, %v, %+v", api, got.end, got.err, got.turns)
		}
	}
}

const strict = `
name: strict
system: be good
reminders: 2
before_end:
  - {tool: run_tests, after: write_file, result: {returncode: 0}, say: "the tests have not passed"}
  - {tool: no_such_tool, say: "never said"}
  - {say: "look again"}
approval: May it be handed in?
`

// A model that says it is done is sent back by the rules of its policy, so often and no more; then what is asked is asked.
func TestLivePolicy(t *testing.T) {
	for _, c := range []struct {
		reminders   string
		final       string
		calls       []string
		unmet, look int
	}{
		{"0", "done", []string{"write_file x.txt"}, 0, 0},
		{"1", "done", []string{"write_file x.txt"}, 1, 0},
		{"2", "really done", []string{"write_file x.txt", "run_tests"}, 2, 0},
		{"3", "really done", []string{"write_file x.txt", "run_tests"}, 2, 1},
		{"9", "really done", []string{"write_file x.txt", "run_tests"}, 2, 1},
	} {
		s, got := playing{api: "openai", brief: "policy", policy: strings.Replace(strict, "reminders: 2", "reminders: "+c.reminders, 1), tests: "exit 0"}.play(t)
		if got.err != nil || got.end.Stop != tare.EndTurn || got.end.Final != c.final {
			t.Errorf("%s reminders: %+v, %v", c.reminders, got.end, got.err)
		}
		if d := cmp.Diff(c.calls, s.calls()); d != "" {
			t.Errorf("%s reminders: %s", c.reminders, d)
		}
		for text, want := range map[string]int{"the tests have not passed": c.unmet, "look again": c.look, "never said": 0} {
			if n := strings.Count(got.last, text); n != want {
				t.Errorf("%s reminders: %q was said %d times, want %d", c.reminders, text, n, want)
			}
		}
		if d := cmp.Diff([]tare.Approval{{Asked: "May it be handed in?", Approved: true, By: "auto"}}, got.approvals); d != "" {
			t.Error(d)
		}
	}
}

func TestLiveApproval(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer tare.Approval
		err    error
		stop   tare.StopReason
		detail string
	}{
		{"given", tare.Approval{Approved: true, By: "terminal"}, nil, tare.EndTurn, ""},
		{"refused", tare.Approval{By: "command", Why: "too large"}, nil, tare.Cancelled, "the approval was refused: too large"},
		{"broken", tare.Approval{}, errors.New("no terminal"), "", ""},
	} {
		asked := ""
		_, got := playing{api: "anthropic", brief: "silent", policy: "name: p\nsystem: s\napproval: May it?\n", live: func(l *agent.Live) {
			l.Approve = func(_ context.Context, question, final string) (tare.Approval, error) {
				asked = question + " " + final
				return c.answer, c.err
			}
		}}.play(t)
		if (got.err != nil) != (c.err != nil) || got.end.Stop != c.stop || got.end.Detail != c.detail || asked != "May it? done" {
			t.Errorf("%s: %+v, %v, asked %q", c.name, got.end, got.err, asked)
		}
	}
}

// A policy may not lead to what is graded where the task does not ask for it: what would be scored then is the policy's
// knowledge of the grader.
func TestPoliciesNameNoGradedArtefact(t *testing.T) {
	if names := agent.BuiltinPolicies(); !cmp.Equal(names, []string{"advanced", "baseline"}) {
		t.Fatalf("policies: %v", names)
	}
	named := regexp.MustCompile(`(?i)regression|hidden|grad(e|ing)\b|grader|verdict|reward|score|probe|mutant|twin|canary|sentinel|tripwire|minefield|integrity|proof.of.concept|\bPoCs?\b|intent|` +
		`\b(add|write|create|make|new|extend|cover)\w*\b[^.;:,]{0,40}\btests?\b|\btests?\b[^.;:,]{0,20}\b(that fails? before|for the (bug|fix))`)
	for _, sample := range []string{"add a regression test", "Write new tests for it", "create a failing test", "a test that fails before the fix", "the hidden tests", "extend the existing tests"} {
		if !named.MatchString(sample) {
			t.Fatalf("%q would not be found", sample)
		}
	}
	for _, name := range agent.BuiltinPolicies() {
		p, _ := agent.BuiltinPolicy(name)
		texts := []string{p.System, p.Prompt, p.Approval}
		for _, r := range p.BeforeEnd {
			texts = append(texts, r.Say)
		}
		for _, text := range texts {
			if hit := named.FindString(strings.Join(strings.Fields(text), " ")); hit != "" {
				t.Errorf("%s names %q", name, hit)
			}
		}
	}
}

func TestPolicyErrors(t *testing.T) {
	for text, want := range map[string]string{
		"name: a\nsistem: b\n":                                     `p.yaml:2:1: unknown field "sistem"`,
		"name: a b\nsystem: b\n":                                   "p.yaml:1:7: a policy has a name",
		"name: a\n":                                                "p.yaml:1:1: a policy has a system prompt or a prompt",
		"name: a\nprompt: do it\n":                                 "p.yaml:2:9: the prompt has no {{brief}}",
		"name: a\nsystem: b\nbefore_end:\n  - tool: x\n":           "p.yaml:4:5: a rule has something to say",
		"name: a\nsystem: b\nbefore_end:\n  - {tool: (, say: x}\n": "p.yaml:4:12: error parsing regexp",
		"name: [\n":                                                "p.yaml:1:7: ",
	} {
		if _, err := agent.ParsePolicy("p.yaml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	a, _ := agent.ParsePolicy("p.yaml", []byte("name: a\nsystem: b\n"))
	b, _ := agent.ParsePolicy("p.yaml", []byte("name: a\nsystem: c\n"))
	if a.ID() == b.ID() || !strings.HasPrefix(a.ID(), "a@") {
		t.Errorf("ids %s, %s", a.ID(), b.ID())
	}
}

func writeFile(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
