package evidence

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tare"
)

// The names of these tests are those of the holes of a known harness that they keep shut.

func edited(t *testing.T, tr tare.Tree, name, old, new string) tare.Tree {
	t.Helper()
	f, ok := tr.Lookup(name)
	if !ok || !strings.Contains(string(f.Data), old) {
		t.Fatalf("%s holds no %q", name, old)
	}
	f.Data = []byte(strings.Replace(string(f.Data), old, new, 1))
	return tr.Overlay(tare.Tree{f})
}

// open opens the checks of a tree.
func openVuln(t *testing.T, task *tare.Task, final tare.Tree) *VulnChecks {
	t.Helper()
	_, sb := opened(t)
	return OpenVuln(VulnRequest{Task: task, Final: final, Sandbox: sb})
}

// TestHole1TestMainThatExits0: a test file that ends the process before a test has run has no part in tests of the seed's or
// hidden ones; an init function that does so is found out.
func TestHole1TestMainThatExits0(t *testing.T) {
	task := span()
	own, hidden := task.Vuln.Function.IDs[0], task.Vuln.Intent.IDs[0]
	exits := tree("span/zz_test.go", "package span\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n")
	s := openVuln(t, task, task.Seed.Overlay(exits))
	if c, err := s.Intent(t.Context()); err != nil || outcome(c, hidden) != tare.TestFailed {
		t.Errorf("TestMain, intent: %v, %+v", err, c.Tests)
	}
	if c, err := s.Function(t.Context()); err != nil || outcome(c, own) != tare.TestPassed {
		t.Errorf("TestMain, functional: %v, %+v", err, c.Tests)
	}
	s = openVuln(t, task, task.Seed.Overlay(tree("span/zz.go", "package span\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n")))
	if c, err := s.Function(t.Context()); err != nil || c.Complete || outcome(c, own) == tare.TestPassed {
		t.Errorf("init: %v, %+v", err, c)
	}
}

// TestHole1Conftest: the same in Python, by a conftest.py and by tests that are emptied.
func TestHole1Conftest(t *testing.T) {
	task := shelf()
	own, hidden := task.Vuln.Function.IDs[0], task.Vuln.Intent.IDs[0]
	for name, final := range map[string]tare.Tree{
		"conftest":       tree("conftest.py", "import os\nos._exit(0)\n"),
		"tests/conftest": tree("tests/conftest.py", "def pytest_runtest_call(item):\n    item.obj = lambda: None\n"),
		"empty":          tree("tests/test_shelf.py", "def test_number():\n    pass\n", "shelf.py", "def number(text):\n    return 0\n"),
	} {
		s := openVuln(t, task, task.Seed.Overlay(final))
		if c, err := s.Intent(t.Context()); err != nil || (outcome(c, hidden) == tare.TestPassed) != (name == "empty") {
			t.Errorf("%s, intent: %v, %+v", name, err, c.Tests)
		}
		if c, err := s.Function(t.Context()); err != nil || (outcome(c, own) == tare.TestPassed) != (name != "empty") {
			t.Errorf("%s, functional: %v, %+v", name, err, c.Tests)
		}
		if p := s.Patch(); name != "conftest" && len(p.Restored) == 0 || len(s.Steering())+len(p.Restored) == 0 {
			t.Errorf("%s: %+v, %+v", name, p, s.Steering())
		}
	}
}

// TestHole1HiddenFilesWin: what stands at, above or below the place of a hidden file gives way, and is reported.
func TestHole1HiddenFilesWin(t *testing.T) {
	task := shelf()
	hidden := task.Vuln.Intent.IDs[0]
	for _, tt := range []struct {
		path string
		mode os.FileMode
		data string
	}{
		{"tests/test_hidden.py", 0o644, "def test_zero():\n    pass\n"},
		{"tests/test_hidden.py/test_zero.py", 0o644, "def test_zero():\n    pass\n"},
		{"tests", os.ModeSymlink | 0o777, "elsewhere"},
		{"tests/TEST_HIDDEN.py", 0o644, "def test_zero():\n    pass\n"},
	} {
		final := task.Seed.Overlay(tare.Tree{{Path: tt.path, Mode: tt.mode, Data: []byte(tt.data)}})
		s := openVuln(t, task, final)
		if c, err := s.Intent(t.Context()); err != nil || outcome(c, hidden) != tare.TestFailed {
			t.Errorf("%s: %v, %+v", tt.path, err, c)
		}
		if got := s.Patch().Collided; !slices.Equal(got, []string{tt.path}) {
			t.Errorf("%s: reported %v", tt.path, got)
		}
	}
}

