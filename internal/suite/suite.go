// Package suite loads suites of tasks and says, with file, line and column, what is wrong with one that it refuses. A
// task is loaded whole or not at all. The form of a task's folder is in docs/tasks.md.
//
// Loading runs nothing and follows no link. What a folder says is checked as far as that can be done by reading:
// names that must exist exist, folders that must change something change it, and no answer lies in the seed. Whether
// the references are right and the controls wrong is for package proof, which runs them.
package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"tare"
)

// A Suite is a set of tasks, sorted by name.
type Suite struct {
	Name  string
	Tasks []*tare.Task
	Hash  tare.Digest // of the names and hashes of the tasks
	Needs []string    // what its tasks need from outside, of Needs; a suite with any is played only when it is named
}

// A folder is what was read of a suite.
type folder struct {
	trees []namedTree
	about []byte // suite.yaml; nil when there is none
}

// A namedTree is one task's folder.
type namedTree struct {
	name   string
	tree   tare.Tree
	parsed map[string]string // the parsed forms of its YAML files, if an archive had them
}

// nameForm is what a suite and a task may be called: the name is part of ids, file names and URLs.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// LoadTask loads the task in the folder dir, which must hold a task.yaml. Its ID is the names of the folder above and
// of dir. The error is an *Error, or several of them joined; nothing is returned with it.
func LoadTask(dir string) (*tare.Task, error) {
	name, suite, err := names(dir)
	if err != nil {
		return nil, err
	}
	tree, err := readTree(dir, newBudget())
	if err != nil {
		return nil, &Error{File: dir, Message: "reading the task: " + reason(err)}
	}
	if _, ok := tree.Lookup(taskFile); !ok {
		return nil, &Error{File: dir, Message: "the folder holds no task.yaml"}
	}
	return loadTask(suite, dir, namedTree{name: name, tree: tree})
}

// LoadSuite loads all tasks of the folder dir: each folder in it is one, but for those whose names begin with a dot.
// What suite.yaml says is said of all of them; other files that lie beside them are not part of the suite.
func LoadSuite(dir string) (*Suite, error) {
	name, _, err := names(dir)
	if err != nil {
		return nil, err
	}
	if err := looksLikeSuite(dir); err != nil {
		return nil, err
	}
	f, err := readSuite(dir)
	if err != nil {
		return nil, &Error{File: dir, Message: "reading the suite: " + reason(err)}
	}
	return assemble(name, dir, f)
}

// FromArchive loads the suite called name from an archive that Pack made. Tasks and hashes are the same as from the
// folder that was packed.
func FromArchive(name string, b []byte) (*Suite, error) {
	f, err := unpack(b)
	if err != nil {
		return nil, &Error{File: name, Message: "reading the archive: " + reason(err)}
	}
	return assemble(name, name, f)
}

// OneFromArchive is the task called task of FromArchive's suite, the same to the byte, without a look at the others.
func OneFromArchive(name, task string, b []byte) (*tare.Task, error) {
	f, err := unpackOnly(b, task)
	if err != nil {
		return nil, &Error{File: name, Message: "reading the archive: " + reason(err)}
	}
	return loadNamed(name, name, f.trees[0])
}

// names are the last two parts of dir's absolute path.
func names(dir string) (name, parent string, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", "", fmt.Errorf("finding %s: %w", dir, err)
	}
	name, parent = filepath.Base(abs), filepath.Base(filepath.Dir(abs))
	if !nameForm.MatchString(name) {
		return "", "", &Error{File: dir, Message: fmt.Sprintf("the folder's name %s cannot be part of a task's id: use letters, digits, dot, dash and underscore", clip(name))}
	}
	if !nameForm.MatchString(parent) {
		parent = "local" // a folder above a task need not be a suite: it may be "/" or "My Documents"
	}
	return name, parent, nil
}

// reason is err without the absolute path that the os package puts into it.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return printable(fmt.Sprintf("%s %s: %v", pe.Op, filepath.Base(pe.Path), pe.Err))
	}
	return err.Error()
}

