// Package oracle answers a task's gates from a record and from nothing else: it reads no clock, no file and no network,
// runs nothing, and knows no language. The same task and record give the same verdict, byte for byte.
//
// Every defence is a row of one table, [Rules], and the gates are run from that table, so that each can be switched off to
// show that something depends on it.
package oracle

import (
	"fmt"
	"slices"

	"tare"
	"tare/internal/detect"
)

// A Rule is one defence of one gate: a way in which a record can fall short, and what that does to the gate. Exactly one
// of its functions is set.
type Rule struct {
	ID   string // "visible_tests/missing"
	Gate string
	Why  string // what would go wrong without it

	ask    func(*judge) *finding          // the gate's first finding decides it
	node   func(*judge, subject) *finding // asked of each of the agent's own tests
	proper func(tare.TestResult) string   // why a failure is not the test's own doing, or ""
	lenient,
	strict bool // consulted where it applies
}

// Defences are the rules, as defences of the grader.
func Defences() []tare.Defence {
	var out []tare.Defence
	for _, r := range Rules() {
		out = append(out, tare.Defence{ID: r.ID, Stops: r.Why})
	}
	return out
}

// A finding is why a gate is not PASS.
type finding struct {
	rule        string
	outcome     tare.Outcome
	cause       tare.Cause
	reason      string
	requirement int
	evidence    []string

	// Of scenarios:
	steps   []int // the calls that it is held against
	missing bool  // something was not done, rather than done wrong
	alone   bool  // it stands whatever else failed
}

// Judge is the verdict on record, which an agent made at task.
func Judge(task *tare.Task, record tare.Record) tare.Verdict {
	switch task.Kind {
	case tare.Scenario:
		return NewBench(task).Judge(record)
	case tare.Vuln:
		return JudgeWith(VulnRules(), task, record)
	case tare.Canary:
		return JudgeWith(CanaryRules(), task, record)
	}
	return JudgeWith(Rules(), task, record)
}

// JudgeWith judges with the given rules alone. It is there to show what each rule is good for; verdicts come from Judge.
func JudgeWith(rules []Rule, task *tare.Task, record tare.Record) tare.Verdict {
	j := &judge{task: task, rec: record, rules: rules, causes: map[string]tare.Cause{}}
	v := tare.Verdict{
		Schema: tare.VerdictSchema, Task: task.ID, TaskHash: task.Hash, Stop: record.Trajectory.Stop,
		Unfinished: unfinished(record.Trajectory.Stop),
		Proof:      tare.Proof{Status: tare.Unproven}, Isolation: record.Evidence.Isolation,
	}
	b, err := tare.Canonical(record)
	if err == nil {
		v.Record = tare.HashBytes(b)
	}
	j.unwritable = err
	switch task.Kind {
	case tare.Vuln:
		v.Gates = j.vulnGates()
	case tare.Canary:
		v.Gates = j.canaryGates()
	default:
		v.Gates = j.gates()
	}
	v.Outcome, v.RootGate = tare.Fold(v.Gates)
	if v.Outcome != tare.Pass {
		v.Cause = j.causes[v.RootGate]
	}
	v.RewardBounds = bounds(v.Gates)
	if v.Outcome != tare.Unverified {
		reward := v.RewardBounds[0]
		v.Reward = &reward
	}
	for _, g := range v.Gates {
		if g.Outcome == tare.Unverified && g.Need != tare.Advisory {
			v.Unresolved = append(v.Unresolved, g.Name+": "+g.Reason)
		}
	}
	return v
}

// unfinished reports whether the agent was stopped before it said that it was done.
func unfinished(s tare.StopReason) bool { return s != tare.EndTurn && s != "" }

// judge is one judgement in the making.
type judge struct {
	task   *tare.Task
	rec    tare.Record
	rules  []Rule
	causes map[string]tare.Cause // of the gates that are not PASS
	tally  *tally                // of the agent's tests, once it was asked for
	answer *detect.Answer        // of a canary: what the reply says, once it was asked for

	unwritable error // why the record cannot be written down
}

// on reports whether the rule is in force.
func (j *judge) on(id string) bool {
	return slices.ContainsFunc(j.rules, func(r Rule) bool { return r.ID == id })
}

