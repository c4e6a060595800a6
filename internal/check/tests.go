package check

import (
	"context"
	"io/fs"
	"path"
	"slices"

	"tare"
	"tare/internal/sandbox"
)

// Run runs tests with pytest, under a configuration of our own unless req.Steered. Test ids are pytest's, relative to
// the tree. A node of req.Nodes without parameters stands for all of them; one that is not there is absent from the
// result. What could not be collected is in the result under the id of its file.
//
// The import path is the sources, then the tree, then the system's library; when req.Steered the tree's files may stand
// in for pytest itself. Hashes of strings are the same in each run, and others in a run with req.Reverse, so that a
// result that depends on them is the same each time and still found out.
//
// A test is passed when pytest says so and no exception left it; an expected failure, met or not, counts as skipped.
// Sentinels are as pytest said, without that correction. Where the run did not come as far as any test, they have no
// outcome, and neither was there any evidence that they could contradict.
func (r Pytest) Run(ctx context.Context, sb sandbox.Sandbox, req TestRequest) (tare.Run, error) {
	passing, failing := "test_"+secret(5), "test_"+secret(5)
	c := command{
		script:   r.script(req),
		without:  r.Without,
		tree:     tree(req.Tree),
		dirName:  req.DirName,
		wall:     req.Wall,
		onOutput: req.OnOutput,
		cold:     req.Steered || !r.Without.On(defShadows),
		request: map[string]any{
			"sources": append([]string{}, req.Sources...), "nodes": req.Nodes, "files": req.Files, "twin": req.Twin, "steered": req.Steered,
			"reverse": req.Reverse, "passing": passing, "failing": failing, "dice": secret(8),
		},
	}
	if req.Reverse {
		c.hash = reversed
	}
	a, err := c.run(ctx, sb)
	if err != nil {
		return tare.Run{}, err
	}
	rep := a.read()
	if !rep.started() && !req.Steered {
		return tare.Run{}, a.notStarted("pytest")
	}
	out := a.describe(req.Tree)
	items := rep.items()
	for _, s := range []struct {
		role string
		want tare.TestOutcome
	}{{"passing", tare.TestPassed}, {"failing", tare.TestFailed}, {"twin", tare.TestFailed}} {
		if s.role != "twin" || req.Twin != "" {
			got := outcomeOf(items, s.role)
			if !r.Without.On(defSentinels) && s.role != "twin" || !r.Without.On(defTwin) && s.role == "twin" {
				got = s.want // as if it had not been there
			}
			out.Sentinels = append(out.Sentinels, tare.Sentinel{Name: s.role, Want: s.want, Got: got})
		}
	}
	for _, e := range rep.of("collect") {
		out.Tests = append(out.Tests, collected(e))
	}
	for _, it := range items {
		if t, ok := it.result(!req.Steered && r.Without.On(defRaised)); ok && it.role == "" {
			out.Tests = append(out.Tests, t)
		}
	}
	rep.checkTests(a, items)
	out.Defect, out.Complete = rep.defect, rep.defect == ""
	return out, nil
}

// script is the one that runs the tests of a request.
func (r Pytest) script(req TestRequest) string {
	own := req.Steered || !r.Without.On(defShadows) || !r.Without.On(defSettings)
	// pytest asks for a conftest.py before it collects tests, and follows links when it does
	if own || slices.ContainsFunc(req.Tree, func(f tare.File) bool { return path.Base(f.Path) == "conftest.py" || f.Mode&fs.ModeSymlink != 0 }) {
		return "pytest"
	}
	return session
}

// tree is t, never nil.
func tree(t tare.Tree) tare.Tree {
	if t == nil {
		return tare.Tree{}
	}
	return t
}

// An item is a test that pytest was going to run, and what was reported of it.
type item struct {
	id, role string
	phases   map[string]event
}

