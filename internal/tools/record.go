package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
	"tare/internal/mcpserve"
)

const (
	maxPreview     = 2000
	maxTestPreview = 8000
	maxNote        = 4000
	maxArgs        = 8 << 20 // more than any call that can work, so that only nonsense is left out
	maxToolName    = 128
)

// record is around every tool call: it takes turns, counts, times and records them. Calls that never reach a tool, for an
// unknown name or bad arguments, are answered as failed calls and recorded like the rest.
func (w *endpoint) record(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		ask, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		ctx, leave, err := w.enter(ctx)
		if err != nil {
			return failed("the episode is over"), nil
		}
		defer leave()
		select {
		case <-w.turn:
			defer func() { w.turn <- struct{}{} }()
		case <-ctx.Done():
			return failed("the call was cancelled before its turn came"), nil
		}
		if ctx.Err() != nil { // both were ready
			return failed("the call was cancelled before its turn came"), nil
		}
		step := tare.Step{Call: w.describe(ask.Params)}
		began := w.now()
		step.Call.At = seconds(began.Sub(w.began))
		res, record := w.tally.Begin()
		if !record {
			return res, nil
		}
		var fault tare.FaultKind
		if res == nil {
			res, fault = w.perturbed(ctx, step.Call, func() *mcp.CallToolResult { return w.carryOut(ctx, next, method, ask) })
		}
		step.Observation = w.observe(step.Call.Tool, res)
		step.Observation.Seconds = seconds(w.now().Sub(began))
		if fault != "" {
			step.Observation.Fault = string(fault)
		}
		w.settle(step.Observation, ask)
		w.tally.Record(step)
		return res, nil
	}
}

// perturbed has the call done, with the fault that is due in it.
func (w *endpoint) perturbed(ctx context.Context, c tare.Call, do func() *mcp.CallToolResult) (*mcp.CallToolResult, tare.FaultKind) {
	if w.perturb == nil {
		return do(), ""
	}
	return w.perturb(ctx, c, do)
}

// settle sees to what a fault on the way leads to: a call that it spoilt is not counted, and a broken connection is one.
func (w *endpoint) settle(o tare.Observation, ask *mcp.CallToolRequest) {
	kind := tare.FaultKind(o.Fault)
	if w.faults == nil || !kind.Spoils() {
		return
	}
	w.tally.Forgive()
	if kind == tare.FaultDisconnect {
		w.faults.Cut(ask.Extra)
	}
}

// carryOut has the call done. The caller holds the turn.
func (w *endpoint) carryOut(ctx context.Context, next mcp.MethodHandler, method string, ask *mcp.CallToolRequest) *mcp.CallToolResult {
	got, err := next(ctx, method, ask)
	if err != nil {
		var wire *jsonrpc.Error
		if errors.As(err, &wire) && wire.Code == jsonrpc.CodeInvalidParams {
			return failed(quoteBounded(wire.Message))
		}
		return failed(w.explain(ctx, "the tool", err).Error())
	}
	res, ok := got.(*mcp.CallToolResult)
	if !ok {
		w.onProblem(fmt.Errorf("tool call answered with %T", got))
		return failed("the call failed on the server's side; this is not your doing")
	}
	return res
}

func failed(text string) *mcp.CallToolResult { return mcpserve.Failed(text) }

func quoteBounded(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) > maxPreview {
		s = strings.ToValidUTF8(s[:maxPreview], "") + "…"
	}
	return s
}

// describeNoted is the call as the record keeps it: the note apart from the arguments, all of it bounded and valid UTF-8.
func describeNoted(p *mcp.CallToolParamsRaw) tare.Call {
	name := strings.ToValidUTF8(p.Name, "\ufffd")
	if len(name) > maxToolName {
		name = strings.ToValidUTF8(name[:maxToolName], "") + "…"
	}
	c := tare.Call{Tool: name, Args: json.RawMessage(`{}`)}
	if len(p.Arguments) == 0 {
		return c
	}
	if len(p.Arguments) > maxArgs {
		c.Args = mustJSON(map[string]any{"left_out_bytes": len(p.Arguments), "digest": tare.HashBytes(p.Arguments)})
		return c
	}
	c.Args = json.RawMessage(strings.ToValidUTF8(string(p.Arguments), "\ufffd"))
	var args map[string]json.RawMessage
	if json.Unmarshal(c.Args, &args) != nil || args == nil {
		return c
	}
	if json.Unmarshal(args["note"], &c.Note) == nil {
		delete(args, "note")
		c.Args = mustJSON(args)
		if len(c.Note) > maxNote {
			c.Note = strings.ToValidUTF8(c.Note[:maxNote], "") + "…"
		}
	}
	return c
}

// observe is the result as the record keeps it.
func observe(tool string, res *mcp.CallToolResult) tare.Observation {
	if tool == "run_tests" {
		return mcpserve.Observe(res, maxTestPreview)
	}
	return mcpserve.Observe(res, maxPreview)
}

func ends(s string, most int) string { return mcpserve.Ends(s, most) }

func seconds(d time.Duration) float64 {
	return float64(max(0, d).Round(time.Microsecond)) / float64(time.Second)
}

// jsonList is a list of strings as JSON, one a line.
func jsonList(list []string) string {
	if len(list) == 0 {
		return "[]"
	}
	var b strings.Builder
	for i, s := range list {
		if i == 0 {
			b.WriteString("[\n  ")
		} else {
			b.WriteString(",\n  ")
		}
		b.Write(mustJSON(s))
	}
	return b.String() + "\n]"
}

func mustJSON(v any) json.RawMessage {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // maps and strings always encode
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}
