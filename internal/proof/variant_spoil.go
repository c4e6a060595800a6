package proof

import (
	"encoding/json"
	"slices"
	"strings"

	"tare"
)

// spoilers spoil a part of a record in ways that are no agent's doing; false when the record does not lend itself to it.
// Nothing writes to the table.
var spoilers = map[string]func(*edit) bool{
	"form":        func(e *edit) bool { e.rec.Schema = "tare.record/0"; return true },
	"task":        func(e *edit) bool { e.rec.TaskHash = tare.HashBytes([]byte("another")); return true },
	"service":     func(e *edit) bool { e.rec.Trajectory.Stop = tare.ProviderError; return true },
	"stop":        func(e *edit) bool { e.rec.Trajectory.Stop = ""; return true },
	"observation": func(e *edit) bool { e.rec.Evidence.Scenario = nil; return true },
	"catalogue":   func(e *edit) bool { e.ev.Catalogue.Tools = nil; return true },
	"rig": func(e *edit) bool {
		e.rec.Evidence.Problems = []tare.Problem{{Where: "observing the world", Error: "no space left on device"}}
		return true
	},
	"order": func(e *edit) bool {
		if len(e.steps()) == 0 {
			return false
		}
		e.rec.Trajectory.Steps[0].Call.Index = len(e.steps())
		return true
	},
	"schema": func(e *edit) bool {
		for i := range e.ev.Catalogue.Tools {
			if t := &e.ev.Catalogue.Tools[i]; slices.ContainsFunc(e.steps(), func(s tare.Step) bool { return s.Call.Tool == t.Name }) {
				t.InputSchema = json.RawMessage(`{"type":3}`)
				return true
			}
		}
		return false
	},
}

// opSpoil spoils a part of the record.
func opSpoil(e *edit, s variantStep) bool {
	return spoilers[s.Part](e)
}

// lackings take a part of what the task expects away, as if its author had not written it.
var lackings = map[string]func(*edit) bool{
	"nothing":    func(e *edit) bool { e.spec.Goal, e.spec.Checkpoints, e.spec.Cleanup = nil, nil, nil; return true },
	"goal":       func(e *edit) bool { e.spec.Goal = nil; return !e.optional(tare.GateGoal) },
	"minefields": func(e *edit) bool { e.spec.Minefields = nil; return !e.optional(tare.GateMinefields) },
	"claims":     func(e *edit) bool { e.spec.Claims = nil; return !e.optional(tare.GateClaims) },
	"route": func(e *edit) bool {
		if e.spec.Cleanup != nil || slices.ContainsFunc(e.spec.Consents, func(c tare.Consent) bool { return binds(c.Args) }) {
			return false // what depends on checkpoints would go with them
		}
		e.spec.Checkpoints = nil
		return !e.optional(tare.GateRoute)
	},
	"meaning": func(e *edit) bool {
		if len(e.spec.Goal) == 0 {
			return false
		}
		e.spec.Goal = slices.Clone(e.spec.Goal)
		e.spec.Goal[0].That = "nothing[0].at.orValue(1) == 1"
		return true
	},
}

// opLack has the task lack a part of what it expects.
func opLack(e *edit, s variantStep) bool {
	task, spec := *e.task, *e.spec // the task itself stays as it is
	task.Scenario = &spec
	e.task, e.spec = &task, &spec
	return lackings[s.Part](e)
}

func (e *edit) optional(gate string) bool { return slices.Contains(e.spec.Optional, gate) }

// opReports changes nothing: it is the precondition that the agent must report something of which the world shows whether it is
// so.
func opReports(e *edit, _ variantStep) bool {
	return !e.optional(tare.GateClaims) && slices.ContainsFunc(e.spec.Claims, func(c tare.ClaimRule) bool { return c.Must && c.Holds != "" })
}

func binds(args map[string]tare.ArgMatch) bool {
	for _, m := range args {
		if m.Bound != "" {
			return true
		}
	}
	return false
}

// opBlind has the last state not be observed.
func opBlind(e *edit, _ variantStep) bool {
	for i := range e.ev.States {
		if s := &e.ev.States[i]; s.Label == tare.LabelAfter {
			s.Collections, s.Problem = map[string]tare.Collection{}, "the connection was reset"
			return true
		}
	}
	return false
}

// opHollow has the state by which the goal and reports are judged hold nothing, and not say why.
func opHollow(e *edit, _ variantStep) bool {
	found := false
	for i := range e.ev.States {
		if s := &e.ev.States[i]; s.Label == tare.LabelAfter || s.Label == tare.LabelBeforeCleanup {
			s.Collections, found = map[string]tare.Collection{}, true
		}
	}
	return found
}

// opUnwatched makes a record whose maker looked at the world at the end alone.
func opUnwatched(e *edit, _ variantStep) bool {
	if e.lastChange() < 0 {
		return false
	}
	e.ev.Watched, e.ev.Deltas = "", nil
	e.ev.States = slices.DeleteFunc(e.ev.States, func(s tare.State) bool { return s.Label == tare.LabelBefore })
	return true
}

// opForgetBrief makes a record whose maker did not know what the agent was told.
func opForgetBrief(e *edit, _ variantStep) bool {
	needed := false
	for i, step := range e.steps() {
		t := e.tool(i)
		if !t.Mutates() {
			continue
		}
		for name, v := range objectOf(step.Call.Args) {
			text := textOf(v)
			needed = needed || text != "" && name != "reason" && strings.Contains(e.ev.Brief, text) && !e.seen(i, text)
		}
	}
	e.ev.Brief = ""
	return needed
}
