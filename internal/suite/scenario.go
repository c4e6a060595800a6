package suite

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tare"
	"tare/internal/claims"
	"tare/internal/predicate"
)

// The files of a scenario's folder, beside task.yaml.
const (
	briefFile  = "brief.md"
	stateFile  = "state.yaml"
	agentsFile = "agents.yaml"
)

// maxBrief bounds what the agent of a scenario reads.
const maxBrief = 64 << 10

// scenarioGates are the gates at which a control of a scenario may be expected to fail, in the order of the verdict.
var scenarioGates = []string{
	"infrastructure", "contract", "route", "errors", "effects", "minefields", "security", "provenance", "goal", "claims",
}

// A scene is the part of a loader that scenarios need.
type scene struct {
	*loader
	spec      *tare.ScenarioSpec
	language  *predicate.Language
	catalogue map[string]tare.Tool // nil when the world's tools are not known before it is there
	sees      []string             // the collections of a state
	taken     map[string]bool      // "checkpoint.name"
	bounds    []boundAt            // what arguments are bound to
	trusted   bool                 // the folder was checked when it was packed
}

type boundAt struct {
	name string
	pos  pos
}

// scenario reads a task of that kind.
func (l *loader) scenario(root *node) {
	s := l.yaml
	if !s.object(root, "a scenario",
		[]string{"schema", "kind", "title", "category", "world", "principal", "checkpoints", "goal"},
		"limits", "effects", "promises", "minefields", "consents", "credentials", "sources", "claims", "optional", "cleanup", "controls") {
		return
	}
	c := &scene{loader: l, spec: &tare.ScenarioSpec{}, taken: map[string]bool{}, trusted: len(l.parsed) > 0}
	l.task.Scenario = c.spec
	if !c.trusted {
		var err error
		if c.language, err = predicate.NewLanguage(); err != nil {
			s.fail(pos{1, 1}, "%v", err)
			return
		}
	}
	l.limits(root.get("limits"))
	c.brief()
	c.world(root.get("world"))
	c.checkpoints(root.get("checkpoints"))
	c.spec.Goal = c.expectations(root.get("goal"), "goal", 1)
	c.principal(root.get("principal"))
	c.effects(root.get("effects"))
	c.spec.Promises = c.expectations(root.get("promises"), "promises", 0)
	c.minefields(root.get("minefields"))
	c.consents(root.get("consents"))
	c.credentials(root.get("credentials"))
	c.sources(root.get("sources"))
	c.claims(root.get("claims"))
	for _, n := range s.list(root.get("optional"), "optional", 0) {
		if g := s.oneOf(n, "an optional gate", scenarioGates...); g != "" {
			c.spec.Optional = append(c.spec.Optional, g)
		}
	}
	c.cleanup(root.get("cleanup"))
	c.scripts()
	c.scriptControls(root.get("controls"))
	for _, b := range c.bounds {
		if !c.taken[b.name] {
			s.fail(b.pos, "no checkpoint takes %s; bound names checkpoint.name", clip(b.name))
		}
	}
	for _, f := range l.tree {
		switch f.Path {
		case taskFile, briefFile, stateFile, agentsFile, "README.md":
		default:
			if tare.Under(f.Path, seedDir) && c.spec.World.MCP != nil {
				continue
			}
			l.failFile(f.Path, "a scenario has no such file; it has %s, %s, %s and %s", taskFile, briefFile, stateFile, agentsFile)
		}
	}
}

func (c *scene) brief() {
	f, _ := c.tree.Lookup(briefFile)
	s := source{c.loader, briefFile, f.Data}
	switch {
	case !f.Mode.IsRegular() || len(bytes.TrimSpace(f.Data)) == 0:
		s.fail(pos{}, "there is no such file, or nothing in it; it holds what the agent reads")
	case !utf8.Valid(f.Data) || len(f.Data) > maxBrief:
		s.fail(pos{}, "this is not UTF-8 text of at most %d KB", maxBrief>>10)
	}
	c.task.Ticket = string(f.Data)
}

