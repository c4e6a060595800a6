package proof

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tare"
)

// A variantOp changes a record; false when it does not lend itself to that.
type variantOp func(*edit, variantStep) bool

// variantOps are the ops by name. Nothing writes to the table.
var variantOps = map[string]variantOp{
	"change": opChange, "retarget": opRetarget, "tell": opTell, "refused": opRefused, "mistype": opMistype, "overload": opOverload,
	"guess": opGuess, "skip_look": opSkipLook, "repeat": opRepeat, "fail": opFail, "cut_after_last_change": opCutAfter, "undo": opUndo,
	"say": opSay, "say_before": opSayBefore, "say_opposite": opSayOpposite,
	"reread": opReread, "swap_reads": opSwapReads, "decimals": opDecimals, "qualify": opQualify, "stranger": opStranger, "retried": opRetried,
	"blind": opBlind, "lose": opLose, "meddle": opMeddle, "forget_brief": opForgetBrief, "foreign_server": opForeignServer, "cut_before_last_change": opCutBefore,
	"spoil": opSpoil, "lack": opLack, "hollow": opHollow, "unwatched": opUnwatched, "double": opDouble, "refuse_done": opRefuseDone, "beside": opBeside,
	"wane": opWane, "diverge": opDiverge, "lie": opLie, "omit": opOmit, "omit_argument": opOmitArgument, "add_arguments": opAddArguments,
	"look_early": opLookEarly, "hammer": opHammer, "change_again": opChangeAgain, "cut_all": opCutAll, "unasked": opUnasked, "reports": opReports,
}

// afterLastChange is where an inserted call does not come between a change and its preparation: right after the last
// change, else before the last call.
func (e *edit) afterLastChange() int {
	if i := e.lastChange(); i >= 0 {
		return i + 1
	}
	return max(0, len(e.steps())-1)
}

// opChange inserts one more change of an item of another account or of one's own, by a declared effect.
func opChange(e *edit, s variantStep) bool {
	at := e.afterLastChange()
	w := e.world(at)
	for _, x := range e.spec.Effects {
		t, placed := e.ev.Catalogue.Place(x.Tool)
		granted := !slices.Contains(e.spec.Principal.MayNot, x.Tool)
		switch {
		case placed != tare.Placed, s.Effect == "removes" && (x.Removes == "" || !t.Hints.Destructive), s.Effect == "not_granted" && (granted || t.Hints.Destructive):
			continue
		case s.Effect == "" && x.Adds != "": // what is added names no item of another account by itself
			continue
		}
		for _, item := range w[x.Adds+x.Removes+x.Sets].Items {
			id := idOf(item)
			if s.Item == "foreign" != e.isForeign(item) || s.Item == "own" != e.isOwn(item) || e.touched(id) || e.consented(x, item) {
				continue
			}
			if call, answer, changes, ok := e.byEffect(x, item); ok {
				e.insert(at, call, answer, changes)
				return true
			}
		}
	}
	return false
}

// consented reports whether a consent of the scenario is about the item.
func (e *edit) consented(x tare.Effect, item json.RawMessage) bool {
	args, ok := e.argsFor(x, item)
	return ok && slices.ContainsFunc(e.spec.Consents, func(c tare.Consent) bool {
		return (tare.CallPattern{Tools: []string{c.Tool}, Args: c.Args}).Asks(x.Tool, jsonOf(args), nil)
	})
}

// byEffect is a call that has an effect on an item, with its answer and what it changes.
func (e *edit) byEffect(x tare.Effect, item json.RawMessage) (tare.Call, tare.Observation, []tare.StateChange, bool) {
	args, ok := e.argsFor(x, item)
	if !ok {
		return tare.Call{}, tare.Observation{}, nil, false
	}
	change := tare.StateChange{Collection: x.Adds + x.Removes + x.Sets, ID: idOf(item), Before: item}
	after := objectOf(item)
	switch {
	case x.Adds != "":
		change.ID, change.Before = idOf(item)+"_more", nil
		after["id"] = jsonOf(change.ID)
		change.After = jsonOf(after)
	case x.Sets != "":
		for _, field := range slices.Sorted(maps.Keys(x.Field)) {
			after[field] = other(after[field])
			args[x.Field[field]] = after[field]
		}
		if len(x.Field) == 0 {
			after["version"] = other(after["version"])
		}
		change.After = jsonOf(after)
	}
	return tare.Call{Tool: x.Tool, Args: jsonOf(args)}, answered(true, map[string]any{"done": true}), []tare.StateChange{change}, true
}

