package suite

import (
	"fmt"
	"os"
	"path/filepath"

	"tare"
)

// Resolve finds the tasks that arg names: a built-in suite ("tickets"), one of its tasks ("tickets/bugfix_inventory",
// or "bugfix_inventory" where only one suite has it), which load reads, the folder of a task, or the folder of a suite. A built-in
// name comes first; "./tickets" is always a folder. The tasks come sorted by name, and there is at least one.
func Resolve(arg string, builtin Index, load func([]Summary) ([]*tare.Task, error)) ([]*tare.Task, error) {
	if found := builtin.Find(arg); len(found) > 0 {
		return load(found)
	}
	info, err := os.Stat(arg)
	if err != nil || arg == "" {
		return nil, fmt.Errorf("there is no suite, task or folder %q: %s", printable(arg), builtin.names())
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