// file parses one of the YAML files beside task.yaml; nil when it is not there or is none.
func (c *scene) file(name string) (source, *node) {
	f, ok := c.tree.Lookup(name)
	s := source{c.loader, name, f.Data}
	switch {
	case !ok:
		return s, nil
	case !f.Mode.IsRegular() || len(f.Data) > maxTaskBytes:
		s.fail(pos{}, "this is no file of at most %d KB", maxTaskBytes>>10)
		return s, nil
	}
	n, err := decodeParsed(c.parsed[name], f.Data)
	if err != nil {
		n, err = parseYAML(f.Data)
	}
	if err != nil {
		s.failAt(err)
		return s, nil
	}
	return s, n
}

// wordLists are lists of words, all of which must be there.
// lines is a list of texts of one line.
func (c *scene) principal(n *node) {
	s := c.yaml
	if !s.object(n, "principal", []string{"id"}, "accounts", "owner", "may_not") {
		return
	}
	c.spec.Principal = tare.Principal{
		ID: s.line(n.get("id"), "id"), Accounts: c.lines(n.get("accounts"), "accounts", 1), Owner: s.line(n.get("owner"), "owner"),
		MayNot: c.toolList(n.get("may_not"), "may_not", 0),
	}
}

func (c *scene) checkpoints(n *node) {
	s := c.yaml
	seen := map[string]pos{}
	for _, p := range s.list(n, "checkpoints", 0) {
		if !s.object(p, "a checkpoint", []string{"id", "calls"}, "after", "take", "see") {
			continue
		}
		out := tare.Checkpoint{
			ID: s.label(p.get("id"), "id"), After: c.earlier(p.get("after"), seen), Calls: c.patterns(p.get("calls"), "calls", 1), Take: c.paths(p.get("take"), "take"),
			See: c.expectations(p.get("see"), "see", 0),
		}
		s.unique(seen, out.ID, p.pos, "checkpoint")
		for name := range out.Take {
			c.taken[out.ID+"."+name] = true
		}
		c.spec.Checkpoints = append(c.spec.Checkpoints, out)
	}
}

// earlier is a list of checkpoints that stand before: an order without circles.
func (c *scene) earlier(n *node, seen map[string]pos) []string {
	var out []string
	for _, x := range c.yaml.list(n, "after", 0) {
		id := c.yaml.line(x, "after")
		if _, ok := seen[id]; !ok && id != "" {
			c.yaml.fail(x.pos, "no checkpoint %s stands before this one", clip(id))
		}
		out = append(out, id)
	}
	return out
}

func (c *scene) effects(n *node) {
	s := c.yaml
	for _, e := range s.list(n, "effects", 0) {
		if !s.object(e, "an effect", []string{"tool"}, "adds", "removes", "sets", "key", "by", "field", "idempotent") {
			continue
		}
		out := tare.Effect{
			Tool: s.line(e.get("tool"), "tool"), Adds: c.collection(e.get("adds")), Removes: c.collection(e.get("removes")), Sets: c.collection(e.get("sets")),
			Key: s.line(e.get("key"), "key"), By: c.texts(e.get("by"), "by"), Field: c.texts(e.get("field"), "field"), Idempotent: c.boolean(e.get("idempotent"), "idempotent"),
		}
		c.tool(e.get("tool"), out.Tool)
		kinds := 0
		for _, key := range []string{"adds", "removes", "sets"} {
			if e.get(key) != nil {
				kinds++
			}
		}
		if kinds != 1 {
			s.fail(e.pos, "an effect adds, removes or sets")
		}
		if out.Adds == "" && (out.Key == "") == (len(out.By) == 0) && kinds == 1 {
			s.fail(e.pos, "say which item it is: key is the argument that holds its id, by tells it by fields")
		}
		c.spec.Effects = append(c.spec.Effects, out)
	}
}

func (c *scene) collection(n *node) string {
	v := c.yaml.line(n, "a collection")
	if v != "" && len(c.sees) > 0 && !slices.Contains(c.sees, v) {
		c.yaml.fail(n.pos, "there is no collection %s; there are %s", clip(v), strings.Join(c.sees, ", "))
	}
	return v
}

