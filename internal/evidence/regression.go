package evidence

import (
	"context"
	"fmt"
	"slices"

	"tare"
	"tare/internal/check"
)

// againDir is the name of the directory in which tests run again. It says nothing.
const againDir = "copy"

// maxAlone bounds how many tests are run one by one, when a run of all of them did not come to its end.
const maxAlone = 16

// A candidate is a test of the agent's, or an instance of one, that may still earn credit.
type candidate struct {
	node tare.TestNode
	id   string
}

// regression tries the agent's own tests, in waves: what one wave rules out is in no later one.
func (g *gatherer) regression(ctx context.Context) {
	base, fix := g.lay.base(), g.lay.fix()
	if !g.try(ctx, g.ev.Own, []world{g.plain(tare.WorldFix, fix), g.plain(tare.WorldSeed, base)}) {
		return
	}
	left := g.still(g.candidates(), tare.WorldFix, passed)
	lacking := g.still(left, tare.WorldSeed, missing) // they need what the seed has not
	left = g.still(left, tare.WorldSeed, failed)
	worlds := []world{g.again(fix)}
	for _, ref := range g.Task.References {
		worlds = append(worlds, g.plain(tare.WorldReference(ref.Name), base.Overlay(ref.Fix)))
	}
	if both := append(slices.Clone(left), lacking...); len(both) == 0 || !g.try(ctx, nodesOf(both), worlds) {
		return
	}
	left, lacking = g.still(left, tare.WorldAgain, passed), g.still(lacking, tare.WorldAgain, passed)
	for _, ref := range g.Task.References {
		w := tare.WorldReference(ref.Name)
		lacking = append(g.still(lacking, w, missing, passed), g.still(left, w, g.foreign)...)
		left = g.still(left, w, passed)
	}
	if len(left) > 0 {
		worlds = nil
		for _, twin := range g.Task.Twins {
			worlds = append(worlds, g.plain(tare.WorldTwin(twin.Name), base.Overlay(twin.Tree)))
		}
		if !g.try(ctx, nodesOf(left), worlds) {
			return
		}
		left = g.catching(left, func(w tare.World) tare.World { return w })
	}
	if len(left) > 0 {
		ref := g.Task.References[len(g.Task.References)-1]
		apart := g.crossed(fix, base)
		varied := []world{g.varied(tare.WorldReference(ref.Name), base.Overlay(ref.Fix)), g.varied(tare.WorldSeed, base)}
		g.ahead(ctx, slices.Concat(apart, varied))
		if !g.try(ctx, nodesOf(left), apart) {
			return
		}
		earned, ok := g.vary(ctx, g.following(left), varied)
		if !ok || len(earned) > 0 {
			return
		}
	}
	if len(lacking) > 0 {
		g.grafted(ctx, lacking, base, fix)
	}
}

// candidates lists every instance of the agent's tests that was reported on its own fix.
func (g *gatherer) candidates() []candidate {
	var out []candidate
	for _, n := range g.ev.Own {
		for _, r := range g.in(tare.WorldFix) {
			for _, t := range r.Tests {
				if n.Covers(t.ID) && !slices.ContainsFunc(out, func(c candidate) bool { return c.id == t.ID }) {
					out = append(out, candidate{n, t.ID})
				}
			}
		}
	}
	return out
}

// nodesOf lists the nodes of cs, each once, in the order of cs.
func nodesOf(cs []candidate) []tare.TestNode {
	var out []tare.TestNode
	for _, c := range cs {
		if !slices.ContainsFunc(out, func(n tare.TestNode) bool { return n.ID == c.node.ID }) {
			out = append(out, c.node)
		}
	}
	return out
}

func passed(t tare.TestResult) bool  { return t.Outcome == tare.TestPassed }
func failed(t tare.TestResult) bool  { return t.Proper() }
func missing(t tare.TestResult) bool { return t.Missing != "" && poisoned(t) }

