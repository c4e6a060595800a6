package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/agent"
	"tare/internal/mcpproxy"
	"tare/internal/oracle"
	"tare/internal/platform"
	"tare/internal/suite"
	"tare/internal/tools"
)

// The differential plays the same scripted agents on the simulator and on a second server, in testdata/second, that was
// written apart from it. Where they come out differently, one of the two is not the platform that the tools describe: that is
// evidence about the simulator, and says nothing about an agent.

// secondServer builds the second server and holds it to having been written apart.
func secondServer(t *testing.T) string {
	t.Helper()
	deps, err := exec.Command("go", "list", "-deps", "./testdata/second").Output()
	if err != nil {
		t.Fatalf("listing what the second server is made of: %v", err)
	}
	for line := range strings.Lines(string(deps)) {
		if own := strings.TrimSpace(line); own == "tare" || strings.HasPrefix(own, "tare/") && !strings.HasSuffix(own, "/testdata/second") {
			t.Fatalf("the second server is made of %s too, and so is no second one", own)
		}
	}
	path := filepath.Join(t.TempDir(), "second")
	build := exec.Command("go", "build", "-o", path, "./testdata/second")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the second server: %v\n%s", err, out)
	}
	return path
}

// A meeting is what became of one agent in one world.
type meeting struct {
	record tare.Record
	lines  []string // what can be compared: calls and the end state, without ids, times and how often was asked
}