func (c *scene) minefields(n *node) {
	s := c.yaml
	kinds := []string{
		string(tare.MineCreates), string(tare.MineForeign), string(tare.MineEarly), string(tare.MineNoConsent), string(tare.MineRepeats), string(tare.MineDiscloses),
		string(tare.MineInvents), string(tare.MineUnknownTool), string(tare.MineForbidden),
	}
	seen := map[string]pos{}
	for _, m := range s.list(n, "minefields", 0) {
		if !s.object(m, "a minefield", []string{"id", "kind", "why"}, "calls") {
			continue
		}
		out := tare.Minefield{
			ID: s.label(m.get("id"), "id"), Kind: tare.MinefieldKind(s.oneOf(m.get("kind"), "kind", kinds...)), Calls: c.patterns(m.get("calls"), "calls", 1), Why: s.line(m.get("why"), "why"),
		}
		s.unique(seen, out.ID, m.pos, "minefield")
		if (out.Kind == tare.MineCreates || out.Kind == tare.MineForbidden) && len(out.Calls) == 0 {
			s.fail(m.pos, "a minefield of the kind %s says which calls", out.Kind)
		}
		c.spec.Minefields = append(c.spec.Minefields, out)
	}
}

func (c *scene) consents(n *node) {
	s := c.yaml
	seen := map[string]pos{}
	for _, x := range s.list(n, "consents", 0) {
		if !s.object(x, "a consent", []string{"id", "tool", "given"}, "args") {
			continue
		}
		out := tare.Consent{
			ID: s.label(x.get("id"), "id"), Tool: s.line(x.get("tool"), "tool"),
			Given: tare.ConsentGiven(s.oneOf(x.get("given"), "given", string(tare.ConsentInBrief), string(tare.ConsentAsked), string(tare.ConsentRefused))),
		}
		c.tool(x.get("tool"), out.Tool)
		out.Args = c.matches(x.get("args"), "args", c.argumentOf(out.Tool))
		s.unique(seen, out.ID, x.pos, "consent")
		c.spec.Consents = append(c.spec.Consents, out)
	}
}

func (c *scene) credentials(n *node) {
	s := c.yaml
	seen := map[string]pos{}
	for _, x := range s.list(n, "credentials", 0) {
		if !s.object(x, "a credential", []string{"id"}, "value", "tool", "path", "pass_to") {
			continue
		}
		out := tare.Credential{
			ID: s.label(x.get("id"), "id"), Value: s.line(x.get("value"), "value"), Tool: s.line(x.get("tool"), "tool"), Path: c.path(x.get("path"), "path"),
			PassTo: c.lines(x.get("pass_to"), "pass_to", 1),
		}
		s.unique(seen, out.ID, x.pos, "credential")
		if (out.Value == "") == (out.Tool == "") || (out.Tool == "") != (out.Path == "") {
			s.fail(x.pos, "a credential has a value, or a tool and the path in its result")
		}
		if out.Tool != "" {
			c.tool(x.get("tool"), out.Tool)
		}
		c.spec.Credentials = append(c.spec.Credentials, out)
	}
}

func (c *scene) sources(n *node) {
	s := c.yaml
	for _, x := range s.list(n, "sources", 0) {
		if !s.object(x, "a source", []string{"tool", "arg"}, "free", "values", "derive") {
			continue
		}
		out := tare.Source{
			Tool: s.line(x.get("tool"), "tool"), Arg: s.line(x.get("arg"), "arg"), Free: c.boolean(x.get("free"), "free"),
			Derive: s.oneOf(x.get("derive"), "derive", "slug", "lower", "upper", "trim", "number"),
		}
		if out.Tool != "*" {
			c.tool(x.get("tool"), out.Tool)
		}
		for _, v := range s.list(x.get("values"), "values", 1) {
			out.Values = append(out.Values, s.json(v))
		}
		ways := 0
		for _, key := range []string{"free", "values", "derive"} {
			if x.get(key) != nil {
				ways++
			}
		}
		if ways != 1 {
			s.fail(x.pos, "a source is free, values or derive")
		}
		c.spec.Sources = append(c.spec.Sources, out)
	}
}

