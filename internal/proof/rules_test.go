package proof

import (
	"encoding/json"
	"slices"
	"testing"

	"tare"
	"tare/internal/oracle"
)

// notShown are rules that no record of these scenarios shows the worth of, since the rig made them all: each is about a
// record or a task that is broken, or about one that was made elsewhere. The oracle's own tests switch those off.
var notShown = []string{
	"infrastructure/record", "infrastructure/task", "infrastructure/expectations", "infrastructure/empty-task", "infrastructure/stop",
	"infrastructure/broken-off", "infrastructure/problems", "infrastructure/evidence", "infrastructure/catalogue", "infrastructure/calls",
}

// TestRulesSwitchedOff judges the records of all controls and variants, and of good agents on broken platforms, with one
// rule after the other switched off: without it some row comes out otherwise than it must.
func TestRulesSwitchedOff(t *testing.T) {
	type row struct {
		task *tare.Task
		rec  tare.Record
		want []byte
	}
	var rows []row
	keep := func(task *tare.Task, bench *oracle.Bench, rec tare.Record) {
		rows = append(rows, row{task, rec, outcomeOnly(bench.Judge(rec))})
	}
	variants, err := Variants()
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range scenarios(t) {
		bench := oracle.NewBench(task)
		for i, c := range task.Controls {
			rec := playIn(t, task, c.Agent, simulated(t, task))
			keep(task, bench, rec)
			if i > 1 || c.Expect.Outcome != tare.Pass {
				continue
			}
			for _, v := range variants {
				if changed, ok, err := v.Make(task, rec); err != nil {
					t.Fatal(err)
				} else if ok {
					keep(task, bench, changed)
				}
			}
		}
		for _, bug := range []string{"scale-drops-the-request", "read-says-running", "create-makes-two", "operation-never-ends", "delete-takes-the-neighbour", "move-leaves-a-copy"} {
			if c := task.Controls[0]; c.Expect.Outcome == tare.Pass {
				keep(task, bench, playIn(t, task, c.Agent, simulated(t, task, bug)))
			}
		}
	}
	for _, off := range oracle.ScenarioRules() {
		rules := slices.DeleteFunc(oracle.ScenarioRules(), func(r oracle.ScenarioRule) bool { return r.ID == off.ID })
		benches := map[string]*oracle.Bench{}
		felt := slices.ContainsFunc(rows, func(r row) bool {
			if benches[r.task.ID] == nil {
				benches[r.task.ID] = oracle.NewBenchWith(rules, r.task)
			}
			return string(outcomeOnly(benches[r.task.ID].Judge(r.rec))) != string(r.want)
		})
		if !felt && !slices.Contains(notShown, off.ID) {
			t.Errorf("%s is switched off, and all %d rows come out as before", off.ID, len(rows))
		}
		if felt && slices.Contains(notShown, off.ID) {
			t.Errorf("%s is listed as one that no row shows, and one does", off.ID)
		}
	}
}

// outcomeOnly is what a row is compared by: the outcome and, of each gate, what became of it.
func outcomeOnly(v tare.Verdict) []byte {
	out := []string{string(v.Outcome), v.RootGate}
	for _, g := range v.Gates {
		out = append(out, string(g.Outcome))
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(err) // texts always encode
	}
	return b
}
