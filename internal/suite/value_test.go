package suite

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tare"
)

// read parses one YAML value as the want of a case.
func read(t *testing.T, src string) (tare.Want, string) {
	t.Helper()
	l := &loader{shown: "t"}
	n, err := parseYAML([]byte("want: " + src))
	if err != nil {
		return tare.Want{}, err.Error()
	}
	w := source{l, "task.yaml", []byte(src)}.want(n.get("want"))
	if err := join(l.problems); err != nil {
		return tare.Want{}, problems(err)
	}
	return w, ""
}

func TestWant(t *testing.T) {
	v := func(k tare.ValueKind, text string) tare.Value { return tare.Value{Kind: k, Text: text} }
	of := func(k tare.ValueKind, items ...tare.Value) tare.Value { return tare.Value{Kind: k, Items: items} }
	i, f, s := tare.KindInt, tare.KindFloat, tare.KindStr
	exact := map[string]tare.Value{
		`null`: v(tare.KindNone, ""), `~`: v(tare.KindNone, ""), `"null"`: v(s, "null"), `"~"`: v(s, "~"),
		`true`: v(tare.KindBool, "true"), `False`: v(tare.KindBool, "false"), `"true"`: v(s, "true"), `truE`: v(s, "truE"),
		`1`: v(i, "1"), `-0`: v(i, "0"), `0`: v(i, "0"), `-17`: v(i, "-17"), `"1"`: v(s, "1"), `'1'`: v(s, "1"),
		`123456789012345678901234567890123456789`: v(i, "123456789012345678901234567890123456789"),
		`-99999999999999999999999999999999999999`: v(i, "-99999999999999999999999999999999999999"),
		`1.0`: v(f, "1.0"), `1.50`: v(f, "1.5"), `-0.0`: v(f, "-0.0"), `1e3`: v(f, "1000.0"), `1E-7`: v(f, "1e-07"), `1e16`: v(f, "1e+16"),
		`123456789.0`: v(f, "123456789.0"), `0.1`: v(f, "0.1"), `"1.0"`: v(s, "1.0"), `9007199254740993.0`: v(f, "9007199254740992.0"),
		`2024-01-01`: v(s, "2024-01-01"), `12:30`: v(s, "12:30"), `2024-01-01T00:00:00Z`: v(s, "2024-01-01T00:00:00Z"),
		`"yes"`: v(s, "yes"), `"010"`: v(s, "010"), `""`: v(s, ""), `1 apple`: v(s, "1 apple"), `1.2.3`: v(s, "1.2.3"),
		`"\u00e9\U0001F600\n"`: v(s, "é😀\n"), `"<&>"`: v(s, "<&>"), `nan`: v(s, "nan"), `inf`: v(s, "inf"),
		"|\n  a\n   b\n":                  v(s, "a\n b\n"),
		"|-\n  a\n":                       v(s, "a"),
		">\n  a\n  b\n":                   v(s, "a b\n"),
		`[]`:                              of(tare.KindList),
		`[1, [2.0], "x"]`:                 of(tare.KindList, v(i, "1"), of(tare.KindList, v(f, "2.0")), v(s, "x")),
		"\n  - 1\n  - - 2\n":              of(tare.KindList, v(i, "1"), of(tare.KindList, v(i, "2"))),
		`{}`:                              {Kind: tare.KindDict},
		`{a: 1, "2": [b]}`:                {Kind: tare.KindDict, Pairs: [][2]tare.Value{{v(s, "a"), v(i, "1")}, {v(s, "2"), of(tare.KindList, v(s, "b"))}}},
		`{on: 1}`:                         {Kind: tare.KindDict, Pairs: [][2]tare.Value{{v(s, "on"), v(i, "1")}}},
		`{$tuple: []}`:                    of(tare.KindTuple),
		`[{$tuple: [1, {$set: [2, 1]}]}]`: of(tare.KindList, of(tare.KindTuple, v(i, "1"), of(tare.KindSet, v(i, "1"), v(i, "2")))),
		`{a: {$bytes: "AP8="}}`:           {Kind: tare.KindDict, Pairs: [][2]tare.Value{{v(s, "a"), v(tare.KindBytes, "AP8=")}}},
		`{$bytes: ""}`:                    v(tare.KindBytes, ""),
		`{$float: nan}`:                   v(f, "nan"), `{$float: -inf}`: v(f, "-inf"), `{$float: "inf"}`: v(f, "inf"),
		`{$dict: [[1, a], [{$tuple: [1]}, null]]}`: {Kind: tare.KindDict, Pairs: [][2]tare.Value{
			{v(i, "1"), v(s, "a")}, {of(tare.KindTuple, v(i, "1")), v(tare.KindNone, "")},
		}},
		`{$dict: [["$tuple", 1]]}`: {Kind: tare.KindDict, Pairs: [][2]tare.Value{{v(s, "$tuple"), v(i, "1")}}},
	}
	for src, want := range exact {
		got, problem := read(t, src)
		if diff := cmp.Diff(tare.Want{Exact: &want}, got); problem != "" || diff != "" {
			t.Errorf("%s: %s\n%s", src, problem, diff)
		}
	}
	one := v(i, "1")
	for src, want := range map[string]tare.Want{
		`{$raises: any}`: {Raises: []string{"any"}},
		`{$raises: [ValueError, decimal.InvalidOperation]}`:   {Raises: []string{"ValueError", "decimal.InvalidOperation"}},
		`{$anyof: [1, {$raises: any}]}`:                       {AnyOf: []tare.Want{{Exact: &one}, {Raises: []string{"any"}}}},
		`{$anyof: [1, {$anyof: [1, {$raises: [KeyError]}]}]}`: {AnyOf: []tare.Want{{Exact: &one}, {AnyOf: []tare.Want{{Exact: &one}, {Raises: []string{"KeyError"}}}}}},
	} {
		got, problem := read(t, src)
		if diff := cmp.Diff(want, got); problem != "" || diff != "" {
			t.Errorf("%s: %s\n%s", src, problem, diff)
		}
	}
	for _, src := range []string{
		"010", "-010", "0x1F", "0o17", "0b1", "1_000", "+1", "1.", ".5", "+1.5", ".inf", "-.inf", ".nan", "1_0.5", "00", "01.5", "1e400",
		"yes", "No", "on", "OFF", "y", "n", "", "[1, ]x", "[1,, 2]", "!!int 1", "*a", "{<<: {a: 1}}", "{? a : 1}", "{null: 1}", "{true: 1}", "{1.0: 1}",
		`"\ud800"`, "{$float: 1}", "{$float: .nan}", "{$bytes: 1}", "{$bytes: AP8}", "{$tuple: 1}", "{$set: {a: 1}}", "{$raises: []}", "{$raises: 1}",
		"{$tuple: [1], $set: [1]}", "{$tuple: {$anyof: [1, 2]}}", "{$set: [{$raises: any}]}", "{$: 1}",
	} {
		if got, problem := read(t, src); problem == "" {
			t.Errorf("%s was read as %s", src, got)
		}
	}
}

