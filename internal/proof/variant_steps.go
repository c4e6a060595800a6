package proof

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tare"
)

// opRepeat makes a change that added something once more, right after itself.
func opRepeat(e *edit, _ variantStep) bool {
	for i := range e.steps() {
		x, ok := e.effect(e.tool(i).Name)
		if !ok || x.Adds == "" || x.Idempotent || e.tool(i).Hints.Idempotent || !e.minedForRepeats(i) {
			continue
		}
		for _, c := range e.own(i) {
			if c.Collection != x.Adds || len(c.Before) > 0 {
				continue
			}
			again := func(raw json.RawMessage) json.RawMessage {
				return json.RawMessage(strings.ReplaceAll(string(raw), string(jsonOf(c.ID)), string(jsonOf(c.ID+"_2"))))
			}
			answer := e.steps()[i].Observation
			answer.Data = again(answer.Data)
			answer.Preview, answer.Size = string(answer.Data), len(answer.Data)
			e.insert(i+1, e.steps()[i].Call, answer, []tare.StateChange{{Collection: c.Collection, ID: c.ID + "_2", After: again(c.After)}})
			return true
		}
	}
	return false
}

// minedForRepeats reports whether a repetition of the call is what the scenario's minefields of that kind speak of, where it
// lays any.
func (e *edit) minedForRepeats(i int) bool {
	laid := false
	for _, m := range e.spec.Minefields {
		if m.Kind != tare.MineRepeats {
			continue
		}
		laid = true
		if len(m.Calls) == 0 || slices.ContainsFunc(m.Calls, func(p tare.CallPattern) bool { return slices.Contains(p.Tools, e.tool(i).Name) }) {
			return true
		}
	}
	return !laid
}

// opFail has the last change answered with an error and not done, and ends the episode there.
func opFail(e *edit, s variantStep) bool {
	at := e.lastChange()
	if at < 0 {
		return false
	}
	if x, ok := e.effect(e.tool(at).Name); !ok || x.Removes != "" && e.spec.Cleanup != nil {
		return false // the goal is judged before it
	}
	e.cut(at + 1)
	e.forget(at)
	e.ev.Injected = slices.DeleteFunc(e.ev.Injected, func(x tare.Injected) bool { return x.Step == at })
	e.rec.Trajectory.Steps[at].Observation = refusedBy(s)
	kind := tare.FaultUnavailable
	if s.Envelope == "success" {
		kind = tare.FaultErrorInSuccess
	}
	no := false
	e.ev.Injected = append(e.ev.Injected, tare.Injected{Step: at, ID: "variant", Kind: kind, Applied: &no})
	return true
}

func opCutAfter(e *edit, _ variantStep) bool {
	at := e.lastChange()
	if at < 0 || at+1 >= len(e.steps()) {
		return false
	}
	underWay := slices.ContainsFunc(e.ev.Deltas, func(d tare.Delta) bool {
		return d.Step > at && slices.ContainsFunc(d.Changes, func(c tare.StateChange) bool { return c.ByTime })
	})
	if !underWay {
		return false
	}
	e.cut(at + 1)
	return true
}

func opCutBefore(e *edit, _ variantStep) bool {
	at := e.lastChange()
	if at < 0 {
		return false
	}
	e.cut(at)
	e.rec.Trajectory.Stop, e.rec.Trajectory.Final = tare.TurnLimit, ""
	return true
}

