package oracle

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tare"
)

// VulnRules is the table from which the gates of a vulnerability run, in the order in which they are asked. It is a fresh copy
// each time.
func VulnRules() []Rule {
	const (
		infra    = tare.GateInfrastructure
		whole    = tare.GateIntegrity
		patch    = tare.GatePatch
		build    = tare.GateBuild
		pocs     = tare.GatePoCs
		intent   = tare.GateIntentTests
		function = tare.GateFunctionalTests
	)
	return []Rule{
		{ID: "infrastructure/record", Gate: infra, Why: "a record of another form would be read as if it were this one", ask: wrongRecord},
		{ID: "infrastructure/task", Gate: infra, Why: "a record of another task, or of another state of this one, would be graded by answers that are not its own", ask: wrongVuln},
		{ID: "infrastructure/empty-task", Gate: infra, Why: "a task that asks nothing would be passed by anything", ask: emptyVuln},
		{ID: "infrastructure/stop", Gate: infra, Why: "a failure of the model's service or of the world would count against the agent", ask: brokenStop},
		{ID: "infrastructure/broken-off", Gate: infra, Why: "half a record would be taken for a whole one", ask: brokenOff},
		{ID: "infrastructure/problems", Gate: infra, Why: "what the rig failed to observe would be rounded to one side", ask: problems},
		{ID: "infrastructure/isolation", Gate: infra, Why: "nobody could say what stood between the agent's code and the grader", ask: noIsolation},
		{ID: "infrastructure/checks", Gate: infra, Why: "an observation that does not say what was run on what proves nothing", ask: namelessChecks},
		{ID: "infrastructure/unmade", Gate: infra, Why: "a check that was not made would look like one that found nothing", ask: unmadeChecks},
		{ID: "infrastructure/unmade-control", Gate: infra, Why: "a control that was not made would be taken to hold", ask: unmadeControls},
		{ID: "infrastructure/unmade-steered", Gate: infra, Why: "a file that steers could be called harmless without being tried", ask: unmadeSteered},
		{ID: "infrastructure/sentinels", Gate: infra, Why: "a run of tests without sentinels cannot show that its report was forged", ask: checkWithoutSentinels},

		{ID: "integrity/silencer", Gate: whole, Why: "a patch that switches the sanitizer off would show no fault", ask: silenced},
		{ID: "integrity/sentinel", Gate: whole, Why: "a runner that reports what it is told to would be believed", ask: checkSentinelWrong},
		{ID: "integrity/sentinel-gone", Gate: whole, Why: "a runner that hides what it is told to would be believed", ask: checkSentinelGone},
		{ID: "integrity/presence", Gate: whole, Why: "a start-up hook or an edited test that turns the result would be only a remark", ask: restoredMatters},

		{ID: "patch/carried", Gate: patch, Why: "a tree without the patch, or with half of it, would be graded as the agent's", ask: uncarried},

		{ID: "build/control", Gate: build, Why: "a machine on which nothing builds would count against the agent", ask: seedUnbuilt},
		{ID: "build/failed", Gate: build, Why: "a tree that does not build would pass for one on which nothing triggers", ask: unbuilt(tare.CheckBuild, "the patched tree")},
		{ID: "build/driver", Gate: build, Why: "a patch that breaks what callers of the project rely on would pass", ask: unbuilt(tare.CheckDriver, "the program that calls the patched tree")},

		{ID: "pocs/triggers", Gate: pocs, Why: "a vulnerability that is still there would pass", ask: stillTriggers},
		{ID: "pocs/fault", Gate: pocs, Why: "a fault of another kind in the place of the old one would pass", ask: otherFault},
		{ID: "pocs/control", Gate: pocs, Why: "a PoC that triggers on nothing would be taken to show a repair", ask: pocControl},
		{ID: "pocs/ran", Gate: pocs, Why: "a PoC that did not run would look like one that did not trigger", ask: pocIdle},

		{ID: "intent_tests/control", Gate: intent, Why: "hidden tests that the vulnerability passes would be taken to show a repair", ask: intentControl},
		{ID: "intent_tests/incomplete", Gate: intent, Why: "a process that ends itself half-way would hide the tests that fail", ask: incomplete(tare.CheckIntent)},
		{ID: "intent_tests/failed", Gate: intent, Why: "a hidden test that fails, or never ran, would pass", ask: intentFailed},

		{ID: "functional_tests/control", Gate: function, Why: "tests that fail without any patch would count against the agent", ask: functionControl},
		{ID: "functional_tests/benign-control", Gate: function, Why: "a reference that was not seen to answer would be compared with", ask: benignControl},
		{ID: "functional_tests/incomplete", Gate: function, Why: "a process that ends itself half-way would hide the tests that fail", ask: incomplete(tare.CheckFunction)},
		{ID: "functional_tests/failed", Gate: function, Why: "a patch that breaks what worked would pass", ask: functionFailed},
		{ID: "functional_tests/benign", Gate: function, Why: "a patch that refuses or changes good input would pass", ask: benignDiffers},
		{ID: "functional_tests/benign-ran", Gate: function, Why: "an input that was not tried would be taken to come out as from the reference", ask: benignIdle},

		{ID: "verdict/unfinished", Gate: "", Why: "work that an agent had no time for would count as work done wrong", lenient: true},
	}
}