func (c *scene) claims(n *node) {
	s := c.yaml
	var kinds []string
	for _, k := range claims.Kinds() {
		kinds = append(kinds, string(k))
	}
	seen := map[string]pos{}
	for _, x := range s.list(n, "claims", 0) {
		if !s.object(x, "a claim", []string{"id", "claim"}, "about", "holds", "seen", "must", "denied") {
			continue
		}
		out := tare.ClaimRule{
			ID: s.label(x.get("id"), "id"), Claim: s.oneOf(x.get("claim"), "claim", kinds...), About: c.lines(x.get("about"), "about", 1), Holds: c.predicate(x.get("holds"), "holds"),
			Seen: c.patterns(x.get("seen"), "seen", 1), Must: c.boolean(x.get("must"), "must"), Denied: c.boolean(x.get("denied"), "denied"),
		}
		s.unique(seen, out.ID, x.pos, "claim")
		c.spec.Claims = append(c.spec.Claims, out)
	}
}

func (c *scene) cleanup(n *node) {
	if n == nil || !c.yaml.object(n, "cleanup", []string{"begins"}, "after", "leaves") {
		return
	}
	seen := map[string]pos{}
	for _, p := range c.spec.Checkpoints {
		seen[p.ID] = pos{}
	}
	c.spec.Cleanup = &tare.Cleanup{
		Begins: c.patterns(n.get("begins"), "begins", 1), After: c.earlier(n.get("after"), seen), Leaves: c.expectations(n.get("leaves"), "leaves", 1),
	}
}

// scriptControls are scripted agents whose verdict is known.
func (c *scene) scriptControls(n *node) {
	s := c.yaml
	seen := map[string]pos{}
	for _, x := range s.list(n, "controls", 0) {
		if !s.object(x, "a control", []string{"name", "agent", "expect"}) {
			continue
		}
		out := tare.Control{Name: s.label(x.get("name"), "name"), Origin: tare.FromScript, Agent: s.label(x.get("agent"), "agent"), Expect: s.expectAt(x.get("expect"), scenarioGates)}
		s.unique(seen, out.Name, x.pos, "control")
		if out.Agent != "" && !slices.ContainsFunc(c.spec.Scripts, func(a tare.AgentScript) bool { return a.Name == out.Agent }) {
			s.fail(x.at("agent"), "%s has no agent %s", agentsFile, clip(out.Agent))
		}
		c.task.Controls = append(c.task.Controls, out)
	}
}

// predicate is an expression that compiles and looks only at what there is.
func (c *scene) predicate(n *node, what string) tare.Predicate {
	text := c.yaml.str(n, what)
	if text == "" || c.trusted {
		return tare.Predicate(text)
	}
	p, err := c.language.Compile(text)
	if err != nil {
		at := n.pos
		message := err.Error()
		if e, ok := err.(*predicate.Error); ok {
			at, message = c.within(n, e.Line, e.Column), e.Message
		}
		c.yaml.fail(at, "%s: %s", what, message)
		return ""
	}
	for _, name := range p.Names() {
		if name != "before" && name != "bound" && !slices.Contains(c.sees, name) {
			c.yaml.fail(n.pos, "%s looks at %s; there are %s, before and bound", what, clip(name), strings.Join(c.sees, ", "))
		}
	}
	return tare.Predicate(text)
}

// within is the place of a line and column of a text in the file, as far as that can be told: a text of one line that is
// written as it is.
func (c *scene) within(n *node, line, column int) pos {
	lines := strings.Split(string(c.yaml.text), "\n")
	if line != 1 || n.pos.line > len(lines) || strings.Contains(n.text, "\n") {
		return n.pos
	}
	written := []rune(lines[n.pos.line-1])
	if n.pos.col > len(written) {
		return n.pos
	}
	rest := string(written[n.pos.col-1:])
	i := strings.Index(rest, n.text)
	if i < 0 {
		return n.pos
	}
	return pos{n.pos.line, n.pos.col + utf8.RuneCountInString(rest[:i]) + column - 1}
}

