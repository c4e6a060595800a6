package suite

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare"
)

const goodExperiment = `schema: tare.experiment/1
title: With and without a broken call
tasks: [tickets/bugfix_inventory, ./mine]
held_out: true
trials: 5
seed: -3
jobs: 2
limits: {wall: 5m, turns: 30}
budget: {episodes: 50, wall: 1h, dollars: 2.5}
stop: {infrastructure: 0.2, after: 6}
arms:
  - {name: plain, agent: advanced}
  - {name: broken, agent: advanced, level: 2, server: npx -y x@1, faults: ["tool=run_tests,nth=1,kind=error"]}
compare: [[broken, plain]]
`

func TestExperiment(t *testing.T) {
	e, err := LoadExperiment("dir/e.yaml", []byte(goodExperiment))
	if err != nil {
		t.Fatal(err)
	}
	want := &Experiment{
		Title: "With and without a broken call", Tasks: []string{"tickets/bugfix_inventory", "./mine"}, HeldOut: true, Trials: 5, Seed: -3, Jobs: 2,
		Limits: tare.Limits{Wall: 5 * time.Minute, Turns: 30}, Budget: Budget{50, time.Hour, 2.5}, Stop: StopRule{0.2, 6},
		Arms: []ExperimentArm{
			{Name: "plain", Agent: "advanced"},
			{Name: "broken", Agent: "advanced", Level: "2", Server: "npx -y x@1", Faults: []string{"tool=run_tests,nth=1,kind=error"}},
		},
		Compare: [][2]string{{"broken", "plain"}},
	}
	if diff := cmp.Diff(want, e, cmpopts.IgnoreUnexported(Experiment{}, ExperimentArm{})); diff != "" {
		t.Error(diff)
	}
	var bad *Error
	if err := e.Bad("broken", errors.New("no such agent")); !errors.As(err, &bad) || bad.File != "dir/e.yaml" || bad.Line != 13 || bad.Column != 5 || !strings.Contains(bad.Excerpt, "name: broken") {
		t.Errorf("a problem of an arm: %v", err)
	}
}

func TestExperimentVaries(t *testing.T) {
	e, err := LoadExperiment("e.yaml", []byte("schema: tare.experiment/1\ntasks: [vulns]\nvary:\n  agent: [reference, trusting]\n  level: [0, 2]\n  fault: [none, \"tool=test_patch,nth=1,kind=error\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range e.Arms {
		names = append(names, a.Name)
		if strings.HasSuffix(a.Name, NoFault) != (len(a.Faults) == 0) {
			t.Errorf("arm %q has the faults %q", a.Name, a.Faults)
		}
	}
	want := []string{
		"reference · 0 · none", "reference · 0 · tool=test_patch,nth=1,kind=error", "reference · 2 · none", "reference · 2 · tool=test_patch,nth=1,kind=error",
		"trusting · 0 · none", "trusting · 0 · tool=test_patch,nth=1,kind=error", "trusting · 2 · none", "trusting · 2 · tool=test_patch,nth=1,kind=error",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// TestExperimentRefuses changes one place of a good file, and wants the problem named there.
func TestExperimentRefuses(t *testing.T) {
	for _, tt := range []struct {
		old, new  string
		line, col int
		want      string
	}{
		{"schema: tare.experiment/1", "schema: tare.experiment/2", 1, 9, "schema is"},
		{"held_out: true", "held_out: maybe", 4, 11, "must be true or false"},
		{"trials: 5", "trials: 0", 5, 9, "whole number from 1"},
		{"trials: 5", "trials: 100000", 5, 9, "at most 10000"},
		{"seed: -3", "seed: 1.5", 6, 7, "whole number"},
		{"wall: 5m", "wall: 5", 8, 16, "time span"},
		{"dollars: 2.5", "dollars: -1", 9, 43, "above 0"},
		{"infrastructure: 0.2", "infrastructure: 20", 10, 24, "up to 1"},
		{"jobs: 2", "job: 2", 7, 1, `has no key`},
		{"tasks: [tickets/bugfix_inventory, ./mine]", "tasks: []", 3, 8, "at least 1"},
		{"name: broken,", "name: plain,", 13, 5, "here twice"},
		{"name: broken, agent: advanced,", "name: broken,", 13, 5, `lacks the key "agent"`},
		{"- {name: plain, agent: advanced}", "- {name: plain, agent: advanced, colour: red}", 12, 36, "has no key"},
		{"[[broken, plain]]", "[[broken, plane]]", 14, 20, "there is no arm"},
		{"[[broken, plain]]", "[[plain, plain]]", 14, 11, "with itself"},
		{"[[broken, plain]]", "[[plain]]", 14, 11, "at least 2"},
		{"[[broken, plain]]", "[[plain, broken, plain]]", 14, 11, "of two arms"},
		{", level: 2, server: npx -y x@1, faults: [\"tool=run_tests,nth=1,kind=error\"]", "", 13, 5, "the same but for their names"},
		{"arms:", "vary: {agent: [a]}\narms:", 1, 1, "either arms, or vary"},
		{"title: With", "title: [", 3, 1, ""},
	} {
		text := strings.Replace(goodExperiment, tt.old, tt.new, 1)
		if text == goodExperiment {
			t.Fatalf("%q is not in the file", tt.old)
		}
		_, err := LoadExperiment("dir/e.yaml", []byte(text))
		var bad *Error
		if !errors.As(err, &bad) || !strings.Contains(bad.Message, tt.want) {
			t.Errorf("%q: %v, want %q", tt.new, err, tt.want)
			continue
		}
		if tt.want != "" && (bad.Line != tt.line || bad.Column != tt.col) || bad.Line == 0 || bad.Excerpt == "" {
			t.Errorf("%q: at %d:%d, want %d:%d", tt.new, bad.Line, bad.Column, tt.line, tt.col)
		}
	}
}

func FuzzExperiment(f *testing.F) {
	f.Add([]byte(goodExperiment))
	f.Add([]byte("schema: tare.experiment/1\ntasks: [a]\nvary: {agent: [a, b], level: [1]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if e, err := LoadExperiment("e.yaml", text); (e == nil) == (err == nil) {
			t.Errorf("%v, %v", e, err)
		}
	})
}
