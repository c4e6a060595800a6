package tare

import (
	"slices"
	"strings"
)

// Covers reports whether id is n's own or that of one of its instances: a test with parameters is reported once for
// each set of them, as its id with a suffix that begins with "[", and a subtest as that of its test with one that begins
// with "/".
func (n TestNode) Covers(id string) bool {
	return id == n.ID || strings.HasPrefix(id, n.ID+"[") || strings.HasPrefix(id, n.ID+"/")
}

// Proper reports whether t is a failure by the test's own doing: in its body, while it ran, and not because something
// that it names is not there.
func (t TestResult) Proper() bool {
	return t.Outcome == TestFailed && (t.Phase == "" || t.Phase == "call") && t.InBody && t.Missing == ""
}

// Right reports whether the sentinel came out as it must.
func (s Sentinel) Right() bool { return s.Got == s.Want && s.Want != "" }

// Of lists what run says of the test called id, an instance of node. Where it was not reached, because its file or what
// else holds it could not be loaded, the result of that stands for it: at collection, under the beginning of its id.
func (r Run) Of(node TestNode, id string) []TestResult {
	var exact, outer []TestResult
	for _, t := range r.Tests {
		switch {
		case t.ID == id:
			exact = append(exact, t)
		case t.Outcome != TestPassed && (t.ID == node.ID || t.Phase == "collect" && t.ID != "" && strings.HasPrefix(node.ID, t.ID)):
			outer = append(outer, t)
		}
	}
	if len(exact) == 0 {
		return outer
	}
	return exact
}

// Relapsed reports whether the bug is back in the tree that now asked: the report is whole and at least one case is
// wrong in the very way in which the seed, asked in the run seed, is wrong. A tree that is merely broken is not that.
func (t *Task) Relapsed(now, seed Run) bool {
	if !now.Complete || !seed.Complete {
		return false
	}
	wrong := t.Failing(seed)
	for _, c := range t.Failing(now) {
		if !slices.ContainsFunc(wrong, func(w Case) bool { return w.ID == c.ID }) {
			continue
		}
		a, aok := now.answer(c.ID)
		b, bok := seed.answer(c.ID)
		if aok && bok && a.Equal(b) && a.Text == b.Text {
			return true
		}
	}
	return false
}

func (r Run) answer(id string) (Value, bool) {
	for _, c := range r.Cases {
		if c.ID == id {
			return c.Value, true
		}
	}
	return Value{}, false
}
