package oracle

import (
	"fmt"
	"slices"
	"strings"

	"tare"
)

// ours is a finding about the rig or the task, never about the agent.
func ours(cause tare.Cause, format string, args ...any) *finding {
	return &finding{outcome: tare.Unverified, cause: cause, reason: fmt.Sprintf(format, args...)}
}

// against is a finding against the agent, shown by the given runs.
func against(runs []string, format string, args ...any) *finding {
	return &finding{outcome: tare.Fail, cause: tare.CauseAgent, reason: fmt.Sprintf(format, args...), evidence: runs}
}

func wrongRecord(j *judge) *finding {
	if j.rec.Schema != tare.RecordSchema {
		return ours(tare.CauseGrader, "the record has the schema %q, and this grader reads %q", show(j.rec.Schema, 40), tare.RecordSchema)
	}
	if j.unwritable != nil {
		return ours(tare.CauseGrader, "the record cannot be written down: %s", show(j.unwritable.Error(), 200))
	}
	return nil
}

func wrongTask(j *judge) *finding {
	switch {
	case j.task.Kind != tare.Ticket:
		return ours(tare.CauseGrader, "there are no gates for a task of kind %q", show(string(j.task.Kind), 40))
	case j.task.Hash == "" || j.rec.TaskHash != j.task.Hash || j.rec.Trajectory.Episode.TaskHash != j.task.Hash:
		return ours(tare.CauseGrader, "the record is of another task, or of another state of this one: gather the evidence anew")
	}
	return nil
}

func emptyTask(j *judge) *finding {
	t := j.task
	for _, has := range []struct {
		n    int
		what string
	}{{len(t.Visible), "visible test"}, {len(t.Cases), "case"}, {len(t.References), "reference"}, {len(t.Twins), "twin"}} {
		if has.n == 0 {
			return ours(tare.CauseTask, "the task has no %s, so nothing can be told from it", has.what)
		}
	}
	return nil
}

func brokenStop(j *judge) *finding {
	if s := j.rec.Trajectory.Stop; s.Infrastructure() {
		return ours(tare.CauseInfrastructure, "the episode ended by a failure that is not the agent's: %s%s", s, aside(j.rec.Trajectory.Detail))
	}
	return nil
}

func brokenOff(j *judge) *finding {
	if j.rec.Trajectory.Stop == "" {
		return ours(tare.CauseInfrastructure, "the record breaks off: it does not say how the episode ended")
	}
	return nil
}

func problems(j *judge) *finding {
	ps := j.rec.Evidence.Problems
	if len(ps) == 0 {
		return nil
	}
	more := ""
	if len(ps) > 1 {
		more = fmt.Sprintf(" (and %s)", count(len(ps)-1, "more problem", "more problems"))
	}
	return ours(tare.CauseInfrastructure, "%s: %s%s", show(ps[0].Where, 100), show(ps[0].Error, 300), more)
}

func noIsolation(j *judge) *finding {
	if j.rec.Evidence.Isolation == "" {
		return ours(tare.CauseGrader, "the record does not say how the agent's code was isolated")
	}
	return nil
}

func namelessRuns(j *judge) *finding {
	seen := map[string]bool{}
	for i, r := range j.rec.Evidence.Runs {
		switch {
		case r.ID == "" || seen[r.ID]:
			return ours(tare.CauseGrader, "run number %d has no id of its own", i+1)
		case r.Role == "" || r.World == "" || r.Tree == "" || len(r.Command) == 0:
			return ours(tare.CauseGrader, "run %s does not say what was run on what", r.ID)
		}
		seen[r.ID] = true
	}
	return nil
}

func noVisibleRun(j *judge) *finding { return not1(j, tare.RoleVisible, "the visible tests") }

func noBehaviourRun(j *judge) *finding { return not1(j, tare.RoleBehaviour, "the probe") }

func not1(j *judge, role tare.Role, what string) *finding {
	if n := len(j.runs(role)); n != 1 {
		return ours(tare.CauseGrader, "the record holds %s of %s, and one is needed", count(n, "run", "runs"), what)
	}
	return nil
}

func noSteeringRun(j *judge) *finding {
	if slices.ContainsFunc(j.rec.Evidence.Steering, func(s tare.Steering) bool { return s.Path == "" }) {
		return ours(tare.CauseGrader, "a file was kept out, and the record does not say which")
	}
	want := 0
	if len(j.rec.Evidence.Steering) > 0 {
		want = 1
	}
	if n := len(j.runs(tare.RoleSteering)); n != want {
		return ours(tare.CauseGrader, "%s kept out, and the record holds %s with them in place", count(len(j.rec.Evidence.Steering), "file was", "files were"), count(n, "run", "runs"))
	}
	return nil
}

