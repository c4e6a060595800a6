package suite

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare"
)

// A source is one file of the task's folder while it is decoded. Its methods take nil for a value that is not there,
// report what is wrong with one that is, and go on, so that an author sees all problems at once. They report nothing
// about a missing value: object has done that.
type source struct {
	l    *loader
	file string // in the task's folder
	text []byte
}

func (s source) fail(p pos, format string, args ...any) {
	if len(s.l.problems) == maxProblems {
		return
	}
	s.l.problems = append(s.l.problems, problem{text: s.text, Error: &Error{
		File: s.l.shown + "/" + s.file, Line: p.line, Column: p.col, Message: printable(fmt.Sprintf(format, args...)),
	}})
}

// failAt reports an error of the parsers.
func (s source) failAt(err error) {
	p := pos{1, 1}
	if e, ok := err.(*syntaxError); ok {
		p = e.pos
	}
	s.fail(p, "%v", err)
}

// object checks that n is a mapping with all the required keys and no other than these and the optional ones.
func (s source) object(n *node, what string, required []string, optional ...string) bool {
	if n == nil {
		return false
	}
	keys := append(slices.Clone(required), optional...)
	if n.kind != kMap {
		s.fail(n.pos, "%s must be a mapping with the keys %s; this is %s", what, strings.Join(keys, ", "), n.kind)
		return false
	}
	for _, f := range n.keys {
		if !slices.Contains(keys, f.name) {
			s.fail(f.pos, "%s has no key %s; its keys are %s", what, clip(f.name), strings.Join(keys, ", "))
		}
	}
	for _, k := range required {
		if n.get(k) == nil {
			s.fail(n.pos, "%s lacks the key %q", what, k)
		}
	}
	return true
}

// list is the items of a list; min is how many there must be.
func (s source) list(n *node, what string, min int) []*node {
	switch {
	case n == nil:
		return nil
	case n.kind != kList:
		s.fail(n.pos, "%s must be a list; this is %s", what, n.kind)
		return nil
	case len(n.items) < min:
		s.fail(n.pos, "%s must have at least %d entries; this has %d", what, min, len(n.items))
	}
	return n.items
}

// str is text that is not blank.
func (s source) str(n *node, what string) string {
	switch {
	case n == nil:
		return ""
	case n.kind != kStr:
		s.fail(n.pos, "%s must be text; this is %s (in quotes it is text)", what, n.kind)
		return ""
	case strings.TrimSpace(n.text) == "":
		s.fail(n.pos, "%s must not be empty", what)
		return ""
	}
	return n.text
}

// line is one line of text without white space around it.
func (s source) line(n *node, what string) string {
	v := strings.TrimSpace(s.str(n, what))
	if strings.ContainsAny(v, "\r\n") {
		s.fail(n.pos, "%s must be one line", what)
	}
	return v
}

var labelForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+:-]{0,79}$`)

// label is a name that people type and that becomes part of a file name.
func (s source) label(n *node, what string) string {
	v := s.str(n, what)
	if v != "" && !labelForm.MatchString(v) {
		s.fail(n.pos, "%s is %s: use letters, digits, dot, dash, plus, colon and underscore, 80 at most", what, clip(v))
		return ""
	}
	return v
}

// path is a clean relative path.
func (s source) path(n *node, what string) string {
	v := s.str(n, what)
	if v == "" {
		return ""
	}
	if v == "." || v == ".." || path.IsAbs(v) || path.Clean(v) != v || strings.HasPrefix(v, "../") {
		s.fail(n.pos, "%s is %s: write a clean path that is relative and stays inside, without ./ and a slash at the end", what, clip(v))
		return ""
	}
	if why := badPath(v); why != "" {
		s.fail(n.pos, "%s is %s, which %s", what, clip(v), why)
		return ""
	}
	return v
}

// oneOf is one of a few words.
func (s source) oneOf(n *node, what string, words ...string) string {
	v := s.str(n, what)
	if v != "" && !slices.Contains(words, v) {
		s.fail(n.pos, "%s is %s; it can be %s", what, clip(v), strings.Join(words, ", "))
		return ""
	}
	return v
}

// count is a whole number from 1; 0 when it is none.
func (s source) count(n *node, what string) int {
	if n == nil {
		return 0
	}
	v, err := strconv.Atoi(n.text)
	if n.kind != kInt || err != nil || v < 1 || v > 1<<30 {
		s.fail(n.pos, "%s must be a whole number from 1", what)
		return 0
	}
	return v
}

// duration is a time span such as 10m or 1.5s.
func (s source) duration(n *node, what string) time.Duration {
	if n == nil {
		return 0
	}
	d, err := time.ParseDuration(n.text)
	if n.kind != kStr || err != nil || d <= 0 {
		s.fail(n.pos, "%s must be a time span with its unit: 20s, 10m, 1h30m", what)
		return 0
	}
	return d
}

// requirement is the number of a requirement of the task; 0 when there is none of that number.
func (s source) requirement(n *node, what string) int {
	v := s.count(n, what)
	if v > len(s.l.task.Requirements) {
		s.fail(n.pos, "%s is %d, but the task has %d requirements", what, v, len(s.l.task.Requirements))
		return 0
	}
	return v
}

// unique reports a second use of name within one kind of thing.
func (s source) unique(seen map[string]pos, name string, p pos, what string) {
	if name == "" {
		return
	}
	if first, ok := seen[name]; ok {
		s.fail(p, "%s %s is here twice; the first is in line %d", what, clip(name), first.line)
		return
	}
	seen[name] = p
}

// rewards are what the gates leave of a ticket's reward when they fail.
var rewards = map[string]float64{
	tare.GateIntegrity:      0,
	tare.GateVisibleTests:   0,
	tare.GateBehaviour:      0.5,
	tare.GateRegressionTest: 0.85,
}

var gates = []string{
	tare.GateInfrastructure, tare.GateIntegrity, tare.GateVisibleTests, tare.GateBehaviour, tare.GateRegressionTest,
}

// expect is what must become of a control. The reward follows from outcome and gate, so it is always stated in the
// result, and one that is written down must agree.
func (s source) expect(n *node) tare.Expect { return s.expectAt(n, gates) }

// expectAt is expect where a task of another kind has other gates.
func (s source) expectAt(n *node, gates []string) tare.Expect {
	const what = "an expectation"
	if !s.object(n, what, []string{"outcome"}, "gate", "requirement", "reason", "reward") {
		return tare.Expect{}
	}
	e := tare.Expect{
		Outcome:     tare.Outcome(s.oneOf(n.get("outcome"), "outcome", string(tare.Pass), string(tare.Fail), string(tare.Unverified))),
		Gate:        s.oneOf(n.get("gate"), "gate", gates...),
		Requirement: s.requirement(n.get("requirement"), "requirement"),
		Reason:      s.line(n.get("reason"), "reason"),
	}
	if e.Outcome == tare.Pass {
		for _, k := range []string{"gate", "requirement", "reason"} {
			if v := n.get(k); v != nil {
				s.fail(v.pos, "a solution that passes is decided by no gate: leave out %s", k)
			}
		}
	} else if e.Outcome != "" && n.get("gate") == nil {
		s.fail(n.pos, "name the gate that decides: gate can be %s", strings.Join(gates, ", "))
	}
	e.Reward = s.reward(n.get("reward"), e)
	return e
}

func (s source) reward(n *node, e tare.Expect) *float64 {
	var follows *float64
	switch r, known := rewards[e.Gate]; {
	case e.Outcome == tare.Pass:
		follows = new(float64)
		*follows = 1
	case e.Outcome == tare.Fail && (known || s.l.task.Kind != tare.Ticket):
		follows = &r
	}
	if n == nil {
		return follows
	}
	v, err := strconv.ParseFloat(n.text, 64)
	switch {
	case n.kind != kInt && n.kind != kFloat || err != nil:
		s.fail(n.pos, "reward must be a number")
	case follows == nil && e.Outcome == tare.Unverified:
		s.fail(n.pos, "an UNVERIFIED verdict has no reward")
	case follows != nil && *follows != v:
		s.fail(n.pos, "the reward of this outcome and gate is %v, not %v", *follows, v)
	case follows == nil:
		return &v
	}
	return follows
}
