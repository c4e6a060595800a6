package check

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tare"
	"tare/internal/sandbox"
)

// What is read for its nodes: files beyond are named as broken, as are those that take too long.
const (
	maxTestFile  = 1 << 20
	maxTestFiles = 16 << 20         // in all
	listCPU      = 10 * time.Second // of the processor: a busy machine is no fault of the files
	listAlone    = 2 * time.Second  // for one file, when all of them took too long
	maxListAlone = 50               // files that are tried by themselves
)

// NodeOf is the id of the node that [Pytest.Tests] lists for a test of a run: without its parameters.
func NodeOf(id string) string {
	file, rest, ok := strings.Cut(id, "::")
	if !ok {
		return id
	}
	rest, _, _ = strings.Cut(rest, "[")
	return file + "::" + rest
}

// IsTest is false of every file: Python's tests are told from its sources by where they stand.
func (Pytest) IsTest(string) bool { return false }

// Collects is true of the files in which pytest's defaults look for tests.
func (Pytest) Collects(p string) bool { return isTestFile(p) }

// Tests lists the tests that pytest's defaults would collect, as far as that can be told from the text: functions and
// methods by name, classes by name or by a base called …TestCase, methods that a class takes over from another one of the
// same file. Ids are without parameters. Nodes come in the order of the files and of the definitions.
//
// A node's digest changes when its own code does, and when something of the same file changes that it rests on; see
// python/tare_read.py. What it takes from other files does not count.
func (Pytest) Tests(ctx context.Context, sb sandbox.Sandbox, t tare.Tree) ([]tare.TestNode, []string, error) {
	files := map[string][]byte{}
	var broken []string
	left := maxTestFiles
	for _, f := range t {
		if f.Mode.Type() != 0 || !isTestFile(f.Path) {
			continue
		}
		if len(f.Data) > min(maxTestFile, left) || !utf8.ValidString(f.Path) { // ids are text
			broken = append(broken, f.Path)
			continue
		}
		left -= len(f.Data)
		files[f.Path] = f.Data
	}
	if len(files) == 0 {
		return nil, broken, nil
	}
	nodes, more, err := listAll(ctx, sb, files, listCPU, listAlone)
	if err != nil {
		return nil, nil, fmt.Errorf("listing tests: %w", err)
	}
	broken = append(broken, more...)
	slices.Sort(broken)
	slices.SortStableFunc(nodes, func(a, b tare.TestNode) int { return strings.Compare(a.File, b.File) })
	return nodes, broken, nil
}

// listAll lists files within all of the processor's time, and otherwise one by one, within alone for each.
func listAll(ctx context.Context, sb sandbox.Sandbox, files map[string][]byte, all, alone time.Duration) (nodes []tare.TestNode, broken []string, err error) {
	nodes, broken, whole, err := list(ctx, sb, files, all)
	if err == nil && !whole {
		return listEach(ctx, sb, files, alone)
	}
	return nodes, broken, err
}

// listEach lists files one by one: those that cannot be listed so, and those for which there is no time, are broken.
func listEach(ctx context.Context, sb sandbox.Sandbox, files map[string][]byte, alone time.Duration) (nodes []tare.TestNode, broken []string, err error) {
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if i >= maxListAlone {
			broken = append(broken, name)
			continue
		}
		n, b, whole, err := list(ctx, sb, map[string][]byte{name: files[name]}, alone)
		if err != nil {
			return nil, nil, err
		}
		if !whole {
			n, b = nil, []string{name}
		}
		nodes, broken = append(nodes, n...), append(broken, b...)
	}
	return nodes, broken, nil
}

// list reads files. It is not whole when they took more than the interpreter may have.
func list(ctx context.Context, sb sandbox.Sandbox, files map[string][]byte, cpu time.Duration) (nodes []tare.TestNode, broken []string, whole bool, err error) {
	c := command{script: "read", request: map[string]any{"files": files}, wall: 15 * cpu, cpu: cpu}
	a, err := c.run(ctx, sb)
	if err != nil {
		return nil, nil, false, err
	}
	rep := a.read()
	if rep.defect != "" && (a.result.Ended != "" && a.result.Ended != sandbox.LimitWall || a.result.Signal != "" || a.truncated()) {
		return nil, nil, false, nil
	}
	if rep.defect != "" {
		return nil, nil, false, fmt.Errorf("%s: %.300s", rep.defect, tail(a.result.Stderr.Data))
	}
	for _, e := range rep.of("node") {
		file, _, _ := strings.Cut(e.ID, "::")
		nodes = append(nodes, tare.TestNode{ID: e.ID, File: file, Digest: tare.Digest(e.Digest)})
	}
	for _, e := range rep.of("broken") {
		broken = append(broken, e.ID)
	}
	return nodes, broken, true, nil
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
