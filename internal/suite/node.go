package suite

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"tare/internal/yamlfile"
)

// A kind is the type of a node, decided by this package and not by a YAML library: libraries differ in what they make
// of 010, 1e3, yes and 2024-01-01, and an expected value must not depend on that.
type kind string

const (
	kNull  kind = "null"
	kBool  kind = "true or false"
	kInt   kind = "a whole number"
	kFloat kind = "a number with a fraction"
	kStr   kind = "text"
	kList  kind = "a list"
	kMap   kind = "a mapping"
)

// A pos is a place in a file, line and column from 1.
type pos struct{ line, col int }

// A node is one value of task.yaml or cases.jsonl.
type node struct {
	kind  kind
	text  string // of a scalar: decimal for kInt, as floatText writes it for kFloat
	plain bool   // a scalar without quotes
	empty bool   // nothing at all was written
	items []*node
	keys  []field
	pos
}

// A field is one key of a mapping and its value.
type field struct {
	name string
	val  *node
	pos
}

// get finds the value of the key called name; nil if there is none.
func (n *node) get(name string) *node {
	for _, f := range n.keys {
		if f.name == name {
			return f.val
		}
	}
	return nil
}

// at is where the value of the key called name stands, and without one where n does: what is wrong may be that it is not there.
func (n *node) at(name string) pos {
	if v := n.get(name); v != nil {
		return v.pos
	}
	return n.pos
}

// maxKeys bounds a mapping, whose keys are compared with each other.
const maxKeys = 2000

// fresh reports whether n may take another key called name.
func (n *node) fresh(name string, p pos) error {
	switch {
	case n.get(name) != nil:
		return bad(p, "key %s is here twice", clip(name))
	case len(n.keys) == maxKeys:
		return bad(p, "a mapping has more than %d keys", maxKeys)
	}
	return nil
}

// A syntaxError is a problem at a place of a file whose name the caller knows.
type syntaxError struct {
	pos
	msg string
}

func (e *syntaxError) Error() string { return e.msg }

func bad(p pos, format string, args ...any) error {
	return &syntaxError{pos: p, msg: fmt.Sprintf(format, args...)}
}

// maxDepth bounds how deep values nest, in JSON as in YAML.
const maxDepth = yamlfile.MaxDepth

// parseYAML reads one YAML document: the subset without anchors, aliases, tags and merge keys.
func parseYAML(src []byte) (n *node, err error) {
	defer func() {
		// A panic over one file must not be the end for whoever lists a hundred others.
		if r := recover(); r != nil {
			n, err = nil, bad(pos{1, 1}, "the YAML parser gave up on this file: %v", r)
		}
	}()
	file, wrong := yamlfile.Parse(src)
	if wrong != nil {
		return nil, bad(pos{wrong.Line, wrong.Column}, "%s", wrong.Message)
	}
	switch {
	case len(file.Docs) == 0 || file.Docs[0].Body == nil:
		return nil, bad(pos{1, 1}, "the file is empty")
	case len(file.Docs) > 1:
		p := pos{1, 1}
		if file.Docs[1].Start != nil {
			p = at(file.Docs[1].Start)
		}
		return nil, bad(p, "a second document begins here; there must be one")
	}
	return fromAST(file.Docs[0].Body, 0)
}

