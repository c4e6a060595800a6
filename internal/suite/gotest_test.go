package suite

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"tare"
)

// TestGoTask loads a task whose tests lie beside its sources, and refuses what would blur the two.
func TestGoTask(t *testing.T) {
	a, err := txtar.ParseFile("testdata/go.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var tree tare.Tree
	for _, f := range a.Files {
		tree = set(t, tree, tare.File{Path: f.Name, Mode: 0o644, Data: bytes.Clone(f.Data)})
	}
	task, err := load("t", tree)
	if err != nil {
		t.Fatal(err)
	}
	if task.Runner != "gotest" || len(task.Visible) != 2 || len(task.References[0].Test) != 2 {
		t.Errorf("%s, visible %v, %d test files", task.Runner, task.Visible, len(task.References[0].Test))
	}
	replace := func(file, old, new string) tare.Tree {
		f, _ := tree.Lookup(file)
		if !bytes.Contains(f.Data, []byte(old)) {
			t.Fatalf("%s has no %q", file, old)
		}
		return set(t, tree, tare.File{Path: file, Mode: 0o644, Data: []byte(strings.Replace(string(f.Data), old, new, 1))})
	}
	add := func(file string) tare.Tree {
		return set(t, tree, tare.File{Path: file, Mode: 0o644, Data: []byte("package sum\n")})
	}
	for name, tt := range map[string]struct {
		tree tare.Tree
		want string
	}{
		"a test that brings a source":    {add("regression/a/sum/more.go"), `a test changes no source, but "regression/a" holds "sum/more.go"`},
		"a reference that brings a test": {add("references/a/sum/more_test.go"), `a reference changes sources only, but "references/a" holds "sum/more_test.go"`},
		"a test that is not there":       {replace("task.yaml", "TestSum\n", "TestSums\n"), `the file "sum/sum_test.go" has no test "TestSums"`},
		"no function of that name":       {replace("task.yaml", "call: sum,", "call: total,"), `hidden/probe.go defines no function "total"`},
		"a probe in Python":              {set(t, tree.Without("hidden/probe.go"), tare.File{Path: "hidden/probe.py", Mode: 0o644, Data: []byte("def sum(x): pass\n")}), "there is no file hidden/probe.go"},
		"what a build leaves":            {add("seed/sum/sum.test"), "running the code left this behind"},
	} {
		if _, err := load("t", tt.tree); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}
	}
}

// TestGoPlaceholders has adversaries name what they need of a task in Go.
func TestGoPlaceholders(t *testing.T) {
	task := &tare.Task{
		ID: "s/t", Runner: "gotest", Sources: []string{"sum"}, Visible: []string{"sum/sum_test.go::TestSum"},
		Seed: tare.Tree{
			{Path: "go.mod", Mode: 0o644, Data: []byte("// m adds.\nmodule example.org/m\n\ngo 1.24\n")},
			{Path: "sum/sum.go", Mode: 0o644, Data: []byte("// Package sum adds.\npackage sum // of numbers\n\nvar bug = 1\n")},
			{Path: "sum/sum_test.go", Mode: 0o644, Data: []byte("package sum_test\n")},
		},
		References: []tare.Reference{{Name: "a", Fix: tare.Tree{{Path: "sum/sum.go", Mode: 0o644, Data: []byte("package sum\n")}}}},
	}
	if got, ok := fill("@package@ @test_package@ @source_base@ @source_dir@ @import_path@", placeholders(task)); !ok || got != "sum sum sum.go sum example.org/m/sum" {
		t.Errorf("%q, %v", got, ok)
	}
	task.Seed[1].Data = []byte("no Go\n")
	if got, ok := fill("@package@", placeholders(task)); ok {
		t.Errorf("a file that is no Go is of package %q", got)
	}
	if got, ok := fill("@package@", placeholders(adversaryTask())); ok {
		t.Errorf("a task in Python has a package %q", got)
	}
	if got, ok := fill("@import_path@", placeholders(adversaryTask())); ok {
		t.Errorf("a task in Python is imported as %q", got)
	}
}
