package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare"
	"tare/internal/check"
	"tare/internal/soak"
)

var editDraws = flag.Int("edits", 1, "draws of TestEdits, each of a handful of solutions in each way of grading")

// A gradingMode is one of the ways in which one and the same work may be done. None may show in a verdict.
type gradingMode struct {
	name  string
	jobs  int  // gradings at once
	inner int  // commands of one grading at once
	back  bool // the last first
	flags func(*app)
}

var gradingModes = []gradingMode{
	{"one after the other", 1, 1, false, func(*app) {}},
	{"four at once", 4, 2, false, func(*app) {}},
	{"four at once, backwards, each from a cold start", 4, 1, true, func(a *app) { a.cold = true }},
}

// TestEdits changes a reference at random, by tokens and lines, and grades what comes of it: in whichever way that is done,
// the verdict is the same, and it is never PASS where a probe that is asked beside the grader has a wrong answer. A test run compares
// the first way with one of the others, in turn by days; make soak, whose draws are many, with all.
func TestEdits(t *testing.T) {
	all, err := (&app{}).tasks([]string{"tickets/bugfix_inventory"})
	if err != nil {
		t.Fatal(err)
	}
	task := all[0]
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	checks.Value.Set(fmt.Sprint(*editDraws))
	defer checks.Value.Set(before)
	day, every, err := soak.Day()
	if err != nil {
		t.Fatal(err)
	}
	modes := gradingModes
	if !every && *editDraws == 1 {
		modes = append(slices.Clip(gradingModes[:1]), soak.Today(gradingModes[1:], 1, day)...)
		t.Logf("TARE_TEST_DAY=%d: %s, %s", day, modes[0].name, modes[1].name)
	}
	edits := len(modes) - 1 // of each draw
	seen := map[tare.Outcome]int{}
	err = withRigs(t, modes, nil, func(ctx context.Context, rigs []*rig) error {
		rapid.Check(t, func(rt *rapid.T) {
			controls := drawEdits(rt, task, edits)
			first := gradeAll(ctx, rt, rigs[0], task, controls, modes[0])
			for i, mode := range modes[1:] {
				for k, v := range gradeAll(ctx, rt, rigs[1+i], task, controls, mode) {
					if a, b := rendered(first[k]), rendered(v); a != b {
						rt.Errorf("%s: %s, the verdict is\n%s\n%s, it is\n%s", controls[k].Name, modes[0].name, a, mode.name, b)
					}
				}
			}
			for i, v := range first {
				seen[v.Outcome]++
				failing, whole := probedBeside(ctx, rt, rigs[0], task, controls[i])
				if v.Outcome == tare.Pass && (failing > 0 || !whole) {
					rt.Errorf("%s: PASS, and of the hidden cases %d fail; all answered: %v", controls[i].Name, failing, whole)
				}
				if g, ok := v.Gate(tare.GateBehaviour); ok && g.Outcome == tare.Pass && (failing > 0 || !whole) {
					rt.Errorf("%s: behaviour is right, and of the hidden cases %d fail; all answered: %v", controls[i].Name, failing, whole)
				}
				if v.RootGate == tare.GateBehaviour && failing == 0 && whole {
					rt.Errorf("%s: stopped at behaviour, and every hidden case is right", controls[i].Name)
				}
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("verdicts: %v", seen)
	if seen[tare.Pass] == 0 || seen[tare.Fail] == 0 {
		t.Errorf("of the solutions none was right, or none wrong: %v", seen)
	}
}

// withRigs opens a rig for each way of grading.
func withRigs(t *testing.T, modes []gradingMode, open []*rig, work func(context.Context, []*rig) error) error {
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, quiet: true, backend: "bwrap", state: filepath.Join(t.TempDir(), "state")}
	modes[len(open)].flags(a)
	return a.withRig(t.Context(), func(ctx context.Context, r *rig) error {
		if open = append(open, r); len(open) < len(modes) {
			return withRigs(t, modes, open, work)
		}
		return work(ctx, open)
	})
}

// gradeAll grades each of controls in that mode.
func gradeAll(ctx context.Context, t *rapid.T, r *rig, task *tare.Task, controls []tare.Control, m gradingMode) []tare.Verdict {
	r.inner = m.inner
	verdicts := make([]tare.Verdict, len(controls))
	errs := make([]error, len(controls))
	next := make(chan int)
	done := make(chan struct{})
	for range m.jobs {
		go func() {
			for i := range next {
				res, err := r.judgeControl(ctx, task, controls[i])
				verdicts[i], errs[i] = res.Verdict, err
			}
			done <- struct{}{}
		}()
	}
	order := make([]int, len(controls))
	for i := range order {
		order[i] = i
	}
	if m.back {
		slices.Reverse(order)
	}
	for _, i := range order {
		next <- i
	}
	close(next)
	for range m.jobs {
		<-done
	}
	for i, err := range errs {
		if err != nil || verdicts[i].Outcome == tare.Unverified {
			t.Fatalf("%s: grading %s: %v, %v", m.name, controls[i].Name, verdicts[i].Outcome, err)
		}
	}
	return verdicts
}

// probedBeside asks the probe with no grader about it: the seed, with the sources of a solution in it.
func probedBeside(ctx context.Context, t *rapid.T, r *rig, task *tare.Task, c tare.Control) (failing int, whole bool) {
	runner, err := check.For(task.Runner)
	if err != nil {
		t.Fatal(err)
	}
	sources := func(tree tare.Tree) tare.Tree {
		return tree.Filter(func(f tare.File) bool { return tare.Under(f.Path, task.Sources...) })
	}
	gone := task.Seed.Filter(func(f tare.File) bool { return !tare.Under(f.Path, task.Sources...) })
	req := check.ProbeRequest{Tree: gone.Overlay(sources(c.Solution(task.Seed))), Sources: task.Sources, Hidden: task.Hidden, Wall: task.Limits.Check}
	for _, q := range task.Cases {
		req.Cases = append(req.Cases, check.Question{ID: q.ID, Call: q.Call, Args: q.Args})
	}
	got, err := runner.Probe(ctx, r.sb, req)
	if err != nil {
		t.Fatal(err)
	}
	return len(task.Failing(got)), got.Complete
}

// drawEdits is n references that were edited, one that was not, and a solution that is known to be wrong in what hidden cases
// ask, each with the reference's test.
func drawEdits(t *rapid.T, task *tare.Task, n int) []tare.Control {
	i := slices.IndexFunc(task.Controls, func(c tare.Control) bool {
		return c.Origin == tare.FromReference && strings.HasSuffix(c.Name, "+test")
	})
	whole := task.Controls[i]
	var bad []tare.Control
	for _, c := range task.Controls {
		if c.Origin == tare.FromBad && c.Expect.Gate == tare.GateBehaviour && c.Agent == "" {
			bad = append(bad, c)
		}
	}
	wrong := rapid.SampledFrom(bad).Draw(t, "wrong")
	wrong.Apply = append(slices.Clone(wrong.Apply), task.References[0].Test)
	out := []tare.Control{whole, wrong}
	for k := range n {
		tree := whole.Solution(task.Seed)
		var said []string
		for range rapid.IntRange(1, 2).Draw(t, "edits") {
			var what string
			tree, what = drawEdit(t, tree, task.Sources)
			said = append(said, what)
		}
		out = append(out, tare.Control{Name: fmt.Sprintf("edit %d: %s", k, strings.Join(said, ", ")), Origin: tare.FromBad, Apply: []tare.Tree{tree}})
	}
	return out
}

var token = regexp.MustCompile(`[A-Za-z_]\w*|\d+|"[^"\n]*"|'[^'\n]*'|[<>=!]=|[-+*/%<>=.,:()\[\]{}]`)

// turned are tokens that read much alike and mean something else.
var turned = map[string][]string{
	"==": {"!=", "<=", "in"}, "!=": {"=="}, "<": {"<=", ">"}, "<=": {"<", ">="}, ">": {">=", "<"}, ">=": {">", "<="},
	"and": {"or"}, "or": {"and"}, "not": {""}, "in": {"not in", "=="}, "True": {"False"}, "False": {"True"}, "break": {"continue", "pass"},
	"continue": {"break", "pass"}, "+": {"-"}, "-": {"+"}, "0": {"1", "-1"}, "1": {"0", "2"}, "if": {"if not"}, "append": {"insert"}, "any": {"all"}, "all": {"any"},
}

// drawEdit changes one source of tree.
func drawEdit(t *rapid.T, tree tare.Tree, sources []string) (tare.Tree, string) {
	var at []int
	for i, f := range tree {
		if tare.Under(f.Path, sources...) && len(f.Data) > 0 && strings.HasSuffix(f.Path, ".py") {
			at = append(at, i)
		}
	}
	i := rapid.SampledFrom(at).Draw(t, "file")
	text := string(tree[i].Data)
	lines := strings.SplitAfter(text, "\n")
	line := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
	what := rapid.SampledFrom([]string{"turn a token", "turn a token", "turn a token", "other token", "no token", "no line", "line twice", "lines swapped"}).Draw(t, "edit")
	switch what {
	case "no line":
		lines = slices.Delete(lines, line, line+1)
		text = strings.Join(lines, "")
	case "line twice":
		text = strings.Join(slices.Insert(lines, line, lines[line]), "")
	case "lines swapped":
		other := min(line+1, len(lines)-1)
		lines[line], lines[other] = lines[other], lines[line]
		text = strings.Join(lines, "")
	default:
		var places [][]int
		for _, p := range token.FindAllStringIndex(text, -1) {
			if what != "turn a token" || turned[text[p[0]:p[1]]] != nil {
				places = append(places, p)
			}
		}
		if len(places) == 0 {
			return tree, "nothing"
		}
		p := rapid.SampledFrom(places).Draw(t, "place")
		with := ""
		switch what {
		case "turn a token":
			with = rapid.SampledFrom(turned[text[p[0]:p[1]]]).Draw(t, "with")
		case "other token":
			q := rapid.SampledFrom(places).Draw(t, "other")
			with = text[q[0]:q[1]]
		}
		what = fmt.Sprintf("%q for %q", with, text[p[0]:p[1]])
		text = text[:p[0]] + with + text[p[1]:]
	}
	out := slices.Clone(tree)
	out[i].Data = []byte(text)
	return out, fmt.Sprintf("%s in %s", what, tree[i].Path)
}

// rendered is all of a verdict but the record's hash and times.
func rendered(v tare.Verdict) string {
	v.Record = ""
	v.Gates = slices.Clone(v.Gates)
	for i := range v.Gates {
		v.Gates[i].Seconds = 0
	}
	b, err := tare.Canonical(v)
	return fmt.Sprintf("%s%v", b, err)
}
