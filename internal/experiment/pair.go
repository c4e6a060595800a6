package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tare"
	"tare/internal/stats"
)

// A Diff is by how much the second arm's reward is above the first one's on one task.
type Diff struct {
	Task   string     `json:"task"`
	Mean   *float64   `json:"mean"`   // over the trials that both have an answer to; nil when there is none
	Bounds [2]float64 `json:"bounds"` // over all trials, given what is unknown
}

// A PairSummary compares the second arm with the first: all differences are second less first.
type PairSummary struct {
	First  string `json:"first"`
	Second string `json:"second"`

	Planned  int    `json:"planned"`  // pairs of episodes: one task, one trial
	Complete int    `json:"complete"` // of which both have a reward
	Over     string `json:"over"`     // what the tests below count: tasks, or trials of the one task
	Units    int    `json:"units"`

	Mean       *float64        `json:"mean"`       // difference of complete pairs, task by task; nil of none
	Interval   *stats.Interval `json:"interval"`   // of the mean over all pairs, bootstrapped (BCa), as of an arm's reward; nil where all units differ alike
	Percentile *stats.Interval `json:"percentile"` // the same by the plain percentile method, where every pair is complete
	Bounds     [2]float64      `json:"bounds"`     // of the mean over all that was planned, given what is unknown
	SD         *float64        `json:"sd"`         // of the differences of units

	More        int     `json:"more"` // units on which the second arm did better, worse, the same
	Less        int     `json:"less"`
	Equal       int     `json:"equal"`
	Sign        float64 `json:"p_sign"`
	Permutation float64 `json:"p_permutation"`
	Exact       bool    `json:"permutation_exact"`
	Worst       float64 `json:"p_worst"` // of the permutation test, were all that is open against the difference
	Holm        float64 `json:"p_holm"`  // of that, for as many comparisons as there are

	Both       int     `json:"both_passed"` // complete pairs of episodes by their outcomes
	OnlyFirst  int     `json:"only_first_passed"`
	OnlySecond int     `json:"only_second_passed"`
	Neither    int     `json:"neither_passed"`
	McNemar    float64 `json:"p_mcnemar"`

	Smallest *float64 `json:"smallest_difference"` // that these units show in 80 % of experiments; nil where they do not vary. Above 1 no difference of rewards would show
	LeastP   float64  `json:"least_p"`             // that so many units can give, after Holm's correction for so many comparisons

	Tasks []Diff `json:"tasks"`
	Says  string `json:"says"`
}

func comparePair(d Design, p [2]int, first, second map[string][]Row) (PairSummary, error) {
	s := PairSummary{First: d.Arms[p[0]].Name, Second: d.Arms[p[1]].Name, Over: "tasks"}
	var values []float64
	var could [][2]float64
	for _, task := range d.Tasks {
		diff, each, ends := s.task(task, first[task], second[task])
		if len(d.Tasks) > 1 {
			ends = [][2]float64{diff.Bounds}
		}
		could = append(could, ends...)
		s.Tasks = append(s.Tasks, diff)
		s.Bounds[0] += diff.Bounds[0] / float64(len(d.Tasks))
		s.Bounds[1] += diff.Bounds[1] / float64(len(d.Tasks))
		switch {
		case len(d.Tasks) == 1:
			values, s.Over = each, "trials"
		case diff.Mean != nil:
			values = append(values, *diff.Mean)
		}
	}
	s.Interval = widest(could, d)
	if err := s.test(values, d); err != nil {
		return s, err
	}
	s.Worst = s.worst(could, d)
	return s, nil
}

// worst is the p of the permutation test over what units could be, were everything without a verdict against the difference that the
// others show. That the mean keeps its side then is not enough: where failures get lost, it does every other time by chance.
func (s *PairSummary) worst(could [][2]float64, d Design) float64 {
	if s.Complete == s.Planned || s.Mean == nil {
		return s.Permutation
	}
	side := 0
	if *s.Mean < 0 {
		side = 1
	}
	values, sum := make([]float64, len(could)), 0.0
	for i, c := range could {
		if math.Abs(c[side]) >= equal {
			values[i] = c[side]
		}
		sum += values[i]
	}
	if sum**s.Mean <= 0 {
		return 1
	}
	p, _ := stats.Permutation(values, d.resamples(), uint64(d.Seed))
	return max(p, s.Permutation)
}

// task pairs the episodes of one task by their trials: their differences, and what each planned one could be.
func (s *PairSummary) task(task string, first, second []Row) (diff Diff, each []float64, could [][2]float64) {
	diff = Diff{Task: task}
	byTrial := map[int]Row{}
	for _, r := range first {
		byTrial[r.Trial] = r
	}
	for _, b := range second {
		a, ok := byTrial[b.Trial]
		if !ok {
			continue
		}
		s.Planned++
		x, y := boundsOf(a.Verdict), boundsOf(b.Verdict)
		diff.Bounds[0] += (y[0] - x[1]) / float64(len(second))
		diff.Bounds[1] += (y[1] - x[0]) / float64(len(second))
		could = append(could, [2]float64{y[0] - x[1], y[1] - x[0]})
		if !known(a.Verdict) || !known(b.Verdict) {
			continue
		}
		s.Complete++
		each = append(each, *b.Verdict.Reward-*a.Verdict.Reward)
		switch one, two := a.Verdict.Outcome == tare.Pass, b.Verdict.Outcome == tare.Pass; {
		case one && two:
			s.Both++
		case one:
			s.OnlyFirst++
		case two:
			s.OnlySecond++
		default:
			s.Neither++
		}
	}
	if len(each) > 0 {
		m := stats.Mean(each)
		diff.Mean = &m
	}
	return diff, each, could
}

