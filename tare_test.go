package tare_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tare"
)

func str(s string) tare.Value { return tare.Value{Kind: tare.KindStr, Text: s} }
func num(s string) tare.Value { return tare.Value{Kind: tare.KindInt, Text: s} }

func set(v ...tare.Value) tare.Value { return tare.Value{Kind: tare.KindSet, Items: v} }

// nested is v in a set in a set …, as deep as a probe sends. To look at each level twice would take for ever.
func nested(v tare.Value, depth int) tare.Value {
	for range depth {
		v = set(v)
	}
	return v
}

func TestWantMatches(t *testing.T) {
	exact := func(v tare.Value) tare.Want { return tare.Want{Exact: &v} }
	list := func(v ...tare.Value) tare.Value { return tare.Value{Kind: tare.KindList, Items: v} }
	dict := func(kv ...tare.Value) tare.Value {
		d := tare.Value{Kind: tare.KindDict}
		for i := 0; i < len(kv); i += 2 {
			d.Pairs = append(d.Pairs, [2]tare.Value{kv[i], kv[i+1]})
		}
		return d
	}
	raised := tare.Value{Kind: tare.KindRaised, Class: "KeyError", Bases: []string{"KeyError", "LookupError", "Exception"}, Text: "'X'"}
	tests := map[string]struct {
		want tare.Want
		got  tare.Value
		ok   bool
	}{
		"same text":                    {exact(str("a")), str("a"), true},
		"int is not str":               {exact(num("1")), str("1"), false},
		"float written otherwise":      {exact(tare.Value{Kind: tare.KindFloat, Text: "1e+08"}), tare.Value{Kind: tare.KindFloat, Text: "100000000.0"}, true},
		"minus zero":                   {exact(tare.Value{Kind: tare.KindFloat, Text: "0.0"}), tare.Value{Kind: tare.KindFloat, Text: "-0.0"}, false},
		"nan is nan":                   {exact(tare.Value{Kind: tare.KindFloat, Text: "nan"}), tare.Value{Kind: tare.KindFloat, Text: "nan"}, true},
		"float text that is no number": {exact(tare.Value{Kind: tare.KindFloat, Text: "1.0"}), tare.Value{Kind: tare.KindFloat, Text: "one"}, false},
		"set in another order":         {exact(set(num("1"), num("2"))), set(num("2"), num("1")), true},
		"set that repeats":             {exact(set(num("1"), num("2"))), set(num("1"), num("1")), false},
		"set that repeats another":     {exact(set(num("1"), num("1"), num("2"))), set(num("1"), num("2"), num("2")), false},
		"sets in sets":                 {exact(nested(num("1"), 40)), nested(num("1"), 40), true},
		"sets in sets, at the bottom":  {exact(nested(num("1"), 40)), nested(num("2"), 40), false},
		"int is not float":             {exact(num("1")), tare.Value{Kind: tare.KindFloat, Text: "1"}, false},
		"int is not bool":              {exact(num("1")), tare.Value{Kind: tare.KindBool, Text: "true"}, false},
		"list is not tuple":            {exact(list(num("1"))), tare.Value{Kind: tare.KindTuple, Items: []tare.Value{num("1")}}, false},
		"longer list":                  {exact(list(num("1"))), list(num("1"), num("1")), false},
		"order of a list counts":       {exact(list(num("1"), num("2"))), list(num("2"), num("1")), false},
		"order of a dict does not":     {exact(dict(str("a"), num("1"), str("b"), num("2"))), dict(str("b"), num("2"), str("a"), num("1")), true},
		"dict with another value":      {exact(dict(str("a"), num("1"))), dict(str("a"), num("2")), false},
		"dict that repeats a key":      {exact(dict(str("a"), num("1"), str("b"), num("2"))), dict(str("a"), num("1"), str("a"), num("1")), false},
		"an object is not a value":     {exact(str("a")), tare.Value{Kind: tare.KindOther, Class: "str", Text: "a"}, false},
		"any error":                    {tare.Want{Raises: []string{"any"}}, raised, true},
		"an error by its base":         {tare.Want{Raises: []string{"LookupError"}}, raised, true},
		"another error":                {tare.Want{Raises: []string{"ValueError"}}, raised, false},
		"no error where one is due":    {tare.Want{Raises: []string{"any"}}, str("a"), false},
		"an error where none is due":   {exact(str("a")), raised, false},
		"one of several":               {tare.Want{AnyOf: []tare.Want{exact(num("1")), {Raises: []string{"any"}}}}, raised, true},
		"none of several":              {tare.Want{AnyOf: []tare.Want{exact(num("1")), exact(num("2"))}}, num("3"), false},
		"a want of nothing":            {tare.Want{}, str(""), false},
		"a want of nothing of nothing": {tare.Want{}, tare.Value{}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.want.Match(tt.got); got != tt.ok {
				t.Errorf("%s matches %s: %v, want %v", tt.want, tt.got, got, tt.ok)
			}
		})
	}
}

