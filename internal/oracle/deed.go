package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tare"
	"tare/internal/contract"
)

// An application says what became of a call that may change the world, as far as it was observed.
type application string

const (
	unknownEffect application = ""
	notApplied    application = "not_applied"
	appliedOnce   application = "applied"
	appliedTwice  application = "twice"
)

// A deed is one call of a scenario with what the record says of it.
type deed struct {
	tare.Step
	tool       tare.Tool
	placement  tare.Placement
	args       map[string]json.RawMessage // nil when the arguments are no object
	key        string                     // tool and arguments, the same for calls that are the same; of calls that may change something
	schema     *contract.Schema
	violations []contract.Violation
	unchecked  string // why the arguments could not be checked
	fault      *tare.Injected
	diverged   string
	changes    []tare.StateChange // between its beginning and its end, time's included
	watched    bool               // whether changes are all that there were
	failed     bool               // it did not do what it was asked, whatever the envelope says
	inSuccess  bool               // and the envelope says that it did
	vague      bool               // it was received, and nobody says whether it was done
	refusal    refusal
	effect     *tare.Effect
	became     application
	counted    int                        // changes that are what Effect says
	foreign    string                     // what of another account the arguments name
	reviewed   bool                       // what became of it was answered by a person
	data       any                        // the structured result, decoded
	parts      map[string]json.RawMessage // of the structured result, by path, as far as they were asked for; nil for none
}

// at is the part of the structured result at a path.
func (d *deed) at(path string) (json.RawMessage, bool) {
	v, known := d.parts[path]
	if known {
		return v, v != nil
	}
	if p, err := tare.ParsePath(path); err == nil {
		v, _ = p.Select(d.Observation.Data)
	}
	if d.parts == nil {
		d.parts = map[string]json.RawMessage{}
	}
	d.parts[path] = v
	return v, v != nil
}

// A refusal is an error object of a result, as far as it says what is to be done.
type refusal struct {
	Code      string   `json:"code"`
	Status    int      `json:"status"`
	Message   string   `json:"message"`
	Retryable *bool    `json:"retryable"`
	After     *float64 `json:"retry_after_seconds"`
}

// mayBeRetried reports whether the refusal says that the call may be made again as it is.
func (r refusal) mayBeRetried() bool {
	return r.Retryable != nil && *r.Retryable || r.Retryable == nil && (r.Status == 503 || r.Status == 429)
}

// mustNotBeRetried reports whether the refusal says that the same call will be refused again.
func (r refusal) mustNotBeRetried() bool {
	if r.Retryable != nil && *r.Retryable {
		return false
	}
	again := r.Status == 408 || r.Status == 409 || r.Status == 410 || r.Status == 425 || r.Status == 429
	return r.Status >= 400 && r.Status < 500 && !again
}

func (r refusal) String() string {
	switch {
	case r.Status != 0 && r.Message != "":
		return fmt.Sprintf("%d %s", r.Status, show(r.Message, 120))
	case r.Message != "":
		return show(r.Message, 120)
	case r.Code != "":
		return show(r.Code, 60)
	}
	return "an error"
}

func (d *deed) mutates() bool { return d.placement == tare.Placed && d.tool.Mutates() }

// acknowledged reports whether the answer says that it was done.
func (d *deed) acknowledged() bool { return !d.failed && !d.vague }

func (d *deed) idempotent() bool {
	return d.tool.Hints.Idempotent || d.effect != nil && d.effect.Idempotent
}

func (d *deed) ref() string { return fmt.Sprintf("step:%d", d.Call.Index) }

func (d *deed) name() string { return show(d.Call.Tool, 80) }

// own lists the changes that the call made, not those of the time that it took.
func (d *deed) own() []tare.StateChange {
	var out []tare.StateChange
	for _, c := range d.changes {
		if !c.ByTime {
			out = append(out, c)
		}
	}
	return out
}