// meet plays a script in a world.
func meet(t *testing.T, task *tare.Task, backend tools.Backend, script tare.AgentScript) meeting {
	t.Helper()
	ep := tare.Episode{Task: task.ID, TaskHash: task.Hash, Agent: script.Name, Trial: 1}
	m := meeting{record: tare.Record{Schema: tare.RecordSchema, TaskHash: task.Hash, Trajectory: tare.Trajectory{Episode: ep}}}
	s, err := tools.ServeStage(t.Context(), tools.StageConfig{
		Spec: task.Scenario, Brief: task.Ticket, Backend: backend, NewDir: func(string) (string, error) { return t.TempDir(), nil },
		OnStep:    func(s tare.Step) { m.record.Trajectory.Steps = append(m.record.Trajectory.Steps, s) },
		OnProblem: func(err error) { t.Errorf("a problem: %v", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	end, err := agent.Operator(script.Name, script).Play(t.Context(), task.Brief(), agent.World{Socket: s.Socket})
	if err != nil {
		t.Fatal(err)
	}
	m.record.Trajectory.Stop, m.record.Trajectory.Final = end.Stop, end.Final
	if m.record.Evidence.Scenario, err = s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.lines = append(callLines(m.record.Trajectory.Steps), stateLines(t, m.record.Evidence.Scenario)...)
	return m
}

// callLines are the calls with what kind of answer they had. Waiting, and asking the same again, do not count.
func callLines(steps []tare.Step) []string {
	var out []string
	for _, s := range steps {
		if s.Call.Tool == "wait" {
			continue
		}
		line := fmt.Sprintf("call %s: ok %t%s", s.Call.Tool, s.Observation.OK, code(s.Observation.Data))
		if len(out) == 0 || out[len(out)-1] != line {
			out = append(out, line)
		}
	}
	return out
}

func code(data json.RawMessage) string {
	var out struct{ Error struct{ Code string } }
	if json.Unmarshal(data, &out) != nil || out.Error.Code == "" {
		return ""
	}
	return ", " + out.Error.Code
}

// stateLines are the end state: what has which name in which account, and how it is.
func stateLines(t *testing.T, ev *tare.ScenarioEvidence) []string {
	t.Helper()
	after, ok := ev.State(tare.LabelAfter)
	if !ok || after.Problem != "" {
		t.Fatalf("no state at the end: %s", after.Problem)
	}
	type item struct {
		ID, Name, Account_ID, App_ID, Status, State, Key, Value, Hostname, Current_Release_ID string
		Desired_Instances, Running_Instances                                                  int
	}
	items := func(collection string) (out []item) {
		for _, raw := range after.Collections[collection].Items {
			var x item
			if err := json.Unmarshal(raw, &x); err != nil {
				t.Fatal(err)
			}
			out = append(out, x)
		}
		return out
	}
	names := map[string]string{}
	var out []string
	for _, a := range items("apps") {
		names[a.ID] = a.Account_ID + "/" + a.Name
		out = append(out, fmt.Sprintf("app %s: %s, %d of %d, release %s", names[a.ID], a.Status, a.Running_Instances, a.Desired_Instances, written(a.Current_Release_ID)))
	}
	for _, c := range items("configs") {
		out = append(out, fmt.Sprintf("config %s: %s=%s", names[c.App_ID], c.Key, c.Value))
	}
	for _, d := range items("domains") {
		out = append(out, fmt.Sprintf("domain %s: %s, %s", d.Hostname, names[d.App_ID], d.State))
	}
	slices.Sort(out)
	return out
}

// written is an id that the start state wrote; ids that a world made up are all one.
func written(id string) string {
	if id == "" || strings.HasPrefix(id, "rel_shop") || strings.HasPrefix(id, "rel_blog") || strings.HasPrefix(id, "rel_south") {
		return id
	}
	return "new"
}

// second is a backend before the second server, which has the same start state.
func second(t *testing.T, binary string, task *tare.Task) tools.Backend {
	t.Helper()
	file := filepath.Join(t.TempDir(), "start.json")
	if err := os.WriteFile(file, task.Scenario.World.Simulator.Start, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := tare.MCPSpec{Command: []string{binary, file}, Servers: []string{"platform"}, Observe: []tare.ReadSpec{
		{Collection: "apps", Tool: "list_apps", Items: "apps", Next: "next_cursor", Cursor: "cursor"},
		{Collection: "domains", Tool: "list_domains", Items: "domains"},
	}}
	for _, f := range task.Scenario.World.Simulator.Faults {
		if f.Kind == tare.FaultUnavailable {
			spec.Faults = append(spec.Faults, f)
		}
	}
	var start struct{ Apps []struct{ ID string } }
	if err := json.Unmarshal(task.Scenario.World.Simulator.Start, &start); err != nil {
		t.Fatal(err)
	}
	for _, a := range start.Apps {
		spec.Observe = append(spec.Observe, tare.ReadSpec{Collection: "configs", Tool: "list_config", Args: json.RawMessage(fmt.Sprintf(`{"app_id": %q}`, a.ID)), Items: "configs"})
	}
	p, err := mcpproxy.Open(t.Context(), mcpproxy.Config{Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func simulated(t *testing.T, task *tare.Task, bugs ...string) tools.Backend {
	t.Helper()
	p, err := platform.New(platform.Config{Spec: *task.Scenario.World.Simulator, Consents: task.Scenario.Consents, Bugs: bugs})
	if err != nil {
		t.Fatal(err)
	}
	return tools.Simulated(p)
}

// script makes a script of calls written as "tool {arguments}", with "> name path" for what is taken.
func script(name string, calls ...string) tare.AgentScript {
	s := tare.AgentScript{Name: name, Final: "done"}
	for _, c := range calls {
		call, take, taken := strings.Cut(c, " > ")
		tool, args, _ := strings.Cut(call, " ")
		step := tare.ScriptStep{Tool: tool, Args: json.RawMessage(args)}
		if taken {
			key, path, _ := strings.Cut(take, " ")
			step.Take = map[string]string{key: path}
		}
		s.Steps = append(s.Steps, step)
	}
	return s
}

// scripts are agents beside those of the scenario, for tools that these do not use.
func scripts() []tare.AgentScript {
	return []tare.AgentScript{
		script("deploys a new app", `create_app {"account_id": "acct_south", "name": "api", "region": "eu-west"} > app app.id`,
			`create_release {"app_id": "{app}", "image": "api:1"} > release release.id`, `scale_app {"app_id": "{app}", "instances": 2}`,
			`deploy_release {"app_id": "{app}", "release_id": "{release}"} > op operation.id`, `scale_app {"app_id": "{app}", "instances": 2}`,
			`wait {"seconds": 20}`, `get_operation {"operation_id": "{op}"}`, `get_app {"app_id": "{app}"}`),
		script("sets a value twice", `set_config {"app_id": "app_blog", "key": "MODE", "value": "a"}`, `set_config {"app_id": "app_blog", "key": "MODE", "value": "b"}`, `list_config {"app_id": "app_blog"}`),
		script("deletes", `delete_app {"app_id": "app_blog"}`, `get_app {"app_id": "app_blog"}`, `delete_app {"app_id": "app_blog"}`, `set_config {"app_id": "app_blog", "key": "MODE", "value": "a"}`),
		script("scales down and too far", `scale_app {"app_id": "app_blog", "instances": 1}`, `scale_app {"app_id": "app_blog", "instances": 60}`, `scale_app {"app_id": "app_blog", "instances": 10}`, `scale_app {"app_id": "nothing", "instances": 1}`, `scale_app {"app_id": "app_blog"}`),
		script("makes what is there", `create_app {"account_id": "acct_north", "name": "shop", "region": "eu-west"}`, `create_app {"account_id": "acct_south", "name": "blog", "region": "eu-west"}`),
		script("deploys what is of another", `deploy_release {"app_id": "app_blog", "release_id": "rel_shop_1"}`, `deploy_release {"app_id": "app_shop", "release_id": "rel_shop_1"}`, `deploy_release {"app_id": "app_shop", "release_id": "rel_shop_2"}`, `wait {"seconds": 20}`, `get_app {"app_id": "app_shop"}`),
		script("deploys an earlier one", `deploy_release {"app_id": "app_shop", "release_id": "rel_shop_1"}`, `wait {"seconds": 20}`),
		script("turns pages", `list_apps {"page_size": 1} > next next_cursor`, `list_apps {"page_size": 1, "cursor": "{next}"}`, `list_apps {"cursor": "nonsense"}`),
	}
}

func TestDifferential(t *testing.T) {
	binary := secondServer(t)
	task, err := suite.LoadTask("../suite/testdata/scenarios/scale_to_three") // the second server knows no more tools than this one needs
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	compare := func(s tare.AgentScript) (a, other meeting) {
		a, other = meet(t, task, simulated(t, task), s), meet(t, task, second(t, binary, task), s)
		fmt.Fprintf(&b, "%s\n%s", s.Name, difference(a.lines, other.lines))
		return a, other
	}
	for _, s := range task.Scenario.Scripts {
		a, other := compare(s)
		x, y := oracle.Judge(task, a.record), oracle.Judge(task, other.record)
		fmt.Fprintf(&b, "  verdict: simulator %s %s, second server %s %s\n", x.Outcome, x.RootGate, y.Outcome, y.RootGate)
	}
	for _, s := range scripts() {
		compare(s)
	}
	const golden = "testdata/differential.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("evidence about the simulator (-known +now):\n%s", diff)
	}
	t.Run("bites", func(t *testing.T) {
		for _, tt := range []struct {
			bug    string
			script tare.AgentScript
		}{
			{"scale-drops-the-request", task.Scenario.Scripts[1]},
			{"scale-starts-one-too-few", script("scales", `scale_app {"app_id": "app_blog", "instances": 3}`, `scale_app {"app_id": "app_blog", "instances": 3}`, `wait {"seconds": 20}`)},
			{"create-makes-two", scripts()[0]},
			{"config-goes-to-the-neighbour", scripts()[1]},
			{"delete-takes-the-neighbour", scripts()[2]},
			{"deploy-takes-the-latest", scripts()[6]},
		} {
			sick, well := meet(t, task, simulated(t, task, tt.bug), tt.script), meet(t, task, second(t, binary, task), tt.script)
			if difference(sick.lines, well.lines) == difference(meet(t, task, simulated(t, task), tt.script).lines, well.lines) {
				t.Errorf("%s makes no difference between the two", tt.bug)
			}
		}
	})
}

// difference says what one world shows and the other does not.
func difference(simulator, second []string) string {
	var b strings.Builder
	for _, line := range simulator {
		if !slices.Contains(second, line) {
			fmt.Fprintf(&b, "  simulator only: %s\n", line)
		}
	}
	for _, line := range second {
		if !slices.Contains(simulator, line) {
			fmt.Fprintf(&b, "  second server only: %s\n", line)
		}
	}
	if b.Len() == 0 {
		return "  no difference\n"
	}
	return b.String()
}
