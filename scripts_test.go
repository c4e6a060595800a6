package tare_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tool writes a shell script that stands in for a program.
func tool(t *testing.T, dir, name, script string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("scripts", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNeedIsQuiet lets scripts/need install what a machine lacks: what apt-get says is shown when it fails, and only then.
func TestNeedIsQuiet(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"sh", "env", "mktemp", "rm", "cat"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	tool(t, dir, "go", "echo go1.99")
	tool(t, dir, "id", "echo 0")
	tool(t, dir, "apt-get", `echo "apt says: $*"; case "$*" in *"$REFUSED"*) exit 100;; esac`)
	for _, tt := range []struct {
		refused string // by apt-get
		code    int
		said    []string
	}{
		{"nothing", 0, []string{"need: installing", "need: installed"}},
		{"install", 1, []string{"need: installing", "apt says: -q -o DPkg::Lock::Timeout=300 install -y", "need: apt-get could not install:", "gcc"}},
	} {
		cmd := exec.Command(script(t, "need"))
		cmd.Env = []string{"PATH=" + dir, "GO=go", "REFUSED=" + tt.refused}
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != tt.code {
			t.Errorf("%s refused: exit code %d, want %d", tt.refused, code, tt.code)
		}
		for _, want := range tt.said {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s refused: %q is missing from\n%s", tt.refused, want, out)
			}
		}
		if tt.code == 0 && strings.Contains(string(out), "apt says") {
			t.Errorf("what apt-get says is shown though it did well:\n%s", out)
		}
	}
}

// TestFuzzBoundsMinimising looks at what scripts/fuzz asks of the go command for each target.
func TestFuzzBoundsMinimising(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"git", "init", "-q", "."}, {"mkdir", "-p", "a/b"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a/b/x_test.go"), []byte("package b\n\nfunc FuzzOne(f *testing.F) {}\nfunc FuzzTwo(f *testing.F) {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	fuzz := func(lists string) (string, error) {
		cmd := exec.Command(script(t, "fuzz"), "7s")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GO="+tool(t, dir, "go-says", `if [ "$2" = -list ]; then printf '`+lists+`'; else echo "go $*"; fi`))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := fuzz(`FuzzOne\nFuzzTwo\n`)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, target := range []string{"FuzzOne", "FuzzTwo"} {
		if want := "go test -run ^$ -fuzz ^" + target + "$ -fuzztime 7s -fuzzminimizetime 10x ./a/b"; !strings.Contains(out, want) {
			t.Errorf("%q is missing from\n%s", want, out)
		}
	}
	if out, err := fuzz(`FuzzOne\nok\n`); err == nil || !strings.Contains(out, "has no target FuzzTwo that runs") {
		t.Errorf("a target that the go command does not know passed: %v\n%s", err, out)
	}
}
