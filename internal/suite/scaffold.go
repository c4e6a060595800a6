package suite

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"tare"
)

// A Draft is what is known of a ticket before its author has written it.
type Draft struct {
	Title   string
	Runner  string    // "" for pytest
	Seed    tare.Tree // the workspace as the agent will get it; empty: an example
	Fixed   tare.Tree // the same, put right; empty: unknown
	Sources []string  // directories that hold the subject; empty: guessed from Seed
	Visible []string  // ids of the tests of Seed
}

// Scaffold makes the folder of a ticket out of a draft. What an author must write stands in it as TO WRITE, and the
// loader refuses the folder until that is done: a half-made task is no task. Changes from Seed to Fixed below the sources become
// reference a, the others its regression test.
func Scaffold(d Draft) (tare.Tree, error) {
	if d.Runner == "" {
		d.Runner = "pytest"
	}
	form, ok := runners[d.Runner]
	if !ok {
		return nil, fmt.Errorf("there is no runner %q; there are %s", d.Runner, strings.Join(runnerNames(), " and "))
	}
	if len(d.Seed) == 0 {
		d = form.example(d.Title)
	}
	if len(d.Sources) == 0 {
		d.Sources = guessSources(d.Seed, path.Ext(form.probe))
	}
	files := under("seed", d.Seed)
	var fix, test tare.Tree
	for _, c := range d.Seed.Changes(d.Fixed) {
		f, ok := d.Fixed.Lookup(c.Path)
		switch {
		case !ok: // deleted: an overlay cannot say so, the author must
		case tare.Under(c.Path, d.Sources...) && (form.tests == nil || !form.tests.MatchString(c.Path)):
			fix = append(fix, f)
		default:
			test = append(test, f)
		}
	}
	files = append(files, under("references/a", fix)...)
	files = append(files, under("regression/a", test)...)
	text := func(p, s string) { files = append(files, tare.File{Path: p, Mode: 0o644, Data: []byte(s)}) }
	text("task.yaml", taskYAML(d))
	text("ticket.md", "TO WRITE: the symptom, as whoever met it would tell it.\n\nRequirements:\n\n1. TO WRITE: what must hold, one sentence that a case can check.\n2. TO WRITE: a regression test is added.\n")
	text(form.probe, form.draft)
	return tare.NewTree(files)
}

func under(dir string, t tare.Tree) []tare.File {
	out := slices.Clone(t)
	for i := range out {
		out[i].Path = path.Join(dir, out[i].Path)
	}
	return out
}

// guessSources is src where there is one, else every top-level directory with code in it, files that end in ext, that is
// not for tests.
func guessSources(t tare.Tree, ext string) []string {
	var dirs []string
	for _, f := range t {
		dir, _, nested := strings.Cut(f.Path, "/")
		if !nested || !strings.HasSuffix(f.Path, ext) || strings.HasPrefix(dir, ".") || strings.Contains(dir, "test") {
			continue
		}
		if dir == "src" {
			return []string{"src"}
		}
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

func taskYAML(d Draft) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, `schema: tare.task/1
kind: ticket
title: %q
category: development
runner: %s
sources: [%s]
limits: {wall: 10m, turns: 60, check: 20s}

# Word for word the numbered list of ticket.md.
requirements:
  - "TO WRITE: what must hold, one sentence that a case can check."
  - {text: "TO WRITE: a regression test is added.", by: regression_test}

# Every test of the seed.
visible:
`, d.Title, d.Runner, strings.Join(d.Sources, ", "))
	for _, id := range d.Visible {
		fmt.Fprintf(&b, "  - %q\n", id)
	}
	b.WriteString(`
seed: {outcome: FAIL, gate: behaviour, requirement: 1}

# At least two, written differently, each with a regression test of its own.
references:
  - {name: a, files: references/a, test: regression/a}
  - {name: b, files: references/b, test: regression/b}

# References made wrong by one token; every regression test above must fail on one of each reference.
twins:
  - {name: TO-WRITE, of: a, file: TO WRITE, replace: "TO WRITE", with: "TO WRITE"}

# Tests that prove nothing.
worthless:
  - {name: vacuous, test: regression/vacuous}

# Wrong solutions, one for each requirement that can be broken alone, and right ones that look unusual.
controls:
  - name: TO-WRITE
    origin: bad
    files: controls/TO-WRITE
    expect: {outcome: FAIL, gate: behaviour, requirement: 1}

# Several for each requirement, one at least that mirrors each visible test.
cases:
`)
	for i, id := range d.Visible {
		fmt.Fprintf(&b, "  - {id: visible-%d, requirement: 1, mirrors: %q, call: TO_WRITE, args: [], want: \"TO WRITE\"}\n", i+1, id)
	}
	return b.String()
}

const probePy = `"""Calls the code and returns plain values. It asserts nothing."""


def TO_WRITE():
    raise NotImplementedError
`

const probeGo = `package main

// The functions of this file call the code and return plain values. They assert nothing.

func TO_WRITE() error { panic("to be written") }
`

func textFile(p, s string) tare.File { return tare.File{Path: p, Mode: 0o644, Data: []byte(s)} }

// examplePython is a workspace to start from where there is none.
func examplePython(title string) Draft {
	return Draft{
		Title: title, Runner: "pytest",
		Seed: tare.Tree{
			textFile("src/example/__init__.py", ""),
			textFile("src/example/core.py", "def TO_WRITE():\n    return None\n"),
			textFile("tests/test_core.py", "from example.core import TO_WRITE\n\n\ndef test_to_write():\n    assert TO_WRITE() is None\n"),
		},
		Sources: []string{"src"}, Visible: []string{"tests/test_core.py::test_to_write"},
	}
}

// exampleGo is the same in Go.
func exampleGo(title string) Draft {
	return Draft{
		Title: title, Runner: "gotest",
		Seed: tare.Tree{
			textFile("core/core.go", "// Package core is TO WRITE.\npackage core\n\nfunc ToWrite() error { return nil }\n"),
			textFile("core/core_test.go", "package core\n\nimport \"testing\"\n\nfunc TestToWrite(t *testing.T) {\n\tif err := ToWrite(); err != nil {\n\t\tt.Error(err)\n\t}\n}\n"),
			textFile("go.mod", "module example\n\ngo 1.24\n"),
		},
		Sources: []string{"core"}, Visible: []string{"core/core_test.go::TestToWrite"},
	}
}
