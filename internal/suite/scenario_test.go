package suite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare"
)

const exampleScenario = "testdata/scenarios/scale_to_three"

func TestScenario(t *testing.T) {
	task, err := LoadTask(exampleScenario)
	if err != nil {
		t.Fatal(err)
	}
	c := task.Scenario
	if task.Kind != tare.Scenario || c == nil || !strings.Contains(task.Ticket, "3 instances") || task.Limits.Turns != 30 {
		t.Fatalf("loaded %+v", task)
	}
	want := tare.Checkpoint{
		ID: "scaled",
		Calls: []tare.CallPattern{{Tools: []string{"scale_app"}, Args: map[string]tare.ArgMatch{
			"app_id": {Is: json.RawMessage(`"app_shop"`)}, "instances": {Is: json.RawMessage(`3`)},
		}}},
	}
	if diff := cmp.Diff(want, c.Checkpoints[1]); diff != "" {
		t.Error(diff)
	}
	if f := c.World.Simulator.Faults[0]; f.Kind != tare.FaultUnavailable || f.Nth != 1 || f.RetryAfter.Seconds() != 10 {
		t.Errorf("fault %+v", f)
	}
	var names []string
	for _, a := range c.Scripts {
		names = append(names, a.Name)
	}
	if diff := cmp.Diff([]string{"straight", "careless", "silent"}, names); diff != "" {
		t.Error(diff)
	}
	if len(task.Controls) != 2 || task.Controls[0].Expect.Reward == nil || *task.Controls[0].Expect.Reward != 1 || *task.Controls[1].Expect.Reward != 0 {
		t.Errorf("controls %+v", task.Controls)
	}
}

