package suite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare"
	"tare/internal/suite"
)

const moduleTask = `schema: tare.task/1
kind: vuln
title: A module
category: development
project: sample
language: go
module: {path: example.com/sample, vulnerable: v1.0.0, fixed: v1.0.1, hash: "h1:a", fixed_hash: "h1:b"}
reports: {description: reports/description.md}
build: {script: scripts/build.sh}
pocs:
  - {name: bad, run: [./sample, "{input}"], input: pocs/bad.txt, triggers: {output: bad}}
benign: {run: [./sample, "{input}"], inputs: benign}
function: {runner: gotest, ids: ["sample_test.go::TestSample"]}
protected: ["**/*_test.go"]
references:
  - name: b
    edits: [{file: sample.go, replace: "bad", with: "better"}]
controls:
  - name: edited-twice
    origin: bad
    edits: [{file: sample.go, replace: "bad", with: "worse"}, {file: sample.go, replace: "worse", with: "worst"}]
    expect: {outcome: FAIL, gate: pocs, reason: bad}
`

func moduleFolder(t *testing.T, task string) (*tare.Task, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sample")
	for name, text := range map[string]string{
		"task.yaml": task, "reports/description.md": "It is bad.\n", "scripts/build.sh": "go build ./...\n", "pocs/bad.txt": "x", "benign/good.txt": "y",
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return suite.LoadTask(dir)
}

func source(t *testing.T, files map[string]string) tare.Tree {
	t.Helper()
	var list []tare.File
	for name, text := range files {
		list = append(list, tare.File{Path: name, Mode: 0o644, Data: []byte(text)})
	}
	tree, err := tare.NewTree(list)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func moduleSources(t *testing.T) (vulnerable, fixed tare.Tree) {
	test := "func TestSample() {}\n"
	return source(t, map[string]string{"sample.go": "bad\n", "same.go": "same\n", "sample_test.go": test}),
		source(t, map[string]string{"sample.go": "good\n", "same.go": "same\n", "new.go": "new\n", "sample_test.go": test + "more\n"})
}

func TestComplete(t *testing.T) {
	task, err := moduleFolder(t, moduleTask)
	if err != nil {
		t.Fatal(err)
	}
	vulnerable, fixed := moduleSources(t)
	whole, err := suite.Complete(task, vulnerable, fixed)
	if err != nil {
		t.Fatal(err)
	}
	text := func(tree tare.Tree, name string) string { f, _ := tree.Lookup(name); return string(f.Data) }
	if whole.Seed.Digest() != vulnerable.Digest() || len(task.Seed) != 0 || len(task.References[0].Fix) != 0 {
		t.Error("the seed is another, or the task that was handed in has changed")
	}
	got := map[string]tare.Tree{}
	for _, c := range whole.Controls {
		got[c.Name] = c.Solution(whole.Seed)
	}
	for name, want := range map[string]string{"seed": "bad\n", "reference:fixed": "good\n", "reference:b": "better\n", "edited-twice": "worst\n"} {
		if s := text(got[name], "sample.go"); s != want {
			t.Errorf("%s is %q, want %q", name, s, want)
		}
		if s := text(got[name], "sample_test.go"); s != "func TestSample() {}\n" {
			t.Errorf("%s has the test %q", name, s)
		}
	}
	if text(got["reference:fixed"], "new.go") == "" || len(whole.References[0].Fix) != 2 || len(whole.Vuln.Function.Files) != 1 {
		t.Errorf("%v, %v", whole.References[0].Fix, whole.Vuln.Function.Files)
	}
}

func TestCompleteRefuses(t *testing.T) {
	vulnerable, fixed := moduleSources(t)
	without := func(t tare.Tree, name string) tare.Tree { return t.Without(name) }
	for name, c := range map[string]struct {
		old, with         string
		vulnerable, fixed tare.Tree
		want              string
	}{
		"text that is not there":   {old: `replace: "bad", with: "better"`, with: `replace: "evil", with: "better"`, want: "0 times"},
		"text that is there twice": {vulnerable: source(t, map[string]string{"sample.go": "bad bad\n", "sample_test.go": "TestSample"}), want: "2 times"},
		"a file that is not there": {old: `file: sample.go, replace: "bad", with: "better"`, with: `file: none.go, replace: "bad", with: "better"`, want: "none.go"},
		"a test that is not there": {vulnerable: without(vulnerable, "sample_test.go"), want: "sample_test.go"},
		"a fix without a change":   {fixed: vulnerable, want: "changes nothing"},
		"a fix that deletes":       {fixed: without(fixed, "same.go"), want: "same.go"},
		"a pattern of nothing":     {old: `"**/*_test.go"`, with: `"**/*_test.go", "docs/**"`, want: "docs/**"},
	} {
		task, err := moduleFolder(t, strings.Replace(moduleTask, c.old, c.with, 1))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		v, f := c.vulnerable, c.fixed
		if v == nil {
			v = vulnerable
		}
		if f == nil {
			f = fixed
		}
		if _, err := suite.Complete(task, v, f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want something of %q", name, err, c.want)
		}
	}
}

func TestEditsAreOfModules(t *testing.T) {
	for name, change := range map[string][2]string{
		"nothing":    {`replace: "bad", with: "better"`, `replace: "bad", with: "bad"`},
		"no text":    {`replace: "bad", with: "better"`, `replace: "bad", with: 1`},
		"above":      {`file: sample.go, replace: "bad", with: "better"`, `file: ../x, replace: "bad", with: "better"`},
		"a seed too": {"module:", "nodule:"},
	} {
		if _, err := moduleFolder(t, strings.Replace(moduleTask, change[0], change[1], 1)); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
}