// items joins results to the tests that were announced, and notes what does not join.
func (r *report) items() []*item {
	var items []*item
	ids := map[string]bool{}
	for _, e := range r.of("item") {
		if e.Item != len(items) {
			r.fail("test %q is announced out of order", e.ID)
		}
		if e.Role == "" && ids[e.ID] {
			r.fail("test %q is announced twice", e.ID)
		}
		if e.Role == "" {
			ids[e.ID] = true
		}
		items = append(items, &item{id: e.ID, role: e.Role, phases: map[string]event{}})
	}
	for _, e := range r.of("result") {
		if e.Item < 0 || e.Item >= len(items) || items[e.Item].id != e.ID {
			r.fail("a result is for test %q, which was never collected there", e.ID)
			continue
		}
		it := items[e.Item]
		if _, twice := it.phases[e.When]; twice {
			r.fail("test %q has two results for %s", e.ID, e.When)
			continue
		}
		it.phases[e.When] = e
	}
	return items
}

// checkTests notes what the end mark and the way in which the process ended say against a whole report.
func (r *report) checkTests(a answer, items []*item) {
	if internal := r.of("internal"); len(internal) > 0 {
		r.fail("pytest failed by itself: %.300s", internal[0].Message)
	}
	if r.end == nil || !a.without.On(defEndMark) {
		return
	}
	without := 0
	for _, it := range items {
		if _, ok := it.result(false); !ok {
			without++
		}
	}
	switch s := r.end.Status; {
	case s != a.result.Exit:
		r.fail("the report ends with status %d, the process %s", s, a.ending())
	case s < 0 || s > 1 && s != 5:
		r.fail("pytest stopped early, with status %d (2 interrupted, 3 an error of its own, 4 it could not start)", s)
	case r.end.Items != len(items) || r.end.Results != len(r.of("result")):
		r.fail("the end mark counts %d tests and %d results, the report has %d and %d",
			r.end.Items, r.end.Results, len(items), len(r.of("result")))
	case without > 0: // how many is for chance to say: the sentinels stand at random places
		r.fail("tests that were collected have no result")
	}
}

// result folds the phases of a test; false when they are not all there. When strict, an exception that left the test
// outweighs a report that it passed.
func (it *item) result(strict bool) (tare.TestResult, bool) {
	setup, ok1 := it.phases["setup"]
	call, ok2 := it.phases["call"]
	teardown, ok3 := it.phases["teardown"]
	t := tare.TestResult{ID: it.id, Outcome: tare.TestPassed}
	if !ok1 || !ok3 || !ok2 && setup.Outcome == "passed" {
		return t, false
	}
	for _, e := range []event{setup, call, teardown} {
		outcome := tare.TestOutcome(e.Outcome)
		if strict && outcome == tare.TestPassed && e.Raised {
			outcome = tare.TestFailed
		}
		switch outcome {
		case tare.TestPassed, "": // "" is a call that there was not
			continue
		case tare.TestSkipped:
		case tare.TestFailed:
			if e.When != "call" {
				outcome = tare.TestError
			}
		default:
			outcome = tare.TestError
		}
		t = tare.TestResult{
			ID: it.id, Outcome: outcome, Phase: e.When,
			Class: e.Class, Message: e.Message, InBody: e.InBody && e.When == "call", InSources: e.InSources, Missing: e.Missing,
		}
		if outcome != tare.TestSkipped {
			break // a failure after a skip still counts
		}
	}
	return t, true
}

// outcomeOf is what was reported of the sentinel in that role.
func outcomeOf(items []*item, role string) tare.TestOutcome {
	for _, it := range items {
		if it.role == role {
			if t, ok := it.result(false); ok {
				return t.Outcome
			}
		}
	}
	return ""
}

// collected is the result for a file or class that yielded no tests.
func collected(e event) tare.TestResult {
	t := tare.TestResult{
		ID: e.ID, Outcome: tare.TestError, Phase: "collect", Class: e.Class, Message: e.Message, InSources: e.InSources, Missing: e.Missing,
	}
	if e.Outcome == "skipped" {
		t.Outcome = tare.TestSkipped
	}
	return t
}
