package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"tare"
	"tare/internal/proof"
	"tare/internal/suite"
)

// TestCertificateTurnsStale certifies a task and then changes one thing of it on disk. What becomes stale with the grader's
// code, the adversaries, the isolation and the tools is shown by TestStanding, TestGraderDigest and TestIdentityFollowsTheFiles.
func TestCertificateTurnsStale(t *testing.T) {
	for name, tt := range map[string]struct {
		file, old, new string
		want           tare.ProofStatus
	}{
		"nothing":              {"task.yaml", "", "", tare.Proven},
		"a hidden case":        {"task.yaml", "want: []", "want: [\"x\"]", tare.Stale},
		"a hidden case's name": {"task.yaml", "{id: ", "{id: z", tare.Stale},
		"a reference":          {"references/b/src/storefront/search.py", "found = []", "found = list()", tare.Stale},
		"a genuine test":       {"regression/a/tests/test_new_shop.py", "bread", "brot", tare.Stale},
		"the probe":            {"hidden/probe.py", "import", "# more\nimport", tare.Stale},
		"the seed":             {"seed/README.md", "#", "# x", tare.Stale},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "tickets", "edge")
			if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "suites", "tickets", "edge_case_coverage"))); err != nil {
				t.Fatal(err)
			}
			task, err := suite.LoadTask(dir)
			if err != nil {
				t.Fatal(err)
			}
			a := &app{state: t.TempDir(), backend: "bwrap"}
			if got := a.proofOf(task).Status; got != tare.Unproven {
				t.Fatalf("before any proof it is %s", got)
			}
			table := proof.Table{Task: task.ID, TaskHash: task.Hash, Isolation: "bwrap", Passes: 2, Controls: true, Whole: true, Rows: []proof.Row{{Control: "seed", OK: true}}}
			if err := a.certify(table, task); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, filepath.FromSlash(tt.file))
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := bytes.Replace(b, []byte(tt.old), []byte(tt.new), 1)
			if tt.want == tare.Stale && bytes.Equal(b, changed) {
				t.Fatalf("%s has no %q to change", tt.file, tt.old)
			}
			if err := os.WriteFile(path, changed, 0o644); err != nil {
				t.Fatal(err)
			}
			now, err := suite.LoadTask(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.proofOf(now).Status; got != tt.want {
				t.Errorf("it is %s, want %s", got, tt.want)
			}
		})
	}
}