// TestFloatTextReadsBack compares floatText with what it must stand for, whatever the float.
func TestFloatTextReadsBack(t *testing.T) {
	for f, want := range map[float64]string{
		1: "1.0", -2.5: "-2.5", 1e15: "1000000000000000.0", 1e16: "1e+16", 1.5e300: "1.5e+300", 0.0001: "0.0001", 0.00001: "1e-05",
	} {
		if got := floatText(f); got != want {
			t.Errorf("%v is written %s, by Python %s", f, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return
		}
		n, err := plainScalar(floatText(f), pos{1, 1})
		if err != nil || n.kind != kFloat || n.text != floatText(f) {
			t.Fatalf("%v is written %s and read as %+v, %v", f, floatText(f), n, err)
		}
	})
}

// TestBothReadersAgree draws values, writes them as JSON, and reads them as JSON and, since JSON is YAML, as YAML.
func TestBothReadersAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &loader{}
		src := string(source{l, "x", nil}.appendJSON(nil, draw(t, 0)))
		a, err := parseJSON([]byte(src), 1)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		b, err := parseYAML([]byte("v: " + src + "\n"))
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		if diff := cmp.Diff(bare(a), bare(b.get("v")), cmp.AllowUnexported(node{}, field{}, pos{})); diff != "" {
			t.Fatalf("%s (-JSON +YAML):\n%s", src, diff)
		}
	})
}

