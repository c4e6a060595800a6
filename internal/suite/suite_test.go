package suite

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"tare"
)

// queue is the folder of testdata/queue.txtar: a task that loads.
func queue(t testing.TB) tare.Tree {
	t.Helper()
	a, err := txtar.ParseFile("testdata/queue.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var files []tare.File
	for _, f := range a.Files {
		files = append(files, tare.File{Path: f.Name, Mode: 0o644, Data: bytes.Clone(f.Data)})
	}
	tree, err := tare.NewTree(files)
	if err != nil {
		t.Fatal(err)
	}
	return set(t, tree, tare.File{Path: "controls/links-out/src/link.py", Mode: linkMode, Data: []byte("/etc/passwd")})
}

// load loads the task "s/t" from its tree.
func load(shown string, tree tare.Tree) (*tare.Task, error) {
	return loadTask("s", shown, namedTree{name: "t", tree: tree})
}

// set puts f into the tree, in the place of the file of that path if there is one.
func set(t testing.TB, tree tare.Tree, f tare.File) tare.Tree {
	t.Helper()
	out, err := tare.NewTree(append(tree.Without(f.Path), f))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// write lays tree out below dir.
func write(t testing.TB, dir string, tree tare.Tree) {
	t.Helper()
	for _, f := range tree {
		p := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		var err error
		if f.Mode.Type() == fs.ModeSymlink {
			err = os.Symlink(string(f.Data), p)
		} else {
			err = os.WriteFile(p, f.Data, f.Mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// suiteFolder is a folder "queues" that holds the task "empty_queue".
func suiteFolder(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "queues")
	write(t, filepath.Join(dir, "empty_queue"), queue(t))
	return dir
}

func TestLoadTask(t *testing.T) {
	task, err := LoadTask(filepath.Join(suiteFolder(t), "empty_queue"))
	if err != nil {
		t.Fatal(err)
	}
	if task.ID != "queues/empty_queue" || task.Hash != queue(t).Digest() {
		t.Errorf("ID %s, hash %s", task.ID, task.Hash)
	}
	reward := func(r float64) *float64 { return &r }
	unfixed := tare.Expect{Outcome: tare.Fail, Reward: reward(0.5), Gate: "behaviour", Requirement: 1, Reason: "raised"}
	untested := tare.Expect{Outcome: tare.Fail, Reward: reward(0.85), Gate: "regression_test"}
	worthless := untested
	worthless.Reason = "passes on the unfixed seed"
	passes := tare.Expect{Outcome: tare.Pass, Reward: reward(1)}
	a, b := task.References[0], task.References[1]
	tree := queue(t)
	vacuous := subtree(tree, "regression/vacuous")
	want := []tare.Control{
		{Name: "seed", Origin: tare.FromSeed, Expect: unfixed},
		{Name: "noop", Origin: tare.FromNoop, Agent: "noop", Expect: unfixed},
		{Name: "reference:a", Origin: tare.FromReference, Apply: []tare.Tree{a.Fix}, Expect: untested},
		{Name: "reference:a+test", Origin: tare.FromReference, Apply: []tare.Tree{a.Fix, a.Test}, Expect: passes},
		{Name: "reference:b", Origin: tare.FromReference, Apply: []tare.Tree{b.Fix}, Expect: untested},
		{Name: "reference:b+test", Origin: tare.FromReference, Apply: []tare.Tree{b.Fix, b.Test}, Expect: passes},
		{Name: "worthless:vacuous", Origin: tare.FromWorthless, Apply: []tare.Tree{a.Fix, vacuous}, Expect: worthless},
		{Name: "worthless:vacuous-b", Origin: tare.FromWorthless, Apply: []tare.Tree{b.Fix, vacuous}, Expect: worthless},
		{
			Name: "returns-zero", Origin: tare.FromBad, Apply: []tare.Tree{subtree(tree, "controls/returns-zero")},
			Expect: tare.Expect{Outcome: tare.Fail, Reward: reward(0.5), Gate: "behaviour", Requirement: 1, Reason: "empty"},
		},
		{Name: "stack-gone", Origin: tare.FromAcceptable, Delete: []string{"src/stack.py"}, Apply: []tare.Tree{a.Fix, a.Test}, Expect: passes},
		{
			Name: "links-out", Origin: tare.FromAdversary, Apply: []tare.Tree{subtree(tree, "controls/links-out")},
			Expect: tare.Expect{Outcome: tare.Fail, Reward: reward(0), Gate: "integrity"},
		},
	}
	if diff := cmp.Diff(want, task.Controls); diff != "" {
		t.Errorf("controls (-want +got):\n%s", diff)
	}
	if len(a.Fix) != 1 || a.Fix[0].Path != "src/queue.py" || len(a.Test) != 1 {
		t.Errorf("reference a: %v %v", a.Fix, a.Test)
	}
	twin, _ := task.Twins[0].Tree.Lookup("src/queue.py")
	if !strings.Contains(string(twin.Data), "return self.items.pop() if") {
		t.Errorf("twin: %s", twin.Data)
	}
	wantReqs := []tare.Requirement{
		{ID: 1, Text: "Popping an empty queue returns None."},
		{ID: 2, Text: "Items come out in the order in which they went in, however many there are."},
		{ID: 3, Text: "A regression test covers the empty queue."},
	}
	if diff := cmp.Diff(wantReqs, task.Requirements); diff != "" {
		t.Error(diff)
	}
	if len(task.Cases) != 5 || task.Cases[4].ID != "r2" {
		t.Errorf("cases: %v", task.Cases)
	}
	if got := string(task.Cases[2].Args); got != `[[1,2.0,"3",true,null,{"k":[1000.0]}],2]` {
		t.Errorf("args: %s", got)
	}
}

// problems are the messages of a load, with their places, less the excerpts.
func problems(err error) string {
	var all []string
	var walk func(error)
	walk = func(err error) {
		if m, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range m.Unwrap() {
				walk(e)
			}
			return
		}
		var e *Error
		if errors.As(err, &e) {
			e2 := *e
			e2.Excerpt = ""
			all = append(all, e2.Error())
		} else if err != nil {
			all = append(all, err.Error())
		}
	}
	walk(err)
	return strings.Join(all, "\n")
}
