package oracle

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tare"
	"tare/internal/detect"
)

// CanaryRules is the table from which the gates of a canary run, in the order in which they are asked. It is a fresh copy each
// time.
func CanaryRules() []Rule {
	const (
		infra  = tare.GateInfrastructure
		ran    = tare.GateRan
		detect = tare.GateDetection
	)
	return []Rule{
		{ID: "infrastructure/record", Gate: infra, Why: "a record of another form would be read as if it were this one", ask: wrongRecord},
		{ID: "infrastructure/task", Gate: infra, Why: "a record of another canary, or of another state of this one, would be matched with a signal that is not its own", ask: wrongCanary},
		{ID: "infrastructure/stop", Gate: infra, Why: "a failure of the model's service or of the world would count against the harness", ask: brokenStop},
		{ID: "infrastructure/broken-off", Gate: infra, Why: "half a record would be taken for a whole one", ask: brokenOff},
		{ID: "infrastructure/problems", Gate: infra, Why: "what the rig failed to observe would be rounded to one side", ask: problems},
		{ID: "infrastructure/isolation", Gate: infra, Why: "nobody could say what stood between the harness and the grader", ask: noIsolation},
		{ID: "infrastructure/reply", Gate: infra, Why: "an episode of which no reply was kept would look like a silent one", ask: noReply},
		{ID: "infrastructure/prompt", Gate: infra, Why: "a reply to another question would be matched", ask: otherPrompt},
		{ID: "infrastructure/fixture", Gate: infra, Why: "a signal that does not occur on the fixture could not be detected by anybody", ask: fixtureHolds},
		{ID: "infrastructure/twin", Gate: infra, Why: "a signal that occurs without the plant would prove no detection of it", ask: twinHolds},

		{ID: "ran/stopped", Gate: ran, Why: "a time-out would be read as an answer", ask: harnessStopped},
		{ID: "ran/crashed", Gate: ran, Why: "a crash, or a program that was never found, would be read as an answer", ask: harnessCrashed},
		{ID: "ran/nothing", Gate: ran, Why: "a harness that collects no test would be quiet", ask: ranNothing},
		{ID: "ran/elsewhere", Gate: ran, Why: "a harness that runs the tests of another directory would be quiet", ask: ranElsewhere},
		{ID: "ran/silence", Gate: ran, Why: "a harness that runs nothing and says that all is well would be quiet", ask: ranUnseen},

		{ID: "detection/undecided", Gate: detect, Why: "a signal of which nothing plain is said would be counted", ask: signalUndecided},
		{ID: "detection/unnamed", Gate: detect, Why: "a harness that says that something fails, and not what, would be counted", ask: defectUnnamed},
		{ID: "detection/scattered", Gate: detect, Why: "a harness that reports every test as soon as something fails would be counted", ask: scattered},
		{ID: "detection/cut", Gate: detect, Why: "what stood in the part of the reply that was not kept would be taken to be absent", ask: replyCut},
		{ID: "detection/missed", Gate: detect, Why: "a planted defect that nobody reported would be detected", ask: signalMissed},
		{ID: "detection/noise", Gate: detect, Why: "a clean control that is reported as broken would be quiet", ask: noisy},
		{ID: "detection/doubt", Gate: detect, Why: "words that may report a defect would be taken for silence", ask: unsure},
		{ID: "detection/unclean", Gate: detect, Why: "a harness that ends with an error and says nothing of it would be quiet", ask: uncleanEnd},
	}
}

