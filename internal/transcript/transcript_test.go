package transcript

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"tare"
	"tare/internal/oracle"
)

// task is a scenario of notes: milk must be on the list.
func task() *tare.Task {
	is := func(v string) tare.ArgMatch { return tare.ArgMatch{Is: json.RawMessage(v)} }
	return &tare.Task{
		ID: "scenarios/notes", Kind: tare.Scenario, Hash: tare.HashBytes([]byte("notes")),
		Scenario: &tare.ScenarioSpec{
			Goal:        []tare.Expectation{{ID: "milk", That: `notes.exists(n, n.text == "milk")`, Why: "milk is on the list"}},
			Checkpoints: []tare.Checkpoint{{ID: "added", Calls: []tare.CallPattern{{Tools: []string{"add_note"}, Args: map[string]tare.ArgMatch{"text": is(`"milk"`)}}}}},
			Effects:     []tare.Effect{{Tool: "add_note", Adds: "notes", Field: map[string]string{"text": "text"}}},
			Claims:      []tare.ClaimRule{{ID: "says-added", Claim: "attached", Holds: `notes.exists(n, n.text == "milk")`, Seen: []tare.CallPattern{{Tools: []string{"read_list"}}}, Must: true}},
			Optional:    []string{tare.GateMinefields},
		},
	}
}

func read(t *testing.T, file string) tare.Record {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := Read(b, task())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestMCP(t *testing.T) {
	r := read(t, "testdata/session.jsonl")
	ev := r.Evidence.Scenario
	if got := len(r.Trajectory.Steps); got != 4 {
		t.Fatalf("%d calls", got)
	}
	if r.Trajectory.Stop != tare.EndTurn || !strings.HasPrefix(ev.Brief, "Add the note") || strings.Join(ev.Catalogue.Servers, " ") != "notes" || len(ev.Catalogue.Tools) != 2 {
		t.Errorf("got %+v %+v", r.Trajectory, ev)
	}
	if h := ev.Catalogue.Tools[0].Hints; h != (tare.Hints{}) {
		t.Errorf("add_note: %+v", h)
	}
	if h := ev.Catalogue.Tools[1].Hints; h != (tare.Hints{ReadOnly: true, Idempotent: true}) {
		t.Errorf("read_list: %+v", h)
	}
	for i, want := range []struct {
		tool, preview, data string
		ok                  bool
	}{
		{"add_note", "added", `{"note":{"id":"n1"}}`, true},
		{"read_list", `{"notes":[{"id":"n1","text":"milk"}]}`, `{"notes":[{"id":"n1","text":"milk"}]}`, true},
		{"read_list", "no such list", "", false},
		{"read_list", "no answer came", "", false},
	} {
		s := r.Trajectory.Steps[i]
		if s.Call.Index != i || s.Call.Tool != want.tool || s.Observation.Preview != want.preview || string(s.Observation.Data) != want.data || s.Observation.OK != want.ok {
			t.Errorf("call %d: %+v", i, s)
		}
	}
}

func TestSpans(t *testing.T) {
	r := read(t, "testdata/spans.json")
	if len(r.Trajectory.Steps) != 2 || r.Trajectory.Final != "I could not add the note: the request failed." || r.Evidence.Scenario.Brief != "Add the note milk to groceries." {
		t.Fatalf("got %+v", r)
	}
	add, list := r.Trajectory.Steps[0], r.Trajectory.Steps[1]
	if add.Call.Tool != "mcp__notes__add_note" || string(add.Call.Args) != `{"list": "groceries", "text": "milk"}` || add.Observation.OK || add.Observation.Preview != "503" || add.Observation.Seconds != 0.25 || add.Call.At != 1.1 {
		t.Errorf("got %+v", add)
	}
	if list.Call.Tool != "notes.read_list" || string(list.Call.Args) != `{"list":"groceries","most":3}` || string(list.Observation.Data) != `{"notes": []}` || !list.Observation.OK {
		t.Errorf("got %+v", list)
	}
	if len(r.Evidence.Scenario.Catalogue.Tools) != 2 || !r.Evidence.Scenario.Catalogue.Tools[0].Hints.Destructive {
		t.Errorf("got %+v", r.Evidence.Scenario.Catalogue)
	}
}

// TestJudged judges what was read: what a file does not say is UNVERIFIED, and never passes.
func TestJudged(t *testing.T) {
	whole := read(t, "testdata/session.jsonl")
	v := oracle.Judge(task(), whole)
	if v.Outcome != tare.Pass {
		t.Errorf("%s: %+v", v.Outcome, v.Gates)
	}
	blind := read(t, "testdata/session.jsonl")
	blind.Evidence.Scenario.States = []tare.State{}
	if v := oracle.Judge(task(), blind); v.Outcome != tare.Unverified {
		t.Errorf("without states: %s by %s", v.Outcome, v.RootGate)
	}
	spans := read(t, "testdata/spans.json")
	v = oracle.Judge(task(), spans)
	if g, _ := v.Gate(tare.GateContract); v.Outcome == tare.Pass || g.Outcome != tare.Unverified || !strings.Contains(g.Reason, "names a server") {
		t.Errorf("spans: %s, contract %+v", v.Outcome, g)
	}
	spans.Evidence.Scenario.Catalogue.Servers = []string{"notes"}
	if g, _ := oracle.Judge(task(), spans).Gate(tare.GateContract); g.Outcome != tare.Pass {
		t.Errorf("spans with a server: contract %+v", g)
	}
}

func TestEnds(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`
	for tail, want := range map[string]tare.StopReason{
		"":                               tare.Cancelled,
		`{"tare":{"final":"Done."}}`:     tare.EndTurn,
		`{"tare":{"stop":"turn_limit"}}`: tare.TurnLimit,
	} {
		r, format, err := Read([]byte(call+"\n"+tail), task())
		if err != nil || format != MCP || r.Trajectory.Stop != want {
			t.Errorf("%s: %v %s %v", tail, err, r.Trajectory.Stop, format)
		}
	}
}

func TestRefused(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`
	for text, want := range map[string]string{
		"":                                      "neither a record of tare",
		"hello":                                 "1: the line is no JSON",
		call + "\n{":                            "2: the line is no JSON",
		`[1]`:                                   "this is no object",
		`{"a":1}`:                               "neither a record of tare",
		call + "\n" + call:                      "2: two calls under way have the id 1",
		call + "\n" + `{"a":1}`:                 "2: this is no JSON-RPC message",
		call + "\n" + `{"tare":{"finale":"x"}}`: "2: what is said to tare cannot be read",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`:                                              "1: a tools/call names no tool",
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}`:                                           "has no id",
		`{"name":"x","attributes":{"gen_ai.operation.name":"execute_tool"}}`:                                      "1: a span of a tool does not name it",
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{"tools":7}}`: "2: the list of tools cannot be read",
	} {
		_, _, err := Read([]byte(text), task())
		var at *Error
		if !errors.As(err, &at) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, file := range []string{"testdata/session.jsonl", "testdata/spans.json"} {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"attributes":{"gen_ai.tool.name":"x","gen_ai.tool.call.arguments":"["}}`))
	bench := oracle.NewBench(task())
	f.Fuzz(func(t *testing.T, data []byte) {
		r, _, err := Read(data, task())
		if err != nil {
			var at *Error
			if !errors.As(err, &at) || at.Message == "" {
				t.Errorf("%#v", err)
			}
			return
		}
		if _, err := tare.Canonical(r); err != nil {
			t.Errorf("a record that cannot be written: %v", err)
		}
		bench.Judge(r)
	})
}
