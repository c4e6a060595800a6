package check

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"tare"
	"tare/internal/sandbox"
)

// Probe asks the probe its cases in order, in one process that has run nothing else. Expected values are no part of it.
// Values come back by exact type; see python/tare_values.py. Where the probe, or the code that it imports, cannot be
// loaded, no case is answered and Defect says why.
func (r Pytest) Probe(ctx context.Context, sb sandbox.Sandbox, req ProbeRequest) (tare.Run, error) {
	if _, ok := req.Hidden.Lookup("probe.py"); !ok {
		return tare.Run{}, fmt.Errorf("asking the probe: there is no probe.py")
	}
	cases := []map[string]string{} // as text: each case gets arguments of its own, made when it is asked
	asked := map[string]bool{}
	for _, q := range req.Cases {
		if !json.Valid(q.Args) || asked[q.ID] {
			return tare.Run{}, fmt.Errorf("asking the probe: case %q has no valid arguments, or occurs twice", q.ID)
		}
		asked[q.ID] = true
		cases = append(cases, map[string]string{"id": q.ID, "call": q.Call, "args": string(q.Args)})
	}
	c := command{
		script: "probe", without: r.Without, tree: tree(req.Tree), hidden: req.Hidden, wall: req.Wall,
		request: map[string]any{"sources": append([]string{}, req.Sources...), "cases": cases, "steered": req.Steered},
	}
	a, err := c.run(ctx, sb)
	if err != nil {
		return tare.Run{}, err
	}
	rep := a.read()
	if !rep.started() {
		return tare.Run{}, a.notStarted("the probe")
	}
	out := a.describe(req.Tree)
	out.Cases = rep.cases(req.Cases)
	if load := rep.of("load"); len(load) > 0 && load[0].Value != nil {
		rep.fail("the probe could not be loaded: %s: %.300s", load[0].Value.Class, load[0].Value.Text)
	}
	if rep.end != nil && rep.end.Status != a.result.Exit {
		rep.fail("the report ends with status %d, the process %s", rep.end.Status, a.ending())
	}
	if rep.end != nil && r.Without.On(defEndMark) && (rep.end.Cases != len(out.Cases) || len(out.Cases) != len(req.Cases)) {
		rep.fail("%d cases were asked, %d answered", len(req.Cases), len(out.Cases))
	}
	out.Defect, out.Complete = rep.defect, rep.defect == ""
	return out, nil
}

// cases takes the answers, which must come in the order of the questions.
func (r *report) cases(asked []Question) []tare.CaseResult {
	var out []tare.CaseResult
	for _, e := range r.of("case") {
		i := slices.IndexFunc(asked, func(q Question) bool { return q.ID == e.ID })
		switch {
		case i < 0:
			r.fail("there is an answer to case %q, which was not asked", e.ID)
		case i < len(out):
			r.fail("case %q is answered twice", e.ID)
		case i > len(out):
			r.fail("case %q is answered before its turn", e.ID)
		case e.Value == nil || !known(*e.Value):
			r.fail("the answer to case %q is no value", e.ID)
		default:
			out = append(out, tare.CaseResult{ID: e.ID, Value: order(*e.Value)})
			continue
		}
		break
	}
	return out
}
