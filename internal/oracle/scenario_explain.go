package oracle

import (
	"fmt"
	"slices"
	"strings"

	"tare"
)

// explainScenario shows what stands behind a gate of a scenario: the calls, the states and the clauses that it cites.
func explainScenario(b *strings.Builder, task *tare.Task, record tare.Record, g tare.Gate) {
	ev := record.Evidence.Scenario
	if ev == nil || task.Scenario == nil {
		return
	}
	h := &hearing{bench: NewBench(task), task: task, spec: task.Scenario, rec: record, ev: ev}
	if h.bench.broken != "" || disordered(h) != nil {
		return
	}
	h.prepare()
	cites := func(prefix string) []string {
		var out []string
		for _, e := range g.Evidence {
			if rest, ok := strings.CutPrefix(e, prefix); ok {
				out = append(out, rest)
			}
		}
		return out
	}
	for _, p := range record.Evidence.Problems {
		if g.Name == tare.GateInfrastructure {
			fmt.Fprintf(b, "  problem: %s: %s\n", show(p.Where, 100), show(p.Error, 600))
		}
	}
	for _, d := range h.deeds {
		if slices.Contains(cites("step:"), fmt.Sprint(d.Call.Index)) {
			h.explainCall(b, d)
		}
	}
	for _, label := range cites("state:") {
		h.explainState(b, label, g.Name)
	}
	for _, span := range cites("claim:") {
		var start, end int
		if _, err := fmt.Sscanf(span, "%d-%d", &start, &end); err != nil || start < 0 || end > len(record.Trajectory.Final) || start > end {
			continue
		}
		fmt.Fprintf(b, "\nthe last message, bytes %d to %d: “%s”\n", start, end, show(record.Trajectory.Final[start:end], 400))
		for _, s := range h.reading().Statements {
			if s.Start == start && s.End == end {
				fmt.Fprintf(b, "  read as  %s, about %q\n", describe(s), show(s.About, 100))
			}
		}
	}
	if g.Name == tare.GateRoute {
		h.explainRoute(b)
	}
	if g.Name == tare.GateEffects {
		b.WriteString("\nwhat became of the changes:\n")
		for _, d := range h.deeds {
			if d.mutates() {
				fmt.Fprintf(b, "  call %-3d %-28s %s\n", d.Call.Index, d.name(), became(d))
			}
		}
	}
}

func became(d *deed) string {
	s := map[application]string{unknownEffect: "not known", notApplied: "not applied", appliedOnce: "applied once", appliedTwice: "applied twice"}[d.became]
	if d.reviewed {
		s += ", by a person's answer"
	}
	if d.fault != nil {
		s += fmt.Sprintf("; a fault was injected: %s", show(string(d.fault.Kind), 40))
	}
	return s
}

func (h *hearing) explainCall(b *strings.Builder, d *deed) {
	fmt.Fprintf(b, "\ncall %d  %s\n", d.Call.Index, d.name())
	fmt.Fprintf(b, "  arguments  %s\n", show(string(d.Call.Args), 800))
	answer := "success"
	switch {
	case d.inSuccess:
		answer = "an error in the envelope of a success"
	case d.failed:
		answer = "an error"
	case d.vague:
		answer = "received; whether it was done is not known"
	}
	fmt.Fprintf(b, "  answer     %s: %s\n", answer, show(d.Observation.Preview, 800))
	for _, v := range d.violations {
		fmt.Fprintf(b, "  contract   %s\n", show(v.Say, 300))
	}
	if d.fault != nil {
		fmt.Fprintf(b, "  fault      %s, injected\n", show(string(d.fault.Kind), 40))
	}
	if d.diverged != "" {
		fmt.Fprintf(b, "  divergence %s\n", show(d.diverged, 300))
	}
	if d.mutates() {
		fmt.Fprintf(b, "  effect     %s\n", became(d))
	}
	for i, c := range d.changes {
		if i == 20 {
			fmt.Fprintf(b, "  …%s\n", andMore(len(d.changes)-i))
			break
		}
		how := "changed"
		switch {
		case len(c.Before) == 0:
			how = "came"
		case len(c.After) == 0:
			how = "went"
		}
		if c.ByTime {
			how += " while time passed"
		}
		fmt.Fprintf(b, "  observed   %s of %s %s: %s\n", show(c.ID, 60), show(c.Collection, 40), how, show(string(c.After), 200))
	}
}

func (h *hearing) explainState(b *strings.Builder, label, gate string) {
	s, ok := h.ev.State(label)
	if !ok {
		fmt.Fprintf(b, "\nstate %s: there is no such observation\n", show(label, 60))
		return
	}
	fmt.Fprintf(b, "\nstate %s, after %s:", show(label, 60), count(s.Step, "call", "calls"))
	for _, name := range sortedKeys(s.Collections) {
		c := s.Collections[name]
		mark := ""
		if !c.Complete {
			mark = "+"
		}
		fmt.Fprintf(b, " %s %d%s", show(name, 40), len(c.Items), mark)
	}
	b.WriteByte('\n')
	var es []tare.Expectation
	switch {
	case gate == tare.GateGoal && h.spec.Cleanup != nil && label == tare.LabelAfter:
		es = h.spec.Cleanup.Leaves
	case gate == tare.GateGoal:
		es = h.spec.Goal
	case gate == tare.GateRoute:
		for _, c := range h.spec.Checkpoints {
			if tare.LabelCheckpoint+c.ID == label {
				es = c.See
			}
		}
	}
	for _, e := range es {
		a := h.ask(e.That, label)
		fmt.Fprintf(b, "  %-9s  %s: %s%s\n", a.Truth, show(e.ID, 40), show(string(e.That), 300), aside(a.Why))
	}
}

func (h *hearing) explainRoute(b *strings.Builder) {
	b.WriteString("\ncheckpoints:\n")
	r := h.reached()
	for _, c := range h.spec.Checkpoints {
		if d := r.at[c.ID]; d != nil {
			fmt.Fprintf(b, "  %-20s call %d (%s)\n", show(c.ID, 40), d.Call.Index, d.name())
			continue
		}
		_, why := h.nearly(c)
		if f := r.short[c.ID]; f != nil {
			why = f.reason
		}
		fmt.Fprintf(b, "  %-20s not reached: %s\n", show(c.ID, 40), why)
	}
	for _, name := range sortedKeys(r.bound.Now()) {
		fmt.Fprintf(b, "  bound %s = %s\n", show(name, 60), show(string(r.bound.Now()[name]), 100))
	}
}
