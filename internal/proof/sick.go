package proof

import (
	"encoding/json"
	"fmt"
	"slices"

	"tare"
	"tare/internal/run"
)

// A sickness is something wrong with a record that no solution brings about: the rig failed, or a report was forged. Its
// row is made from the record of another one, so it costs nothing to play.
type sickness struct {
	name   string
	of     string                              // control whose record is spoilt; "genuine" for the first reference with its test
	spoil  func(*tare.Task, *tare.Record) bool // false: the record does not lend itself to it
	expect tare.Expect
}

const genuine = "genuine"

// sicknesses is the library of what can be wrong with a record of a ticket. None of these may come out as PASS, and what is the rig's
// doing is never the agent's failure.
func sicknesses() []sickness {
	at := func(gate, reason string) tare.Expect {
		return tare.Expect{Outcome: tare.Fail, Gate: gate, Reason: reason}
	}
	record := func(change func(*tare.Record)) func(*tare.Task, *tare.Record) bool {
		return func(_ *tare.Task, r *tare.Record) bool { change(r); return true }
	}
	out := []sickness{
		{"run-without-a-name", genuine, record(func(r *tare.Record) { r.Evidence.Runs[0].Tree = "" }), infra("what was run on what")},
		{"no-visible-run", genuine, without(tare.RoleVisible), infra("of the visible tests")},
		{"no-behaviour-run", genuine, without(tare.RoleBehaviour), infra("of the probe")},
		{"no-steering-run", genuine, record(func(r *tare.Record) {
			r.Evidence.Steering = []tare.Steering{{Path: "conftest.py", Kind: tare.Added, Why: "conftest.py not in the seed"}}
		}), infra("kept out")},
		{"no-changes", genuine, record(func(r *tare.Record) { r.Evidence.Changes = nil }), infra("no change")},
		{"no-sentinels", genuine, each(tare.RoleVisible, func(_ *tare.Task, r *tare.Run) { r.Sentinels = nil }), infra("sentinels")},
		{"sentinel-left-out", genuine, each(tare.RoleVisible, func(_ *tare.Task, r *tare.Run) { r.Sentinels[0].Got = "" }), at(tare.GateIntegrity, "is not in it")},
		{"report-of-nothing", genuine, each(tare.RoleVisible, func(_ *tare.Task, r *tare.Run) { r.Tests = nil }), at(tare.GateVisibleTests, "not one of")},
		{"report-lacks-a-test", genuine, each(tare.RoleVisible, func(t *tare.Task, r *tare.Run) {
			r.Tests = slices.DeleteFunc(r.Tests, func(x tare.TestResult) bool { return x.ID == t.Visible[0] })
			r.Tests = append(r.Tests, tare.TestResult{ID: "another", Outcome: tare.TestPassed})
		}), at(tare.GateVisibleTests, "not collected")},
		{"report-twice", genuine, each(tare.RoleVisible, func(t *tare.Task, r *tare.Run) {
			r.Tests = append(r.Tests, tare.TestResult{ID: t.Visible[0], Outcome: tare.TestPassed})
		}), at(tare.GateVisibleTests, "reported twice")},
		{"report-of-an-error", genuine, visible(tare.TestError), at(tare.GateVisibleTests, "outside the test's body")},
		{"report-of-a-failure", genuine, visible(tare.TestFailed), at(tare.GateVisibleTests, "failed")},
		{"report-of-a-skip", genuine, visible(tare.TestSkipped), at(tare.GateVisibleTests, "skipped")},
		{"report-of-no-outcome", genuine, visible("excellent"), at(tare.GateVisibleTests, "no outcome")},
		{"evidence-stopped-early", genuine, record(func(r *tare.Record) { r.Evidence.Stopped = tare.GateBehaviour }),
			tare.Expect{Outcome: tare.Unverified, Gate: tare.GateRegressionTest, Reason: "gather it anew"}},
		{"failure-after-the-test", genuine, func(_ *tare.Task, r *tare.Record) bool {
			return change(r, tare.RoleRegression, tare.WorldSeed, func(x *tare.Run) {
				for i := range x.Tests {
					x.Tests[i].Outcome, x.Tests[i].Phase, x.Tests[i].InBody = tare.TestFailed, "teardown", true
				}
			})
		}, at(tare.GateRegressionTest, "not by its own doing")},
		{"varied-code-fails", genuine, func(task *tare.Task, r *tare.Record) bool {
			last := task.References[len(task.References)-1].Name
			return change(r, tare.RoleRegression, tare.WorldVaried(tare.WorldReference(last)), func(x *tare.Run) {
				for i := range x.Tests {
					x.Tests[i].Outcome, x.Tests[i].Phase, x.Tests[i].InBody = tare.TestFailed, "call", true
				}
			})
		}, at(tare.GateRegressionTest, "follows the code, not the behaviour")},
		{"stopped-before-it-was-done", "seed", record(func(r *tare.Record) { r.Trajectory.Stop = tare.WallLimit }),
			tare.Expect{Outcome: tare.Unverified, Reason: "stopped before it was done"}},
	}
	return slices.Concat(rigSicknesses(), out, graftSicknesses())
}

