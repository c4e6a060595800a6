package evidence

import (
	"slices"
	"testing"
	"time"

	"tare"
)

const (
	spanGo = `package span

// Cut is the part of s that its first two bytes, digits, name.
func Cut(s string) (string, bool) {
	if len(s) < 2 {
		return "", false
	}
	from, to := int(s[0]-'0'), int(s[1]-'0')
	return s[from:to], true
}
`
	spanFixGo = `package span

// Cut is the part of s that its first two bytes, digits, name.
func Cut(s string) (string, bool) {
	if len(s) < 2 {
		return "", false
	}
	from, to := int(s[0]-'0'), int(s[1]-'0')
	if from > to || to > len(s) {
		return "", false
	}
	return s[from:to], true
}
`
	spanMainGo = `package main

import (
	"fmt"
	"os"

	"task/span"
)

func main() {
	b, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	part, ok := span.Cut(string(b))
	fmt.Println(part, ok)
}
`
	spanTestGo   = "package span\n\nimport \"testing\"\n\nfunc TestCut(t *testing.T) {\n\tif got, ok := Cut(\"24abcd\"); got != \"ab\" || !ok {\n\t\tt.Fatal(got)\n\t}\n}\n"
	spanHiddenGo = "package span\n\nimport \"testing\"\n\nfunc TestRefuses(t *testing.T) {\n\tif _, ok := Cut(\"42abcd\"); ok {\n\t\tt.Fatal(\"taken\")\n\t}\n}\n"
)

// span is a small task in Go: a span that ends before it begins panics.
func span() *tare.Task {
	run := []string{"./cut", tare.InputWord}
	return &tare.Task{
		ID: "test/span", Kind: tare.Vuln, Hash: "sha256:span",
		Seed:       tree("cmd/main.go", spanMainGo, "go.mod", "module task\n\ngo 1.22\n", "span/span.go", spanGo, "span/span_test.go", spanTestGo),
		References: []tare.Reference{{Name: "a", Fix: tree("span/span.go", spanFixGo)}},
		Limits:     tare.Limits{Check: time.Minute},
		Vuln: &tare.VulnSpec{
			Language: "go", Build: tare.Script{Name: "build.sh", Text: "set -e\ngo build -o cut ./cmd\n"},
			PoCs:     []tare.PoC{{Name: "turned", Command: run, Input: []byte("42abcd"), Triggers: tare.Trigger{Panic: "slice bounds out of range", At: "span.Cut"}}},
			Intent:   &tare.TestSet{Runner: "gotest", Files: tree("span/hidden_test.go", spanHiddenGo), IDs: []string{"span/hidden_test.go::TestRefuses"}},
			Function: &tare.TestSet{Runner: "gotest", IDs: []string{"span/span_test.go::TestCut"}},
		},
	}
}

const (
	shelfPy    = "import os\n\ndef read(root, name):\n    with open(os.path.join(root, name)) as f:\n        return f.read()\n\ndef number(text):\n    return int(text)\n"
	shelfFixPy = "import os\n\ndef read(root, name):\n    at = os.path.realpath(os.path.join(root, name))\n    if os.path.commonpath([os.path.realpath(root), at]) != os.path.realpath(root):\n        raise SystemExit(\"outside\")\n    with open(at) as f:\n        return f.read()\n\ndef number(text):\n    return int(text) if text.isdigit() else 0\n"
	shelfAppPy = "import sys\n\nfrom shelf import number, read\n\nname = sys.stdin.read().strip()\nif name.startswith('#'):\n    print(number(name[1:]))\nelse:\n    print(read('books', name))\n"
	shelfTest  = "import shelf\n\ndef test_number():\n    assert shelf.number('7') == 7\n"
	shelfHide  = "import shelf\n\ndef test_zero():\n    assert shelf.number('x') == 0\n"
)

// shelf is a small task in Python: a path that leaves the folder is read, and what is no number is an exception.
func shelf() *tare.Task {
	run := []string{"python3", "app.py"}
	return &tare.Task{
		ID: "test/shelf", Kind: tare.Vuln, Hash: "sha256:shelf",
		Seed:       tree("app.py", shelfAppPy, "books/one", "first\n", "private", "root:x:0\n", "shelf.py", shelfPy, "tests/test_shelf.py", shelfTest),
		References: []tare.Reference{{Name: "a", Fix: tree("shelf.py", shelfFixPy)}},
		Limits:     tare.Limits{Check: time.Minute},
		Vuln: &tare.VulnSpec{
			Language: "python", Build: tare.Script{Name: "build.sh", Text: "python3 -m py_compile app.py shelf.py\n"},
			PoCs: []tare.PoC{
				{Name: "up", Command: run, Stdin: true, Input: []byte("../private"), Triggers: tare.Trigger{Output: "root:x:"}},
				{Name: "word", Command: run, Stdin: true, Input: []byte("#x"), Triggers: tare.Trigger{Panic: "ValueError", At: "number"}},
			},
			Intent:    &tare.TestSet{Runner: "pytest", Files: tree("tests/test_hidden.py", shelfHide), IDs: []string{"tests/test_hidden.py::test_zero"}},
			Function:  &tare.TestSet{Runner: "pytest", IDs: []string{"tests/test_shelf.py::test_number"}},
			Protected: []string{"tests/**"},
		},
	}
}

func outcome(c tare.Check, id string) tare.TestOutcome {
	i := slices.IndexFunc(c.Tests, func(r tare.TestResult) bool { return r.ID == id })
	if i < 0 {
		return ""
	}
	return c.Tests[i].Outcome
}

// TestVulnLanguages: in Go and in Python too, the unpatched tree shows the fault and the fix does not.
func TestVulnLanguages(t *testing.T) {
	for _, task := range []*tare.Task{span(), shelf()} {
		t.Run(task.Vuln.Language, func(t *testing.T) {
			ev := gatherVuln(t, task, task.Seed.Overlay(task.References[0].Fix), true)
			if len(ev.Problems) > 0 {
				t.Fatal(ev.Problems)
			}
			for _, c := range ev.Vuln.Checks {
				if !c.Complete || c.Defect != "" {
					t.Errorf("%s of %s is not complete: %s\n%s", c.Kind, c.World, c.Defect, c.Log)
				}
			}
			for i, p := range task.Vuln.PoCs {
				if e := find(t, ev, tare.CheckPoC, tare.WorldFix).Executions[i]; len(e.Signs) > 0 || e.Signal != "" {
					t.Errorf("the fix: %+v", e)
				}
				e := find(t, ev, tare.CheckPoC, tare.WorldSeed).Executions[i]
				if ok, _ := p.Triggers.Triggered(e); !ok {
					t.Errorf("the seed: %+v\n%s", e, e.Stderr)
				}
			}
			hidden, own := task.Vuln.Intent.IDs[0], task.Vuln.Function.IDs[0]
			for _, tt := range []struct {
				kind  tare.CheckKind
				world tare.World
				id    string
				want  tare.TestOutcome
			}{
				{tare.CheckIntent, tare.WorldFix, hidden, tare.TestPassed},
				{tare.CheckIntent, tare.WorldSeed, hidden, tare.TestFailed},
				{tare.CheckFunction, tare.WorldFix, own, tare.TestPassed},
				{tare.CheckFunction, tare.WorldSeed, own, tare.TestPassed},
			} {
				if got := outcome(find(t, ev, tt.kind, tt.world), tt.id); got != tt.want {
					t.Errorf("%s of %s: %s, want %s", tt.kind, tt.world, got, tt.want)
				}
			}
		})
	}
}
