package mockmodel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/yamlfile"
)

var update = flag.Bool("update", false, "rewrite golden files")

const script = `
usage: {input: 120, output: 30, cache_read: 1000, cache_write: 5, reasoning: 4}
models: [mock-1, mock-2]
conversations:
  - name: fix
    match: inventory
    take: {dir: 'directory: (\S+)', id: 'ticket (\d+)'}
    steps:
      - think: hm
        say: "I look: ☃."
        calls:
          - {tool: read_file|Read, args: {path: "{{dir}}/inventory.py", note: why}}
          - {tool: run, args: {command: ls}}
      - say: "about {{id}}"
      - say: done
        usage: {unknown: true}
  - name: cut
    match: too long
    steps: [{say: "one two three four five six", stop: max_tokens}]
  - name: no
    match: forbidden
    steps: [{say: I will not., stop: refusal}]
  - name: judge
    match: rate
    tools: false
    steps: [{say: "5"}]
`

// asks are the same request by each API: the conversation before, and after two results of tools.
var asks = []struct {
	name, path, body string
}{
	{"anthropic", "/v1/messages", `{"model":"m","stream":STREAM,"system":[{"type":"text","text":"directory: /w"}],"messages":[{"role":"user","content":PROMPT}],
		"tools":[{"name":"mcp__t__Read","input_schema":{"properties":{"file_path":{"type":"string"},"limit":{"type":"integer"}},"required":["file_path","limit"]}},{"name":"run","input_schema":{"properties":{"cmd":{"type":["array"]}}}}]}`},
	{"chat", "/v1/chat/completions", `{"model":"m","stream":STREAM,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"directory: /w"},{"role":"user","content":PROMPT}],
		"tools":[{"type":"function","function":{"name":"t_read_file","parameters":{"properties":{"filePath":{"type":"string"}}}}},{"type":"function","function":{"name":"run","parameters":{}}}]}`},
	{"responses", "/v1/responses", `{"model":"m","stream":STREAM,"instructions":"directory: /w","input":[{"role":"user","content":[{"type":"input_text","text":PROMPT}]}],
		"tools":[{"type":"web_search"},{"type":"namespace","name":"mcp__t","tools":[{"type":"function","name":"read_file","parameters":{"properties":{"path":{"type":"string"},"note":{"type":"string"}}}}]},{"type":"custom","name":"run"}]}`},
	{"gemini", "/v1beta/models/m:ACTION", `{"systemInstruction":{"parts":[{"text":"directory: /w"}]},"contents":[{"role":"user","parts":[{"text":PROMPT}]}],
		"tools":[{"functionDeclarations":[{"name":"read_file","parameters":{"type":"OBJECT","properties":{"absolute_path":{"type":"STRING"}}}},{"name":"run","parametersJsonSchema":{"properties":{"command":{"type":"string"}}}}]}]}`},
}

func serve(t *testing.T, text string, log io.Writer) string {
	t.Helper()
	s, err := Parse("script.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(New(s, log))
	t.Cleanup(srv.Close)
	return srv.URL
}

func post(t *testing.T, url, body string) (status int, header http.Header, text string, err error) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(b), err
}

func request(path, body, prompt string, stream bool) (string, string) {
	action := "generateContent"
	if stream {
		action = "streamGenerateContent?alt=sse"
	}
	quoted, _ := json.Marshal(prompt)
	r := strings.NewReplacer("PROMPT", string(quoted), "STREAM", fmt.Sprint(stream), "ACTION", action)
	return r.Replace(path), r.Replace(body)
}

