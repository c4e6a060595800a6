package llm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"tare"
)

// anthropicWire is the Messages API.
type anthropicWire struct {
	name    string
	service anthropic.MessageService
}

func newAnthropic(name string, o Options) *anthropicWire {
	opts := []option.RequestOption{option.WithEnvironmentProduction(), option.WithHTTPClient(o.HTTP), option.WithMaxRetries(0)}
	if o.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(o.BaseURL))
	}
	if o.Token != "" {
		opts = append(opts, option.WithAuthToken(o.Token))
	} else {
		opts = append(opts, option.WithAPIKey(o.Key))
	}
	return &anthropicWire{name, anthropic.NewMessageService(opts...)}
}

// streamPrefix is what the client puts before the error of a stream.
const streamPrefix = "received error while streaming: "

func (w *anthropicWire) ask(ctx context.Context, req Request) (t Turn, begun bool, err error) {
	ctx, heard, done := listening(ctx)
	defer done()
	stream := w.service.NewStreaming(ctx, w.params(req))
	defer stream.Close()
	var acc anthropicAnswer
	for stream.Next() {
		heard()
		acc.add(stream.Current())
	}
	err = stream.Err()
	var api *anthropic.Error
	switch {
	case errors.As(err, &api):
		return Turn{}, false, refused(api.Response, api.StatusCode, api.RawJSON())
	case err != nil && strings.HasPrefix(err.Error(), streamPrefix):
		return Turn{}, true, within(strings.TrimPrefix(err.Error(), streamPrefix))
	case err != nil && context.Cause(ctx) == errSilent:
		return Turn{}, acc.begun, broken(errSilent)
	case err != nil || !acc.ended:
		return Turn{}, acc.begun, broken(err)
	}
	return acc.turn(), true, nil
}

func (w *anthropicWire) params(req Request) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{Model: anthropic.Model(w.name), MaxTokens: req.MaxTokens}
	if p.MaxTokens == 0 {
		p.MaxTokens = DefaultMaxTokens
	}
	// What is marked is kept by the service, with all that comes before it: the tools and the system prompt, which every turn
	// has, and the conversation so far, which the next one has.
	mark := anthropic.NewCacheControlEphemeralParam()
	if req.System != "" {
		p.System = []anthropic.TextBlockParam{{Text: req.System, CacheControl: mark}}
	}
	for _, t := range req.Tools {
		b, _ := json.Marshal(object(t.Schema))
		tool := anthropic.ToolParam{Name: t.Name, InputSchema: param.Override[anthropic.ToolInputSchemaParam](json.RawMessage(b))}
		if t.Description != "" {
			tool.Description = param.NewOpt(t.Description)
		}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &tool})
	}
	for i, m := range req.Messages {
		var blocks []anthropic.ContentBlockParamUnion
		for j, b := range m.Blocks {
			last := i == len(req.Messages)-1 && j == len(m.Blocks)-1
			switch b.Kind {
			case Text:
				if b.Text == "" {
					continue
				}
				text := anthropic.TextBlockParam{Text: b.Text}
				if last {
					text.CacheControl = mark
				}
				blocks = append(blocks, anthropic.ContentBlockParamUnion{OfText: &text})
			case ToolUse:
				input := json.RawMessage(b.Args)
				if !jsonObject(b.Args) { // the API takes objects only, and the model is to see what it wrote
					input, _ = json.Marshal(map[string]string{"no_json_object": b.Args})
				}
				blocks = append(blocks, anthropic.NewToolUseBlock(b.ID, input, b.Name))
			case ToolResult:
				r := anthropic.NewToolResultBlock(b.ID, b.Text, b.Fail)
				if last {
					r.OfToolResult.CacheControl = mark
				}
				blocks = append(blocks, r)
			case Thinking:
				if b.opaque != nil {
					blocks = append(blocks, param.Override[anthropic.ContentBlockParamUnion](b.opaque))
				}
			}
		}
		if len(blocks) > 0 {
			p.Messages = append(p.Messages, anthropic.MessageParam{Role: anthropic.MessageParamRole(m.Role), Content: blocks})
		}
	}
	return p
}

// An anthropicAnswer is put together from a stream. The client's own way of doing it fails on arguments that are no JSON, which are
// a mistake of the model's and none of the service's.
type anthropicAnswer struct {
	begun, ended bool
	stop         string
	blocks       []anthropicBlock
	usage        tare.Usage
	fresh        *int64 // input that no cache was asked for
}

