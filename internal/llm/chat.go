package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"

	"tare"
)

// chatWire is the Chat Completions API.
type chatWire struct {
	name    string
	theirs  bool // OpenAI's own service, whose name for the bound on answers others do not all know
	service openai.ChatCompletionService
}

func openAIOptions(o Options) []option.RequestOption {
	opts := []option.RequestOption{option.WithEnvironmentProduction(), option.WithHTTPClient(o.HTTP), option.WithMaxRetries(0), option.WithAPIKey(o.Key)}
	if o.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(o.BaseURL))
	}
	return opts
}

func newChat(name string, o Options) *chatWire {
	u, err := url.Parse(o.BaseURL)
	theirs := o.BaseURL == "" || err == nil && strings.HasSuffix(u.Hostname(), ".openai.com")
	return &chatWire{name, theirs, openai.NewChatCompletionService(openAIOptions(o)...)}
}

// openAIFailure is what an error of a stream means, for both of OpenAI's APIs.
func openAIFailure(ctx context.Context, err error) (f *Failure, begun bool) {
	var api *openai.Error
	var inner *ssestream.StreamError
	switch {
	case errors.As(err, &api):
		f := refused(api.Response, api.StatusCode, api.RawJSON())
		if strings.Contains(api.RawJSON(), "insufficient_quota") { // which comes with the status of a rate, and does not pass
			f.retry = false
		}
		return f, false
	case errors.As(err, &inner):
		return within(string(inner.Event.Data)), true
	case context.Cause(ctx) == errSilent:
		return broken(errSilent), false
	}
	return broken(err), false
}

func (w *chatWire) ask(ctx context.Context, req Request) (t Turn, begun bool, err error) {
	ctx, heard, done := listening(ctx)
	defer done()
	stream := w.service.NewStreaming(ctx, w.params(req))
	defer stream.Close()
	var acc chatAnswer
	for stream.Next() {
		heard()
		acc.add(stream.Current())
	}
	if err := stream.Err(); err != nil || acc.finish == "" {
		f, begun := openAIFailure(ctx, err)
		return Turn{}, begun || acc.begun, f
	}
	return acc.turn(), true, nil
}

func (w *chatWire) params(req Request) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{
		Model:         shared.ChatModel(w.name),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	if req.MaxTokens > 0 && w.theirs {
		p.MaxCompletionTokens = param.NewOpt(req.MaxTokens)
	} else if req.MaxTokens > 0 {
		p.MaxTokens = param.NewOpt(req.MaxTokens)
	}
	if req.System != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(req.System))
	}
	for _, t := range req.Tools {
		f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: object(t.Schema)}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(f))
	}
	for _, m := range req.Messages {
		p.Messages = append(p.Messages, chatMessages(m)...)
	}
	return p
}

func chatMessages(m Message) []openai.ChatCompletionMessageParamUnion {
	var out []openai.ChatCompletionMessageParamUnion
	var texts []string
	var calls []openai.ChatCompletionMessageToolCallUnionParam
	for _, b := range m.Blocks {
		switch b.Kind {
		case Text:
			texts = append(texts, b.Text)
		case ToolResult:
			out = append(out, openai.ToolMessage(failed(b), b.ID))
		case ToolUse:
			calls = append(calls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: b.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: b.Name, Arguments: sentArgs(b)},
			}})
		}
	}
	text := strings.Join(texts, "\n")
	switch {
	case m.Role == User && text != "":
		out = append(out, openai.UserMessage(text))
	case m.Role == Assistant && (text != "" || len(calls) > 0):
		a := openai.ChatCompletionAssistantMessageParam{ToolCalls: calls}
		if text != "" {
			a.Content.OfString = param.NewOpt(text)
		}
		out = append(out, openai.ChatCompletionMessageParamUnion{OfAssistant: &a})
	}
	return out
}