// looksLikeSuite refuses a folder that is none: a wrong name must not be taken for a suite of many tasks that all lack
// their task.yaml, nor be read whole before that is said.
func looksLikeSuite(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return &Error{File: dir, Message: "reading the folder: " + reason(err)}
	}
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(dir, e.Name(), taskFile)); err == nil && e.IsDir() {
			return nil
		}
	}
	for _, e := range entries {
		if e.Name() == ticketFile || e.Name() == seedDir && e.IsDir() {
			return &Error{File: dir, Message: "this looks like the folder of a task, but holds no task.yaml; docs/tasks.md has its form"}
		}
	}
	return &Error{File: dir, Message: "neither the folder nor one in it holds a task.yaml; name the folder of a task, or of a suite"}
}

func readSuite(dir string) (folder, error) {
	var f folder
	entries, err := os.ReadDir(dir)
	if err != nil {
		return f, err
	}
	left := newBudget()
	for _, e := range entries {
		if e.Name() == suiteFile {
			if f.about, err = readAbout(dir, e); err != nil {
				return f, err
			}
		}
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		tree, err := readTree(filepath.Join(dir, e.Name()), left)
		if err != nil {
			return f, fmt.Errorf("%s: %w", e.Name(), err)
		}
		f.trees = append(f.trees, namedTree{name: e.Name(), tree: tree})
	}
	return f, nil
}

// assemble loads every task of a suite; shown is how the suite's folder is called in errors.
func assemble(name, shown string, f folder) (*Suite, error) {
	trees := f.trees
	if len(trees) == 0 {
		return nil, &Error{File: shown, Message: "there is no task in the folder"}
	}
	tasks := make([]*tare.Task, len(trees))
	errs := make([]error, len(trees))
	var wg sync.WaitGroup
	for i, t := range trees {
		wg.Go(func() { tasks[i], errs[i] = loadNamed(name, shown, t) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := join(foreignWords(shown, tasks)); err != nil {
		return nil, err
	}
	s := &Suite{Name: name, Tasks: tasks}
	var err error
	if s.Needs, err = readNeeds(shown, f.about); err != nil {
		return nil, err
	}
	var list strings.Builder
	for _, t := range tasks {
		fmt.Fprintf(&list, "%s %s\n", t.ID, t.Hash)
	}
	s.Hash = tare.HashBytes([]byte(list.String()))
	return s, nil
}

func loadNamed(suite, shown string, t namedTree) (*tare.Task, error) {
	file := shown + "/" + t.name
	if !nameForm.MatchString(t.name) {
		return nil, &Error{File: file, Message: "the folder's name cannot be part of a task's id: use letters, digits, dot, dash and underscore"}
	}
	if _, ok := t.tree.Lookup(taskFile); !ok {
		return nil, &Error{File: file, Message: "the folder holds no task.yaml"}
	}
	return loadTask(suite, file, t)
}

// foreignWords finds tasks whose seed or ticket names another task of the suite: the agent would learn from one ticket
// what the others are about. Short names and names of one plain word are too common to tell.
func foreignWords(shown string, tasks []*tare.Task) []problem {
	const distinctive = 10
	var out []problem
	for _, t := range tasks {
		_, own, _ := strings.Cut(t.ID, "/")
		for _, other := range tasks {
			_, name, _ := strings.Cut(other.ID, "/")
			if name == own || len(name) < distinctive || !strings.ContainsAny(name, "_-.") {
				continue
			}
			for _, f := range append(slices.Clone(t.Seed), tare.File{Path: "../" + ticketFile, Data: []byte(t.Ticket)}) {
				if strings.Contains(string(f.Data), name) || strings.Contains(f.Path, name) {
					out = append(out, problem{Error: &Error{
						File:    filepath.ToSlash(filepath.Join(shown, own, "seed", f.Path)),
						Message: fmt.Sprintf("the agent would read the name of another task here: %s", name),
					}})
				}
			}
		}
	}
	return out
}
