package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
	"tare/internal/platform"
)

const stageStart = `{
  "accounts": [{"id": "north"}],
  "principals": [{"id": "dana", "roles": {"north": "owner"}}],
  "apps": [{"id": "app_shop", "account_id": "north", "name": "shop", "status": "running", "desired_instances": 1, "current_release_id": "rel_1"}],
  "releases": [{"id": "rel_1", "app_id": "app_shop", "version": 1, "image": "shop:1"}]
}`

func pattern(tool string) []tare.CallPattern { return []tare.CallPattern{{Tools: []string{tool}}} }

// stageSpec is a scenario with a fault, bindings, a state at a checkpoint and a cleanup.
func stageSpec() *tare.ScenarioSpec {
	return &tare.ScenarioSpec{
		World: tare.WorldSpec{Simulator: &tare.SimulatorSpec{
			Seed: 3, Clock: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), Start: json.RawMessage(stageStart), As: "dana",
			Faults: []tare.FaultSpec{{ID: "maybe", Kind: tare.FaultAmbiguous, Applied: true, Tool: "scale_app", Nth: 1}},
		}},
		Checkpoints: []tare.Checkpoint{
			{ID: "made", Calls: pattern("create_app"), Take: map[string]string{"app": "app.id"}},
			{ID: "seen", After: []string{"made"}, Calls: []tare.CallPattern{{Tools: []string{"get_app"}, Args: map[string]tare.ArgMatch{"app_id": {Bound: "made.app"}}}}, See: []tare.Expectation{{ID: "x"}}},
			{ID: "early", Calls: pattern("whoami")},
		},
		Cleanup: &tare.Cleanup{Begins: pattern("delete_app"), After: []string{"seen"}},
	}
}