// sicknessesOf are those of the records of a task like this one.
func sicknessesOf(task *tare.Task) []sickness {
	if task.Kind == tare.Vuln {
		return vulnSicknesses()
	}
	return sicknesses()
}

// infra is what must become of a record that the rig could not make whole.
func infra(reason string) tare.Expect {
	return tare.Expect{Outcome: tare.Unverified, Gate: tare.GateInfrastructure, Reason: reason}
}

// rigSicknesses are of records of any kind of task.
func rigSicknesses() []sickness {
	record := func(change func(*tare.Record)) func(*tare.Task, *tare.Record) bool {
		return func(_ *tare.Task, r *tare.Record) bool { change(r); return true }
	}
	return []sickness{
		{"record-of-another-form", genuine, record(func(r *tare.Record) { r.Schema = "tare.record/0" }), infra("schema")},
		{"record-of-another-task", genuine, record(func(r *tare.Record) { r.TaskHash = tare.HashBytes([]byte("another")) }), infra("another task")},
		{"model-service-failed", genuine, record(func(r *tare.Record) { r.Trajectory.Stop = tare.ProviderError }), infra("not the agent's")},
		{"record-broken-off", genuine, record(func(r *tare.Record) { r.Trajectory.Stop = "" }), infra("breaks off")},
		{"rig-failed", genuine, record(func(r *tare.Record) {
			r.Evidence.Problems = []tare.Problem{{Where: "running the visible tests", Error: "no space left on device"}}
		}), infra("no space left")},
		{"no-isolation-stated", genuine, record(func(r *tare.Record) { r.Evidence.Isolation = "" }), infra("isolated")},
	}
}

// graftSicknesses are of the record of a test that needs what only the fix has.
func graftSicknesses() []sickness {
	unverified := func(reason string) tare.Expect {
		return tare.Expect{Outcome: tare.Unverified, Gate: tare.GateRegressionTest, Reason: reason}
	}
	const of = "marker-symbol@reference"
	return []sickness{
		{"no-graft", of, func(_ *tare.Task, r *tare.Record) bool {
			had := r.Evidence.Graft != nil
			r.Evidence.Graft = nil
			return had
		}, unverified("could not be put back")},
		{"lent-twin-passes", "helper-and-test", func(task *tare.Task, r *tare.Record) bool {
			return len(task.Twins) > 0 && change(r, tare.RoleRegression, tare.WorldLent(tare.WorldTwin(task.Twins[0].Name)), func(x *tare.Run) {
				for i := range x.Tests {
					x.Tests[i].Outcome = tare.TestPassed
				}
			})
		}, tare.Expect{Outcome: tare.Fail, Gate: tare.GateRegressionTest, Reason: "does not follow the bug"}},
		{"graft-not-confirmed", of, func(task *tare.Task, r *tare.Record) bool {
			return change(r, tare.RoleGraft, tare.WorldGraft, func(x *tare.Run) { x.Complete = false })
		}, unverified("does not see the bug")},
	}
}

// without drops the runs of a role.
func without(role tare.Role) func(*tare.Task, *tare.Record) bool {
	return func(_ *tare.Task, r *tare.Record) bool {
		r.Evidence.Runs = slices.DeleteFunc(r.Evidence.Runs, func(run tare.Run) bool { return run.Role == role })
		return true
	}
}

// each spoils the runs of a role.
func each(role tare.Role, spoil func(*tare.Task, *tare.Run)) func(*tare.Task, *tare.Record) bool {
	return func(t *tare.Task, r *tare.Record) bool {
		return change(r, role, tare.WorldFix, func(x *tare.Run) { spoil(t, x) })
	}
}

