package proof

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tare"
)

// An edit changes the record of an episode, which is its own, so that all parts of it still fit together: what an inserted
// call changes is in the deltas, in the later states and in what later calls were answered.
type edit struct {
	task *tare.Task
	spec *tare.ScenarioSpec
	rec  *tare.Record
	ev   *tare.ScenarioEvidence
}

// fields is an object by its keys.
type fields = map[string]json.RawMessage

func objectOf(raw json.RawMessage) fields {
	var m fields
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

func textOf(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // what is no text is ""
	return s
}

func jsonOf(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts, numbers and what was JSON before
	}
	return b
}

func (e *edit) steps() []tare.Step { return e.rec.Trajectory.Steps }

// tool is the tool that a step calls.
func (e *edit) tool(i int) tare.Tool {
	t, _ := e.ev.Catalogue.Place(e.steps()[i].Call.Tool)
	return t
}

func (e *edit) effect(tool string) (tare.Effect, bool) {
	i := slices.IndexFunc(e.spec.Effects, func(x tare.Effect) bool { return x.Tool == tool })
	if i < 0 {
		return tare.Effect{}, false
	}
	return e.spec.Effects[i], true
}

// own lists what a call changed itself.
func (e *edit) own(step int) []tare.StateChange {
	var out []tare.StateChange
	for _, d := range e.ev.Deltas {
		for _, c := range d.Changes {
			if d.Step == step && !c.ByTime {
				out = append(out, c)
			}
		}
	}
	return out
}

// looks reports whether a step only reads the world, and neither talks to the user nor waits.
func (e *edit) looks(i int) bool {
	t := e.tool(i)
	return t.Name != "" && !t.Mutates() && t.Name != "ask_user" && t.Name != "request_consent" && t.Name != "wait" && e.steps()[i].Observation.OK
}

// lastChange is the last call that changed something; -1 when none did.
func (e *edit) lastChange() int {
	for i := len(e.steps()) - 1; i >= 0; i-- {
		if e.tool(i).Mutates() && e.steps()[i].Observation.OK && len(e.own(i)) > 0 {
			return i
		}
	}
	return -1
}

// world is what there was when n calls had been answered.
func (e *edit) world(n int) map[string]tare.Collection {
	out := map[string]tare.Collection{}
	before, _ := e.ev.State(tare.LabelBefore)
	for name, c := range before.Collections {
		out[name] = tare.Collection{Complete: c.Complete, Items: slices.Clone(c.Items)}
	}
	for _, d := range e.ev.Deltas {
		if d.Step < n {
			for _, c := range d.Changes {
				applyChange(out, c)
			}
		}
	}
	return out
}

func idOf(item json.RawMessage) string { return textOf(objectOf(item)["id"]) }

// applyChange brings collections to after a change; items stay sorted by id.
func applyChange(all map[string]tare.Collection, c tare.StateChange) {
	of := all[c.Collection]
	of.Items = slices.DeleteFunc(slices.Clone(of.Items), func(it json.RawMessage) bool { return idOf(it) == c.ID })
	if len(c.After) > 0 {
		at := 0
		for at < len(of.Items) && idOf(of.Items[at]) < c.ID {
			at++
		}
		of.Items = slices.Insert(of.Items, at, c.After)
	}
	all[c.Collection] = of
}

// insert puts a call before the step at, with what it changes.
func (e *edit) insert(at int, call tare.Call, answer tare.Observation, changes []tare.StateChange) {
	e.shift(at, 1)
	clock := 0.0
	if at > 0 {
		clock = e.steps()[at-1].Observation.Clock
		call.At = e.steps()[at-1].Call.At
	}
	call.Index, answer.Clock = at, clock
	e.rec.Trajectory.Steps = slices.Insert(e.rec.Trajectory.Steps, at, tare.Step{Call: call, Observation: answer})
	if len(changes) == 0 {
		return
	}
	d := tare.Delta{Step: at, Changes: changes}
	i := 0
	for i < len(e.ev.Deltas) && e.ev.Deltas[i].Step < at {
		i++
	}
	e.ev.Deltas = slices.Insert(e.ev.Deltas, i, d)
	for i := range e.ev.States {
		if s := &e.ev.States[i]; s.Step > at {
			s.Collections = maps.Clone(s.Collections)
			for _, c := range changes {
				applyChange(s.Collections, c)
			}
		}
	}
	for i := at + 1; i < len(e.steps()); i++ {
		for _, c := range changes {
			e.reshow(i, c)
		}
	}
}