// TestScenarioRefusals changes one thing of the example and says where the error must point.
func TestScenarioRefusals(t *testing.T) {
	for name, tt := range map[string]struct{ file, old, new, want string }{
		"two worlds":         {"task.yaml", "world:\n", "world:\n  mcp: {servers: [x], observe: [{collection: c, tool: t}], command: [x]}\n", "task.yaml:8:3: a world is either"},
		"tool":               {"task.yaml", "{tools: [list_apps, get_app]}", "{tools: [list_app, get_app]}", `task.yaml:22:22: the world has no tool "list_app"`},
		"argument":           {"task.yaml", "instances: {is: 3}}}", "instance: {is: 3}}}", `task.yaml:24:65: "instance" is no argument of scale_app`},
		"match":              {"task.yaml", "instances: {is: 3}}}", "instances: 3}}", "a value to match must be a mapping"},
		"two ways to match":  {"task.yaml", "instances: {is: 3}}}", "instances: {is: 3, any: true}}}", "a value to match is {is: VALUE}"},
		"binding":            {"task.yaml", "instances: {is: 3}}}", "instances: {bound: found.app}}}", `no checkpoint takes "found.app"`},
		"order":              {"task.yaml", "after: [scaled]", "after: [settled]", `task.yaml:26:13: no checkpoint "settled" stands before this one`},
		"path":               {"task.yaml", "app.running_instances: {is: 3}", "app..running_instances: {is: 3}", "is no path"},
		"predicate":          {"task.yaml", `a.desired_instances == 3 &&`, `a.?desired_instances == 3 &&`, "task.yaml:34:70: that: optional selection"},
		"collection":         {"task.yaml", `'apps.exists(a, a.id == "app_shop" && a.desired`, `'app.exists(a, a.id == "app_shop" && a.desired`, `that looks at "app"`},
		"effect":             {"task.yaml", "sets: apps, key: app_id,", "sets: apps,", "say which item it is"},
		"effect collection":  {"task.yaml", "sets: apps,", "sets: app,", `there is no collection "app"`},
		"minefield":          {"task.yaml", "kind: early_report", "kind: earlyreport", "kind is"},
		"source":             {"task.yaml", "arg: seconds, free: true", "arg: seconds", "a source is free, values or derive"},
		"claim":              {"task.yaml", "claim: running", "claim: runs", "claim is"},
		"fault kind":         {"task.yaml", "kind: unavailable", "kind: stale_cursor", "cannot be made in a call of scale_app"},
		"fault place":        {"task.yaml", "nth: 1, retry_after", "retry_after", "a fault is placed by nth"},
		"fault field":        {"task.yaml", "retry_after: 10s", "applied: true", "has no applied"},
		"clock":              {"task.yaml", "2026-03-02T09:00:00Z", "yesterday", "clock must be a time"},
		"principal":          {"task.yaml", "as: dana", "as: dani", `task.yaml:11:9: reading the start state: there is no principal "dani"`},
		"control":            {"task.yaml", "agent: careless", "agent: reckless", `agents.yaml has no agent "reckless"`},
		"gate":               {"task.yaml", "gate: route", "gate: behaviour", "gate is"},
		"unknown key":        {"task.yaml", "limits:", "budget:", `task.yaml:5:1: a scenario has no key "budget"`},
		"state":              {"state.yaml", "status: running, desired_instances: 1, current_release_id: rel_blog_1", "status: running", "state.yaml:8:5: apps[1]"},
		"state field":        {"state.yaml", "image: \"registry.example/blog:4\"", "picture: x", `state.yaml:13:5: releases[2]: unknown field "picture"`},
		"state text":         {"state.yaml", "accounts:", "accounts: [", "state.yaml:"},
		"script name":        {"agents.yaml", `args: {app_id: "{app}", instances: 3}, retry`, `args: {app_id: "{apps}", instances: 3}, retry`, `agents.yaml:4:31: no step before takes "apps"`},
		"script bound":       {"agents.yaml", "app.running_instances: {is: 3}", "app.running_instances: {bound: found.app}", "is not bound to checkpoints"},
		"script final":       {"agents.yaml", `final: ""`, "final: 3", "final must be text"},
		"script unknown key": {"agents.yaml", "pause: 2", "sleep: 2", `agents.yaml:5:89: a step has no key "sleep"`},
		"brief":              {"brief.md", "", "", "brief.md: there is no such file"},
		"stray":              {"more.yaml", "", "x", "a scenario has no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "scenarios", "scale")
			if err := os.CopyFS(dir, os.DirFS(exampleScenario)); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, tt.file)
			b, err := os.ReadFile(file)
			if tt.old == "" {
				b, err = nil, nil
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.old != "" && !strings.Contains(string(b), tt.old) {
				t.Fatalf("the example has no %q", tt.old)
			}
			if err := os.WriteFile(file, []byte(strings.Replace(string(b), tt.old, tt.new, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err = LoadTask(dir); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %q", err, tt.want)
			}
		})
	}
}

const liveTask = `schema: tare.task/1
kind: scenario
title: Rename a file
category: development
world:
  mcp:
    command: [npx, -y, "@modelcontextprotocol/server-filesystem", "{dir}"]
    servers: [filesystem]
    dir: /data
    env: {MODE: quiet}
    observe:
      - {collection: tree, tool: directory_tree, args: {path: /data}, parse: json, id: name}
    faults:
      - {id: lost, kind: timeout_after, tool: move_file, nth: 1}
principal: {id: user}
checkpoints: []
goal:
  - {id: there, that: 'tree.exists(f, f.name == "first.txt")', why: the file has its new name}
`

// TestLiveScenario loads a scenario on a live server, and changes one thing at a time.
func TestLiveScenario(t *testing.T) {
	load := func(t *testing.T, text string, files ...string) (*tare.Task, error) {
		dir := filepath.Join(t.TempDir(), "live", "rename")
		for name, content := range map[string]string{"task.yaml": text, "brief.md": "Rename a.txt.", "seed/a.txt": "one"} {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("x: 1"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return LoadTask(dir)
	}
	task, err := load(t, liveTask)
	if err != nil {
		t.Fatal(err)
	}
	want := &tare.MCPSpec{
		Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "{dir}"}, Servers: []string{"filesystem"}, Dir: "/data", Env: map[string]string{"MODE": "quiet"},
		Observe: []tare.ReadSpec{{Collection: "tree", Tool: "directory_tree", Args: json.RawMessage(`{"path":"/data"}`), Parse: "json", ID: "name"}},
		Faults:  []tare.FaultSpec{{ID: "lost", Kind: tare.FaultTimeoutAfter, Tool: "move_file", Nth: 1}},
	}
	if diff := cmp.Diff(want, task.Scenario.World.MCP); diff != "" {
		t.Error(diff)
	}
	if len(task.Seed) != 1 || task.Seed[0].Path != "a.txt" {
		t.Errorf("seed %v", task.Seed)
	}
	for name, tt := range map[string]struct{ old, new, want string }{
		"command and url": {"    servers:", "    url: http://x\n    servers:", "either a command or a url"},
		"dir":             {"dir: /data", "dir: data", "dir is an absolute path"},
		"seed without":    {"    dir: /data\n", "", "no dir to lay it out in"},
		"cursor":          {"id: name}", "id: name, next: more}", "next and cursor go together"},
		"fault":           {"kind: timeout_after", "kind: revoked", "kind is"},
		"collection":      {"tree.exists", "apps.exists", `looks at "apps"`},
		"parse":           {"parse: json", "parse: xml", "parse is"},
		"no observation":  {"    observe:\n      - {collection: tree, tool: directory_tree, args: {path: /data}, parse: json, id: name}\n", "    observe: []\n", "observe must have at least 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := load(t, strings.Replace(liveTask, tt.old, tt.new, 1)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := load(t, liveTask, "state.yaml"); err == nil || !strings.Contains(err.Error(), "a live world has no start state") {
		t.Errorf("with a start state: %v", err)
	}
}
