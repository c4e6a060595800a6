package llm

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// responsesWire is the Responses API. Nothing is left with the service: each request holds the whole conversation.
type responsesWire struct {
	name    string
	service responses.ResponseService
	plain   atomic.Bool // the model does no reasoning, and refuses to be asked for it
}

func newResponses(name string, o Options) *responsesWire {
	return &responsesWire{name: name, service: responses.NewResponseService(openAIOptions(o)...)}
}

// unencrypted is how the service refuses a model without reasoning to be asked for it in the form that can be sent back.
const unencrypted = "ncrypted content is not supported"

func (w *responsesWire) ask(ctx context.Context, req Request) (t Turn, begun bool, err error) {
	plain := w.plain.Load()
	t, begun, err = w.askOnce(ctx, req, plain)
	if f, ok := err.(*Failure); ok && !plain && f.Status == 400 && strings.Contains(f.Message, unencrypted) {
		w.plain.Store(true)
		return w.askOnce(ctx, req, true)
	}
	return t, begun, err
}

func (w *responsesWire) askOnce(ctx context.Context, req Request, plain bool) (t Turn, begun bool, err error) {
	ctx, heard, done := listening(ctx)
	defer done()
	stream := w.service.NewStreaming(ctx, w.params(req, plain))
	defer stream.Close()
	var acc responsesAnswer
	for stream.Next() {
		heard()
		if f := acc.add(stream.Current()); f != nil {
			return Turn{}, true, f
		}
	}
	if err := stream.Err(); err != nil || acc.status == "" {
		f, begun := openAIFailure(ctx, err)
		return Turn{}, begun || acc.begun, f
	}
	return acc.turn(), true, nil
}

func (w *responsesWire) params(req Request, plain bool) responses.ResponseNewParams {
	p := responses.ResponseNewParams{Model: shared.ResponsesModel(w.name), Store: param.NewOpt(false)}
	if req.System != "" {
		p.Instructions = param.NewOpt(req.System)
	}
	if req.MaxTokens > 0 {
		p.MaxOutputTokens = param.NewOpt(req.MaxTokens)
	}
	if !plain {
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	for _, t := range req.Tools {
		f := responses.FunctionToolParam{Name: t.Name, Parameters: object(t.Schema), Strict: param.NewOpt(false)}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: &f})
	}
	input := responses.ResponseInputParam{}
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			switch b.Kind {
			case Text:
				if b.Text != "" {
					input = append(input, responses.ResponseInputItemParamOfMessage(b.Text, responses.EasyInputMessageRole(m.Role)))
				}
			case ToolUse:
				input = append(input, responses.ResponseInputItemParamOfFunctionCall(sentArgs(b), b.ID, b.Name))
			case ToolResult:
				input = append(input, responses.ResponseInputItemParamOfFunctionCallOutput(b.ID, failed(b)))
			case Thinking:
				if b.opaque != nil {
					input = append(input, param.Override[responses.ResponseInputItemUnionParam](b.opaque))
				}
			}
		}
	}
	p.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: input}
	return p
}

// A responsesAnswer is put together from a stream, whose last event sums up.
type responsesAnswer struct {
	begun   bool
	status  string
	why     string
	blocks  []Block
	refusal bool
	usage   string
}

// add takes an event. A failure is one that the stream tells of.
func (a *responsesAnswer) add(e responses.ResponseStreamEventUnion) *Failure {
	switch e.Type {
	case "response.created", "response.in_progress":
		a.begun = true
	case "response.output_item.done":
		a.item(e.Item.RawJSON())
	case "response.completed", "response.incomplete":
		a.status, a.why = string(e.Response.Status), string(e.Response.IncompleteDetails.Reason)
		a.usage = e.Response.Usage.RawJSON()
	case "response.failed":
		raw, _ := json.Marshal(map[string]any{"error": map[string]string{"message": e.Response.Error.Message, "type": string(e.Response.Error.Code)}})
		return within(string(raw))
	case "error":
		raw, _ := json.Marshal(map[string]any{"error": map[string]string{"message": e.Message, "type": e.Code}})
		return within(string(raw))
	}
	return nil
}

func (a *responsesAnswer) item(raw string) {
	var it struct {
		Type      string
		CallID    string `json:"call_id"`
		Name      string
		Arguments string
		Content   []struct{ Text, Refusal string }
		Summary   []struct{ Text string }
	}
	if json.Unmarshal([]byte(raw), &it) != nil {
		return
	}
	switch it.Type {
	case "message":
		for _, c := range it.Content {
			a.refusal = a.refusal || c.Refusal != ""
			a.blocks = append(a.blocks, Block{Kind: Text, Text: c.Text + c.Refusal})
		}
	case "function_call":
		if it.Arguments == "" {
			it.Arguments = "{}"
		}
		a.blocks = append(a.blocks, Block{Kind: ToolUse, ID: it.CallID, Name: it.Name, Args: it.Arguments})
	case "reasoning":
		var text []string
		for _, s := range it.Summary {
			text = append(text, s.Text)
		}
		a.blocks = append(a.blocks, Block{Kind: Thinking, Text: strings.Join(text, "\n"), opaque: json.RawMessage(raw)})
	}
}

func (a *responsesAnswer) turn() Turn {
	t := Turn{Blocks: a.blocks, Usage: openAIUsage(a.usage), Stop: EndTurn}
	switch {
	case a.refusal || a.why == "content_filter":
		t.Stop = Refusal
	case a.status == "incomplete":
		t.Stop = MaxTokens
	case len(t.Calls()) > 0:
		t.Stop = Calls
	}
	return t
}