// foreign is a failure for want of what the seed has not either.
func (g *gatherer) foreign(t tare.TestResult) bool { return missing(t) && !g.Task.SeedNames(t.Missing) }

// poisoned is what is wanted where the subject raises: any failure, in a fixture too.
func poisoned(t tare.TestResult) bool {
	return t.Outcome == tare.TestFailed || t.Outcome == tare.TestError
}

// still keeps the candidates with a result in world w, each of whose results there is one of is.
func (g *gatherer) still(cs []candidate, w tare.World, is ...func(tare.TestResult) bool) []candidate {
	var out []candidate
	for _, c := range cs {
		var results []tare.TestResult
		for _, r := range g.in(w) {
			if r.Complete {
				results = append(results, r.Of(c.node, c.id)...)
			}
		}
		bad := slices.ContainsFunc(results, func(t tare.TestResult) bool {
			return !slices.ContainsFunc(is, func(f func(tare.TestResult) bool) bool { return f(t) })
		})
		if len(results) > 0 && !bad {
			out = append(out, c)
		}
	}
	return out
}

// catching keeps the candidates that fail on at least one twin of every reference that has any, in the worlds that world
// makes of them.
func (g *gatherer) catching(cs []candidate, world func(tare.World) tare.World) []candidate {
	for _, ref := range g.Task.References {
		var caught []candidate
		derived := false
		for _, twin := range g.Task.Twins {
			if twin.Of == ref.Name {
				derived = true
				caught = append(caught, g.still(cs, world(tare.WorldTwin(twin.Name)), failed)...)
			}
		}
		if derived {
			cs = slices.DeleteFunc(slices.Clone(cs), func(c candidate) bool { return !slices.Contains(caught, c) })
		}
	}
	return cs
}

// following keeps the candidates whose answers follow the behaviour where text and behaviour part.
func (g *gatherer) following(cs []candidate) []candidate {
	cs = g.still(g.still(cs, tare.WorldRewrite, passed), tare.WorldTextSeed, passed)
	return g.still(g.still(cs, tare.WorldTextFix, failed), tare.WorldPoison, poisoned)
}

// in lists the regression runs in world w.
func (g *gatherer) in(w tare.World) []tare.Run {
	var out []tare.Run
	for _, r := range g.ev.Runs {
		if r.Role == tare.RoleRegression && r.World == w {
			out = append(out, r)
		}
	}
	return out
}

// A world is a tree, or how to make one, and the circumstances of a run in it.
type world struct {
	name  tare.World
	tree  tare.Tree
	made  *check.Making                            // of what tree is to be made
	lend  func(context.Context) (tare.Tree, error) // or how it is lent what it lacks
	shape func(*check.TestRequest)
}

// plain is a world whose tree is at hand.
func (g *gatherer) plain(name tare.World, tree tare.Tree) world { return world{name: name, tree: tree} }

// treeOf makes the tree of w, where it is to be made.
func (g *gatherer) treeOf(ctx context.Context, w world) (tare.Tree, error) {
	switch {
	case w.made != nil:
		return g.derive(ctx, *w.made)
	case w.lend != nil:
		return w.lend(ctx)
	}
	return w.tree, nil
}

func (g *gatherer) again(fix tare.Tree) world {
	w := g.plain(tare.WorldAgain, fix)
	w.shape = func(req *check.TestRequest) { req.Reverse, req.DirName = true, againDir }
	return w
}

// crossed are the worlds in which text and behaviour part. bug is the tree that has the bug. What is loaded is varied in each,
// so that a test that goes by it sees what it has not seen.
func (g *gatherer) crossed(fix, bug tare.Tree) []world {
	to := func(w tare.World, op check.Op, salt string, from ...tare.Tree) world {
		return world{name: w, made: &check.Making{Op: op, Salt: salt, From: from}}
	}
	return []world{
		to(tare.WorldTextFix, check.OpCross, g.salt(tare.WorldTextFix), fix, bug),
		to(tare.WorldTextSeed, check.OpCross, g.salt(tare.WorldTextSeed), bug, fix),
		to(tare.WorldRewrite, check.OpRewrite, g.salt(tare.WorldRewrite), fix),
		to(tare.WorldPoison, check.OpPoison, "", fix, g.Task.Seed),
	}
}