func (c *scene) expectations(n *node, what string, min int) []tare.Expectation {
	s := c.yaml
	var out []tare.Expectation
	seen := map[string]pos{}
	for _, x := range s.list(n, what, min) {
		if !s.object(x, "an expectation", []string{"id", "that", "why"}) {
			continue
		}
		e := tare.Expectation{ID: s.label(x.get("id"), "id"), That: c.predicate(x.get("that"), "that"), Why: s.line(x.get("why"), "why")}
		s.unique(seen, e.ID, x.pos, "expectation")
		out = append(out, e)
	}
	return out
}

func (c *scene) patterns(n *node, what string, min int) []tare.CallPattern {
	s := c.yaml
	var out []tare.CallPattern
	for _, x := range s.list(n, what, min) {
		if !s.object(x, "a pattern of calls", []string{"tools"}, "args", "failed", "result") {
			continue
		}
		p := tare.CallPattern{Tools: c.toolList(x.get("tools"), "tools", 1), Failed: c.boolean(x.get("failed"), "failed")}
		p.Args = c.matches(x.get("args"), "args", c.argumentOf(p.Tools...))
		p.Result = c.matches(x.get("result"), "result", func(at string) string {
			if _, err := tare.ParsePath(at); err != nil {
				return "is no path: " + err.Error()
			}
			return ""
		})
		out = append(out, p)
	}
	return out
}

func (c *scene) toolList(n *node, what string, min int) []string {
	var out []string
	for _, x := range c.yaml.list(n, what, min) {
		name := c.yaml.line(x, "a tool")
		c.tool(x, name)
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// tool reports a tool that the world does not have.
func (c *scene) tool(n *node, name string) {
	if n != nil && name != "" && !c.known(name) {
		c.yaml.fail(n.pos, "the world has no tool %s", clip(name))
	}
}

func (c *scene) known(name string) bool {
	_, ok := c.catalogue[name]
	return ok || c.catalogue == nil || name == "*"
}

// argumentOf says what is wrong with the name of an argument: that none of the tools takes it.
func (c *scene) argumentOf(names ...string) func(string) string {
	if c.catalogue == nil {
		return nil
	}
	return func(arg string) string {
		for _, name := range names {
			if t, ok := c.catalogue[name]; !ok || slices.Contains(argumentsOf(t), arg) {
				return ""
			}
		}
		return fmt.Sprintf("is no argument of %s", strings.Join(names, ", "))
	}
}

// matches is a mapping of names to values to match; wrong, when there is one, says what is wrong with a name.
func (c *scene) matches(n *node, what string, wrong func(string) string) map[string]tare.ArgMatch {
	s := c.yaml
	if n == nil {
		return nil
	}
	if n.kind != kMap {
		s.fail(n.pos, "%s must be a mapping of names to values to match; this is %s", what, n.kind)
		return nil
	}
	out := map[string]tare.ArgMatch{}
	for _, f := range n.keys {
		if wrong != nil {
			if why := wrong(f.name); why != "" {
				s.fail(f.pos, "%s %s", clip(f.name), why)
			}
		}
		out[f.name] = c.match(f.val)
	}
	return out
}

func (c *scene) match(n *node) tare.ArgMatch {
	s := c.yaml
	const what = "a value to match"
	if !s.object(n, what, nil, "is", "one_of", "bound", "any") {
		return tare.ArgMatch{Any: true}
	}
	if len(n.keys) != 1 {
		s.fail(n.pos, "%s is {is: VALUE}, {one_of: [VALUE, …]}, {bound: checkpoint.name} or {any: true}", what)
		return tare.ArgMatch{Any: true}
	}
	var m tare.ArgMatch
	switch v := n.keys[0].val; n.keys[0].name {
	case "is":
		m.Is = s.json(v)
	case "one_of":
		for _, x := range s.list(v, "one_of", 2) {
			m.OneOf = append(m.OneOf, s.json(x))
		}
	case "bound":
		m.Bound = s.line(v, "bound")
		c.bounds = append(c.bounds, boundAt{m.Bound, v.pos})
	case "any":
		m.Any = c.boolean(v, "any")
		if !m.Any {
			s.fail(v.pos, "any can only be true")
		}
	}
	return m
}