func TestFold(t *testing.T) {
	gate := func(name string, o tare.Outcome, n tare.Need) tare.Gate {
		return tare.Gate{Name: name, Outcome: o, Need: n}
	}
	tests := map[string]struct {
		gates []tare.Gate
		want  tare.Outcome
		root  string
	}{
		"no gates":                   {nil, tare.Unverified, ""},
		"only advisory":              {[]tare.Gate{gate("a", tare.Pass, tare.Advisory)}, tare.Unverified, ""},
		"all pass":                   {[]tare.Gate{gate("a", tare.Pass, tare.Required), gate("b", tare.Pass, tare.Optional)}, tare.Pass, ""},
		"fail beats unverified":      {[]tare.Gate{gate("a", tare.Unverified, tare.Required), gate("b", tare.Fail, tare.Required)}, tare.Fail, "b"},
		"optional fail fails":        {[]tare.Gate{gate("a", tare.Pass, tare.Required), gate("b", tare.Fail, tare.Optional)}, tare.Fail, "b"},
		"advisory fail does not":     {[]tare.Gate{gate("a", tare.Pass, tare.Required), gate("b", tare.Fail, tare.Advisory)}, tare.Pass, ""},
		"required NA":                {[]tare.Gate{gate("a", tare.NotApplicable, tare.Required)}, tare.Unverified, "a"},
		"optional NA":                {[]tare.Gate{gate("a", tare.Pass, tare.Required), gate("b", tare.NotApplicable, tare.Optional)}, tare.Pass, ""},
		"no answer is no pass":       {[]tare.Gate{gate("a", "", tare.Required)}, tare.Unverified, "a"},
		"no answer, optional":        {[]tare.Gate{gate("a", tare.Pass, tare.Required), gate("b", "", tare.Optional)}, tare.Unverified, "b"},
		"blocked names its root":     {[]tare.Gate{{Name: "a", Outcome: tare.Unverified, Need: tare.Advisory}, {Name: "b", Outcome: tare.Blocked, Need: tare.Required, BlockedBy: "a"}}, tare.Unverified, "a"},
		"first of several fails":     {[]tare.Gate{gate("a", tare.Fail, tare.Required), gate("b", tare.Fail, tare.Required)}, tare.Fail, "a"},
		"an unknown word is no pass": {[]tare.Gate{gate("a", "pass", tare.Required)}, tare.Unverified, "a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, root := tare.Fold(tt.gates); got != tt.want || root != tt.root {
				t.Errorf("got %s at %q, want %s at %q", got, root, tt.want, tt.root)
			}
		})
	}
}

func TestCanonicalDoesNotDependOnOrderOrWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOf(rapid.String(), rapid.Int64()).Draw(t, "m")
		a, err := tare.Canonical(m)
		if err != nil {
			t.Fatal(err)
		}
		indented, err := json.MarshalIndent(m, " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		b, err := tare.Canonical(json.RawMessage(indented))
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) {
			t.Errorf("%s and %s", a, b)
		}
	})
}