func at(t *token.Token) pos {
	if t == nil || t.Position == nil {
		return pos{1, 1}
	}
	return pos{max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

func fromAST(n ast.Node, depth int) (*node, error) {
	if n == nil {
		return nil, bad(pos{1, 1}, "a value is missing")
	}
	p := at(n.GetToken())
	if depth > maxDepth {
		return nil, bad(p, "values nest deeper than %d levels", maxDepth)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return mapping(at(n.Start), n.Values, n.IsFlowStyle, depth)
	case *ast.MappingValueNode:
		return mapping(at(n.Start), []*ast.MappingValueNode{n}, false, depth)
	case *ast.SequenceNode:
		out := &node{kind: kList, pos: at(n.Start)}
		for _, v := range n.Values {
			item, err := fromAST(v, depth+1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, item)
		}
		return out, nil
	case *ast.LiteralNode:
		return &node{kind: kStr, text: n.Value.Value, pos: at(n.Start)}, nil
	case *ast.StringNode:
		if n.Token.Type != token.StringType {
			return quoted(n, p)
		}
		return plainScalar(n.Value, p)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NanNode, *ast.InfinityNode:
		return plainScalar(n.GetToken().Value, p)
	case *ast.NullNode:
		out := &node{kind: kNull, plain: true, pos: p}
		out.empty = n.GetToken().Type == token.ImplicitNullType
		return out, nil
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		return nil, bad(p, "anchors, aliases, tags and merge keys are not read here; write the value out")
	default:
		return nil, bad(p, "a %s is not read here", n.Type())
	}
}

func mapping(p pos, values []*ast.MappingValueNode, flow bool, depth int) (*node, error) {
	out := &node{kind: kMap, pos: p}
	if len(values) > 0 && values[0].Key != nil && !flow {
		out.pos = at(values[0].Key.GetToken())
	}
	for _, v := range values {
		if v.Key == nil {
			return nil, bad(p, "a key is missing")
		}
		k, err := fromAST(v.Key, depth+1)
		if err != nil {
			return nil, err
		}
		if k.kind != kStr {
			return nil, bad(k.pos, "a key must be text: put it in quotes, or in an expected value write {$dict: [[key, value]]}")
		}
		if err := out.fresh(k.text, k.pos); err != nil {
			return nil, err
		}
		val, err := fromAST(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		out.keys = append(out.keys, field{k.text, val, k.pos})
	}
	return out, nil
}

// quoted is a scalar in quotes. An escape that stands for no character would silently become U+FFFD.
func quoted(n *ast.StringNode, p pos) (*node, error) {
	if strings.ContainsRune(n.Value, utf8.RuneError) && !strings.ContainsRune(n.Token.Origin, utf8.RuneError) || !utf8.ValidString(n.Value) {
		return nil, bad(p, "the text has an escape that is no character")
	}
	return &node{kind: kStr, text: n.Value, pos: p}, nil
}

// oddNumber is what some reader of YAML takes for a number and another one for text or for another number.
var oddNumber = regexp.MustCompile(`^[-+]?(0[xob][0-9a-fA-F_]+|[0-9][0-9_]*|([0-9][0-9_]*)?\.[0-9_]*([eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)

// number is how many bytes at the beginning of s are a number as JSON writes one, and whether it has a fraction or an
// exponent.
func number[T string | []byte](s T) (n int, float bool) {
	digits := func(i int) int {
		for i < len(s) && '0' <= s[i] && s[i] <= '9' {
			i++
		}
		return i
	}
	start := 0
	if len(s) > 0 && s[0] == '-' {
		start = 1
	}
	n = digits(start)
	if n == start || n > start+1 && s[start] == '0' {
		return 0, false
	}
	if n < len(s) && s[n] == '.' {
		end := digits(n + 1)
		if end == n+1 {
			return n, false
		}
		n, float = end, true
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		exp := n + 1
		if exp < len(s) && (s[exp] == '-' || s[exp] == '+') {
			exp++
		}
		if end := digits(exp); end > exp {
			n, float = end, true
		}
	}
	return n, float
}

// plainScalar is the value of a scalar without quotes: YAML 1.2's core schema, less the spellings of numbers over which
// readers disagree.
func plainScalar(text string, p pos) (*node, error) {
	out := &node{text: text, plain: true, pos: p}
	switch text {
	case "null", "Null", "NULL", "~":
		out.kind, out.text = kNull, ""
		return out, nil
	case "true", "True", "TRUE", "false", "False", "FALSE":
		out.kind, out.text = kBool, strings.ToLower(text)
		return out, nil
	}
	n, float := number(text)
	switch {
	case n > 0 && n == len(text) && !float:
		out.kind = kInt
		if text == "-0" {
			out.text = "0"
		}
	case n > 0 && n == len(text):
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, bad(p, "%s does not fit a 64-bit float", clip(text))
		}
		out.kind, out.text = kFloat, floatText(f)
	case text != "" && strings.IndexByte("+-.0123456789", text[0]) >= 0 && strings.ContainsAny(text, "0123456789in") && oddNumber.MatchString(text):
		return nil, bad(p, "readers of YAML disagree about %s: write a number in decimal digits (in an expected value {$float: nan}, {$float: inf}), or text in quotes", clip(text))
	default:
		out.kind = kStr
	}
	return out, nil
}

// floatText writes f as Python does: the shortest decimal that reads back as f, with a point or an exponent.
func floatText(f float64) string {
	e := strconv.FormatFloat(f, 'e', -1, 64)
	_, exp, found := strings.Cut(e, "e")
	if n, err := strconv.Atoi(exp); !found || err == nil && (n < -4 || n >= 16) {
		return e
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// clip shortens s for a message, in quotes.
func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:57]) + "…"
	}
	return strconv.Quote(s)
}
