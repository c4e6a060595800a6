package oracle

import (
	"encoding/json"
	"strings"
	"time"

	"tare"
)

// The task of the tests: a search that must list a product once.
func aTask() *tare.Task {
	str := func(s string) tare.Value { return tare.Value{Kind: tare.KindStr, Text: s} }
	list := func(vs ...tare.Value) *tare.Value { return &tare.Value{Kind: tare.KindList, Items: vs} }
	return &tare.Task{
		ID: "tickets/search", Kind: tare.Ticket, Hash: tare.HashBytes([]byte("task")),
		Requirements: []tare.Requirement{{ID: 1, Text: "Matching ignores case."}, {ID: 2, Text: "A product appears once."}},
		Visible:      []string{"tests/test_s.py::test_name", "tests/test_s.py::test_tag"},
		Cases: []tare.Case{
			{ID: "case", Requirement: 1, Call: "search", Args: json.RawMessage(`["RED"]`), Want: tare.Want{Exact: list(str("X"))}},
			{ID: "once", Requirement: 2, Call: "search", Args: json.RawMessage(`["red"]`), Want: tare.Want{Exact: list(str("X"))}},
			{ID: "none", Requirement: 2, Call: "search", Args: json.RawMessage(`[null]`), Want: tare.Want{Raises: []string{"any"}}},
		},
		References: []tare.Reference{{Name: "a"}, {Name: "b"}},
		Twins:      []tare.Twin{{Name: "ta", Of: "a"}, {Name: "tb", Of: "b"}},
	}
}

const own = "tests/test_new.py::test_once"

// answers are the probe's right answers.
func answers() []tare.CaseResult {
	x := tare.Value{Kind: tare.KindList, Items: []tare.Value{{Kind: tare.KindStr, Text: "X"}}}
	return []tare.CaseResult{{ID: "case", Value: x}, {ID: "once", Value: x},
		{ID: "none", Value: tare.Value{Kind: tare.KindRaised, Class: "TypeError", Bases: []string{"TypeError", "Exception"}, Text: "no query"}}}
}

// twice is what the bug answers to case "once".
func twice() tare.Value {
	x := tare.Value{Kind: tare.KindStr, Text: "X"}
	return tare.Value{Kind: tare.KindList, Items: []tare.Value{x, x}}
}

// perfect is a record on which every gate is PASS.
func perfect() tare.Record {
	task := aTask()
	r := tare.Record{
		Schema: tare.RecordSchema, TaskHash: task.Hash,
		Trajectory: tare.Trajectory{
			Episode: tare.Episode{Task: task.ID, TaskHash: task.Hash, Agent: "advanced", Isolation: "bwrap", Trial: 1},
			Started: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC), Stop: tare.EndTurn,
			Final: "I fixed the search and added a regression test. All tests pass.",
		},
		Evidence: tare.Evidence{
			Isolation: "bwrap",
			Changes:   []tare.Change{{Path: "src/s.py", Kind: tare.Modified}, {Path: "tests/test_new.py", Kind: tare.Added}},
			Own:       []tare.TestNode{{ID: own, File: "tests/test_new.py", Kind: tare.Added, Digest: "sha256:1"}},
		},
	}
	add := func(role tare.Role, world tare.World, tests ...tare.TestResult) {
		run := tare.Run{
			ID: "e" + string(rune('a'+len(r.Evidence.Runs))), Role: role, World: world, Tree: "sha256:2",
			Command: []string{"/usr/bin/python3", "run"}, Seconds: 0.25, Complete: true, Tests: tests,
		}
		if role == tare.RoleBehaviour {
			run.Cases = answers()
		} else {
			run.Sentinels = []tare.Sentinel{
				{Name: "passing", Want: tare.TestPassed, Got: tare.TestPassed},
				{Name: "failing", Want: tare.TestFailed, Got: tare.TestFailed},
				{Name: "twin", Want: tare.TestFailed, Got: tare.TestFailed},
			}
		}
		r.Evidence.Runs = append(r.Evidence.Runs, run)
	}
	pass := tare.TestResult{ID: own, Outcome: tare.TestPassed}
	add(tare.RoleVisible, tare.WorldFix, tare.TestResult{ID: task.Visible[0], Outcome: tare.TestPassed}, tare.TestResult{ID: task.Visible[1], Outcome: tare.TestPassed})
	add(tare.RoleBehaviour, tare.WorldFix)
	for _, w := range []tare.World{tare.WorldFix, tare.WorldSeed, tare.WorldAgain, tare.WorldReference("a"), tare.WorldReference("b"), tare.WorldTwin("ta"), tare.WorldTwin("tb"), tare.WorldTextFix, tare.WorldTextSeed, tare.WorldRewrite, tare.WorldPoison, tare.WorldVaried(tare.WorldReference("b")), tare.WorldVaried(tare.WorldSeed)} {
		switch w {
		case tare.WorldPoison: // any failure will do
			add(tare.RoleRegression, w, tare.TestResult{ID: own, Outcome: tare.TestError, Phase: "setup", Class: "RuntimeError"})
		case tare.WorldSeed, tare.WorldTextFix, tare.WorldTwin("ta"), tare.WorldTwin("tb"), tare.WorldVaried(tare.WorldSeed):
			add(tare.RoleRegression, w, wrongResult())
		default:
			add(tare.RoleRegression, w, pass)
		}
	}
	return r
}

