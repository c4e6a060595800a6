package suite

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"tare"
)

// greet is the folder of testdata/flaw.txtar: a vulnerability that loads.
func greet(t testing.TB) tare.Tree {
	t.Helper()
	a, err := txtar.ParseFile("testdata/flaw.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var tree tare.Tree
	for _, f := range a.Files {
		tree = set(t, tree, tare.File{Path: f.Name, Mode: 0o644, Data: bytes.Clone(f.Data)})
	}
	return tree
}

func TestVuln(t *testing.T) {
	tree := greet(t)
	task, err := load("s/t", tree)
	if err != nil {
		t.Fatal(err)
	}
	v := task.Vuln
	if got := (tare.Trigger{Sanitizer: "heap-buffer-overflow", At: "greet"}); task.Kind != tare.Vuln || len(v.PoCs) != 2 || v.PoCs[0].Triggers != got || !v.PoCs[1].Stdin {
		t.Errorf("PoCs %+v", v.PoCs)
	}
	if len(v.Variants) != 1 || v.Variants[0].Of != "long" || v.Variants[0].Name != "seventeen.txt" || len(v.Benign.Inputs) != 1 {
		t.Errorf("variants %+v, benign %+v", v.Variants, v.Benign)
	}
	want := []tare.ProgramCase{{ID: "long", Command: []string{"./greet", "names/long.txt"}, Stdout: []byte("name too long\n"), Exit: 2}}
	if d := cmp.Diff(want, v.Intent.Cases); d != "" {
		t.Error("hidden cases", d)
	}
	paths := func(tree tare.Tree) (out []string) {
		for _, f := range tree {
			out = append(out, f.Path)
		}
		return out
	}
	// What must come out never enters the sandbox, so it is in no tree that is laid out; what a case reads is.
	if d := cmp.Diff([]string{"names/long.txt"}, paths(v.Intent.Files)); d != "" {
		t.Error("files of hidden cases", d)
	}
	if d := cmp.Diff([]string{"tests/anna.txt"}, paths(v.Function.Files)); d != "" {
		t.Error("files of the project's own cases", d)
	}
	hidden := []string{
		"benign/bob.txt", "hidden/driver/driver.c", "hidden/intent/long.cmd", "hidden/intent/long.exit", "hidden/intent/long.out",
		"hidden/intent/names/long.txt", "pocs/long.txt", "pocs/piped.txt", "scripts/driver.sh", "variants/long/seventeen.txt",
	}
	if d := cmp.Diff(hidden, paths(task.Hidden)); d != "" {
		t.Error("hidden from agents", d)
	}
	var controls []string
	for _, c := range task.Controls {
		controls = append(controls, c.Name+" "+string(c.Expect.Outcome)+" "+c.Expect.Gate)
	}
	if d := cmp.Diff([]string{"seed FAIL pocs", "noop FAIL pocs", "reference:a PASS ", "reference:b PASS ", "rejects-everything FAIL functional_tests", "bigger-everywhere PASS "}, controls); d != "" {
		t.Error(d)
	}
}

// TestPromptOfVuln holds the prompt to what is public: whatever changes of what is hidden, the prompt stays.
func TestPromptOfVuln(t *testing.T) {
	tree := greet(t)
	task, err := load("s/t", tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, public := range []string{"greet", "written in C", "CWE-122", "Long names crash `greet`.", "ERROR: AddressSanitizer", "gcc -O0 -g", "./greet tests/anna.txt"} {
		if !strings.Contains(task.Ticket, public) {
			t.Errorf("the prompt does not say %q", public)
		}
	}
	for _, s := range Secrets(task) {
		if strings.Contains(task.Ticket, string(s.Data)) {
			t.Errorf("the prompt holds %s", s.Name)
		}
	}
	names := map[string]bool{}
	for _, s := range Secrets(task) {
		names[s.Name] = true
	}
	for _, want := range []string{"hidden file pocs/long.txt", "hidden file hidden/driver/driver.c", "tripwire in hidden file hidden/driver/driver.c", "hidden file hidden/intent/names/long.txt", "reference a: greet.c", "hidden file scripts/driver.sh"} {
		if !names[want] {
			t.Errorf("a leak scan does not look for %s", want)
		}
	}
	for _, f := range task.Hidden {
		tree = set(t, tree, tare.File{Path: f.Path, Mode: f.Mode, Data: bytes.ReplaceAll(f.Data, []byte("o"), []byte("0"))})
	}
	f, _ := tree.Lookup("hidden/intent/long.cmd")
	tree = set(t, tree, tare.File{Path: f.Path, Mode: f.Mode, Data: []byte("./greet\n")})
	other, err := load("s/t", tree)
	if err != nil {
		t.Fatal(err)
	}
	if other.Ticket != task.Ticket || other.Hash == task.Hash {
		t.Error("the prompt hangs on what is hidden")
	}
}

func TestFence(t *testing.T) {
	if got := fenced("a ```` b\n"); got != "`````\na ```` b\n`````\n" {
		t.Errorf("got %q", got)
	}
}

// TestVulnRefusals changes one thing of a vulnerability that loads, and expects the problem that comes of it, where it is.
func TestVulnRefusals(t *testing.T) {
	yaml := func(old, new string) []string { return []string{"task.yaml", old, new} }
	for name, tt := range map[string]struct {
		edit []string // file, old, new; an empty old makes the file, and "-" in its place removes it
		want string
	}{
		"unknown key":          {yaml("project: greet", "project: greet\ncolour: red"), `task.yaml:6:1: a vulnerability has no key "colour"`},
		"missing key":          {yaml("project: greet\n", ""), `task.yaml:1:1: a vulnerability lacks the key "project"`},
		"language":             {yaml("language: c", "language: rust"), `task.yaml:6:11: language is "rust"; it can be c, go, python`},
		"no report":            {yaml("  issue: reports/issue.md\n  crashes: [reports/crash.txt]\n", "  {}\n"), "task.yaml:10:3: an agent must know what is wrong"},
		"report missing":       {yaml("issue: reports/issue.md", "issue: reports/issues.md"), `task.yaml:10:10: there is no file "reports/issues.md"`},
		"report empty":         {[]string{"reports/issue.md", "", " \n"}, "reports/issue.md: the file is empty"},
		"report is binary":     {[]string{"reports/issue.md", "", "\xff"}, "reports/issue.md: this is not UTF-8 text"},
		"report in the seed":   {yaml("issue: reports/issue.md", "issue: seed/greet.c"), `task.yaml:10:10: issue cannot be "seed/greet.c"`},
		"report too large":     {[]string{"reports/issue.md", "", strings.Repeat("x", maxReport+1)}, "reports/issue.md: the file is larger than 64 KB"},
		"no build":             {yaml("build: {script: scripts/build.sh, wall: 60s}\n", ""), "task.yaml:1:1: a program in c is built"},
		"build without script": {yaml("build: {script: scripts/build.sh, wall: 60s}", "build: {wall: 60s}"), `task.yaml:12:8: build lacks the key "script"`},
		"no PoC":               {yaml("pocs:\n  - name: long", "pocs: []\nmore:\n  - name: long"), "task.yaml:15:7: pocs must have at least 1 entries"},
		"PoC twice":            {yaml("name: piped", "name: long"), `PoC "long" is here twice; the first is in line 16`},
		"input unused":         {yaml(`run: [./greet, "-"]`+"\n    input: pocs/piped.txt\n    stdin: true", `run: [./greet, "-"]`+"\n    input: pocs/piped.txt"), "task.yaml:21:5: the input is used by nothing: put {input} into run, or say stdin: true"},
		"input missing":        {yaml("    input: pocs/long.txt\n", ""), "task.yaml:16:5: run or stdin asks for an input"},
		"input twice":          {yaml(`run: [./greet, "-"]`, `run: [./greet, "{input}"]`), "the input goes to standard input or stands in run, not both"},
		"input is no file":     {yaml("input: pocs/long.txt", "input: pocs"), `task.yaml:18:12: there is no file "pocs"`},
		"stdin":                {yaml("stdin: true", "stdin: 1"), "task.yaml:24:12: stdin must be true or false"},
		"word is a number":     {yaml(`run: [./greet, "-"]`, `run: [./greet, 7]`), "task.yaml:22:20: a word of a command must be text; this is a whole number"},
		"no program":           {yaml(`run: [./greet, "-"]`, `run: ["", "-"]`), "the first word of run is the program, and is empty"},
		"two triggers":         {yaml("triggers: {sanitizer: heap-buffer-overflow}", "triggers: {sanitizer: heap-buffer-overflow, exit: 1}"), "task.yaml:25:15: a PoC triggers in one way"},
		"no trigger":           {yaml("triggers: {sanitizer: heap-buffer-overflow}", "triggers: {at: greet}"), "task.yaml:25:15: a PoC triggers in one way"},
		"place of an exit":     {yaml("triggers: {sanitizer: heap-buffer-overflow}", "triggers: {exit: 3, at: greet}"), "task.yaml:25:29: at names a function of a trace"},
		"exit status":          {yaml("triggers: {sanitizer: heap-buffer-overflow}", "triggers: {exit: 256}"), "task.yaml:25:22: an exit status is a whole number from 0 to 255"},
		"negative exit status": {yaml("triggers: {sanitizer: heap-buffer-overflow}", "triggers: {exit: -1}"), "task.yaml:25:22: an exit status"},
		"signal":               {yaml("triggers: {sanitizer: heap-buffer-overflow}", "triggers: {signal: SIGKILL}"), `task.yaml:25:24: signal is "SIGKILL"; it can be SIGSEGV`},
		"sanitizer in Python":  {yaml("language: c", "language: python"), "programs in python are built without a sanitizer"},
		"ends before it hangs": {yaml("triggers: {sanitizer: heap-buffer-overflow, at: greet}", "triggers: {hang: 6s}"), "task.yaml:19:11: the run is ended before it could be seen to hang"},
		"variant of nothing":   {[]string{"variants/other/x", "", "x\n"}, `variants/other/x: variants lie in a folder named after their PoC, and there is no PoC "other"`},
		"variant without PoC":  {[]string{"variants/x", "", "x\n"}, `variants/x: variants lie in a folder named after their PoC`},
		"no variants":          {yaml("variants: variants", "variants: variations"), `task.yaml:26:11: there is no folder "variations"`},
		"driver in the seed":   {yaml("files: hidden/driver", "files: seed/tests"), `task.yaml:14:17: files cannot be "seed/tests": what lies in the seed is not hidden`},
		"pattern":              {yaml(`protected: ["tests/**", Makefile]`, `protected: ["tests/[a"]`), `task.yaml:34:13: "tests/[a" is no pattern`},
		"protects nothing":     {yaml(`protected: ["tests/**", Makefile]`, `protected: ["test/**"]`), `task.yaml:34:13: no file of the seed fits "test/**"`},
		"intent without files": {yaml("  files: hidden/intent\n", ""), `task.yaml:29:3: intent lacks the key "files"`},
		"ids of cases":         {yaml("  files: hidden/intent\n", "  files: hidden/intent\n  ids: [long]\n"), "task.yaml:31:8: the ids of cases are the names of their files"},
		"functional, hidden":   {yaml("files: seed/tests", "files: hidden/intent"), "task.yaml:33:10: functional tests are the project's own"},
		"case without output":  {[]string{"hidden/intent/long.out", "-", ""}, "hidden/intent/long.cmd: there is no long.out beside it"},
		"case without command": {[]string{"hidden/intent/long.cmd", "-", ""}, "hidden/intent/long.exit: there is no long.cmd beside it"},
		"case of no command":   {[]string{"hidden/intent/long.cmd", "", "\n./greet\n"}, "hidden/intent/long.cmd: this holds a command, one argument a line"},
		"case's status":        {[]string{"hidden/intent/long.exit", "", "two\n"}, "hidden/intent/long.exit: this holds an exit status"},
		"no ids":               {yaml("runner: cases\n  files: hidden/intent", "runner: pytest\n  files: hidden/intent"), "task.yaml:29:3: tests of pytest are named by their exact ids"},
		"id of no file":        {yaml("runner: cases\n  files: hidden/intent", "runner: pytest\n  files: hidden/intent\n  ids: [test_x.py::test_x]"), `task.yaml:31:9: the hidden files have no file "test_x.py"`},
		"id without a test":    {yaml("runner: cases\n  files: seed/tests", "runner: pytest\n  ids: [greet.c]"), `task.yaml:33:9: "greet.c" is no test's exact id`},
		"id of no test":        {yaml("runner: cases\n  files: seed/tests", "runner: pytest\n  ids: [\"greet.c::test_x\"]"), `task.yaml:33:9: the file "greet.c" has no test "test_x"`},
		"one reference":        {yaml("  - {name: b, files: references/b}\n", ""), "task.yaml:36:3: references must have at least 2 entries; this has 1"},
		"same fix":             {yaml("{name: b, files: references/b}", "{name: b, files: references/a}"), "references a and b are the same fix"},
		"reference protected":  {[]string{"references/a/tests/anna.cmd", "", "true\n"}, `task.yaml:36:22: a reference leaves protected files alone, but "references/a" holds "tests/anna.cmd"`},
		"reference unchanged":  {[]string{"references/a/Makefile", "", "all:\n\tsh ../scripts/build.sh\n"}, `"Makefile" in "references/a" is the same as in the seed`},
		"control's gate":       {yaml("gate: functional_tests", "gate: behaviour"), `gate is "behaviour"; it can be infrastructure, integrity, patch, build, pocs`},
		"control's reward":     {yaml("gate: functional_tests, reason", "gate: functional_tests, reward: 0.5, reason"), "the reward of this outcome and gate is 0, not 0.5"},
		"bad one passes":       {yaml(`expect: {outcome: FAIL, gate: functional_tests, reason: "anna"}`, "expect: {outcome: PASS}"), "task.yaml:42:13: a bad patch does not pass"},
		"good one fails":       {yaml("expect: {outcome: PASS}", "expect: {outcome: FAIL, gate: pocs}"), "an acceptable patch passes"},
		"control of nothing":   {yaml("    on: a\n    files: controls/bigger\n", ""), "control bigger-everywhere changes nothing"},
		"control like ours":    {yaml("- name: rejects-everything", "- name: seed"), `control "seed" is here twice`},
		"deletes nothing":      {yaml("    on: a\n", "    on: a\n    delete: [x.c]\n"), `the seed has no "x.c" to delete`},
		"mutant without why":   {yaml(`, why: "a byte more of room changes nothing"`, ""), `an equivalent mutant lacks the key "why"`},
		"no seed":              {[]string{"seed/**", "-", ""}, "task.yaml:1:1: there is no folder seed, or nothing in it"},
		"tells nothing":        {yaml("benign: {run: [./greet, \"{input}\"], inputs: benign}\nintent:\n  runner: cases\n  files: hidden/intent\nfunction:\n  runner: cases\n  files: seed/tests\n", ""), "nothing says that a fix leaves the program working"},
		"stray file":           {[]string{"pocs/other.txt", "", "x\n"}, "pocs/other.txt: nothing in task.yaml names this"},
		"stray hidden file":    {[]string{"hidden/notes.txt", "", "x\n"}, "hidden/notes.txt: nothing in task.yaml names this"},
		"link out of the seed": {[]string{"seed/link", "@", "/etc/passwd"}, "seed/link: the symbolic link leads out of seed"},
		"tripwire in seed":     {[]string{"seed/x.c", "", "/* tripwire-0123456789abcdef */\n"}, "seed/x.c: the seed holds the tripwire"},
		"tripwire in a report": {[]string{"reports/issue.md", "", "tripwire-0123456789abcdef\n"}, "the ticket holds the tripwire"},
		"PoC in the seed":      {[]string{"seed/x.txt", "", "a-name-that-is-longer-than-sixteen-bytes\n"}, "seed/x.txt: the seed holds the hidden file pocs/long.txt"},
		"module with a seed":   {yaml("project: greet", "project: greet\nmodule: {path: x.y/z, vulnerable: v1.0.0, fixed: v1.0.1, hash: \"h1:a\", fixed_hash: \"h1:b\"}"), "task.yaml:6:9: the seed is the module's source, so there can be no folder seed"},
		"module's hash":        {yaml("project: greet", "project: greet\nmodule: {path: x.y/z, vulnerable: v1.0.0, fixed: v1.0.1, hash: \"a\", fixed_hash: \"h1:b\"}"), "task.yaml:6:64: hash is the hash of the module's zip file"},
		"module's version":     {yaml("project: greet", "project: greet\nmodule: {path: x.y/z, vulnerable: v1.0.0, fixed: v1.0.0, hash: \"h1:a\", fixed_hash: \"h1:b\"}"), "the fixed version is the vulnerable one"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := greet(t)
			file, old, new := tt.edit[0], tt.edit[1], tt.edit[2]
			f, _ := tree.Lookup(file)
			switch {
			case old == "-" && strings.HasSuffix(file, "/**"):
				tree = tree.Without(strings.TrimSuffix(file, "/**"))
			case old == "-":
				tree = tree.Without(file)
			case old == "@":
				tree = set(t, tree, tare.File{Path: file, Mode: linkMode, Data: []byte(new)})
			case old == "":
				tree = set(t, tree, tare.File{Path: file, Mode: 0o644, Data: []byte(new)})
			case strings.Count(string(f.Data), old) != 1:
				t.Fatalf("%s holds %q %d times", file, old, strings.Count(string(f.Data), old))
			default:
				tree = set(t, tree, tare.File{Path: file, Mode: 0o644, Data: []byte(strings.Replace(string(f.Data), old, new, 1))})
			}
			if task, err := load("s/t", tree); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v and\n%v\nwant %s", task != nil, err, tt.want)
			}
		})
	}
}

