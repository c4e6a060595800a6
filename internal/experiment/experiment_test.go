package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/stats"
)

// TestOrder plays every episode once, in blocks, in an order that the seed alone decides.
func TestOrder(t *testing.T) {
	order := Order(4, 3, 2, 7)
	if diff := cmp.Diff(order, Order(4, 3, 2, 7)); diff != "" {
		t.Errorf("the same seed: %s", diff)
	}
	if cmp.Equal(order, Order(4, 3, 2, 8)) {
		t.Error("another seed gives the same order")
	}
	seen := map[Slot]bool{}
	first := map[int]int{}
	for i, s := range order {
		if s.Task < 0 || s.Task > 3 || s.Trial < 1 || s.Trial > 3 || s.Arm < 0 || s.Arm > 1 || seen[s] {
			t.Errorf("slot %+v is out of place", s)
		}
		seen[s] = true
		if i%2 == 0 {
			first[s.Arm]++
		} else if before := order[i-1]; before.Task != s.Task || before.Trial != s.Trial {
			t.Errorf("%+v is not beside %+v", before, s)
		}
	}
	if len(seen) != 24 || first[0] == 0 || first[1] == 0 {
		t.Errorf("%d of 24 slots; the first of a block is arm 0 %d times, arm 1 %d times", len(seen), first[0], first[1])
	}
}

