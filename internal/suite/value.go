package suite

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"tare"
)

var className = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// want reads what a case expects.
func (s source) want(n *node) tare.Want {
	key, arg := special(n)
	switch key {
	case "$raises":
		return s.raises(arg)
	case "$anyof":
		var w tare.Want
		for _, item := range s.list(arg, "$anyof", 2) {
			w.AnyOf = append(w.AnyOf, s.want(item))
		}
		return w
	}
	v := s.value(n)
	return tare.Want{Exact: &v}
}

// special is the key and the value of a mapping such as {$tuple: [1]}; "" for any other node.
func special(n *node) (string, *node) {
	if n != nil && n.kind == kMap && len(n.keys) == 1 && strings.HasPrefix(n.keys[0].name, "$") {
		return n.keys[0].name, n.keys[0].val
	}
	return "", nil
}

func (s source) raises(n *node) tare.Want {
	if n.kind == kStr && n.text == "any" {
		return tare.Want{Raises: []string{"any"}}
	}
	if n.kind == kStr {
		s.fail(n.pos, "$raises takes any, or a list of exceptions: [%s]", n.text)
		return tare.Want{}
	}
	var names []string
	for _, item := range s.list(n, "$raises", 1) {
		name := s.str(item, "an exception")
		switch {
		case name == "":
		case name == "any":
			s.fail(item.pos, "any stands alone: {$raises: any}")
		case !className.MatchString(name):
			s.fail(item.pos, "%s cannot be the name of an exception", clip(name))
		default:
			names = append(names, name)
		}
	}
	return tare.Want{Raises: names}
}

// value reads one exact value.
func (s source) value(n *node) tare.Value {
	s.unambiguous(n)
	switch n.kind {
	case kNull:
		return tare.Value{Kind: tare.KindNone}
	case kBool:
		return tare.Value{Kind: tare.KindBool, Text: n.text}
	case kInt:
		return tare.Value{Kind: tare.KindInt, Text: n.text}
	case kFloat:
		return tare.Value{Kind: tare.KindFloat, Text: n.text}
	case kStr:
		return tare.Value{Kind: tare.KindStr, Text: n.text}
	case kList:
		return tare.Value{Kind: tare.KindList, Items: s.values(n.items)}
	}
	if key, arg := special(n); key != "" {
		return s.special(key, arg, n.keys[0].pos)
	}
	v := tare.Value{Kind: tare.KindDict}
	for _, f := range n.keys {
		if strings.HasPrefix(f.name, "$") {
			s.fail(f.pos, "a key that begins with $ must be the only one of its mapping; a dict that has such a key is written {$dict: [[key, value]]}")
		}
		v.Pairs = append(v.Pairs, [2]tare.Value{{Kind: tare.KindStr, Text: f.name}, s.value(f.val)})
	}
	return v
}

func (s source) values(nodes []*node) []tare.Value {
	var out []tare.Value
	for _, n := range nodes {
		out = append(out, s.value(n))
	}
	return out
}

// unambiguous refuses scalars that one reader of YAML takes for a truth value or nothing, and another one for text.
func (s source) unambiguous(n *node) {
	if !n.plain {
		return
	}
	switch strings.ToLower(n.text) {
	case "yes", "no", "on", "off", "y", "n":
		if n.kind == kStr {
			s.fail(n.pos, "readers of YAML disagree about %s: write true or false, or text in quotes", n.text)
		}
	}
	if n.empty {
		s.fail(n.pos, "there is no value; write null if that is meant")
	}
}

// special reads {key: n}, where key begins with a dollar sign.
func (s source) special(key string, n *node, p pos) tare.Value {
	switch key {
	case "$tuple":
		return tare.Value{Kind: tare.KindTuple, Items: s.values(s.list(n, key, 0))}
	case "$set":
		return s.set(n)
	case "$dict":
		return s.dict(n)
	case "$bytes":
		// an empty text is the empty bytes
		if n.kind == kStr {
			if b, err := base64.StdEncoding.DecodeString(n.text); err == nil {
				return tare.Value{Kind: tare.KindBytes, Text: base64.StdEncoding.EncodeToString(b)}
			}
		}
		s.fail(n.pos, "$bytes takes base64 with padding, as text")
		return tare.Value{Kind: tare.KindBytes}
	case "$float":
		if n.kind == kStr && slices.Contains([]string{"nan", "inf", "-inf"}, n.text) {
			return tare.Value{Kind: tare.KindFloat, Text: n.text}
		}
		s.fail(n.pos, "$float takes nan, inf or -inf; another float is written as such, 1.0 or 2.5e-3")
		return tare.Value{Kind: tare.KindFloat}
	case "$raises", "$anyof":
		s.fail(p, "%s can only be the whole of what a case expects, not a part of it", key)
	default:
		s.fail(p, "there is no %s; there is $raises, $anyof, $tuple, $set, $dict, $bytes and $float", clip(key))
	}
	return tare.Value{}
}

func (s source) set(n *node) tare.Value {
	v := tare.Value{Kind: tare.KindSet}
	items := s.list(n, "$set", 0)
	if len(items) > maxKeys {
		s.fail(n.pos, "a set has more than %d items", maxKeys)
		return v
	}
	for _, item := range items {
		x := s.value(item)
		if slices.ContainsFunc(v.Items, x.Equal) {
			s.fail(item.pos, "a set holds each item once")
		}
		v.Items = append(v.Items, x)
	}
	slices.SortStableFunc(v.Items, func(a, b tare.Value) int { return strings.Compare(a.Text, b.Text) })
	return v
}

func (s source) dict(n *node) tare.Value {
	v := tare.Value{Kind: tare.KindDict}
	items := s.list(n, "$dict", 0)
	if len(items) > maxKeys {
		s.fail(n.pos, "a dict has more than %d keys", maxKeys)
		return v
	}
	for _, item := range items {
		if item.kind != kList || len(item.items) != 2 {
			s.fail(item.pos, "$dict takes pairs: [[key, value], …]")
			continue
		}
		k := s.value(item.items[0])
		if slices.ContainsFunc(v.Pairs, func(p [2]tare.Value) bool { return p[0].Equal(k) }) {
			s.fail(item.pos, "a dict holds each key once")
		}
		v.Pairs = append(v.Pairs, [2]tare.Value{k, s.value(item.items[1])})
	}
	return v
}

// args is a case's arguments as a JSON array. A float keeps its point or exponent, so that JSON readers that tell whole
// numbers from floats, as Python's does, see a float.
func (s source) args(n *node) json.RawMessage {
	if n == nil {
		return nil
	}
	if n.kind != kList {
		s.fail(n.pos, "args must be a list of the positional arguments; this is %s", n.kind)
		return nil
	}
	return s.appendJSON(nil, n)
}

func (s source) appendJSON(b []byte, n *node) []byte {
	s.unambiguous(n)
	switch n.kind {
	case kNull:
		return append(b, "null"...)
	case kStr:
		return appendText(b, n.text)
	case kList:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = s.appendJSON(b, item)
		}
		return append(b, ']')
	case kMap:
		b = append(b, '{')
		for i, f := range n.keys {
			if strings.HasPrefix(f.name, "$") {
				s.fail(f.pos, "arguments are plain JSON: let the probe make a %s of them", strings.TrimPrefix(f.name, "$"))
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, f.name), ':')
			b = s.appendJSON(b, f.val)
		}
		return append(b, '}')
	default: // a truth value or a number, whose text is JSON
		return append(b, n.text...)
	}
}

func appendText(b []byte, text string) []byte {
	enc, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always encodes
	}
	return append(b, enc...)
}
