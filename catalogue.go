package tare

import (
	"encoding/json"
	"slices"
	"strings"
)

// A Catalogue is the contract of a world: the tools that it offers, as the world's server describes them.
type Catalogue struct {
	Servers []string `json:"servers"` // names under which clients may know the server; they say how a tool's name may be written
	Tools   []Tool   `json:"tools"`   // by name
}

// A Tool is one tool of a catalogue.
type Tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"` // JSON Schema 2020-12
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Hints        Hints           `json:"hints"`
}

// Hints are a tool's annotations, with the defaults of the protocol filled in: what a server does not say of a tool is
// taken for the worst, a destructive change that must not be repeated.
type Hints struct {
	ReadOnly    bool `json:"read_only"`
	Destructive bool `json:"destructive"` // false when ReadOnly
	Idempotent  bool `json:"idempotent"`  // true when ReadOnly
}

// Mutates reports whether a call of t may change the world.
func (t Tool) Mutates() bool { return !t.Hints.ReadOnly }

// A Placement says whether the name of a called tool could be placed in a catalogue.
type Placement string

const (
	Placed   Placement = "placed"   // it is the name of one tool
	Unknown  Placement = "unknown"  // the catalogue has no such tool: whoever called it made it up
	Unplaced Placement = "unplaced" // it names a server that the catalogue does not know: nothing follows from it
)

// Place finds the tool that a client calls name. Clients write a tool of a server as mcp__server__tool, server.tool,
// server/tool or by its bare name; nothing else is tried.
func (c Catalogue) Place(name string) (Tool, Placement) {
	if t, ok := c.lookup(name); ok {
		return t, Placed
	}
	server, tool, ok := cutServer(name)
	switch {
	case !ok:
		return Tool{}, Unknown
	case !slices.Contains(c.Servers, server):
		return Tool{}, Unplaced
	}
	if t, ok := c.lookup(tool); ok {
		return t, Placed
	}
	return Tool{}, Unknown
}

func (c Catalogue) lookup(name string) (Tool, bool) {
	i := slices.IndexFunc(c.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return c.Tools[i], true
}

// cutServer parts the name of a server from that of its tool.
func cutServer(name string) (server, tool string, ok bool) {
	if rest, yes := strings.CutPrefix(name, "mcp__"); yes {
		return strings.Cut(rest, "__")
	}
	if i := strings.IndexAny(name, "./"); i > 0 {
		return name[:i], name[i+1:], true
	}
	return "", "", false
}
