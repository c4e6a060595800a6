package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare"
	"tare/internal/llm"
	"tare/internal/mockmodel"
)

const script = `
usage: {input: 120, output: 30, cache_read: 1000, cache_write: 5, reasoning: 4}
conversations:
  - match: parallel
    steps:
      - {think: hm, say: "I look: ☃ \U0001F600.", calls: [{tool: read_file, args: {path: "straße/ß.py"}}, {tool: run, args: {}}]}
      - {say: "two results, I see"}
      - {say: "went on"}
  - {match: malformed, steps: [{calls: [{tool: read_file, raw: '{"path": "a'}]}, {say: so what}]}
  - {match: no object, steps: [{calls: [{tool: read_file, raw: '["a"]'}]}, {say: so what}]}
  - {match: refusal, steps: [{say: I will not., stop: refusal}]}
  - {match: too long an answer, steps: [{say: and so on and, stop: max_tokens}]}
  - {match: silent usage, steps: [{say: x, usage: {unknown: true}}]}
  - {match: busy, steps: [{fail: {status: 429, retry_after: 7, times: 2}}, {say: at last}]}
  - {match: overloaded, steps: [{fail: {status: 529, times: 3}}, {say: at last}]}
  - {match: soon, steps: [{fail: {status: 503, retry_after: 0.25, times: 1}}, {say: at last}]}
  - {match: an hour, steps: [{fail: {status: 429, retry_after: 3600, times: 1}}, {say: at last}]}
  - {match: down, steps: [{fail: {status: 500, message: all is lost}}]}
  - {match: told not to, steps: [{fail: {status: 429, headers: {X-Should-Retry: "false"}}}]}
  - {match: bad request, steps: [{fail: {status: 400, message: nonsense}}]}
  - {match: overflow, steps: [{fail: {overflow: true}}]}
  - {match: cut, steps: [{say: abcdefghijklmnopqrstuvwxyz and more and more, fail: {cut: true, after: 4, times: 1}}]}
  - {match: always, steps: [{say: abcdefghijklmnopqrstuvwxyz and more and more, fail: {cut: true, after: 4}}]}
  - {match: within, steps: [{say: abcdefghijklmnopqrstuvwxyz and more and more, fail: {status: 529, after: 4, times: 1}}]}
  - {match: hang, steps: [{say: abcdefghijklmnopqrstuvwxyz and more and more, fail: {hang: true, after: 3}}]}
`

var tools = []llm.Tool{
	{Name: "read_file", Description: "reads", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)},
	{Name: "run", Schema: json.RawMessage(`{}`)},
}

// A bench is a model of each API, before a server that plays the script.
type bench struct {
	llm.Model
	waits *[]time.Duration
	log   *buffer
}

func each(t *testing.T, f func(t *testing.T, b bench)) {
	for _, api := range llm.APIs() {
		t.Run(api, func(t *testing.T) { f(t, open(t, api)) })
	}
}