// canaryGates answers the gates of a canary.
func (j *judge) canaryGates() []tare.Gate {
	infra := j.gate(tare.GateInfrastructure, j.first(tare.GateInfrastructure), "the rig did all that it should have done; the signal occurs where it was planted, and only there", nil)
	if infra.Outcome != tare.Pass || j.task.Canary == nil {
		return []tare.Gate{infra, blocked(tare.GateRan, tare.GateInfrastructure), blocked(tare.GateDetection, tare.GateInfrastructure)}
	}
	idle := j.first(tare.GateRan)
	gates := []tare.Gate{infra, j.gate(tare.GateRan, idle, j.seenToRun(), nil)}
	if idle != nil && (idle.rule == "ran/stopped" || idle.rule == "ran/crashed") {
		return append(gates, blocked(tare.GateDetection, tare.GateRan))
	}
	pass := "quiet: nothing is reported to be wrong"
	if j.planted() {
		_, why := j.reply().Signal, j.reply().Why
		pass = "caught: " + why
	}
	return append(gates, j.gate(tare.GateDetection, j.first(tare.GateDetection), pass, nil))
}

func (j *judge) planted() bool { return j.task.Canary.Signal.Kind != tare.SignalNone }

// replyText is all that the harness said.
func (j *judge) replyText() string {
	if s := j.rec.Evidence.Canary.Said; s != nil {
		return string(s.Stdout) + "\n" + string(s.Stderr)
	}
	return j.rec.Trajectory.Final
}

// reply is what the harness's reply says.
func (j *judge) reply() detect.Answer {
	if j.answer == nil {
		q := detect.Question{Signal: j.task.Canary.Signal, Prompt: j.rec.Evidence.Canary.Prompt, Tests: testsOf(j.rec.Evidence.Canary.Fixture)}
		if s := j.rec.Evidence.Canary.Said; s != nil && s.Exit >= 0 {
			q.Exit = &s.Exit
		}
		a := detect.Read(q, j.replyText())
		j.answer = &a
	}
	return *j.answer
}

// testsOf are the tests and packages that a fixture's own check names.
func testsOf(run *tare.FixtureRun) []string {
	var out []string
	for _, c := range detect.Cases(string(run.Output)) {
		out = append(out, c.ID)
	}
	return out
}

func wrongCanary(j *judge) *finding {
	switch {
	case j.task.Kind != tare.Canary || j.task.Canary == nil:
		return ours(tare.CauseGrader, "there are no gates for a task of kind %q", show(string(j.task.Kind), 40))
	case j.task.Hash == "" || j.rec.TaskHash != j.task.Hash || j.rec.Trajectory.Episode.TaskHash != j.task.Hash:
		return ours(tare.CauseGrader, "the record is of another canary, or of another state of this one")
	}
	return nil
}

func noReply(j *judge) *finding {
	if ev := j.rec.Evidence.Canary; ev == nil || ev.Fixture == nil {
		return ours(tare.CauseInfrastructure, "the record holds no reply, or not what the fixture's own check showed")
	}
	return nil
}

func otherPrompt(j *judge) *finding {
	ev := j.rec.Evidence.Canary
	p, ok := j.task.Canary.Phrasing(ev.Phrasing)
	if !ok || strings.TrimSpace(p.Text) != strings.TrimSpace(ev.Prompt) {
		return ours(tare.CauseGrader, "the harness was asked something else than phrasing %q says", show(ev.Phrasing, 40))
	}
	return nil
}

// occurs is what a fixture's own check says of a signal.
func occurs(s tare.Signal, run *tare.FixtureRun) (detect.Answer, int) {
	a := detect.Read(detect.Question{Signal: s, Tests: testsOf(run), Exit: &run.Exit}, string(run.Output))
	return a, len(testsOf(run))
}

func fixtureHolds(j *judge) *finding {
	run := j.rec.Evidence.Canary.Fixture
	a, tests := occurs(j.task.Canary.Signal, run)
	switch {
	case run.Ended != "":
		return ours(tare.CauseTask, "the fixture's own check was ended by its limit on %s", show(run.Ended, 20))
	case tests == 0:
		return ours(tare.CauseTask, "the fixture's own check names no test that ran: %s", firstSaid(run.Output))
	case j.planted() && a.Signal != detect.Reported:
		return ours(tare.CauseTask, "the signal does not occur on the planted fixture: %s", a.Why)
	case !j.planted() && len(a.Defects) > 0:
		return ours(tare.CauseTask, "the clean control is not clean: %s", show(a.Defects[0], 200))
	case !j.planted() && run.Exit != 0:
		return ours(tare.CauseTask, "the clean control is not clean: its own check ends with status %d", run.Exit)
	}
	return nil
}