type anthropicBlock struct {
	kind, id, name, signature, data string
	text                            []byte // also of thinking, and arguments
	input                           string // arguments that came at once
}

func (a *anthropicAnswer) add(e anthropic.MessageStreamEventUnion) {
	switch e.Type {
	case "message_start":
		a.begun = true
		u := e.Message.Usage
		a.count(number(u.InputTokens, u.JSON.InputTokens.Valid()), nil,
			number(u.CacheReadInputTokens, u.JSON.CacheReadInputTokens.Valid()), number(u.CacheCreationInputTokens, u.JSON.CacheCreationInputTokens.Valid()))
	case "content_block_start":
		c := e.ContentBlock
		b := anthropicBlock{kind: c.Type, id: c.ID, name: c.Name, signature: c.Signature, data: c.Data}
		b.text = append(b.text, c.Text+c.Thinking...)
		if in, err := json.Marshal(c.Input); err == nil && jsonObject(string(in)) {
			b.input = string(in)
		}
		for int64(len(a.blocks)) < e.Index && len(a.blocks) < 1000 {
			a.blocks = append(a.blocks, anthropicBlock{})
		}
		a.blocks = append(a.blocks, b)
	case "content_block_delta":
		if e.Index < 0 || e.Index >= int64(len(a.blocks)) {
			return
		}
		b := &a.blocks[e.Index]
		b.text = append(b.text, e.Delta.Text+e.Delta.PartialJSON+e.Delta.Thinking...)
		b.signature += e.Delta.Signature
	case "message_delta":
		a.stop = string(e.Delta.StopReason)
		u := e.Usage
		a.count(number(u.InputTokens, u.JSON.InputTokens.Valid()), number(u.OutputTokens, u.JSON.OutputTokens.Valid()),
			number(u.CacheReadInputTokens, u.JSON.CacheReadInputTokens.Valid()), number(u.CacheCreationInputTokens, u.JSON.CacheCreationInputTokens.Valid()))
	case "message_stop":
		a.ended = true
	}
}

// count takes what is said of usage: what comes later is of the whole answer.
func (a *anthropicAnswer) count(fresh, output, read, write *int64) {
	set := func(to **int64, v *int64) {
		if v != nil {
			*to = v
		}
	}
	set(&a.fresh, fresh)
	set(&a.usage.OutputTokens, output)
	set(&a.usage.CacheReadTokens, read)
	set(&a.usage.CacheWriteTokens, write)
}

func (a *anthropicAnswer) turn() Turn {
	t := Turn{Usage: a.usage}
	zero := int64(0)
	read, write := a.usage.CacheReadTokens, a.usage.CacheWriteTokens
	if a.fresh != nil { // a service without a cache leaves these out
		if read == nil {
			read = &zero
		}
		if write == nil {
			write = &zero
		}
	}
	t.Usage.InputTokens, t.Usage.CacheReadTokens, t.Usage.CacheWriteTokens = sum(a.fresh, read, write), read, write
	for i := range a.blocks {
		b := &a.blocks[i]
		switch b.kind {
		case "text":
			t.Blocks = append(t.Blocks, Block{Kind: Text, Text: string(b.text)})
		case "tool_use":
			args := string(b.text)
			if args == "" {
				args = b.input
			}
			if args == "" {
				args = "{}"
			}
			t.Blocks = append(t.Blocks, Block{Kind: ToolUse, ID: b.id, Name: b.name, Args: args})
		case "thinking":
			raw, _ := json.Marshal(map[string]string{"type": b.kind, "thinking": string(b.text), "signature": b.signature})
			t.Blocks = append(t.Blocks, Block{Kind: Thinking, Text: string(b.text), opaque: raw})
		case "redacted_thinking":
			raw, _ := json.Marshal(map[string]string{"type": b.kind, "data": b.data})
			t.Blocks = append(t.Blocks, Block{Kind: Thinking, opaque: raw})
		}
	}
	switch a.stop {
	case "tool_use":
		t.Stop = Calls
	case "max_tokens", "model_context_window_exceeded":
		t.Stop = MaxTokens
	case "refusal":
		t.Stop = Refusal
	case "pause_turn":
		t.Stop = Paused
	default:
		t.Stop = EndTurn
	}
	return t
}
