package oracle

import (
	"fmt"
	"slices"
	"strings"

	"tare"
)

// Answers that a person may give in a review, beside what became of a call.
const (
	answerYes = "yes" // all that the gate asks holds
	answerNo  = "no"  // it does not
)

// A Question is something that a verdict on a scenario left open.
type Question struct {
	About   string   // the entry of Verdict.Unresolved
	Step    *int     // the call in question
	Answers []string // that a Review may give; none: no answer of a person's can settle it, and the episode is to be played again
}

// Questions lists what the verdict on a record left open, in the order of its unresolved list. What became of a call is asked
// once. A question about a gate is about all that the gate asks, of which About names the first that was not observed.
func Questions(task *tare.Task, record tare.Record, hash tare.Digest) []Question {
	if task.Kind != tare.Scenario {
		return nil
	}
	v, h := NewBench(task).hear(record, hash, nil)
	var out []Question
	asked := map[int]bool{}
	for _, entry := range v.Unresolved {
		q := Question{About: entry}
		var call int
		switch _, err := fmt.Sscanf(entry, unknownEffectEntry, &call); {
		case err == nil && asked[call]:
			continue
		case err == nil:
			asked[call] = true
			q.Step, q.Answers = &call, []string{string(appliedOnce), string(notApplied), string(appliedTwice)}
		case slices.Contains(h.askable, entry):
			q.Answers = []string{answerYes, answerNo}
		case slices.ContainsFunc(h.askable, func(gate string) bool { return sameGate(gate, entry) }):
			continue // the gate's own question is asked
		}
		out = append(out, q)
	}
	return out
}

// sameGate reports whether two entries are of one gate.
func sameGate(a, b string) bool {
	x, _, _ := strings.Cut(a, ":")
	y, _, _ := strings.Cut(b, ":")
	return x == y
}

// unknownEffectEntry is how an entry about a call of which nobody knows what became begins.
const unknownEffectEntry = "effects: what became of call %d "

// answered is what a person's answer makes of the finding of a gate that was left open. It settles neither what failed, nor what is
// ours or the task's, nor what an agent that was stopped had no time for; what became of calls is asked call by call.
func (h *hearing) answered(gate string, f *finding) *finding {
	if f == nil || f.outcome != tare.Unverified || f.cause == tare.CauseInfrastructure || f.cause == tare.CauseTask || f.missing || f.rule == "effects/unknown" {
		return f
	}
	entry := gate + ": " + f.reason
	h.askable = append(h.askable, entry)
	for i := len(h.ev.Reviews) - 1; i >= 0; i-- {
		r := h.ev.Reviews[i]
		if r.Step != nil || r.About != entry {
			continue
		}
		switch r.Answer {
		case answerYes, answerNo:
			h.settled = append(h.settled, gate+": ")
		}
		switch r.Answer {
		case answerYes:
			h.vouched[gate] = fmt.Sprintf("%s looked it up, and all that is asked here holds (%s); open was: %s", show(r.By, 60), show(r.Why, 200), f.reason)
			return nil
		case answerNo:
			return &finding{rule: f.rule, outcome: tare.Fail, cause: tare.CauseAgent, evidence: f.evidence, steps: f.steps,
				reason: fmt.Sprintf("%s looked it up, and it does not hold (%s): %s", show(r.By, 60), show(r.Why, 200), f.reason)}
		}
	}
	return f
}
