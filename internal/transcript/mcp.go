package transcript

import (
	"encoding/json"
	"slices"
	"strings"

	"tare"
)

// rpc is a JSON-RPC message.
type rpc struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// unwrap finds the JSON-RPC message in a value: the value itself, or what a logger put around it.
func unwrap(raw json.RawMessage) (rpc, bool) {
	var m rpc
	if json.Unmarshal(raw, &m) == nil && m.Version == "2.0" {
		return m, true
	}
	var around map[string]json.RawMessage
	if json.Unmarshal(raw, &around) != nil {
		return rpc{}, false
	}
	for _, key := range []string{"message", "msg", "payload", "data", "body"} {
		inner, ok := around[key]
		if !ok {
			continue
		}
		var text string
		if json.Unmarshal(inner, &text) == nil {
			inner = json.RawMessage(text)
		}
		m = rpc{}
		if json.Unmarshal(inner, &m) == nil && m.Version == "2.0" {
			return m, true
		}
	}
	return rpc{}, false
}

// readMCP reads requests and joins them to their answers by id. The order of calls is that of the requests.
func (b *builder) readMCP(ms []message) error {
	open := map[string]int{} // id of a call under way to its place
	listed := map[string]bool{}
	for _, m := range ms {
		if said, err := b.aside(m); err != nil {
			return err
		} else if said {
			continue
		}
		msg, ok := unwrap(m.raw)
		if !ok {
			return &Error{m.line, "this is no JSON-RPC message"}
		}
		id := string(msg.ID)
		switch {
		case msg.Method == "tools/call":
			var p struct {
				Name string          `json:"name"`
				Args json.RawMessage `json:"arguments"`
			}
			if json.Unmarshal(msg.Params, &p) != nil || p.Name == "" {
				return &Error{m.line, "a tools/call names no tool"}
			}
			if id == "" {
				return &Error{m.line, "a tools/call has no id, so its answer cannot be found"}
			}
			if _, twice := open[id]; twice {
				return &Error{m.line, "two calls under way have the id " + short(id)}
			}
			if p.Args == nil {
				p.Args = json.RawMessage("{}")
			}
			open[id] = len(b.steps)
			none := observation(false, "no answer came", nil)
			b.steps = append(b.steps, tare.Step{Call: tare.Call{Tool: p.Name, Args: p.Args}, Observation: none})
		case msg.Method == "tools/list":
			listed[id] = true
		case msg.Method != "":
			// initialize, pings, notifications: nothing follows from them
		case listed[id] && msg.Result != nil:
			if err := b.catalogue(m, msg.Result); err != nil {
				return err
			}
			delete(listed, id)
		default:
			if at, ok := open[id]; ok && id != "" {
				b.steps[at].Observation = answer(msg)
				delete(open, id)
				continue
			}
			b.server(msg.Result)
		}
	}
	return nil
}

func short(id string) string {
	if len(id) > 40 {
		return id[:37] + "…"
	}
	return id
}

// answer reads the answer to a call.
func answer(msg rpc) tare.Observation {
	if msg.Error != nil {
		return observation(false, msg.Error.Message, nil)
	}
	var r struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if json.Unmarshal(msg.Result, &r) != nil {
		return observation(false, "the answer cannot be read", nil)
	}
	var texts []string
	for _, c := range r.Content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	return observation(!r.IsError, strings.Join(texts, "\n"), object(r.Structured))
}

// catalogue reads a page of tools/list.
func (b *builder) catalogue(m message, result json.RawMessage) error {
	var r struct {
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Input       json.RawMessage `json:"inputSchema"`
			Output      json.RawMessage `json:"outputSchema"`
			Annotations struct {
				ReadOnly    *bool `json:"readOnlyHint"`
				Destructive *bool `json:"destructiveHint"`
				Idempotent  *bool `json:"idempotentHint"`
			} `json:"annotations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return &Error{m.line, "the list of tools cannot be read: " + err.Error()}
	}
	for _, t := range r.Tools {
		tool := tare.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Input, OutputSchema: t.Output}
		a := t.Annotations
		tool.Hints.ReadOnly = a.ReadOnly != nil && *a.ReadOnly
		tool.Hints.Destructive = !tool.Hints.ReadOnly && (a.Destructive == nil || *a.Destructive)
		tool.Hints.Idempotent = tool.Hints.ReadOnly || a.Idempotent != nil && *a.Idempotent
		b.tool(tool)
	}
	return nil
}

// tool adds a tool; what a server says of it later replaces what it said before.
func (b *builder) tool(t tare.Tool) {
	tools := &b.ev.Catalogue.Tools
	if i := slices.IndexFunc(*tools, func(o tare.Tool) bool { return o.Name == t.Name }); i >= 0 {
		(*tools)[i] = t
		return
	}
	*tools = append(*tools, t)
}

// server reads the name that a server gives itself when it is greeted.
func (b *builder) server(result json.RawMessage) {
	var r struct {
		Info struct {
			Name string `json:"name"`
		} `json:"serverInfo"`
	}
	if json.Unmarshal(result, &r) == nil && r.Info.Name != "" && !slices.Contains(b.ev.Catalogue.Servers, r.Info.Name) {
		b.ev.Catalogue.Servers = append(b.ev.Catalogue.Servers, r.Info.Name)
	}
}