func open(t *testing.T, api string) bench {
	t.Helper()
	s, err := mockmodel.Parse("script", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	b := bench{waits: new([]time.Duration), log: new(buffer)}
	srv := httptest.NewServer(mockmodel.New(s, b.log))
	t.Cleanup(srv.Close)
	url := srv.URL
	if api != "anthropic" {
		url += "/v1"
	}
	b.Model, err = llm.New(api, "some-model", llm.Options{BaseURL: url, Key: "sk-test", HTTP: srv.Client(), Sleep: func(ctx context.Context, d time.Duration) error {
		*b.waits = append(*b.waits, d)
		return ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func prompt(text string, more ...llm.Message) llm.Request {
	first := llm.Message{Role: llm.User, Blocks: []llm.Block{{Kind: llm.Text, Text: text}}}
	return llm.Request{System: "be good", Messages: append([]llm.Message{first}, more...), Tools: tools}
}

func n(v int64) *int64 { return &v }

func TestConversation(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		first, err := b.Turn(t.Context(), prompt("parallel"))
		if err != nil {
			t.Fatal(err)
		}
		if first.Stop != llm.Calls || first.Text() != "I look: ☃ 😀." || first.Tries != 1 {
			t.Errorf("first: %+v", first)
		}
		calls := first.Calls()
		var got []string
		for _, c := range calls {
			got = append(got, c.Name+c.Args)
		}
		if d := cmp.Diff([]string{`read_file{"path":"straße/ß.py"}`, `run{}`}, got); d != "" {
			t.Fatal(d)
		}
		want := tare.Usage{InputTokens: n(1125), OutputTokens: n(30), CacheReadTokens: n(1000)}
		if b.api() == "anthropic" {
			want.CacheWriteTokens = n(5)
		} else {
			want.ReasoningTokens = n(4)
		}
		if d := cmp.Diff(want, first.Usage); d != "" {
			t.Errorf("usage: %s", d)
		}
		results := llm.Message{Role: llm.User, Blocks: []llm.Block{
			{Kind: llm.ToolResult, ID: calls[0].ID, Text: "ünïcode"}, {Kind: llm.ToolResult, ID: calls[1].ID, Text: "no such thing", Fail: true},
		}}
		req := prompt("parallel", llm.Message{Role: llm.Assistant, Blocks: first.Blocks}, results)
		second, err := b.Turn(t.Context(), req)
		if err != nil || second.Stop != llm.EndTurn || second.Text() != "two results, I see" {
			t.Fatalf("second: %+v, %v", second, err)
		}
		req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Blocks: second.Blocks}, llm.Message{Role: llm.User, Blocks: []llm.Block{{Kind: llm.Text, Text: "go on"}}})
		if third, err := b.Turn(t.Context(), req); err != nil || third.Text() != "went on" {
			t.Errorf("third: %+v, %v", third, err)
		}
		last := b.last(t)
		for _, part := range []string{"ünïcode", "no such thing", "go on", "be good", "additionalProperties"} {
			if !strings.Contains(last, part) {
				t.Errorf("%q is not in the last request: %s", part, last)
			}
		}
		switch b.api() { // reasoning goes back as it came, where the API has a place for it
		case "anthropic":
			if !strings.Contains(last, `"thinking":"hm"`) || !strings.Contains(last, `"signature":"c2NyaXB0ZWQ="`) || strings.Count(last, "cache_control") != 2 {
				t.Errorf("last request: %s", last)
			}
		case "openai":
			if !strings.Contains(last, `"encrypted_content":"c2NyaXB0ZWQ="`) || !strings.Contains(last, `"store":false`) {
				t.Errorf("last request: %s", last)
			}
		}
	})
}

// api is the one that the last request came by.
func (b bench) api() string {
	var e struct{ API string }
	lines := strings.Split(strings.TrimSpace(b.log.String()), "\n")
	json.Unmarshal([]byte(lines[len(lines)-1]), &e)
	return e.API
}

func (b bench) last(t *testing.T) string {
	t.Helper()
	var e struct{ Body json.RawMessage }
	lines := strings.Split(strings.TrimSpace(b.log.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &e); err != nil {
		t.Fatal(err)
	}
	return string(e.Body)
}

// Arguments that are no object in JSON are the model's, come as it wrote them, and can be sent back.
func TestMalformedArguments(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		for text, want := range map[string]string{"malformed": `{"path": "a`, "no object": `["a"]`} {
			turn, err := b.Turn(t.Context(), prompt(text))
			if err != nil || len(turn.Calls()) != 1 || turn.Calls()[0].Args != want {
				t.Fatalf("%+v, %v", turn, err)
			}
			back := llm.Message{Role: llm.User, Blocks: []llm.Block{{Kind: llm.ToolResult, ID: turn.Calls()[0].ID, Text: "no JSON", Fail: true}}}
			next, err := b.Turn(t.Context(), prompt(text, llm.Message{Role: llm.Assistant, Blocks: turn.Blocks}, back))
			if err != nil || next.Text() != "so what" {
				t.Errorf("%+v, %v", next, err)
			}
			if last := b.last(t); !strings.Contains(last, "no_json_object") {
				t.Errorf("the model does not see what it wrote: %s", last)
			}
		}
	})
}

func TestStops(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		for text, want := range map[string]llm.Stop{"refusal": llm.Refusal, "too long an answer": llm.MaxTokens, "silent usage": llm.EndTurn} {
			turn, err := b.Turn(t.Context(), prompt(text))
			if err != nil || turn.Stop != want {
				t.Errorf("%s: %+v, %v", text, turn, err)
			}
			if text == "silent usage" {
				if d := cmp.Diff(tare.Usage{}, turn.Usage); d != "" {
					t.Errorf("what nobody said is known: %s", d)
				}
			}
		}
	})
}