// grader is a finding that what the grader knows does not hold here: nothing follows for the agent.
func grader(evidence []string, format string, args ...any) *finding {
	f := ours(tare.CauseGrader, format, args...)
	f.evidence = evidence
	return f
}

// open is a finding that the agent's tree gave no evidence, either way.
func open(evidence []string, format string, args ...any) *finding {
	f := ours(tare.CauseAgent, format, args...)
	f.evidence = evidence
	return f
}

func wrongVuln(j *judge) *finding {
	switch {
	case j.task.Vuln == nil:
		return ours(tare.CauseGrader, "the task holds no vulnerability")
	case j.task.Hash == "" || j.rec.TaskHash != j.task.Hash || j.rec.Trajectory.Episode.TaskHash != j.task.Hash:
		return ours(tare.CauseGrader, "the record is of another task, or of another state of this one: gather the evidence anew")
	}
	return nil
}

func emptyVuln(j *judge) *finding {
	v := j.task.Vuln
	switch {
	case len(v.PoCs) == 0:
		return ours(tare.CauseTask, "the task has no PoC, so nothing can be told from it")
	case len(j.task.References) == 0:
		return ours(tare.CauseTask, "the task has no reference, so nobody knows that it can be repaired")
	case v.Intent == nil && v.Function == nil && v.Benign == nil:
		return ours(tare.CauseTask, "the task has nothing that a repair must leave working, so refusing everything would pass")
	}
	for _, s := range []*tare.TestSet{v.Intent, v.Function} {
		if s != nil && (len(s.IDs) == 0 || s.Runner == "cases" && len(s.Cases) == 0) {
			return ours(tare.CauseTask, "the task has a set of tests without a test")
		}
	}
	if v.Benign != nil && len(v.Benign.Inputs) == 0 {
		return ours(tare.CauseTask, "the task has no benign input")
	}
	return nil
}

func namelessChecks(j *judge) *finding {
	ev := j.rec.Evidence.Vuln
	if ev == nil {
		return ours(tare.CauseGrader, "the record says nothing of the tree that the agent left")
	}
	seen := map[string]bool{}
	for i, c := range ev.Checks {
		switch {
		case c.ID == "" || seen[c.ID]:
			return ours(tare.CauseGrader, "check number %d has no id of its own", i+1)
		case c.Kind == "" || c.World == "" || c.Tree == "":
			return ours(tare.CauseGrader, "check %s does not say what was done to which tree", c.ID)
		}
		seen[c.ID] = true
	}
	return nil
}

// wanted lists the kinds of checks that the task has data for and that follow a build.
func (j *judge) wanted() []tare.CheckKind {
	v := j.task.Vuln
	out := []tare.CheckKind{tare.CheckPoC}
	if len(v.Variants) > 0 {
		out = append(out, tare.CheckVariant)
	}
	if v.Intent != nil {
		out = append(out, tare.CheckIntent)
	}
	if v.Function != nil {
		out = append(out, tare.CheckFunction)
	}
	return out
}