// TestHole2CachesOfTheirOwn: what one run leaves in HOME, in /tmp, in the tree or in Go's settings is not there in the next.
func TestHole2CachesOfTheirOwn(t *testing.T) {
	task := span()
	leave := "func leave() {\n\thome, _ := os.UserHomeDir()\n\tfor _, dir := range []string{home, os.TempDir(), \".\"} {\n\t\tos.MkdirAll(dir, 0o755)\n\t\tif _, err := os.Stat(dir + \"/env\"); err == nil {\n\t\t\tprintln(\"found\", dir)\n\t\t}\n\t\tif err := os.WriteFile(dir+\"/env\", []byte(\"GOFLAGS=-run=NONE\\n\"), 0o644); err != nil {\n\t\t\tprintln(err.Error())\n\t\t}\n\t}\n}\n"
	final := edited(t, task.Seed, "cmd/main.go", "func main() {\n", leave+"\nfunc main() {\n\tleave()\n")
	final = edited(t, final, "span/span.go", "package span\n", "package span\n\nimport \"os\"\n\nfunc init() {\n\tif home, err := os.UserHomeDir(); err == nil {\n\t\tos.MkdirAll(home+\"/.config/go\", 0o755)\n\t\tos.WriteFile(home+\"/.config/go/env\", []byte(\"GOFLAGS=-run=NONE\\n\"), 0o644)\n\t}\n}\n")
	s := openVuln(t, task, final)
	for range 2 {
		c, err := s.PoC(t.Context(), 0)
		if err != nil || len(c.Executions) != 1 || strings.Contains(string(c.Log), "found") || len(c.Executions[0].Signs) == 0 {
			t.Errorf("%v %+v %s", err, c.Executions, c.Log)
		}
	}
	if c, err := s.Function(t.Context()); err != nil || outcome(c, task.Vuln.Function.IDs[0]) != tare.TestPassed {
		t.Errorf("functional tests: %v, %+v", err, c)
	}
}

