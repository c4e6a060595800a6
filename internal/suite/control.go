package suite

import (
	"tare"
)

// controls reads and derives all controls, in the order in which a proof shows them: the seed, doing nothing, each
// reference without and with its test, the worthless tests, and those that task.yaml lists.
func (l *loader) controls(root *node) {
	s, t := l.yaml, l.task
	seen := map[string]pos{}
	add := func(c tare.Control, p pos) {
		s.unique(seen, c.Name, p, "control")
		t.Controls = append(t.Controls, c)
	}
	if n := root.get("seed"); n != nil {
		e := s.expect(n)
		if e.Outcome == tare.Pass {
			s.fail(n.pos, "a seed that passes as it is leaves nothing to do")
		}
		add(tare.Control{Name: "seed", Origin: tare.FromSeed, Expect: e}, n.pos)
		add(tare.Control{Name: "noop", Origin: tare.FromNoop, Agent: "noop", Expect: e}, n.pos)
	}
	for i, r := range t.References {
		p := root.get("references").items[min(i, len(root.get("references").items)-1)].pos
		name := "reference:" + r.Name
		add(tare.Control{Name: name, Origin: tare.FromReference, Apply: []tare.Tree{r.Fix}, Expect: uncredited("")}, p)
		one := 1.0
		add(tare.Control{
			Name: name + "+test", Origin: tare.FromReference, Apply: []tare.Tree{r.Fix, r.Test},
			Expect: tare.Expect{Outcome: tare.Pass, Reward: &one},
		}, p)
	}
	for _, n := range s.list(root.get("worthless"), "worthless", 0) {
		if c, ok := l.worthless(n); ok {
			add(c, n.pos)
		}
	}
	for _, n := range s.list(root.get("controls"), "controls", 0) {
		if c, ok := l.control(n); ok {
			add(c, n.pos)
		}
	}
}

// uncredited is what becomes of a right fix whose tests earn nothing.
func uncredited(reason string) tare.Expect {
	r := rewards[tare.GateRegressionTest]
	return tare.Expect{Outcome: tare.Fail, Reward: &r, Gate: tare.GateRegressionTest, Reason: reason}
}

func (l *loader) worthless(n *node) (tare.Control, bool) {
	s := l.yaml
	if !s.object(n, "a worthless test", []string{"name", "test"}, "on", "reason") {
		return tare.Control{}, false
	}
	name := s.label(n.get("name"), "name")
	reason := s.line(n.get("reason"), "reason")
	var on tare.Reference
	if n.get("on") != nil {
		on, _ = l.reference(n.get("on"), "on")
	} else if len(l.task.References) > 0 {
		on = l.task.References[0]
	}
	var test tare.Tree
	if n.get("test") != nil {
		test = l.test(n.get("test"))
	}
	return tare.Control{
		Name: "worthless:" + name, Origin: tare.FromWorthless, Apply: []tare.Tree{on.Fix, test}, Expect: uncredited(reason),
	}, name != ""
}

// control reads one solution whose right verdict task.yaml states.
func (l *loader) control(n *node) (tare.Control, bool) {
	s := l.yaml
	if !s.object(n, "a control", []string{"name", "origin", "expect"}, "on", "files", "test", "delete") {
		return tare.Control{}, false
	}
	c := tare.Control{
		Name:   s.label(n.get("name"), "name"),
		Origin: tare.Origin(s.oneOf(n.get("origin"), "origin", string(tare.FromBad), string(tare.FromAcceptable), string(tare.FromAdversary))),
	}
	if c.Name == "" || c.Origin == "" {
		return tare.Control{}, false
	}
	for _, d := range s.list(n.get("delete"), "delete", 1) {
		p := s.path(d, "a path to delete")
		if p != "" && !holds(l.task.Seed, p) {
			s.fail(d.pos, "the seed has no %s to delete", clip(p))
		}
		c.Delete = append(c.Delete, p)
	}
	if n.get("on") != nil {
		ref, _ := l.reference(n.get("on"), "on")
		c.Apply = append(c.Apply, ref.Fix)
	}
	for _, key := range []string{"files", "test"} {
		over := n.get(key)
		if over == nil {
			continue
		}
		c.Apply = append(c.Apply, l.overlay(over, key))
		if c.Origin == tare.FromAdversary {
			l.adversary[over.text] = true
		}
	}
	if len(c.Apply) == 0 && len(c.Delete) == 0 {
		s.fail(n.pos, "control %s changes nothing: give it files, test, on or delete", c.Name)
	} else if len(l.task.Seed.Changes(c.Solution(l.task.Seed))) == 0 {
		s.fail(n.pos, "control %s leaves the seed as it is", c.Name)
	}
	if e := n.get("expect"); e != nil {
		c.Expect = s.expect(e)
		l.origin(c, e)
	}
	return c, true
}

// origin compares what a control is said to be with what it is expected to earn.
func (l *loader) origin(c tare.Control, n *node) {
	pass := c.Expect.Outcome == tare.Pass
	right := pass || c.Expect.Outcome == tare.Fail && c.Expect.Gate == tare.GateRegressionTest
	switch {
	case c.Origin == tare.FromAcceptable && !right:
		l.yaml.fail(n.pos, "an acceptable solution passes, or fails at regression_test when it brings no genuine test")
	case c.Origin == tare.FromBad && pass:
		l.yaml.fail(n.pos, "a bad solution does not pass; one that may is acceptable")
	case c.Origin == tare.FromAdversary && pass:
		l.yaml.fail(n.pos, "an adversary must not pass")
	}
}