// Every byte that a client gets, for each API: a call, an answer that is cut, one that is refused.
func TestWire(t *testing.T) {
	url := serve(t, script, nil)
	for _, a := range asks {
		var out strings.Builder
		for _, stream := range []bool{false, true} {
			for _, prompt := range []string{"fix the inventory of ticket 7", "too long", "forbidden"} {
				path, body := request(a.path, a.body, prompt, stream)
				status, _, text, err := post(t, url+path, body)
				if err != nil || status != 200 {
					t.Fatalf("%s: status %d, %v: %s", a.name, status, err, text)
				}
				fmt.Fprintf(&out, "=== %s, stream %v\n%s\n", prompt, stream, text)
			}
		}
		golden(t, a.name+".golden", out.String())
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// How far a conversation is follows from what it holds, in each API's own form.
func TestPosition(t *testing.T) {
	for _, c := range []struct {
		name string
		read func(*http.Request, []byte) (*ask, error)
		body string
		want int
	}{
		{"anthropic, nothing yet", readAnthropic, `{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`, 0},
		{"anthropic, two results in one message, with a reminder", readAnthropic, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","name":"t"},{"type":"tool_use","name":"t"}]},
			{"role":"user","content":[{"type":"tool_result","content":"r"},{"type":"tool_result","content":[{"type":"text","text":"r"}]},{"type":"text","text":"reminder"}]}]}`, 2},
		{"anthropic, an answer that a person went on from", readAnthropic, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"x"},{"role":"user","content":"b"}]}`, 1},
		{"chat", readChat, `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"x","tool_calls":[{"function":{"name":"t"}}]},{"role":"tool","content":"r"},
			{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"t"}}]},{"role":"tool","content":"r"}]}`, 2},
		{"chat, an answer that a person went on from", readChat, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":""},{"role":"user","content":"b"}]}`, 1},
		{"responses", readResponses, `{"input":[{"role":"user","content":"a"},{"type":"reasoning"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]},
			{"type":"function_call","name":"t"},{"type":"function_call_output","output":"r"},{"type":"custom_tool_call","name":"t"},{"type":"custom_tool_call_output","output":"r"}]}`, 2},
		{"responses, a string", readResponses, `{"input":"a"}`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := c.read(nil, []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := a.position(); got != c.want {
				t.Errorf("position %d, want %d: %+v", got, c.want, a.turns)
			}
		})
	}
}

// TestJoin tells what an agent says in the model's name, before the conversation, from what the model said.
func TestJoin(t *testing.T) {
	url := serve(t, "conversations:\n  - {match: fix it, steps: [{say: looking}, {say: fixed}]}\n", nil)
	for _, c := range []struct {
		name, first string
		turns       []string
		want        string
	}{
		{"words that the agent put there", "here is what I know", []string{`{"role":"assistant","content":"Got it."}`, `{"role":"user","content":"fix it"}`}, "looking"},
		{"twice", "here is what I know", []string{`{"role":"assistant","content":"Got it."}`, `{"role":"user","content":"and this"}`, `{"role":"assistant","content":"Yes."}`, `{"role":"user","content":"fix it"}`}, "looking"},
		{"what the script said", "fix it", []string{`{"role":"assistant","content":"looking"}`, `{"role":"user","content":"go on"}`}, "fixed"},
		{"what the script said, after such words", "here is what I know", []string{`{"role":"assistant","content":"Got it."}`, `{"role":"user","content":"fix it"}`, `{"role":"assistant","content":"looking"}`, `{"role":"user","content":"go on"}`}, "fixed"},
		{"past the end, where the last answer stays", "fix it", []string{`{"role":"assistant","content":"looking"}`, `{"role":"user","content":"go on"}`, `{"role":"assistant","content":"fixed"}`, `{"role":"user","content":"go on"}`}, "fixed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := say(t, url, c.first, readTool, c.turns...); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// say asks by Chat Completions with turns after the prompt, and returns what is said, or what the error is.
func say(t *testing.T, url, prompt, tools string, turns ...string) string {
	t.Helper()
	p, _ := json.Marshal(prompt)
	all := strings.Join(append([]string{`{"role":"user","content":` + string(p) + `}`}, turns...), ",")
	status, _, text, err := post(t, url+"/chat/completions", `{"model":"m","messages":[`+all+`],"tools":[`+tools+`]}`)
	if err != nil {
		return "lost: " + err.Error()
	}
	var out struct {
		Error   struct{ Message string }
		Choices []struct {
			Message struct {
				Content string
				Calls   []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if status != 200 {
		return fmt.Sprintf("%d %s", status, out.Error.Message)
	}
	m := out.Choices[0].Message
	for _, c := range m.Calls {
		m.Content += fmt.Sprintf(" %s(%s)", c.Function.Name, c.Function.Arguments)
	}
	return m.Content
}

const (
	readTool = `{"type":"function","function":{"name":"read_file","parameters":{"properties":{"path":{"type":"string"}}}}}`
	runTool  = `{"type":"function","function":{"name":"run","parameters":{}}}`
	gotOne   = `{"role":"assistant","tool_calls":[{"function":{"name":"t"}}]},{"role":"tool","content":"of ticket 8"}`
)

func TestChoice(t *testing.T) {
	url := serve(t, script, nil)
	both := readTool + "," + runTool
	for _, c := range []struct {
		name, prompt, tools string
		turns               []string
		want                string
	}{
		{"first", "inventory", both, nil, `I look: ☃. read_file({"path":"{{dir}}/inventory.py"}) run({"command":"ls"})`},
		{"one of two results is there", "inventory", both, []string{gotOne}, `I look: ☃. run({"command":"ls"})`},
		{"both", "inventory of ticket 7", both, []string{gotOne, gotOne}, "about 8"},
		{"further", "inventory", both, []string{gotOne, gotOne, `{"role":"assistant","content":"x"},{"role":"user","content":"go on"}`}, "done"},
		{"past the end", "inventory", both, []string{gotOne, gotOne, gotOne, gotOne, gotOne}, "done"},
		{"no tool that fits", "inventory", runTool, nil, `400 tare mockmodel: no offered tool fits "read_file|Read"; there are run`},
		{"no conversation", "something else", both, nil, `400 tare mockmodel: no conversation of the script fits the request for model "m"`},
		{"a side question", "inventory", "", nil, "ok"},
		{"a conversation without tools", "rate this", "", nil, "5"},
		{"which is for no other", "rate this", both, nil, `400 tare mockmodel: no conversation of the script fits the request for model "m"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := say(t, url, c.prompt, c.tools, c.turns...); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestCalls(t *testing.T) {
	url := serve(t, `
conversations:
  - {match: literal, steps: [{calls: [{name: nothing, args: {a: [1, {b: two}]}}]}]}
  - {match: raw, steps: [{calls: [{tool: run, raw: '{"a": '}]}]}
  - {match: exact, steps: [{calls: [{tool: read_file, args: {file: x, other: 1}, exact: true}]}]}
  - {match: fitted, steps: [{calls: [{tool: read_file, args: {file: x, other: 1}}]}]}
  - {match: whole, steps: [{calls: [{tool: run}]}]}
  - {model: other, steps: [{say: of another model}]}
`, nil)
	tools := strings.ReplaceAll(runTool, `"run"`, `"mcp_run"`) + "," + runTool + "," + readTool
	for prompt, want := range map[string]string{
		"literal": ` nothing({"a":[1,{"b":"two"}]})`,
		"raw":     ` run({"a": )`,
		"exact":   ` read_file({"file":"x","other":1})`,
		"fitted":  ` read_file({"path":"x"})`,
		"whole":   ` run({})`,
		"else":    `400 tare mockmodel: no conversation of the script fits the request for model "m"`,
	} {
		if got := say(t, url, prompt, tools); got != want {
			t.Errorf("%s: got %s, want %s", prompt, got, want)
		}
	}
}

func TestFailures(t *testing.T) {
	text := `
conversations:
  - match: busy
    steps:
      - fail: {status: 429, retry_after: 1.5, times: 2, headers: {X-Should-Retry: "false"}}
      - say: at last
  - {match: long, steps: [{fail: {overflow: true}}]}
  - {match: body, steps: [{fail: {status: 503, body: not JSON}}]}
  - {match: cut, steps: [{say: abcdefghijklmnopqrstuvwxyz, fail: {cut: true, after: 3}}]}
  - {match: within, steps: [{say: abcdefghijklmnopqrstuvwxyz, fail: {status: 529, after: 3}}]}
`
	url := serve(t, text, nil)
	for range 2 { // what is over begins anew
		for i, want := range []string{"429 scripted failure", "429 scripted failure", "at last"} {
			if got := say(t, url, "busy", runTool); got != want {
				t.Errorf("request %d: %s, want %s", i+1, got, want)
			}
		}
	}
	_, h, _, _ := post(t, url+"/chat/completions", `{"messages":[{"role":"user","content":"busy"}],"tools":[`+runTool+`]}`)
	if got := []string{h.Get("Retry-After"), h.Get("Retry-After-Ms"), h.Get("X-Should-Retry")}; !cmp.Equal(got, []string{"2", "1500", "false"}) {
		t.Errorf("headers %q", got)
	}
	if got := say(t, url, "long", runTool); !strings.HasPrefix(got, "400 This model's maximum context length") {
		t.Errorf("overflow: %s", got)
	}
	if status, _, got, _ := post(t, url+"/chat/completions", `{"messages":[{"role":"user","content":"body"}],"tools":[`+runTool+`]}`); status != 503 || got != "not JSON" {
		t.Errorf("body: %d %s", status, got)
	}
	for _, a := range asks {
		for _, stream := range []bool{false, true} {
			path, body := request(a.path, a.body, "cut", stream)
			status, _, text, err := post(t, url+path, body)
			if status != 200 || !errors.Is(err, io.ErrUnexpectedEOF) || len(text) == 0 {
				t.Errorf("%s, stream %v: status %d, %v, %q; want half of it", a.name, stream, status, err, text)
			}
		}
		path, body := request(a.path, a.body, "within", true)
		status, _, text, err := post(t, url+path, body)
		if status != 200 || err != nil || !strings.Contains(text, "scripted failure") || strings.Contains(text, "[DONE]") || strings.Contains(text, "_stop") {
			t.Errorf("%s: status %d, %v, %s; want an error in the stream", a.name, status, err, text)
		}
	}
}

// A request that hangs is let go when its client is, and one that is cancelled during a delay too.
func TestHang(t *testing.T) {
	url := serve(t, `
conversations:
  - {match: hang, steps: [{say: abcdefghijklmnopqrstuvwxyz, fail: {hang: true, after: 2}}]}
  - {match: slow, steps: [{say: x, delay: 1h}]}
`, nil)
	for _, prompt := range []string{"hang", "slow"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		path, body := request(asks[0].path, asks[0].body, prompt, prompt == "hang")
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url+path, strings.NewReader(body))
		if prompt == "slow" {
			cancel()
		}
		res, err := http.DefaultClient.Do(req)
		if prompt == "slow" {
			if err == nil {
				t.Error("slow: there was an answer")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 20)
		_, err = io.ReadFull(res.Body, first)
		cancel()
		if _, rest := io.ReadAll(res.Body); err != nil || !errors.Is(rest, context.Canceled) {
			t.Errorf("hang: %v, then %v; want some of it and then nothing", err, rest)
		}
		res.Body.Close()
	}
}

func TestLog(t *testing.T) {
	var log bytes.Buffer
	url := serve(t, script, &log)
	const key = "sk-secret-0123456789"
	path, body := request("/v1beta/models/m:ACTION", asks[3].body, "inventory "+key, true)
	req, _ := http.NewRequest(http.MethodPost, url+path+"&key="+key, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("X-Goog-Api-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	post(t, url+"/v1/messages/count_tokens", `{"messages":[]}`)
	post(t, url+"/v1/nowhere", `{`)
	if strings.Contains(log.String(), key) {
		t.Errorf("the key is in the log: %s", log.String())
	}
	var got []string
	for line := range strings.Lines(log.String()) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d %s %d %s %d %d %v %s", e.N, e.API, e.Status, e.Conversation, e.Step, len(e.Calls), e.Tools, e.Problem))
	}
	want := []string{"1 gemini 200 fix 1 2 [read_file run] ", "2 anthropic 200  0 0 [] ", "3  404  0 0 [] tare mockmodel has no POST /v1/nowhere"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAround(t *testing.T) {
	url := serve(t, script, nil)
	for _, c := range []struct{ method, path, want string }{
		{http.MethodHead, "/", ""},
		{http.MethodGet, "/v1/models", `"id":"mock-2"`},
		{http.MethodGet, "/v1/models/any", `"id":"any"`},
		{http.MethodGet, "/v1beta/models/any", `"name":"models/any"`},
		{http.MethodPost, "/v1/messages/count_tokens", `{"input_tokens":1}`},
		{http.MethodPost, "/v1beta/models/any:countTokens", `{"totalTokens":1}`},
	} {
		req, _ := http.NewRequest(c.method, url+c.path, strings.NewReader("{}"))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || !strings.Contains(string(b), c.want) {
			t.Errorf("%s %s: %d %s", c.method, c.path, res.StatusCode, b)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "s.yaml:1:1: the file is empty"},
		{"steps: [", "s.yaml:1:8: sequence end token ']' not found"},
		{"steps:\n  - say: x\n    sai: y\n", `s.yaml:3:5: unknown field "sai"`},
		{"usage: {input: 1}\n", "s.yaml:1:1: a script takes steps or conversations"},
		{"steps: [{say: x}]\nconversations:\n  - steps: [{say: x}]\n", "s.yaml:3:3: a script has steps or conversations, not both"},
		{"steps:\n  - usage: {input: 1}\n", "s.yaml:2:5: a step takes say, calls or fail"},
		{"steps:\n  - say: x\n    stop: later\n", `s.yaml:3:11: stop is end_turn, max_tokens or refusal, not "later"`},
		{"steps:\n  - say: x\n    delay: soon\n", `s.yaml:3:12: "soon" is no length of time; 1.5s is one`},
		{"steps:\n  - calls:\n      - tool: (\n", "s.yaml:3:15: error parsing regexp: missing closing ): `^(?:()$`"},
		{"steps:\n  - calls:\n      - args: {}\n", "s.yaml:3:9: a call takes tool, a pattern of the names that are offered, or name"},
		{"steps:\n  - fail: {status: 200}\n", "s.yaml:2:20: the status of a failure is from 400 to 599, not 200"},
		{"steps:\n  - fail: {status: 500, cut: true}\n", "s.yaml:2:11: fail takes one of status, overflow, cut, hang"},
		{"conversations:\n  - match: '['\n    steps: [{say: x}]\n", "s.yaml:2:12: error parsing regexp: missing closing ]: `[`"},
		{"conversations:\n  - take: {a: b}\n    steps: [{say: x}]\n", "s.yaml:2:15: the pattern of what is taken has one group, (…); this has 0"},
		{"conversations:\n  - name: x\n", "s.yaml:2:5: a conversation takes steps"},
		{"steps:\n  - say: x\n    usage: {output: 1, reasoning: 2}\n", "s.yaml:3:12: reasoning is part of output: 2 cannot be of 1"},
	} {
		_, err := Parse("s.yaml", []byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
		var e *yamlfile.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %T is no *Error", c.text, err)
		}
	}
}

// The script in the documentation is one, and plays.
func TestDocumentedScript(t *testing.T) {
	b, err := os.ReadFile("../../docs/mockmodel.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "## A whole script\n\n")
	text, _, end := strings.Cut(rest, "\nThe first conversation")
	if !ok || !end {
		t.Fatal("the documentation has no script")
	}
	url := serve(t, strings.ReplaceAll("\n"+text, "\n    ", "\n"), nil)
	tools := readTool + "," + runTool + `,{"type":"function","function":{"name":"Bash","parameters":{}}},` + strings.ReplaceAll(readTool, "read_file", "write_file")
	if got := say(t, url, "inventory", tools); got != "I do not know what to do." {
		t.Errorf("of another model: %s", got)
	}
	status, _, got, _ := post(t, url+"/chat/completions", `{"model":"solver-1","messages":[{"role":"user","content":"the inventory\nWorkspace: /w"},`+gotOne+`,`+gotOne+`,`+gotOne+`],"tools":[`+tools+`]}`)
	if status != 200 || !strings.Contains(got, "The search is fixed") {
		t.Errorf("%d %s", status, got)
	}
	status, _, got, _ = post(t, url+"/chat/completions", `{"model":"solver-1","messages":[{"role":"user","content":"the inventory\nWorkspace: /w"}],"tools":[`+tools+`]}`)
	if status != 200 || !strings.Contains(got, "/w/inventory.py") {
		t.Errorf("%d %s", status, got)
	}
}
