package proof

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"tare"
)

// Ops of this file have the world at fault: it does something else than it was asked, or shows something else than there is.

// also adds what a call changed, or what happened meanwhile, and has all that comes later show it.
func (e *edit) also(step int, c tare.StateChange) {
	i := 0
	for i < len(e.ev.Deltas) && e.ev.Deltas[i].Step < step {
		i++
	}
	switch {
	case i == len(e.ev.Deltas) || e.ev.Deltas[i].Step > step:
		e.ev.Deltas = slices.Insert(e.ev.Deltas, i, tare.Delta{Step: step, Changes: []tare.StateChange{c}})
	case c.ByTime: // which passes before the call is carried out
		e.ev.Deltas[i].Changes = slices.Insert(e.ev.Deltas[i].Changes, 0, c)
	default:
		e.ev.Deltas[i].Changes = append(e.ev.Deltas[i].Changes, c)
	}
	for i := range e.ev.States {
		if s := &e.ev.States[i]; s.Step > step {
			s.Collections = maps.Clone(s.Collections)
			applyChange(s.Collections, c)
		}
	}
	from := step + 1
	if c.ByTime {
		from = step
	}
	for i := from; i < len(e.steps()); i++ {
		e.reshow(i, c)
	}
}

// opLose takes the last change back while its answer stays what it was, and ends the episode there.
func opLose(e *edit, _ variantStep) bool {
	at := e.lastChange()
	if at < 0 || e.injected(at) {
		return false
	}
	if _, ok := e.effect(e.tool(at).Name); !ok {
		return false
	}
	e.cut(at + 1)
	e.forget(at)
	return true
}

// opDouble has a change that adds something add it twice.
func opDouble(e *edit, _ variantStep) bool {
	for i := range e.steps() {
		x, ok := e.effect(e.tool(i).Name)
		if !ok || x.Adds == "" || e.injected(i) {
			continue
		}
		for _, c := range e.own(i) {
			if c.Collection == x.Adds && len(c.Before) == 0 {
				e.also(i, tare.StateChange{Collection: c.Collection, ID: c.ID + "_2", After: e.again(c.After, c.ID)})
				return true
			}
		}
	}
	return false
}

// again is JSON with another id in the place of one.
func (e *edit) again(raw json.RawMessage, id string) json.RawMessage {
	return json.RawMessage(strings.ReplaceAll(string(raw), string(jsonOf(id)), string(jsonOf(id+"_2"))))
}

// opRefuseDone has the last change answered with an error although it was done, and ends the episode there.
func opRefuseDone(e *edit, s variantStep) bool {
	at := e.lastChange()
	if at < 0 || e.injected(at) {
		return false
	}
	if x, ok := e.effect(e.tool(at).Name); !ok || x.Removes != "" && e.spec.Cleanup != nil {
		return false
	}
	e.cut(at + 1)
	e.rec.Trajectory.Steps[at].Observation = refusedBy(s)
	return true
}

// opBeside has the first change of the agent change something of another account as well, which it does not name.
func opBeside(e *edit, _ variantStep) bool {
	for i := range e.steps() {
		if !e.tool(i).Mutates() || len(e.own(i)) == 0 {
			continue
		}
		w := e.world(i + 1)
		for _, name := range slices.Sorted(maps.Keys(w)) {
			for _, item := range w[name].Items {
				m := objectOf(item)
				if !e.isForeign(item) || e.touched(idOf(item)) || len(m["name"]) == 0 {
					continue
				}
				m["name"] = other(m["name"])
				e.also(i, tare.StateChange{Collection: name, ID: idOf(item), Before: item, After: jsonOf(m)})
				return true
			}
		}
	}
	return false
}

// opWane has a running instance of an app that nobody touches go while time passes, and the app not say so.
func opWane(e *edit, _ variantStep) bool {
	last := len(e.steps()) - 1
	if last < 0 || len(e.spec.Promises) == 0 || e.ev.Watched != tare.WatchEvery {
		return false
	}
	w := e.world(last + 1)
	for _, item := range w["instances"].Items {
		m := objectOf(item)
		app := textOf(m["app_id"])
		runs := slices.ContainsFunc(w["apps"].Items, func(it json.RawMessage) bool {
			return idOf(it) == app && textOf(objectOf(it)["status"]) == "running"
		})
		if runs && textOf(m["state"]) == "running" && !e.touched(app) && !e.touched(idOf(item)) {
			e.also(last, tare.StateChange{Collection: "instances", ID: idOf(item), Before: item, ByTime: true})
			return true
		}
	}
	return false
}