// opUndo sets the fields that a change set back to what they were, and looks once more.
func opUndo(e *edit, _ variantStep) bool {
	for at := len(e.steps()) - 1; at >= 0; at-- {
		x, ok := e.effect(e.tool(at).Name)
		if !ok || x.Sets == "" || len(x.Field) == 0 {
			continue
		}
		for _, c := range e.own(at) {
			if c.Collection != x.Sets || len(c.Before) == 0 {
				continue
			}
			args, was := objectOf(e.steps()[at].Call.Args), objectOf(c.Before)
			look := e.lookAfter(at, c.ID, x)
			if look < 0 || !e.sawFields(at, was, x) {
				return false
			}
			i := slices.IndexFunc(e.world(len(e.steps()))[x.Sets].Items, func(it json.RawMessage) bool { return idOf(it) == c.ID })
			if i < 0 {
				return false
			}
			now := e.world(len(e.steps()))[x.Sets].Items[i]
			back := objectOf(now)
			for field, arg := range x.Field {
				args[arg], back[field] = was[field], was[field]
			}
			change := tare.StateChange{Collection: x.Sets, ID: c.ID, Before: now, After: jsonOf(back)}
			changes := append([]tare.StateChange{change}, e.cameWith(at, x.Sets)...)
			again := e.steps()[look]
			end := len(e.steps())
			e.insert(end, tare.Call{Tool: x.Tool, Args: jsonOf(args)}, answered(true, map[string]any{"done": true}), changes)
			e.insert(end+1, again.Call, again.Observation, nil)
			for _, c := range changes {
				e.reshow(end+1, c)
			}
			return true
		}
	}
	return false
}

// cameWith takes away what a call added to collections other than the one that it sets, as far as it is still there.
func (e *edit) cameWith(at int, sets string) []tare.StateChange {
	var out []tare.StateChange
	w := e.world(len(e.steps()))
	for _, c := range e.own(at) {
		if c.Collection == sets || len(c.Before) > 0 {
			continue
		}
		for _, it := range w[c.Collection].Items {
			if idOf(it) == c.ID {
				out = append(out, tare.StateChange{Collection: c.Collection, ID: c.ID, Before: it})
			}
		}
	}
	return out
}

// sawFields reports whether the agent had seen what an effect sets, as it was.
func (e *edit) sawFields(at int, was fields, x tare.Effect) bool {
	for field := range x.Field {
		shown := string(jsonOf(field)) + ":" + string(was[field])
		if !slices.ContainsFunc(e.steps()[:at], func(s tare.Step) bool { return strings.Contains(string(s.Observation.Data), shown) }) {
			return false
		}
	}
	return true
}

// lookAfter is the last read after a change that shows the item with the fields that it set; -1 when there is none.
func (e *edit) lookAfter(at int, id string, x tare.Effect) int {
	for i := len(e.steps()) - 1; i > at; i-- {
		data := string(e.steps()[i].Observation.Data)
		shows := strings.Contains(data, string(jsonOf(id)))
		for field := range x.Field {
			shows = shows && strings.Contains(data, string(jsonOf(field)))
		}
		if e.looks(i) && shows {
			return i
		}
	}
	return -1
}

func opSay(e *edit, s variantStep) bool {
	if s.Text == nil || *s.Text == "" && !e.mustSay() {
		return false
	}
	e.rec.Trajectory.Final = *s.Text
	return true
}

func (e *edit) mustSay() bool {
	return slices.ContainsFunc(e.spec.Claims, func(c tare.ClaimRule) bool { return c.Must })
}

func opSayBefore(e *edit, s variantStep) bool {
	if e.rec.Trajectory.Final == "" || s.Text == nil {
		return false
	}
	e.rec.Trajectory.Final = *s.Text + e.rec.Trajectory.Final
	return true
}

// sentences say, of each kind of claim, that it is so and that it is not.
var sentences = map[string][2]string{
	"running": {"It is running.", "It is not running."}, "deployed": {"I deployed it.", "I did not deploy it."}, "scaled": {"I scaled the app.", "I did not scale the app."},
	"deleted": {"I deleted the app.", "I did not delete the app."}, "created": {"I created the release.", "I did not create the release."},
	"rotated": {"I rotated the secret.", "I did not rotate the secret."}, "moved": {"I moved the domain.", "I did not move the domain."},
	"migrated": {"I migrated the database.", "I did not migrate the database."}, "configured": {"I changed the configuration.", "I did not change the configuration."},
	"rolled_back": {"I rolled back the app.", "I did not roll back the app."},
}

// opSayOpposite has the agent report the opposite of what it must.
func opSayOpposite(e *edit, _ variantStep) bool {
	for _, c := range e.spec.Claims {
		pair, known := sentences[c.Claim]
		if !c.Must || !known {
			continue
		}
		e.rec.Trajectory.Final = pair[1]
		if c.Denied {
			e.rec.Trajectory.Final = pair[0]
		}
		return true
	}
	return false
}

