package proof

import (
	"testing"

	"tare"
	"tare/internal/oracle"
	"tare/internal/run"
)

// TestVariantsOfScenarios makes every variant of the good episode of every scenario: each must come out as the library says,
// enough of them must fit each scenario, and each must fit enough scenarios.
func TestVariantsOfScenarios(t *testing.T) {
	var tables []Table
	for _, task := range scenarios(t) {
		bench := oracle.NewBench(task)
		good := task.Controls[goodControl(task.Controls, func(i int) int { return len(scriptOf(t, task, task.Controls[i].Agent).Steps) })]
		rec := playIn(t, task, good.Agent, simulated(t, task))
		rows, unfit, err := variantRows(task, []run.Result{{Record: rec, Verdict: bench.Judge(rec)}}, func(by *tare.Task, r tare.Record) tare.Verdict {
			if by != task {
				return oracle.NewBench(by).Judge(r)
			}
			return bench.Judge(r)
		})
		if err != nil {
			t.Fatal(err)
		}
		table := Table{Task: task.ID, Rows: rows, Unfit: unfit}
		for _, r := range rows {
			if !r.OK {
				t.Errorf("%s, %s of %s: %s\n  the grader said: %s, %s: %s", task.ID, r.Control, good.Name, r.Wrong, r.Got.Outcome, r.Got.Gate, r.Got.Reason)
			}
		}
		if why := table.Gold(); why != "" {
			t.Errorf("%s is not gold: %s; unfit: %v", task.ID, why, unfit)
		}
		tables = append(tables, table)
	}
	counts, err := Applied(tables)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		t.Logf("%-34s %-10s %d", c.Name, c.Kind, c.Times)
		if !c.Enough() {
			t.Errorf("the variant %s is made of %d scenarios; at least %d are needed", c.Name, c.Times, minApplied)
		}
	}
}
