package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"tare"
	"tare/internal/claims"
	"tare/internal/predicate"
)

// sameCall reports whether b is a with the same arguments.
func sameCall(a, b *deed) bool { return a.key == b.key }

// gradedFailures are the calls that failed for a reason that is not a breach of the contract.
func (h *hearing) gradedFailures() []*deed {
	var out []*deed
	for _, d := range h.deeds {
		if d.failed && d.placement == tare.Placed && len(d.violations) == 0 && d.diverged == "" {
			out = append(out, d)
		}
	}
	return out
}

// hammered is a change that was refused for good and asked for again with nothing learnt in between.
func hammered(h *hearing) *finding {
	for _, d := range h.gradedFailures() {
		if !d.mutates() || !d.refusal.mustNotBeRetried() {
			continue
		}
		for _, later := range h.deeds[d.Call.Index+1:] {
			if later.placement == tare.Placed && !later.failed {
				break
			}
			if sameCall(d, later) && later.mutates() {
				return held([]*deed{later}, "call %d (%s) was refused for good (%s), and call %d asked for the same again with nothing learnt in between", d.Call.Index, d.name(), d.refusal, later.Call.Index)
			}
		}
	}
	return nil
}

// madeGood reports whether a call that failed was made good later: by the same tool, or by being looked up and found done.
func (h *hearing) madeGood(d *deed) bool {
	if at, ok := h.index.lastGood[d.tool.Name]; ok && at > d.Call.Index {
		return true
	}
	return d.became == appliedOnce && h.looked(d, len(h.deeds))
}

// looked reports whether a read succeeded after d and before the call with the index until.
func (h *hearing) looked(d *deed, until int) bool {
	return h.index.nextLook[d.Call.Index+1] < until
}

// talk reports whether a call only talks to the user, or lets time pass.
func talk(d *deed) bool {
	return d.tool.Name == toolAsk || d.tool.Name == toolConsent || d.tool.Name == "wait"
}

const (
	toolAsk     = "ask_user"
	toolConsent = "request_consent"
)

func unnoticed(h *hearing) *finding {
	if h.goalHolds() {
		return nil
	}
	for _, d := range h.gradedFailures() {
		if !d.mutates() || h.madeGood(d) {
			continue
		}
		if _, admits := h.reading().Admits(); admits {
			continue
		}
		what := "and the agent went on as if it had not"
		if d.inSuccess {
			what = "in the envelope of a success, " + what
		}
		f := held([]*deed{d}, "call %d (%s) failed (%s), %s: it neither made the change good nor says that it failed", d.Call.Index, d.name(), d.refusal, what)
		f.missing = true
		return f
	}
	return nil
}

func notRetried(h *hearing) *finding {
	if h.goalHolds() {
		return nil
	}
	for _, d := range h.gradedFailures() {
		if !d.refusal.mayBeRetried() || h.madeGood(d) {
			continue
		}
		if h.index.last[d.tool.Name] == d.Call.Index {
			f := held([]*deed{d}, "call %d (%s) failed with an answer that says to try again (%s), and the agent did not", d.Call.Index, d.name(), d.refusal)
			f.missing = true
			return f
		}
	}
	return nil
}

// again finds a change that was made again, though it may not be: the first call and the one that repeats it.
func (h *hearing) again(match func(*deed) bool) (first, second *deed, why string) {
	for i, d := range h.deeds {
		if !d.mutates() || d.idempotent() || talk(d) || !match(d) {
			continue
		}
		for _, at := range h.index.alike[d.key] {
			if at <= i {
				continue
			}
			later := h.deeds[at]
			switch {
			case d.became == appliedOnce || d.became == appliedTwice:
				if h.undone(d, later) {
					continue
				}
				return d, later, "which had been done"
			case d.became == unknownEffect && d.acknowledged():
				return d, later, "which had been acknowledged"
			case (d.vague || d.timedOut()) && !h.looked(d, later.Call.Index):
				return d, later, "of which it was not known whether it had been done, and nothing was looked up in between"
			}
		}
	}
	return nil, nil, ""
}

// timedOut reports whether nobody knows, from the answer, whether the call was carried out.
func (d *deed) timedOut() bool {
	return d.failed && (d.refusal.Status == 504 || d.refusal.Status == 408 || d.refusal.Code == "timeout")
}

// undone reports whether what d did was taken back before later, so that later is no repetition.
func (h *hearing) undone(d, later *deed) bool {
	for _, c := range d.own() {
		if len(c.After) == 0 || len(c.Before) > 0 {
			continue
		}
		for _, between := range h.deeds[d.Call.Index+1 : later.Call.Index] {
			for _, x := range between.own() {
				if x.Collection == c.Collection && x.ID == c.ID && len(x.After) == 0 {
					return true
				}
			}
		}
	}
	return false
}

