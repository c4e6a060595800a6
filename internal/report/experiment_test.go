package report

import (
	"bytes"
	"strings"
	"testing"

	"tare"
	"tare/internal/experiment"
)

// experimentOf is an experiment in which every kind of cell occurs, with names that are s beside others.
func experimentOf(t *testing.T, s string) (experiment.Summary, Result) {
	t.Helper()
	d := experiment.Design{
		Title: "Three arms" + s, Run: "4b1d" + s, Tasks: []string{inventory + s, ledger, shipping}, Trials: 3, Seed: 7, Compare: [][2]int{{0, 1}, {0, 2}},
		Arms: []experiment.Arm{{Name: "baseline" + s, Agent: "baseline"}, {Name: "advanced", Agent: "advanced"}, {Name: "advanced, run_tests fails", Agent: "advanced", Fault: "tool=run_tests,nth=1,kind=error"}},
	}
	var rows []experiment.Row
	r := Result{Run: d.Run}
	for i, cell := range []string{"hhh", "hhh", "hfh", "ppp", "ppp", "php", "ppu", "pii", "p--"} {
		arm, task := i/3, d.Tasks[i%3]
		for trial, c := range cell {
			gate := tare.Gate{Name: tare.GateRegressionTest + s, Need: tare.Required, Outcome: tare.Pass}
			reward := 1.0
			switch c {
			case 'h':
				gate.Outcome, reward = tare.Fail, 0.85
			case 'f':
				gate.Outcome, reward = tare.Fail, 0
			case 'u', 'i':
				gate.Outcome = tare.Unverified
			}
			row := episode(task, d.Arms[arm].Agent, trial+1, reward, gate)
			if gate.Outcome == tare.Unverified {
				row.Verdict.Reward, row.Verdict.RewardBounds = nil, [2]float64{0.85, 1}
			}
			if c == 'i' {
				row.Verdict.Cause = tare.CauseInfrastructure
			}
			if c == '-' {
				row.Verdict, row.Trajectory = tare.Verdict{}, tare.Trajectory{}
			}
			seconds := 1.5 + float64(trial)
			one := experiment.Row{Arm: arm, Task: task, Trial: trial + 1, Verdict: row.Verdict, Seconds: &seconds}
			if arm == 2 {
				one.Faults, one.Spoilt, one.Recovered = 1, 1, trial%2
			} else {
				one.Dollars, one.Tokens = &seconds, &seconds
			}
			rows = append(rows, one)
			r.Rows = append(r.Rows, row)
		}
	}
	sum, err := experiment.Summarize(d, rows)
	if err != nil {
		t.Fatal(err)
	}
	return sum, r
}

func TestExperimentForms(t *testing.T) {
	s, r := experimentOf(t, "")
	for name, write := range map[string]func(b *bytes.Buffer) error{
		"experiment.txt":    func(b *bytes.Buffer) error { return Experiment(b, s, r.Rows, Options{}) },
		"experiment_60.txt": func(b *bytes.Buffer) error { return Experiment(b, s, r.Rows, Options{Width: 60}) },
		"experiment.md":     func(b *bytes.Buffer) error { return ExperimentMarkdown(b, s, r.Rows) },
		"experiment.html":   func(b *bytes.Buffer) error { return ExperimentHTML(b, s, r) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
			if width := map[string]int{"experiment.txt": 100, "experiment_60.txt": 60}[name]; width > 0 {
				for l := range strings.Lines(b.String()) {
					if n := columns(strings.TrimSuffix(l, "\n")); n > width {
						t.Errorf("%d columns: %s", n, l)
					}
				}
			}
		})
	}
}

// TestExperimentHostile shows names that others chose, in every form, without what they could do there.
func TestExperimentHostile(t *testing.T) {
	for _, s := range []string{"<script>alert(1)</script>", "</text></svg><img src=x onerror=y>", "\x1b[2J", "a|b\n# c", "over\u202ewrite", "[x](javascript:y)", strings.Repeat("long ", 2000)} {
		sum, r := experimentOf(t, s)
		var text, md, page bytes.Buffer
		for _, err := range []error{Experiment(&text, sum, r.Rows, Options{}), ExperimentMarkdown(&md, sum, r.Rows), ExperimentHTML(&page, sum, r)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for form, out := range map[string]string{"text": text.String(), "markdown": md.String(), "page": page.String()} {
			if strings.ContainsAny(out, "\x1b\u202e") {
				t.Errorf("%q moves the cursor or turns text round in %s", s, form)
			}
		}
		for _, bad := range []string{"<script", "<img", "onerror=y>"} {
			if strings.Contains(page.String(), bad) {
				t.Errorf("%q is live in the page", bad)
			}
			if strings.Contains(strings.ReplaceAll(md.String(), `\<`, ""), bad) {
				t.Errorf("%q is live in Markdown", bad)
			}
		}
		if strings.Contains(md.String(), "\n# c") || strings.Contains(md.String(), "[x](") {
			t.Errorf("%q means something in Markdown", s)
		}
		for l := range strings.Lines(text.String()) {
			if n := columns(strings.TrimSuffix(l, "\n")); n > 100 {
				t.Errorf("%d columns: %.200s", n, l)
			}
		}
	}
}

// TestForest draws what it says: the right side is the second arm's.
func TestForest(t *testing.T) {
	s, _ := experimentOf(t, "")
	f := newForest(s.Pairs[0])
	for i, row := range f.Rows {
		if !row.Has || !row.Total && (row.Mean > f.Zero) != (row.Class == "pass") || row.Mean < f.Left || row.Mean > f.Right || row.Y > float64(f.Axis()) {
			t.Errorf("row %d: %+v, zero at %v", i, row, f.Zero)
		}
	}
	if last := f.Rows[len(f.Rows)-1]; !last.Total || last.Class != "none" || !last.Interval || last.Low > last.Mean || last.End < last.Mean {
		t.Errorf("the mean: %+v", last)
	}
	open := newForest(s.Pairs[1])
	if !open.Rows[0].Interval || open.Rows[0].Low >= open.Rows[0].End {
		t.Errorf("a task with open verdicts has no bar: %+v", open.Rows[0])
	}
}