// deeds reads the calls of a record.
func (h *hearing) readDeeds() {
	ev := h.ev
	h.deeds = make([]*deed, len(h.rec.Trajectory.Steps))
	kept, read := map[string]bool{}, map[string]any{} // agents that wait for something make the same call again and again
	for i, s := range h.rec.Trajectory.Steps {
		d := &deed{Step: s}
		d.Call.Index = i
		d.tool, d.placement = ev.Catalogue.Place(s.Call.Tool)
		if len(s.Call.Args) > 0 {
			_ = json.Unmarshal(s.Call.Args, &d.args)
		}
		if d.mutates() {
			d.key = d.tool.Name + " " + keyOf(s.Call.Args)
		}
		if d.placement == tare.Placed {
			schema, err := h.bench.schema(d.tool.InputSchema)
			if err != nil {
				d.unchecked = err.Error()
			} else {
				d.schema = schema
				asked := d.tool.Name + "\x00" + string(s.Call.Args)
				if !kept[asked] {
					d.violations = schema.Check(s.Call.Args)
					kept[asked] = len(d.violations) == 0
				}
			}
			d.watched = ev.Watched == tare.WatchEvery || ev.Watched == tare.WatchMutations && d.tool.Mutates()
		}
		d.readAnswer(h.on("errors/in-success"), read)
		h.deeds[i] = d
	}
	for i := range ev.Injected {
		if d := h.deed(ev.Injected[i].Step); d != nil {
			d.fault = &ev.Injected[i]
			d.vague = d.vague || d.fault.Kind == tare.FaultAmbiguous
		}
	}
	for _, v := range ev.Divergences {
		if d := h.deed(v.Step); d != nil {
			d.diverged = v.What
		}
	}
	for _, v := range ev.Deltas {
		if d := h.deed(v.Step); d != nil {
			d.changes = append(d.changes, v.Changes...)
		}
	}
	for _, d := range h.deeds {
		if !d.mutates() {
			continue
		}
		for i, e := range h.spec.Effects {
			if e.Tool == d.tool.Name {
				d.effect = &h.spec.Effects[i]
			}
		}
	}
}

// keyOf writes arguments in one way: the order of keys, white space and the way of writing a number do not count.
func keyOf(args json.RawMessage) string {
	var v any
	if len(args) == 0 {
		return "{}"
	}
	if json.Unmarshal(args, &v) != nil {
		return string(args)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(args)
	}
	return string(b)
}

// deed finds the call with that index, or nil.
func (h *hearing) deed(index int) *deed {
	if index < 0 || index >= len(h.deeds) {
		return nil
	}
	return h.deeds[index]
}