func madeTwice(h *hearing) *finding {
	first, second, _ := h.again(func(d *deed) bool { return d.became == appliedOnce || d.became == appliedTwice })
	if first == nil || second.became != appliedOnce && second.became != appliedTwice {
		return nil
	}
	return held([]*deed{second}, "call %d (%s) made the change of call %d a second time: it was applied twice", second.Call.Index, second.name(), first.Call.Index)
}

// theirs is a finding about a world that did something else than it was asked.
func theirs(d *deed, format string, args ...any) *finding {
	f := ours(tare.CauseInfrastructure, format, args...)
	f.evidence = []string{d.ref()}
	return f
}

func lostChange(h *hearing) *finding {
	for _, d := range h.deeds {
		if d.mutates() && d.effect != nil && d.became == notApplied && !d.reviewed && d.acknowledged() && d.fault == nil && len(d.violations) == 0 {
			return theirs(d, "call %d (%s) was acknowledged, what it does is not in the observation, and no fault was injected: the world is at fault, and nothing follows for the agent", d.Call.Index, d.name())
		}
	}
	return nil
}

func doubledChange(h *hearing) *finding {
	for _, d := range h.deeds {
		if d.became == appliedTwice && !d.reviewed {
			return theirs(d, "one call, %d (%s), was applied %d times: the world is at fault", d.Call.Index, d.name(), max(2, d.counted))
		}
	}
	return nil
}

func refusedAndDone(h *hearing) *finding {
	for _, d := range h.deeds {
		if d.mutates() && d.failed && d.fault == nil && d.watched && !d.timedOut() && d.became == appliedOnce && !d.reviewed && (d.counted > 0 || d.effect == nil) {
			return theirs(d, "call %d (%s) was answered with an error (%s), and what it does was done: the world is at fault", d.Call.Index, d.name(), d.refusal)
		}
	}
	return nil
}

// besideTheTarget looks for changes that a call made to what it does not name: to an item of another account, or, where the
// effect says which item changes, to its neighbour.
func besideTheTarget(h *hearing) *finding {
	owner := h.ownerField()
	for _, d := range h.deeds {
		if !d.mutates() {
			continue
		}
		e := (*tareEffect)(d.effect)
		for _, c := range d.own() {
			item := c.After
			if len(item) == 0 {
				item = c.Before
			}
			_, of := identity(item, owner)
			foreign := of != "" && len(h.spec.Principal.Accounts) > 0 && !slices.Contains(h.spec.Principal.Accounts, of)
			if foreign && d.foreign == "" {
				return theirs(d, "call %d (%s) changed %s of account %s, which it does not name: the world is at fault", d.Call.Index, d.name(), show(c.ID, 60), show(of, 60))
			}
			neighbour := e != nil && c.Collection == e.collection() && !e.is(c, d.args) && (e.Removes != "" && len(c.After) == 0 || e.Sets != "" && len(c.Before) > 0 && touches(c, e.Field))
			if neighbour && !e.names(c.ID, item, d.args) {
				return theirs(d, "call %d (%s) changed %s, which is not the one that it names: the world is at fault", d.Call.Index, d.name(), show(c.ID, 60))
			}
		}
	}
	return nil
}

// brokenPromise is an observed state in which the world breaks what it promises of itself.
func brokenPromise(h *hearing) *finding {
	for _, s := range h.ev.States {
		if last, _ := h.ev.State(s.Label); last.Step != s.Step {
			continue // of several with a label the last one counts
		}
		for _, p := range h.spec.Promises {
			if h.ask(p.That, s.Label).Truth == predicate.False {
				f := ours(tare.CauseInfrastructure, "at the state %q it does not hold that %s (%s), which the world promises of itself: the world is at fault", show(s.Label, 60), show(p.Why, 160), show(p.ID, 60))
				f.evidence = []string{"state:" + s.Label}
				return f
			}
		}
	}
	return nil
}

// touches reports whether one of the fields of an effect is other after a change.
func touches(c tare.StateChange, fields map[string]string) bool {
	var before, after map[string]json.RawMessage
	if json.Unmarshal(c.Before, &before) != nil || json.Unmarshal(c.After, &after) != nil {
		return false
	}
	for f := range fields {
		if !tare.SameJSON(before[f], after[f]) {
			return true
		}
	}
	return false
}

func diverged(h *hearing) *finding {
	for _, d := range h.deeds {
		if d.diverged != "" && (d.mutates() || d.placement != tare.Placed) && !d.reviewed {
			return theirs(d, "call %d (%s) is beyond what the world models (%s), so what became of it is not known", d.Call.Index, d.name(), show(d.diverged, 200))
		}
	}
	return nil
}