// openStage serves a scenario and connects to it.
func openStage(t *testing.T, spec *tare.ScenarioSpec, limits tare.Limits) (*Stage, *mcp.ClientSession, *[]tare.Step) {
	t.Helper()
	p, err := platform.New(platform.Config{Spec: *spec.World.Simulator, Consents: spec.Consents})
	if err != nil {
		t.Fatal(err)
	}
	var steps []tare.Step
	s, err := ServeStage(t.Context(), StageConfig{
		Spec: spec, Brief: "do it", Backend: Simulated(p), Limits: limits,
		NewDir: func(string) (string, error) { return t.TempDir(), nil },
		OnStep: func(s tare.Step) { steps = append(steps, s) }, OnProblem: func(err error) { t.Errorf("a problem: %v", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: "http://localhost/mcp", HTTPClient: unixClient(s.Socket), MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return s, session, &steps
}

func operate(t *testing.T, c *mcp.ClientSession, tool, args string) *mcp.CallToolResult {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return res
}

func resultAt(t *testing.T, res *mcp.CallToolResult, path string) string {
	t.Helper()
	p, err := tare.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := p.Select(b)
	var s string
	_ = json.Unmarshal(v, &s) // what is no text is ""
	return s
}

// TestStage plays an episode by hand and says what must have been seen of it.
func TestStage(t *testing.T) {
	s, c, steps := openStage(t, stageSpec(), tare.Limits{})
	list, err := c.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != len(platform.Catalogue().Tools) {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	for _, tool := range list.Tools {
		if a := tool.Annotations; tool.Name == "delete_app" && (a.ReadOnlyHint || !*a.DestructiveHint || a.IdempotentHint) || tool.Name == "get_app" && !a.ReadOnlyHint || tool.OutputSchema == nil {
			t.Errorf("%s is advertised as %+v", tool.Name, a)
		}
	}
	operate(t, c, "delete_app", `{"app_id": "nothing"}`)                                                                    // 0: no cleanup yet
	operate(t, c, "scale_app", `{"app_id": "app_shop", "instances": 2, "reason": "more", "note": 1}`)                       // 1: a bad argument
	operate(t, c, "scale_app", `{"app_id": "app_shop", "instances": 2}`)                                                    // 2: ambiguous, applied
	id := resultAt(t, operate(t, c, "create_app", `{"account_id": "north", "name": "api", "region": "eu-west"}`), "app.id") // 3
	operate(t, c, "fly", `{}`)                                                                                              // 4: no such tool
	operate(t, c, "wait", `{"seconds": 10}`)                                                                                // 5: the scaling ends
	operate(t, c, "get_app", `{"app_id": "app_shop"}`)                                                                      // 6: not the bound one
	operate(t, c, "get_app", fmt.Sprintf(`{"app_id": %q}`, id))                                                             // 7: the checkpoint
	operate(t, c, "read_logs", `{"app_id": "app_shop", "search": "x"}`)                                                     // 8: a divergence
	operate(t, c, "delete_app", fmt.Sprintf(`{"app_id": %q}`, id))                                                          // 9: cleanup
	ev, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "delete_app", Arguments: map[string]any{"app_id": "app_shop"}}); err == nil && !res.IsError {
		t.Error("a call was carried out after the end")
	}

	type label struct {
		Label string
		Step  int
	}
	var labels []label
	for _, st := range ev.States {
		labels = append(labels, label{st.Label, st.Step})
	}
	if diff := cmp.Diff([]label{{"before", 0}, {"checkpoint:seen", 8}, {"before_cleanup", 9}, {"after", 10}}, labels); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]int{"before": 1, "checkpoint:seen": 2, "before_cleanup": 2, "after": 1} {
		st, ok := ev.State(name)
		if got := len(st.Collections["apps"].Items); !ok || got != want || !st.Collections["apps"].Complete {
			t.Errorf("%s: %d apps, want %d", name, got, want)
		}
	}
	yes := true
	if diff := cmp.Diff([]tare.Injected{{Step: 2, ID: "maybe", Kind: tare.FaultAmbiguous, Applied: &yes}}, ev.Injected); diff != "" {
		t.Error(diff)
	}
	if len(ev.Divergences) != 1 || ev.Divergences[0].Step != 8 || ev.Divergences[0].Tool != "read_logs" {
		t.Errorf("divergences %+v", ev.Divergences)
	}
	if diff := cmp.Diff(map[int]string{2: "apps- instances- operations-", 3: "apps-", 5: "apps+ instances+ logs+ operations+", 9: "apps- operations-"}, deltas(ev)); diff != "" {
		t.Error(diff)
	}
	checkSteps(t, *steps)
	if ev.Brief != "do it" || ev.Watched != tare.WatchEvery || len(ev.Catalogue.Tools) == 0 || ev.Catalogue.Tools[0].OutputSchema != nil {
		t.Errorf("evidence %q %q, %d tools", ev.Brief, ev.Watched, len(ev.Catalogue.Tools))
	}
}

// deltas is what changed in each step: collections, with + for what happened while time passed.
func deltas(ev *tare.ScenarioEvidence) map[int]string {
	out := map[int]string{}
	for _, d := range ev.Deltas {
		var names []string
		for _, c := range d.Changes {
			mark := "-"
			if c.ByTime {
				mark = "+"
			}
			if name := c.Collection + mark; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		out[d.Step] = strings.Join(names, " ")
	}
	return out
}

func checkSteps(t *testing.T, steps []tare.Step) {
	t.Helper()
	if len(steps) != 10 {
		t.Fatalf("%d steps", len(steps))
	}
	for i, s := range steps {
		if s.Call.Index != i || i > 0 && s.Observation.Clock < steps[i-1].Observation.Clock {
			t.Errorf("step %d: %+v", i, s)
		}
		if ok := i != 0 && i != 1 && i != 4 && i != 8; s.Observation.OK != ok {
			t.Errorf("step %d is OK: %t", i, s.Observation.OK)
		}
		if hasData := i != 4; (s.Observation.Data != nil) != hasData {
			t.Errorf("step %d has a structured result: %t", i, s.Observation.Data != nil)
		}
	}
	if got := string(steps[1].Call.Args); !strings.Contains(got, `"note":1`) {
		t.Errorf("recorded arguments %s", got)
	}
	if steps[2].Observation.Fault != string(tare.FaultAmbiguous) {
		t.Errorf("recorded fault %q", steps[2].Observation.Fault)
	}
}

// TestStageWithoutCleanup takes the state before cleanup at the end when the agent never begins it.
func TestStageWithoutCleanup(t *testing.T) {
	s, c, _ := openStage(t, stageSpec(), tare.Limits{Turns: 2})
	for range 3 {
		operate(t, c, "whoami", `{}`)
	}
	select {
	case <-s.Exhausted():
	default:
		t.Error("the limit is not reached")
	}
	ev, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := ev.State(tare.LabelBeforeCleanup); !ok || st.Step != 3 {
		t.Errorf("before cleanup: %t, %d", ok, st.Step)
	}
}

// ailing is a world that cannot be observed and whose calls fail on our side.
type ailing struct{ simulated }

func (ailing) Observe(context.Context) (map[string]tare.Collection, []tare.Read, error) {
	return nil, nil, errors.New("no answer")
}

func (ailing) Call(context.Context, string, json.RawMessage, func()) (tare.Reply, error) {
	return tare.Reply{}, errors.New("the server at 10.0.0.7 died")
}

func TestStageThatFails(t *testing.T) {
	p, err := platform.New(platform.Config{Spec: *stageSpec().World.Simulator})
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	s, err := NewStage(t.Context(), StageConfig{Spec: stageSpec(), Backend: ailing{simulated{p}}, OnProblem: func(err error) { problems = append(problems, err.Error()) }})
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := s.server.Connect(t.Context(), ours, nil); err != nil {
		t.Fatal(err)
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	res := operate(t, c, "whoami", `{}`)
	text, _ := textOf(res)
	if !res.IsError || strings.Contains(text, "10.0.0.7") {
		t.Errorf("answered %q", text)
	}
	if len(problems) != 1 || !strings.Contains(problems[0], "10.0.0.7") {
		t.Errorf("problems %q", problems)
	}
	ev, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range ev.States {
		if st.Problem != "no answer" || len(st.Collections) > 0 {
			t.Errorf("%s: %+v", st.Label, st)
		}
	}
}
