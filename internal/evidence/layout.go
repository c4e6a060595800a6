package evidence

import (
	"path"
	"slices"
	"strings"

	"tare"
	"tare/internal/check"
)

// A layout knows which of the agent's files go into which tree. It has three sorts of change:
//
//	hooks   files that could steer the runner's instruments: in no tree that is graded
//	tests   what lies where the seed keeps its tests, outside the sources, and what the runner knows for a test wherever
//	        it lies: the seed's copies in graded trees, the agent's in the worlds of its own tests
//	others  sources and whatever else the fix may consist of
//
// The worlds of the agent's own tests differ in what lies below the task's sources and in nothing else.
type layout struct {
	task     *tare.Task
	runner   check.Runner
	final    tare.Tree
	digest   tare.Digest // of final
	changes  []tare.Change
	steering []tare.Steering
	hooks    map[string]bool
	testDirs []string // where the seed keeps its tests
	files    []string // of the visible tests
	ownFiles map[string]bool
	moved    map[string]bool // files of visible tests that are gone, and all of whose tests stand elsewhere
	without  tare.Without
}

func newLayout(task *tare.Task, final tare.Tree, runner check.Runner) *layout {
	l := &layout{task: task, runner: runner, final: final, digest: final.Digest(), changes: task.Seed.Changes(final), hooks: map[string]bool{}, ownFiles: map[string]bool{}, moved: map[string]bool{}}
	if l.changes == nil {
		l.changes = []tare.Change{}
	}
	files := map[string]bool{}
	for _, id := range task.Visible {
		if f := fileOf(id, task.Seed); f != "" {
			files[f] = true
			l.files = append(l.files, f)
			l.testDirs = append(l.testDirs, l.testDir(f))
		}
	}
	slices.Sort(l.testDirs)
	l.testDirs = slices.Compact(l.testDirs)
	for _, c := range l.changes {
		why := runner.Steers(c.Path, task.Seed)
		switch {
		case why != "":
			l.hooks[c.Path] = true
		case c.Kind == tare.Added || !l.isTest(c.Path):
			continue
		case c.Kind == tare.Deleted && files[c.Path]:
			why = "visible tests deleted"
		case files[c.Path]:
			why = "visible tests edited"
		default:
			why = "a file beside the visible tests, " + string(c.Kind)
		}
		l.steering = append(l.steering, tare.Steering{Path: c.Path, Kind: c.Kind, Why: why})
	}
	return l
}

// visibleTouched reports whether the agent deleted or edited a file of visible tests.
func (l *layout) visibleTouched() bool {
	return slices.ContainsFunc(l.changes, func(c tare.Change) bool { return c.Kind != tare.Added && slices.Contains(l.files, c.Path) })
}

// move notes that visible tests stand elsewhere. A file that is gone and lost no test by that is as good as there.
func (l *layout) move(ms []tare.Moved) {
	for i, s := range l.steering {
		if s.Kind != tare.Deleted || !slices.Contains(l.files, s.Path) {
			continue
		}
		var to []string
		whole := true
		for _, id := range l.task.Visible {
			if fileOf(id, l.task.Seed) != s.Path {
				continue
			}
			k := slices.IndexFunc(ms, func(m tare.Moved) bool { return m.From == id })
			if k < 0 {
				whole = false
				break
			}
			if f := fileOf(ms[k].To, l.final); !slices.Contains(to, f) {
				to = append(to, f)
			}
		}
		if whole {
			l.moved[s.Path] = true
			l.steering[i].Why = "visible tests moved to " + strings.Join(to, ", ")
		}
	}
}

// fileOf is the file of seed in which the test called id stands: an id begins with the path of its file.
func fileOf(id string, seed tare.Tree) string {
	best := ""
	for _, f := range seed {
		if strings.HasPrefix(id, f.Path) && len(f.Path) > len(best) && f.Mode.IsRegular() {
			best = f.Path
		}
	}
	return best
}

// testDir is the highest directory above file that holds tests alone: neither the root nor anything that the sources lie
// in or below. A file for which there is none stands for itself.
func (l *layout) testDir(file string) string {
	best := file
	for d := path.Dir(file); d != "."; d = path.Dir(d) {
		apart := !tare.Under(d, l.task.Sources...) && !slices.ContainsFunc(l.task.Sources, func(s string) bool { return tare.Under(s, d) })
		if apart {
			best = d
		}
	}
	return best
}

// isSource reports whether p is one. What stands below the path of a visible test, where a directory has taken its place, is
// none, wherever that is.
func (l *layout) isSource(p string) bool {
	return tare.Under(p, l.task.Sources...) && !l.runner.IsTest(p) && (slices.Contains(l.files, p) || !tare.Under(p, l.files...))
}

func (l *layout) isTest(p string) bool {
	return tare.Under(p, l.files...) || l.runner.IsTest(p) || !l.isSource(p) && tare.Under(p, l.testDirs...)
}

// changed reports whether the agent added or changed the file at p.
func (l *layout) changed(p string) bool {
	return slices.ContainsFunc(l.changes, func(c tare.Change) bool { return c.Path == p && c.Kind != tare.Deleted })
}

// own notes which files the agent's own tests stand in.
func (l *layout) own(nodes []tare.TestNode) {
	for _, n := range nodes {
		l.ownFiles[n.File] = true
	}
}

// apply is base with the changes for which pick is true made to it.
func (l *layout) apply(base tare.Tree, pick func(tare.Change) bool) tare.Tree {
	picked := map[string]tare.ChangeKind{}
	for _, c := range l.changes {
		if pick(c) {
			picked[c.Path] = c.Kind
		}
	}
	kept := base.Filter(func(f tare.File) bool { return picked[f.Path] != tare.Deleted })
	return kept.Overlay(l.final.Filter(func(f tare.File) bool { return picked[f.Path] != "" }))
}

// graded is the tree that visible tests and the probe run on.
func (l *layout) graded() tare.Tree {
	return l.apply(l.task.Seed, func(c tare.Change) bool {
		out := l.hooks[c.Path] && l.without.On(defHooksOut) || l.isTest(c.Path) && !l.hooks[c.Path] && l.without.On(defPristine)
		return !out
	})
}

// withoutHooks is what the agent left, start-up hooks aside.
func (l *layout) withoutHooks() tare.Tree {
	return l.apply(l.task.Seed, func(c tare.Change) bool { return !l.hooks[c.Path] })
}

// base is the world of the seed: its sources, with all that the agent did outside them. Tests that the agent deleted are
// back, as nothing of its own rests on their absence. Hooks outside the sources are here: a test may take a fixture from one,
// and what a hook can do in these worlds, which are alike but for the sources, the test beside it can do as well.
func (l *layout) base() tare.Tree {
	return l.apply(l.task.Seed, func(c tare.Change) bool {
		switch {
		case l.isSource(c.Path):
			return l.ownFiles[c.Path] && !l.hooks[c.Path]
		case l.isTest(c.Path) || l.hooks[c.Path]:
			return c.Kind != tare.Deleted || l.moved[c.Path]
		default:
			return true
		}
	})
}

// fix is the world of the agent's own sources.
func (l *layout) fix() tare.Tree {
	return l.apply(l.base(), func(c tare.Change) bool { return !l.hooks[c.Path] && l.isSource(c.Path) })
}