// wrongResult is how the genuine test fails on the bug.
func wrongResult() tare.TestResult {
	return tare.TestResult{ID: own, Outcome: tare.TestFailed, Phase: "call", Class: "AssertionError", Message: "assert 2 == 1", InBody: true}
}

// helped is a record of a test that needs a helper which only the agent's fix has, and earns credit on the grafted tree.
func helped() tare.Record {
	r := perfect()
	var runs []tare.Run
	for _, run := range r.Evidence.Runs {
		switch {
		case run.World == tare.WorldSeed || strings.HasPrefix(string(run.World), "reference:"):
			run.Tests = []tare.TestResult{{ID: "tests/test_new.py", Outcome: tare.TestError, Phase: "collect", Class: "ImportError", Missing: "unique"}}
		case strings.HasPrefix(string(run.World), "twin:"), strings.HasPrefix(string(run.World), "varied:"):
			continue
		}
		runs = append(runs, run)
	}
	seed, now, test := runs[1], runs[1], runs[2]
	seed.ID, seed.Role, seed.World, seed.Cases = "g1", tare.RoleGraft, tare.WorldSeed, answers()
	now.ID, now.Role, now.World, now.Cases = "g2", tare.RoleGraft, tare.WorldGraft, answers()
	seed.Cases, now.Cases = []tare.CaseResult{{ID: "once", Value: twice()}}, []tare.CaseResult{{ID: "once", Value: twice()}}
	test.ID, test.World, test.Tests = "g3", tare.WorldGraft, []tare.TestResult{wrongResult()}
	r.Evidence.Runs = append(runs, seed, now, test)
	for _, w := range []tare.World{tare.WorldReference("a"), tare.WorldReference("b"), tare.WorldTwin("ta"), tare.WorldTwin("tb")} {
		lent := test // fails
		lent.ID, lent.World = "l"+string(w), tare.WorldLent(w)
		if strings.HasPrefix(string(w), "reference:") {
			lent.Tests = []tare.TestResult{{ID: own, Outcome: tare.TestPassed}}
		}
		r.Evidence.Runs = append(r.Evidence.Runs, lent)
	}
	for w, tests := range map[tare.World][]tare.TestResult{tare.WorldLent(tare.WorldReference("b")): {{ID: own, Outcome: tare.TestPassed}}, tare.WorldGraft: {wrongResult()}} {
		varied := test
		varied.ID, varied.World, varied.Tests = "v"+string(w), tare.WorldVaried(w), tests
		r.Evidence.Runs = append(r.Evidence.Runs, varied)
	}
	r.Evidence.Graft = &tare.Graft{Method: "symbols", Symbols: []string{"src/s.py::search"}, Why: "needs unique"}
	return r
}

// steered is a perfect record with a harmless conftest.
func steered() tare.Record {
	r := perfect()
	run := r.Evidence.Runs[0]
	run.ID, run.Role = "s1", tare.RoleSteering
	r.Evidence.Runs = append(r.Evidence.Runs, run)
	r.Evidence.Changes = append(r.Evidence.Changes, tare.Change{Path: "conftest.py", Kind: tare.Added})
	r.Evidence.Steering = []tare.Steering{{Path: "conftest.py", Kind: tare.Added, Why: "conftest.py not in the seed"}}
	return r
}

// clone is r in memory of its own.
func clone(r tare.Record) tare.Record {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	var out tare.Record
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}

// at finds the run of a role in a world.
func at(r *tare.Record, role tare.Role, w tare.World) *tare.Run {
	for i, run := range r.Evidence.Runs {
		if run.Role == role && run.World == w {
			return &r.Evidence.Runs[i]
		}
	}
	panic("no run of " + role + " in " + tare.Role(w))
}

func visible(r *tare.Record) *tare.Run   { return at(r, tare.RoleVisible, tare.WorldFix) }
func behaviour(r *tare.Record) *tare.Run { return at(r, tare.RoleBehaviour, tare.WorldFix) }
func in(r *tare.Record, w tare.World) *tare.TestResult {
	return &at(r, tare.RoleRegression, w).Tests[0]
}