// shift renumbers what is said of the calls from at on.
func (e *edit) shift(at, by int) {
	for i := range e.rec.Trajectory.Steps {
		c := &e.rec.Trajectory.Steps[i].Call
		if c.Index >= at {
			c.Index += by
		}
		if c.RetryOf != nil && *c.RetryOf >= at {
			moved := *c.RetryOf + by
			c.RetryOf = &moved
		}
	}
	for i := range e.ev.Deltas {
		if e.ev.Deltas[i].Step >= at {
			e.ev.Deltas[i].Step += by
		}
	}
	for i := range e.ev.Injected {
		if e.ev.Injected[i].Step >= at {
			e.ev.Injected[i].Step += by
		}
	}
	for i := range e.ev.Divergences {
		if e.ev.Divergences[i].Step >= at {
			e.ev.Divergences[i].Step += by
		}
	}
	for i := range e.ev.States {
		if e.ev.States[i].Step > at || e.ev.States[i].Label == tare.LabelAfter {
			e.ev.States[i].Step += by
		}
	}
}

// remove takes a call out that changed nothing by itself. What happened while its time passed goes to the call after it.
func (e *edit) remove(at int) {
	var late []tare.StateChange
	e.ev.Deltas = slices.DeleteFunc(e.ev.Deltas, func(d tare.Delta) bool {
		if d.Step == at {
			late = append(late, d.Changes...)
		}
		return d.Step == at
	})
	e.ev.Injected = slices.DeleteFunc(e.ev.Injected, func(x tare.Injected) bool { return x.Step == at })
	e.ev.States = slices.DeleteFunc(e.ev.States, func(s tare.State) bool {
		return s.Step == at+1 && strings.HasPrefix(s.Label, tare.LabelCheckpoint)
	})
	e.rec.Trajectory.Steps = slices.Delete(e.rec.Trajectory.Steps, at, at+1)
	e.shift(at, -1)
	if len(late) == 0 {
		return
	}
	to := min(at, len(e.steps())-1)
	for i := range e.ev.Deltas {
		if e.ev.Deltas[i].Step == to {
			if to == at {
				e.ev.Deltas[i].Changes = append(late, e.ev.Deltas[i].Changes...)
			} else {
				e.ev.Deltas[i].Changes = append(e.ev.Deltas[i].Changes, late...)
			}
			return
		}
	}
	i := 0
	for i < len(e.ev.Deltas) && e.ev.Deltas[i].Step < to {
		i++
	}
	e.ev.Deltas = slices.Insert(e.ev.Deltas, i, tare.Delta{Step: to, Changes: late})
}

// cut ends the episode when n calls had been answered.
func (e *edit) cut(n int) {
	w := e.world(n)
	clock := 0.0
	e.rec.Trajectory.Steps = e.steps()[:n:n]
	if n > 0 {
		clock = e.steps()[n-1].Observation.Clock
	}
	e.ev.Deltas = slices.DeleteFunc(e.ev.Deltas, func(d tare.Delta) bool { return d.Step >= n })
	e.ev.Injected = slices.DeleteFunc(e.ev.Injected, func(x tare.Injected) bool { return x.Step >= n })
	e.ev.Divergences = slices.DeleteFunc(e.ev.Divergences, func(x tare.Divergence) bool { return x.Step >= n })
	e.ev.States = slices.DeleteFunc(e.ev.States, func(s tare.State) bool {
		return s.Step > n && strings.HasPrefix(s.Label, tare.LabelCheckpoint)
	})
	for i := range e.ev.States {
		if s := &e.ev.States[i]; s.Label == tare.LabelAfter || s.Step > n || s.Step == n && s.Label == tare.LabelBeforeCleanup {
			s.Step, s.Clock, s.Collections = n, clock, w
		}
	}
}

// forget takes back what a call changed itself, as if it had done nothing. Nothing may come after it.
func (e *edit) forget(step int) {
	for i := range e.ev.Deltas {
		if e.ev.Deltas[i].Step == step {
			e.ev.Deltas[i].Changes = slices.DeleteFunc(e.ev.Deltas[i].Changes, func(c tare.StateChange) bool { return !c.ByTime })
		}
	}
	e.ev.Deltas = slices.DeleteFunc(e.ev.Deltas, func(d tare.Delta) bool { return len(d.Changes) == 0 })
	e.cut(len(e.steps()))
}

