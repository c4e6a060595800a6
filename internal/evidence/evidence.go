// Package evidence observes what an agent left behind: it runs the visible tests, the probe, and the agent's own tests in
// the worlds that tell a test of behaviour from one of something else. It draws no conclusion; where it gathers no more, that
// is because nothing more could change the verdict.
//
// All runs are made on fresh trees of its own, never in the workspace that the agent worked in.
package evidence

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tare"
	"tare/internal/check"
	"tare/internal/sandbox"
)

// A Request says what to observe.
type Request struct {
	Task    *tare.Task
	Final   tare.Tree // the agent's workspace when it stopped; a .git in it is left out
	Sandbox sandbox.Sandbox
	Runner  check.Runner
	Jobs    int     // how many commands may run at a time; default 2
	Shared  *Shared // observations that other gatherings of the task may have made; nil: none

	Without tare.Without // defences that are off; none in production
}

// The defences that are a matter of which file goes into which tree.
const (
	defPristine = "evidence/pristine-tests"
	defHooksOut = "evidence/hooks-out"
)

// Defences are those of this package, in a fresh copy. Each is consulted by its id where it works.
func Defences() []tare.Defence {
	return []tare.Defence{
		{ID: defPristine, Stops: "visible tests that the agent emptied, weakened or replaced would be run instead of the seed's"},
		{ID: defHooksOut, Stops: "a file that can steer the tests would be in place while they are graded"},
	}
}

// defaultJobs suits a machine with two cores; a run is mostly the start of an interpreter.
const defaultJobs = 2

// Gather observes r. The error is that of ctx, when it has ended; whatever else of ours fails is in Evidence.Problems, and
// then the evidence is not all there. The order of the runs and their ids do not depend on which ends first.
func Gather(ctx context.Context, r Request) (tare.Evidence, error) {
	g := &gatherer{Request: r, lay: newLayout(r.Task, r.Final.Without(".git"), r.Runner)}
	g.lay.without = r.Without
	if g.Jobs <= 0 {
		g.Jobs = defaultJobs
	}
	g.ev.Isolation = r.Sandbox.Isolation()
	g.ev.Changes = g.lay.changes
	g.ev.Steering = g.lay.steering
	g.ev.Runs = []tare.Run{}
	g.gather(ctx)
	if err := ctx.Err(); err != nil {
		return tare.Evidence{}, fmt.Errorf("gathering evidence: %w", err)
	}
	return g.ev, nil
}

// Ahead has made ready what gathering by a runner begins with, while the caller goes on.
func Ahead(sb sandbox.Sandbox, runner check.Runner) error {
	if p, ok := runner.(check.Pytest); ok {
		return p.Ahead(sb, againDir)
	}
	return nil
}

// A gatherer is one Gather on its way.
type gatherer struct {
	Request
	lay   *layout
	lists []listing                  // of the tests of the seed and of what the agent left, once they were made
	made  map[tare.Digest]check.Made // worlds that were made ahead, by what they are made of
	ev    tare.Evidence
}

// A listing is the tests of a tree, and the files that cannot be read as tests.
type listing struct {
	nodes  []tare.TestNode
	broken []string
}

// gather goes as far as there is something to learn.
func (g *gatherer) gather(ctx context.Context) {
	if g.lay.visibleTouched() && !g.findMoved(ctx) {
		return
	}
	visible, behaviour, ok := g.outside(ctx)
	steered := slices.ContainsFunc(g.ev.Runs, func(r tare.Run) bool { return r.Role == tare.RoleSteering && !g.visibleHolds(r) })
	switch {
	case !ok:
		return
	case !behaviour.Complete || len(g.Task.Failing(behaviour)) > 0:
		g.ev.Stopped = tare.GateBehaviour
		return
	case !g.visibleHolds(visible):
		g.ev.Stopped = tare.GateVisibleTests
		return
	case steered: // what was kept out turns a test that passes without it
		g.ev.Stopped = tare.GateIntegrity
		return
	}
	if !g.ownTests(ctx) || len(g.ev.Own) == 0 {
		return
	}
	g.regression(ctx)
}

