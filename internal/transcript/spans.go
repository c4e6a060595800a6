package transcript

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"tare"
)

// A span is one of OpenTelemetry's, as far as it is read. Start and End are nanoseconds, as numbers or as text.
type span struct {
	Name       string          `json:"name"`
	Start      json.RawMessage `json:"startTimeUnixNano"`
	End        json.RawMessage `json:"endTimeUnixNano"`
	Attributes json.RawMessage `json:"attributes"`
	Status     struct {
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
	} `json:"status"`
	line int
	at   int64
	attr map[string]json.RawMessage
}

// Names of attributes, from the conventions for generative AI.
const (
	attrOperation   = "gen_ai.operation.name"
	attrTool        = "gen_ai.tool.name"
	attrArguments   = "gen_ai.tool.call.arguments"
	attrResult      = "gen_ai.tool.call.result"
	attrInput       = "gen_ai.input.messages"
	attrOutput      = "gen_ai.output.messages"
	attrDefinitions = "gen_ai.tool.definitions"
	attrError       = "error.type"
	attrMCPTool     = "mcp.tool.name"
)

// readSpans reads calls from execute_tool spans, in the order of their beginnings, and brief and last message from the
// messages of the spans of agent and model.
func (b *builder) readSpans(ms []message) error {
	var all []span
	for _, m := range ms {
		if said, err := b.aside(m); err != nil {
			return err
		} else if said {
			continue
		}
		some, err := spansOf(m)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b span) int { return cmp.Compare(a.at, b.at) })
	began := int64(0)
	if len(all) > 0 {
		began = all[0].at
	}
	final, finalAt := "", int64(-1)
	for _, s := range all {
		switch op := s.text(attrOperation); {
		case op == "execute_tool" || op == "" && s.text(attrTool) != "":
			name := s.text(attrTool)
			if name == "" {
				name = s.text(attrMCPTool)
			}
			if name == "" {
				return &Error{s.line, "a span of a tool does not name it (" + attrTool + ")"}
			}
			b.steps = append(b.steps, s.step(name, began))
		default:
			b.definitions(s)
			if b.ev.Brief == "" {
				b.ev.Brief = strings.Join(spoken(s.attr[attrInput], "user"), "\n")
			}
			if texts := spoken(s.attr[attrOutput], "assistant"); len(texts) > 0 && s.end() >= finalAt {
				final, finalAt = texts[len(texts)-1], s.end()
			}
		}
	}
	if b.final == "" {
		b.final = final
	}
	return nil
}

// spansOf lists the spans of a value: a whole export, or one span.
func spansOf(m message) ([]span, error) {
	var export struct {
		Resources []struct {
			Scopes []struct {
				Spans []span `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	var out []span
	if err := json.Unmarshal(m.raw, &export); err != nil {
		return nil, &Error{m.line, "this is no export of spans: " + err.Error()}
	}
	for _, r := range export.Resources {
		for _, sc := range r.Scopes {
			out = append(out, sc.Spans...)
		}
	}
	if export.Resources == nil {
		var one span
		if err := json.Unmarshal(m.raw, &one); err != nil {
			return nil, &Error{m.line, "this is no span: " + err.Error()}
		}
		out = append(out, one)
	}
	for i := range out {
		out[i].line = m.line
		out[i].at = nanos(out[i].Start)
		out[i].attr = attributes(out[i].Attributes)
	}
	return out, nil
}

func nanos(raw json.RawMessage) int64 {
	n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// attributes reads OTLP's list of keys and typed values, or a plain object.
func attributes(raw json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &out) == nil {
		return out
	}
	out = map[string]json.RawMessage{}
	var list []struct {
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return out
	}
	for _, a := range list {
		out[a.Key] = plain(a.Value, 0)
	}
	return out
}

// plain is the JSON that a typed value of OTLP stands for.
func plain(raw json.RawMessage, depth int) json.RawMessage {
	var v struct {
		String *string         `json:"stringValue"`
		Bool   *bool           `json:"boolValue"`
		Int    json.RawMessage `json:"intValue"`
		Double json.RawMessage `json:"doubleValue"`
		Array  *struct {
			Values []json.RawMessage `json:"values"`
		} `json:"arrayValue"`
		KV *struct {
			Values []struct {
				Key   string          `json:"key"`
				Value json.RawMessage `json:"value"`
			} `json:"values"`
		} `json:"kvlistValue"`
	}
	if depth > 16 || json.Unmarshal(raw, &v) != nil {
		return json.RawMessage("null")
	}
	var out any
	switch {
	case v.String != nil:
		out = *v.String
	case v.Bool != nil:
		out = *v.Bool
	case v.Int != nil:
		return number(v.Int)
	case v.Double != nil:
		return number(v.Double)
	case v.Array != nil:
		list := make([]json.RawMessage, len(v.Array.Values))
		for i, x := range v.Array.Values {
			list[i] = plain(x, depth+1)
		}
		out = list
	case v.KV != nil:
		m := map[string]json.RawMessage{}
		for _, kv := range v.KV.Values {
			m[kv.Key] = plain(kv.Value, depth+1)
		}
		out = m
	}
	b, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}

func number(raw json.RawMessage) json.RawMessage {
	n := json.RawMessage(strings.Trim(string(raw), `"`))
	if !json.Valid(n) {
		return json.RawMessage("null")
	}
	return n
}

func (s span) text(key string) string {
	var t string
	_ = json.Unmarshal(s.attr[key], &t)
	return t
}

func (s span) end() int64 { return max(nanos(s.End), s.at) }

// step is the call of a tool's span.
func (s span) step(name string, began int64) tare.Step {
	args := object(s.attr[attrArguments])
	if args == nil {
		args = json.RawMessage("{}")
		if raw := s.attr[attrArguments]; len(raw) > 0 && string(raw) != "null" && string(raw) != `""` {
			args = raw // whatever it is, the contract will say
		}
	}
	ok := s.text(attrError) == "" && string(s.Status.Code) != "2" && string(s.Status.Code) != `"STATUS_CODE_ERROR"`
	text := s.text(attrResult)
	data := object(s.attr[attrResult])
	if !ok && text == "" && data == nil {
		text = cmp.Or(s.Status.Message, s.text(attrError))
	}
	o := observation(ok, text, data)
	o.Seconds = float64(s.end()-s.at) / 1e9
	return tare.Step{Call: tare.Call{At: float64(s.at-began) / 1e9, Tool: name, Args: args}, Observation: o}
}

// definitions reads the tools that a model was told of. They say nothing of what a call does, so that each counts as one that
// may destroy.
func (b *builder) definitions(s span) {
	raw := s.attr[attrDefinitions]
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	if json.Unmarshal(raw, &tools) != nil {
		return
	}
	for _, t := range tools {
		if t.Name != "" && !slices.ContainsFunc(b.ev.Catalogue.Tools, func(o tare.Tool) bool { return o.Name == t.Name }) {
			b.tool(tare.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Parameters, Hints: tare.Hints{Destructive: true}})
		}
	}
}

// spoken lists the texts of the messages of a role.
func spoken(raw json.RawMessage, role string) []string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
		Parts   []struct {
			Type    string `json:"type"`
			Content string `json:"content"`
			Text    string `json:"text"`
		} `json:"parts"`
	}
	if json.Unmarshal(raw, &messages) != nil {
		return nil
	}
	var out []string
	for _, m := range messages {
		if m.Role != role {
			continue
		}
		said := m.Content
		for _, p := range m.Parts {
			if p.Type == "text" {
				said += cmp.Or(p.Content, p.Text)
			}
		}
		if said != "" {
			out = append(out, said)
		}
	}
	return out
}