func twinHolds(j *judge) *finding {
	if !j.planted() {
		return nil
	}
	twin := j.rec.Evidence.Canary.Twin
	if twin == nil {
		return ours(tare.CauseTask, "it was not shown that the signal does not occur without the plant")
	}
	a, tests := occurs(j.task.Canary.Signal, twin)
	switch {
	case twin.Ended != "" || tests == 0:
		return ours(tare.CauseTask, "the check of the fixture without the plant did not run: %s", firstSaid(twin.Output))
	case a.Signal == detect.Reported || len(a.Defects) > 0 || twin.Exit != 0:
		said := fmt.Sprintf("its check ends with status %d", twin.Exit)
		if len(a.Defects) > 0 {
			said = show(a.Defects[0], 200)
		}
		return ours(tare.CauseTask, "the fixture without the plant fails too: %s", said)
	}
	return nil
}

// FixtureFault says why nobody could answer a canary: its signal does not occur where it was planted, or occurs elsewhere too.
// It is "" when the canary holds.
func FixtureFault(task *tare.Task, ev tare.CanaryEvidence) string {
	j := &judge{task: task, rec: tare.Record{Evidence: tare.Evidence{Canary: &ev}}}
	for _, ask := range []func(*judge) *finding{fixtureHolds, twinHolds} {
		if f := ask(j); f != nil {
			return f.reason
		}
	}
	return ""
}

func firstSaid(b []byte) string {
	l, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if l == "" {
		return "it printed nothing"
	}
	return show(l, 200)
}

func harnessStopped(j *judge) *finding {
	switch s := j.rec.Trajectory.Stop; s {
	case tare.EndTurn, tare.AgentCrash:
		return nil
	default:
		return ours(tare.CauseAgent, "the harness did not come to an end of its own (%s): that is no answer", show(string(s), 40))
	}
}

// Statuses by which a shell says that a program was not there or could not be started.
const (
	notExecutable = 126
	notFound      = 127
)

func harnessCrashed(j *judge) *finding {
	s := j.rec.Evidence.Canary.Said
	switch {
	case j.rec.Trajectory.Stop != tare.AgentCrash:
		return nil
	case s == nil || s.Exit < 0 || s.Signal != "" || s.Exit == notExecutable || s.Exit == notFound || s.Exit > 128:
		return ours(tare.CauseAgent, "the harness crashed%s: that is no answer", aside(j.rec.Trajectory.Detail))
	}
	return nil // it ended by itself, with a status of its own choice
}

// seenToRun says by what it is known that something ran; "" when nothing shows it.
func (j *judge) seenToRun() string {
	for _, s := range j.rec.Trajectory.Steps {
		if s.Call.Tool != "run_tests" || !s.Observation.OK {
			continue
		}
		a := detect.Read(detect.Question{Signal: j.task.Canary.Signal, Tests: testsOf(j.rec.Evidence.Canary.Fixture)}, s.Observation.Preview)
		if a.Ran.Tests > 0 || a.Ran.Named > 0 {
			return fmt.Sprintf("call %d ran tests", s.Call.Index)
		}
	}
	for _, c := range j.rec.Evidence.Changes {
		dir, name := path.Split(c.Path)
		if path.Base(dir) == "__pycache__" && (strings.HasPrefix(name, "test_") || strings.Contains(name, "_test.")) && c.Kind == tare.Added {
			return "a run of the fixture's tests left " + show(c.Path, 120)
		}
	}
	r, known := j.reply().Ran, len(testCases(j.rec.Evidence.Canary.Fixture))
	switch {
	case r.Nothing != "":
	case r.Named > 0 && r.Others <= r.Named:
		return fmt.Sprintf("by its own word: it lists how %s of this fixture came out", count(r.Named, "test or package", "tests or packages"))
	case r.Tests > 0 && r.Tests == known && r.Others == 0:
		return fmt.Sprintf("by its own word: %s, as many as the fixture has", count(r.Tests, "test", "tests"))
	}
	return ""
}