// outside makes the runs that the agent's own tests have no part in. ok is false when one of them could not be made.
func (g *gatherer) outside(ctx context.Context) (visible, behaviour tare.Run, ok bool) {
	graded := g.lay.graded()
	key := graded.Digest()
	steps := []step{{
		role: tare.RoleVisible, world: tare.WorldFix, what: "running the visible tests",
		do: func(ctx context.Context) (tare.Run, error) {
			req := g.tests(graded, g.Task.Visible)
			return g.observed(keyOf("visible", string(key)), func() (tare.Run, error) { return g.Runner.Run(ctx, g.Sandbox, req) })
		},
	}}
	if len(g.lay.steering) > 0 {
		steps = append(steps, step{
			role: tare.RoleSteering, world: tare.WorldFix, what: "running the visible tests with what was kept out in place",
			do: func(ctx context.Context) (tare.Run, error) {
				nodes := make([]string, len(g.Task.Visible))
				for i, id := range g.Task.Visible {
					nodes[i] = g.ev.NowAt(id)
				}
				req := g.tests(g.lay.final, nodes)
				req.Steered, req.Twin = true, g.ev.NowAt(req.Twin)
				return g.Runner.Run(ctx, g.Sandbox, req)
			},
		})
	}
	if len(g.lay.hooks) > 0 { // edited tests have no part in what the probe is told
		steps = append(steps, step{
			role: tare.RoleSteered, world: tare.WorldFix, what: "asking the probe with what was kept out in place",
			do: func(ctx context.Context) (tare.Run, error) { return g.probe(ctx, g.lay.final, true) },
		})
	}
	steps = append(steps, step{
		role: tare.RoleBehaviour, world: tare.WorldFix, what: "asking the probe",
		do: func(ctx context.Context) (tare.Run, error) { return g.probeOnce(ctx, graded, key) },
	})
	runs, ok := g.wave(ctx, steps)
	if !ok {
		return visible, behaviour, false
	}
	return runs[0], runs[len(runs)-1], true
}

// visibleHolds reports whether every visible test is there once and passed in a whole report, and every sentinel came out
// right. When it does not, the verdict is settled.
func (g *gatherer) visibleHolds(run tare.Run) bool {
	passed := map[string]int{}
	for _, t := range run.Tests {
		if t.Outcome == tare.TestPassed {
			passed[t.ID]++
		} else {
			passed[t.ID] += 2
		}
	}
	for _, id := range g.Task.Visible {
		if run.Role == tare.RoleSteering {
			id = g.ev.NowAt(id)
		}
		if passed[id] != 1 {
			return false
		}
	}
	return run.Complete && !slices.ContainsFunc(run.Sentinels, func(s tare.Sentinel) bool { return !s.Right() })
}

// list lists the tests of the seed and of what the agent left, by reading. Of a runner that reads each file by itself, those of
// files that are the same in both are left out: nobody asks for them. It is false when that could not be done.
func (g *gatherer) list(ctx context.Context) bool {
	if g.lists != nil {
		return true
	}
	trees := []tare.Tree{g.Task.Seed, g.lay.withoutHooks()}
	if c, ok := g.Runner.(check.Collector); ok {
		changed := map[string]bool{} // a mode counts, as in collect: what is changed there and not read here has tests that pass for the agent's
		for _, ch := range trees[0].Changes(trees[1]) {
			changed[ch.Path] = c.Collects(ch.Path)
		}
		for i, t := range trees {
			trees[i] = t.Filter(func(f tare.File) bool { return changed[f.Path] })
		}
	}
	lists := make([]listing, len(trees))
	errs := make([]error, len(trees))
	shared := cmp.Or(g.Shared, NewShared()) // where the agent touched no test, both are the same
	parallel(g.Jobs, len(trees), func(i int) {
		lists[i], _, errs[i] = share(shared, keyOf("tests", string(trees[i].Digest())), func() (l listing, err error) {
			l.nodes, l.broken, err = g.Runner.Tests(ctx, g.Sandbox, trees[i])
			return l, err
		}, func(listing) bool { return true })
	})
	for _, err := range errs {
		if err != nil {
			g.problem("listing the tests", err)
			return false
		}
	}
	g.lists = lists
	return true
}

// findMoved finds the visible tests that are gone from where they were and stand unchanged in a file that the seed does not
// have. It is false when the tests could not be listed.
func (g *gatherer) findMoved(ctx context.Context) bool {
	if !g.list(ctx) {
		return false
	}
	seed, now := g.lists[0].nodes, g.lists[1].nodes
	covering := func(nodes []tare.TestNode, id string) int {
		return slices.IndexFunc(nodes, func(n tare.TestNode) bool { return n.Covers(id) })
	}
	for _, id := range g.Task.Visible {
		i := covering(seed, id)
		if i < 0 || covering(now, id) >= 0 {
			continue
		}
		was := seed[i]
		k := slices.IndexFunc(now, func(n tare.TestNode) bool {
			_, old := g.Task.Seed.Lookup(n.File)
			return !old && n.Digest == was.Digest && strings.TrimPrefix(n.ID, n.File) == strings.TrimPrefix(was.ID, was.File)
		})
		if k >= 0 {
			g.ev.Moved = append(g.ev.Moved, tare.Moved{From: id, To: now[k].ID + strings.TrimPrefix(id, was.ID)})
		}
	}
	g.lay.move(g.ev.Moved)
	g.ev.Steering = g.lay.steering
	return true
}

