package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"tare"
)

// A watcher looks at a scenario's world at the moments that its evidence speaks of. It compares and matches, and judges
// nothing.
type watcher struct {
	spec     *tare.ScenarioSpec
	backend  Backend
	evidence *tare.ScenarioEvidence

	last     map[string]tare.Collection // as observed last; nil when that failed
	lastRead []tare.Read
	problem  string
	reached  map[string]bool // checkpoints
	bound    tare.Bindings
	cleaning bool
}

func newWatcher(spec *tare.ScenarioSpec, b Backend, brief string) *watcher {
	catalogue := b.Catalogue()
	for i := range catalogue.Tools {
		catalogue.Tools[i].OutputSchema = nil // two thirds of the bytes of a record, and no call is held to it
	}
	return &watcher{
		spec: spec, backend: b, reached: map[string]bool{},
		evidence: &tare.ScenarioEvidence{Brief: brief, Catalogue: catalogue, States: []tare.State{}, Watched: b.Watch()},
	}
}

// look observes the world.
func (w *watcher) look(ctx context.Context) {
	var err error
	w.problem = ""
	if w.last, w.lastRead, err = w.backend.Observe(ctx); err != nil {
		w.last, w.problem = nil, strings.ToValidUTF8(err.Error(), "\ufffd")
	}
}

// take observes the world and notes it under a label.
func (w *watcher) take(ctx context.Context, label string, step int) {
	w.look(ctx)
	w.note(label, step)
}

// note notes what was observed last.
func (w *watcher) note(label string, step int) {
	s := tare.State{Label: label, Step: step, Clock: w.backend.Clock(), Collections: w.last, Reads: w.lastRead, Problem: w.problem}
	if s.Collections == nil {
		s.Collections = map[string]tare.Collection{}
	}
	w.evidence.States = append(w.evidence.States, s)
}

// around has a call carried out and notes what differs for it.
func (w *watcher) around(ctx context.Context, step int, tool string, args json.RawMessage) (tare.Reply, error) {
	t, _ := w.evidence.Catalogue.Place(tool)
	if w.beginsCleanup(tool, args) {
		w.cleaning = true
		w.take(ctx, tare.LabelBeforeCleanup, step)
	}
	watched := w.evidence.Watched == tare.WatchEvery || w.evidence.Watched == tare.WatchMutations && t.Mutates()
	var changes []tare.StateChange
	compare := func(byTime bool) {
		before := w.last
		w.look(ctx)
		if before != nil && w.last != nil {
			changes = append(changes, differences(before, w.last, byTime)...)
		}
	}
	arrived := func() {
		if watched {
			compare(true)
		}
	}
	reply, err := w.backend.Call(ctx, tool, args, arrived)
	if err != nil {
		return reply, err
	}
	if watched {
		compare(false)
	}
	if len(changes) > 0 {
		w.evidence.Deltas = append(w.evidence.Deltas, tare.Delta{Step: step, Changes: changes})
	}
	if f := reply.Fault; f != nil {
		injected := *f
		injected.Step = step
		w.evidence.Injected = append(w.evidence.Injected, injected)
	}
	if reply.Diverged != "" {
		w.evidence.Divergences = append(w.evidence.Divergences, tare.Divergence{Step: step, Tool: tool, What: reply.Diverged})
	}
	return reply, nil
}

func (w *watcher) beginsCleanup(tool string, args json.RawMessage) bool {
	c := w.spec.Cleanup
	if c == nil || w.cleaning || !w.all(c.After) {
		return false
	}
	return slices.ContainsFunc(c.Begins, func(p tare.CallPattern) bool {
		return w.bound.Any(func(b tare.Bound) bool { return p.Asks(tool, args, b) })
	})
}

func (w *watcher) all(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !w.reached[id] })
}

// reach notes the checkpoints that a step reaches, what they take from its result, and the state at those that ask for it. A
// checkpoint may be come to again: what it takes then counts too, and so does what is to be seen then.
func (w *watcher) reach(ctx context.Context, step tare.Step) {
	t, placed := w.evidence.Catalogue.Place(step.Call.Tool)
	if placed != tare.Placed {
		return
	}
	for _, c := range w.spec.Checkpoints {
		if !w.all(c.After) || !slices.ContainsFunc(c.Calls, func(p tare.CallPattern) bool {
			return w.bound.Any(func(b tare.Bound) bool { return p.Match(t.Name, step, b) })
		}) {
			continue
		}
		w.reached[c.ID] = true
		taken := tare.Bound{}
		for name, at := range c.Take {
			path, err := tare.ParsePath(at)
			if err != nil {
				continue // the loader refuses such a path
			}
			if v, ok := path.Select(step.Observation.Data); ok {
				taken[c.ID+"."+name] = v
			}
		}
		w.bound = w.bound.Take(taken)
		if len(c.See) > 0 {
			if w.evidence.Watched != tare.WatchEvery {
				w.look(ctx)
			}
			w.note(tare.LabelCheckpoint+c.ID, step.Call.Index+1)
		}
	}
}

// finish notes the last states.
func (w *watcher) finish(ctx context.Context, calls int) {
	w.look(ctx)
	if w.spec.Cleanup != nil && !w.cleaning {
		w.note(tare.LabelBeforeCleanup, calls)
	}
	w.note(tare.LabelAfter, calls)
}

// differences lists what differs between two observations, item by item, in the order of collections and ids. An item
// without an id is known by what it is.
func differences(before, after map[string]tare.Collection, byTime bool) []tare.StateChange {
	var out []tare.StateChange
	names := slices.Sorted(maps.Keys(before))
	for name := range after {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if slices.EqualFunc(before[name].Items, after[name].Items, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			continue
		}
		was, is := byID(before[name].Items), byID(after[name].Items)
		ids := slices.Sorted(maps.Keys(was))
		for id := range is {
			if _, ok := was[id]; !ok {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		for _, id := range ids {
			if !bytes.Equal(was[id], is[id]) {
				out = append(out, tare.StateChange{Collection: name, ID: id, Before: was[id], After: is[id], ByTime: byTime})
			}
		}
	}
	return out
}

func byID(items []json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(items))
	for _, raw := range items {
		var x struct {
			ID json.RawMessage `json:"id"`
		}
		id := string(raw)
		if json.Unmarshal(raw, &x) == nil && len(x.ID) > 0 {
			id = strings.Trim(string(x.ID), `"`)
		}
		out[id] = raw
	}
	return out
}
