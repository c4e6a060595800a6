package check

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"tare"
	"tare/internal/sandbox"
)

// box is the sandbox that all tests share: the one of production, or none with TARE_TEST_SANDBOX=process.
var box sandbox.Sandbox

func TestMain(m *testing.M) { os.Exit(withBox(m)) }

func withBox(m *testing.M) int {
	var err error
	box, err = sandbox.Open(context.Background(), sandbox.Options{InMemory: true, Backend: os.Getenv("TARE_TEST_SANDBOX")})
	if err != nil {
		panic(err)
	}
	defer box.Close()
	return m.Run()
}

// long bounds a run that is to end by itself, on a machine that is busy.
const long = 60 * time.Second

// files makes a tree of path, content, path, content, …
func files(t testing.TB, pathsAndTexts ...string) tare.Tree {
	t.Helper()
	var list []tare.File
	for i := 0; i < len(pathsAndTexts); i += 2 {
		list = append(list, tare.File{Path: pathsAndTexts[i], Mode: 0o644, Data: []byte(strings.TrimPrefix(pathsAndTexts[i+1], "\n"))})
	}
	tree, err := tare.NewTree(list)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// run runs tests and fails t when the rig does.
func run(t *testing.T, req TestRequest) tare.Run {
	t.Helper()
	if req.Wall == 0 {
		req.Wall = long
	}
	if req.Sources == nil {
		req.Sources = []string{"src"}
	}
	r, err := Pytest{}.Run(t.Context(), box, req)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Verbose() {
		t.Logf("complete %v %q exit %d %s %s, %.2f s\n%s", r.Complete, r.Defect, r.Exit, r.Signal, r.Ended, r.Seconds, r.Output)
	}
	return r
}

// outcomes is "id outcome" of each test, by id.
func outcomes(r tare.Run) map[string]tare.TestOutcome {
	out := map[string]tare.TestOutcome{}
	for _, t := range r.Tests {
		out[t.ID] = t.Outcome
	}
	return out
}

func result(t *testing.T, r tare.Run, id string) tare.TestResult {
	t.Helper()
	for _, x := range r.Tests {
		if x.ID == id {
			return x
		}
	}
	t.Fatalf("no result for %s in %v; %s\n%s", id, r.Tests, r.Defect, r.Output)
	return tare.TestResult{}
}

func sentinelsRight(r tare.Run) bool {
	for _, s := range r.Sentinels {
		if !s.Right() {
			return false
		}
	}
	return len(r.Sentinels) > 0
}