// sentArgs is the arguments of a call as they go back: many servers read them, and fail on what is no JSON.
func sentArgs(b Block) string {
	if jsonObject(b.Args) {
		return b.Args
	}
	raw, _ := json.Marshal(map[string]string{"no_json_object": b.Args})
	return string(raw)
}

// failed is a result where the API has no place for its being an error.
func failed(b Block) string {
	if b.Fail {
		return "error: " + b.Text
	}
	return b.Text
}

// A chatAnswer is put together from a stream.
type chatAnswer struct {
	begun         bool
	finish        string
	text, refusal strings.Builder
	thoughts      strings.Builder
	calls         []Block
	at            []int64 // the index of each call
	usage         tare.Usage
}

func (a *chatAnswer) add(c openai.ChatCompletionChunk) {
	a.begun = true
	if u := c.Usage; c.JSON.Usage.Valid() {
		a.usage = openAIUsage(u.RawJSON())
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue
		}
		a.text.WriteString(ch.Delta.Content)
		a.refusal.WriteString(ch.Delta.Refusal)
		var more struct {
			Thoughts string `json:"reasoning_content"`
		}
		if json.Unmarshal([]byte(ch.Delta.RawJSON()), &more) == nil {
			a.thoughts.WriteString(more.Thoughts)
		}
		for _, call := range ch.Delta.ToolCalls {
			i := slices.Index(a.at, call.Index)
			if i < 0 {
				i = len(a.calls)
				a.calls, a.at = append(a.calls, Block{Kind: ToolUse}), append(a.at, call.Index)
			}
			b := &a.calls[i]
			if b.ID == "" {
				b.ID = call.ID
			}
			b.Name += call.Function.Name
			b.Args += call.Function.Arguments
		}
		if ch.FinishReason != "" {
			a.finish = ch.FinishReason
		}
	}
}

// openAIUsage reads both of OpenAI's forms of it. Nothing is said there of what was written to a cache.
func openAIUsage(raw string) tare.Usage {
	var u struct {
		Input   *int64 `json:"input_tokens"`
		Output  *int64 `json:"output_tokens"`
		Prompt  *int64 `json:"prompt_tokens"`
		Answer  *int64 `json:"completion_tokens"`
		InputOf *struct {
			Cached *int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		PromptOf *struct {
			Cached *int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		OutputOf *struct {
			Reasoning *int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
		AnswerOf *struct {
			Reasoning *int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if json.Unmarshal([]byte(raw), &u) != nil {
		return tare.Usage{}
	}
	out := tare.Usage{InputTokens: u.Input, OutputTokens: u.Output}
	if u.Prompt != nil || u.Answer != nil {
		out.InputTokens, out.OutputTokens = u.Prompt, u.Answer
	}
	switch {
	case u.InputOf != nil:
		out.CacheReadTokens = u.InputOf.Cached
	case u.PromptOf != nil:
		out.CacheReadTokens = u.PromptOf.Cached
	}
	switch {
	case u.OutputOf != nil:
		out.ReasoningTokens = u.OutputOf.Reasoning
	case u.AnswerOf != nil:
		out.ReasoningTokens = u.AnswerOf.Reasoning
	}
	return out
}

func (a *chatAnswer) turn() Turn {
	t := Turn{Usage: a.usage}
	if a.thoughts.Len() > 0 {
		t.Blocks = append(t.Blocks, Block{Kind: Thinking, Text: a.thoughts.String()})
	}
	if text := a.text.String() + a.refusal.String(); text != "" {
		t.Blocks = append(t.Blocks, Block{Kind: Text, Text: text})
	}
	for _, c := range a.calls {
		if c.Args == "" {
			c.Args = "{}"
		}
		t.Blocks = append(t.Blocks, c)
	}
	switch {
	case a.refusal.Len() > 0 || a.finish == "content_filter":
		t.Stop = Refusal
	case a.finish == "length":
		t.Stop = MaxTokens
	case len(a.calls) > 0:
		t.Stop = Calls
	default:
		t.Stop = EndTurn
	}
	return t
}