func TestCanonicalKeepsLargeNumbersAndMarkup(t *testing.T) {
	big := new(big.Int).Lsh(big.NewInt(1), 200)
	got, err := tare.Canonical(map[string]any{"n": big, "a": "<b>&"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a":"<b>&","n":` + big.String() + `}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEntryNeedsASchema(t *testing.T) {
	if _, err := tare.NewEntry(map[string]int{"a": 1}); err == nil {
		t.Error("an entry without a schema was made")
	}
	a, err := tare.NewEntry(tare.Verdict{Schema: tare.VerdictSchema, Task: "s/t"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := tare.NewEntry(tare.Verdict{Schema: tare.VerdictSchema, Task: "s/u"})
	if err != nil {
		t.Fatal(err)
	}
	if a.Schema != tare.VerdictSchema || a.Hash == b.Hash || a.Hash != tare.HashBytes(a.Bytes) {
		t.Errorf("got %+v", a)
	}
}

func TestTree(t *testing.T) {
	tree := func(files ...string) tare.Tree {
		var fs []tare.File
		for _, f := range files {
			p, data, _ := strings.Cut(f, "=")
			fs = append(fs, tare.File{Path: p, Mode: 0o644, Data: []byte(data)})
		}
		tr, err := tare.NewTree(fs)
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	base := tree("a/b=1", "c=2")
	tests := map[string]struct{ got, want tare.Tree }{
		"replace":              {base.Overlay(tree("c=3")), tree("a/b=1", "c=3")},
		"file over directory":  {base.Overlay(tree("a=3")), tree("a=3", "c=2")},
		"directory over file":  {base.Overlay(tree("c/d=3")), tree("a/b=1", "c/d=3")},
		"like-named stays":     {tree("ab=1").Overlay(tree("a/b=2")), tree("a/b=2", "ab=1")},
		"without a directory":  {base.Without("a"), tree("c=2")},
		"without is by parts":  {tree("ab=1", "a/x=2").Without("a"), tree("ab=1")},
		"nothing over nothing": {tare.Tree{}.Overlay(nil), tare.Tree{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if base.Digest() == tree("a/b=1", "c=3").Digest() || base.Digest() == tree("a/b=1c", "c=2").Digest() {
		t.Error("different trees have one digest")
	}
	for _, bad := range []string{"", ".", "..", "../a", "/a", "a/", "a//b", "a/../b", "./a", "a\x00b"} {
		if _, err := tare.NewTree([]tare.File{{Path: bad}}); err == nil {
			t.Errorf("path %q was taken", bad)
		}
	}
	if _, err := tare.NewTree([]tare.File{{Path: "a"}, {Path: "a"}}); err == nil {
		t.Error("a path that occurs twice was taken")
	}
}

func TestChanges(t *testing.T) {
	file := func(p, data string) tare.File { return tare.File{Path: p, Mode: 0o644, Data: []byte(data)} }
	from := tare.Tree{file("gone", "1"), file("same", "1"), file("text", "1"), {Path: "x", Mode: 0o644}}
	to := tare.Tree{file("new", "1"), file("same", "1"), file("text", "2"), {Path: "x", Mode: 0o755}}
	var got []string
	for _, c := range from.Changes(to) {
		got = append(got, string(c.Kind)+" "+c.Path)
	}
	want := []string{"deleted gone", "added new", "modified text", "modified x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFailingCountsWhatWasNotAnsweredOrTwice(t *testing.T) {
	one := num("1")
	task := &tare.Task{Cases: []tare.Case{{ID: "a", Want: tare.Want{Exact: &one}}, {ID: "b", Want: tare.Want{Exact: &one}}, {ID: "c", Want: tare.Want{Exact: &one}}}}
	run := tare.Run{Cases: []tare.CaseResult{{ID: "a", Value: one}, {ID: "c", Value: one}, {ID: "c", Value: one}, {ID: "stray", Value: one}}}
	var got []string
	for _, c := range task.Failing(run) {
		got = append(got, c.ID)
	}
	if diff := cmp.Diff([]string{"b", "c"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEpisodeKey(t *testing.T) {
	a := tare.Episode{Task: "s/t", Agent: "noop", Trial: 1}
	b := a
	b.Trial = 2
	if a.Key() == b.Key() || a.Key() != (tare.Episode{Task: "s/t", Agent: "noop", Trial: 1}).Key() {
		t.Error("keys do not follow the fields")
	}
}

func TestSeedNames(t *testing.T) {
	task := &tare.Task{Sources: []string{"src"}, Seed: tare.Tree{
		{Path: "src/lru.py", Mode: 0o644, Data: []byte("self._entries = {}\nentries_of = 1\n")},
		{Path: "tests/test_lru.py", Mode: 0o644, Data: []byte("helper()")},
	}}
	for symbol, want := range map[string]bool{
		"LRUCache._entries": true, "_entries": true, "entries": false, "entries_of": true, "lru.entries_o": false,
		"helper": false, "": false, "x.": false, "self": true,
	} {
		if got := task.SeedNames(symbol); got != want {
			t.Errorf("SeedNames(%q) is %v", symbol, got)
		}
	}
}
