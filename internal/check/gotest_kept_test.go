package check

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tare"
)

// TestGoKept runs tests whose code tries to change its own binary, which is kept for later runs: what is built of the same
// tree is built once, and stays as it was built.
func TestGoKept(t *testing.T) {
	attack := func(code string) tare.Tree {
		return goTree(t, "span/attack_test.go", "package span\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestAttack(t *testing.T) {\n\texe, err := os.Executable()\n\tif err != nil {\n\t\tt.Skip(err)\n\t}\n"+code+"}\n")
	}
	kept := func() int {
		entries, err := os.ReadDir(filepath.Join(box.StateDir(), goKept))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return len(entries)
	}
	tree := attack("\tos.Chmod(exe, 0o777)\n\tif os.WriteFile(exe, []byte(\"#!/bin/true\"), 0o777) == nil || os.Remove(exe) == nil || os.Truncate(exe, 0) == nil {\n\t\tt.Error(\"the binary can be changed\")\n\t}\n")
	before := kept()
	for i, req := range []TestRequest{
		{Tree: tree, Twin: touching},
		{Tree: tree, Twin: touching},
		{Tree: tree, Nodes: []string{"span/attack_test.go::TestAttack"}, Reverse: true}, // of the same binary
		{Tree: tree, Twin: touching, DirName: "copy"},                                   // whose files are elsewhere
		{Tree: attack("\t_ = exe\n"), Twin: touching},
	} {
		r := runGo(t, req)
		if !r.Complete || !sentinelsRight(r) || result(t, r, "span/attack_test.go::TestAttack").Outcome != tare.TestPassed {
			t.Fatalf("run %d: %q %v %v", i+1, r.Defect, r.Sentinels, r.Tests)
		}
		if want := before + []int{1, 1, 1, 2, 3}[i]; kept() != want {
			t.Errorf("after run %d there are %d kept binaries, want %d", i+1, kept(), want)
		}
	}
}

func TestForgetOldest(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"b", "c", "a", "d"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := forgetOldest(dir, 2); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(entries); len(entries) != 2 || entries[0].Name() != "a" || entries[1].Name() != "d" {
		t.Errorf("left are %s", got)
	}
}
