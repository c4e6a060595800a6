package tare

import "slices"

// Tools names the sets of tools that grading a task takes: its runners, of a vulnerability also what builds and runs programs of
// its language. A scenario takes none.
func (t *Task) Tools() []string {
	var out []string
	switch {
	case t.Vuln != nil:
		out = append(out, map[string]string{"c": "gcc", "go": "gotest", "python": "pytest"}[t.Vuln.Language])
		for _, set := range []*TestSet{t.Vuln.Intent, t.Vuln.Function} {
			if set != nil && set.Runner != "cases" && !slices.Contains(out, set.Runner) {
				out = append(out, set.Runner)
			}
		}
	case t.Runner != "":
		out = append(out, t.Runner)
	}
	return out
}

// Questions counts what a solution's behaviour is asked: cases, of a vulnerability inputs and tests.
func (t *Task) Questions() int {
	if t.Vuln == nil {
		return len(t.Cases)
	}
	n := len(t.Vuln.PoCs) + len(t.Vuln.Variants)
	if t.Vuln.Benign != nil {
		n += len(t.Vuln.Benign.Inputs)
	}
	for _, s := range []*TestSet{t.Vuln.Intent, t.Vuln.Function} {
		if s != nil {
			n += len(s.IDs)
		}
	}
	return n
}
