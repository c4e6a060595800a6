package suite

import (
	"fmt"
	"path/filepath"
	"testing"
)

// BenchmarkFromArchive loads six tasks, as many as the first built-in suite has, each as large as one of its larger ones.
func BenchmarkFromArchive(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "six")
	tree := queue(b)
	f, _ := tree.Lookup("cases.jsonl")
	for i := range 60 {
		f.Data = fmt.Appendf(f.Data, `{"id": "n%d", "requirement": 2, "call": "drain", "args": [[["X1", "Red shoe", ["red", "low"], 3], ["X2", "Hat", [], 0]], %d], "want": ["X1", "X2"]}`+"\n", i, i)
	}
	y, _ := tree.Lookup("task.yaml")
	random := []byte("random: cases.jsonl\n")
	y.Data = y.Data[:len(y.Data)-len(random)]
	for i := range 60 {
		y.Data = fmt.Appendf(y.Data, "  - id: y%d\n    requirement: 2\n    call: drain\n    args: [[[\"X1\", \"Red shoe\", [\"red\", \"low\"], 3], [\"X2\", \"Hat\", [], 0]], %d]\n    want: [\"X1\", \"X2\"]\n", i, i)
	}
	y.Data = append(y.Data, random...)
	tree = set(b, set(b, tree, f), y)
	for i := range 6 {
		write(b, filepath.Join(dir, fmt.Sprintf("task%d", i)), tree)
	}
	archive, err := Pack(dir)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := FromArchive("six", archive); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(y.Data)+len(f.Data)), "text-bytes/task")
}
