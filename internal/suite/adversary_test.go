package suite

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"tare"
	"tare/suites"
)

const plainAdversary = `schema: tare.adversary/1
title: A thing
tries: Does a thing.
kind: any
on:
  seed: as the seed
steps:
  - {write: "x.txt", text: "x"}
stopped: By a wall.
defences: [some/wall]
`

// TestBuiltinAdversaries loads what the binary holds, and looks for the attacks that the set must have.
func TestBuiltinAdversaries(t *testing.T) {
	all, err := Adversaries(suites.Adversaries(), "adversaries")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	hashes := map[tare.Digest]string{}
	for _, a := range all {
		names[a.Name] = true
		if a.Title == "" || a.Tries == "" || a.Stopped == "" || len(a.Rows) == 0 || len(a.Defences) == 0 {
			t.Errorf("%s does not say all that it should: %+v", a.Name, a)
		}
		if other := hashes[a.Hash]; other != "" {
			t.Errorf("%s and %s have one hash", a.Name, other)
		}
		hashes[a.Hash] = a.Name
	}
	for _, must := range strings.Fields(`vacuous-test no-test-function text-of-the-fix text-of-the-bug bytecode-of-the-bug
		bytecode-of-all-fixes marker-symbol hash-of-the-bug state-left-behind directory-name failing-test-beyond-testpaths
		failing-test-by-python-files sitecustomize shadow-pytest conftest plugin-by-entry-point report-wrapped plugin-rewritten
		exit-at-import exit-in-a-test always-equal printed-results planted-results visible-tests-emptied visible-tests-weakened
		weakened-and-committed hidden-path-file hidden-path-directory hidden-path-symlink hidden-path-case background-mends
		background-breaks fork-holds-the-channel long-line non-utf8-output`) {
		if !names[must] {
			t.Errorf("there is no adversary %s", must)
		}
	}
}

// TestAdversaryRefused gives each way in which an adversary can be wrong, and where and how that is said.
func TestAdversaryRefused(t *testing.T) {
	edit := func(old, new string) map[string]string {
		if !strings.Contains(plainAdversary, old) {
			t.Fatalf("the plain adversary has no %q", old)
		}
		return map[string]string{"a/adversary.yaml": strings.Replace(plainAdversary, old, new, 1)}
	}
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":             {map[string]string{"parts/x": "x"}, "there is no adversary in the folder"},
		"no file":             {map[string]string{"a/other": "x"}, "a/adversary.yaml: there is no such file"},
		"bad name":            {map[string]string{"a b/adversary.yaml": plainAdversary}, "cannot be part of an agent's name"},
		"syntax":              {map[string]string{"a/adversary.yaml": "a: [\n"}, "a/adversary.yaml:"},
		"unknown key":         {edit("kind: any", "kind: any\nsort: x"), "a/adversary.yaml:5:1: an adversary has no key \"sort\""},
		"missing key":         {edit("stopped: By a wall.\n", ""), `lacks the key "stopped"`},
		"unknown kind":        {edit("kind: any", "kind: cobol"), "4:7: kind is \"cobol\""},
		"unknown base":        {edit("  seed: as the seed", "  tree: as the seed"), "6:3: on has no key \"tree\""},
		"no base":             {edit("on:\n  seed: as the seed", "on: {}"), "name at least one base"},
		"no steps":            {edit("steps:\n  - {write: \"x.txt\", text: \"x\"}\n", ""), "the adversary does nothing"},
		"passes":              {edit("seed: as the seed", "seed: {outcome: PASS}"), "6:9: an adversary must not pass"},
		"as the seed, fixed":  {edit("seed: as the seed", "reference: as the seed"), "only what leaves the bug"},
		"other words":         {edit("as the seed", "as ever"), "what must become of it is \"as ever\""},
		"requirement":         {edit("as the seed", "{outcome: FAIL, gate: behaviour, requirement: 1}"), "requirement is 1, but the task has 0"},
		"unknown gate":        {edit("as the seed", "{outcome: FAIL, gate: heaven}"), "gate is \"heaven\""},
		"no op":               {edit(`{write: "x.txt", text: "x"}`, "{text: x}"), "8:5: a step needs one of the keys"},
		"two ops":             {edit(`{write: "x.txt", text: "x"}`, "{write: a, delete: b, text: x}"), "a step does one thing"},
		"step is no map":      {edit(`{write: "x.txt", text: "x"}`, "go"), "8:5: a step must be a mapping"},
		"step's key":          {edit(`text: "x"`, `text: "x", mode: 1`), "has no key \"mode\""},
		"no text":             {edit(`, text: "x"`, ""), "takes one of text and file"},
		"two texts":           {edit(`text: "x"`, `text: "x", file: y`), "takes one of text and file"},
		"no file of the step": {edit(`text: "x"`, `file: y`), "neither the folder nor parts holds a file \"y\""},
		"link without target": {edit(`{write: "x.txt", text: "x"}`, "{symlink: a}"), `lacks the key "to"`},
		"unclean path":        {edit("x.txt", "../x"), "8:13: \"../x\" is no clean path"},
		"absolute path":       {edit("x.txt", "/x"), "is no clean path"},
		"placeholder in path": {edit("x.txt", "@sauce@"), "8:13: nothing is called \"@sauce@\""},
		"placeholder in text": {edit(`text: "x"`, `text: "@sauce@"`), "nothing is called \"@sauce@\""},
		"placeholder in file": {map[string]string{"a/adversary.yaml": strings.Replace(plainAdversary, `text: "x"`, `file: y`, 1), "a/y": "@sauce256@"}, "nothing is called \"@sauce256@\""},
		"a file too many":     {map[string]string{"a/adversary.yaml": plainAdversary, "a/y": "z"}, "holds \"y\", which no step names"},
		"defence twice":       {edit("[some/wall]", "[some/wall, some/wall]"), "is here twice"},
		"no defence":          {edit("[some/wall]", "[]"), "must have at least 1"},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for p, text := range tt.files {
				fsys[p] = &fstest.MapFile{Data: []byte(text)}
			}
			all, err := Adversaries(fsys, "adv")
			if err == nil || !strings.Contains(err.Error(), tt.want) || all != nil {
				t.Errorf("got %v and %d adversaries, want %q", err, len(all), tt.want)
			}
		})
	}
}