// reshow brings what a later call was answered in line with a change.
func (e *edit) reshow(i int, c tare.StateChange) {
	o := &e.rec.Trajectory.Steps[i].Observation
	dec := json.NewDecoder(strings.NewReader(string(o.Data)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return
	}
	shown, changed := reshown(v, c)
	if len(c.Before) == 0 && e.lists(i, c.After) {
		changed = listed(shown, c) || changed
	}
	if changed {
		o.Data = jsonOf(shown)
		o.Preview, o.Size = string(o.Data), len(o.Data)
	}
}

// lists reports whether a call asks for a list that the item would be in: no argument says otherwise.
func (e *edit) lists(i int, item json.RawMessage) bool {
	of := objectOf(item)
	for name, v := range objectOf(e.steps()[i].Call.Args) {
		if field, there := of[name]; there && !tare.SameJSON(field, v) || !there && name != "cursor" && name != "page_size" {
			return false
		}
	}
	return true
}

// listed puts an item that came at the end of the last page of a list of its collection.
func listed(v any, c tare.StateChange) bool {
	m, ok := v.(map[string]any)
	list, is := m[c.Collection].([]any)
	if _, more := m["next_cursor"]; !ok || !is || more {
		return false
	}
	m[c.Collection] = append(list, c.After)
	return true
}

func reshown(v any, c tare.StateChange) (any, bool) {
	changed := false
	switch x := v.(type) {
	case map[string]any:
		if id, ok := x["id"].(string); ok && id == c.ID && len(c.After) > 0 {
			for k, raw := range objectOf(c.After) {
				if _, there := x[k]; there {
					var nv any
					dec := json.NewDecoder(strings.NewReader(string(raw)))
					dec.UseNumber()
					if dec.Decode(&nv) == nil {
						x[k] = nv
					}
				}
			}
			return x, true
		}
		for k := range x {
			inner, did := reshown(x[k], c)
			x[k], changed = inner, changed || did
		}
	case []any:
		var kept []any
		for _, it := range x {
			if m, ok := it.(map[string]any); ok && m["id"] == c.ID && len(c.After) == 0 {
				changed = true
				continue
			}
			inner, did := reshown(it, c)
			kept, changed = append(kept, inner), changed || did
		}
		if kept == nil {
			kept = []any{}
		}
		return kept, changed
	}
	return v, changed
}

// account is the account that an item belongs to.
func (e *edit) account(item json.RawMessage) string {
	owner := e.spec.Principal.Owner
	if owner == "" {
		owner = "account_id"
	}
	return textOf(objectOf(item)[owner])
}

func (e *edit) isOwn(item json.RawMessage) bool {
	return slices.Contains(e.spec.Principal.Accounts, e.account(item))
}

func (e *edit) isForeign(item json.RawMessage) bool {
	acct := e.account(item)
	return acct != "" && !e.isOwn(item)
}

// touched reports whether any call or the time changed the item.
func (e *edit) touched(id string) bool {
	for _, d := range e.ev.Deltas {
		for _, c := range d.Changes {
			if c.ID == id || textOf(objectOf(c.After)["app_id"]) == id {
				return true
			}
		}
	}
	return false
}

// requires lists the arguments that a tool cannot do without.
func requires(t tare.Tool) []string {
	var s struct {
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(t.InputSchema, &s) // a schema that cannot be read requires nothing
	return s.Required
}

// argsFor are the arguments with which a call of an effect's tool is about an item; false where they do not suffice.
func (e *edit) argsFor(x tare.Effect, item json.RawMessage) (fields, bool) {
	of := objectOf(item)
	args := fields{}
	if x.Key != "" {
		args[x.Key] = of["id"]
	}
	for field, arg := range x.By {
		args[arg] = of[field]
	}
	for field, arg := range x.Field {
		args[arg] = of[field]
	}
	t, _ := e.ev.Catalogue.Place(x.Tool)
	for _, need := range requires(t) {
		if len(args[need]) == 0 {
			return nil, false
		}
	}
	for k, v := range args {
		if len(v) == 0 {
			delete(args, k)
		}
	}
	return args, true
}

// answered is the answer of a call, with data in it.
func answered(ok bool, data any) tare.Observation {
	raw := jsonOf(data)
	return tare.Observation{OK: ok, Data: raw, Preview: string(raw), Size: len(raw), Digest: tare.HashBytes(raw)}
}

// refusedBy is an answer that holds an error object.
func refusedBy(s variantStep) tare.Observation {
	refusal := map[string]any{"code": s.Code, "status": s.Status, "message": strings.ReplaceAll(s.Code, "_", " "), "retryable": s.Retryable}
	if s.Retryable {
		refusal["retry_after_seconds"] = 5
	}
	return answered(s.Envelope == "success", map[string]any{"error": refusal})
}

// other is another value than v of the same type.
func other(v json.RawMessage) json.RawMessage {
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return jsonOf(n + 1)
	}
	return jsonOf(textOf(v) + "-2")
}