// TestParsedForm draws values and reads back their parsed form, whole, cut and for another text.
func TestParsedForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &loader{}
		text := append(source{l, "x", nil}.appendJSON([]byte("v: "), draw(t, 0)), '\n')
		n, err := parseYAML(text)
		if err != nil {
			t.Fatal(err)
		}
		form := string(encodeParsed(text, n))
		got, err := decodeParsed(form, text)
		if diff := cmp.Diff(n, got, cmp.AllowUnexported(node{}, field{}, pos{})); err != nil || diff != "" {
			t.Fatalf("%s: %v\n%s", text, err, diff)
		}
		cut := rapid.IntRange(0, len(form)-1).Draw(t, "cut")
		for _, damaged := range []string{form[:cut], form + "x"} {
			if _, err := decodeParsed(damaged, text); err == nil {
				t.Fatalf("%q was read", damaged)
			}
		}
		if _, err := decodeParsed(form, append(text, '\n')); err == nil {
			t.Fatal("it was read as the form of another text")
		}
	})
}

// FuzzParsed reads anything behind a right beginning: it is refused, or is a tree that can be written again.
func FuzzParsed(f *testing.F) {
	text := []byte("a: [1, {b: null}, ~, 'x']\n")
	n, err := parseYAML(text)
	if err != nil {
		f.Fatal(err)
	}
	form := encodeParsed(text, n)
	head := len(parsedForm) + 32
	f.Add(form[head:])
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := decodeParsed(string(form[:head])+string(b), text)
		if err == nil {
			again, err := decodeParsed(string(encodeParsed(text, n)), text)
			if diff := cmp.Diff(n, again, cmp.AllowUnexported(node{}, field{}, pos{})); err != nil || diff != "" {
				t.Fatal(err, diff)
			}
		}
	})
}

// draw makes a value without text that YAML refuses.
func draw(t *rapid.T, depth int) *node {
	text := rapid.StringOf(rapid.RuneFrom([]rune(" aZ09.-_:,#'\"\\{}[]&*!|>%@`~?=/$é😀\t\n")))
	kinds := []kind{kNull, kBool, kInt, kFloat, kStr, kList, kMap}
	if depth > 3 {
		kinds = kinds[:5]
	}
	n := &node{kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	switch n.kind {
	case kBool:
		n.text = rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool")
	case kInt:
		n.text = rapid.StringMatching(`-?[1-9][0-9]{0,30}|0`).Draw(t, "int")
	case kFloat:
		n.text = floatText(rapid.Float64Range(-1e20, 1e20).Draw(t, "float"))
	case kStr:
		n.text = text.Draw(t, "text")
	case kList:
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			n.items = append(n.items, draw(t, depth+1))
		}
	case kMap:
		for range rapid.IntRange(0, 3).Draw(t, "keys") {
			name := strings.TrimLeft(text.Draw(t, "key"), "$")
			if n.get(name) == nil {
				n.keys = append(n.keys, field{name: name, val: draw(t, depth+1)})
			}
		}
	}
	return n
}

// bare is n without places and spelling.
func bare(n *node) *node {
	out := &node{kind: n.kind, text: n.text}
	for _, item := range n.items {
		out.items = append(out.items, bare(item))
	}
	for _, f := range n.keys {
		out.keys = append(out.keys, field{name: f.name, val: bare(f.val)})
	}
	return out
}

func TestJSONRefusals(t *testing.T) {
	for src, want := range map[string]string{
		`{"a": 1, "a": 2}`: "key \"a\" is here twice", `{"a" 1}`: "a ':' is missing", `{a: 1}`: "a key in quotes", `[1 2]`: "a ',' is missing",
		`[1,]`: "no JSON value", `["a`: "without its closing quote", `"\ud800"`: "an escape that is no character", `"\x41"`: "no JSON",
		"\"a\tb\"": "a control character", `01`: "no JSON value", `+1`: "no JSON value", `nul`: "no JSON value", `1e999`: "does not fit", "": "no JSON value",
		`[[`: "no JSON value", `{"a":`: "no JSON value", "\"\xff\"": "not UTF-8", `NaN`: "no JSON value", `1.`: "text after the value", `-`: "no JSON value",
		strings.Repeat("[", 5000): "nest deeper",
	} {
		if n, err := parseJSON([]byte(src), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: got %+v, %v; want %q", src, n, err, want)
		}
	}
}