// readAnswer grades an answer by its effect: an envelope of success that holds nothing but an error object is an error. What
// was read of answers before it is in read.
func (d *deed) readAnswer(inSuccess bool, read map[string]any) {
	d.failed = !d.Observation.OK
	body := d.Observation.Data
	if len(body) == 0 && strings.HasPrefix(strings.TrimSpace(d.Observation.Preview), "{") {
		body = json.RawMessage(d.Observation.Preview)
	}
	known := false
	if d.data, known = read[string(body)]; !known && len(body) > 0 {
		if json.Unmarshal(body, &d.data) != nil {
			d.data = nil
		}
		read[string(body)] = d.data // nothing writes to it
	}
	m, ok := d.data.(map[string]any)
	if !ok {
		d.refusal.Message = firstLine(d.Observation.Preview)
		return
	}
	_, hasError := m["error"]
	if hasError && len(m) == 1 {
		if inSuccess && !d.failed {
			d.failed, d.inSuccess = true, true
		}
		var e struct {
			Error json.RawMessage `json:"error"`
		}
		if json.Unmarshal(body, &e) == nil && json.Unmarshal(e.Error, &d.refusal) != nil {
			d.refusal = refusal{}
			_ = json.Unmarshal(e.Error, &d.refusal.Message)
		}
		return
	}
	if _, ok := m["acknowledgement"]; ok && len(m) == 1 {
		d.vague = true
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// A world is what is known of the items of a scenario at one moment, by their ids.
type world struct {
	items map[string]map[string]json.RawMessage // by collection
	owner map[string]string                     // id to the account that owns the item
	read  map[string]map[string]any             // items by id, decoded, as far as somebody asked
}

// item is the item with that id, decoded, when there is exactly one in all collections.
func (w *world) item(id string) map[string]any {
	if m, ok := w.read[id]; ok {
		return m
	}
	var found json.RawMessage
	n := 0
	for _, of := range w.items {
		if it, ok := of[id]; ok {
			found = it
			n++
		}
	}
	var m map[string]any
	if n != 1 || json.Unmarshal(found, &m) != nil {
		m = nil
	}
	w.read[id] = m
	return m
}

// worldBefore is the world as it was observed before the first call.
func (h *hearing) worldBefore() *world {
	w := &world{items: map[string]map[string]json.RawMessage{}, owner: map[string]string{}, read: map[string]map[string]any{}}
	before, ok := h.ev.State(tare.LabelBefore)
	if !ok {
		return w
	}
	for name, c := range before.Collections {
		of := make(map[string]json.RawMessage, len(c.Items))
		for _, item := range c.Items {
			if id, owner := identity(item, h.ownerField()); id != "" {
				of[id] = item
				w.owner[id] = owner
			}
		}
		w.items[name] = of
	}
	return w
}

func (h *hearing) ownerField() string {
	if o := h.spec.Principal.Owner; o != "" {
		return o
	}
	return "account_id"
}

// identity reads the id of an item and the account that it belongs to. An item without an id is known by what it is.
func identity(item json.RawMessage, ownerField string) (id, owner string) {
	if raw, ok := tare.Member(item, ownerField); ok {
		_ = json.Unmarshal(raw, &owner) // what is no text owns nothing
	}
	if raw, ok := tare.Member(item, "id"); ok {
		return plainID(raw), owner
	}
	return string(item), owner
}

// plainID is an id as text, whether it is written as a text or as a number.
func plainID(raw json.RawMessage) string { return strings.Trim(string(raw), `"`) }

// apply brings w to after a change.
func (w *world) apply(c tare.StateChange, ownerField string) {
	delete(w.read, c.ID)
	of := w.items[c.Collection]
	if of == nil {
		of = map[string]json.RawMessage{}
		w.items[c.Collection] = of
	}
	if len(c.After) == 0 {
		delete(of, c.ID)
		return
	}
	of[c.ID] = c.After
	if _, owner := identity(c.After, ownerField); owner != "" {
		w.owner[c.ID] = owner
	}
}

// fieldsMatch reports whether the item's fields have the values of the arguments that Field names. An argument that was not
// given says nothing.
func fieldsMatch(item json.RawMessage, fields map[string]string, args map[string]json.RawMessage) bool {
	if len(fields) == 0 {
		return true
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(item, &m) != nil {
		return false
	}
	for field, arg := range fields {
		want, given := args[arg]
		if !given {
			continue
		}
		if got, ok := m[field]; !ok || !tare.SameJSON(got, want) {
			return false
		}
	}
	return true
}

// names reports whether an item is the one that a call's arguments name, by key or by fields.
func (e *tareEffect) names(id string, item json.RawMessage, args map[string]json.RawMessage) bool {
	if e.Key != "" {
		return len(args[e.Key]) > 0 && plainID(args[e.Key]) == id
	}
	return fieldsMatch(item, e.By, args)
}

// tareEffect is an effect of the task, with what is asked of it here.
type tareEffect tare.Effect

// is reports whether a change is what the effect says of a call with these arguments.
func (e *tareEffect) is(c tare.StateChange, args map[string]json.RawMessage) bool {
	switch {
	case e.Adds != "":
		return c.Collection == e.Adds && len(c.Before) == 0 && len(c.After) > 0 && fieldsMatch(c.After, e.Field, args)
	case e.Removes != "":
		return c.Collection == e.Removes && len(c.Before) > 0 && len(c.After) == 0 && e.names(c.ID, c.Before, args)
	case e.Sets != "":
		return c.Collection == e.Sets && len(c.After) > 0 && e.names(c.ID, c.After, args) && fieldsMatch(c.After, e.Field, args)
	}
	return false
}

// collection is where the effect shows.
func (e *tareEffect) collection() string { return e.Adds + e.Removes + e.Sets }

// already reports whether what the effect would bring about was so before the call.
func (e *tareEffect) already(w *world, args map[string]json.RawMessage) bool {
	if e.Sets == "" && e.Removes == "" {
		return false
	}
	for id, item := range w.items[e.collection()] {
		if e.Sets != "" && len(e.Field) > 0 && e.names(id, item, args) && fieldsMatch(item, e.Field, args) {
			return true
		}
	}
	return false
}

// An index answers at once what is asked of every call: without it a long record would take the square of its length.
type index struct {
	alike    map[string][]int // calls that may change something, by their key
	last     map[string]int   // of a tool
	lastGood map[string]int   // of a tool, answered without an error
	nextLook []int            // the first look at the call's own place or after it, or how many calls there are
}

func (h *hearing) makeIndex() {
	x := index{alike: map[string][]int{}, last: map[string]int{}, lastGood: map[string]int{}, nextLook: make([]int, len(h.deeds)+1)}
	for i, d := range h.deeds {
		if d.key != "" {
			x.alike[d.key] = append(x.alike[d.key], i)
		}
		if d.placement == tare.Placed {
			x.last[d.tool.Name] = i
			if !d.failed {
				x.lastGood[d.tool.Name] = i
			}
		}
	}
	x.nextLook[len(h.deeds)] = len(h.deeds)
	for i := len(h.deeds) - 1; i >= 0; i-- {
		x.nextLook[i] = x.nextLook[i+1]
		if d := h.deeds[i]; d.placement == tare.Placed && !d.tool.Mutates() && !d.failed && !talk(d) {
			x.nextLook[i] = i
		}
	}
	h.index = x
}

// readEffects says of each call that may change the world what became of it.
func (h *hearing) readEffects() {
	w := h.worldBefore()
	field := h.ownerField()
	for _, d := range h.deeds {
		owned := len(h.spec.Principal.Accounts) > 0 && d.mutates()
		if owned {
			d.target(h, w)
		}
		if d.mutates() {
			h.became(d, w)
		}
		if d.watched && !d.mutates() && d.placement == tare.Placed {
			for _, c := range d.changes {
				w.apply(c, field)
			}
			h.compareRead(d, w)
			h.list(d, w)
			continue
		}
		for _, c := range d.changes {
			w.apply(c, field)
		}
		h.spoil(d)
	}
	h.final = w
}

// spoil marks listings during which something of theirs changed.
func (h *hearing) spoil(d *deed) {
	for _, c := range d.changes {
		for _, l := range h.listings {
			l.spoilt = l.spoilt || l.collection == c.Collection
		}
	}
}

// became decides what became of d from what was observed.
func (h *hearing) became(d *deed, w *world) {
	if answer, ok := h.review(d); ok {
		d.became, d.reviewed = answer, true
		return
	}
	if d.diverged != "" {
		return
	}
	own := d.own()
	e := (*tareEffect)(d.effect)
	switch {
	case d.watched && e != nil:
		for _, c := range own {
			if e.is(c, d.args) {
				d.counted++
			}
		}
		switch {
		case d.counted > 1 && e.Adds != "":
			d.became = appliedTwice
		case d.counted > 0, d.acknowledged() && e.already(w, d.args):
			d.became = appliedOnce
		default:
			d.became = notApplied
		}
	case d.watched:
		d.became = notApplied
		if len(own) > 0 {
			d.became = appliedOnce
		}
	case e != nil:
		h.fromStates(d, e)
	}
}

// review is a person's answer to what became of d.
func (h *hearing) review(d *deed) (application, bool) {
	for i := len(h.ev.Reviews) - 1; i >= 0; i-- {
		r := h.ev.Reviews[i]
		if r.Step == nil || *r.Step != d.Call.Index {
			continue
		}
		switch a := application(r.Answer); a {
		case notApplied, appliedOnce, appliedTwice:
			return a, true
		}
	}
	return unknownEffect, false
}

// fromStates tells what became of d from the nearest observations on both sides, where nothing was watched: only if no other
// call in between could have done the same, or all of them did.
func (h *hearing) fromStates(d *deed, e *tareEffect) {
	var before, after *tare.State
	for i := range h.ev.States {
		s := &h.ev.States[i]
		switch {
		case s.Problem != "" || !s.Collections[e.collection()].Complete:
		case s.Step <= d.Call.Index:
			before = s
		case after == nil:
			after = s
		}
	}
	if before == nil || after == nil {
		return
	}
	alike := 0
	for i := max(0, before.Step); i < after.Step && i < len(h.deeds); i++ {
		if o := h.deeds[i]; o.mutates() && (o.tool.Name != d.tool.Name || bytes.Equal(o.Call.Args, d.Call.Args)) && o.effect != nil && (*tareEffect)(o.effect).collection() == e.collection() {
			alike++
		}
	}
	n := 0
	for _, c := range diff(e.collection(), before.Collections[e.collection()].Items, after.Collections[e.collection()].Items) {
		if e.is(c, d.args) {
			n++
		}
	}
	switch {
	case alike == 1 && n == 0:
		w := &world{items: map[string]map[string]json.RawMessage{e.collection(): byID(before.Collections[e.collection()].Items)}}
		if d.acknowledged() && e.already(w, d.args) {
			d.became = appliedOnce
			return
		}
		d.became = notApplied
	case alike == 1 && n == 1, alike == n && n > 0:
		d.became = appliedOnce
	case alike == 1:
		d.became = appliedTwice
	}
}

func byID(items []json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(items))
	for _, it := range items {
		if id, _ := identity(it, ""); id != "" {
			out[id] = it
		}
	}
	return out
}

// diff lists what changed between two observations of a collection.
func diff(collection string, before, after []json.RawMessage) []tare.StateChange {
	var out []tare.StateChange
	was, is := byID(before), byID(after)
	for id, b := range was {
		a, ok := is[id]
		if !ok {
			out = append(out, tare.StateChange{Collection: collection, ID: id, Before: b})
		} else if !bytes.Equal(a, b) && !tare.SameJSON(a, b) {
			out = append(out, tare.StateChange{Collection: collection, ID: id, Before: b, After: a})
		}
	}
	for id, a := range is {
		if _, ok := was[id]; !ok {
			out = append(out, tare.StateChange{Collection: collection, ID: id, After: a})
		}
	}
	slices.SortFunc(out, func(a, b tare.StateChange) int { return strings.Compare(a.ID, b.ID) })
	return out
}
