package mockmodel

import (
	"encoding/json"
	"net/http"
)

// chat is OpenAI's Chat Completions API, which many servers speak.
var chat = api{name: "openai-chat", read: readChat, whole: wholeChat, stream: streamChat, fault: faultOpenAI,
	within: func(status int, kind, message string) event { return event{"", faultOpenAI(status, kind, message)} },
	excess: "This model's maximum context length is 128000 tokens. However, your messages resulted in 250000 tokens.",
}

func readChat(_ *http.Request, body []byte) (*ask, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role      string          `json:"role"`
			Content   json.RawMessage `json:"content"`
			ToolCalls []struct {
				Function struct {
					Name string `json:"name"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name   string          `json:"name"`
				Schema json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
		StreamOptions struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	a := &ask{model: in.Model, stream: in.Stream, counts: in.StreamOptions.Usage}
	for _, t := range in.Tools {
		a.tools = append(a.tools, offered{name: t.Function.Name, schema: readSchema(t.Function.Schema)})
	}
	for _, m := range in.Messages {
		text := texts(m.Content)
		switch m.Role {
		case "system", "developer":
			a.system = append(a.system, text)
		case "tool", "function":
			a.add(result, text)
		case "assistant":
			if text != "" || len(m.ToolCalls) == 0 {
				a.add(said, text)
			}
			for _, c := range m.ToolCalls {
				a.add(called, c.Function.Name)
			}
		default:
			a.add(user, text)
		}
	}
	return a, nil
}

func usageChat(u Usage) any {
	if u.Unknown {
		return nil
	}
	input := u.Input + u.CacheRead + u.CacheWrite
	return map[string]any{
		"prompt_tokens": input, "completion_tokens": u.Output, "total_tokens": input + u.Output,
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.CacheRead},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
	}
}

var chatStops = map[string]string{stopEnd: "stop", stopCalls: "tool_calls", stopTokens: "length", stopRefusal: "stop"}

func wholeChat(r reply) any {
	message := map[string]any{"role": "assistant", "content": r.say, "refusal": nil}
	if r.stop == stopRefusal {
		message["content"], message["refusal"] = nil, r.say
	}
	if r.think != "" {
		message["reasoning_content"] = r.think
	}
	if len(r.calls) > 0 {
		var calls []any
		for _, m := range r.calls {
			calls = append(calls, map[string]any{"id": "call_" + m.id, "type": "function", "function": map[string]any{"name": m.tool.full(), "arguments": m.args}})
		}
		message["tool_calls"] = calls
	}
	out := map[string]any{
		"id": "chatcmpl-" + r.id, "object": "chat.completion", "created": 0, "model": r.model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": chatStops[r.stop], "logprobs": nil}},
	}
	if u := usageChat(r.usage); u != nil {
		out["usage"] = u
	}
	return out
}

func streamChat(a *ask, r reply) []event {
	var out []event
	chunk := func(choices []any) map[string]any {
		return map[string]any{"id": "chatcmpl-" + r.id, "object": "chat.completion.chunk", "created": 0, "model": r.model, "choices": choices}
	}
	send := func(delta map[string]any, finish any) {
		out = append(out, event{"", chunk([]any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": nil}})})
	}
	send(map[string]any{"role": "assistant", "content": ""}, nil)
	for _, p := range pieces(r.think) {
		send(map[string]any{"reasoning_content": p}, nil)
	}
	field := "content"
	if r.stop == stopRefusal {
		field = "refusal"
	}
	for _, p := range pieces(r.say) {
		send(map[string]any{field: p}, nil)
	}
	for i, m := range r.calls {
		send(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": "call_" + m.id, "type": "function", "function": map[string]any{"name": m.tool.full(), "arguments": ""}}}}, nil)
		for _, p := range pieces(m.args) {
			send(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": p}}}}, nil)
		}
	}
	send(map[string]any{}, chatStops[r.stop])
	if u := usageChat(r.usage); u != nil && a.counts {
		last := chunk([]any{})
		last["usage"] = u
		out = append(out, event{"", last})
	}
	return append(out, event{"", "[DONE]"})
}

var openAIKinds = map[int]string{
	400: "invalid_request_error", 401: "invalid_request_error", 403: "invalid_request_error", 404: "invalid_request_error", 429: "rate_limit_error",
}

// overflowCode is what OpenAI's errors call a conversation that is too long.
const overflowCode = "context_length_exceeded"

func faultOpenAI(status int, kind, message string) any {
	var code any
	if kind == overflowCode {
		kind, code = "", overflowCode
	}
	if kind == "" {
		kind = openAIKinds[status]
	}
	if kind == "" {
		kind = "server_error"
	}
	return map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": code}}
}
