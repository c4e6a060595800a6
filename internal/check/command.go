package check

import (
	"path"
	"strings"
)

// Command runs pytest as a developer would, with the tree's own settings and plug-ins in force.
func (Pytest) Command(dir string, sources []string) (argv []string, env map[string]string) {
	var roots []string
	for _, s := range sources {
		if strings.HasSuffix(s, ".py") {
			s = path.Dir(s)
		}
		roots = append(roots, path.Join(dir, s))
	}
	// Python's own files are kept out of the tree, and what tests print comes out as they print it.
	env = map[string]string{"PYTHONPATH": strings.Join(roots, ":"), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
	return []string{"/usr/bin/python3", "-m", "pytest", "-q"}, env
}
