package experiment

import (
	"fmt"
	"math"
	"slices"

	"tare"
)

// check holds rows to their design: every planned episode once, nothing else, and verdicts that say what theirs can.
func check(d Design, rows []Row) error {
	type slot struct {
		arm   int
		task  string
		trial int
	}
	if d.Trials < 1 || len(d.Tasks) == 0 || len(d.Arms) == 0 {
		return fmt.Errorf("a design of %d arms, %d tasks and %d trials compares nothing", len(d.Arms), len(d.Tasks), d.Trials)
	}
	for i, t := range d.Tasks {
		if slices.Contains(d.Tasks[:i], t) {
			return fmt.Errorf("task %s is in the design twice", t)
		}
	}
	for _, p := range d.Compare {
		if p[0] == p[1] || min(p[0], p[1]) < 0 || max(p[0], p[1]) >= len(d.Arms) {
			return fmt.Errorf("there are no two arms %d and %d to compare", p[0], p[1])
		}
	}
	seen := map[slot]bool{}
	for _, r := range rows {
		at := slot{r.Arm, r.Task, r.Trial}
		switch {
		case r.Arm < 0 || r.Arm >= len(d.Arms) || r.Trial < 1 || r.Trial > d.Trials || !slices.Contains(d.Tasks, r.Task):
			return fmt.Errorf("arm %d, %s, trial %d was not planned", r.Arm, r.Task, r.Trial)
		case seen[at]:
			return fmt.Errorf("arm %s has two episodes of %s, trial %d", d.Arms[r.Arm].Name, r.Task, r.Trial)
		}
		seen[at] = true
		if err := sound(r); err != nil {
			return fmt.Errorf("arm %s, %s, trial %d: %w", d.Arms[r.Arm].Name, r.Task, r.Trial, err)
		}
	}
	if want := len(d.Arms) * len(d.Tasks) * d.Trials; len(rows) != want {
		return fmt.Errorf("there are %d of %d planned episodes", len(rows), want)
	}
	return nil
}

// sound refuses a row whose numbers cannot be what they are of.
func sound(r Row) error {
	in := func(v float64) bool { return v >= 0 && v <= 1 } // which no NaN is
	v := r.Verdict
	switch {
	case !slices.Contains([]tare.Outcome{"", tare.Pass, tare.Fail, tare.Unverified}, v.Outcome):
		return fmt.Errorf("there is no outcome %q", v.Outcome)
	case (v.Outcome == tare.Pass || v.Outcome == tare.Fail) && v.Reward == nil:
		return fmt.Errorf("it is %s without a reward", v.Outcome)
	case v.Reward != nil && !in(*v.Reward):
		return fmt.Errorf("a reward of %v is not from 0 to 1", *v.Reward)
	case !in(v.RewardBounds[0]) || !in(v.RewardBounds[1]) || v.RewardBounds[0] > v.RewardBounds[1]:
		return fmt.Errorf("a reward from %v to %v is not within 0 and 1", v.RewardBounds[0], v.RewardBounds[1])
	}
	for what, n := range map[string]*float64{"seconds": r.Seconds, "dollars": r.Dollars, "tokens": r.Tokens} {
		if n != nil && !(*n >= 0 && *n <= math.MaxFloat64) {
			return fmt.Errorf("it took %v %s", *n, what)
		}
	}
	return nil
}