// equal is how near two means are that differ by rounding only.
const equal = 1e-9

// test asks what the differences of the units show.
func (s *PairSummary) test(values []float64, d Design) (err error) {
	for i, v := range values {
		switch {
		case math.Abs(v) < equal:
			values[i] = 0
			s.Equal++
		case v > 0:
			s.More++
		default:
			s.Less++
		}
	}
	s.Units, s.LeastP = len(values), min(1, stats.LeastP(len(values))*float64(len(d.Compare)))
	about := stats.Describe(values)
	if about.N > 0 {
		s.Mean = &about.Mean
	}
	s.SD = about.SD
	if i, ok := stats.Bootstrap(len(values), d.resamples(), uint64(d.Seed), func(drawn []int) (float64, bool) {
		sum := 0.0
		for _, k := range drawn {
			sum += values[k]
		}
		return sum / float64(len(drawn)), true
	}); ok && s.Interval != nil && s.Complete == s.Planned {
		s.Percentile = &i
	}
	if s.Sign, err = stats.SignTest(s.More, s.Less); err != nil {
		return err
	}
	s.Permutation, s.Exact = stats.Permutation(values, d.resamples(), uint64(d.Seed))
	if s.McNemar, err = stats.McNemar(s.OnlyFirst, s.OnlySecond); err != nil {
		return err
	}
	if s.SD != nil && *s.SD > equal {
		least, err := stats.SmallestDifference(*s.SD, about.N, alpha/float64(len(d.Compare)), power)
		if err != nil {
			return err
		}
		s.Smallest = &least
	}
	return nil
}

// holm corrects the p of several comparisons by Holm's method, and says what each shows.
func holm(pairs []PairSummary) {
	order := make([]int, len(pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(pairs[a].Worst, pairs[b].Worst) })
	worst := 0.0
	for rank, i := range order {
		worst = max(worst, min(1, pairs[i].Worst*float64(len(pairs)-rank)))
		pairs[i].Holm = worst
	}
	for i := range pairs {
		pairs[i].Says = pairs[i].says()
	}
}

// says is what a comparison shows, in a sentence. A difference is shown when chance alone would rarely make it and what is unknown
// cannot undo it.
func (s PairSummary) says() string {
	switch {
	case s.Mean == nil:
		return fmt.Sprintf("Nothing can be said of %s and %s: no pair of episodes has both rewards", s.First, s.Second)
	case s.Holm < alpha && *s.Mean > 0 && s.Bounds[0] > 0:
		return fmt.Sprintf("%s scores %.2f more than %s, which chance alone would rarely make (p %s)", s.Second, *s.Mean, s.First, P(s.Holm))
	case s.Holm < alpha && *s.Mean < 0 && s.Bounds[1] < 0:
		return fmt.Sprintf("%s scores %.2f less than %s, which chance alone would rarely make (p %s)", s.Second, -*s.Mean, s.First, P(s.Holm))
	case s.Permutation < alpha && s.Worst >= alpha:
		return fmt.Sprintf("Of the pairs with both rewards %s differs from %s by %+.2f (p %s), but what has no verdict could undo that", s.Second, s.First, *s.Mean, P(s.Permutation))
	case s.LeastP >= alpha:
		return fmt.Sprintf("No difference between %s and %s is shown, and none could be: %d %s give a p of %s at least", s.First, s.Second, s.Units, s.Over, P(s.LeastP))
	case s.LeastP*math.Exp2(float64(s.Equal)) >= alpha: // units that come out the same give no signs
		return fmt.Sprintf("No difference between %s and %s is shown: %d of %d %s differ, and so few give a p of %s at least", s.First, s.Second, s.Units-s.Equal, s.Units, s.Over, P(min(1, s.LeastP*math.Exp2(float64(s.Equal)))))
	case s.Smallest != nil && *s.Smallest > 1:
		return fmt.Sprintf("No difference between %s and %s is shown, and none would have been in %.0f of 100 such experiments: what so many %s show is more than rewards can differ", s.First, s.Second, 100*power, s.Over)
	case s.Smallest != nil:
		return fmt.Sprintf("No difference between %s and %s is shown; one of %.2f would have been, in %.0f of 100 such experiments", s.First, s.Second, *s.Smallest, 100*power)
	}
	return fmt.Sprintf("No difference between %s and %s is shown", s.First, s.Second)
}

// P is a p as it is shown.
func P(p float64) string {
	if p < 0.0001 {
		return "<0.0001"
	}
	return fmt.Sprintf("%.4f", p+1e-12) // a half is rounded up, however it was come by
}
