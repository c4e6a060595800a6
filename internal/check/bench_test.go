package check

import (
	"os/exec"
	"path/filepath"
	"testing"

	"tare/internal/sandbox"
	"tare/internal/workspace"
)

// BenchmarkThreeTests is one run of pytest over three tests, layout and report included: forked from a resident, started cold,
// and by a bare pytest without a sandbox.
func BenchmarkThreeTests(b *testing.B) {
	tree := files(b, "src/subject.py", buggy, "tests/test_three.py", "import subject\n\n\ndef test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\n")
	req := TestRequest{Tree: tree, Sources: []string{"src"}, Nodes: []string{"tests/test_three.py::test_a", "tests/test_three.py::test_b", "tests/test_three.py::test_c"}, Wall: long}
	for _, cold := range []bool{false, true} {
		name := map[bool]string{false: "warm", true: "cold"}[cold]
		b.Run(name, func(b *testing.B) {
			sb, err := sandbox.Open(b.Context(), sandbox.Options{InMemory: true, Cold: cold})
			if err != nil {
				b.Fatal(err)
			}
			defer sb.Close()
			run := func() {
				if r, err := (Pytest{}).Run(b.Context(), sb, req); err != nil || !r.Complete || len(r.Tests) != 3 || r.Warm == cold {
					b.Fatal(err, r.Defect, len(r.Tests), r.Warm)
				}
			}
			run() // the resident is there
			for b.Loop() {
				run()
			}
		})
	}
	b.Run("bare", func(b *testing.B) {
		dir := filepath.Join(b.TempDir(), "w")
		if err := workspace.Lay(dir, tree, workspace.Owner{UID: -1, GID: -1}); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			c := exec.Command(interpreter, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider")
			c.Dir, c.Env = dir, []string{"PYTHONPATH=src", "PATH=/usr/bin:/bin"}
			if out, err := c.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
		}
	})
}

// BenchmarkRun is one cold run of pytest over a small tree, sandbox, layout and report included.
func BenchmarkRun(b *testing.B) {
	tree := files(b, "src/subject.py", buggy, "tests/test_subject.py", visible)
	for b.Loop() {
		r, err := Pytest{}.Run(b.Context(), box, TestRequest{Tree: tree, Sources: []string{"src"}, Nodes: []string{otherNode}, Wall: long})
		if err != nil || !r.Complete {
			b.Fatal(err, r.Defect)
		}
	}
}

// BenchmarkCross is the making of one world of two small trees.
func BenchmarkCross(b *testing.B) {
	fix := files(b, "src/subject.py", buggy)
	seed := files(b, "src/subject.py", visible)
	for b.Loop() {
		if _, err := (Pytest{}).Cross(b.Context(), box, fix, seed, []string{"src"}); err != nil {
			b.Fatal(err)
		}
	}
}
