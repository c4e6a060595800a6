package mockmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// responses is OpenAI's Responses API.
var responses = api{name: "openai", read: readResponses, whole: wholeResponses, stream: streamResponses, fault: faultOpenAI,
	within: func(_ int, kind, message string) event {
		if kind == "" {
			kind = "server_error"
		}
		return event{"error", map[string]any{"type": "error", "code": kind, "message": message, "param": nil, "sequence_number": 0}}
	},
	excess: "Your input exceeds the context window of this model. Please adjust your input and try again.",
}

// A toolOffer is a tool of the Responses API; one of type namespace holds others.
type toolOffer struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"parameters"`
	Tools  []toolOffer     `json:"tools"`
}

func (t toolOffer) offers(namespace string) []offered {
	switch t.Type {
	case "function", "custom":
		return []offered{{name: t.Name, namespace: namespace, custom: t.Type == "custom", schema: readSchema(t.Schema)}}
	case "namespace":
		var out []offered
		for _, inner := range t.Tools {
			out = append(out, inner.offers(t.Name)...)
		}
		return out
	}
	return nil // a tool that the provider itself runs
}

func readResponses(_ *http.Request, body []byte) (*ask, error) {
	var in struct {
		Model        string          `json:"model"`
		Stream       bool            `json:"stream"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []toolOffer     `json:"tools"`
		Previous     *string         `json:"previous_response_id"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if in.Previous != nil && *in.Previous != "" {
		return nil, errors.New("previous_response_id: no conversation is kept here; send all of it as input")
	}
	a := &ask{model: in.Model, stream: in.Stream}
	if in.Instructions != "" {
		a.system = append(a.system, in.Instructions)
	}
	for _, t := range in.Tools {
		a.tools = append(a.tools, t.offers("")...)
	}
	var text string
	if json.Unmarshal(in.Input, &text) == nil {
		a.add(user, text)
		return a, nil
	}
	var items []struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Name    string          `json:"name"`
		Output  json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal(in.Input, &items); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	for _, item := range items {
		switch item.Type {
		case "", "message":
			switch text := texts(item.Content); item.Role {
			case "system", "developer":
				a.system = append(a.system, text)
			case "assistant":
				a.add(said, text)
			default:
				a.add(user, text)
			}
		case "function_call", "custom_tool_call", "local_shell_call":
			a.add(called, item.Name)
		case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
			a.add(result, texts(item.Output))
		}
	}
	return a, nil
}

func usageResponses(u Usage) any {
	if u.Unknown {
		return nil
	}
	input := u.Input + u.CacheRead + u.CacheWrite
	return map[string]any{
		"input_tokens": input, "input_tokens_details": map[string]any{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
		"total_tokens": input + u.Output,
	}
}

// An item is one of the output, with how it is streamed.
type item struct {
	begun, done map[string]any
	delta       string // kind of its events; "" for none
	text        string
	field       string // of the text in the last of these events
	part        bool   // the text is in a part of its content
}

func (r reply) items() []item {
	var out []item
	status := "completed"
	if r.stop == stopTokens {
		status = "incomplete"
	}
	if r.think != "" {
		id := "rs_" + r.id
		out = append(out, item{
			begun: map[string]any{"type": "reasoning", "id": id, "summary": []any{}},
			done:  map[string]any{"type": "reasoning", "id": id, "summary": []any{map[string]any{"type": "summary_text", "text": r.think}}, "encrypted_content": signature},
		})
	}
	if r.say != "" {
		id := "msg_" + r.id
		kind, field, delta := "output_text", "text", "response.output_text"
		if r.stop == stopRefusal {
			kind, field, delta = "refusal", "refusal", "response.refusal"
		}
		part := map[string]any{"type": kind, field: r.say}
		if kind == "output_text" {
			part["annotations"] = []any{}
		}
		out = append(out, item{
			begun: map[string]any{"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []any{}},
			done:  map[string]any{"type": "message", "id": id, "role": "assistant", "status": status, "content": []any{part}},
			delta: delta, text: r.say, field: field, part: true,
		})
	}
	for _, m := range r.calls {
		call := func(status, args string) map[string]any {
			c := map[string]any{"type": "function_call", "id": "fc_" + m.id, "call_id": "call_" + m.id, "name": m.tool.name, "arguments": args, "status": status}
			if m.tool.custom {
				c["type"], c["input"] = "custom_tool_call", args
				delete(c, "arguments")
			}
			if m.tool.namespace != "" {
				c["namespace"] = m.tool.namespace
			}
			return c
		}
		delta, field := "response.function_call_arguments", "arguments"
		if m.tool.custom {
			delta, field = "response.custom_tool_call_input", "input"
		}
		out = append(out, item{begun: call("in_progress", ""), done: call(status, m.args), delta: delta, text: m.args, field: field})
	}
	return out
}

func response(r reply, status string) map[string]any {
	return map[string]any{
		"id": "resp_" + r.id, "object": "response", "created_at": 0, "status": status, "model": r.model, "output": []any{},
		"error": nil, "incomplete_details": nil, "parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}, "usage": nil,
	}
}

func wholeResponses(r reply) any {
	out := response(r, "completed")
	if r.stop == stopTokens {
		out["status"], out["incomplete_details"] = "incomplete", map[string]any{"reason": "max_output_tokens"}
	}
	output := []any{}
	for _, it := range r.items() {
		output = append(output, it.done)
	}
	out["output"], out["usage"] = output, usageResponses(r.usage)
	return out
}

func streamResponses(_ *ask, r reply) []event {
	var out []event
	send := func(kind string, fields map[string]any) {
		fields["type"], fields["sequence_number"] = kind, len(out)
		out = append(out, event{kind, fields})
	}
	send("response.created", map[string]any{"response": response(r, "in_progress")})
	send("response.in_progress", map[string]any{"response": response(r, "in_progress")})
	for i, it := range r.items() {
		at := func(more map[string]any) map[string]any {
			more["output_index"], more["item_id"] = i, it.done["id"]
			if it.part {
				more["content_index"] = 0
			}
			return more
		}
		send("response.output_item.added", map[string]any{"output_index": i, "item": it.begun})
		if it.part {
			begun := map[string]any{"type": it.done["content"].([]any)[0].(map[string]any)["type"], it.field: ""}
			send("response.content_part.added", at(map[string]any{"part": begun}))
		}
		if it.delta != "" {
			for _, p := range pieces(it.text) {
				send(it.delta+".delta", at(map[string]any{"delta": p}))
			}
			send(it.delta+".done", at(map[string]any{it.field: it.text}))
		}
		if it.part {
			send("response.content_part.done", at(map[string]any{"part": it.done["content"].([]any)[0]}))
		}
		send("response.output_item.done", map[string]any{"output_index": i, "item": it.done})
	}
	last := "response.completed"
	if r.stop == stopTokens {
		last = "response.incomplete"
	}
	send(last, map[string]any{"response": wholeResponses(r)})
	return out
}
