package suite

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare"
)

// scripts reads what the scripted agents do.
func (c *scene) scripts() {
	s, root := c.file(agentsFile)
	if root == nil {
		return
	}
	if root.kind != kMap {
		s.fail(root.pos, "%s is a mapping of agents; this is %s", agentsFile, root.kind)
		return
	}
	for _, f := range root.keys {
		if !labelForm.MatchString(f.name) {
			s.fail(f.pos, "an agent is called %s: use letters, digits, dot, dash and underscore", clip(f.name))
		}
		if !s.object(f.val, "an agent", []string{"final"}, "steps") {
			continue
		}
		here := *c.loader
		here.yaml = s // what is wrong is wrong in this file; problems still go to the one loader
		r := scriptReader{scene: &scene{loader: &here, catalogue: c.catalogue, spec: c.spec}, taken: map[string]bool{}}
		a := tare.AgentScript{Name: f.name}
		for _, n := range s.list(f.val.get("steps"), "steps", 0) {
			if step, ok := r.step(n); ok {
				a.Steps = append(a.Steps, step)
			}
		}
		if final := f.val.get("final"); final != nil && final.kind == kStr { // an agent may end without a word
			a.Final = final.text
			r.names(final, a.Final)
		} else if final != nil {
			s.fail(final.pos, "final must be text; this is %s", final.kind)
		}
		for _, b := range r.bounds {
			s.fail(b.pos, "a script takes values by name and is not bound to checkpoints")
		}
		c.spec.Scripts = append(c.spec.Scripts, a)
	}
}

// A scriptReader reads the steps of one agent and knows what those before have taken.
type scriptReader struct {
	*scene
	taken map[string]bool
}

func (r *scriptReader) step(n *node) (tare.ScriptStep, bool) {
	s := r.yaml
	if !s.object(n, "a step", []string{"tool"}, "args", "take", "until", "retry", "most", "pause", "pages", "if_taken", "if_not_taken", "or_else") {
		return tare.ScriptStep{}, false
	}
	step := tare.ScriptStep{
		Tool: s.line(n.get("tool"), "tool"), Args: r.object(n.get("args"), "args"), Take: r.paths(n.get("take"), "take"),
		Until: r.matches(n.get("until"), "until", func(at string) string {
			if _, err := tare.ParsePath(at); err != nil {
				return "is no path: " + err.Error()
			}
			return ""
		}),
		Retry: r.boolean(n.get("retry"), "retry"), Most: s.count(n.get("most"), "most"), Pause: r.fractionOf(n.get("pause"), "pause", 3600),
		Pages: r.path(n.get("pages"), "pages"), IfTaken: s.line(n.get("if_taken"), "if_taken"), IfNotTaken: s.line(n.get("if_not_taken"), "if_not_taken"),
	}
	if v := n.get("or_else"); v != nil {
		step.OrElse = s.str(v, "or_else")
		r.names(v, step.OrElse)
	}
	if v := n.get("args"); v != nil {
		r.names(v, string(step.Args))
	}
	for _, key := range []string{"if_taken", "if_not_taken"} {
		if v := n.get(key); v != nil && !r.taken[v.text] {
			s.fail(v.pos, "no step before takes %s", clip(v.text))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(step.Take)) {
		r.taken[name] = true
	}
	return step, true
}

var scriptNames = regexp.MustCompile(`\{([a-z][a-z0-9_]*)\}`)

// names reports a {name} in text that no step before takes.
func (r *scriptReader) names(n *node, text string) {
	for _, m := range scriptNames.FindAllStringSubmatch(text, -1) {
		if !r.taken[m[1]] {
			r.yaml.fail(n.pos, "no step before takes %s", clip(m[1]))
		}
	}
}

// json is a value as JSON.
func (s source) json(n *node) json.RawMessage {
	if n == nil {
		return nil
	}
	var b strings.Builder
	s.writeJSON(&b, n)
	return json.RawMessage(b.String())
}

func (s source) writeJSON(b *strings.Builder, n *node) {
	s.unambiguous(n)
	switch n.kind {
	case kNull:
		b.WriteString("null")
	case kBool, kInt, kFloat:
		b.WriteString(n.text)
	case kStr:
		b.Write(quotedJSON(n.text))
	case kList:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			s.writeJSON(b, item)
		}
		b.WriteByte(']')
	case kMap:
		b.WriteByte('{')
		for i, f := range n.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(quotedJSON(f.name))
			b.WriteByte(':')
			s.writeJSON(b, f.val)
		}
		b.WriteByte('}')
	}
}

func quotedJSON(s string) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // text always encodes
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// object is a mapping as JSON.
func (c *scene) object(n *node, what string) json.RawMessage {
	if n == nil {
		return nil
	}
	if n.kind != kMap {
		c.yaml.fail(n.pos, "%s must be a mapping; this is %s", what, n.kind)
		return nil
	}
	return c.yaml.json(n)
}

func (c *scene) boolean(n *node, what string) bool {
	if n == nil {
		return false
	}
	if n.kind != kBool {
		c.yaml.fail(n.pos, "%s must be true or false; this is %s", what, n.kind)
	}
	return n.text == "true"
}

// fraction is a number above 0 and at most 1.
func (c *scene) fraction(n *node, what string) float64 { return c.fractionOf(n, what, 1) }

// fractionOf is a number above 0 and at most most.
func (c *scene) fractionOf(n *node, what string, most float64) float64 {
	if n == nil {
		return 0
	}
	v, err := strconv.ParseFloat(n.text, 64)
	if n.kind != kInt && n.kind != kFloat || err != nil || v <= 0 || v > most {
		c.yaml.fail(n.pos, "%s must be a number above 0 and at most %v", what, most)
		return 0
	}
	return v
}

// texts is a mapping of names to texts.
func (c *scene) texts(n *node, what string) map[string]string {
	if n == nil {
		return nil
	}
	if n.kind != kMap {
		c.yaml.fail(n.pos, "%s must be a mapping of names to texts; this is %s", what, n.kind)
		return nil
	}
	out := map[string]string{}
	for _, f := range n.keys {
		out[f.name] = c.yaml.line(f.val, what)
	}
	return out
}

// paths is a mapping of names to paths in a result.
func (c *scene) paths(n *node, what string) map[string]string {
	out := c.texts(n, what)
	if n == nil || n.kind != kMap {
		return out
	}
	for _, f := range n.keys {
		c.path(f.val, what)
	}
	return out
}

// path is a path in a result.
func (c *scene) path(n *node, what string) string {
	v := c.yaml.line(n, what)
	if _, err := tare.ParsePath(v); err != nil {
		c.yaml.fail(n.pos, "%s is %s, which is no path: %v", what, clip(v), err)
	}
	return v
}

// argumentsOf are the arguments that a tool takes.
func argumentsOf(t tare.Tool) []string {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(t.InputSchema, &schema) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(schema.Properties))
}