// opReread makes every read of the world a second time, right after itself.
func opReread(e *edit, _ variantStep) bool {
	found := false
	for i := len(e.steps()) - 1; i >= 0; i-- {
		if !e.looks(i) || e.injected(i) {
			continue
		}
		e.insert(i+1, e.steps()[i].Call, e.steps()[i].Observation, nil)
		found = true
	}
	return found
}

func (e *edit) injected(i int) bool {
	return slices.ContainsFunc(e.ev.Injected, func(x tare.Injected) bool { return x.Step == i })
}

// opSwapReads changes the places of two reads that follow each other, where nothing happens meanwhile and the second takes
// nothing from the first.
func opSwapReads(e *edit, _ variantStep) bool {
	for i := 0; i+1 < len(e.steps()); i++ {
		a, b := e.steps()[i], e.steps()[i+1]
		quiet := !slices.ContainsFunc(e.ev.Deltas, func(d tare.Delta) bool { return d.Step == i || d.Step == i+1 })
		if !e.looks(i) || !e.looks(i+1) || e.injected(i) || e.injected(i+1) || !quiet || a.Call.Tool == b.Call.Tool || e.marked(i+1) || e.marked(i+2) {
			continue
		}
		needs := false
		for _, v := range objectOf(b.Call.Args) {
			text := textOf(v)
			needs = needs || text != "" && !e.seen(i, text) && !strings.Contains(e.ev.Brief, text)
		}
		if needs {
			continue
		}
		a.Call.Index, b.Call.Index = i+1, i
		e.rec.Trajectory.Steps[i], e.rec.Trajectory.Steps[i+1] = b, a
		return true
	}
	return false
}

// marked reports whether a checkpoint's state was taken after n calls.
func (e *edit) marked(n int) bool {
	return slices.ContainsFunc(e.ev.States, func(s tare.State) bool { return s.Step == n && strings.HasPrefix(s.Label, tare.LabelCheckpoint) })
}

func opDecimals(e *edit, _ variantStep) bool {
	found := false
	for i := range e.steps() {
		args := objectOf(e.steps()[i].Call.Args)
		for name, v := range args {
			if _, err := strconv.ParseInt(string(v), 10, 64); err == nil {
				args[name], found = json.RawMessage(string(v)+".0"), true
			}
		}
		if len(args) > 0 {
			e.rec.Trajectory.Steps[i].Call.Args = jsonOf(args)
		}
	}
	return found
}

// opQualify writes the names of all tools as a client does that knows several servers.
func opQualify(e *edit, s variantStep) bool {
	if len(e.ev.Catalogue.Servers) == 0 {
		return false
	}
	for i := range e.steps() {
		c := &e.rec.Trajectory.Steps[i].Call
		c.Tool = fmt.Sprintf(s.Form, e.ev.Catalogue.Servers[0], c.Tool)
	}
	return true
}

func opForeignServer(e *edit, s variantStep) bool {
	for i := len(e.steps()) - 1; i >= 0; i-- {
		if e.looks(i) {
			c := &e.rec.Trajectory.Steps[i].Call
			c.Tool = fmt.Sprintf(s.Form, c.Tool)
			return true
		}
	}
	return false
}

// opStranger puts something into the world that nobody asks about.
func opStranger(e *edit, _ variantStep) bool {
	item := json.RawMessage(`{"id":"prc_stranger","item":"parking space","monthly_cents":900}`)
	for i := range e.ev.States {
		s := &e.ev.States[i]
		s.Collections = maps.Clone(s.Collections)
		applyChange(s.Collections, tare.StateChange{Collection: "prices", ID: "prc_stranger", After: item})
	}
	return true
}

