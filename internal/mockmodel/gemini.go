package mockmodel

import (
	"encoding/json"
	"net/http"
	"strings"
)

// gemini is Google's API.
var gemini = api{name: "gemini", read: readGemini, whole: wholeGemini, stream: streamGemini, fault: faultGemini,
	within: func(status int, kind, message string) event { return event{"", faultGemini(status, kind, message)} },
	excess: "The input token count (1250000) exceeds the maximum number of tokens allowed (1048576).",
}

type geminiContent struct {
	Role  string `json:"role"`
	Parts []struct {
		Text    *string `json:"text"`
		Thought bool    `json:"thought"`
		Call    *struct {
			Name string `json:"name"`
		} `json:"functionCall"`
		Response *struct {
			Response json.RawMessage `json:"response"`
		} `json:"functionResponse"`
	} `json:"parts"`
}

func (c geminiContent) text() string {
	var parts []string
	for _, p := range c.Parts {
		if p.Text != nil {
			parts = append(parts, *p.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func readGemini(r *http.Request, body []byte) (*ask, error) {
	var in struct {
		Contents []geminiContent `json:"contents"`
		System   *geminiContent  `json:"systemInstruction"`
		Tools    []struct {
			Functions []struct {
				Name   string          `json:"name"`
				Schema json.RawMessage `json:"parameters"`
				JSON   json.RawMessage `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	at := geminiPath.FindStringSubmatch(strings.TrimRight(r.URL.Path, "/"))
	a := &ask{model: at[1], stream: at[2] == "streamGenerateContent"}
	if in.System != nil {
		a.system = append(a.system, in.System.text())
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			schema := f.JSON
			if schema == nil {
				schema = f.Schema
			}
			a.tools = append(a.tools, offered{name: f.Name, schema: readSchema(schema)})
		}
	}
	for _, c := range in.Contents {
		for _, p := range c.Parts {
			switch {
			case p.Response != nil:
				a.add(result, string(p.Response.Response))
			case p.Call != nil:
				a.add(called, p.Call.Name)
			case p.Text == nil || p.Thought:
			case c.Role == "model":
				a.add(said, *p.Text)
			default:
				a.add(user, *p.Text)
			}
		}
	}
	return a, nil
}

func (r reply) gemini(parts []any, finish string) map[string]any {
	if parts == nil {
		parts = []any{}
	}
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	out := map[string]any{"candidates": []any{candidate}, "modelVersion": r.model, "responseId": r.id}
	if u := r.usage; !u.Unknown && finish != "" {
		input := u.Input + u.CacheRead + u.CacheWrite
		out["usageMetadata"] = map[string]any{
			"promptTokenCount": input, "cachedContentTokenCount": u.CacheRead, "candidatesTokenCount": u.Output - u.Reasoning,
			"thoughtsTokenCount": u.Reasoning, "totalTokenCount": input + u.Output,
		}
	}
	return out
}

func (r reply) geminiParts(split func(string) []string) []any {
	var parts []any
	if r.think != "" {
		parts = append(parts, map[string]any{"text": r.think, "thought": true})
	}
	for _, p := range split(r.say) {
		parts = append(parts, map[string]any{"text": p})
	}
	for _, m := range r.calls {
		parts = append(parts, map[string]any{"functionCall": map[string]any{"id": m.id, "name": m.tool.full(), "args": m.json()}})
	}
	return parts
}

var geminiStops = map[string]string{stopEnd: "STOP", stopCalls: "STOP", stopTokens: "MAX_TOKENS", stopRefusal: "SAFETY"}

func wholeGemini(r reply) any {
	return r.gemini(r.geminiParts(func(s string) []string {
		if s == "" {
			return nil
		}
		return []string{s}
	}), geminiStops[r.stop])
}

func streamGemini(_ *ask, r reply) []event {
	var out []event
	parts := r.geminiParts(pieces)
	for i, p := range parts {
		finish := ""
		if i == len(parts)-1 {
			finish = geminiStops[r.stop]
		}
		out = append(out, event{"", r.gemini([]any{p}, finish)})
	}
	if len(parts) == 0 {
		out = append(out, event{"", r.gemini(nil, geminiStops[r.stop])})
	}
	return out
}

var geminiKinds = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE",
}

func faultGemini(status int, kind, message string) any {
	if kind == "" {
		kind = geminiKinds[status]
	}
	if kind == "" {
		kind = "INTERNAL"
	}
	return map[string]any{"error": map[string]any{"code": status, "message": message, "status": kind}}
}
