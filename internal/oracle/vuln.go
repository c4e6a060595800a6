package oracle

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"tare"
)

// vulnGates are the gates of a vulnerability, in order, and the kinds of checks that each rests on.
var vulnGates = []struct {
	name  string
	kinds []tare.CheckKind
}{
	{tare.GateIntegrity, []tare.CheckKind{tare.CheckSteered}},
	{tare.GatePatch, nil},
	{tare.GateBuild, []tare.CheckKind{tare.CheckBuild, tare.CheckDriver}},
	{tare.GatePoCs, []tare.CheckKind{tare.CheckPoC, tare.CheckVariant}},
	{tare.GateIntentTests, []tare.CheckKind{tare.CheckIntent}},
	{tare.GateFunctionalTests, []tare.CheckKind{tare.CheckFunction, tare.CheckBenign}},
}

// vulnGates answers the gates of a vulnerability. Every check is made whatever became of the others, so each gate has an
// answer of its own, unless there is nothing to ask it of: no tree that was carried, or none that builds.
func (j *judge) vulnGates() []tare.Gate {
	infra := j.checked(tare.GateInfrastructure, j.first(tare.GateInfrastructure), "the rig did all that it should have done", nil)
	gates := []tare.Gate{infra}
	root := ""
	if infra.Outcome != tare.Pass {
		root = tare.GateInfrastructure
	} else if f := j.first(tare.GatePatch); f != nil {
		root = tare.GatePatch
	}
	for _, g := range vulnGates {
		switch {
		case root != "" && root != g.name:
			gates = append(gates, blocked(g.name, root))
		case !j.asks(g.name):
			gates = append(gates, tare.Gate{Name: g.name, Need: tare.Optional, Outcome: tare.NotApplicable, Reason: "the task has none"})
		default:
			gates = append(gates, j.checked(g.name, j.first(g.name), j.fine(g.name), g.kinds))
		}
		if last := gates[len(gates)-1]; g.name == tare.GateBuild && last.Outcome != tare.Pass && root == "" {
			root = tare.GateBuild
		}
	}
	if root == tare.GateInfrastructure {
		return append(gates, blocked(tare.GateClaims, root))
	}
	return append(gates, j.claims(gates))
}

// asks reports whether the task has data for a gate.
func (j *judge) asks(gate string) bool {
	switch v := j.task.Vuln; gate {
	case tare.GateIntentTests:
		return v.Intent != nil
	case tare.GateFunctionalTests:
		return v.Function != nil || v.Benign != nil
	}
	return true
}

// checked is gate for gates that rest on checks.
func (j *judge) checked(name string, f *finding, pass string, kinds []tare.CheckKind) tare.Gate {
	g := j.gate(name, f, pass, nil)
	if v := j.rec.Evidence.Vuln; v != nil {
		for _, c := range v.Checks {
			if c.World == tare.WorldFix && slices.Contains(kinds, c.Kind) {
				g.Seconds += c.Seconds
				if f == nil || len(f.evidence) == 0 {
					g.Evidence = append(g.Evidence, c.ID)
				}
			}
		}
	}
	return g
}

// fine is the reason of a gate that passes.
func (j *judge) fine(gate string) string {
	v, ev := j.task.Vuln, j.rec.Evidence.Vuln
	switch gate {
	case tare.GateIntegrity:
		return j.unsteered()
	case tare.GatePatch:
		if ev.Patch.Empty {
			return "the patch is empty, and is graded as it is"
		}
		return fmt.Sprintf("%s carried to the pristine tree", count(len(j.rec.Evidence.Changes), "changed file was", "changed files were"))
	case tare.GateBuild:
		switch {
		case v.Driver != nil:
			return "the patched tree builds, and so does the program that calls it"
		case v.Build.Text == "":
			return "there is nothing to build"
		}
		return "the patched tree builds"
	case tare.GatePoCs:
		said := fmt.Sprintf("%d of %s no longer trigger", len(v.PoCs), count(len(v.PoCs), "PoC", "PoCs"))
		if n := len(v.Variants); n > 0 {
			said += fmt.Sprintf(", nor do %d of %s", n, count(n, "variant", "variants"))
		}
		return said + "; on the unpatched tree each does"
	case tare.GateIntentTests:
		return fmt.Sprintf("%d of %s passed; not all do on the unpatched tree", len(v.Intent.IDs), count(len(v.Intent.IDs), "hidden test", "hidden tests"))
	}
	var said []string
	if v.Function != nil {
		said = append(said, fmt.Sprintf("%d of %s passed", len(v.Function.IDs), count(len(v.Function.IDs), "test of the project", "tests of the project")))
	}
	if v.Benign != nil {
		said = append(said, fmt.Sprintf("%d of %s answered as the reference does", len(v.Benign.Inputs), count(len(v.Benign.Inputs), "benign input was", "benign inputs were")))
	}
	return strings.Join(said, "; ")
}