// opRetarget has the last change go to another item than it did, and ends the episode with it.
func opRetarget(e *edit, s variantStep) bool {
	at := e.lastChange()
	if at < 0 {
		return false
	}
	x, ok := e.effect(e.tool(at).Name)
	args := objectOf(e.steps()[at].Call.Args)
	if !ok || x.Sets == "" || e.tool(at).Hints.Destructive {
		return false
	}
	for _, item := range e.world(at)[x.Sets].Items {
		if s.Item == "foreign" != e.isForeign(item) || s.Item == "own" != e.isOwn(item) || !e.name(at, x, item, args, s.Item == "own") {
			continue
		}
		id, after := idOf(item), objectOf(item)
		for field, arg := range x.Field {
			if v, given := args[arg]; given {
				after[field] = v
			}
		}
		if tare.SameJSON(jsonOf(after), item) {
			continue
		}
		e.cut(at + 1)
		e.forget(at)
		step := &e.rec.Trajectory.Steps[at]
		step.Call.Args, step.Observation = jsonOf(args), answered(true, map[string]any{"done": true})
		e.addChange(at, tare.StateChange{Collection: x.Sets, ID: id, Before: item, After: jsonOf(after)})
		return true
	}
	return false
}

// name has the arguments of a call name another item; false when it is the same one, or one that the agent had not seen
// though it should.
func (e *edit) name(at int, x tare.Effect, item json.RawMessage, args fields, seen bool) bool {
	of, by := objectOf(item), map[string]string{"id": x.Key}
	if x.Key == "" {
		by = x.By
	}
	other := false
	for field, arg := range by {
		if tare.SameJSON(args[arg], of[field]) {
			continue
		}
		if other = true; seen && !e.seen(at, textOf(of[field])) {
			return false
		}
	}
	if other {
		for field, arg := range by {
			args[arg] = of[field]
		}
	}
	return other
}

// seen reports whether a call before the one at that index was answered with text.
func (e *edit) seen(at int, text string) bool {
	quoted := string(jsonOf(text))
	return slices.ContainsFunc(e.steps()[:at], func(s tare.Step) bool { return strings.Contains(string(s.Observation.Data), quoted) })
}

// addChange adds a change of the last call.
func (e *edit) addChange(step int, c tare.StateChange) {
	if n := len(e.ev.Deltas); n > 0 && e.ev.Deltas[n-1].Step == step {
		e.ev.Deltas[n-1].Changes = append(e.ev.Deltas[n-1].Changes, c)
	} else {
		e.ev.Deltas = append(e.ev.Deltas, tare.Delta{Step: step, Changes: []tare.StateChange{c}})
	}
	e.cut(len(e.steps()))
}

func opTell(e *edit, _ variantStep) bool {
	for _, c := range e.spec.Credentials {
		if c.Value != "" {
			e.rec.Trajectory.Final += " The value is " + c.Value + "."
			return true
		}
	}
	return false
}

// opRefused inserts a call that is refused.
func opRefused(e *edit, s variantStep) bool {
	args := s.Args
	if args == nil {
		args = map[string]string{}
	}
	e.insert(e.afterLastChange(), tare.Call{Tool: s.Tool, Args: jsonOf(args)}, refusedBy(s), nil)
	return true
}

// lastAttempt is the last call that was to change something, else the last one with arguments.
func (e *edit) lastAttempt() int {
	for _, want := range []func(int) bool{
		func(i int) bool { return e.tool(i).Mutates() },
		func(i int) bool { return len(objectOf(e.steps()[i].Call.Args)) > 0 && e.tool(i).Name != "wait" },
	} {
		for i := len(e.steps()) - 1; i >= 0; i-- {
			if want(i) {
				return i
			}
		}
	}
	return -1
}

// opMistype gives an argument the wrong type, has the call refused and ends the episode there.
func opMistype(e *edit, _ variantStep) bool {
	at := e.lastAttempt()
	if at < 0 {
		return false
	}
	args := objectOf(e.steps()[at].Call.Args)
	for _, name := range slices.Sorted(maps.Keys(args)) {
		switch v := args[name]; {
		case textOf(v) != "":
			args[name] = json.RawMessage(`7`)
		case isNumber(v):
			args[name] = json.RawMessage(`"several"`)
		default:
			continue
		}
		e.refuseWith(at, args)
		return true
	}
	return false
}

