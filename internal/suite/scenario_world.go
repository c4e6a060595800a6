package suite

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"tare"
	"tare/internal/platform"
)

// plainDir is a path that JSON writes as it is and that stands in no other text by chance.
var plainDir = regexp.MustCompile(`^(/[A-Za-z0-9_-]+)+$`)

func (c *scene) world(n *node) {
	s := c.yaml
	if !s.object(n, "world", nil, "simulator", "mcp") {
		return
	}
	sim, live := n.get("simulator"), n.get("mcp")
	switch {
	case (sim == nil) == (live == nil):
		s.fail(n.pos, "a world is either a simulator or an mcp server")
	case sim != nil:
		c.simulator(sim)
	default:
		c.live(live)
	}
}

func (c *scene) simulator(n *node) {
	s := c.yaml
	if !s.object(n, "simulator", []string{"clock", "as"}, "seed", "faults", "answers") {
		return
	}
	c.catalogue, c.sees = map[string]tare.Tool{}, platform.Collections()
	for _, t := range platform.Catalogue().Tools {
		c.catalogue[t.Name] = t
	}
	spec := &tare.SimulatorSpec{As: s.line(n.get("as"), "as")}
	c.spec.World.Simulator = spec
	if v := n.get("seed"); v != nil {
		spec.Seed = int64(s.count(v, "seed"))
	}
	var err error
	if spec.Clock, err = time.Parse(time.RFC3339, s.line(n.get("clock"), "clock")); err != nil && n.get("clock") != nil {
		s.fail(n.at("clock"), "clock must be a time such as 2026-03-02T09:00:00Z")
	}
	spec.Faults = c.faults(n.get("faults"), platform.FaultKinds(), platform.Suits)
	seen := map[string]pos{}
	for _, a := range s.list(n.get("answers"), "answers", 0) {
		if !s.object(a, "an answer", []string{"id", "words", "say"}) {
			continue
		}
		out := tare.Answer{ID: s.label(a.get("id"), "id"), Words: c.wordLists(a.get("words")), Say: s.line(a.get("say"), "say")}
		s.unique(seen, out.ID, a.pos, "answer")
		spec.Answers = append(spec.Answers, out)
	}
	st, state := c.file(stateFile)
	if state == nil {
		if !slices.ContainsFunc(c.problems, func(p problem) bool { return strings.HasSuffix(p.File, stateFile) }) {
			s.fail(n.pos, "there is no file %s; it holds the start state", stateFile)
		}
		return
	}
	if spec.Start = st.json(state); c.trusted {
		return
	}
	for _, p := range platform.CheckStart(spec.Start) {
		at := state.pos
		if list := state.get(p.Collection); list != nil && p.Index < len(list.items) {
			at = list.items[p.Index].pos
		}
		st.fail(at, "%s", p.Error())
	}
	if err == nil && len(c.problems) == 0 {
		if _, err := platform.New(platform.Config{Spec: *spec}); err != nil {
			s.fail(n.at("as"), "%v", err)
		}
	}
}

func (c *scene) wordLists(n *node) [][]string {
	var out [][]string
	for _, all := range c.yaml.list(n, "words", 1) {
		out = append(out, c.lines(all, "a list of words", 1))
	}
	return out
}

func (c *scene) lines(n *node, what string, min int) []string {
	var out []string
	for _, x := range c.yaml.list(n, what, min) {
		if v := c.yaml.line(x, what); v != "" {
			out = append(out, v)
		}
	}
	return out
}

