package oracle

import (
	"slices"
	"testing"

	"tare"
)

// gateOf is the outcome of a gate, "" where there is none.
func gateOf(v tare.Verdict, name string) tare.Outcome {
	g, _ := v.Gate(name)
	return g.Outcome
}

// forged answers what was not asked, of every gate that has an answer or is the rig's: nothing may come of it.
func forged(t *testing.T, p play, task *tare.Task, rec tare.Record, v tare.Verdict) {
	t.Helper()
	if rec.Evidence.Scenario == nil {
		return
	}
	ev := *rec.Evidence.Scenario
	ev.Reviews = slices.Clone(ev.Reviews)
	for _, g := range v.Gates {
		if g.Outcome != tare.Unverified || g.Name == tare.GateInfrastructure {
			answer := answerYes
			if g.Outcome == tare.Pass {
				answer = answerNo
			}
			ev.Reviews = append(ev.Reviews, tare.Review{Record: v.Record, About: g.Name + ": " + g.Reason, Answer: answer, By: "a person", Why: "it was wished"})
		}
	}
	rec.Evidence.Scenario = &ev
	if w := Judge(task, rec); w.Outcome != v.Outcome || w.RootGate != v.RootGate {
		t.Errorf("%s: gates were answered that were not open, and %s (%s) became %s (%s)", p.name, v.Outcome, v.RootGate, w.Outcome, w.RootGate)
	}
}

// TestReviewsOfEveryPlay answers every question that any record of the tests leaves open, in every way that there is. An answer settles
// what it is asked of, and nothing else: no failure goes away, nothing of the rig's is settled, and what was not asked is not read.
func TestReviewsOfEveryPlay(t *testing.T) {
	asked, steps, closed := 0, 0, 0
	for _, p := range plays() {
		task, rec := p.make()
		v := Judge(task, rec)
		open := Questions(task, rec, v.Record)
		if len(open) > len(v.Unresolved) || len(open) == 0 && len(v.Unresolved) > 0 {
			t.Errorf("%s: %d entries and %d questions", p.name, len(v.Unresolved), len(open))
		}
		forged(t, p, task, rec, v)
		for _, q := range open {
			if len(q.Answers) == 0 {
				closed++
			}
			for _, answer := range append([]string{answerYes, answerNo, "applied", "perhaps"}, q.Answers...) {
				again := rec
				ev := tare.ScenarioEvidence{}
				if rec.Evidence.Scenario != nil {
					ev = *rec.Evidence.Scenario
				}
				ev.Reviews = append(slices.Clone(ev.Reviews), tare.Review{Record: v.Record, About: q.About, Step: q.Step, Answer: answer, By: "a person", Why: "it was seen"})
				again.Evidence.Scenario = &ev
				w := Judge(task, again)
				may := slices.Contains(q.Answers, answer)
				if rec.Evidence.Scenario == nil {
					continue // with an empty record of a scenario it is another record
				}
				if !may && (w.Outcome != v.Outcome || w.RootGate != v.RootGate) {
					t.Errorf("%s: %q was answered %q, which it does not ask, and %s became %s", p.name, q.About, answer, v.Outcome, w.Outcome)
				}
				if v.Outcome == tare.Fail && w.Outcome != tare.Fail {
					t.Errorf("%s: %q was answered %q, and a failure became %s", p.name, q.About, answer, w.Outcome)
				}
				if !may {
					continue
				}
				if q.Step != nil {
					steps++
					continue
				}
				asked++
				gate := q.About[:slices.Index([]byte(q.About), ':')]
				if answer == answerNo && gateOf(w, gate) != tare.Fail && gateOf(w, gate) != tare.Blocked || answer == answerYes && gateOf(w, gate) == tare.Unverified {
					t.Errorf("%s: %q was answered %q, and the gate is %s", p.name, q.About, answer, gateOf(w, gate))
				}
			}
		}
	}
	t.Logf("%d answers about gates, %d about calls, %d questions that no answer settles", asked, steps, closed)
	if asked < 10 || steps < 3 || closed < 10 {
		t.Error("there is too little to ask")
	}
}