// ownTests finds the tests that the agent added or changed. It is false when that could not be done.
func (g *gatherer) ownTests(ctx context.Context) bool {
	if !g.list(ctx) {
		return false
	}
	old := map[string]tare.Digest{}
	for _, n := range g.lists[0].nodes {
		old[n.ID] = n.Digest
	}
	for _, n := range g.lists[1].nodes {
		was, there := old[n.ID]
		switch {
		case slices.ContainsFunc(g.ev.Moved, func(m tare.Moved) bool { return n.Covers(m.To) }):
			continue
		case !there:
			n.Kind = tare.Added
		case was != n.Digest:
			n.Kind = tare.Modified
		default:
			continue
		}
		g.ev.Own = append(g.ev.Own, n)
	}
	for _, f := range g.lists[1].broken {
		if g.lay.changed(f) {
			g.ev.Broken = append(g.ev.Broken, f)
		}
	}
	g.lay.own(g.ev.Own)
	return g.collect(ctx)
}

// maxCollected bounds how many tests are taken from files that make theirs by code.
const maxCollected = 100

// collect asks the runner for the tests of those files of the agent's in which reading found none of its own: a test that a
// class takes over from another file, that an assignment makes, or a loop. It is false when that could not be done.
func (g *gatherer) collect(ctx context.Context) bool {
	collector, ok := g.Runner.(check.Collector)
	if !ok {
		return true
	}
	var files []string
	for _, c := range g.lay.changes {
		own := slices.ContainsFunc(g.ev.Own, func(n tare.TestNode) bool { return n.File == c.Path })
		moved := slices.ContainsFunc(g.ev.Moved, func(m tare.Moved) bool { return fileOf(m.To, g.lay.final) == c.Path })
		if c.Kind != tare.Deleted && collector.Collects(c.Path) && !own && !moved && !g.lay.hooks[c.Path] && !slices.Contains(g.ev.Broken, c.Path) {
			files = append(files, c.Path)
			g.lay.ownFiles[c.Path] = true
		}
	}
	if len(files) == 0 {
		return true
	}
	runs, ok := g.wave(ctx, []step{{
		role: tare.RoleCollect, world: tare.WorldFix, what: "collecting the tests of the agent's files",
		do: func(ctx context.Context) (tare.Run, error) {
			req := g.tests(g.lay.fix(), nil)
			req.Files = files
			return g.Runner.Run(ctx, g.Sandbox, req)
		},
	}})
	if !ok {
		return false
	}
	listed := slices.Concat(g.lists[1].nodes, g.ev.Own)
	for _, t := range runs[0].Tests {
		file := fileOf(t.ID, g.lay.final)
		known := slices.ContainsFunc(listed, func(n tare.TestNode) bool { return n.Covers(t.ID) })
		if known || t.Phase == "collect" || !slices.Contains(files, file) || len(listed) >= len(g.lists[1].nodes)+maxCollected {
			continue
		}
		f, _ := g.lay.final.Lookup(file)
		n := tare.TestNode{ID: check.NodeOf(t.ID), File: file, Kind: tare.Added, Digest: tare.HashBytes(f.Data)}
		listed, g.ev.Own = append(listed, n), append(g.ev.Own, n)
	}
	return true
}

// tests is the request to run nodes in tree. Its twin doubles a visible test that an agent cannot foresee: the choice
// hangs on every byte that the agent left.
func (g *gatherer) tests(tree tare.Tree, nodes []string) check.TestRequest {
	req := check.TestRequest{Tree: tree, Sources: g.Task.Sources, Nodes: nodes, Wall: g.Task.Limits.Check}
	if n := len(g.Task.Visible); n > 0 {
		sum := 0
		for _, b := range []byte(g.lay.digest) {
			sum = (sum*31 + int(b)) % n
		}
		req.Twin = g.Task.Visible[sum]
	}
	return req
}

// probeOnce is probe, or what it said of the tree with that digest before.
func (g *gatherer) probeOnce(ctx context.Context, tree tare.Tree, digest tare.Digest) (tare.Run, error) {
	return g.observed(keyOf("probe", string(digest)), func() (tare.Run, error) { return g.probe(ctx, tree, false) })
}

// probe asks the task's probe all cases on tree. No expected value goes along.
func (g *gatherer) probe(ctx context.Context, tree tare.Tree, steered bool) (tare.Run, error) {
	req := check.ProbeRequest{Steered: steered, Tree: tree, Sources: g.Task.Sources, Hidden: g.Task.Hidden, Wall: g.Task.Limits.Check}
	for _, c := range g.Task.Cases {
		req.Cases = append(req.Cases, check.Question{ID: c.ID, Call: c.Call, Args: c.Args})
	}
	return g.Runner.Probe(ctx, g.Sandbox, req)
}

func (g *gatherer) problem(where string, err error) {
	g.ev.Problems = append(g.ev.Problems, tare.Problem{Where: where, Error: err.Error()})
}
