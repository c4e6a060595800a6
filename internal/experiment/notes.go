package experiment

import (
	"fmt"
	"slices"
	"strings"

	"tare"
)

// notes say what to keep in mind with the numbers at hand.
func notes(s Summary) []string {
	out := []string{}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch n := len(s.Tasks); {
	case n == 1:
		add("One task: intervals and tests are over its trials and speak of this task alone.")
	case n < fewest:
		add("Small sample: %d tasks. Intervals over so few hold the truth less often than they say.", n)
	}
	if s.Trials == 1 {
		add("One trial: how much the same arm differs from itself is not known, and no task can be seen to be flaky.")
	} else if s.Trials < 5 {
		add("Few trials: %d of each task, so that a task that fails now and then is easily missed.", s.Trials)
	}
	open, again, spread := 0, 0, false
	var graders []tare.Digest
	for _, a := range s.Arms {
		open += a.Open()
		again += a.Again
		graders = append(graders, a.Graders...)
		spread = spread || slices.ContainsFunc(a.Tasks, func(c Cell) bool { return c.Varies })
		if a.Fault != "" && a.Faults == 0 && a.Planned > a.NotPlayed {
			add("No episode of %s met its fault (%s): is there such a tool, and is it called so often?", a.Name, a.Fault)
		}
	}
	if open > 0 {
		add("No verdict: %d of the planned episodes. They count as neither success nor failure, and bounds stand where a rate would hide them.", open)
	}
	if again > 0 {
		add("Played again: %d attempts that infrastructure ended, of %s. If what an agent does can bring that about, those that count are chosen.", again, s.perArm(func(a ArmSummary) int { return a.Again }))
	}
	slices.Sort(graders)
	if n := len(slices.Compact(graders)); n > 1 {
		add("Verdicts of %d graders are compared, as after an update of tare: tare regrade %s has one of them judge all.", n, s.Run)
	}
	if len(s.LeftOut) > 0 {
		add("Left out, since not every arm can be played on them: %s.", strings.Join(s.LeftOut, ", "))
	}
	if len(s.Tasks) > 1 && s.Trials > 1 && len(s.Pairs) > 0 {
		add("McNemar's test counts pairs of episodes, of which those of one task are alike: its p is too small where tasks differ. The tests over tasks are the ones to go by.")
	}
	if !spread && open == 0 && s.Trials > 1 {
		add("Every arm came out the same in all trials of a task, as scripted agents do: here trials add nothing to what one of them says.")
	}
	if len(s.Pairs) > 1 {
		add("%d comparisons: what is said of each rests on its p after Holm's correction.", len(s.Pairs))
	}
	if s.Stopped != "" {
		add("Stopped early: %s. What was not played is open.", s.Stopped)
	}
	return out
}

// perArm lists a number of each arm of which it is not 0.
func (s Summary) perArm(of func(ArmSummary) int) string {
	var parts []string
	for _, a := range s.Arms {
		if n := of(a); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", a.Name, n))
		}
	}
	return strings.Join(parts, ", ")
}

// definitions are what the words of a summary mean.
func definitions(d Design) []string {
	over := "tasks, since attempts at one task are alike"
	if len(d.Tasks) == 1 {
		over = "trials of the one task"
	}
	among := ""
	if n := len(d.Compare); n > 1 {
		among = fmt.Sprintf(", at a level of 0.05 / %d for so many comparisons", n)
	}
	return []string{
		"pass@k: the chance that at least one of k attempts at a task passes, 1 - C(n-c,k)/C(n,k) of n attempts of which c passed, averaged over tasks.",
		"pass^k: the chance that all of k attempts at a task pass, C(c,k)/C(n,k), averaged over tasks.",
		"Intervals are at 95 %: Wilson's for rates, the BCa bootstrap for mean rewards and differences; both count " + over + ". Where verdicts are missing they reach from the low end, were all of them as bad as can be, to the high end, were they as good.",
		"Differences are paired by task and trial. The sign and permutation tests are two-sided and exact; with more than 20 units the latter is drawn. Where verdicts are missing a difference is called shown only if its p stays below 0.05 were all of them against it.",
		"The smallest difference is the one that a paired t test at 0.05 finds in 80 of 100 experiments with so many units that vary as much" + among + ".",
		"Flaky: some episodes of an arm on a task passed and some failed. Per solve: all that the arm took, by its passes.",
	}
}