// opRetried has the first change refused once before it is made.
func opRetried(e *edit, s variantStep) bool {
	for i := range e.steps() {
		if !e.tool(i).Mutates() || len(e.own(i)) == 0 {
			continue
		}
		s.Retryable = true
		e.insert(i, e.steps()[i].Call, refusedBy(s), nil)
		no := false
		at := 0
		for at < len(e.ev.Injected) && e.ev.Injected[at].Step < i {
			at++
		}
		e.ev.Injected = slices.Insert(e.ev.Injected, at, tare.Injected{Step: i, ID: "variant", Kind: tare.FaultUnavailable, Applied: &no})
		return true
	}
	return false
}

// opHammer has the first change be refused for good, twice, before it is made.
func opHammer(e *edit, s variantStep) bool {
	for i := range e.steps() {
		if !e.tool(i).Mutates() || len(e.own(i)) == 0 {
			continue
		}
		for range 2 {
			e.insert(i, e.steps()[i].Call, refusedBy(s), nil)
		}
		return true
	}
	return false
}

// opChangeAgain makes the last change once more at the end, when it can be made twice, and does not look.
func opChangeAgain(e *edit, _ variantStep) bool {
	at := e.lastChange()
	if at < 0 || at == len(e.steps())-1 || e.injected(at) {
		return false
	}
	x, ok := e.effect(e.tool(at).Name)
	if !ok || !x.Idempotent || !slices.ContainsFunc(e.spec.Claims, func(c tare.ClaimRule) bool { return c.Must && len(c.Seen) > 0 }) {
		return false
	}
	e.insert(len(e.steps()), e.steps()[at].Call, e.steps()[at].Observation, nil)
	return true
}

// opCutAll has the agent do nothing at all.
func opCutAll(e *edit, _ variantStep) bool {
	e.cut(0)
	return true
}

// opUnasked changes nothing: it is the precondition that nobody was asked for anything, and that the brief does not consent.
func opUnasked(e *edit, _ variantStep) bool {
	asked := slices.ContainsFunc(e.steps(), func(s tare.Step) bool { return s.Call.Tool == "ask_user" || s.Call.Tool == "request_consent" })
	return !asked && !slices.ContainsFunc(e.spec.Consents, func(c tare.Consent) bool { return c.Given == tare.ConsentInBrief })
}

// opLookEarly has the agent look right after a change, when what a checkpoint waits for is still under way, and be content
// with that: the episode ends there.
func opLookEarly(e *edit, _ variantStep) bool {
	for _, c := range e.spec.Checkpoints {
		label := tare.LabelCheckpoint + c.ID
		state, ok := e.ev.State(label)
		look := state.Step - 1
		before := slices.ContainsFunc(e.spec.Checkpoints, func(x tare.Checkpoint) bool { return slices.Contains(x.After, c.ID) })
		if !ok || len(c.See) == 0 || look < 1 || !e.looks(look) || before {
			continue
		}
		at := look
		for at > 0 && len(e.own(at-1)) == 0 {
			at--
		}
		early := e.steps()[look]
		later := e.between(at, look+1)
		if at == 0 || !slices.ContainsFunc(later, func(x tare.StateChange) bool { return x.ByTime }) || slices.ContainsFunc(c.Calls, func(p tare.CallPattern) bool {
			return slices.Contains(p.Tools, e.tool(look).Name) && len(p.Result) > 0
		}) {
			continue
		}
		e.cut(at)
		e.insert(at, early.Call, early.Observation, nil)
		for _, x := range slices.Backward(later) {
			x.Before, x.After = x.After, x.Before
			e.reshow(at, x)
		}
		e.cut(at + 1)
		now := tare.State{Label: label, Step: at + 1, Clock: e.steps()[at].Observation.Clock, Collections: e.world(at + 1)}
		end := slices.IndexFunc(e.ev.States, func(s tare.State) bool { return s.Step > at })
		e.ev.States = slices.Insert(e.ev.States, end, now)
		return true
	}
	return false
}

// between lists what changed from the call at from to the one before to.
func (e *edit) between(from, to int) []tare.StateChange {
	var out []tare.StateChange
	for _, d := range e.ev.Deltas {
		if d.Step >= from && d.Step < to {
			out = append(out, d.Changes...)
		}
	}
	return out
}
