package mockmodel

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Why an answer ends.
const (
	stopEnd     = "end_turn"
	stopTokens  = "max_tokens"
	stopRefusal = "refusal"
	stopCalls   = "tool_use"
)

// An ask is a request, whichever API it came by.
type ask struct {
	model  string
	stream bool
	system []string
	turns  []turn
	tools  []offered
	counts bool // of Chat Completions: the stream is to end with the usage
}

// A turn is one piece of a conversation.
type turn struct {
	kind string
	text string
}

const (
	user   = "user"
	said   = "said"
	called = "called"
	result = "result"
)

// An offered tool.
type offered struct {
	name      string
	namespace string // of Responses
	custom    bool   // of Responses: it takes text
	schema    schema
}

// full is the name with that of the namespace.
func (o offered) full() string {
	if o.namespace == "" {
		return o.name
	}
	return o.namespace + "__" + o.name
}

// A schema is what is looked at of a tool's.
type schema struct {
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
}

type property struct {
	Type json.RawMessage   `json:"type"` // a name or several
	Enum []json.RawMessage `json:"enum"`
}

func (p property) is(name string) bool {
	return strings.Contains(strings.ToLower(string(p.Type)), `"`+name+`"`)
}

func readSchema(raw json.RawMessage) schema {
	var s schema
	json.Unmarshal(raw, &s) // of one that is no object nothing is known
	return s
}

// add adds a piece of text to the conversation; texts of one speaker are one.
func (a *ask) add(kind, text string) {
	if n := len(a.turns); n > 0 && a.turns[n-1].kind == kind && kind != result && kind != called {
		a.turns[n-1].text += "\n" + text
		return
	}
	a.turns = append(a.turns, turn{kind, text})
}

// position is how far the conversation is: results of tools, and answers without a call that a person went on from.
func (a *ask) position() int {
	n := 0
	for i, t := range a.turns {
		if t.kind == result || t.kind == user && i > 0 && a.turns[i-1].kind == said {
			n++
		}
	}
	return n
}

// opening is what a conversation is recognised by.
func (a *ask) opening() string {
	parts := slices.Clone(a.system)
	for _, t := range a.turns {
		if t.kind == user {
			parts = append(parts, t.text)
			break
		}
	}
	return strings.Join(parts, "\n")
}

func (a *ask) text() string {
	parts := slices.Clone(a.system)
	for _, t := range a.turns {
		parts = append(parts, t.text)
	}
	return strings.Join(parts, "\n")
}

// A reply is an answer, whichever API it goes by.
type reply struct {
	id    string // of the answer, unique in its conversation and the same for the same request
	model string
	think string
	say   string
	calls []made
	stop  string
	usage Usage
}

// A made call.
type made struct {
	id   string
	tool offered
	args string // JSON, unless the script wants otherwise
}

// json is the arguments as JSON, whatever the script wants.
func (m made) json() json.RawMessage {
	if json.Valid([]byte(m.args)) {
		return json.RawMessage(m.args)
	}
	b, _ := json.Marshal(m.args)
	return b
}

// A choice is what becomes of a request.
type choice struct {
	conversation string
	step         int // from 0; -1: none of the script
	position     int
	fail         *Fail
	wait         *Step // whose delay there is
	reply        reply
}

// choose finds the answer to a. An error says what of the script does not fit the request.
func (s *Server) choose(a *ask) (choice, error) {
	s.join(a)
	opening := a.opening()
	for i := range s.script.Conversations {
		c := &s.script.Conversations[i]
		bare := c.Tools != nil && !*c.Tools
		if bare != (len(a.tools) == 0) || !c.model.MatchString(a.model) || !c.match.MatchString(opening) {
			continue
		}
		name := c.Name
		if name == "" {
			name = fmt.Sprint(i + 1)
		}
		return s.follow(c, name, a, opening)
	}
	if len(a.tools) == 0 {
		return choice{conversation: "side", step: -1, reply: reply{id: "side", model: a.model, say: s.script.Side, stop: stopEnd, usage: s.usage(nil)}}, nil
	}
	return choice{step: -1}, fmt.Errorf("no conversation of the script fits the request for model %q", a.model)
}

// join takes away the answers that no script gave and that stand before any call: some agents put words into the model's mouth before the
// conversation, and what they and their user say is its beginning.
func (s *Server) join(a *ask) {
	for len(a.turns) > 2 && a.turns[0].kind == user && a.turns[1].kind == said && a.turns[2].kind == user && !s.says(a.turns[1].text) {
		a.turns[2].text = a.turns[0].text + "\n" + a.turns[2].text
		a.turns = a.turns[2:]
	}
}

// says reports whether the script has an answer like that.
func (s *Server) says(text string) bool {
	for _, c := range s.script.Conversations {
		for _, step := range c.Steps {
			if strings.Contains(step.Say, "{{") || strings.TrimSpace(step.Say) == strings.TrimSpace(text) {
				return true
			}
		}
	}
	return strings.TrimSpace(text) == done
}

func (s *Server) follow(c *Conversation, name string, a *ask, opening string) (choice, error) {
	pos, start := a.position(), 0
	sum := sha256.Sum256([]byte(opening))
	out := choice{conversation: name, position: pos}
	for i := range c.Steps {
		step := &c.Steps[i]
		last := i == len(c.Steps)-1
		here := pos >= start && pos < start+step.span() || pos == start && step.span() == 0 || last && step.span() > 0 && len(step.Calls) == 0 && pos >= start
		if !here {
			start += step.span()
			continue
		}
		out.step, out.wait = i, step
		if step.Fail != nil && s.failing(fmt.Sprintf("%s %x %d", name, sum, i), step.Fail) {
			out.fail = step.Fail
		} else if step.empty() {
			continue // the failure is over, and the answer is the next step's
		}
		var err error
		out.reply, err = s.reply(c, step, a, fmt.Sprintf("%x_%d", sum[:4], pos), pos-start)
		return out, err
	}
	out.step, out.wait = -1, nil
	out.reply = reply{id: fmt.Sprintf("%x_%d", sum[:4], pos), model: a.model, say: done, stop: stopEnd, usage: s.usage(nil)}
	return out, nil
}

