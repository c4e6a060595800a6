package evidence

import (
	"slices"
	"strings"

	"tare"
	"tare/internal/check"
)

// A vulnLayout knows which of the agent's files go into which tree of a vulnerability:
//
//	protected  files that the task protects, and the tests that the runners take from the seed: the seed's in every graded tree
//	hooks      files that could steer a runner's instruments: the seed's too, or none
//	others     what a fix may consist of
//
// Hidden files win over whatever stands at their place.
type vulnLayout struct {
	task    *tare.Task
	final   tare.Tree
	changes []tare.Change
	hooks   map[string]bool // changed files that steer
	kept    map[string]bool // changed files of which the graded trees have the seed's

	steering           []tare.Steering
	restored, collided []string
}

// runnersOf are the runners that know what steers a program of that language: its build, its imports, its tests.
func runnersOf(language string) []check.Runner {
	switch language {
	case "go":
		return []check.Runner{check.GoTest{}}
	case "python":
		return []check.Runner{check.Pytest{}}
	}
	return nil
}

func newVulnLayout(task *tare.Task, final tare.Tree) *vulnLayout {
	l := &vulnLayout{task: task, final: final.Without(".git"), hooks: map[string]bool{}, kept: map[string]bool{}}
	l.changes = task.Seed.Changes(l.final)
	if l.changes == nil {
		l.changes = []tare.Change{}
	}
	v := task.Vuln
	rs := runnersOf(v.Language)
	for _, c := range l.changes {
		why, isTest := "", false
		for _, r := range rs {
			if why == "" {
				why = r.Steers(c.Path, task.Seed)
			}
			isTest = isTest || r.IsTest(c.Path)
		}
		_, seeds := task.Seed.Lookup(c.Path)
		own := v.Function != nil && holdsPath(v.Function.Files, c.Path)
		switch {
		case v.Protects(c.Path), own, isTest && seeds:
			l.kept[c.Path] = true
			l.restored = append(l.restored, c.Path)
		case why != "":
			l.kept[c.Path], l.hooks[c.Path] = true, true
			l.steering = append(l.steering, tare.Steering{Path: c.Path, Kind: c.Kind, Why: why})
		case isTest:
			l.kept[c.Path] = true // a new test has no part in tests of the seed's, and can do no harm where it is not
		}
		if c.Kind != tare.Deleted && slices.ContainsFunc(l.hidden(), func(h tare.Tree) bool { return collides(h, c.Path) }) {
			l.collided = append(l.collided, c.Path)
			l.kept[c.Path] = true
		}
	}
	return l
}

// hidden are the trees that are laid over the agent's.
func (l *vulnLayout) hidden() []tare.Tree {
	var out []tare.Tree
	if i := l.task.Vuln.Intent; i != nil {
		out = append(out, i.Files)
	}
	if d := l.task.Vuln.Driver; d != nil {
		out = append(out, d.Files)
	}
	return out
}

// holdsPath reports whether p is the path of a file of t.
func holdsPath(t tare.Tree, p string) bool {
	_, ok := t.Lookup(p)
	return ok
}

// collides reports whether a file at p stands where one of t goes, on its way, or below it, in upper or lower case.
func collides(t tare.Tree, p string) bool {
	p = strings.ToLower(p)
	return slices.ContainsFunc(t, func(f tare.File) bool {
		h := strings.ToLower(f.Path)
		return h == p || tare.Under(h, p) || tare.Under(p, h)
	})
}

// graded is the tree that is built and tested: the agent's, with the seed's of what is kept from it.
func (l *vulnLayout) graded() tare.Tree {
	own := l.final.Filter(func(f tare.File) bool { return !l.kept[f.Path] })
	return own.Overlay(l.task.Seed.Filter(func(f tare.File) bool { return l.kept[f.Path] && !l.collides(f.Path) }))
}

// collides reports whether a file of the seed itself is in the way of hidden ones.
func (l *vulnLayout) collides(p string) bool {
	return slices.ContainsFunc(l.hidden(), func(h tare.Tree) bool {
		return collides(h, p) && !holdsPath(h, p) // those of the same path are replaced anyway
	})
}

// steered reports whether the agent's tree has something that the graded one has not and that could turn an outcome.
func (l *vulnLayout) steered() bool { return len(l.restored)+len(l.steering) > 0 }