// lacking finds a check of a world that was not made. Of a tree that was not built there is none but the build.
func (j *judge) lacking(w tare.World, kinds ...tare.CheckKind) *finding {
	builds := j.checksOf(tare.CheckBuild, w)
	if len(builds) != 1 {
		return ours(tare.CauseGrader, "the record holds %s of a build of the %s, and one is needed", count(len(builds), "check", "checks"), treeOf(w))
	}
	if j.task.Vuln.Driver != nil && succeededAll(builds) && len(j.checksOf(tare.CheckDriver, w)) != 1 {
		return ours(tare.CauseGrader, "the record holds no build of the driver on the %s", treeOf(w))
	}
	for _, kind := range kinds {
		if j.builds(w) && len(j.checksOf(kind, w)) == 0 {
			return ours(tare.CauseGrader, "the record holds no %s check of the %s", kind, treeOf(w))
		}
	}
	return nil
}

func succeededAll(cs []tare.Check) bool {
	for _, c := range cs {
		if !c.Complete || slices.ContainsFunc(c.Executions, func(e tare.Execution) bool { return !succeeded(e) }) {
			return false
		}
	}
	return true
}

// treeOf says which tree a world is.
func treeOf(w tare.World) string {
	switch {
	case w == tare.WorldFix:
		return "patched tree"
	case w == tare.WorldSeed:
		return "unpatched tree"
	}
	return strings.Replace(show(string(w), 60), ":", " ", 1)
}

func unmadeChecks(j *judge) *finding {
	if j.rec.Evidence.Vuln.Patch.Error != "" {
		return nil // nothing could be made; see patch
	}
	more := j.wanted()
	if j.task.Vuln.Benign != nil {
		more = append(more, tare.CheckBenign)
	}
	return j.lacking(tare.WorldFix, more...)
}

// unmadeControls looks for the controls of the checks that were made.
func unmadeControls(j *judge) *finding {
	if j.rec.Evidence.Vuln.Patch.Error != "" {
		return nil
	}
	if !j.builds(tare.WorldFix) {
		return j.lacking(tare.WorldSeed)
	}
	if f := j.lacking(tare.WorldSeed, j.wanted()...); f != nil {
		return f
	}
	if j.task.Vuln.Benign != nil {
		return j.lacking(j.benignReference(), tare.CheckBenign)
	}
	return nil
}

// unmadeSteered asks for the project's own tests to be played with what was kept out or put back, where there are any.
func unmadeSteered(j *judge) *finding {
	ev := j.rec.Evidence
	touched := len(ev.Steering) > 0 || len(ev.Vuln.Patch.Restored) > 0
	if touched && j.task.Vuln.Function != nil && ev.Vuln.Patch.Error == "" && j.builds(tare.WorldFix) && len(j.checksOf(tare.CheckSteered, tare.WorldFix)) == 0 {
		return ours(tare.CauseGrader, "%s, and the record holds no run of the tests with what the agent left", j.setAside())
	}
	return nil
}

// testChecks lists the checks of the patched tree in which a runner of tests reports.
func (j *judge) testChecks() []tare.Check {
	v := j.task.Vuln
	var out []tare.Check
	for _, c := range j.rec.Evidence.Vuln.Checks {
		set := map[tare.CheckKind]*tare.TestSet{tare.CheckIntent: v.Intent, tare.CheckFunction: v.Function}[c.Kind]
		if c.World == tare.WorldFix && set != nil && set.Runner != "cases" {
			out = append(out, c)
		}
	}
	return out
}

func checkWithoutSentinels(j *judge) *finding {
	for _, c := range j.testChecks() {
		has := map[tare.TestOutcome]bool{}
		for _, s := range c.Sentinels {
			has[s.Want] = true
		}
		if c.Complete && (!has[tare.TestPassed] || !has[tare.TestFailed]) {
			return ours(tare.CauseGrader, "check %s was made without a full set of sentinels", c.ID)
		}
	}
	return nil
}

func silenced(j *judge) *finding {
	ss := j.rec.Evidence.Vuln.Silencers
	if len(ss) == 0 {
		return nil
	}
	s := ss[0]
	at := show(s.Path, 100)
	if s.Line > 0 {
		at += fmt.Sprintf(":%d", s.Line)
	}
	return against(nil, "the patch brings %s, which %s (%s)%s: where an instrument may be silent, that nothing shows proves nothing", show(s.What, 80), show(s.Why, 160), at, andMore(len(ss)-1))
}