func noChanges(j *judge) *finding {
	ev := j.rec.Evidence
	if len(ev.Changes) == 0 && (len(ev.Own) > 0 || len(ev.Steering) > 0) {
		return ours(tare.CauseGrader, "the record names tests or files of the agent's and no change")
	}
	return nil
}

// noSentinels looks for test runs whose sentinels the rig did not place. One that was placed and did not report is
// another matter.
func noSentinels(j *judge) *finding {
	for _, r := range j.rec.Evidence.Runs {
		if r.Role != tare.RoleVisible && r.Role != tare.RoleSteering && r.Role != tare.RoleRegression {
			continue
		}
		has := map[tare.TestOutcome]bool{}
		twin := r.Role != tare.RoleVisible // where the visible tests were edited, there may be none to double
		for _, s := range r.Sentinels {
			has[s.Want] = true
			twin = twin || s.Name == "twin"
		}
		if r.Complete && (!has[tare.TestPassed] || !has[tare.TestFailed] || !twin) {
			return ours(tare.CauseGrader, "run %s was made without a full set of sentinels", r.ID)
		}
	}
	return nil
}

func wrongSentinel(j *judge) *finding {
	for _, r := range j.rec.Evidence.Runs {
		for _, s := range r.Sentinels {
			if s.Got != "" && !s.Right() {
				return against([]string{r.ID}, "tampering: %s, the grader's %s test, which always ends as %s, was reported as %s", inRun(r), show(s.Name, 40), show(string(s.Want), 40), show(string(s.Got), 40))
			}
		}
	}
	return nil
}

func goneSentinel(j *judge) *finding {
	for _, r := range j.rec.Evidence.Runs {
		for _, s := range r.Sentinels {
			if r.Complete && s.Got == "" {
				return against([]string{r.ID}, "tampering: %s, the report came whole and the grader's %s test is not in it", inRun(r), show(s.Name, 40))
			}
		}
	}
	return nil
}

// steeringMatters compares the visible tests with and without the files that were kept out.
func steeringMatters(j *judge) *finding {
	steered := j.runs(tare.RoleSteering)
	if len(steered) == 0 {
		return nil
	}
	with, without := steered[0], j.run(tare.RoleVisible)
	var changed []string
	for _, id := range j.task.Visible {
		a, b := outcomeOf(without, id), outcomeOf(with, j.rec.Evidence.NowAt(id))
		if a != b {
			changed = append(changed, fmt.Sprintf("%s is %s without and %s with", show(id, 120), a, b))
		}
	}
	if len(changed) == 0 && with.Complete == without.Complete {
		return nil
	}
	if len(changed) == 0 {
		changed = []string{"with it, the run " + ending(with)}
	}
	return against([]string{without.ID, with.ID}, "%s could steer the tests and does: %s%s", j.keptOut(), changed[0], andMore(len(changed)-1))
}

// keptOut names the files that were kept out.
func (j *judge) keptOut() string {
	var names []string
	for _, s := range j.rec.Evidence.Steering {
		names = append(names, fmt.Sprintf("%s (%s)", show(s.Path, 100), show(s.Why, 100)))
	}
	return some(names)
}

// untouched is the reason of an integrity gate that passes.
func (j *judge) untouched() string {
	if len(j.rec.Evidence.Steering) == 0 {
		return "nothing that the agent left could steer the tests, and every sentinel came out right"
	}
	return fmt.Sprintf("kept out: %s; no visible test comes out differently with it, and every sentinel came out right%s", j.keptOut(), j.turned())
}

// turned says how the probe's answers change with the files that were kept out. It is a remark: code that is only right beside
// files which are not graded is not right, and neither is it tampering.
func (j *judge) turned() string {
	steered := j.runs(tare.RoleSteered)
	if len(steered) == 0 {
		return ""
	}
	if !steered[0].Complete {
		return "; with it in place the process that ran the probe " + ending(steered[0])
	}
	with, without := j.task.Failing(steered[0]), j.task.Failing(j.run(tare.RoleBehaviour))
	has := func(cs []tare.Case, c tare.Case) bool {
		return slices.ContainsFunc(cs, func(o tare.Case) bool { return o.ID == c.ID })
	}
	right, wrong := 0, 0
	for _, c := range j.task.Cases {
		switch {
		case has(without, c) && !has(with, c):
			right++
		case !has(without, c) && has(with, c):
			wrong++
		}
	}
	switch {
	case right > 0:
		return fmt.Sprintf("; with what was kept out in place (%s) the probe answers %s rightly that %s wrong without", j.keptOut(), count(right, "case", "cases"), map[bool]string{true: "is", false: "are"}[right == 1])
	case wrong > 0:
		return fmt.Sprintf("; with it in place the probe answers %s wrongly that %s right without", count(wrong, "case", "cases"), map[bool]string{true: "is", false: "are"}[wrong == 1])
	}
	return ""
}