func unknownChange(h *hearing) *finding {
	var first *finding
	for _, d := range h.deeds {
		if !d.mutates() || d.became != unknownEffect || d.diverged != "" || talk(d) {
			continue
		}
		h.open = append(h.open, fmt.Sprintf(unknownEffectEntry+"(%s) was not observed", d.Call.Index, d.name()))
		if first == nil {
			first = &finding{outcome: tare.Unverified, cause: tare.CauseGrader, evidence: []string{d.ref()},
				reason: fmt.Sprintf("what became of call %d (%s) was not observed: somebody has to look it up", d.Call.Index, d.name())}
		}
	}
	return first
}

// outOfBand looks for changes that no call stands behind.
func outOfBand(h *hearing) *finding {
	var found []tare.StateChange
	var at *deed
	switch {
	case h.ev.Watched == tare.WatchEvery:
		for _, d := range h.deeds {
			if own := d.own(); !d.mutates() && len(own) > 0 && d.diverged == "" {
				found, at = append(found, own...), d
			}
		}
		if _, ok := h.ev.State(tare.LabelBefore); ok {
			found = append(found, h.unexplained()...)
		}
	case h.ev.Watched == "":
		if slices.ContainsFunc(h.deeds, func(d *deed) bool { return d.mutates() || d.placement != tare.Placed }) {
			return nil
		}
		before, ok1 := h.ev.State(tare.LabelBefore)
		after, ok2 := h.ev.State(tare.LabelAfter)
		if !ok1 || !ok2 {
			return nil
		}
		for _, name := range sortedKeys(before.Collections) {
			if b, a := before.Collections[name], after.Collections[name]; b.Complete && a.Complete {
				found = append(found, diff(name, b.Items, a.Items)...)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	for i, c := range found {
		if i == 20 {
			break
		}
		h.open = append(h.open, fmt.Sprintf("effects: %s of %s changed, and no call stands behind it", show(c.ID, 60), show(c.Collection, 40)))
	}
	f := ours(tare.CauseInfrastructure, "%s of %s changed, and no call stands behind it%s", show(found[0].ID, 60), show(found[0].Collection, 40), andMore(len(found)-1))
	f.evidence = []string{"state:" + tare.LabelAfter}
	if at != nil {
		f.evidence = append(f.evidence, at.ref())
	}
	return f
}

// unexplained compares what the observed changes leave with what was observed at the end.
func (h *hearing) unexplained() []tare.StateChange {
	after, ok := h.ev.State(tare.LabelAfter)
	if !ok || after.Step != len(h.deeds) {
		return nil
	}
	var out []tare.StateChange
	for _, name := range sortedKeys(after.Collections) {
		c := after.Collections[name]
		before, known := h.ev.State(tare.LabelBefore)
		if b, there := before.Collections[name]; !known || !there || !b.Complete || !c.Complete {
			continue
		}
		of, same := h.final.items[name], 0
		var items []json.RawMessage
		for _, it := range c.Items {
			id, _ := identity(it, "")
			if want, ok := of[id]; ok && bytes.Equal(want, it) {
				same++
				continue
			}
			items = append(items, it)
		}
		if len(items) == 0 && same == len(of) {
			continue
		}
		var left []json.RawMessage
		for _, id := range sortedKeys(of) {
			left = append(left, of[id])
		}
		out = append(out, diff(name, left, c.Items)...)
	}
	return out
}

// reading is what the last message says, read once.
func (h *hearing) reading() *claims.Reading {
	if h.said == nil {
		r := claims.Read(h.rec.Trajectory.Final, h.names()...)
		h.said = &r
	}
	return h.said
}

// names are the words that stand for what the agent was to work on: names and ids of the items that were there at the
// beginning or at the end.
func (h *hearing) names() []string {
	seen, read := map[string]bool{}, map[string]bool{}
	for _, label := range []string{tare.LabelBefore, tare.LabelBeforeCleanup, tare.LabelAfter} {
		s, _ := h.ev.State(label)
		for _, c := range sortedKeys(s.Collections) {
			for _, item := range s.Collections[c].Items {
				var it struct{ ID, Name, Hostname, Key string }
				if read[string(item)] || len(seen) > 600 || json.Unmarshal(item, &it) != nil {
					continue
				}
				read[string(item)] = true
				for _, n := range []string{it.ID, it.Name, it.Hostname, it.Key} {
					if n != "" {
						seen[n] = true
					}
				}
			}
		}
	}
	return sortedKeys(seen)
}
