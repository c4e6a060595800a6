package oracle

import (
	"encoding/json"
	"slices"
	"strings"

	"tare"
)

// A listing is a list that the agent reads, page by page.
type listing struct {
	tool, filters string
	collection    string
	shown         map[string]bool
	owners        map[string]bool
	due           map[string]bool // what was there when it began
	next          string          // the cursor of the next page
	spoilt        bool            // by a fault, or by a change while it was read
}

// An omission is an item that a whole listing left out though it was there.
type omission struct {
	d          *deed
	collection string
	id         string
}

// list follows the listings that the agent reads. W is the world as the answer shows it.
func (h *hearing) list(d *deed, w *world) {
	if len(h.omitted) > 0 {
		return
	}
	h.spoil(d)
	answer, ok := d.data.(map[string]any)
	if !ok || d.placement != tare.Placed || d.mutates() || len(d.Observation.Data) == 0 {
		return
	}
	name := ""
	for _, key := range sortedKeys(answer) {
		if _, known := w.items[key]; known && name == "" {
			name = key
		}
	}
	items, ok := answer[name].([]any)
	if name == "" || !ok {
		return
	}
	cursor, filters, plain := pageOf(d)
	key := d.tool.Name + " " + filters
	l := h.listings[key]
	if cursor == "" {
		l = &listing{tool: d.tool.Name, filters: filters, collection: name, shown: map[string]bool{}, owners: map[string]bool{}, due: map[string]bool{}}
		for id := range w.items[name] {
			l.due[id] = true
		}
		h.listings[key] = l
	}
	if l == nil {
		return
	}
	l.spoilt = l.spoilt || !plain || d.failed || d.fault != nil || d.diverged != "" || cursor != l.next
	if l.spoilt {
		return
	}
	fields := map[string]bool{}
	for _, it := range items {
		m, ok := it.(map[string]any)
		id, named := m["id"].(string)
		if !ok || !named {
			l.spoilt = true
			return
		}
		l.shown[id], l.owners[w.owner[id]] = true, true
		for f := range m {
			fields[f] = true
		}
	}
	l.next = nextOf(answer)
	if l.next != "" || len(l.shown) == 0 {
		return
	}
	for _, id := range sortedKeys(l.due) {
		item, there := w.items[name][id]
		if there && !l.shown[id] && l.owners[w.owner[id]] && filtered(item, fields, d.args) {
			h.omitted = []omission{{d, name, id}}
			return
		}
	}
}

// paging are parts of the names of arguments that say how much is read, and not what.
var paging = []string{"cursor", "page", "limit"}

func isPaging(arg string) bool {
	return slices.ContainsFunc(paging, func(p string) bool { return strings.Contains(strings.ToLower(arg), p) })
}

// pageOf reads which page of which list a call asks for. It is not plain when pages are told by number.
func pageOf(d *deed) (cursor, filters string, plain bool) {
	plain = true
	rest := map[string]json.RawMessage{}
	for name, v := range d.args {
		switch {
		case strings.Contains(strings.ToLower(name), "cursor"):
			_ = json.Unmarshal(v, &cursor)
		case strings.ToLower(name) == "page" || strings.Contains(strings.ToLower(name), "offset"):
			plain = false
		case !isPaging(name):
			rest[name] = v
		}
	}
	b, err := json.Marshal(rest) // in the order of the keys
	return cursor, string(b), plain && err == nil
}

// nextOf is the cursor that an answer gives for the next page.
func nextOf(answer map[string]any) string {
	for _, key := range sortedKeys(answer) {
		if s, ok := answer[key].(string); ok && strings.Contains(strings.ToLower(key), "cursor") {
			return s
		}
	}
	return ""
}

// filtered reports whether an item is one that the arguments ask for. An argument that is no field of the items may leave
// anything out.
func filtered(item json.RawMessage, fields map[string]bool, args map[string]json.RawMessage) bool {
	for name, v := range args {
		if isPaging(name) {
			continue
		}
		if is, _ := tare.Member(item, name); !fields[name] || !tare.SameJSON(is, v) {
			return false
		}
	}
	return true
}

func readOmits(h *hearing) *finding {
	if len(h.omitted) == 0 {
		return nil
	}
	o := h.omitted[0]
	f := ours(tare.CauseInfrastructure, "the list that ended with call %d (%s) left out %s of %s, which was there; no fault was injected", o.d.Call.Index, o.d.name(), show(o.id, 60), show(o.collection, 40))
	f.evidence = []string{o.d.ref()}
	return f
}