// outcomeOf is what run says of a test, in a word.
func outcomeOf(r tare.Run, id string) string {
	out, found := "not reported", 0
	for _, t := range r.Tests {
		if t.ID == id {
			out = show(string(t.Outcome), 40)
			found++
		}
	}
	if found > 1 {
		return "reported twice"
	}
	return out
}

func visibleIncomplete(j *judge) *finding {
	r := j.run(tare.RoleVisible)
	if r.Complete {
		return nil
	}
	n := 0
	for _, id := range j.task.Visible {
		if outcomeOf(r, id) != "not reported" {
			n++
		}
	}
	return against([]string{r.ID}, "the test process %s; it had reported on %d of %s, and a report without its end is not a report", ending(r), n, count(len(j.task.Visible), "visible test", "visible tests"))
}

func visibleNone(j *judge) *finding {
	r := j.run(tare.RoleVisible)
	if len(r.Tests) > 0 {
		return nil
	}
	return against([]string{r.ID}, "not one of %s was collected", count(len(j.task.Visible), "visible test", "visible tests"))
}

func visibleMissing(j *judge) *finding {
	r := j.run(tare.RoleVisible)
	var gone []string
	for _, id := range j.task.Visible {
		if len(r.Tests) > 0 && outcomeOf(r, id) == "not reported" {
			gone = append(gone, show(id, 120))
		}
	}
	if len(gone) == 0 {
		return nil
	}
	why := uncollected(r, func(id string) bool {
		return slices.ContainsFunc(j.task.Visible, func(v string) bool { return id != "" && strings.HasPrefix(v, id) })
	})
	return against([]string{r.ID}, "%d of %s not collected: %s%s", len(gone), count(len(j.task.Visible), "visible test was", "visible tests were"), some(gone), why)
}

func visibleTwice(j *judge) *finding {
	r := j.run(tare.RoleVisible)
	for _, id := range j.task.Visible {
		if outcomeOf(r, id) == "reported twice" {
			return against([]string{r.ID}, "%s was reported twice in one run", show(id, 120))
		}
	}
	return nil
}

// visibleWith finds the visible tests that ended as outcome, in the words of verb.
func visibleWith(verb string, outcome tare.TestOutcome) func(*judge) *finding {
	return func(j *judge) *finding {
		r := j.run(tare.RoleVisible)
		var bad []string
		for _, t := range r.Tests {
			if slices.Contains(j.task.Visible, t.ID) && t.Outcome == outcome {
				bad = append(bad, show(t.ID, 120)+class(t))
			}
		}
		if len(bad) == 0 {
			return nil
		}
		was := ""
		if outcome == tare.TestSkipped {
			was = "was "
			if len(bad) > 1 {
				was = "were "
			}
		}
		return against([]string{r.ID}, "%d of %s %s%s: %s", len(bad), count(len(j.task.Visible), "visible test", "visible tests"), was, verb, some(bad))
	}
}

func visibleUnknown(j *judge) *finding {
	r := j.run(tare.RoleVisible)
	known := []tare.TestOutcome{tare.TestPassed, tare.TestFailed, tare.TestError, tare.TestSkipped}
	for _, t := range r.Tests {
		if slices.Contains(j.task.Visible, t.ID) && !slices.Contains(known, t.Outcome) {
			return against([]string{r.ID}, "%s ended as %q, which is no outcome", show(t.ID, 120), show(string(t.Outcome), 40))
		}
	}
	return nil
}

// behaviourIncomplete counts a report without its end against the agent: nothing but the probe, which is proven on the
// references, and the agent's code run in that process, and a failure of the sandbox is a problem, not a run.
func behaviourIncomplete(j *judge) *finding {
	r := j.run(tare.RoleBehaviour)
	if r.Complete {
		return nil
	}
	return against([]string{r.ID}, "the process that ran the probe %s; it had answered %d of %s, and a report without its end is not a report", ending(r), len(r.Cases), count(len(j.task.Cases), "case", "cases"))
}

func behaviourWrong(j *judge) *finding {
	r := j.run(tare.RoleBehaviour)
	wrong := j.task.Failing(r)
	if len(wrong) == 0 {
		return nil
	}
	var reqs []int
	for _, c := range wrong {
		reqs = append(reqs, c.Requirement)
	}
	slices.Sort(reqs)
	reqs = slices.Compact(reqs)
	names := strings.Trim(strings.ReplaceAll(fmt.Sprint(reqs), " ", ", "), "[]")
	plural := "requirement"
	if len(reqs) > 1 {
		plural = "requirements"
	}
	verb := "fails"
	if len(wrong) > 1 {
		verb = "fail"
	}
	f := against([]string{r.ID}, "%s (%d of %s %s; %s %s)%s", sayCase(wrong[0], r), len(wrong), count(len(j.task.Cases), "case", "cases"), verb, plural, names, j.turned())
	f.requirement = wrong[0].Requirement
	return f
}
