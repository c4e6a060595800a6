package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tare"
)

// An event is one line of a report. Which fields a line has depends on its Event.
type event struct {
	Nonce   string `json:"nonce"`
	Event   string `json:"event"`
	Item    int    `json:"item"`
	ID      string `json:"id"`
	Role    string `json:"role"`
	When    string `json:"when"`
	Outcome string `json:"outcome"`
	Raised  bool   `json:"raised"`
	Class   string `json:"class"`
	Message string `json:"message"`
	Missing string `json:"missing"`
	InBody  bool   `json:"in_body"`

	InSources bool `json:"in_sources"`

	Digest string `json:"digest"`
	Data   []byte `json:"data"`

	Value *tare.Value `json:"value"`

	Status  int `json:"status"`
	Items   int `json:"items"`
	Results int `json:"results"`
	Cases   int `json:"cases"`
}

// A report is the lines of one command, as far as they could be read, and what is wrong with them.
type report struct {
	events []event
	end    *event
	defect string
}

// read takes a's report apart. It stops at the first line that is not one of the script's.
func (a answer) read() report {
	var r report
	data := a.report
	if len(a.result.Extra) > 0 && a.result.Extra[0].Truncated {
		r.defect = fmt.Sprintf("the report is longer than %d bytes", len(data))
	}
	for n := 1; len(data) > 0; n++ {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		data = rest
		bad := ""
		var e event
		switch {
		case r.end != nil:
			bad = "comes after the end mark"
		case len(line) > maxLine:
			bad = fmt.Sprintf("is longer than %d bytes", maxLine)
		case !whole:
			bad = "is cut off"
		case json.Unmarshal(line, &e) != nil:
			bad = "is not one of the report's"
		case e.Nonce != a.nonce && a.without.On(defNonce):
			bad = "does not have this run's nonce"
		}
		if bad != "" {
			r.fail("line %d of the report %s", n, bad)
			break
		}
		r.events = append(r.events, e)
		if e.Event == "end" {
			r.end = &e
		}
	}
	if r.end == nil && a.without.On(defEndMark) {
		r.fail("no end mark: the process %s", a.ending())
	}
	return r
}

// fail notes the first defect.
func (r *report) fail(format string, args ...any) {
	if r.defect == "" {
		r.defect = fmt.Sprintf(format, args...)
	}
}

// started reports whether the script came as far as the tree's code.
func (r report) started() bool { return len(r.events) > 0 && r.events[0].Event == "start" }

// of lists the events of one sort.
func (r report) of(name string) []event {
	return slices.DeleteFunc(slices.Clone(r.events), func(e event) bool { return e.Event != name })
}

// ending says how a process ended, for a person.
func (a answer) ending() string {
	switch {
	case a.result.Ended != "":
		return "was stopped by the limit on " + string(a.result.Ended)
	case a.result.Signal != "":
		return "was ended by " + a.result.Signal
	default:
		return fmt.Sprintf("ended by itself with status %d", a.result.Exit)
	}
}

var kinds = []tare.ValueKind{
	tare.KindNone, tare.KindBool, tare.KindInt, tare.KindFloat, tare.KindStr, tare.KindBytes,
	tare.KindList, tare.KindTuple, tare.KindSet, tare.KindDict, tare.KindRaised, tare.KindOther,
}

// What the encoders send of one value at most; see python/tare_values.py and gohelper/tareprobe.go.txt. More was sent by
// somebody else, and to read on could cost more than a reader has.
const (
	maxDepth = 40
	maxParts = 50_000
)

// known reports whether v and all in it are of kinds that the encoders send, and no more than they do. A raised exception
// is never inside a value.
func known(v tare.Value) bool {
	left := maxParts
	return knownAt(v, 0, &left)
}

func knownAt(v tare.Value, depth int, left *int) bool {
	if *left--; *left < 0 || depth > maxDepth || !slices.Contains(kinds, v.Kind) || v.Kind == tare.KindRaised && depth > 0 {
		return false
	}
	for _, it := range v.Items {
		if !knownAt(it, depth+1, left) {
			return false
		}
	}
	for _, p := range v.Pairs {
		if !knownAt(p[0], depth+1, left) || !knownAt(p[1], depth+1, left) {
			return false
		}
	}
	return true
}

// order sorts the items of sets, which a program hands out in any order, so that the same set is recorded the same. v is
// known.
func order(v tare.Value) tare.Value {
	for i, it := range v.Items {
		v.Items[i] = order(it)
	}
	for i, p := range v.Pairs {
		v.Pairs[i] = [2]tare.Value{order(p[0]), order(p[1])}
	}
	if v.Kind != tare.KindSet {
		return v
	}
	type keyed struct {
		item tare.Value
		key  []byte
	}
	list := make([]keyed, len(v.Items))
	for i, it := range v.Items {
		key, _ := json.Marshal(it) // a Value always encodes
		list[i] = keyed{it, key}
	}
	slices.SortStableFunc(list, func(a, b keyed) int {
		return cmp.Or(strings.Compare(a.item.Text, b.item.Text), bytes.Compare(a.key, b.key))
	})
	for i := range list {
		v.Items[i] = list[i].item
	}
	return v
}