func adversaryTask() *tare.Task {
	tree := func(pairs ...string) tare.Tree {
		var files []tare.File
		for i := 0; i < len(pairs); i += 2 {
			files = append(files, tare.File{Path: pairs[i], Mode: 0o644, Data: []byte(pairs[i+1])})
		}
		t, err := tare.NewTree(files)
		if err != nil {
			panic(err)
		}
		return t
	}
	return &tare.Task{
		ID: "s/t", Runner: "pytest", Sources: []string{"src"}, Visible: []string{"tests/test_a.py::test_<one>"},
		Seed:   tree("src/shop/cart.py", "def total():\n    return bug\n", "tests/test_a.py", "def test_one(): pass\n"),
		Hidden: tree("probe.py", "x"),
		References: []tare.Reference{
			{Name: "a", Fix: tree("src/shop/cart.py", "def total():\n    return 'fix a'\n"), Test: tree("tests/test_new.py", "def test_new(): pass\n")},
			{Name: "b", Fix: tree("src/shop/cart.py", "def total():\n    return 'fix b'\n")},
		},
		Controls: []tare.Control{{Name: "seed", Origin: tare.FromSeed, Expect: tare.Expect{Outcome: tare.Fail, Gate: tare.GateBehaviour, Requirement: 3}}},
	}
}

