package mcpserve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
)

func TestParseFault(t *testing.T) {
	for _, tt := range []struct{ in, out, err string }{
		{in: "tool=run_tests,nth=2,kind=error", out: "tool=run_tests,nth=2,kind=error"},
		{in: " kind=delay:3000ms , nth=1,tool=*,times=4", out: "tool=*,nth=1,times=4,kind=delay:3s"},
		{in: "rate=0.1,seed=7,kind=truncate,tool=read_file", out: "tool=read_file,rate=0.1,seed=7,kind=truncate"},
		{in: "tool=a,rate=1,kind=corrupt", out: "tool=a,rate=1,seed=0,kind=corrupt"},
		{in: "tool=a,nth=1,times=1,kind=timeout_after", out: "tool=a,nth=1,kind=timeout_after"},
		{in: "", err: "not of the form key=value"},
		{in: "tool=a,nth=1", err: "kind is missing"},
		{in: "nth=1,kind=error", err: "tool is missing"},
		{in: "tool=a,kind=error", err: "either nth"},
		{in: "tool=a,kind=error,nth=1,rate=0.5", err: "either nth"},
		{in: "tool=a,kind=error,nth=0", err: "whole number from 1"},
		{in: "tool=a,kind=error,nth=x", err: "whole number from 1"},
		{in: "tool=a,kind=error,rate=1.5", err: "up to 1"},
		{in: "tool=a,kind=error,rate=NaN", err: "up to 1"},
		{in: "tool=a,kind=error,rate=0.5,times=2", err: "times goes with nth"},
		{in: "tool=a,kind=error,nth=1,seed=2", err: "seed goes with rate"},
		{in: "tool=a,kind=slow,nth=1", err: `no kind "slow"`},
		{in: "tool=a,kind=delay,nth=1", err: "delay:3s"},
		{in: "tool=a,kind=delay:-1s,nth=1", err: "above 0"},
		{in: "tool=a,kind=delay:1h,nth=1", err: "up to 10m"},
		{in: "tool=a,kind=error:3s,nth=1", err: "no other kind has one"},
		{in: "tool=a,kind=error,nth=1,nth=2", err: "nth is given twice"},
		{in: "tool=a,kind=error,when=1", err: `there is no "when"`},
		{in: "tool=a; tool=b,kind=error,nth=1", err: "no name of a tool"},
	} {
		f, err := ParseFault(tt.in)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Count(err.Error(), "\n") > 0 {
				t.Errorf("%q: %v, want one line with %q", tt.in, err, tt.err)
			}
			continue
		}
		if err != nil || f.String() != tt.out {
			t.Errorf("%q: %q, %v; want %q", tt.in, f, err, tt.out)
			continue
		}
		again, err := ParseFaults(FormatFaults([]Fault{f, f}))
		if diff := cmp.Diff([]Fault{f, f}, again); err != nil || diff != "" {
			t.Errorf("%q, written and read: %v\n%s", tt.in, err, diff)
		}
	}
}

func mustParse(t *testing.T, text string) []Fault {
	t.Helper()
	list, err := ParseFaults(text)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// answers calls a tool n times and says what came of each call; done counts those that the tool carried out.
func answers(f *Faults, tool string, n int) (kinds []tare.FaultKind, texts []string, done int) {
	for range n {
		res, kind := f.Result(context.Background(), tool, nil, func() *mcp.CallToolResult {
			done++
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "all 12 tests passed"}}, StructuredContent: map[string]any{"n": 12}}
		})
		text := res.Content[0].(*mcp.TextContent).Text
		if res.IsError {
			text = "error: " + text
		}
		if res.StructuredContent != nil {
			text += " (12)"
		}
		kinds, texts = append(kinds, kind), append(texts, text)
	}
	return kinds, texts, done
}

func TestFaultsOnTheWay(t *testing.T) {
	const whole = "all 12 tests passed (12)"
	var slept time.Duration
	sleep := func(_ context.Context, d time.Duration) error { slept += d; return nil }
	for _, tt := range []struct {
		kind, text string
		is         tare.FaultKind
		done       int
	}{
		{"error", "error: the tool failed for a reason of its own; nothing was done, and the call may be made again", tare.FaultError, 2},
		{"timeout", "error: there was no answer in time; whether the call was carried out is not known", tare.FaultTimeoutBefore, 2},
		{"timeout_after", "error: there was no answer in time; whether the call was carried out is not known", tare.FaultTimeoutAfter, 3},
		{"disconnect", "error: the connection was lost before there was an answer", tare.FaultDisconnect, 2},
		{"delay:3s", whole, tare.FaultDelay, 3},
		{"truncate", "all 12 te", tare.FaultTruncated, 3},
		{"corrupt", "all 12 te" + strings.Repeat("\ufffd", 11), tare.FaultCorrupted, 3},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			slept = 0
			f := NewFaults(mustParse(t, "tool=run_tests,nth=2,kind="+tt.kind), "", sleep)
			kinds, texts, done := answers(f, "run_tests", 3)
			if diff := cmp.Diff([]tare.FaultKind{"", tt.is, ""}, kinds); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{whole, tt.text, whole}, texts); diff != "" {
				t.Error(diff)
			}
			if done != tt.done {
				t.Errorf("%d calls were carried out, want %d", done, tt.done)
			}
			if want := map[bool]time.Duration{true: 3 * time.Second}[tt.is == tare.FaultDelay]; slept != want {
				t.Errorf("slept %v, want %v", slept, want)
			}
			if kinds, _, _ := answers(f, "read_file", 3); kinds[1] != "" {
				t.Error("another tool met the fault")
			}
		})
	}
	var none *Faults
	if kinds, texts, _ := answers(none, "run_tests", 1); kinds[0] != "" || texts[0] != whole || NewFaults(nil, "", nil) != nil {
		t.Error("no faults make some")
	}
}