func TestRetries(t *testing.T) {
	// Waits that the service does not name are shortened at random, by a quarter at most.
	near := cmp.Comparer(func(a, b time.Duration) bool { return min(a, b) >= max(a, b)*3/4 })
	each(t, func(t *testing.T, b bench) {
		for _, c := range []struct {
			text  string
			waits []time.Duration
			lost  int
		}{
			{"busy", []time.Duration{7 * time.Second, 7 * time.Second}, 0},
			{"overloaded", []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}, 0},
			{"soon", []time.Duration{250 * time.Millisecond}, 0},
			{"an hour", []time.Duration{500 * time.Millisecond}, 0},
			{"cut", []time.Duration{500 * time.Millisecond}, 1},
			{"within", []time.Duration{500 * time.Millisecond}, 1},
		} {
			*b.waits = nil
			turn, err := b.Turn(t.Context(), prompt(c.text))
			if err != nil {
				t.Errorf("%s: %v", c.text, err)
				continue
			}
			if d := cmp.Diff(c.waits, *b.waits, near); d != "" {
				t.Errorf("%s: waits: %s", c.text, d)
			}
			if turn.Tries != len(c.waits)+1 || turn.Lost != c.lost {
				t.Errorf("%s: %d tries, %d lost", c.text, turn.Tries, turn.Lost)
			}
			if want := "at last"; turn.Text() != want && c.lost == 0 || c.lost > 0 && turn.Text() != "abcdefghijklmnopqrstuvwxyz and more and more" {
				t.Errorf("%s: %q", c.text, turn.Text())
			}
		}
	})
}

func TestFailures(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		for _, c := range []struct {
			text string
			want llm.Failure
			says string
		}{
			{"down", llm.Failure{Status: 500, Tries: 6}, "all is lost"},
			{"told not to", llm.Failure{Status: 429, Tries: 1}, ""},
			{"bad request", llm.Failure{Status: 400, Tries: 1}, "nonsense"},
			{"overflow", llm.Failure{Status: 400, Tries: 1, Overflow: true}, "too long"},
			{"always", llm.Failure{Tries: 6, Lost: 6}, "broke off"},
		} {
			*b.waits = nil
			_, err := b.Turn(t.Context(), prompt(c.text))
			var f *llm.Failure
			if !errors.As(err, &f) {
				t.Errorf("%s: %v", c.text, err)
				continue
			}
			if d := cmp.Diff(c.want, *f, cmpopts.IgnoreUnexported(llm.Failure{}), cmpopts.IgnoreFields(llm.Failure{}, "Message")); d != "" {
				t.Errorf("%s: %s", c.text, d)
			}
			if !strings.Contains(f.Error(), c.says) || len(*b.waits) != c.want.Tries-1 {
				t.Errorf("%s: %v after %v", c.text, f, *b.waits)
			}
		}
	})
}

// A service that is not there is tried again, and is a failure in the end.
func TestNobodyThere(t *testing.T) {
	for _, api := range llm.APIs() {
		m, err := llm.New(api, "m", llm.Options{BaseURL: "http://127.0.0.1:1", Key: "k", Tries: 3, Sleep: func(context.Context, time.Duration) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Turn(t.Context(), prompt("x"))
		var f *llm.Failure
		if !errors.As(err, &f) || f.Tries != 3 || f.Lost != 0 || f.Status != 0 {
			t.Errorf("%s: %v", api, err)
		}
	}
	if _, err := llm.New("smtp", "m", llm.Options{}); err == nil {
		t.Error("there is an API smtp")
	}
}

func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// A wait is over when the conversation is.
func TestCancelledBetweenTries(t *testing.T) {
	for _, api := range llm.APIs() {
		ctx, cancel := context.WithCancel(t.Context())
		m, err := llm.New(api, "m", llm.Options{BaseURL: "http://127.0.0.1:1", Key: "k", HTTP: &http.Client{Transport: refusing(cancel)}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := m.Turn(ctx, prompt("x")); !errors.Is(err, context.Canceled) || time.Since(began) > 20*time.Second {
			t.Errorf("%s: %v after %v", api, err, time.Since(began))
		}
	}
}

// refusing is a transport that asks for a wait of half a minute, and calls f.
type refusing func()

func (f refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	time.AfterFunc(time.Millisecond, f) // once there is nothing left but the wait
	return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"30"}, "Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("{}")), Request: req}, nil
}

// What ends the conversation ends a turn, while it is waited for and between two tries, and is no failure of the service's.
func TestCancelled(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error)
		go func() {
			_, err := b.Turn(ctx, prompt("hang"))
			got <- err
		}()
		for !strings.Contains(b.log.String(), "hang") {
			runtime.Gosched()
		}
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("while it answers: %v", err)
		}
	})
}

// A buffer is a log that can be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
