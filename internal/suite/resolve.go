package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare"
)

// Resolve finds the tasks that arg names: a built-in suite ("tickets"), one of its tasks ("tickets/bugfix_inventory",
// or "bugfix_inventory" where only one suite has it), the folder of a task, or the folder of a suite. A built-in name
// comes first; "./tickets" is always a folder. The tasks come sorted by name, and there is at least one.
func Resolve(arg string, builtin []*Suite) ([]*tare.Task, error) {
	if tasks := resolveName(arg, builtin); len(tasks) > 0 {
		return tasks, nil
	}
	info, err := os.Stat(arg)
	if err != nil || arg == "" {
		return nil, fmt.Errorf("there is no suite, task or folder %q: %s", printable(arg), known(builtin))
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file: name the folder of a task, or of a suite", printable(arg))
	}
	if _, err := os.Lstat(filepath.Join(arg, taskFile)); err == nil {
		t, err := LoadTask(arg)
		if err != nil {
			return nil, err
		}
		return []*tare.Task{t}, nil
	}
	s, err := LoadSuite(arg)
	if err != nil {
		return nil, err
	}
	return s.Tasks, nil
}

func resolveName(arg string, builtin []*Suite) []*tare.Task {
	var byName []*tare.Task
	for _, s := range builtin {
		if s.Name == arg {
			return slices.Clone(s.Tasks)
		}
		for _, t := range s.Tasks {
			_, name, _ := strings.Cut(t.ID, "/")
			if t.ID == arg {
				return []*tare.Task{t}
			}
			if name == arg {
				byName = append(byName, t)
			}
		}
	}
	if len(byName) > 1 {
		return nil
	}
	return byName
}

// known lists what arg could have been.
func known(builtin []*Suite) string {
	if len(builtin) == 0 {
		return "there are no built-in suites"
	}
	var ids []string
	for _, s := range builtin {
		ids = append(ids, s.Name)
		for _, t := range s.Tasks {
			ids = append(ids, t.ID)
		}
	}
	return "built in are " + strings.Join(ids, ", ")
}