func (c *scene) live(n *node) {
	s := c.yaml
	if !s.object(n, "mcp", []string{"servers", "observe"}, "command", "url", "faults", "dir", "env") {
		return
	}
	spec := &tare.MCPSpec{Command: c.lines(n.get("command"), "command", 1), URL: s.line(n.get("url"), "url"), Servers: c.lines(n.get("servers"), "servers", 1),
		Dir: s.line(n.get("dir"), "dir"), Env: c.texts(n.get("env"), "env")}
	c.spec.World.MCP = spec
	if (len(spec.Command) == 0) == (spec.URL == "") {
		s.fail(n.pos, "an mcp world has either a command or a url")
	}
	if spec.Dir != "" && !plainDir.MatchString(spec.Dir) {
		s.fail(n.at("dir"), "dir is an absolute path of letters, digits, dashes and underscores, such as /data")
	}
	if c.task.Seed = subtree(c.tree, seedDir); len(c.task.Seed) > 0 && spec.Dir == "" {
		s.fail(n.pos, "there is a folder %s, and no dir to lay it out in", seedDir)
	}
	for _, o := range s.list(n.get("observe"), "observe", 1) {
		if !s.object(o, "an observation", []string{"collection", "tool"}, "args", "items", "parse", "next", "cursor", "id", "trusted") {
			continue
		}
		r := tare.ReadSpec{
			Collection: s.label(o.get("collection"), "collection"), Tool: s.line(o.get("tool"), "tool"), Args: c.object(o.get("args"), "args"),
			Items: c.path(o.get("items"), "items"), Parse: s.oneOf(o.get("parse"), "parse", "json", "lines"), Next: c.path(o.get("next"), "next"),
			Cursor: s.line(o.get("cursor"), "cursor"), ID: s.line(o.get("id"), "id"), Trusted: c.boolean(o.get("trusted"), "trusted"),
		}
		if (r.Next == "") != (r.Cursor == "") {
			s.fail(o.pos, "next and cursor go together: where the cursor of the next page is, and the argument that takes it")
		}
		c.sees = append(c.sees, r.Collection)
		spec.Observe = append(spec.Observe, r)
	}
	kinds := []tare.FaultKind{tare.FaultTimeoutBefore, tare.FaultTimeoutAfter, tare.FaultDelay, tare.FaultUnavailable, tare.FaultCorrupted}
	spec.Faults = c.faults(n.get("faults"), kinds, func(k tare.FaultKind, _ string) bool { return slices.Contains(kinds, k) })
	if f, ok := c.tree.Lookup(stateFile); ok {
		source{c.loader, stateFile, f.Data}.fail(pos{}, "a live world has no start state")
	}
}

func (c *scene) faults(n *node, kinds []tare.FaultKind, suits func(tare.FaultKind, string) bool) []tare.FaultSpec {
	s := c.yaml
	var words []string
	for _, k := range kinds {
		words = append(words, string(k))
	}
	var out []tare.FaultSpec
	seen := map[string]pos{}
	for _, f := range s.list(n, "faults", 0) {
		if !s.object(f, "a fault", []string{"id", "kind", "tool"}, "where", "nth", "times", "rate", "applied", "retry_after", "slower") {
			continue
		}
		spec := tare.FaultSpec{
			ID: s.label(f.get("id"), "id"), Kind: tare.FaultKind(s.oneOf(f.get("kind"), "kind", words...)), Tool: s.line(f.get("tool"), "tool"),
			Nth: s.count(f.get("nth"), "nth"), Times: s.count(f.get("times"), "times"), Rate: c.fraction(f.get("rate"), "rate"),
			Applied: c.boolean(f.get("applied"), "applied"), RetryAfter: s.duration(f.get("retry_after"), "retry_after"), Slower: s.duration(f.get("slower"), "slower"),
		}
		s.unique(seen, spec.ID, f.pos, "fault")
		if spec.Tool != "*" {
			c.tool(f.get("tool"), spec.Tool)
			spec.Where = c.matches(f.get("where"), "where", c.argumentOf(spec.Tool))
		} else {
			spec.Where = c.matches(f.get("where"), "where", nil)
		}
		if spec.Kind != "" && !suits(spec.Kind, spec.Tool) && c.known(spec.Tool) {
			s.fail(f.pos, "a fault %s cannot be made in a call of %s", spec.Kind, spec.Tool)
		}
		if (f.get("nth") == nil) == (f.get("rate") == nil) {
			s.fail(f.pos, "a fault is placed by nth, or comes at a rate")
		}
		only := func(key string, kinds ...tare.FaultKind) {
			if f.get(key) != nil && spec.Kind != "" && !slices.Contains(kinds, spec.Kind) {
				s.fail(f.get(key).pos, "a fault %s has no %s", spec.Kind, key)
			}
		}
		only("applied", tare.FaultAmbiguous)
		only("retry_after", tare.FaultUnavailable)
		only("slower", tare.FaultSlow, tare.FaultDelay)
		out = append(out, spec)
	}
	return out
}
