package check

import "testing"

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