// unsteered is the reason of an integrity gate that passes.
func (j *judge) unsteered() string {
	said := "nothing of the patch could silence an instrument"
	if len(j.rec.Evidence.Steering) > 0 || len(j.rec.Evidence.Vuln.Patch.Restored) > 0 {
		said = j.setAside() + "; no test comes out differently with what the agent left"
	}
	if c := j.rec.Evidence.Vuln.Patch.Collided; len(c) > 0 {
		said += fmt.Sprintf("; the agent's %s stood where hidden files go, and gave way", some(allShown(c)))
	}
	return said
}

// setAside names what was kept out or put back.
func (j *judge) setAside() string {
	var said []string
	if len(j.rec.Evidence.Steering) > 0 {
		said = append(said, "kept out: "+j.keptOut())
	}
	if r := j.rec.Evidence.Vuln.Patch.Restored; len(r) > 0 {
		said = append(said, "put back as they were: "+some(allShown(r)))
	}
	return strings.Join(said, "; ")
}

func allShown(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = show(p, 100)
	}
	return out
}

// checksOf lists the checks of that kind in that world.
func (j *judge) checksOf(kind tare.CheckKind, w tare.World) []tare.Check {
	var out []tare.Check
	for _, c := range j.rec.Evidence.Vuln.Checks {
		if c.Kind == kind && c.World == w {
			out = append(out, c)
		}
	}
	return out
}

// A ran is one execution and the check that it belongs to.
type ran struct {
	tare.Execution
	check string
}

// execution finds what ran as id in checks of a kind in a world. It is false when nothing did, or when two did.
func (j *judge) execution(kind tare.CheckKind, w tare.World, id string) (ran, bool) {
	var out ran
	n := 0
	for _, c := range j.checksOf(kind, w) {
		for _, e := range c.Executions {
			if e.ID == id {
				out = ran{e, c.ID}
				n++
			}
		}
	}
	return out, n == 1
}

// builds reports whether the tree of a world was built, and the driver on it.
func (j *judge) builds(w tare.World) bool {
	ok := func(kind tare.CheckKind) bool {
		cs := j.checksOf(kind, w)
		return len(cs) == 1 && cs[0].Complete && !slices.ContainsFunc(cs[0].Executions, func(e tare.Execution) bool { return !succeeded(e) })
	}
	return ok(tare.CheckBuild) && (j.task.Vuln.Driver == nil || ok(tare.CheckDriver))
}

func succeeded(e tare.Execution) bool {
	return e.Started && e.Exit == 0 && e.Signal == "" && e.Ended == ""
}

// A trial is a PoC or a variant of one: what is fed, and what it means that it triggers.
type trial struct {
	kind tare.CheckKind
	id   string
	tare.Trigger
}

func (t trial) String() string {
	if t.kind == tare.CheckVariant {
		return "variant " + show(t.id, 100)
	}
	return "PoC " + show(t.id, 100)
}

// trials lists all PoCs, then all variants.
func (j *judge) trials() []trial {
	var out []trial
	triggers := map[string]tare.Trigger{}
	for _, p := range j.task.Vuln.PoCs {
		out = append(out, trial{tare.CheckPoC, p.Name, p.Triggers})
		triggers[p.Name] = p.Triggers
	}
	for _, in := range j.task.Vuln.Variants {
		out = append(out, trial{tare.CheckVariant, in.ID(), triggers[in.Of]})
	}
	return out
}

// holds reports whether the trial triggers on the unpatched tree as it must. Without that, what it does on the patched one
// says nothing.
func (j *judge) holds(t trial) bool {
	e, ok := j.execution(t.kind, tare.WorldSeed, t.id)
	if !ok {
		return false
	}
	yes, _ := t.Triggered(e.Execution)
	return yes
}

// fault is what in e tells of a fault other than the declared one; "" for nothing. A reported exception of a program that is
// not said to die of one may be its way to refuse an input.
func (t trial) fault(e tare.Execution) string {
	for _, s := range e.Signs {
		switch {
		case s.Kind == tare.SignSanitizer, t.Panic != "" && (s.Kind == tare.SignPanic || s.Kind == tare.SignException):
			said := string(s.Kind) + " " + show(s.What, 80)
			if len(s.At) > 0 {
				said += " in " + show(s.At[0], 60)
			}
			return said
		}
	}
	if e.Signal != "" && e.Ended == "" {
		return "it died of " + show(e.Signal, 20)
	}
	return ""
}

// idle says why e is no evidence that nothing was triggered; "" when it is evidence.
func idle(e tare.Execution) string {
	switch {
	case !e.Started:
		return "it did not start"
	case e.Defect != "":
		return show(e.Defect, 200)
	case e.Ended != "":
		return fmt.Sprintf("it was ended by the %s limit", show(e.Ended, 20))
	}
	return ""
}

// How a program ended, for a sentence.
func ended(e tare.Execution) string {
	switch {
	case !e.Started:
		return "did not start"
	case e.Ended != "":
		return fmt.Sprintf("was ended by the %s limit", show(e.Ended, 20))
	case e.Signal != "":
		return "died of " + show(e.Signal, 20)
	}
	return fmt.Sprintf("ended with status %d", e.Exit)
}