// varied is the world w with other instructions for what it does: only what is loaded differs.
func (g *gatherer) varied(w tare.World, tree tare.Tree) world {
	name := tare.WorldVaried(w)
	return world{name: name, made: &check.Making{Op: check.OpCross, Salt: g.salt(name), From: []tare.Tree{tree, tree}}}
}

// salt is how what is loaded is varied in w; "" where the runner's tests could not see that. It hangs on the references, so
// that who wrote the tests cannot tell.
func (g *gatherer) salt(w tare.World) string {
	if _, ok := g.Runner.(check.Maker); !ok {
		return ""
	}
	salt := string(w)
	for _, ref := range g.Task.References {
		salt += " " + string(ref.Fix.Digest())
	}
	return string(tare.HashBytes([]byte(salt)))
}

// vary tries candidates that would earn credit once more on a right tree and on a wrong one, both varied: a test that answers
// by a hash of the code comes out right in all worlds once in so many, and these are further ones that it has not seen. It
// returns those that still would. ok is false when the rig failed.
func (g *gatherer) vary(ctx context.Context, cs []candidate, worlds []world) (earned []candidate, ok bool) {
	if len(cs) == 0 {
		return nil, true
	}
	if _, can := g.Runner.(check.Maker); !can {
		g.ev.Unvaried = "its tests see code as text alone"
		return cs, true
	}
	if !g.try(ctx, nodesOf(cs), worlds) {
		return nil, false
	}
	return g.still(g.still(cs, worlds[0].name, passed), worlds[1].name, failed), true
}

// try runs nodes in each of worlds. Where a run of several did not come to its end, each is run by itself too, so that one
// test that hangs or kills the process does not take the others along.
func (g *gatherer) try(ctx context.Context, nodes []tare.TestNode, worlds []world) bool {
	trees := make([]tare.Tree, len(worlds))
	steps := make([]step, len(worlds))
	for i, w := range worlds {
		steps[i] = g.step(w, &trees[i], nodes)
	}
	runs, ok := g.wave(ctx, steps)
	if !ok {
		return false
	}
	if len(nodes) == 1 {
		return true
	}
	var alone []step
	for i, w := range worlds {
		if runs[i].Complete || runs[i].ID == "" {
			continue
		}
		w.tree, w.made, w.lend = trees[i], nil, nil
		for _, n := range nodes[:min(len(nodes), maxAlone)] {
			alone = append(alone, g.step(w, new(tare.Tree), []tare.TestNode{n}))
		}
	}
	if len(alone) > 0 {
		_, ok = g.wave(ctx, alone)
	}
	return ok
}

// step is a run of nodes in w; its tree is left in *tree.
func (g *gatherer) step(w world, tree *tare.Tree, nodes []tare.TestNode) step {
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = n.ID
	}
	return step{
		role: tare.RoleRegression, world: w.name, what: fmt.Sprintf("running the agent's tests in the world %s", w.name),
		do: func(ctx context.Context) (tare.Run, error) {
			t, err := g.treeOf(ctx, w)
			if err != nil {
				return tare.Run{}, fmt.Errorf("making its tree: %w", err)
			}
			*tree = t
			req := g.tests(t, ids)
			if w.shape != nil {
				w.shape(&req)
			}
			key := keyOf(append([]string{"regression", string(t.Digest()), req.DirName, fmt.Sprint(req.Reverse)}, ids...)...)
			return g.observed(key, func() (tare.Run, error) { return g.Runner.Run(ctx, g.Sandbox, req) })
		},
	}
}