// opDiverge has the last change be something that the world does not model.
func opDiverge(e *edit, _ variantStep) bool {
	at := e.lastChange()
	if at < 0 || len(e.ev.Divergences) > 0 {
		return false
	}
	e.ev.Divergences = []tare.Divergence{{Step: at, Tool: e.tool(at).Name, What: "it is begun by parts"}}
	return true
}

// opMeddle has something be other at the end that no call touched.
func opMeddle(e *edit, _ variantStep) bool {
	if e.ev.Watched != tare.WatchEvery {
		return false // what happens between two calls is not looked at
	}
	for i := range e.ev.States {
		s := &e.ev.States[i]
		if s.Label != tare.LabelAfter {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(s.Collections)) {
			for _, item := range s.Collections[name].Items {
				m := objectOf(item)
				if e.touched(idOf(item)) || len(m["name"]) == 0 {
					continue
				}
				m["name"] = other(m["name"])
				s.Collections = maps.Clone(s.Collections)
				applyChange(s.Collections, tare.StateChange{Collection: name, ID: idOf(item), After: jsonOf(m)})
				return true
			}
		}
	}
	return false
}

// opLie has a read show an item otherwise than it is.
func opLie(e *edit, _ variantStep) bool {
	for i := len(e.steps()) - 1; i >= 0; i-- {
		if !e.looks(i) || e.injected(i) || e.ev.Watched != tare.WatchEvery {
			continue
		}
		answer := objectOf(e.steps()[i].Observation.Data)
		for _, part := range slices.Sorted(maps.Keys(answer)) {
			shown := objectOf(answer[part])
			is, ok := e.item(i+1, textOf(shown["id"]))
			if !ok {
				continue
			}
			for _, field := range slices.Sorted(maps.Keys(shown)) {
				if field == "id" || !tare.SameJSON(shown[field], is[field]) || textOf(shown[field]) == "" && !isNumber(shown[field]) {
					continue
				}
				shown[field] = other(shown[field])
				answer[part] = jsonOf(shown)
				e.show(i, answer)
				return true
			}
		}
	}
	return false
}

// item is the item with that id after n calls, when it is in one collection alone.
func (e *edit) item(n int, id string) (fields, bool) {
	var found []fields
	for _, c := range e.world(n) {
		for _, it := range c.Items {
			if id != "" && idOf(it) == id {
				found = append(found, objectOf(it))
			}
		}
	}
	if len(found) != 1 {
		return nil, false
	}
	return found[0], true
}

// show has a call be answered with other data.
func (e *edit) show(i int, data fields) {
	o := &e.rec.Trajectory.Steps[i].Observation
	o.Data = jsonOf(data)
	o.Preview, o.Size, o.Digest = string(o.Data), len(o.Data), tare.HashBytes(o.Data)
}

// opOmit has a whole list leave something out.
func opOmit(e *edit, _ variantStep) bool {
	for i := range e.steps() {
		answer, args := objectOf(e.steps()[i].Observation.Data), objectOf(e.steps()[i].Call.Args)
		if !e.looks(i) || e.injected(i) || e.ev.Watched != tare.WatchEvery || len(args["cursor"])+len(answer["next_cursor"]) > 0 {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(e.world(i))) {
			var items []json.RawMessage
			if json.Unmarshal(answer[name], &items) != nil || len(items) < 2 {
				continue
			}
			left, asked := items[len(items)-1], true
			for arg, v := range args {
				asked = asked && (arg == "page_size" || tare.SameJSON(objectOf(left)[arg], v))
			}
			alike := slices.ContainsFunc(items[:len(items)-1], func(it json.RawMessage) bool { return e.account(it) == e.account(left) })
			if !asked || !alike {
				continue
			}
			answer[name] = jsonOf(items[:len(items)-1])
			e.show(i, answer)
			return true
		}
	}
	return false
}