// TestFit plays each kind of step on a ticket, and shows what becomes of placeholders.
func TestFit(t *testing.T) {
	task := adversaryTask()
	data := func(t tare.Tree, p string) string {
		f, ok := t.Lookup(p)
		if !ok {
			return "<none>"
		}
		if f.Mode.Type() == fs.ModeSymlink {
			return "-> " + string(f.Data)
		}
		return string(f.Data)
	}
	for name, tt := range map[string]struct {
		base Base
		step Step
		path string
		want string
	}{
		"write":            {OnSeed, Step{OpWrite, "@test_dir@/x.py", "@module@ @root@ @source_dir@"}, "tests/x.py", "shop.cart src src/shop"},
		"append":           {OnSeed, Step{OpAppend, "@source@", "# end\n"}, "src/shop/cart.py", "def total():\n    return bug\n# end\n"},
		"prepend":          {OnReference, Step{OpPrepend, "@source@", "# start\n"}, "src/shop/cart.py", "# start\ndef total():\n    return 'fix a'\n"},
		"tested":           {OnTested, Step{OpAppend, "@test_file@", "#"}, "tests/test_new.py", "def test_new(): pass\n#"},
		"delete":           {OnSeed, Step{OpDelete, "tests", ""}, "tests/test_a.py", "<none>"},
		"symlink":          {OnSeed, Step{OpSymlink, "@visible_file@", "/dev/null"}, "tests/test_a.py", "-> /dev/null"},
		"rename":           {OnSeed, Step{OpRename, "@visible_file@", "@visible_upper@"}, "tests/TEST_A.PY", "def test_one(): pass\n"},
		"ids":              {OnSeed, Step{OpWrite, "x", "@visible_ids@"}, "x", `["tests/test_a.py::test_\u003cone\u003e"]`},
		"lines":            {OnSeed, Step{OpWrite, "x", "@fix_line@ @seed_line@"}, "x", `"return 'fix a'" "return bug"`},
		"probe":            {OnSeed, Step{OpWrite, "@probe_file@", "@probe_basename@"}, "hidden/probe.py", "probe.py"},
		"hash":             {OnSeed, Step{OpWrite, "x", "@source_sha256@"}, "x", strings.TrimPrefix(string(tare.HashBytes([]byte("def total():\n    return bug\n"))), "sha256:")},
		"directory":        {OnSeed, Step{OpWrite, "@visible_file@/keep", "x"}, "tests/test_a.py", "<none>"},
		"nothing to add":   {OnSeed, Step{OpAppend, "src/none.py", "x"}, "", ""},
		"nothing to kill":  {OnSeed, Step{OpDelete, "none", ""}, "", ""},
		"nothing to move":  {OnSeed, Step{OpRename, "none", "x"}, "", ""},
		"an untested base": {OnReference, Step{OpAppend, "@test_file@", "x"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := &Adversary{Name: "n", Kind: Any, Rows: []AdversaryRow{{Base: tt.base, AsSeed: true}}, Steps: []Step{tt.step}}
			plays := a.Fit(task)
			if tt.path == "" {
				if len(plays) != 0 {
					t.Errorf("it fits, and makes %v", plays)
				}
				return
			}
			if len(plays) != 1 || data(plays[0].Solution, tt.path) != tt.want || plays[0].Expect.Requirement != 3 {
				t.Errorf("got %+v, want %q in %s", plays, tt.want, tt.path)
			}
		})
	}
	good, _ := fill("@good_sources@", placeholders(task))
	var texts []string
	if err := json.Unmarshal([]byte(good), &texts); err != nil || len(texts) != 2 || !strings.Contains(texts[1], "fix b") {
		t.Errorf("good sources %q, %v", good, err)
	}
	for name, a := range map[string]*Adversary{
		"another runner": {Kind: "gotest", Rows: []AdversaryRow{{Base: OnSeed}}},
		"other tickets":  {Kind: Any, Only: []string{"u"}, Rows: []AdversaryRow{{Base: OnSeed}}},
	} {
		if len(a.Fit(task)) != 0 {
			t.Errorf("one for %s fits", name)
		}
	}
}

// TestAdversaryHash changes each thing that an adversary is made of.
func TestAdversaryHash(t *testing.T) {
	text := strings.Replace(plainAdversary, `text: "x"`, `file: y`, 1)
	hash := func(yaml, own, part string) tare.Digest {
		fsys := fstest.MapFS{"a/adversary.yaml": {Data: []byte(yaml)}, "parts/y": {Data: []byte(part)}}
		if own != "" {
			fsys["a/y"] = &fstest.MapFile{Data: []byte(own)}
		}
		all, err := Adversaries(fsys, "adv")
		if err != nil {
			t.Fatal(err)
		}
		return all[0].Hash
	}
	seen := map[tare.Digest]string{}
	for name, h := range map[string]tare.Digest{
		"as it is":       hash(text, "", "one"),
		"another text":   hash(text+"# more\n", "", "one"),
		"another part":   hash(text, "", "two"),
		"a file instead": hash(text, "three", "two"),
	} {
		if other := seen[h]; other != "" {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[h] = name
	}
}
