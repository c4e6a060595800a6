package evidence

import (
	"context"
	"errors"
	"fmt"

	"tare"
	"tare/internal/check"
)

// maxSubsets bounds how many sets of hunks are reverted in search of the bug.
const maxSubsets = 32

// grafted tries candidates that need what only the agent's fix has: on the agent's own tree, with the bug put back into it.
func (g *gatherer) grafted(ctx context.Context, cs []candidate, base, fix tare.Tree) {
	g.ev.Graft = &tare.Graft{Symbols: []string{}, Why: fmt.Sprintf("%s needs what only the agent's fix has", cs[0].id)}
	seed, ok := g.wave(ctx, []step{g.graftStep(tare.WorldSeed, g.Task.Seed)})
	if !ok {
		return
	}
	bug, ok := g.relapse(ctx, seed[0], cs, base, fix)
	if !ok || g.ev.Graft.Defect != "" {
		return
	}
	apart := g.crossed(fix, bug)
	g.ahead(ctx, apart)
	if !g.try(ctx, nodesOf(cs), append([]world{g.again(fix)}, apart...)) {
		return
	}
	g.lent(ctx, g.following(g.still(cs, tare.WorldGraft, failed)), base, fix, bug)
}

// lent tries candidates that would earn credit by the graft on the references, and then on the twins, with what they need
// lent to these: a test of behaviour answers there as any other does, and one that asks whether the helper is used does not.
func (g *gatherer) lent(ctx context.Context, cs []candidate, base, fix, bug tare.Tree) {
	lender, ok := g.Runner.(check.Lender)
	if !ok {
		g.ev.Graft.Unlent = "the runner lends nothing"
		return
	}
	to := func(w tare.World, tree tare.Tree) world {
		return world{name: tare.WorldLent(w), lend: func(ctx context.Context) (tare.Tree, error) {
			out, lent, err := lender.Lend(ctx, g.Sandbox, base.Overlay(tree), fix, g.Task.Seed, g.Task.Sources)
			if err == nil && len(lent) == 0 {
				err = &check.NotTransformable{Reason: "nothing that only the fix has can be lent"}
			}
			return out, err
		}}
	}
	var worlds []world
	for _, ref := range g.Task.References {
		worlds = append(worlds, to(tare.WorldReference(ref.Name), ref.Fix))
	}
	if len(cs) == 0 || !g.try(ctx, nodesOf(cs), worlds) {
		return
	}
	for _, w := range worlds {
		cs = g.still(cs, w.name, passed)
	}
	right := worlds[len(worlds)-1]
	worlds = nil
	for _, twin := range g.Task.Twins {
		worlds = append(worlds, to(tare.WorldTwin(twin.Name), twin.Tree))
	}
	if len(cs) > 0 && g.try(ctx, nodesOf(cs), worlds) {
		g.lentVaried(ctx, g.catching(cs, tare.WorldLent), right, bug)
	}
}

// lentVaried tries candidates in the world right and on the tree that has the bug, both varied.
func (g *gatherer) lentVaried(ctx context.Context, cs []candidate, right world, bug tare.Tree) {
	if len(cs) == 0 {
		return
	}
	tree, err := right.lend(ctx)
	if err != nil {
		g.problem("lending once more", err)
		return
	}
	worlds := []world{g.varied(right.name, tree), g.varied(tare.WorldGraft, bug)}
	g.ahead(ctx, worlds)
	g.vary(ctx, cs, worlds)
}

func (g *gatherer) graftStep(w tare.World, tree tare.Tree) step {
	return step{
		role: tare.RoleGraft, world: w, what: "asking the probe whether the bug is back",
		do: func(ctx context.Context) (tare.Run, error) { return g.probeOnce(ctx, tree, tree.Digest()) },
	}
}

// relapse is the agent's tree with the bug back in it, as the probe confirms: by the seed's bodies in the place of the
// agent's, else by undoing some of the agent's hunks. It is false when the rig failed; that there is no such tree is in Graft.Defect.
func (g *gatherer) relapse(ctx context.Context, seed tare.Run, cs []candidate, base, fix tare.Tree) (tare.Tree, bool) {
	graft := g.ev.Graft
	out, symbols, err := g.Runner.Graft(ctx, g.Sandbox, fix, g.Task.Seed, g.Task.Sources)
	var not *check.NotTransformable
	if err != nil && !errors.As(err, &not) {
		g.problem("grafting the bug back", err)
		return nil, false
	}
	if err == nil && len(symbols) > 0 {
		back, ok := g.confirm(ctx, seed, cs, out)
		if !ok || back {
			graft.Method, graft.Symbols = "symbols", symbols
			return out, ok
		}
	}
	hunks := diff(base, fix, g.lay.isSource)
	tried := 0
	for set := range subsets(len(hunks)) {
		if tried == maxSubsets {
			break
		}
		tried++
		out := revert(fix, hunks, set)
		back, ok := g.confirm(ctx, seed, cs, out)
		if !ok || back {
			graft.Method = "hunks"
			for _, i := range set {
				graft.Symbols = append(graft.Symbols, hunks[i].String())
			}
			return out, ok
		}
	}
	graft.Defect = fmt.Sprintf("neither with %d of the seed's bodies put back nor with any of %d sets of the fix's %d changes undone is the bug back and the helper there", len(symbols), tried, len(hunks))
	if not != nil {
		graft.Defect += "; " + not.Error()
	}
	return nil, true
}

// confirm asks the probe about tree, and runs the candidates in it when the bug is back. A tree in which they all want for
// what they need has lost the helper with the fix, and is no use. Only an attempt that succeeds is recorded; how many there
// were is in the defect. ok is false when the rig failed.
func (g *gatherer) confirm(ctx context.Context, seed tare.Run, cs []candidate, tree tare.Tree) (back, ok bool) {
	kept := len(g.ev.Runs)
	runs, ok := g.wave(ctx, []step{g.graftStep(tare.WorldGraft, tree)})
	if !ok {
		return false, false
	}
	if g.Task.Relapsed(runs[0], seed) {
		if !g.try(ctx, nodesOf(cs), []world{g.plain(tare.WorldGraft, tree)}) {
			return false, false
		}
		if len(g.still(cs, tare.WorldGraft, missing)) < len(cs) {
			return true, true
		}
	}
	g.ev.Runs = g.ev.Runs[:kept]
	return false, true
}