// failing counts a failure and says whether it is still to happen. One that is over begins anew with the next conversation of
// this kind.
func (s *Server) failing(key string, f *Fail) bool {
	if f.Times == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed[key] >= f.Times {
		delete(s.failed, key)
		return false
	}
	s.failed[key]++
	return true
}

// done is said when there is nothing left to say.
const done = "done"

func (s *Server) usage(u *Usage) Usage {
	switch {
	case u != nil:
		return *u
	case s.script.Usage != nil:
		return *s.script.Usage
	}
	return defaultUsage
}

// reply makes the answer of a step, whose first calls may have their results already.
func (s *Server) reply(c *Conversation, step *Step, a *ask, id string, have int) (reply, error) {
	text := a.text()
	taken := map[string]string{}
	for name, re := range c.take {
		if all := re.FindAllStringSubmatch(text, -1); all != nil {
			taken[name] = all[len(all)-1][1]
		}
	}
	r := reply{id: id, model: a.model, think: filled(step.Think, taken), say: filled(step.Say, taken), stop: step.Stop, usage: s.usage(step.Usage)}
	if r.stop == "" {
		r.stop = stopEnd
		if len(step.Calls) > 0 {
			r.stop = stopCalls
		}
	}
	for i := min(have, len(step.Calls)); i < len(step.Calls); i++ {
		m, err := s.call(&step.Calls[i], a, taken)
		if err != nil {
			return reply{}, err
		}
		m.id = fmt.Sprintf("%s_%d", id, i)
		r.calls = append(r.calls, m)
	}
	return r, nil
}

func (s *Server) call(c *Call, a *ask, taken map[string]string) (made, error) {
	var m made
	if c.Name != "" {
		m.tool = offered{name: c.Name}
		for _, t := range a.tools {
			if t.full() == c.Name || t.name == c.Name {
				m.tool = t
			}
		}
	} else {
		var ok bool
		if m.tool, ok = c.pattern.find(a.tools); !ok {
			var names []string
			for _, t := range a.tools {
				names = append(names, t.full())
			}
			return made{}, fmt.Errorf("no offered tool fits %q; there are %s", c.Tool, strings.Join(names, ", "))
		}
	}
	if c.Raw != nil {
		m.args = filled(*c.Raw, taken)
		return m, nil
	}
	args, _ := fill(c.Args, taken).(map[string]any)
	if args == nil {
		args = map[string]any{}
	}
	if !c.Exact {
		args = s.fit(args, m.tool.schema)
	}
	if m.tool.custom {
		v, ok := args["input"]
		for _, one := range args {
			if !ok && len(args) == 1 {
				v, ok = one, true
			}
		}
		if ok {
			m.args = fmt.Sprint(v)
		}
		return m, nil
	}
	b, err := json.Marshal(args)
	if err != nil {
		return made{}, fmt.Errorf("the arguments of a call are no JSON: %w", err)
	}
	m.args = string(b)
	return m, nil
}

func fill(v any, taken map[string]string) any {
	switch v := v.(type) {
	case string:
		return filled(v, taken)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = fill(v[i], taken)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k := range v {
			out[k] = fill(v[k], taken)
		}
		return out
	}
	return v
}

// aliases are names under which agents' tools take the same thing.
var aliases = [][]string{
	{"path", "file_path", "filePath", "absolute_path", "filepath", "filename", "file", "target_file", "dir_path"},
	{"content", "contents", "file_text", "text"},
	{"command", "cmd", "script"},
	{"query", "pattern", "search", "regex"},
	{"old_string", "oldString", "old_str", "old_text", "oldText"},
	{"new_string", "newString", "new_str", "new_text", "newText"},
}

// fit puts arguments under the names that a tool has for them, leaves out those that it has no place for, and fills in what it
// requires besides.
func (s *Server) fit(args map[string]any, sch schema) map[string]any {
	out := map[string]any{}
	for name, v := range args {
		to := s.named(name, sch)
		p, ok := sch.Properties[to]
		if !ok && len(sch.Properties) > 0 {
			continue
		}
		if text, ok := v.(string); ok && p.is("array") && !p.is("string") {
			v = []any{"bash", "-lc", text}
		}
		out[to] = v
	}
	for _, name := range sch.Required {
		if _, ok := out[name]; ok {
			continue
		}
		p := sch.Properties[name]
		switch {
		case len(p.Enum) > 0:
			out[name] = p.Enum[0]
		case p.is("boolean"):
			out[name] = false
		case p.is("integer"), p.is("number"):
			out[name] = 0
		case p.is("array"):
			out[name] = []any{}
		case p.is("object"):
			out[name] = map[string]any{}
		default:
			out[name] = "scripted"
		}
	}
	return out
}

func (s *Server) named(name string, sch schema) string {
	if _, ok := sch.Properties[name]; ok {
		return name
	}
	for _, group := range slices.Concat(s.script.Aliases, aliases) {
		if !slices.Contains(group, name) {
			continue
		}
		for _, other := range group {
			if _, ok := sch.Properties[other]; ok {
				return other
			}
		}
	}
	return name
}
