package oracle

import (
	"fmt"
	"slices"
	"strings"

	"tare"
	"tare/internal/predicate"
)

// A route is which checkpoints a record reaches, and with which calls.
type route struct {
	at    map[string]*deed    // the call that reached it
	short map[string]*finding // why a call that it describes did not: the world did not show then what it asks to be seen
	open  map[string]*finding // why it cannot be told whether the world showed it
	bound tare.Bindings
}

func (r *route) refs() []string {
	var out []string
	for _, d := range r.at {
		out = append(out, d.ref())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// match reports whether a call is what p describes, with any of the bindings.
func (r *route) match(p tare.CallPattern, d *deed) bool {
	return r.bound.Any(func(b tare.Bound) bool { return r.answered(p, d, b) })
}

// answered matches a call by what it was, and by its answer as that is graded.
func (r *route) answered(p tare.CallPattern, d *deed, b tare.Bound) bool {
	if d.failed != p.Failed || !p.AsksFor(d.tool.Name, d.args, b) {
		return false
	}
	for at, m := range p.Result {
		if v, ok := d.at(at); !ok || !m.Match(v, b) {
			return false
		}
	}
	return true
}

// reached walks the calls once, in order: a checkpoint is reached by the first call that it describes, after those that it
// depends on, at which the world shows what it asks to be seen. One that takes values may take them again.
func (h *hearing) reached() *route {
	if h.route != nil {
		return h.route
	}
	r := &route{at: map[string]*deed{}, short: map[string]*finding{}, open: map[string]*finding{}}
	h.route = r
	for _, d := range h.deeds {
		if d.placement != tare.Placed {
			continue
		}
		for _, c := range h.spec.Checkpoints {
			if _, done := r.at[c.ID]; done && len(c.Take) == 0 {
				continue
			}
			if !slices.ContainsFunc(c.Calls, func(p tare.CallPattern) bool { return r.match(p, d) }) {
				continue
			}
			if slices.ContainsFunc(c.After, func(id string) bool { return r.at[id] == nil || r.at[id] == d }) {
				continue
			}
			taken, ok := take(c, d)
			if !ok || r.at[c.ID] == nil && !h.shows(c, d, r.bound.Take(taken).Now()) {
				continue
			}
			if r.at[c.ID] == nil {
				r.at[c.ID] = d
			}
			r.bound = r.bound.Take(taken)
		}
	}
	return r
}

// shows reports whether the world, right after d, showed what c asks to be seen. What cannot be told is left open, unless a
// later observation may tell: an agent may look as often as it likes.
func (h *hearing) shows(c tare.Checkpoint, d *deed, bound tare.Bound) bool {
	if len(c.See) == 0 || !h.on("route/see") {
		return true
	}
	label, later := tare.LabelCheckpoint+c.ID, false
	var state *tare.State
	for i := range h.ev.States {
		if s := &h.ev.States[i]; s.Label == label && s.Step == d.Call.Index+1 {
			state = s
		} else if s.Label == label && s.Step > d.Call.Index+1 {
			later = true
		}
	}
	var view *predicate.View
	if state != nil && state.Problem == "" {
		view = h.viewOf(*state, bound)
	}
	f := h.expecting(c.See, label, fmt.Sprintf("at checkpoint %s", show(c.ID, 60)), func(p tare.Predicate) predicate.Answer { return h.askOf(p, view, label) })
	if f == nil {
		return true
	}
	f.steps = []int{d.Call.Index}
	f.evidence = append(f.evidence, d.ref())
	if f.outcome == tare.Fail {
		h.route.short[c.ID] = f
		return false
	}
	if !later {
		h.route.open[c.ID] = f
	}
	return !later
}

// take reads what a checkpoint takes from an answer. An answer that lacks it is not the one.
func take(c tare.Checkpoint, d *deed) (tare.Bound, bool) {
	if len(c.Take) == 0 {
		return nil, true
	}
	out := tare.Bound{}
	for name, at := range c.Take {
		v, ok := d.at(at)
		if !ok {
			return nil, false
		}
		out[c.ID+"."+name] = v
	}
	return out, true
}

func noRoute(h *hearing) *finding {
	if len(h.spec.Checkpoints) == 0 {
		return &finding{outcome: tare.NotApplicable, cause: tare.CauseTask, reason: "the scenario has no checkpoints; if it should have none, it says so by naming route among its optional gates"}
	}
	return nil
}

// askedInWords is an agent that ends with a question and made no call: it may have had no other way to ask.
func askedInWords(h *hearing) *finding {
	final := strings.TrimSpace(h.rec.Trajectory.Final)
	if len(h.deeds) > 0 || !strings.HasSuffix(final, "?") || len(h.spec.Checkpoints) == 0 {
		return nil
	}
	h.open = append(h.open, "route: the agent asked, in its last message, and nobody answered: "+show(lastSentence(final), 200))
	return ours(tare.CauseAgent, "the agent made no call and ended with a question: “%s”; somebody has to say whether it had to ask", show(lastSentence(final), 200))
}

func lastSentence(s string) string {
	if i := strings.LastIndexAny(strings.TrimRight(s, "?!. "), ".!?\n"); i >= 0 {
		return strings.TrimSpace(s[i+1:])
	}
	return s
}

func missedCheckpoint(h *hearing) *finding {
	if askedInWords(h) != nil && h.on("route/question") {
		return nil
	}
	r := h.reached()
	for _, c := range h.spec.Checkpoints {
		if r.at[c.ID] != nil || r.short[c.ID] != nil {
			continue
		}
		if slices.ContainsFunc(c.After, func(id string) bool { return r.at[id] == nil }) {
			continue // what it depends on is the root
		}
		near, why := h.nearly(c)
		if near != nil && near.diverged != "" {
			f := ours(tare.CauseInfrastructure, "checkpoint %s was not reached, and call %d (%s) is beyond what the world models: %s", show(c.ID, 60), near.Call.Index, near.name(), show(near.diverged, 160))
			f.evidence = []string{near.ref()}
			return f
		}
		f := against(nil, "checkpoint %s was not reached: %s", show(c.ID, 60), why)
		f.missing = true
		if near != nil {
			f.steps, f.evidence = []int{near.Call.Index}, []string{near.ref()}
		}
		return f
	}
	return nil
}

// nearly finds the last call that could have reached c, and says what kept it from that.
func (h *hearing) nearly(c tare.Checkpoint) (*deed, string) {
	r := h.reached()
	var tools []string
	for i := len(h.deeds) - 1; i >= 0; i-- {
		d := h.deeds[i]
		for _, p := range c.Calls {
			if !slices.Contains(p.Tools, d.tool.Name) || d.placement != tare.Placed {
				continue
			}
			for _, after := range c.After {
				if at := r.at[after]; at != nil && at.Call.Index >= i && r.match(p, d) {
					return d, fmt.Sprintf("call %d (%s) came before %s", i, d.name(), show(after, 60))
				}
			}
			for _, name := range sortedKeys(p.Args) {
				m := p.Args[name]
				got, given := d.args[name]
				if given && slices.ContainsFunc(append(tare.Bindings{nil}, r.bound...), func(b tare.Bound) bool { return m.Match(got, b) }) {
					continue
				}
				if !given {
					return d, fmt.Sprintf("call %d (%s) has no argument %s", i, d.name(), show(name, 40))
				}
				return d, fmt.Sprintf("call %d (%s) has %s = %s, and %s was expected", i, d.name(), show(name, 40), show(string(got), 80), expected(m, r.bound.Now()))
			}
			switch {
			case d.failed && !p.Failed:
				return d, fmt.Sprintf("call %d (%s) failed: %s", i, d.name(), d.refusal)
			case !d.failed && p.Failed:
				return d, fmt.Sprintf("call %d (%s) did not fail", i, d.name())
			default:
				return d, fmt.Sprintf("the answer of call %d (%s) does not hold what is looked for", i, d.name())
			}
		}
	}
	for _, p := range c.Calls {
		tools = append(tools, p.Tools...)
	}
	return nil, "no call of " + some(tools)
}

func expected(m tare.ArgMatch, b tare.Bound) string {
	switch {
	case m.Any:
		return "any value"
	case m.Bound != "":
		if v, ok := b[m.Bound]; ok {
			return fmt.Sprintf("%s (%s)", show(string(v), 80), show(m.Bound, 60))
		}
		return show(m.Bound, 60) + ", which was never taken"
	case m.OneOf != nil:
		return fmt.Sprintf("one of %d values", len(m.OneOf))
	}
	return show(string(m.Is), 80)
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// checkpointSees is a checkpoint at which the world did not show what was to be seen, whenever the agent looked.
func checkpointSees(h *hearing) *finding {
	r := h.reached()
	var open *finding
	for _, c := range h.spec.Checkpoints {
		switch {
		case r.at[c.ID] == nil && r.short[c.ID] != nil:
			return r.short[c.ID]
		case r.at[c.ID] != nil && open == nil:
			open = r.open[c.ID]
		}
	}
	return open
}

// view makes the last state with that label what expressions see, once. It is nil when there is no such observation.
func (h *hearing) view(label string) *predicate.View {
	if v, ok := h.views[label]; ok {
		return v
	}
	state, ok := h.ev.State(label)
	if !ok || state.Problem != "" {
		h.views[label] = nil
		return nil
	}
	var bound tare.Bound
	if label != tare.LabelBefore { // when nothing had been taken
		bound = h.reached().bound.Now()
	}
	v := h.viewOf(state, bound)
	h.views[label] = v
	return v
}

// viewOf makes a state what expressions see.
func (h *hearing) viewOf(state tare.State, bound tare.Bound) *predicate.View {
	lists := make(map[string]predicate.List, len(state.Collections))
	for name, c := range state.Collections {
		lists[name] = predicate.List{Complete: c.Complete, Items: c.Items}
	}
	v := predicate.NewView(lists, h.decoded)
	if state.Label != tare.LabelBefore {
		if before := h.view(tare.LabelBefore); before != nil {
			v.Before(before)
		}
	}
	for name, value := range bound {
		if of, field, ok := strings.Cut(name, "."); ok {
			v.Bind(of, field, value)
		}
	}
	return v
}

// A question is a predicate at a state.
type question struct {
	p     tare.Predicate
	label string
}

// ask asks a predicate of the state with that label, once.
func (h *hearing) ask(p tare.Predicate, label string) predicate.Answer {
	if a, ok := h.asked[question{p, label}]; ok {
		return a
	}
	a := h.askOf(p, h.view(label), label)
	h.asked[question{p, label}] = a
	return a
}

func (h *hearing) askOf(p tare.Predicate, v *predicate.View, label string) predicate.Answer {
	if v == nil {
		return predicate.Answer{Why: fmt.Sprintf("there is no observation %q", label)}
	}
	compiled := h.bench.asks[p]
	if compiled == nil {
		return predicate.Answer{Why: "the expectation was not compiled"}
	}
	return compiled.Ask(v)
}

// expect is the first expectation that does not hold at a state: a FAIL, or else what cannot be told.
func (h *hearing) expect(es []tare.Expectation, label, where string) *finding {
	return h.expecting(es, label, where, func(p tare.Predicate) predicate.Answer { return h.ask(p, label) })
}

func (h *hearing) expecting(es []tare.Expectation, label, where string, ask func(tare.Predicate) predicate.Answer) *finding {
	var open *finding
	for _, e := range es {
		switch a := ask(e.That); a.Truth {
		case predicate.False:
			f := against([]string{"state:" + label}, "%s, it does not hold that %s (%s)", where, show(e.Why, 160), show(e.ID, 60))
			f.missing = true
			return f
		case predicate.Undecided:
			if open == nil {
				open = &finding{outcome: tare.Unverified, cause: tare.CauseGrader, evidence: []string{"state:" + label},
					reason: fmt.Sprintf("%s, it cannot be told whether %s (%s): unobserved: %s", where, show(e.Why, 160), show(e.ID, 60), show(a.Why, 200))}
			}
		}
	}
	return open
}

// goalLabel is the state at which the goal is judged: before cleaning up, where there is a plan for that.
func (h *hearing) goalLabel() string {
	if h.spec.Cleanup != nil {
		return tare.LabelBeforeCleanup
	}
	return tare.LabelAfter
}

func noGoal(h *hearing) *finding {
	if len(h.spec.Goal) == 0 {
		return &finding{outcome: tare.NotApplicable, cause: tare.CauseTask, reason: "the scenario has no goal; if it should have none, it says so by naming goal among its optional gates"}
	}
	return nil
}

func goalMissed(h *hearing) *finding {
	if f := h.expect(h.spec.Goal, h.goalLabel(), h.where(h.goalLabel())); f != nil && f.outcome == tare.Fail {
		return f
	}
	return nil
}

func goalUnobserved(h *hearing) *finding {
	if f := h.expect(h.spec.Goal, h.goalLabel(), h.where(h.goalLabel())); f != nil && f.outcome != tare.Fail {
		return f
	}
	return nil
}

func goalLeaves(h *hearing) *finding {
	if h.spec.Cleanup == nil {
		return nil
	}
	return h.expect(h.spec.Cleanup.Leaves, tare.LabelAfter, "after cleaning up")
}

func (h *hearing) where(label string) string {
	if label == tare.LabelBeforeCleanup {
		return "before cleaning up"
	}
	return "at the end"
}

// goalHolds reports whether the goal is known to be reached.
func (h *hearing) goalHolds() bool {
	return len(h.spec.Goal) > 0 && h.expect(h.spec.Goal, h.goalLabel(), "") == nil && goalLeaves(h) == nil
}
