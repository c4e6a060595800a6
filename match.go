package tare

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Bound is what checkpoints took so far, by "checkpoint.name".
type Bound map[string]json.RawMessage

// maxBindings is how many Bindings are kept.
const maxBindings = 8

// Bindings are what checkpoints took, newest first. A list may be read again, and either reading may be what the agent goes
// by, so an older one still binds.
type Bindings []Bound

// Now is all that was taken, the newest of what was taken twice.
func (b Bindings) Now() Bound {
	if len(b) == 0 {
		return nil
	}
	return b[0]
}

// Any reports whether f says so of one of the bindings, or of none where nothing was taken.
func (b Bindings) Any(f func(Bound) bool) bool {
	if len(b) == 0 {
		return f(nil)
	}
	return slices.ContainsFunc(b, f)
}

// Take adds what a checkpoint took.
func (b Bindings) Take(taken Bound) Bindings {
	if len(taken) == 0 {
		return b
	}
	next := maps.Clone(b.Now())
	if next == nil {
		next = Bound{}
	}
	maps.Copy(next, taken)
	b = slices.Insert(b, 0, next)
	return b[:min(len(b), maxBindings)]
}

// Match reports whether a value is what m asks for. A binding that was not taken matches nothing.
func (m ArgMatch) Match(v json.RawMessage, bound Bound) bool {
	switch {
	case m.Any:
		return true
	case m.Bound != "":
		want, ok := bound[m.Bound]
		return ok && SameJSON(want, v)
	case m.OneOf != nil:
		return slices.ContainsFunc(m.OneOf, func(w json.RawMessage) bool { return SameJSON(w, v) })
	default:
		return SameJSON(m.Is, v)
	}
}

// Match reports whether a call with its answer is one that p describes. The tool is named as the catalogue names it. A
// path of p.Result that cannot be read matches nothing.
func (p CallPattern) Match(tool string, s Step, bound Bound) bool {
	if !p.Asks(tool, s.Call.Args, bound) || s.Observation.OK == p.Failed {
		return false
	}
	for at, m := range p.Result {
		path, err := ParsePath(at)
		if err != nil {
			return false
		}
		v, ok := path.Select(s.Observation.Data)
		if !ok || !m.Match(v, bound) {
			return false
		}
	}
	return true
}

// Asks reports whether a call, whatever its answer, is one that p describes.
func (p CallPattern) Asks(tool string, args json.RawMessage, bound Bound) bool {
	if !slices.Contains(p.Tools, tool) {
		return false
	}
	var given map[string]json.RawMessage
	if len(p.Args) > 0 && json.Unmarshal(args, &given) != nil {
		return false
	}
	return p.AsksFor(tool, given, bound)
}

// AsksFor is Asks of arguments by their names.
func (p CallPattern) AsksFor(tool string, given map[string]json.RawMessage, bound Bound) bool {
	if !slices.Contains(p.Tools, tool) {
		return false
	}
	for name, m := range p.Args {
		v, ok := given[name]
		if !ok || !m.Match(v, bound) {
			return false
		}
	}
	return true
}

// SameJSON reports whether a and b are the same value: white space, the order of keys and the way in which a number is
// written do not count, so that 100, 100.0 and 1e2 are the same. What is no JSON is the same as nothing.
func SameJSON(a, b json.RawMessage) bool {
	if isPlain(a) && isPlain(b) {
		return string(a) == string(b)
	}
	x, okX := decodeNumbers(a)
	y, okY := decodeNumbers(b)
	return okX && okY && sameJSON(x, y)
}

// isPlain reports whether raw is a string that can be written in no other way.
func isPlain(raw json.RawMessage) bool {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return false
	}
	for _, c := range raw[1 : len(raw)-1] {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func decodeNumbers(raw json.RawMessage) (any, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		return nil, false
	}
	return v, true
}

func sameJSON(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && decimalOf(x) == decimalOf(y)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, sameJSON)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, sameJSON)
	default:
		return a == b // strings, truth values, null
	}
}

// A decimal is a number: digits without zeros at either end, times ten to the exponent.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

func decimalOf(n json.Number) decimal {
	s := strings.ToLower(string(n))
	negative := strings.HasPrefix(s, "-")
	mantissa, exp, _ := strings.Cut(strings.TrimPrefix(s, "-"), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return decimal{} // zero has no sign and no exponent
	}
	e := 0
	if exp != "" {
		var err error
		if e, err = strconv.Atoi(strings.TrimPrefix(exp, "+")); err != nil || e > 1<<30 || e < -1<<30 {
			return decimal{negative, string(n), 0} // beyond all use: the same only as it is written
		}
	}
	short := strings.TrimRight(digits, "0")
	return decimal{negative, short, e - len(fraction) + len(digits) - len(short)}
}