// TestRates draws by the seed of the fault and by the episode: the same of both is the same faults.
func TestRates(t *testing.T) {
	drawn := func(text, draw string) string {
		kinds, _, _ := answers(NewFaults(mustParse(t, text), draw, nil), "run_tests", 400)
		return fmt.Sprint(kinds)
	}
	one := drawn("tool=*,rate=0.25,seed=7,kind=error", "a 1 0")
	if again := drawn("tool=*,rate=0.25,seed=7,kind=error", "a 1 0"); again != one {
		t.Error("the same episode and seed draw other faults")
	}
	if n := strings.Count(one, "error"); n < 75 || n > 125 {
		t.Errorf("a rate of a quarter made %d faults in 400 calls", n)
	}
	for name, other := range map[string]string{"seed": drawn("tool=*,rate=0.25,seed=8,kind=error", "a 1 0"), "trial": drawn("tool=*,rate=0.25,seed=7,kind=error", "a 2 0")} {
		if other == one {
			t.Errorf("another %s draws the same faults", name)
		}
	}
}

// TestReply is the same for the world of a scenario, which says what became of the call.
func TestReply(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		kind    string
		applied *bool
		done    bool
		isError bool
		data    string
	}{
		{"error", &no, false, true, `{"error":{"code":"internal","message":"the tool failed for a reason of its own; nothing was done, and the call may be made again","retryable":true,"status":500}}`},
		{"timeout_after", &yes, true, true, `{"error":{"code":"timeout","message":"there was no answer in time; whether the call was carried out is not known","retryable":true,"status":504}}`},
		{"truncate", nil, true, false, ""},
		{"delay:1ms", nil, true, false, `{"id":"x"}`},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			f := NewFaults(mustParse(t, "tool=*,nth=1,kind="+tt.kind), "", func(context.Context, time.Duration) error { return nil })
			arrived, done := false, false
			reply, err := f.Reply(context.Background(), "create", nil, func() { arrived = true }, func() (tare.Reply, error) {
				arrived, done = true, true
				return tare.Reply{Data: json.RawMessage(`{"id":"x"}`), Text: `{"id":"x"}`}, nil
			})
			if err != nil || reply.Fault == nil || !arrived || done != tt.done || reply.IsError != tt.isError || string(reply.Data) != tt.data {
				t.Fatalf("%+v, %v; arrived %v, done %v", reply, err, arrived, done)
			}
			if diff := cmp.Diff(tt.applied, reply.Fault.Applied); diff != "" {
				t.Error(diff)
			}
		})
	}
	own := tare.Injected{Kind: tare.FaultConflict}
	f := NewFaults(mustParse(t, "tool=*,nth=1,kind=truncate"), "", nil)
	reply, err := f.Reply(context.Background(), "create", nil, nil, func() (tare.Reply, error) { return tare.Reply{Text: "busy", Fault: &own}, nil })
	if err != nil || reply.Fault != &own || reply.Text != "busy" {
		t.Errorf("a call with a fault of its world's: %+v, %v", reply, err)
	}
}

// TestCut drops the connection under a call, in the session of a real client, which goes on with the next call.
func TestCut(t *testing.T) {
	f := NewFaults(mustParse(t, "tool=touch,nth=1,kind=disconnect"), "", nil)
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	done := 0
	server.AddTool(&mcp.Tool{Name: "touch", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, kind := f.Result(ctx, "touch", nil, func() *mcp.CallToolResult { done++; return Failed("carried out") })
		if kind == tare.FaultDisconnect {
			f.Cut(req.Extra)
		}
		return res, nil
	})
	hs := httptest.NewServer(f.Handler(Handler(server)))
	defer hs.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: hs.URL + Path, MaxRetries: -1, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "touch"}); err == nil {
		t.Errorf("a call whose connection was cut got an answer: %+v", res)
	}
	if done != 0 {
		t.Error("a call whose connection was cut was carried out")
	}
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "touch"})
	if err != nil || done != 1 || !res.IsError {
		t.Errorf("the next call: %+v, %v, carried out %d times", res, err, done)
	}
	if len(f.lines.open) > 1 {
		t.Errorf("%d connections are kept", len(f.lines.open))
	}
	f.Cut(nil)
	f.Cut(&mcp.RequestExtra{Header: http.Header{}})
}

// TestForgive gives back what faults took of the calls that an agent has, within bounds.
func TestForgive(t *testing.T) {
	tally := NewTally(2, nil)
	made := 0
	for range 10 {
		if refused, _ := tally.Begin(); refused != nil {
			break
		}
		made++
		tally.Forgive()
	}
	if made != 4 {
		t.Errorf("an agent with 2 calls, all spoilt, made %d", made)
	}
}