func TestWatch(t *testing.T) {
	now := time.Unix(0, 0)
	dollar, half := 1.0, 0.5
	for name, tt := range map[string]struct {
		watch Watch
		ends  []func(w *Watch) string
		want  string // of the last
	}{
		"well":                {Watch{LostShare: 0.5, After: 2}, []func(*Watch) string{func(w *Watch) string { return w.Ended(0, true, nil) }, func(w *Watch) string { return w.Ended(0, false, nil) }}, ""},
		"too early to say":    {Watch{LostShare: 0.5, After: 2}, []func(*Watch) string{func(w *Watch) string { return w.Ended(0, true, nil) }}, ""},
		"lost":                {Watch{LostShare: 0.5, After: 2}, []func(*Watch) string{func(w *Watch) string { return w.Ended(0, true, nil) }, func(w *Watch) string { return w.Ended(0, true, nil) }}, "2 of 2 episodes of arm one were lost"},
		"dollars":             {Watch{Dollars: 1.5}, []func(*Watch) string{func(w *Watch) string { return w.Ended(0, false, &dollar) }, func(w *Watch) string { return w.Ended(0, false, &half) }}, "$1.5 is used up"},
		"dollars are left":    {Watch{Dollars: 1.6}, []func(*Watch) string{func(w *Watch) string { return w.Ended(0, false, &dollar) }, func(w *Watch) string { return w.Ended(0, false, &half) }}, ""},
		"dollars are unknown": {Watch{Dollars: 2}, []func(*Watch) string{func(w *Watch) string { return w.Ended(0, false, nil) }}, "not known what an episode cost"},
		"time":                {Watch{Wall: time.Minute}, []func(*Watch) string{func(w *Watch) string { now = now.Add(time.Minute); return w.Ended(0, false, nil) }}, "1m0s is used up"},
		"lost here and there": {Watch{LostShare: 0.5, After: 2}, []func(*Watch) string{func(w *Watch) string { return w.Ended(0, true, nil) }, func(w *Watch) string { return w.Ended(1, true, nil) }}, "2 of 2 episodes were lost"},
		"one arm is lost":     {Watch{LostShare: 0.5, After: 2}, []func(*Watch) string{func(w *Watch) string { return w.Ended(0, false, nil) }, func(w *Watch) string { return w.Ended(1, true, nil) }, func(w *Watch) string { return w.Ended(0, false, nil) }, func(w *Watch) string { return w.Ended(1, true, nil) }}, "2 of 2 episodes of arm two were lost"},
		"paid for nothing":    {Watch{Dollars: 1}, []func(*Watch) string{func(w *Watch) string { return w.Paid(&half) }, func(w *Watch) string { return w.Ended(0, false, &half) }}, "$1 is used up"},
		"nobody knows":        {Watch{Dollars: 1}, []func(*Watch) string{func(w *Watch) string { return w.Paid(nil) }}, "not known what"},
		"time is left":        {Watch{Wall: time.Minute}, []func(*Watch) string{func(w *Watch) string { now = now.Add(59 * time.Second); return w.Ended(0, false, nil) }}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tt.watch.Now, tt.watch.Arms = func() time.Time { return now }, []string{"one", "two"}
			tt.watch.Begin()
			got := ""
			for i, end := range tt.ends {
				if got = end(&tt.watch); got != "" && i+1 < len(tt.ends) {
					t.Fatalf("after %d: %s", i+1, got)
				}
			}
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// outcomes are rows of one arm on one task: p passed, f failed with 0, h failed with 0.85, u unverified between 0.5 and 1, i lost to
// infrastructure, - not played.
func outcomes(arm int, task, what string) []Row {
	reward := func(v float64) *float64 { return &v }
	gate := func(o tare.Outcome) []tare.Gate { return []tare.Gate{{Name: "behaviour", Outcome: o}} }
	var rows []Row
	for i, c := range what {
		r := Row{Arm: arm, Task: task, Trial: i + 1}
		switch c {
		case 'p':
			r.Verdict = tare.Verdict{Outcome: tare.Pass, Reward: reward(1), Gates: gate(tare.Pass)}
		case 'f':
			r.Verdict = tare.Verdict{Outcome: tare.Fail, Reward: reward(0), Gates: gate(tare.Fail)}
		case 'h':
			r.Verdict = tare.Verdict{Outcome: tare.Fail, Reward: reward(0.85), Gates: gate(tare.Blocked)}
		case 'u':
			r.Verdict = tare.Verdict{Outcome: tare.Unverified, RewardBounds: [2]float64{0.5, 1}, Gates: gate(tare.Unverified), Unfinished: true}
		case 'i':
			r.Verdict = tare.Verdict{Outcome: tare.Unverified, Cause: tare.CauseInfrastructure, RewardBounds: [2]float64{0, 1}, Gates: gate(tare.Blocked)}
		}
		rows = append(rows, r)
	}
	return rows
}

// design is of two arms on tasks named a, b, c and so on.
func design(tasks, trials int) Design {
	d := Design{Run: "r", Trials: trials, Arms: []Arm{{Name: "one"}, {Name: "two"}}, Compare: [][2]int{{0, 1}}}
	for i := range tasks {
		d.Tasks = append(d.Tasks, string(rune('a'+i)))
	}
	return d
}

// summarize takes, of each task, the outcomes of the first arm and those of the second.
func summarize(t *testing.T, trials int, tasks ...[2]string) Summary {
	t.Helper()
	d := design(len(tasks), trials)
	var rows []Row
	for i, task := range tasks {
		rows = append(append(rows, outcomes(0, d.Tasks[i], task[0])...), outcomes(1, d.Tasks[i], task[1])...)
	}
	s, err := Summarize(d, rows)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestArm(t *testing.T) {
	s := summarize(t, 3, [2]string{"pfh", "ppp"}, [2]string{"ppp", "pui"}, [2]string{"fff", "p--"})
	one, two := s.Arms[0], s.Arms[1]
	if diff := cmp.Diff(Counts{Planned: 9, Graded: 9, Passed: 4, Failed: 5}, one.Counts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Counts{Planned: 9, Graded: 5, Passed: 5, Unverified: 2, Infrastructure: 1, Unfinished: 1, NotPlayed: 2}, two.Counts); diff != "" {
		t.Error(diff)
	}
	if m := (1 + 0 + 0.85 + 3 + 0) / 9; math.Abs(one.Reward.Mean-m) > 1e-9 || one.Bounds[0] != one.Bounds[1] || math.Abs(one.Bounds[0]-m) > 1e-9 || one.Interval == nil {
		t.Errorf("reward of arm one: %+v, bounds %v, interval %v", one.Reward, one.Bounds, one.Interval)
	}
	if one.Pass.Value == nil || math.Abs(*one.Pass.Value-4.0/9) > 1e-9 || one.Pass.Units != 3 {
		t.Errorf("rate of arm one: %+v", one.Pass)
	}
	// one success and the rest without an answer is no rate of 100 %: E8 of what graders got wrong
	if two.Pass.Value != nil || math.Abs(two.Pass.Bounds[0]-5.0/9) > 1e-9 || two.Pass.Bounds[1] != 1 {
		t.Errorf("rate of arm two: %+v", two.Pass)
	}
	if low, high := (3+1+0.5+1)/9, (3+3+3)/9.0; math.Abs(two.Bounds[0]-low) > 1e-9 || math.Abs(two.Bounds[1]-high) > 1e-9 {
		t.Errorf("bounds of arm two: %v, want %v to %v", two.Bounds, low, high)
	}
	if diff := cmp.Diff([]Cell{{Task: "a", Counts: Counts{Planned: 3, Graded: 3, Passed: 1, Failed: 2}, Mean: one.Tasks[0].Mean, Bounds: one.Tasks[0].Bounds, Flaky: true, Varies: true}}, one.Flaky()); diff != "" {
		t.Error(diff)
	}
	if two.Flaky() != nil && len(two.Flaky()) > 0 {
		t.Errorf("without a failure nothing is flaky: %v", two.Flaky())
	}
	// gates: blocked by another one that failed is not asked; of arm two the unverified, what was lost and what was not played are open
	if g := one.Gates[0]; g.Right != 4 || g.Wrong != 4 || g.Open != 0 || g.Value == nil {
		t.Errorf("gate of arm one: %+v", g)
	}
	if g := two.Gates[0]; g.Right != 5 || g.Open != 4 || g.Value != nil {
		t.Errorf("gate of arm two: %+v", g)
	}
	// pass@2 and pass^2 of arm one: tasks with 1, 3 and 0 of 3
	if c := one.Chances[1]; math.Abs(c.At[0]-(2.0/3+1+0)/3) > 1e-9 || math.Abs(c.Hat[0]-1.0/3) > 1e-9 || c.At[0] != c.At[1] {
		t.Errorf("chances of arm one: %+v", c)
	}
	if c := two.Chances[2]; math.Abs(c.Hat[0]-1.0/3) > 1e-9 || c.Hat[1] != 1 {
		t.Errorf("chances of arm two: %+v", c)
	}
}

func TestPairs(t *testing.T) {
	better := func(n int) (tasks [][2]string) {
		for range n {
			tasks = append(tasks, [2]string{"hf", "pp"})
		}
		return tasks
	}
	for name, tt := range map[string]struct {
		tasks      [][2]string
		over, says string
		complete   int
		more, less int
	}{
		"better on all of eight":   {better(8), "tasks", "two scores 0.58 more than one, which chance alone would rarely make (p 0.0078)", 16, 8, 0},
		"the same on few":          {better(3), "tasks", "No difference between one and two is shown, and none could be: 3 tasks give a p of 0.2500 at least", 6, 3, 0},
		"nothing in common":        {[][2]string{{"pp", "ii"}}, "trials", "Nothing can be said of one and two: no pair of episodes has both rewards", 0, 0, 0},
		"what is open could undo":  {append(better(8), [][2]string{{"pp", "ii"}, {"pp", "ii"}, {"pp", "ii"}, {"pp", "ii"}, {"pp", "ii"}}...), "tasks", "Of the pairs with both rewards two differs from one by +0.58 (p 0.0078), but what has no verdict could undo that", 16, 8, 0},
		"now better and now worse": {append(better(4), [][2]string{{"pp", "ff"}, {"pp", "ff"}, {"pp", "pp"}}...), "tasks", "No difference between one and two is shown; one of ", 14, 4, 2},
		"better on five of eight":  {append(better(5), [][2]string{{"pp", "pp"}, {"ff", "ff"}, {"hh", "hh"}}...), "tasks", "No difference between one and two is shown: 5 of 8 tasks differ, and so few give a p of 0.0625 at least", 16, 5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := summarize(t, 2, tt.tasks...).Pairs[0]
			if !strings.HasPrefix(p.Says, tt.says) || p.Over != tt.over || p.Complete != tt.complete || p.More != tt.more || p.Less != tt.less {
				t.Errorf("%s\nover %s, %d complete, %d more, %d less", p.Says, p.Over, p.Complete, p.More, p.Less)
			}
			if p.OnlyFirst+p.OnlySecond+p.Both+p.Neither != p.Complete {
				t.Errorf("%d, %d, %d and %d pairs are not %d", p.OnlyFirst, p.OnlySecond, p.Both, p.Neither, p.Complete)
			}
			if p.Mean != nil && (*p.Mean < p.Bounds[0]-1e-9 || *p.Mean > p.Bounds[1]+1e-9) && p.Complete == p.Planned {
				t.Errorf("a mean of %v is outside of %v", *p.Mean, p.Bounds)
			}
		})
	}
}

// TestPairedByTrial pairs episodes by their trials and by nothing else: in the order of the rows these would be no difference.
func TestPairedByTrial(t *testing.T) {
	d := design(1, 2)
	rows := append(outcomes(0, "a", "pf"), outcomes(1, "a", "pf")...)
	rows[2], rows[3] = rows[3], rows[2]
	s, err := Summarize(d, rows)
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Pairs[0]; p.Both != 1 || p.Neither != 1 || p.Equal != 2 || *p.Mean != 0 {
		t.Errorf("%+v", p)
	}
}

func TestHolm(t *testing.T) {
	pairs := []PairSummary{{Worst: 0.03}, {Worst: 0.01}, {Worst: 0.04}}
	holm(pairs)
	for i, want := range []float64{0.06, 0.03, 0.06} { // R 4.2.2, p.adjust(c(0.03, 0.01, 0.04), "holm")
		if math.Abs(pairs[i].Holm-want) > 1e-12 {
			t.Errorf("%d: %v, want %v", i, pairs[i].Holm, want)
		}
	}
}

func TestNotes(t *testing.T) {
	for _, tt := range []struct {
		s    Summary
		want []string
	}{
		{summarize(t, 2, [2]string{"pp", "pi"}), []string{"One task", "Few trials: 2", "No verdict: 1 of"}},
		{summarize(t, 1, [2]string{"p", "p"}, [2]string{"p", "f"}), []string{"Small sample: 2 tasks", "One trial"}},
		{summarize(t, 5, [2]string{"ppppp", "fffff"}, [2]string{"ppppp", "fffff"}), []string{"Small sample", "McNemar", "came out the same in all trials"}},
		{summarize(t, 5, [2]string{"ppppf", "fffff"}).Ended("enough"), []string{"One task", "Stopped early: enough"}},
	} {
		all := strings.Join(tt.s.Notes, "\n")
		for _, want := range tt.want {
			if !strings.Contains(all, want) {
				t.Errorf("no %q in\n%s", want, all)
			}
		}
		if len(tt.s.Notes) != len(tt.want) {
			t.Errorf("%d notes, want %d:\n%s", len(tt.s.Notes), len(tt.want), all)
		}
	}
	d := design(1, 1)
	d.Arms[1].Fault = "tool=x,nth=1,kind=error"
	s, err := Summarize(d, append(outcomes(0, "a", "p"), outcomes(1, "a", "p")...))
	if err != nil || !strings.Contains(fmt.Sprint(s.Notes), "No episode of two met its fault") {
		t.Errorf("%v, %v", s.Notes, err)
	}
}

// TestAmounts has no total where one part is unknown, and counts failures into what a solve took.
func TestAmounts(t *testing.T) {
	d := design(1, 3)
	rows := append(outcomes(0, "a", "pff"), outcomes(1, "a", "ff-")...)
	for i := range rows {
		seconds := float64(i + 1)
		rows[i].Seconds = &seconds
		if i != 1 {
			rows[i].Dollars = &seconds
		}
	}
	s, err := Summarize(d, rows)
	if err != nil {
		t.Fatal(err)
	}
	one, two := s.Arms[0], s.Arms[1]
	if one.Seconds.Sum == nil || *one.Seconds.Sum != 6 || *one.Seconds.Each != 2 || *one.Seconds.PerSolved != 6 {
		t.Errorf("seconds of arm one: %+v", one.Seconds)
	}
	if one.Dollars.Sum != nil || one.Dollars.Each != nil || one.Dollars.Known != 2 || one.Dollars.Of != 3 {
		t.Errorf("dollars of arm one: %+v", one.Dollars)
	}
	if two.Seconds.Of != 2 || *two.Seconds.Sum != 9 || two.Seconds.PerSolved != nil {
		t.Errorf("seconds of arm two, which solved nothing: %+v", two.Seconds)
	}
}

// TestCheck refuses rows that are not those of the design, each in one way.
func TestCheck(t *testing.T) {
	nan, much := math.NaN(), 1.5
	for name, tt := range map[string]struct {
		spoil func(d *Design, rows []Row) []Row
		want  string
	}{
		"as planned":          {func(_ *Design, rows []Row) []Row { return rows }, ""},
		"one is missing":      {func(_ *Design, rows []Row) []Row { return rows[1:] }, "there are 7 of 8 planned episodes"},
		"one is there twice":  {func(_ *Design, rows []Row) []Row { return append(rows[1:], rows[1]) }, "arm one has two episodes of a, trial 2"},
		"one trial more":      {func(_ *Design, rows []Row) []Row { rows[0].Trial = 3; return rows }, "trial 3 was not planned"},
		"another task":        {func(_ *Design, rows []Row) []Row { rows[0].Task = "z"; return rows }, "arm 0, z, trial 1 was not planned"},
		"another arm":         {func(_ *Design, rows []Row) []Row { rows[0].Arm = 2; return rows }, "arm 2, a, trial 1 was not planned"},
		"a task twice":        {func(d *Design, rows []Row) []Row { d.Tasks[1] = "a"; return rows }, "task a is in the design twice"},
		"an arm with itself":  {func(d *Design, rows []Row) []Row { d.Compare[0] = [2]int{1, 1}; return rows }, "no two arms 1 and 1"},
		"no trials":           {func(d *Design, rows []Row) []Row { d.Trials = 0; return rows }, "compares nothing"},
		"no number":           {func(_ *Design, rows []Row) []Row { rows[0].Verdict.Reward = &nan; return rows }, "arm one, a, trial 1: a reward of NaN"},
		"more than all":       {func(_ *Design, rows []Row) []Row { rows[0].Verdict.Reward = &much; return rows }, "a reward of 1.5"},
		"passed for nothing":  {func(_ *Design, rows []Row) []Row { rows[0].Verdict.Reward = nil; return rows }, "PASS without a reward"},
		"bounds of no number": {func(_ *Design, rows []Row) []Row { rows[0].Verdict.RewardBounds[1] = nan; return rows }, "a reward from 0 to NaN"},
		"bounds turned round": {func(_ *Design, rows []Row) []Row { rows[0].Verdict.RewardBounds = [2]float64{0.5, 0.1}; return rows }, "a reward from 0.5 to 0.1"},
		"another answer":      {func(_ *Design, rows []Row) []Row { rows[0].Verdict.Outcome = "MAYBE"; return rows }, `no outcome "MAYBE"`},
		"a cost of no number": {func(_ *Design, rows []Row) []Row { rows[0].Dollars = &nan; return rows }, "it took NaN dollars"},
	} {
		t.Run(name, func(t *testing.T) {
			d := design(2, 2)
			rows := slices.Concat(outcomes(0, "a", "pf"), outcomes(0, "b", "pf"), outcomes(1, "a", "pf"), outcomes(1, "b", "pf"))
			_, err := Summarize(d, tt.spoil(&d, rows))
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// TestMissingWidens has no interval that is as narrow as if what has no verdict were not there.
func TestMissingWidens(t *testing.T) {
	tasks := [][2]string{{"pp", "pp"}, {"ff", "pp"}, {"pp", "ff"}, {"ff", "ff"}, {"ph", "pp"}}
	whole := summarize(t, 2, tasks...)
	for _, lost := range []string{"i", "u", "-"} {
		less := slices.Clone(tasks)
		less[0][0] = "p" + lost
		s := summarize(t, 2, less...)
		for what, i := range map[string][2]*stats.Interval{"reward": {whole.Arms[0].Interval, s.Arms[0].Interval}, "difference": {whole.Pairs[0].Interval, s.Pairs[0].Interval}} {
			if i[0] == nil || i[1] == nil || i[1].Width() < i[0].Width() || lost != "u" && i[1].Width() == i[0].Width() || i[1].Low > i[0].Low && i[1].High < i[0].High {
				t.Errorf("%s: %s: %v, and with all verdicts %v", lost, what, i[1], i[0])
			}
		}
		if p := s.Pairs[0]; p.Percentile != nil || whole.Pairs[0].Percentile == nil {
			t.Errorf("%s: percentile interval %v", lost, p.Percentile)
		}
	}
	// a verdict of nothing with bounds of nothing is no reward of 0
	d := design(1, 1)
	rows := append(outcomes(0, "a", "p"), outcomes(1, "a", "i")...)
	rows[1].Verdict.RewardBounds = [2]float64{}
	if s, err := Summarize(d, rows); err != nil || s.Arms[1].Bounds != [2]float64{0, 1} {
		t.Errorf("%v, %v", s.Arms[1].Bounds, err)
	}
}

// TestManyComparisons is more careful the more is compared: six tasks that all differ show something of two arms, and nothing of four.
func TestManyComparisons(t *testing.T) {
	d := design(6, 1)
	var rows []Row
	for arm := range 4 {
		for _, task := range d.Tasks {
			rows = append(rows, outcomes(arm, task, string("fphh"[arm]))...)
		}
	}
	d.Arms = []Arm{{Name: "one"}, {Name: "two"}, {Name: "three"}, {Name: "four"}}
	d.Compare = [][2]int{{0, 1}, {0, 2}, {0, 3}}
	s, err := Summarize(d, rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Pairs {
		if !strings.Contains(p.Says, " is shown, and none could be: 6 tasks give a p of 0.0938 at least") {
			t.Errorf("of three comparisons: %s", p.Says)
		}
	}
	d.Arms, d.Compare = d.Arms[:2], d.Compare[:1]
	if s, err = Summarize(d, rows[:12]); err != nil || !strings.HasPrefix(s.Pairs[0].Says, "two scores 1.00 more than one") {
		t.Errorf("of one: %s, %v", s.Pairs[0].Says, err)
	}
}

// TestSmallestBeyondReward says of no difference that one of more than all would have shown.
func TestSmallestBeyondReward(t *testing.T) {
	var tasks [][2]string
	for i := range 6 {
		tasks = append(tasks, [][2]string{{"p", "f"}, {"f", "p"}}[i%2])
	}
	p := summarize(t, 1, tasks...).Pairs[0]
	if p.Smallest == nil || *p.Smallest <= 1 || !strings.Contains(p.Says, "more than rewards can differ") {
		t.Errorf("%s: %v", p.Says, p.Smallest)
	}
}

// TestNotesOfWhatWasNotCompared says what was played again, judged by several graders, or left out.
func TestNotesOfWhatWasNotCompared(t *testing.T) {
	d := design(1, 1)
	d.LeftOut = []string{"x"}
	rows := append(outcomes(0, "a", "p"), outcomes(1, "a", "p")...)
	rows[0].Verdict.Grader, rows[1].Verdict.Grader, rows[1].Again = "sha256:a", "sha256:b", 2
	s, err := Summarize(d, rows)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(s.Notes, "\n")
	for _, want := range []string{"Played again: 2 attempts that infrastructure ended, of two 2", "Verdicts of 2 graders", "tare regrade r", "can be played on them: x."} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
}
