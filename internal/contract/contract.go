// Package contract checks the arguments of a tool call against the schema that the tool's server published, and says of
// each argument what is wrong with it. It decides nothing else.
package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Kind says in what way an argument breaks a contract.
type Kind string

const (
	Missing  Kind = "missing"
	Extra    Kind = "extra"
	Mistyped Kind = "mistyped" // of another type, or not one of the values that are allowed
	Together Kind = "together" // each is right and all of them are not
)

// A Violation is one argument that breaks a contract.
type Violation struct {
	Kind Kind
	Arg  string // "" for the arguments as a whole
	Say  string // a clause: `"instances" must be an integer; it is "three"`
}

// maxSay bounds Violation.Say, maxSchema a schema that is read, both in bytes.
const (
	maxSay    = 240
	maxSchema = 1 << 20
)

// A Schema is the contract of one tool. It may be used by many at a time.
type Schema struct {
	root       *jsonschema.Schema
	whole, one *jsonschema.Resolved // one asks of an object only what it asks of each of its properties
}

// Compile reads a JSON Schema of draft 2020-12, which may not refer to anything outside itself.
func Compile(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("reading a schema: it is larger than %d bytes", maxSchema)
	}
	s := &Schema{}
	for _, to := range []**jsonschema.Resolved{&s.whole, &s.one} {
		var root jsonschema.Schema
		if err := json.Unmarshal(raw, &root); err != nil {
			return nil, fmt.Errorf("reading a schema: %w", err)
		}
		if to == &s.one {
			root.Required, root.DependentRequired, root.MinProperties, root.MaxProperties = nil, nil, nil, nil
			root.AllOf, root.AnyOf, root.OneOf, root.Not, root.If, root.Then, root.Else = nil, nil, nil, nil, nil, nil, nil
			root.DependentSchemas, root.DependencySchemas, root.DependencyStrings, root.Enum, root.Const = nil, nil, nil, nil, nil
		} else {
			s.root = &root
		}
		resolved, err := root.Resolve(&jsonschema.ResolveOptions{})
		if err != nil {
			return nil, fmt.Errorf("resolving a schema: %w", err)
		}
		*to = resolved
	}
	return s, nil
}

// Check lists what is wrong with the arguments of a call: nothing, or what is missing in the schema's order, and then the
// rest by the names of the arguments.
func (s *Schema) Check(args json.RawMessage) []Violation {
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}") // a call without arguments
	}
	var v any
	if err := json.Unmarshal(args, &v); err != nil {
		return []Violation{{Mistyped, "", "the arguments are no JSON"}}
	}
	given, ok := v.(map[string]any)
	if !ok {
		return []Violation{{Mistyped, "", "the arguments are no object"}}
	}
	whole := s.whole.Validate(v)
	if whole == nil {
		return nil
	}
	var out []Violation
	for _, name := range s.root.Required {
		if _, ok := given[name]; !ok {
			out = append(out, Violation{Missing, name, fmt.Sprintf("%q is missing", name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		err := s.one.Validate(map[string]any{name: given[name]})
		switch {
		case err == nil:
		case !s.knows(name):
			out = append(out, Violation{Extra, name, bounded(fmt.Sprintf("there is no argument %q", name))})
		default:
			out = append(out, Violation{Mistyped, name, bounded(fmt.Sprintf("%q is %s: %s", name, spell(given[name]), reason(err)))})
		}
	}
	if len(out) == 0 {
		out = append(out, Violation{Together, "", bounded("the arguments do not go together: " + reason(whole))})
	}
	return out
}

// knows reports whether the schema names a property, or a pattern for such.
func (s *Schema) knows(name string) bool {
	_, ok := s.root.Properties[name]
	return ok || len(s.root.PatternProperties) > 0
}

// Offers lists the values that the schema itself offers for an argument: its default, its constant, its enumeration.
func (s *Schema) Offers(arg string) []json.RawMessage {
	p := s.root.Properties[arg]
	for hops := 0; p != nil && p.Ref != "" && hops < 8; hops++ {
		name, ok := strings.CutPrefix(p.Ref, "#/$defs/")
		if !ok {
			break
		}
		p = s.root.Defs[name]
	}
	if p == nil {
		return nil
	}
	var out []json.RawMessage
	add := func(v any) {
		if b, err := json.Marshal(v); err == nil {
			out = append(out, b)
		}
	}
	if len(p.Default) > 0 {
		out = append(out, p.Default)
	}
	if p.Const != nil {
		add(*p.Const)
	}
	for _, e := range p.Enum {
		add(e)
	}
	if p.Items != nil {
		for _, e := range p.Items.Enum {
			add(e)
		}
	}
	return out
}

// reason is what the library says, without where in the schema it stands.
func reason(err error) string {
	msg := err.Error()
	if i := strings.LastIndex(msg, "validating "); i >= 0 {
		if _, rest, ok := strings.Cut(msg[i:], ": "); ok {
			msg = rest
		}
	}
	return msg
}

func spell(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "a value"
	}
	if len(b) > 60 {
		return strings.ToValidUTF8(string(b[:57]), "") + "…"
	}
	return string(b)
}

func bounded(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) > maxSay {
		s = strings.ToValidUTF8(s[:maxSay-3], "") + "…"
	}
	return s
}