// visible gives the first visible test another outcome.
func visible(outcome tare.TestOutcome) func(*tare.Task, *tare.Record) bool {
	return each(tare.RoleVisible, func(t *tare.Task, run *tare.Run) {
		for i, x := range run.Tests {
			if x.ID == t.Visible[0] {
				run.Tests[i].Outcome = outcome
			}
		}
	})
}

// change spoils the runs of a role in a world; it is false when there are none.
func change(r *tare.Record, role tare.Role, w tare.World, spoil func(*tare.Run)) bool {
	found := false
	for i := range r.Evidence.Runs {
		if run := &r.Evidence.Runs[i]; run.Role == role && run.World == w {
			spoil(run)
			found = true
		}
	}
	return found
}

// A Sick control is a spoilt record, and what must become of it.
type Sick struct {
	Control tare.Control
	Task    *tare.Task
	Record  tare.Record
}

// SickRecords spoils the records of controls in every way that is known. Where the record that a way needs is not there, or
// does not lend itself to it, it is left out.
func SickRecords(task *tare.Task, records map[string]tare.Record) ([]Sick, error) {
	var out []Sick
	for _, s := range sicknessesOf(task) {
		of := s.of
		if of == genuine {
			of = genuineOf(task)
		}
		rec, ok := records[of]
		if !ok {
			continue
		}
		spoilt, err := copyOf(rec)
		if err != nil {
			return nil, err
		}
		if !s.spoil(task, &spoilt) {
			continue
		}
		out = append(out, Sick{tare.Control{Name: "sick:" + s.name, Origin: tare.FromSick, Expect: s.expect}, task, spoilt})
	}
	if len(out) > 0 { // and a task that nothing can be told from
		none, lacks := *task, "case"
		none.Cases = nil
		if task.Vuln != nil {
			vuln := *task.Vuln
			vuln.PoCs, none.Vuln, lacks = nil, &vuln, "PoC"
		}
		control := tare.Control{Name: "sick:task-that-asks-nothing", Origin: tare.FromSick, Expect: infra("the task has no " + lacks)}
		out = append(out, Sick{control, &none, records[genuineOf(task)]})
	}
	return out, nil
}

// genuineOf is the control whose solution is right and whose test is genuine.
func genuineOf(task *tare.Task) string {
	if len(task.References) == 0 {
		return ""
	}
	name := "reference:" + task.References[0].Name
	if task.Kind == tare.Vuln {
		return name
	}
	return name + "+test"
}

// copyOf is rec in memory of its own.
func copyOf(rec tare.Record) (tare.Record, error) {
	b, err := json.Marshal(rec)
	if err != nil {
		return tare.Record{}, fmt.Errorf("copying a record: %w", err)
	}
	var out tare.Record
	if err := json.Unmarshal(b, &out); err != nil {
		return tare.Record{}, fmt.Errorf("copying a record: %w", err)
	}
	return out, nil
}

// sickRows judges the spoilt records of every pass. results are by control, then pass.
func sickRows(task *tare.Task, controls []tare.Control, results [][]run.Result, judge func(*tare.Task, tare.Record) tare.Verdict) ([]Row, error) {
	if judge == nil || len(results) == 0 {
		return nil, nil
	}
	var passes [][]Sick
	for pass := range results[0] {
		records := map[string]tare.Record{}
		for i, c := range controls {
			records[c.Name] = results[i][pass].Record
		}
		if _, ok := records[genuineOf(task)]; !ok {
			return nil, nil // only some rows are played
		}
		sick, err := SickRecords(task, records)
		if err != nil {
			return nil, err
		}
		passes = append(passes, sick)
	}
	var rows []Row
	for i, s := range passes[0] {
		var judged []run.Result
		for _, sick := range passes {
			if i < len(sick) && sick[i].Control.Name == s.Control.Name {
				judged = append(judged, run.Result{Record: sick[i].Record, Verdict: judge(sick[i].Task, sick[i].Record)})
			}
		}
		row := newRow(s.Control, judged)
		if len(judged) < len(passes) && row.Wrong == "" {
			row.OK, row.Wrong = false, "not every pass has the record that it is made of"
		}
		rows = append(rows, row)
	}
	return rows, nil
}