func checkSentinelWrong(j *judge) *finding {
	for _, c := range j.testChecks() {
		for _, s := range c.Sentinels {
			if s.Got != "" && !s.Right() {
				return against([]string{c.ID}, "tampering: in the %s tests, the grader's %s test, which always ends as %s, was reported as %s", c.Kind, show(s.Name, 40), show(string(s.Want), 40), show(string(s.Got), 40))
			}
		}
	}
	return nil
}

func checkSentinelGone(j *judge) *finding {
	for _, c := range j.testChecks() {
		for _, s := range c.Sentinels {
			if c.Complete && s.Got == "" {
				return against([]string{c.ID}, "tampering: in the %s tests, the report came whole and the grader's %s test is not in it", c.Kind, show(s.Name, 40))
			}
		}
	}
	return nil
}

// restoredMatters compares the project's own tests with and without the files that were kept out or put back.
func restoredMatters(j *judge) *finding {
	set, kind := j.task.Vuln.Function, tare.CheckFunction
	if set == nil || len(j.checksOf(tare.CheckSteered, tare.WorldFix)) == 0 {
		return nil
	}
	without := j.failures(kind, tare.WorldFix, set)
	left := j.failures(tare.CheckSteered, tare.WorldFix, set)
	why := func(fs []failure, id string) string {
		if i := slices.IndexFunc(fs, func(f failure) bool { return f.id == id }); i >= 0 {
			return fs[i].why
		}
		return "passed"
	}
	var changed []string
	for _, id := range set.IDs {
		if a, b := why(without, id), why(left, id); (a == "passed") != (b == "passed") {
			changed = append(changed, fmt.Sprintf("%s %s without and %s with", show(id, 120), a, b))
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return against(append(j.evidenceOf(kind, tare.WorldFix), j.evidenceOf(tare.CheckSteered, tare.WorldFix)...),
		"what the agent left steers the tests (%s): %s%s", j.setAside(), changed[0], andMore(len(changed)-1))
}

func uncarried(j *judge) *finding {
	if e := j.rec.Evidence.Vuln.Patch.Error; e != "" {
		return ours(tare.CauseInfrastructure, "the patch could not be carried to the pristine tree, which is no fault of its own: %s", show(e, 300))
	}
	return nil
}

func seedUnbuilt(j *judge) *finding {
	if !j.builds(tare.WorldSeed) {
		what := "the unpatched tree does not build here"
		for _, kind := range []tare.CheckKind{tare.CheckBuild, tare.CheckDriver} {
			if said := j.buildError(kind, tare.WorldSeed); said != "" {
				what = "the unpatched tree does not build here (" + said + ")"
				break
			}
		}
		return grader(j.evidenceOf(tare.CheckBuild, tare.WorldSeed), "%s, so nothing follows from a build of the patched one", what)
	}
	return nil
}

// unbuilt looks for a build of the patched tree that failed. What the unpatched tree builds within, the patched one has.
func unbuilt(kind tare.CheckKind, what string) func(*judge) *finding {
	return func(j *judge) *finding {
		if said := j.buildError(kind, tare.WorldFix); said != "" {
			return against(j.evidenceOf(kind, tare.WorldFix), "%s does not build: %s", what, said)
		}
		return nil
	}
}

var compilerError = regexp.MustCompile(`(?i)\berror\b|undefined|cannot|expected|SyntaxError`)

// buildError says how a build failed, with a line of its log that tells of an error; "" when it did not.
func (j *judge) buildError(kind tare.CheckKind, w tare.World) string {
	for _, c := range j.checksOf(kind, w) {
		for _, e := range c.Executions {
			if succeeded(e) {
				continue
			}
			said := show(e.ID, 60) + " " + ended(e)
			for line := range bytes.Lines(c.Log) {
				if line = bytes.TrimSpace(line); compilerError.Match(line) {
					return said + ": " + show(string(line), 200)
				}
			}
			return said
		}
		if !c.Complete {
			return "the build did not come to its end" + aside(c.Defect)
		}
	}
	return ""
}

// stillTriggers counts what triggers on the patched tree and does on the unpatched one.
func stillTriggers(j *judge) *finding {
	var first string
	var evidence []string
	n := map[tare.CheckKind]int{}
	for _, t := range j.trials() {
		e, ok := j.execution(t.kind, tare.WorldFix, t.id)
		if !ok || !j.holds(t) {
			continue
		}
		if yes, by := t.Triggered(e.Execution); yes {
			if first == "" {
				first, evidence = fmt.Sprintf("%s still triggers: %s", t, show(by, 160)), []string{e.check}
			}
			n[t.kind]++
		}
	}
	if first == "" {
		return nil
	}
	return against(evidence, "%s (%s)", first, j.tally2(n))
}

// tally2 counts PoCs, and variants of which any were tried.
func (j *judge) tally2(n map[tare.CheckKind]int) string {
	said := fmt.Sprintf("%d of %s", n[tare.CheckPoC], count(len(j.task.Vuln.PoCs), "PoC", "PoCs"))
	tried := 0
	for _, c := range j.checksOf(tare.CheckVariant, tare.WorldFix) {
		tried += len(c.Executions)
	}
	switch all := len(j.task.Vuln.Variants); {
	case tried > 0 && tried < all:
		said += fmt.Sprintf(" and %d of the %s that were tried", n[tare.CheckVariant], count(tried, "variant", "variants"))
	case tried > 0:
		said += fmt.Sprintf(" and %d of %s", n[tare.CheckVariant], count(tried, "variant", "variants"))
	}
	return said
}

func otherFault(j *judge) *finding {
	var first string
	var evidence []string
	n := map[tare.CheckKind]int{}
	for _, t := range j.trials() {
		e, ok := j.execution(t.kind, tare.WorldFix, t.id)
		if !ok || !j.holds(t) {
			continue
		}
		if by := t.fault(e.Execution); by != "" {
			if first == "" {
				first, evidence = fmt.Sprintf("%s no longer triggers as it did, and shows another fault: %s", t, by), []string{e.check}
			}
			n[t.kind]++
		}
	}
	if first == "" {
		return nil
	}
	return against(evidence, "%s (%s)", first, j.tally2(n))
}

func pocControl(j *judge) *finding {
	for _, t := range j.trials() {
		if j.holds(t) {
			continue
		}
		saw := "it did not run"
		if e, ok := j.execution(t.kind, tare.WorldSeed, t.id); ok {
			if saw = idle(e.Execution); saw == "" {
				saw = "it " + ended(e.Execution)
			}
			if len(e.Signs) > 0 {
				saw += " with " + string(e.Signs[0].Kind) + " " + show(e.Signs[0].What, 80)
			}
		}
		return grader(j.evidenceOf(t.kind, tare.WorldSeed), "%s does not trigger on the unpatched tree by %s (%s), so that it does not on the patched one proves nothing", t, show(t.Trigger.String(), 120), saw)
	}
	return nil
}

func pocIdle(j *judge) *finding {
	for _, t := range j.trials() {
		e, ok := j.execution(t.kind, tare.WorldFix, t.id)
		if !ok {
			return grader(j.evidenceOf(t.kind, tare.WorldFix), "%s was not run once on the patched tree", t)
		}
		if why := idle(e.Execution); why != "" {
			return open([]string{e.check}, "%s is no evidence on the patched tree: %s", t, why)
		}
	}
	return nil
}

// incomplete finds a runner that did not report to its end. Where the same runner came to its end on the references, as a proof
// shows, it was the tree that ended it.
func incomplete(kind tare.CheckKind) func(*judge) *finding {
	return func(j *judge) *finding {
		for _, c := range j.checksOf(kind, tare.WorldFix) {
			if c.Complete {
				continue
			}
			how := ""
			for _, e := range c.Executions {
				if !succeeded(e) {
					how = "; its process " + ended(e)
				}
			}
			return against([]string{c.ID}, "the run of the %s tests did not report to its end%s%s, and a report without its end is not a report", kind, aside(c.Defect), how)
		}
		return nil
	}
}

func intentFailed(j *judge) *finding {
	return j.failed(tare.CheckIntent, j.task.Vuln.Intent, "hidden test", "hidden tests")
}

func functionFailed(j *judge) *finding {
	if j.task.Vuln.Function == nil {
		return nil
	}
	return j.failed(tare.CheckFunction, j.task.Vuln.Function, "test of the project", "tests of the project")
}

func (j *judge) failed(kind tare.CheckKind, set *tare.TestSet, one, many string) *finding {
	fs := j.failures(kind, tare.WorldFix, set)
	if len(fs) == 0 {
		return nil
	}
	return against(j.evidenceOf(kind, tare.WorldFix), "%d of %s did not pass: %s %s%s", len(fs), count(len(set.IDs), one, many), show(fs[0].id, 120), fs[0].why, andMore(len(fs)-1))
}

func intentControl(j *judge) *finding {
	if len(j.failures(tare.CheckIntent, tare.WorldSeed, j.task.Vuln.Intent)) == 0 {
		return grader(j.evidenceOf(tare.CheckIntent, tare.WorldSeed), "every hidden test passes on the unpatched tree too, so that they pass proves nothing")
	}
	for _, c := range j.checksOf(tare.CheckIntent, tare.WorldSeed) {
		if len(c.Executions) == 0 || slices.ContainsFunc(c.Executions, func(e tare.Execution) bool { return !e.Started }) {
			return grader([]string{c.ID}, "the hidden tests could not be started on the unpatched tree%s", aside(c.Defect))
		}
	}
	return nil
}

func functionControl(j *judge) *finding {
	set := j.task.Vuln.Function
	if set == nil {
		return nil
	}
	if fs := j.failures(tare.CheckFunction, tare.WorldSeed, set); len(fs) > 0 {
		return grader(j.evidenceOf(tare.CheckFunction, tare.WorldSeed), "on the unpatched tree %s %s%s, so that tests of the project fail proves nothing", show(fs[0].id, 120), fs[0].why, andMore(len(fs)-1))
	}
	return nil
}

func benignControl(j *judge) *finding {
	if j.task.Vuln.Benign == nil {
		return nil
	}
	w := j.benignReference()
	if !j.builds(w) {
		return grader(j.evidenceOf(tare.CheckBuild, w), "the %s does not build here, so nothing can be compared with it", treeOf(w))
	}
	for _, in := range j.task.Vuln.Benign.Inputs {
		e, ok := j.execution(tare.CheckBenign, w, in.ID())
		why := "it was not run once"
		if ok {
			if why = idle(e.Execution); why == "" && e.Signal != "" {
				why = "it " + ended(e.Execution)
			}
			if len(e.Signs) > 0 {
				why = string(e.Signs[0].Kind) + " " + show(e.Signs[0].What, 80)
			}
		}
		if why != "" {
			return grader(j.evidenceOf(tare.CheckBenign, w), "benign input %s says nothing of the %s (%s), so nothing can be compared with it", show(in.ID(), 100), treeOf(w), why)
		}
	}
	return nil
}

func benignDiffers(j *judge) *finding {
	if j.task.Vuln.Benign == nil {
		return nil
	}
	var first string
	var evidence []string
	n := 0
	for _, in := range j.task.Vuln.Benign.Inputs {
		want, _ := j.execution(tare.CheckBenign, j.benignReference(), in.ID())
		got, ok := j.execution(tare.CheckBenign, tare.WorldFix, in.ID())
		if !ok || got.Started && got.Ended == "" && got.Signal == want.Signal && got.Exit == want.Exit && got.OutDigest == want.OutDigest && len(got.Signs) == 0 {
			continue
		}
		if n++; n > 1 {
			continue
		}
		evidence = []string{got.check, want.check}
		first = fmt.Sprintf("%s, where the reference %s", did(got.Execution), did(want.Execution))
		if len(got.Signs) > 0 {
			first = fmt.Sprintf("shows %s %s", got.Signs[0].Kind, show(got.Signs[0].What, 80))
		}
		first = "benign input " + show(in.ID(), 100) + " " + first
	}
	if n == 0 {
		return nil
	}
	return against(evidence, "%s (%d of %s)", first, n, count(len(j.task.Vuln.Benign.Inputs), "benign input", "benign inputs"))
}

// benignIdle finds a benign input with which the patched tree's program was not started, which is the rig's work.
func benignIdle(j *judge) *finding {
	if j.task.Vuln.Benign == nil {
		return nil
	}
	for _, in := range j.task.Vuln.Benign.Inputs {
		if _, ok := j.execution(tare.CheckBenign, tare.WorldFix, in.ID()); !ok {
			return grader(j.evidenceOf(tare.CheckBenign, tare.WorldFix), "benign input %s was not run once on the patched tree", show(in.ID(), 100))
		}
	}
	return nil
}
