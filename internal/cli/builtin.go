package cli

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"tare"
	"tare/internal/suite"
	"tare/suites"
)

// A library is the built-in suites: an index of all, and the tasks that were asked for, each read once.
type library struct {
	index suite.Index
	mu    sync.Mutex
	tasks map[string]*tare.Task // by ID
}

// builtin is the library of the binary. What it holds never changes: only how much of it has been read.
var builtin = sync.OnceValues(func() (*library, error) {
	index, err := suite.DecodeIndex(suites.Index())
	return &library{index: index, tasks: map[string]*tare.Task{}}, err
})

// all is everything that the binary holds.
func (l *library) all() []suite.Summary {
	var out []suite.Summary
	for _, s := range l.index {
		out = append(out, s.Tasks...)
	}
	return out
}

// load reads the tasks of summaries.
func (l *library) load(wanted []suite.Summary) ([]*tare.Task, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var missing []string
	for _, s := range wanted {
		if l.tasks[s.ID] == nil {
			missing = append(missing, s.ID)
		}
	}
	if err := l.read(missing); err != nil {
		return nil, err
	}
	var out []*tare.Task
	for _, s := range wanted {
		out = append(out, l.tasks[s.ID])
	}
	return out, nil
}

// read reads tasks by their IDs: one alone where one of its suite is wanted, else the whole suite.
func (l *library) read(ids []string) error {
	bySuite := map[string][]string{}
	for _, id := range ids {
		name, task, _ := strings.Cut(id, "/")
		bySuite[name] = append(bySuite[name], task)
	}
	var wg sync.WaitGroup
	read := make([][]*tare.Task, len(l.index))
	errs := make([]error, len(l.index))
	for i, s := range l.index {
		if names := bySuite[s.Name]; len(names) > 0 {
			wg.Go(func() { read[i], errs[i] = readBuiltin(s.Name, names) })
		}
	}
	wg.Wait()
	for i, tasks := range read {
		if errs[i] != nil {
			return fmt.Errorf("loading the built-in suite %s: %w", l.index[i].Name, errs[i])
		}
		for _, t := range tasks {
			if l.tasks[t.ID] == nil {
				l.tasks[t.ID] = t
			}
		}
	}
	return nil
}

func readBuiltin(name string, tasks []string) ([]*tare.Task, error) {
	archive := suites.Named(name)
	if len(tasks) == 1 {
		t, err := suite.OneFromArchive(name, tasks[0], archive)
		return []*tare.Task{t}, err
	}
	s, err := suite.FromArchive(name, archive)
	if err != nil {
		return nil, err
	}
	return s.Tasks, nil
}

// proven finds the tasks that args name. When there are none it is all built-in ones that need nothing from outside, and a line
// says which are left out.
func (a *app) proven(args []string) ([]*tare.Task, error) {
	if len(args) > 0 {
		return a.tasks(args)
	}
	known, err := builtin()
	if err != nil {
		return nil, err
	}
	var out []suite.Summary
	for _, s := range known.index {
		if len(s.Needs) > 0 {
			a.note("left out: %s, which needs %s; to prove it, name it: tare prove %s", s.Name, strings.Join(s.Needs, " and "), s.Name)
			continue
		}
		out = append(out, s.Tasks...)
	}
	return known.load(out)
}

// tasks finds the tasks that args name; all built-in ones when there are none.
func (a *app) tasks(args []string) ([]*tare.Task, error) {
	known, err := builtin()
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		return known.load(known.all())
	}
	var out []*tare.Task
	seen := map[tare.Digest]bool{}
	for _, arg := range args {
		tasks, err := suite.Resolve(arg, known.index, known.load)
		if err != nil {
			return nil, exit{exitUsage, err}
		}
		for _, t := range tasks {
			if !seen[t.Hash] {
				seen[t.Hash] = true
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// summaries is tasks without reading those that are built in.
func (a *app) summaries(args []string) ([]suite.Summary, error) {
	known, err := builtin()
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		return known.all(), nil
	}
	var out []suite.Summary
	for _, arg := range args {
		found := known.index.Find(arg)
		if len(found) == 0 {
			tasks, err := a.tasks([]string{arg})
			if err != nil {
				return nil, err
			}
			for _, t := range tasks {
				found = append(found, suite.Summarize(t))
			}
		}
		for _, s := range found {
			if !slices.ContainsFunc(out, func(o suite.Summary) bool { return o.Hash == s.Hash }) {
				out = append(out, s)
			}
		}
	}
	return out, nil
}

// tasksAnd finds the tasks that args name, and all built-in ones after them.
func (a *app) tasksAnd(args []string) ([]*tare.Task, error) {
	var named []*tare.Task
	if len(args) > 0 {
		var err error
		if named, err = a.tasks(args); err != nil {
			return nil, err
		}
	}
	known, err := a.tasks(nil)
	return append(named, known...), err
}