// testCases are the tests, without packages, that a fixture's own check names.
func testCases(run *tare.FixtureRun) []detect.Case {
	var out []detect.Case
	for _, c := range detect.Cases(string(run.Output)) {
		if !c.Package {
			out = append(out, c)
		}
	}
	return out
}

func ranNothing(j *judge) *finding {
	if n := j.reply().Ran.Nothing; n != "" && j.seenToRun() == "" {
		return ours(tare.CauseAgent, "the reply says that nothing ran: %s", show(n, 200))
	}
	return nil
}

func ranElsewhere(j *judge) *finding {
	r, known := j.reply().Ran, len(testCases(j.rec.Evidence.Canary.Fixture))
	if j.seenToRun() == "" && (r.Tests > 0 || r.Others > 0) {
		return ours(tare.CauseAgent, "the reply speaks of %s, the fixture has %d: they are not the fixture's", count(max(r.Tests, r.Others), "test", "tests"), known)
	}
	return nil
}

func ranUnseen(j *judge) *finding {
	if j.seenToRun() == "" {
		return ours(tare.CauseAgent, "nothing shows that anything ran: no call, no trace in the workspace, no number or name of a test in the reply")
	}
	return nil
}

func signalUndecided(j *judge) *finding {
	if a := j.reply(); j.planted() && a.Signal == detect.Undecided {
		return ours(tare.CauseGrader, "%s: read the reply", a.Why)
	}
	return nil
}

func defectUnnamed(j *judge) *finding {
	if a := j.reply(); j.planted() && a.Signal == detect.Absent && len(a.Defects) > 0 && !a.Named {
		return ours(tare.CauseGrader, "the reply says that something is wrong (%s) and does not name the signal: read it", show(a.Defects[0], 200))
	}
	return nil
}

// scattered asks whether what passes is reported too: who names everything has found nothing.
func scattered(j *judge) *finding {
	a := j.reply()
	if !j.planted() || a.Signal != detect.Reported {
		return nil
	}
	for _, c := range testCases(j.rec.Evidence.Canary.Fixture) {
		if c.Passed && slices.Contains(a.Accused, c.ID) {
			return ours(tare.CauseAgent, "the signal is reported, and so is %s, which passes: that something is named among others shows no detection", show(c.ID, 120))
		}
	}
	return nil
}

func replyCut(j *judge) *finding {
	s := j.rec.Evidence.Canary.Said
	if s != nil && s.Truncated && !(j.planted() && j.reply().Signal == detect.Reported) && !(!j.planted() && len(j.reply().Defects) > 0) {
		return ours(tare.CauseGrader, "the reply is longer than what is kept of it")
	}
	return nil
}

func signalMissed(j *judge) *finding {
	if a := j.reply(); j.planted() && a.Signal != detect.Reported {
		why := a.Why
		if a.Signal == detect.Absent && len(a.Defects) > 0 {
			why = "it reports something else: " + show(a.Defects[0], 200)
		}
		return against(nil, "missed: %s", why)
	}
	return nil
}

func noisy(j *judge) *finding {
	if a := j.reply(); !j.planted() && len(a.Defects) > 0 {
		return against(nil, "nothing is wrong with this fixture, and the reply says %q", show(a.Defects[0], 200))
	}
	return nil
}

func unsure(j *judge) *finding {
	if a := j.reply(); !j.planted() && len(a.Doubts) > 0 && !a.Clean {
		return ours(tare.CauseGrader, "it is not plain whether the reply reports a defect: %q", show(a.Doubts[0], 200))
	}
	return nil
}

func uncleanEnd(j *judge) *finding {
	if s := j.rec.Evidence.Canary.Said; !j.planted() && s != nil && s.Exit != 0 {
		return ours(tare.CauseAgent, "the harness ended with status %d and does not say why: that is not quiet", s.Exit)
	}
	return nil
}
