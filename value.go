package tare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ValueKind is the exact type of a value that a probe sent, in terms of no particular language.
type ValueKind string

const (
	KindNone   ValueKind = "none"
	KindBool   ValueKind = "bool"   // Text: true, false
	KindInt    ValueKind = "int"    // Text: decimal
	KindFloat  ValueKind = "float"  // Text: shortest decimal that round-trips; nan, inf, -inf
	KindStr    ValueKind = "str"    // Text
	KindBytes  ValueKind = "bytes"  // Text: base64
	KindList   ValueKind = "list"   // Items
	KindTuple  ValueKind = "tuple"  // Items
	KindSet    ValueKind = "set"    // Items, sorted by their text
	KindDict   ValueKind = "dict"   // Pairs, in the order of the program
	KindRaised ValueKind = "raised" // the call raised: Class, Bases (the class and all it derives from), Text the message
	KindOther  ValueKind = "other"  // anything else, a subclass of the above included: Class, Text a bounded description
)

// A Value is what one call returned or raised. Values are compared by kind and content, so an object that claims to
// be equal to everything, a subclass of str or a NaN is what it is and nothing else.
type Value struct {
	Kind  ValueKind  `json:"t"`
	Text  string     `json:"v,omitempty"`
	Items []Value    `json:"items,omitempty"`
	Pairs [][2]Value `json:"pairs,omitempty"`
	Class string     `json:"class,omitempty"`
	Bases []string   `json:"bases,omitempty"`
}

// Equal reports whether v and w are the same value of the same kind. The order of a dict's pairs and of a set's items
// does not count, nor does how the text of a float is written.
func (v Value) Equal(w Value) bool {
	if v.Kind != w.Kind || v.Class != w.Class {
		return false
	}
	switch v.Kind {
	case KindFloat:
		return v.Text == w.Text || sameFloat(v.Text, w.Text)
	case KindDict:
		same := func(p, q [2]Value) bool { return p[0].Equal(q[0]) && p[1].Equal(q[1]) }
		return v.Text == w.Text && sameSet(v.Pairs, w.Pairs, same)
	case KindSet:
		return v.Text == w.Text && sameSet(v.Items, w.Items, Value.Equal)
	}
	return (v.Kind == KindRaised || v.Text == w.Text) && slices.EqualFunc(v.Items, w.Items, Value.Equal)
}

// sameFloat reports whether two texts are one float: 1e+08 and 100000000.0 are, 0.0 and -0.0 are not.
func sameFloat(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && math.Float64bits(x) == math.Float64bits(y)
}

// sameSet reports whether a and b hold the same in whatever order, each as often: what a program sent may repeat an item. One
// look at each pair, for they may hold sets in turn.
func sameSet[T any](a, b []T, same func(T, T) bool) bool {
	if len(a) != len(b) {
		return false
	}
	met := make([]bool, len(b))
	for _, x := range a {
		found := false
		for j, y := range b {
			if !met[j] && same(x, y) {
				met[j], found = true, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// String shows v for a person, in a notation close to Python's and JSON's, bounded to about 200 bytes.
func (v Value) String() string {
	s := v.render(0)
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:197], "") + "…"
	}
	return s
}

func (v Value) render(depth int) string {
	if depth > 8 {
		return "…"
	}
	list := func(open, end string) string {
		parts := make([]string, len(v.Items))
		for i, it := range v.Items {
			parts[i] = it.render(depth + 1)
		}
		return open + strings.Join(parts, ", ") + end
	}
	switch v.Kind {
	case KindNone, "":
		return "None"
	case KindBool, KindInt, KindFloat:
		return v.Text
	case KindStr:
		return strconv.Quote(v.Text)
	case KindBytes:
		return "bytes(" + v.Text + ")"
	case KindList:
		return list("[", "]")
	case KindTuple:
		return list("(", ")")
	case KindSet:
		return list("{", "}")
	case KindDict:
		parts := make([]string, len(v.Pairs))
		for i, p := range v.Pairs {
			parts[i] = p[0].render(depth+1) + ": " + p[1].render(depth+1)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case KindRaised:
		return fmt.Sprintf("%s raised (%q)", v.Class, v.Text)
	default:
		return fmt.Sprintf("an object of class %s %q", v.Class, v.Text)
	}
}

// Want is what a case expects: one exact value, an exception, or one of several.
type Want struct {
	Exact  *Value   `json:"exact,omitempty"`
	Raises []string `json:"raises,omitempty"` // names of exception classes, any of them or of what derives from them; "any" for every exception
	AnyOf  []Want   `json:"any_of,omitempty"` // where the ticket leaves a corner open
}

// Match reports whether v is what w expects.
func (w Want) Match(v Value) bool {
	switch {
	case w.Exact != nil:
		return v.Equal(*w.Exact)
	case len(w.Raises) > 0:
		return v.Kind == KindRaised && slices.ContainsFunc(w.Raises, func(name string) bool {
			return name == "any" || slices.Contains(v.Bases, name)
		})
	default:
		return slices.ContainsFunc(w.AnyOf, func(o Want) bool { return o.Match(v) })
	}
}

// String shows w for a person.
func (w Want) String() string {
	switch {
	case w.Exact != nil:
		return w.Exact.String()
	case slices.Contains(w.Raises, "any"):
		return "an error"
	case len(w.Raises) > 0:
		return strings.Join(w.Raises, " or ") + " raised"
	default:
		parts := make([]string, len(w.AnyOf))
		for i, o := range w.AnyOf {
			parts[i] = o.String()
		}
		return strings.Join(parts, " or ")
	}
}
