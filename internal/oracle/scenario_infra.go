package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tare"
)

func scenarioRecord(h *hearing) *finding {
	if h.rec.Schema != tare.RecordSchema {
		return ours(tare.CauseGrader, "the record has the schema %q, and this grader reads %q", show(h.rec.Schema, 40), tare.RecordSchema)
	}
	if h.unwritable != nil {
		return ours(tare.CauseGrader, "the record cannot be written down: %s", show(h.unwritable.Error(), 200))
	}
	return nil
}

func scenarioTask(h *hearing) *finding {
	if h.task.Kind != tare.Scenario || h.task.Scenario == nil {
		return ours(tare.CauseGrader, "the task is no scenario")
	}
	if h.task.Hash == "" || h.rec.TaskHash != h.task.Hash || h.rec.Trajectory.Episode.TaskHash != h.task.Hash {
		return ours(tare.CauseGrader, "the record is of another task, or of another state of this one")
	}
	return nil
}

func scenarioBroken(h *hearing) *finding {
	if h.bench.broken != "" {
		return ours(tare.CauseTask, "%s", show(h.bench.broken, 400))
	}
	return nil
}

func scenarioEmpty(h *hearing) *finding {
	if len(h.spec.Goal) == 0 && len(h.spec.Checkpoints) == 0 {
		return ours(tare.CauseTask, "the scenario has neither a goal nor a checkpoint, so nothing can be told from it")
	}
	return nil
}

func scenarioStop(h *hearing) *finding      { return brokenStop(&judge{rec: h.rec}) }
func scenarioBrokenOff(h *hearing) *finding { return brokenOff(&judge{rec: h.rec}) }
func scenarioProblems(h *hearing) *finding  { return problems(&judge{rec: h.rec}) }

func noEvidence(h *hearing) *finding {
	if h.bare {
		return ours(tare.CauseGrader, "the record holds nothing that was observed of a scenario")
	}
	return nil
}

func noCatalogue(h *hearing) *finding {
	if !h.bare && len(h.ev.Catalogue.Tools) == 0 {
		return ours(tare.CauseGrader, "the record has no catalogue of tools, so no call can be held against a contract")
	}
	return nil
}

func disordered(h *hearing) *finding {
	n := len(h.rec.Trajectory.Steps)
	for i, s := range h.rec.Trajectory.Steps {
		if s.Call.Index != i {
			return ours(tare.CauseGrader, "call number %d of the record says that it is number %d", i, s.Call.Index)
		}
	}
	at := 0
	for _, s := range h.ev.States {
		if s.Step < at || s.Step > n {
			return ours(tare.CauseGrader, "the state %q was taken after %d calls, which is out of order", show(s.Label, 60), s.Step)
		}
		at = s.Step
	}
	for _, steps := range [][]int{stepsOf(h.ev.Deltas, func(d tare.Delta) int { return d.Step }), stepsOf(h.ev.Injected, func(d tare.Injected) int { return d.Step }), stepsOf(h.ev.Divergences, func(d tare.Divergence) int { return d.Step })} {
		for _, s := range steps {
			if s < 0 || s >= n {
				return ours(tare.CauseGrader, "something was observed of call %d, and there are %d", s, n)
			}
		}
	}
	return nil
}

func stepsOf[T any](all []T, step func(T) int) []int {
	out := make([]int, len(all))
	for i, a := range all {
		out[i] = step(a)
	}
	return out
}

func failedObservation(h *hearing) *finding {
	for _, s := range h.ev.States {
		if s.Problem != "" {
			return ours(tare.CauseInfrastructure, "the state %q could not be observed: %s", show(s.Label, 60), show(s.Problem, 200))
		}
	}
	return nil
}

// A lie is a read that says something else than the observation of the same moment.
type lie struct {
	d           *deed
	id, field   string
	shown, seen json.RawMessage
}