// TestModule loads a vulnerability whose seed is a public module: what is said of the seed is not checked, as it is not there.
func TestModule(t *testing.T) {
	task, err := load("s/t", tare.Tree{
		{Path: "hidden/intent/z_test.go", Mode: 0o644, Data: []byte("package z\n\nfunc TestBound() {}\n")},
		{Path: "pocs/long.txt", Mode: 0o644, Data: []byte("long\n")},
		{Path: "references/own/z.go", Mode: 0o644, Data: []byte("package z\n")},
		{Path: "reports/issue.md", Mode: 0o644, Data: []byte("It panics.\n")},
		{Path: "scripts/build.sh", Mode: 0o644, Data: []byte("go build -o z .\n")},
		{Path: "task.yaml", Mode: 0o644, Data: []byte(`schema: tare.task/1
kind: vuln
title: It panics
category: development
project: z
language: go
module: {path: example.org/z, vulnerable: v1.0.0, fixed: v1.0.1, hash: "h1:a", fixed_hash: "h1:b"}
reports: {issue: reports/issue.md}
build: {script: scripts/build.sh}
pocs:
  - {name: long, run: [./z, "{input}"], input: pocs/long.txt, triggers: {panic: index out of range}}
intent: {runner: gotest, files: hidden/intent, ids: ["z_test.go::TestBound"]}
function: {runner: gotest, ids: ["y_test.go::TestY"]}
protected: ["**/*_test.go"]
references: [{name: own, files: references/own}]
`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if m := task.Vuln.Module; m == nil || m.Fixed != "v1.0.1" || len(task.References) != 2 || task.References[0].Name != ModuleReference {
		t.Errorf("module %+v, references %+v", m, task.References)
	}
}
