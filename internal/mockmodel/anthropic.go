package mockmodel

import (
	"encoding/json"
	"net/http"
)

// anthropic is the Messages API.
var anthropic = api{name: "anthropic", read: readAnthropic, whole: wholeAnthropic, stream: streamAnthropic, fault: faultAnthropic,
	within: func(status int, kind, message string) event {
		return event{"error", faultAnthropic(status, kind, message)}
	},
	excess: "prompt is too long: 250000 tokens > 200000 maximum",
}

// A block is a piece of content, in the forms of all four APIs.
type block struct {
	Type       string          `json:"type"`
	Text       string          `json:"text"`
	Refusal    string          `json:"refusal"`
	Content    json.RawMessage `json:"content"`
	Name       string          `json:"name"`
	Input      json.RawMessage `json:"input"`
	Transcript string          `json:"transcript"`
}

// texts are the texts of content, which is a string or blocks.
func texts(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var blocks []block
	json.Unmarshal(raw, &blocks) // of what is neither there is no text
	for i, b := range blocks {
		if i > 0 {
			text += "\n"
		}
		text += b.Text + b.Refusal
	}
	return text
}

func readAnthropic(_ *http.Request, body []byte) (*ask, error) {
	var in struct {
		Model    string          `json:"model"`
		Stream   bool            `json:"stream"`
		System   json.RawMessage `json:"system"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	a := &ask{model: in.Model, stream: in.Stream}
	if text := texts(in.System); text != "" {
		a.system = append(a.system, text)
	}
	for _, t := range in.Tools {
		a.tools = append(a.tools, offered{name: t.Name, schema: readSchema(t.Schema)})
	}
	for _, m := range in.Messages {
		var blocks []block
		if json.Unmarshal(m.Content, &blocks) != nil {
			blocks = []block{{Type: "text", Text: texts(m.Content)}}
		}
		for _, b := range blocks {
			switch {
			case b.Type == "tool_result":
				a.add(result, texts(b.Content))
			case b.Type == "tool_use":
				a.add(called, b.Name)
			case b.Type == "text" && m.Role == "assistant":
				a.add(said, b.Text)
			case b.Type == "text":
				a.add(user, b.Text)
			}
		}
	}
	return a, nil
}

func usageAnthropic(u Usage) map[string]any {
	if u.Unknown {
		return map[string]any{}
	}
	return map[string]any{
		"input_tokens": u.Input, "output_tokens": u.Output,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
	}
}

// signature stands for what proves that reasoning is the model's own.
const signature = "c2NyaXB0ZWQ="

func wholeAnthropic(r reply) any {
	content := []any{}
	if r.think != "" {
		content = append(content, map[string]any{"type": "thinking", "thinking": r.think, "signature": signature})
	}
	if r.say != "" {
		content = append(content, map[string]any{"type": "text", "text": r.say})
	}
	for _, m := range r.calls {
		content = append(content, map[string]any{"type": "tool_use", "id": "toolu_" + m.id, "name": m.tool.full(), "input": m.json()})
	}
	return map[string]any{
		"id": "msg_" + r.id, "type": "message", "role": "assistant", "model": r.model, "content": content,
		"stop_reason": r.stop, "stop_sequence": nil, "usage": usageAnthropic(r.usage),
	}
}

func streamAnthropic(_ *ask, r reply) []event {
	var out []event
	send := func(kind string, fields map[string]any) {
		fields["type"] = kind
		out = append(out, event{kind, fields})
	}
	begin := usageAnthropic(r.usage)
	if !r.usage.Unknown {
		begin["output_tokens"] = 1
	}
	send("message_start", map[string]any{"message": map[string]any{
		"id": "msg_" + r.id, "type": "message", "role": "assistant", "model": r.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": begin,
	}})
	send("ping", map[string]any{})
	index := 0
	content := func(start map[string]any, deltas []map[string]any) {
		send("content_block_start", map[string]any{"index": index, "content_block": start})
		for _, d := range deltas {
			send("content_block_delta", map[string]any{"index": index, "delta": d})
		}
		send("content_block_stop", map[string]any{"index": index})
		index++
	}
	if r.think != "" {
		content(map[string]any{"type": "thinking", "thinking": "", "signature": ""},
			append(deltas("thinking_delta", "thinking", r.think), map[string]any{"type": "signature_delta", "signature": signature}))
	}
	if r.say != "" {
		content(map[string]any{"type": "text", "text": ""}, deltas("text_delta", "text", r.say))
	}
	for _, m := range r.calls {
		content(map[string]any{"type": "tool_use", "id": "toolu_" + m.id, "name": m.tool.full(), "input": map[string]any{}},
			deltas("input_json_delta", "partial_json", m.args))
	}
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": r.stop, "stop_sequence": nil}, "usage": usageAnthropic(r.usage)})
	send("message_stop", map[string]any{})
	return out
}

func deltas(kind, field, text string) []map[string]any {
	var out []map[string]any
	for _, p := range pieces(text) {
		out = append(out, map[string]any{"type": kind, field: p})
	}
	return out
}

// pieces parts a text as streams do: a few characters first, and no character in two.
func pieces(text string) []string {
	const most = 8
	runes := []rune(text)
	size := max(12, (len(runes)+most-1)/most)
	var out []string
	for len(runes) > 0 {
		n := min(size, len(runes))
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}

var anthropicKinds = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
}

func faultAnthropic(status int, kind, message string) any {
	if kind == "" {
		kind = anthropicKinds[status]
	}
	if kind == "" {
		kind = "api_error"
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}, "request_id": "req_scripted"}
}
