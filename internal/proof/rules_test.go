package proof

import (
	"slices"
	"testing"

	"tare"
	"tare/internal/oracle"
	"tare/internal/run"
)

// unfelt says of rules that no row of the suite can feel, why that is so.
var unfelt = map[string]string{}

// A suiteRow is one row of the proof of the suite: a record that is judged, and what must come of it.
type suiteRow struct {
	name   string
	bench  *oracle.Bench
	record tare.Record
	misses func(tare.Verdict) string
}

// suiteRows plays every scripted agent of every scenario and makes every variant of the good episode of each.
func suiteRows(t *testing.T) []suiteRow {
	t.Helper()
	variants, err := Variants()
	if err != nil {
		t.Fatal(err)
	}
	var rows []suiteRow
	tasks := scenarios(t)
	tasks = append(slices.DeleteFunc(slices.Clone(tasks), func(x *tare.Task) bool { return x.ID == longList }), scenario(t, "find_over_pages")) // its rows cost most
	for _, task := range tasks {
		bench := oracle.NewBench(task)
		var played []run.Result
		for _, c := range task.Controls {
			rec := playIn(t, task, c.Agent, simulated(t, task))
			played = append(played, run.Result{Record: rec})
			rows = append(rows, suiteRow{task.ID + " " + c.Name, bench, rec, func(v tare.Verdict) string { return wrong(c.Expect, got(v)) }})
		}
		good := goodControl(task.Controls, func(i int) int { return len(played[i].Record.Trajectory.Steps) })
		for _, v := range variants {
			by, rec, fits, err := v.Make(task, played[good].Record)
			if err != nil {
				t.Fatal(err)
			}
			if !fits {
				continue
			}
			row := suiteRow{task.ID + " variant:" + v.Name, bench, rec, v.misses}
			if by != task {
				row.bench = oracle.NewBench(by)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// TestSuiteFeelsEveryRule switches each rule of the oracle off in turn and judges the rows of the suite again: one of them at
// least must not come out as it must any more, so that a proof of the suite shows it when a rule does nothing.
func TestSuiteFeelsEveryRule(t *testing.T) {
	rows := suiteRows(t)
	whole := make([]tare.Verdict, len(rows))
	for i, r := range rows {
		whole[i] = r.bench.Judge(r.record)
		if why := r.misses(whole[i]); why != "" {
			t.Errorf("%s with all rules in force: %s", r.name, why)
		}
	}
	known := map[string]bool{}
	for _, rule := range oracle.ScenarioRules() {
		known[rule.ID] = true
		without := map[*oracle.Bench]*oracle.Bench{}
		felt := ""
		for i, r := range rows {
			if g, ok := whole[i].Gate(rule.Gate); ok && g.Outcome == tare.Pass && rule.ID != "errors/in-success" {
				continue // it had nothing to say
			}
			bench, ok := without[r.bench]
			if !ok {
				bench = r.bench.Without(rule.ID)
				without[r.bench] = bench
			}
			if why := r.misses(bench.Judge(r.record)); why != "" {
				felt = r.name + ": " + why
				break
			}
		}
		switch {
		case felt == "" && unfelt[rule.ID] == "":
			t.Errorf("no row of the suite feels it when %s is off", rule.ID)
		case felt != "" && unfelt[rule.ID] != "":
			t.Errorf("%s is said to be felt by no row, and %s", rule.ID, felt)
		default:
			t.Logf("%s is felt by %s", rule.ID, felt)
		}
	}
	for id := range unfelt {
		if !known[id] {
			t.Errorf("%s is said to be felt by no row, and there is no such rule", id)
		}
	}
}