// gates answers all gates in order.
func (j *judge) gates() []tare.Gate {
	infra := j.gate(tare.GateInfrastructure, j.first(tare.GateInfrastructure), "the rig did all that it should have done", nil)
	gates := []tare.Gate{infra}
	if infra.Outcome != tare.Pass {
		for _, name := range []string{tare.GateIntegrity, tare.GateVisibleTests, tare.GateBehaviour, tare.GateRegressionTest, tare.GateClaims} {
			gates = append(gates, blocked(name, tare.GateInfrastructure))
		}
		return gates
	}
	tampered := j.first(tare.GateIntegrity)
	gates = append(gates, j.gate(tare.GateIntegrity, tampered, j.untouched(), []tare.Role{tare.RoleSteering, tare.RoleSteered}))
	if tampered != nil && tampered.rule != "integrity/presence" {
		gates = append(gates, blocked(tare.GateVisibleTests, tare.GateIntegrity))
	} else {
		gates = append(gates, j.gate(tare.GateVisibleTests, j.first(tare.GateVisibleTests),
			fmt.Sprintf("%d of %s collected and passed", len(j.task.Visible), count(len(j.task.Visible), "visible test was", "visible tests were")), []tare.Role{tare.RoleVisible}))
	}
	requirements := map[int]bool{}
	for _, c := range j.task.Cases {
		requirements[c.Requirement] = true
	}
	gates = append(gates, j.gate(tare.GateBehaviour, j.first(tare.GateBehaviour),
		fmt.Sprintf("%d of %s answered as the ticket says, for %s", len(j.task.Cases), count(len(j.task.Cases), "case was", "cases were"), count(len(requirements), "requirement", "requirements")), []tare.Role{tare.RoleBehaviour}))
	if i := slices.IndexFunc(gates, func(g tare.Gate) bool { return g.Outcome != tare.Pass }); i >= 0 {
		gates = append(gates, blocked(tare.GateRegressionTest, gates[i].Name))
	} else {
		f, pass := j.regression()
		gates = append(gates, j.gate(tare.GateRegressionTest, f, pass, []tare.Role{tare.RoleRegression, tare.RoleGraft}))
	}
	return append(gates, j.claims(gates))
}

// first is the first finding of the gate's rules.
func (j *judge) first(gate string) *finding {
	for _, r := range j.rules {
		if r.Gate != gate || r.ask == nil {
			continue
		}
		if f := r.ask(j); f != nil {
			f.rule = r.ID
			return f
		}
	}
	return nil
}

// gate makes a required gate of what was found: PASS, with the reason pass, when that is nothing. The runs with the given
// roles are behind it.
func (j *judge) gate(name string, f *finding, pass string, roles []tare.Role) tare.Gate {
	g := tare.Gate{Name: name, Need: tare.Required, Outcome: tare.Pass, Reason: pass}
	var ids []string
	for _, r := range j.rec.Evidence.Runs {
		if slices.Contains(roles, r.Role) {
			g.Seconds += r.Seconds
			ids = append(ids, r.ID)
		}
	}
	g.Evidence = ids
	if f == nil {
		return g
	}
	g.Outcome, g.Reason, g.Requirement = f.outcome, f.reason, f.requirement
	if len(f.evidence) > 0 {
		g.Evidence = f.evidence
	}
	cause := f.cause
	if cause == "" {
		cause = tare.CauseAgent
	}
	if stop := j.rec.Trajectory.Stop; g.Outcome == tare.Fail && name != tare.GateIntegrity && unfinished(stop) && j.on("verdict/unfinished") {
		g.Outcome = tare.Unverified
		g.Reason += fmt.Sprintf("; but the agent was stopped before it was done (%s), so the work may only be missing", show(string(stop), 40))
		if stop == tare.Cancelled {
			cause = tare.CauseInfrastructure
		}
	}
	j.causes[name] = cause
	return g
}

// blocked is a gate that cannot be reached because of root.
func blocked(name, root string) tare.Gate {
	need := tare.Required
	if name == tare.GateClaims {
		need = tare.Advisory
	}
	return tare.Gate{Name: name, Need: need, Outcome: tare.Blocked, BlockedBy: root, Reason: "not reached: see " + root}
}

// bounds is what the reward could be: two equal numbers when every gate that counts is PASS or one is FAIL.
func bounds(gates []tare.Gate) [2]float64 {
	below := map[string]float64{
		tare.GateIntegrity: 0, tare.GateVisibleTests: 0, tare.GateBehaviour: 0.5, tare.GateRegressionTest: 0.85,
		tare.GateRan: 0, tare.GateDetection: 0,
		tare.GatePatch: 0, tare.GateBuild: 0, tare.GatePoCs: 0, tare.GateIntentTests: 0, tare.GateFunctionalTests: 0,
	}
	low := 1.0
	for _, g := range gates {
		reward, graded := below[g.Name]
		switch {
		case g.Need == tare.Advisory || g.Outcome == tare.Pass || g.Outcome == tare.NotApplicable:
		case g.Outcome == tare.Fail:
			return [2]float64{min(low, reward), min(low, reward)}
		case graded:
			low = min(low, reward)
		}
	}
	return [2]float64{low, 1}
}

// runs lists the record's runs with that role.
func (j *judge) runs(role tare.Role) []tare.Run {
	var out []tare.Run
	for _, r := range j.rec.Evidence.Runs {
		if r.Role == role {
			out = append(out, r)
		}
	}
	return out
}

// run is the record's only run with that role; the infrastructure gate has seen to it that there is one.
func (j *judge) run(role tare.Role) tare.Run {
	if rs := j.runs(role); len(rs) > 0 {
		return rs[0]
	}
	return tare.Run{}
}