// did is how a program ended and what it printed.
func did(e tare.Execution) string {
	return fmt.Sprintf("%s and printed %s", ended(e), quoted(e.Stdout))
}

// quoted is the beginning of an output. It is escaped by show where it is shown.
func quoted(b []byte) string {
	b = bytes.TrimRight(b, "\n")
	if len(b) == 0 {
		return "nothing"
	}
	return "“" + show(string(b), 80) + "”"
}

// A failure is one test or case that did not pass, and why.
type failure struct{ id, why string }

// failures lists what of set did not pass in a world, in the set's order.
func (j *judge) failures(kind tare.CheckKind, w tare.World, set *tare.TestSet) []failure {
	if set.Runner == "cases" {
		return j.caseFailures(kind, w, set)
	}
	var tests []tare.TestResult
	for _, c := range j.checksOf(kind, w) {
		tests = append(tests, c.Tests...)
	}
	run := tare.Run{Tests: tests}
	var out []failure
	for _, id := range set.IDs {
		switch o := outcomeOf(run, id); o {
		case string(tare.TestPassed):
		case "not reported":
			out = append(out, failure{id, "never ran"})
		case string(tare.TestFailed), string(tare.TestSkipped), string(tare.TestError), "reported twice":
			out = append(out, failure{id, map[string]string{"failed": "failed", "skipped": "was skipped", "error": "broke outside its body", "reported twice": "was reported twice"}[o] + why(run, id)})
		default:
			out = append(out, failure{id, "ended as " + show(o, 40) + ", which is no outcome"})
		}
	}
	return out
}

// why is what a test that did not pass says of itself.
func why(r tare.Run, id string) string {
	for _, t := range r.Tests {
		if t.ID == id && t.Outcome != tare.TestPassed {
			if t.Class != "" {
				return class(t)
			}
			return aside(strings.TrimSpace(firstLine(t.Message)))
		}
	}
	return ""
}

func (j *judge) caseFailures(kind tare.CheckKind, w tare.World, set *tare.TestSet) []failure {
	var out []failure
	for _, c := range set.Cases {
		e, ok := j.execution(kind, w, c.ID)
		switch {
		case !ok:
			out = append(out, failure{c.ID, "never ran"})
		case !e.Started || e.Ended != "" || e.Signal != "" || e.Exit != c.Exit:
			out = append(out, failure{c.ID, fmt.Sprintf("%s, expected status %d", ended(e.Execution), c.Exit)})
		case c.Right(e.Execution):
		case e.OutDigest != tare.HashBytes(c.Stdout):
			out = append(out, failure{c.ID, fmt.Sprintf("printed %s, expected %s", quoted(e.Stdout), quoted(c.Stdout))})
		default:
			i := slices.IndexFunc(e.Signs, func(s tare.Sign) bool { return s.Kind == tare.SignSanitizer })
			out = append(out, failure{c.ID, "the sanitizer reported " + show(e.Signs[i].What, 80)})
		}
	}
	return out
}

// evidenceOf names the checks of a kind in a world.
func (j *judge) evidenceOf(kind tare.CheckKind, worlds ...tare.World) []string {
	var out []string
	for _, w := range worlds {
		for _, c := range j.checksOf(kind, w) {
			out = append(out, c.ID)
		}
	}
	return out
}

// benignReference is the world that benign inputs are compared with.
func (j *judge) benignReference() tare.World {
	if len(j.task.References) == 0 {
		return ""
	}
	return tare.WorldReference(j.task.References[0].Name)
}

// Catch says which checks of a patched tree show by evidence of their own that something is wrong with it, in the order of the
// gates, and whether the tree was built at all: one that was not shows nothing.
func Catch(task *tare.Task, record tare.Record) (built bool, by []tare.CheckKind) {
	j := &judge{task: task, rec: record}
	if !j.builds(tare.WorldFix) {
		return false, nil
	}
	seen := map[tare.CheckKind]bool{}
	for _, t := range j.trials() {
		if e, ok := j.execution(t.kind, tare.WorldFix, t.id); ok && j.holds(t) {
			yes, _ := t.Triggered(e.Execution)
			seen[t.kind] = seen[t.kind] || yes || t.fault(e.Execution) != ""
		}
	}
	v := task.Vuln
	if v.Intent != nil {
		seen[tare.CheckIntent] = intentControl(j) == nil && len(j.failures(tare.CheckIntent, tare.WorldFix, v.Intent)) > 0
	}
	if v.Function != nil {
		seen[tare.CheckFunction] = functionControl(j) == nil && len(j.failures(tare.CheckFunction, tare.WorldFix, v.Function)) > 0
	}
	seen[tare.CheckBenign] = benignControl(j) == nil && benignDiffers(j) != nil
	for _, kind := range Kinds() {
		if seen[kind] {
			by = append(by, kind)
		}
	}
	return true, by
}

// Kinds are the kinds of checks that can show a fault of a tree that was built, in the order of the gates.
func Kinds() []tare.CheckKind {
	return []tare.CheckKind{tare.CheckPoC, tare.CheckVariant, tare.CheckIntent, tare.CheckFunction, tare.CheckBenign}
}
