package oracle

import (
	"tare"
)

// A Single is what one check of a patched tree says by itself: what an agent may be told while it works. It is no gate. The
// rules are those of the final grade, which goes further: it sees the controls, what could silence an instrument, variants
// and benign inputs.
type Single struct {
	Passed bool
	Why    string   // a sentence when it is not passed, or when it is no evidence
	Failed []Failed // of tests and cases
}

// A Failed is a test or case that did not pass.
type Failed struct{ ID, Why string }

// JudgeSingle answers one check of a patched tree. A PoC that did not come to run to its end is not passed: nobody who
// repairs a program wants to hear that it is.
func JudgeSingle(task *tare.Task, c tare.Check) Single {
	c.World = tare.WorldFix
	rec := tare.Record{Evidence: tare.Evidence{Vuln: &tare.VulnEvidence{Checks: []tare.Check{c}}}}
	j := &judge{task: task, rec: rec, rules: VulnRules()}
	switch v := task.Vuln; c.Kind {
	case tare.CheckBuild, tare.CheckDriver:
		said := j.buildError(c.Kind, tare.WorldFix)
		return Single{Passed: said == "", Why: said}
	case tare.CheckPoC:
		return j.singlePoC(c)
	case tare.CheckIntent:
		return j.singleTests(c, v.Intent)
	case tare.CheckFunction:
		return j.singleTests(c, v.Function)
	}
	return Single{Why: "no check of its kind is answered by itself"}
}

func (j *judge) singlePoC(c tare.Check) Single {
	if len(c.Executions) == 0 {
		return Single{Why: "it was not run" + aside(c.Defect)}
	}
	for _, e := range c.Executions {
		known := false
		for _, t := range j.trials() {
			if t.kind != c.Kind || t.id != e.ID {
				continue
			}
			known = true
			if yes, by := t.Triggered(e); yes {
				return Single{Why: "it still triggers: " + show(by, 160)}
			}
			if by := t.fault(e); by != "" {
				return Single{Why: "it shows another fault: " + by}
			}
			if why := idle(e); why != "" {
				return Single{Why: why}
			}
		}
		if !known {
			return Single{Why: show(e.ID, 100) + " is none of the task's"}
		}
	}
	return Single{Passed: true}
}

func (j *judge) singleTests(c tare.Check, set *tare.TestSet) Single {
	var out Single
	for _, f := range j.failures(c.Kind, tare.WorldFix, set) {
		out.Failed = append(out.Failed, Failed{f.id, f.why})
	}
	if f := incomplete(c.Kind)(j); f != nil {
		out.Why = f.reason
	} else if len(out.Failed) > 0 {
		out.Why = count(len(out.Failed), "test", "tests") + " did not pass"
	}
	out.Passed = out.Why == ""
	return out
}