// compareRead looks in the answer of a read for items that were observed, and compares what both tell.
func (h *hearing) compareRead(d *deed, w *world) {
	if d.fault != nil || d.failed || d.diverged != "" || len(h.lies) > 0 || len(d.Observation.Data) == 0 {
		return
	}
	compareItems(d.data, 0, func(id string, item map[string]any) bool {
		m := w.item(id)
		for field, v := range item {
			was, both := m[field]
			if !both || !scalar(v) || !scalar(was) || v == was {
				continue
			}
			a, _ := json.Marshal(v)
			b, _ := json.Marshal(was)
			if len(h.lies) == 0 || field < h.lies[0].field {
				h.lies = []lie{{d, id, field, a, b}}
			}
		}
		return len(h.lies) == 0
	})
}

func scalar(v any) bool {
	switch v.(type) {
	case string, float64, bool, nil:
		return true
	}
	return false
}

// compareItems calls f for each object with an id within v, until it says no.
func compareItems(v any, depth int, f func(id string, item map[string]any) bool) bool {
	if depth > 12 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		if id, ok := v["id"].(string); ok && !f(id, v) {
			return false
		}
		for _, k := range sortedKeys(v) { // in one order, so that one record gives one reason
			if x := v[k]; !scalar(x) && !compareItems(x, depth+1, f) {
				return false
			}
		}
	case []any:
		for _, x := range v {
			if !compareItems(x, depth+1, f) {
				return false
			}
		}
	}
	return true
}

func readLies(h *hearing) *finding {
	if len(h.lies) == 0 {
		return nil
	}
	l := h.lies[0]
	f := ours(tare.CauseInfrastructure, "call %d (%s) showed the agent %s = %s of %s, and at that moment we observed %s; no fault was injected",
		l.d.Call.Index, l.d.name(), show(l.field, 60), show(string(l.shown), 80), show(l.id, 60), show(string(l.seen), 80))
	f.evidence = []string{l.d.ref()}
	return f
}

// held is a finding against the agent's calls.
func held(ds []*deed, format string, args ...any) *finding {
	f := against(nil, format, args...)
	for _, d := range ds {
		f.steps = append(f.steps, d.Call.Index)
		f.evidence = append(f.evidence, d.ref())
	}
	return f
}

func unknownTool(h *hearing) *finding {
	for _, d := range h.deeds {
		if d.placement == tare.Unknown {
			return held([]*deed{d}, "call %d is of a tool %s, and the catalogue has none of that name%s", d.Call.Index, d.name(), h.near(d.Call.Tool))
		}
	}
	return nil
}

// near names a tool whose name has a part in common with one that does not exist.
func (h *hearing) near(name string) string {
	for _, t := range h.ev.Catalogue.Tools {
		if strings.Contains(name, t.Name) || strings.Contains(t.Name, name) && name != "" {
			return fmt.Sprintf(" (there is %s)", show(t.Name, 60))
		}
	}
	return ""
}

func violated(kind string) func(*hearing) *finding {
	return func(h *hearing) *finding {
		for _, d := range h.deeds {
			for _, v := range d.violations {
				if string(v.Kind) == kind {
					return held([]*deed{d}, "call %d (%s) breaks the tool's contract: %s", d.Call.Index, d.name(), show(v.Say, 300))
				}
			}
		}
		return nil
	}
}

func unplacedTool(h *hearing) *finding {
	for _, d := range h.deeds {
		if d.placement == tare.Unplaced {
			f := ours(tare.CauseGrader, "call %d is of %s, which names a server that the catalogue does not know (it knows %s): declare the name in servers, or leave the call out", d.Call.Index, d.name(), known(h.ev.Catalogue.Servers))
			f.evidence = []string{d.ref()}
			return f
		}
	}
	return nil
}

func known(servers []string) string {
	if len(servers) == 0 {
		return "none"
	}
	out := slices.Clone(servers)
	for i := range out {
		out[i] = show(out[i], 40)
	}
	return some(out)
}

func uncheckedCall(h *hearing) *finding {
	for _, d := range h.deeds {
		if d.unchecked != "" {
			f := ours(tare.CauseTask, "the schema of %s cannot be read, so call %d could not be checked: %s", d.name(), d.Call.Index, show(d.unchecked, 200))
			f.evidence = []string{d.ref()}
			return f
		}
	}
	return nil
}