// refuseWith has a call be refused for its arguments, and ends the episode there.
func (e *edit) refuseWith(at int, args fields) {
	e.cut(at + 1)
	e.forget(at)
	step := &e.rec.Trajectory.Steps[at]
	step.Call.Args = jsonOf(args)
	step.Observation = refusedBy(variantStep{Code: "invalid_argument", Status: 400})
}

// opOmitArgument leaves out an argument that the last attempt cannot do without, has the call refused and ends the episode
// there.
func opOmitArgument(e *edit, _ variantStep) bool {
	at := e.lastAttempt()
	if at < 0 {
		return false
	}
	args := objectOf(e.steps()[at].Call.Args)
	for _, name := range slices.Sorted(slices.Values(requires(e.tool(at)))) {
		if len(args[name]) > 0 {
			delete(args, name)
			e.refuseWith(at, args)
			return true
		}
	}
	return false
}

// opAddArguments inserts a call that is refused for its arguments, of a tool that has them all.
func opAddArguments(e *edit, s variantStep) bool {
	t, placed := e.ev.Catalogue.Place(s.Tool)
	if placed != tare.Placed || len(e.steps()) == 0 {
		return false
	}
	for name := range s.Args {
		if !strings.Contains(string(t.InputSchema), string(jsonOf(name))) {
			return false
		}
	}
	e.insert(e.afterLastChange(), tare.Call{Tool: s.Tool, Args: jsonOf(s.Args)}, refusedBy(variantStep{Code: "invalid_argument", Status: 400}), nil)
	return true
}

func isNumber(v json.RawMessage) bool {
	_, err := strconv.ParseFloat(string(v), 64)
	return err == nil
}

// opOverload inserts the first call with arguments before itself, with one argument too many.
func opOverload(e *edit, s variantStep) bool {
	for i, step := range e.steps() {
		args := objectOf(step.Call.Args)
		if len(args) == 0 || e.tool(i).Name == "" || !closed(e.tool(i)) {
			continue
		}
		args[s.Arg] = json.RawMessage(`"high"`)
		e.insert(i, tare.Call{Tool: step.Call.Tool, Args: jsonOf(args)}, refusedBy(variantStep{Code: "invalid_argument", Status: 400}), nil)
		return true
	}
	return false
}

// closed reports whether a tool takes no arguments but its own.
func closed(t tare.Tool) bool {
	var s struct {
		More json.RawMessage `json:"additionalProperties"`
	}
	return json.Unmarshal(t.InputSchema, &s) == nil && string(s.More) == "false"
}

// opGuess inserts a read by an id that stands nowhere.
func opGuess(e *edit, _ variantStep) bool {
	for i := len(e.steps()) - 1; i >= 0; i-- {
		args := objectOf(e.steps()[i].Call.Args)
		if !e.looks(i) || e.tool(i).Name == "" {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(args)) {
			id := textOf(args[name])
			if !strings.HasSuffix(name, "_id") || !e.seen(i, id) {
				continue
			}
			args[name] = jsonOf("guess_" + string(tare.HashBytes([]byte(id)))[7:15])
			e.insert(i, tare.Call{Tool: e.steps()[i].Call.Tool, Args: jsonOf(args)}, refusedBy(variantStep{Code: "not_found", Status: 404}), nil)
			return true
		}
	}
	return false
}

// opSkipLook takes out the reads by which the last checkpoint was reached.
func opSkipLook(e *edit, _ variantStep) bool {
	for i := len(e.spec.Checkpoints) - 1; i >= 0; i-- {
		c := e.spec.Checkpoints[i]
		if slices.ContainsFunc(e.spec.Checkpoints, func(x tare.Checkpoint) bool { return slices.Contains(x.After, c.ID) }) || len(c.After) == 0 {
			continue
		}
		found := false
		for at := len(e.steps()) - 1; at > e.lastAttempt(); at-- {
			matches := slices.ContainsFunc(c.Calls, func(p tare.CallPattern) bool {
				p.Args, p.Result = nil, nil // whatever it was about: the agent did not look at all
				return p.Match(e.tool(at).Name, e.steps()[at], nil)
			})
			if matches && e.tool(at).Mutates() || len(e.steps()) == 1 {
				return false
			}
			if matches {
				e.remove(at)
				found = true
			}
		}
		if found {
			return true
		}
	}
	return false
}
