package dialog_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/dialog"
)

func session() dialog.Session {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	in, out := int64(1200), int64(80)
	return dialog.Session{
		Start: dialog.Start{Task: "tickets/x", Cwd: "/workspace", Model: "m", Agent: "a"}, Prompt: "Mend it.",
		Said: []tare.Message{{At: 0.5, Text: "I look first."}, {At: 9, Text: "Done."}},
		Trajectory: tare.Trajectory{
			Started: began, Finished: began.Add(10 * time.Second), Stop: tare.EndTurn, Final: "Done.",
			Usage: &tare.Usage{InputTokens: &in, OutputTokens: &out},
			Turns: []tare.ModelTurn{{At: 1, Seconds: 1, Thought: "Hm."}},
			Steps: []tare.Step{
				{Call: tare.Call{Index: 0, At: 3, Tool: "read_file", Args: json.RawMessage(`{"path":"a"}`)}, Observation: tare.Observation{OK: true, Preview: "text", Seconds: 1}},
				{Call: tare.Call{Index: 1, At: 5, Tool: "write_file", Args: json.RawMessage(`{}`)}, Observation: tare.Observation{Preview: "no path", Seconds: 1}},
			},
		},
	}
}

func TestOf(t *testing.T) {
	var b bytes.Buffer
	if err := dialog.Write(&b, dialog.Of(session())); err != nil {
		t.Fatal(err)
	}
	want := `{"seq":0,"ts":"2026-01-02T03:04:05Z","type":"init","data":{"task":"tickets/x","cwd":"/workspace","model":"m","agent":"a"}}
{"seq":1,"ts":"2026-01-02T03:04:05Z","type":"prompt","content":"Mend it."}
{"seq":2,"ts":"2026-01-02T03:04:05.5Z","type":"message","role":"assistant","content":"I look first."}
{"seq":3,"ts":"2026-01-02T03:04:07Z","type":"thinking","content":"Hm."}
{"seq":4,"ts":"2026-01-02T03:04:08Z","type":"tool","tool_id":"0","name":"read_file","status":"running","args":{"path":"a"}}
{"seq":5,"ts":"2026-01-02T03:04:09Z","type":"tool","tool_id":"0","name":"read_file","status":"success","result":"text"}
{"seq":6,"ts":"2026-01-02T03:04:10Z","type":"tool","tool_id":"1","name":"write_file","status":"running","args":{}}
{"seq":7,"ts":"2026-01-02T03:04:11Z","type":"tool","tool_id":"1","name":"write_file","status":"error","error":"no path"}
{"seq":8,"ts":"2026-01-02T03:04:14Z","type":"message","role":"assistant","content":"Done."}
{"seq":9,"ts":"2026-01-02T03:04:15Z","type":"complete","status":"success","turns":2,"duration_ms":10000,"total_tokens":{"in":1200,"out":80}}
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// What we write is what we take, and what a killed agent leaves is too.
	whole, usage, err := dialog.Read(b.Bytes())
	if err != nil || string(whole) != want || *usage.InputTokens != 1200 || *usage.OutputTokens != 80 {
		t.Errorf("read %s %+v %v", whole, usage, err)
	}
	cut := b.Bytes()[:b.Len()-20]
	whole, usage, err = dialog.Read(cut)
	if err != nil || strings.Count(string(whole), "\n") != 9 || usage != nil {
		t.Errorf("read %s %+v %v", whole, usage, err)
	}
}

func TestEndings(t *testing.T) {
	for stop, want := range map[tare.StopReason]string{tare.EndTurn: "success", tare.WallLimit: "timeout", tare.ProviderError: "error", tare.AgentCrash: "error"} {
		s := session()
		s.Trajectory.Stop, s.Said = stop, nil
		all := dialog.Of(s)
		if got := all[len(all)-1].Status; got != want {
			t.Errorf("%s: %s, want %s", stop, got, want)
		}
		if got := all[len(all)-2]; got.Type != dialog.Msg || *got.Content != "Done." {
			t.Errorf("the last message is %+v", got)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":      "",
		"no JSON":      "hello\n",
		"other seq":    `{"seq":1,"ts":"2026-01-02T03:04:05Z","type":"init"}` + "\n",
		"no time":      `{"seq":0,"type":"init"}` + "\n",
		"other type":   `{"seq":0,"ts":"2026-01-02T03:04:05Z","type":"note"}` + "\n",
		"no init":      `{"seq":0,"ts":"2026-01-02T03:04:05Z","type":"prompt"}` + "\n",
		"two inits":    strings.Repeat(`{"seq":0,"ts":"2026-01-02T03:04:05Z","type":"init"}`+"\n", 2),
		"cut off only": `{"seq":0,`,
		"below 0":      `{"seq":0,"ts":"2026-01-02T03:04:05Z","type":"init","total_tokens":{"in":-1,"out":0}}` + "\n",
	} {
		if whole, _, err := dialog.Read([]byte(text)); err == nil {
			t.Errorf("%s: read %s", name, whole)
		}
	}
}