// TestHole3OutputIsReadToItsEnd: a fault in a child that has no stderr, of a parent that says that all is well, is seen every time.
func TestHole3OutputIsReadToItsEnd(t *testing.T) {
	task := labels(t)
	final := edited(t, task.Seed, "main.c", "    size = fread(data", "    if (fork() != 0) {\n        close(2);\n        wait(0);\n        _exit(0);\n    }\n    close(2);\n    size = fread(data")
	final = edited(t, final, "main.c", "#include <stdlib.h>", "#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>")
	task.Vuln.PoCs[0].Triggers = tare.Trigger{Sanitizer: "heap-buffer-overflow"}
	s := openVuln(t, task, final)
	for i := range 8 {
		c, err := s.PoC(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if ok, _ := task.Vuln.PoCs[0].Triggers.Triggered(c.Executions[0]); !ok {
			t.Fatalf("run %d: %+v", i, c.Executions[0])
		}
	}
}

// TestHole3MissingProgram: a PoC whose program is not there, or cannot be started, says nothing of the patch.
func TestHole3MissingProgram(t *testing.T) {
	for name, build := range map[string]string{
		"gone":         "rm -f labels",
		"no program":   "echo x > labels",
		"a loop":       "ln -s labels labels",
		"outside":      "ln -s /bin/true labels",
		"unloadable":   "gcc -shared -fPIC -o libx.so labels.c && gcc -o labels main.c -L. -lx && rm libx.so",
		"no sanitizer": "gcc -O0 -o labels main.c labels.c",
		"a script":     "printf '#!/bin/sh\\nexit 0\\n' > labels && chmod +x labels",
	} {
		task := labels(t)
		task.Vuln.Build.Text = build + "\n"
		s := openVuln(t, task, task.Seed)
		c, err := s.PoC(t.Context(), 0)
		if err != nil || len(c.Executions) != 1 || c.Executions[0].Defect == "" {
			t.Errorf("%s: %v %+v", name, err, c)
		}
	}
}

// TestHole4ControlsInEveryGrade: what the unpatched tree does is observed beside the patched one.
func TestHole4ControlsInEveryGrade(t *testing.T) {
	task := labels(t)
	task.Vuln.Build.Text = strings.ReplaceAll(task.Vuln.Build.Text, "-fsanitize=address", "") // a machine on which it is missing
	ev := gatherVuln(t, task, task.Seed.Overlay(task.References[0].Fix), true)
	for _, w := range []tare.World{tare.WorldFix, tare.WorldSeed} {
		for _, e := range find(t, ev, tare.CheckPoC, w).Executions {
			if e.Defect != "there is no sanitizer in what was run" {
				t.Errorf("%s: %+v", w, e)
			}
		}
	}
}

// TestHole5HungCheckKeepsTheOthers: a program that never ends is ended, and what the other checks found is kept.
func TestHole5HungCheckKeepsTheOthers(t *testing.T) {
	task := labels(t)
	task.Vuln.PoCs[0].Wall = 300 * time.Millisecond
	final := edited(t, task.Seed, "main.c", "    size = fread(data", "    while (argc > 1 && getenv(\"HOME\"))\n        ;\n    size = fread(data")
	task.Vuln.Benign, task.Vuln.Variants = nil, nil
	ev := gatherVuln(t, task, final, false)
	c := find(t, ev, tare.CheckPoC, tare.WorldFix)
	if e := c.Executions[0]; e.Ended != "wall" || e.Defect == "" {
		t.Errorf("%+v", e)
	}
	if e := c.Executions[1]; len(e.Signs) == 0 {
		t.Errorf("%+v", e)
	}
	if e := find(t, ev, tare.CheckFunction, tare.WorldFix).Executions[0]; string(e.Stdout) != "x\ny\n" {
		t.Errorf("%+v", e)
	}
	task.Vuln.PoCs[0].Triggers = tare.Trigger{Hang: 300 * time.Millisecond} // now it is what triggers
	ev = gatherVuln(t, task, final, false)
	if e := find(t, ev, tare.CheckPoC, tare.WorldFix).Executions[0]; e.Defect != "" {
		t.Errorf("%+v", e)
	} else if ok, _ := task.Vuln.PoCs[0].Triggers.Triggered(e); !ok {
		t.Errorf("%+v", e)
	}
}

// TestHole6OutputIsBounded: a program that writes without end is ended, and little of it is kept.
func TestHole6OutputIsBounded(t *testing.T) {
	task := labels(t)
	final := edited(t, task.Seed, "main.c", "    size = fread(data", "    while (argc > 1)\n        puts(\"a line of some length that is written again and again\");\n    size = fread(data")
	_, sb := opened(t)
	read := 0
	s := OpenVuln(VulnRequest{Task: task, Final: final, Sandbox: sb, OnOutput: func(_ tare.CheckKind, p []byte) { read += len(p) }})
	defer s.Close()
	c, err := s.PoC(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if e := c.Executions[0]; e.Ended != "output" || e.Defect == "" || len(e.Stdout)+len(e.Stderr) > 64<<10 || len(c.Log) > 300<<10 || read > 5<<20 {
		t.Errorf("%d, %d, %d bytes of %d, %q, %q", len(e.Stdout), len(e.Stderr), len(c.Log), read, e.Ended, e.Defect)
	}
}

// TestHole8HiddenMaterial: a run finds its own input and nothing else that is hidden: no other input, no expectation, no
// source of a hidden test or of the driver.
func TestHole8HiddenMaterial(t *testing.T) {
	task := labels(t)
	const spy = "    system(\"ls -laR /srv /home /tmp; cat /srv/input tests/* driver.c 2>/dev/null; env\");\n"
	final := edited(t, task.Seed, "main.c", "    size = fread(data", spy+"    size = fread(data")
	task.Vuln.Driver = &tare.Driver{Files: tree("driver.c", "/* SECRET-DRIVER */\n"), Build: tare.Script{Name: "driver.sh", Text: "gcc -c driver.c\n"}}
	task.Vuln.Intent.Files = tree("tests/a.txt", "SECRET-A", "tests/b.txt", "SECRET-B")
	task.Vuln.Intent.Cases = []tare.ProgramCase{
		{ID: "a", Command: []string{"./labels", "tests/a.txt"}, Stdout: []byte("SECRET-OUT")},
		{ID: "b", Command: []string{"./labels", "tests/b.txt"}, Stdout: []byte("SECRET-OUT")},
	}
	s := openVuln(t, task, final)
	c, err := s.PoC(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	in := string(task.Vuln.PoCs[0].Input)
	if log := string(c.Log); !strings.Contains(log, in) || strings.Contains(log, "SECRET") || strings.Contains(log, strings.Repeat("b", 16)) {
		t.Errorf("the PoC's run: %s", log)
	}
	c, err = s.Intent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, has := range []string{"SECRET-A", "SECRET-B"} {
		out := string(c.Executions[i].Stdout)
		other := []string{"SECRET-B", "SECRET-A"}[i]
		if !strings.Contains(out, has) || strings.Contains(out, other) || strings.Contains(out, "SECRET-OUT") || strings.Contains(out, "SECRET-DRIVER") || strings.Contains(out, "aaaa") {
			t.Errorf("the run of %s: %s", has, out)
		}
	}
}

// TestHole8HiddenTestsAreGone: Go tests run without their source, and no source may build it in.
func TestHole8HiddenTestsAreGone(t *testing.T) {
	task := span()
	hidden := task.Vuln.Intent.IDs[0]
	reads := edited(t, task.Seed, "span/span.go", "package span\n", "package span\n\nimport \"os\"\n\nfunc init() {\n\tif b, err := os.ReadFile(\"hidden_test.go\"); err == nil {\n\t\tpanic(string(b))\n\t}\n\tif _, err := os.ReadFile(\"span_test.go\"); err != nil {\n\t\tpanic(err)\n\t}\n}\n")
	c, err := openVuln(t, task, reads).Intent(t.Context())
	if err != nil || !c.Complete || outcome(c, hidden) != tare.TestFailed {
		t.Errorf("%v %+v %s", err, c, c.Log)
	}
	embeds := edited(t, task.Seed, "span/span.go", "package span\n", "package span\n\nimport \"embed\"\n\n//go:embed *_test.go\nvar tests embed.FS\n")
	s := openVuln(t, task, embeds)
	want := tare.Silencer{Path: "span/span.go", Line: 5, What: "go:embed *_test.go", Why: "builds hidden tests into the program that they test"}
	if got := s.silencers(); !slices.Equal(got, []tare.Silencer{want}) {
		t.Errorf("%+v", got)
	}
}

// TestHole10Environment: nothing of the grader's environment reaches code of the tree.
func TestHole10Environment(t *testing.T) {
	t.Setenv("SSE_API_KEY", "sk-hole-10")
	t.Setenv("ANTHROPIC_API_KEY", "sk-hole-10")
	task := labels(t)
	task.Vuln.Build.Text += "env; cat /proc/*/environ\n"
	final := edited(t, task.Seed, "main.c", "    size = fread(data", "    system(\"env; cat /proc/*/environ\");\n    size = fread(data")
	s := openVuln(t, task, final)
	b, err := s.Build(t.Context())
	if err != nil || !strings.Contains(string(b.Log), "HOME=") || strings.Contains(string(b.Log), "sk-hole-10") {
		t.Errorf("the build: %v %s", err, b.Log)
	}
	c, err := s.PoC(t.Context(), 0)
	if err != nil || !strings.Contains(string(c.Log), "HOME=") || strings.Contains(string(c.Log), "sk-hole-10") {
		t.Errorf("the PoC: %v %s", err, c.Log)
	}
}
