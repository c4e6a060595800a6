package proof

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare"
	"tare/internal/agent"
	"tare/internal/oracle"
	"tare/internal/platform"
	"tare/internal/suite"
	"tare/internal/tools"
)

// scenarios loads the built-in scenarios from their folders.
func scenarios(t testing.TB) []*tare.Task {
	t.Helper()
	s, err := suite.LoadSuite("../../suites/scenarios")
	if err != nil {
		t.Fatal(err)
	}
	return s.Tasks
}

func scenario(t testing.TB, name string) *tare.Task {
	t.Helper()
	task, err := suite.LoadTask(filepath.Join("../../suites/scenarios", name))
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// simulated is the world of a scenario on the platform, with the given seeded bugs.
func simulated(t testing.TB, task *tare.Task, bugs ...string) tools.Backend {
	t.Helper()
	p, err := platform.New(platform.Config{Spec: *task.Scenario.World.Simulator, Consents: task.Scenario.Consents, Bugs: bugs})
	if err != nil {
		t.Fatal(err)
	}
	return tools.Simulated(p)
}

// play has a scripted agent of the task act in a world, over MCP as production does, and records it.
func playIn(t testing.TB, task *tare.Task, script string, backend tools.Backend) tare.Record {
	t.Helper()
	ctx := context.Background()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rec := tare.Record{Schema: tare.RecordSchema, TaskHash: task.Hash}
	rec.Trajectory = tare.Trajectory{Episode: tare.Episode{Task: task.ID, TaskHash: task.Hash, Agent: script, Limits: task.Limits, Isolation: "process", Trial: 1}, Started: began, Finished: began.Add(time.Second)}
	s, err := tools.ServeStage(ctx, tools.StageConfig{
		Spec: task.Scenario, Brief: task.Ticket, Backend: backend, Limits: task.Limits,
		NewDir: func(pattern string) (string, error) { return os.MkdirTemp("", pattern) },
		OnStep: func(s tare.Step) { rec.Trajectory.Steps = append(rec.Trajectory.Steps, s) }, OnProblem: func(err error) { t.Errorf("a problem: %v", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	end, err := agent.Operator(script, scriptOf(t, task, script)).Play(ctx, task.Brief(), agent.World{Socket: s.Socket})
	if err != nil {
		t.Fatal(err)
	}
	rec.Trajectory.Stop, rec.Trajectory.Final = end.Stop, end.Final
	rec.Evidence = tare.Evidence{Isolation: "process", Changes: []tare.Change{}, Runs: []tare.Run{}}
	if rec.Evidence.Scenario, err = s.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	_ = os.RemoveAll(filepath.Dir(s.Socket)) // a directory below the temporary one
	return rec
}

func scriptOf(t testing.TB, task *tare.Task, name string) tare.AgentScript {
	t.Helper()
	for _, s := range task.Scenario.Scripts {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("%s has no agent %s", task.ID, name)
	return tare.AgentScript{}
}

// explain is a verdict in a few lines.
func explain(v tare.Verdict) string {
	var b strings.Builder
	b.WriteString(string(v.Outcome) + " at " + v.RootGate)
	for _, g := range v.Gates {
		if g.Outcome != tare.Pass {
			b.WriteString("\n    " + g.Name + " " + string(g.Outcome) + ": " + g.Reason)
		}
	}
	return b.String()
}

// TestControlsOfScenarios plays every scripted agent of every scenario and compares its verdict with what must come out.
func TestControlsOfScenarios(t *testing.T) {
	for _, task := range scenarios(t) {
		bench := oracle.NewBench(task)
		for _, c := range task.Controls {
			rec := playIn(t, task, c.Agent, simulated(t, task))
			if v := bench.Judge(rec); wrong(c.Expect, got(v)) != "" {
				t.Errorf("%s, %s: %s\n  %s\n  final: %s", task.ID, c.Name, wrong(c.Expect, got(v)), explain(v), rec.Trajectory.Final)
			}
		}
	}
}
