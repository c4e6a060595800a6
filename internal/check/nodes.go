package check

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tare"
	"tare/internal/sandbox"
)

// maxTestFile bounds a test file that is read for its nodes; a larger one is named as broken.
const maxTestFile = 1 << 20

// NodeOf is the id of the node that [Pytest.Tests] lists for a test of a run: without its parameters.
func NodeOf(id string) string {
	file, rest, ok := strings.Cut(id, "::")
	if !ok {
		return id
	}
	rest, _, _ = strings.Cut(rest, "[")
	return file + "::" + rest
}

// Tests lists the tests that pytest's defaults would collect, as far as that can be told from the text: functions and
// methods by name, classes by name or by a base called …TestCase, methods that a class takes over from another one of the
// same file. Ids are without parameters. Nodes come in the order of the files and of the definitions.
//
// A node's digest changes when its own code does, and when something of the same file changes that it rests on; see
// python/tare_read.py. What it takes from other files does not count.
func (Pytest) Tests(ctx context.Context, sb sandbox.Sandbox, t tare.Tree) ([]tare.TestNode, []string, error) {
	files := map[string][]byte{}
	var broken []string
	for _, f := range t {
		if f.Mode.Type() != 0 || !isTestFile(f.Path) {
			continue
		}
		if len(f.Data) > maxTestFile || !utf8.ValidString(f.Path) { // ids are text
			broken = append(broken, f.Path)
			continue
		}
		files[f.Path] = f.Data
	}
	if len(files) == 0 {
		return nil, broken, nil
	}
	c := command{script: "tare_read.py", request: map[string]any{"files": files}, wall: 30 * time.Second}
	a, err := c.run(ctx, sb)
	if err != nil {
		return nil, nil, fmt.Errorf("listing tests: %w", err)
	}
	rep := a.read()
	if rep.defect != "" {
		return nil, nil, fmt.Errorf("listing tests: %s: %.300s", rep.defect, tail(a.result.Stderr.Data))
	}
	var nodes []tare.TestNode
	for _, e := range rep.of("node") {
		file, _, _ := strings.Cut(e.ID, "::")
		nodes = append(nodes, tare.TestNode{ID: e.ID, File: file, Digest: tare.Digest(e.Digest)})
	}
	for _, e := range rep.of("broken") {
		broken = append(broken, e.ID)
	}
	slices.Sort(broken)
	slices.SortStableFunc(nodes, func(a, b tare.TestNode) int { return strings.Compare(a.File, b.File) })
	return nodes, broken, nil
}

// isTestFile reports whether pytest's defaults would collect the file at p: by its name, and not below a directory that
// they leave out.
func isTestFile(p string) bool {
	dir, base := path.Split(p)
	if ok := strings.HasPrefix(base, "test_") && strings.HasSuffix(base, ".py") || strings.HasSuffix(base, "_test.py"); !ok {
		return false
	}
	for _, d := range strings.Split(strings.TrimSuffix(dir, "/"), "/") {
		switch {
		case strings.HasPrefix(d, "."), strings.HasSuffix(d, ".egg"),
			slices.Contains([]string{"_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}", "__pycache__"}, d):
			return false
		}
	}
	return true
}
