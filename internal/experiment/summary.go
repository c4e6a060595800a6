package experiment

import (
	"fmt"
	"slices"

	"tare"
	"tare/internal/stats"
)

// SummarySchema is the schema of what an experiment showed.
const SummarySchema = "tare.experiment-summary/1"

// A Row is one planned episode and what became of it.
type Row struct {
	Arm     int
	Task    string
	Trial   int
	Verdict tare.Verdict // the zero Outcome: it was not played

	Seconds           *float64 // nil: not known
	Dollars           *float64
	Tokens            *float64
	Again             int // earlier attempts that infrastructure ended
	Faults            int // that it met
	Spoilt, Recovered int // of these: that spoilt a call, and that it recovered from
}

// An Arm is what is known of an arm beforehand.
type Arm struct {
	Name   string `json:"name"`
	Agent  string `json:"agent"`
	Policy string `json:"policy,omitempty"`
	Level  string `json:"level,omitempty"`
	World  string `json:"world,omitempty"`
	Fault  string `json:"fault,omitempty"`
}

// A Design is what was planned.
type Design struct {
	Title   string   `json:"title,omitempty"`
	Run     string   `json:"run"`
	Tasks   []string `json:"tasks"`
	Trials  int      `json:"trials"`
	Seed    int64    `json:"seed"`
	LeftOut []string `json:"left_out,omitempty"` // tasks that were asked for and that not every arm can be played on
	Arms    []Arm    `json:"-"`
	Compare [][2]int `json:"-"` // arms by their numbers: the second is compared with the first

	draws int // of bootstraps and of permutations that are too many to try all; 0: as usual
}

// resamples is how often is drawn.
func (d Design) resamples() int {
	if d.draws > 0 {
		return d.draws
	}
	return draws
}

// A Summary is what an experiment showed.
type Summary struct {
	Schema string `json:"schema"`
	Design
	Stopped string        `json:"stopped,omitempty"` // why it ended before its end
	Arms    []ArmSummary  `json:"arms"`
	Pairs   []PairSummary `json:"pairs"`
	Notes   []string      `json:"notes"`       // what is to be kept in mind with these numbers
	Terms   []string      `json:"definitions"` // what the words mean
}

// Counts are of episodes. Planned is the sum of Passed, Failed, Unverified and NotPlayed; Infrastructure is a part of Unverified,
// and Unfinished overlaps with everything that was played.
type Counts struct {
	Planned        int `json:"planned"`
	Graded         int `json:"graded"`
	Passed         int `json:"passed"`
	Failed         int `json:"failed"`
	Unverified     int `json:"unverified"`
	Infrastructure int `json:"infrastructure"`
	Unfinished     int `json:"unfinished"`
	NotPlayed      int `json:"not_played"`
	Again          int `json:"played_again"` // attempts that infrastructure ended and that were made once more: they count nowhere else
}

// Open is how many episodes have no answer.
func (c Counts) Open() int { return c.Planned - c.Graded }

// A Rate is a share of episodes. Where some have no answer there is no rate but bounds of one.
type Rate struct {
	Right    int            `json:"right"`
	Wrong    int            `json:"wrong"`
	Open     int            `json:"open"`
	Value    *float64       `json:"value"`    // nil where something is open, or nothing was asked
	Bounds   [2]float64     `json:"bounds"`   // were all that is open wrong, and were it right
	Interval stats.Interval `json:"interval"` // Wilson's, over Units, from the lower bound's low end to the upper one's high end
	Units    int            `json:"units"`    // independent ones: tasks, or trials where there is one task
}

// A GateRate is how often a gate was passed where it was asked anything.
type GateRate struct {
	Gate string `json:"gate"`
	Rate
}

// A Chance is pass@k and pass^k, each with its bounds where verdicts are missing: the mean over tasks.
type Chance struct {
	K   int        `json:"k"`
	At  [2]float64 `json:"pass_at_k"`
	Hat [2]float64 `json:"pass_hat_k"`
}

// An Amount is a sum over the episodes of which it is known.
type Amount struct {
	Known     int      `json:"known"`
	Of        int      `json:"of"`         // that were played
	Sum       *float64 `json:"sum"`        // nil unless it is known of all of them: what is known of some is no total
	Each      *float64 `json:"each"`       // per episode
	PerSolved *float64 `json:"per_solved"` // per PASS, what the others took included; nil without one
}

// A Cell is an arm on a task.
type Cell struct {
	Task string `json:"task"`
	Counts
	Mean   *float64   `json:"mean"`   // reward of what was graded; nil when nothing was
	Bounds [2]float64 `json:"bounds"` // of the mean over all that was planned
	Flaky  bool       `json:"flaky"`  // some passed and some failed
	Varies bool       `json:"varies"` // their rewards are not all the same
}

// An ArmSummary is what became of an arm.
type ArmSummary struct {
	Arm
	Counts
	Reward    stats.Description `json:"reward"`          // of the episodes that were graded
	Bounds    [2]float64        `json:"reward_bounds"`   // of the mean over all that was planned
	Interval  *stats.Interval   `json:"reward_interval"` // of the mean over all that was planned, bootstrapped over tasks: from the low end were all that is open as bad as can be, to the high end were it as good; nil where there is none
	Pass      Rate              `json:"pass"`
	Gates     []GateRate        `json:"gates"`
	Chances   []Chance          `json:"chances"`
	Seconds   Amount            `json:"seconds"`
	Dollars   Amount            `json:"dollars"`
	Tokens    Amount            `json:"tokens"`
	Faults    int               `json:"faults"`
	Spoilt    int               `json:"faults_spoilt"`
	Recovered int               `json:"faults_recovered"`
	Tasks     []Cell            `json:"tasks"`
	Graders   []tare.Digest     `json:"graders"` // that made its verdicts
}

// Flaky lists the tasks of which some episodes passed and some failed.
func (a ArmSummary) Flaky() []Cell {
	return slices.DeleteFunc(slices.Clone(a.Tasks), func(c Cell) bool { return !c.Flaky })
}

// level of all intervals, and below which a p is worth a word; chance of finding the smallest difference.
const (
	level  = 0.95
	alpha  = 0.05
	power  = 0.8
	draws  = 10_000
	fewest = 10 // tasks, below which a sample is small
)

// Summarize says what became of an experiment. Rows may be in any order; of each planned episode there is one, and anything else is
// an error, since what is there twice or not at all would shift every figure.
func Summarize(d Design, rows []Row) (Summary, error) {
	s := Summary{Schema: SummarySchema, Design: d, Arms: []ArmSummary{}, Pairs: []PairSummary{}, Terms: definitions(d)}
	if err := check(d, rows); err != nil {
		return s, err
	}
	byArm := make([]map[string][]Row, len(d.Arms))
	for i := range byArm {
		byArm[i] = map[string][]Row{}
	}
	for _, r := range rows {
		byArm[r.Arm][r.Task] = append(byArm[r.Arm][r.Task], r)
	}
	for i, a := range d.Arms {
		sum, err := summarizeArm(a, d, byArm[i])
		if err != nil {
			return s, fmt.Errorf("summing up arm %s: %w", a.Name, err)
		}
		s.Arms = append(s.Arms, sum)
	}
	for _, p := range d.Compare {
		pair, err := comparePair(d, p, byArm[p[0]], byArm[p[1]])
		if err != nil {
			return s, fmt.Errorf("comparing arm %s with %s: %w", d.Arms[p[1]].Name, d.Arms[p[0]].Name, err)
		}
		s.Pairs = append(s.Pairs, pair)
	}
	holm(s.Pairs)
	s.Notes = notes(s)
	return s, nil
}

// Ended is s of an experiment that was stopped before its end, for that reason; "" is none.
func (s Summary) Ended(why string) Summary {
	s.Stopped = why
	s.Notes = notes(s)
	return s
}

// known reports whether a verdict has a reward that counts.
func known(v tare.Verdict) bool {
	return v.Reward != nil && (v.Outcome == tare.Pass || v.Outcome == tare.Fail)
}

// boundsOf is what the reward of a planned episode could be. Of one without a verdict, whose bounds say nothing or that it is known
// all the same, it could be anything.
func boundsOf(v tare.Verdict) [2]float64 {
	switch {
	case known(v):
		return [2]float64{*v.Reward, *v.Reward}
	case v.RewardBounds[0] < v.RewardBounds[1]:
		return v.RewardBounds
	}
	return [2]float64{0, 1}
}

func (c *Counts) add(v tare.Verdict) {
	c.Planned++
	switch v.Outcome {
	case tare.Pass:
		c.Passed++
	case tare.Fail:
		c.Failed++
	case "":
		c.NotPlayed++
	default:
		c.Unverified++
		if v.Cause == tare.CauseInfrastructure {
			c.Infrastructure++
		}
	}
	if v.Unfinished {
		c.Unfinished++
	}
	c.Graded = c.Passed + c.Failed
}

func cellOf(task string, rows []Row) Cell {
	c := Cell{Task: task}
	var rewards []float64
	for _, r := range rows {
		c.add(r.Verdict)
		if known(r.Verdict) {
			rewards = append(rewards, *r.Verdict.Reward)
		}
		b := boundsOf(r.Verdict)
		c.Bounds[0] += b[0] / float64(len(rows))
		c.Bounds[1] += b[1] / float64(len(rows))
	}
	if len(rewards) > 0 {
		m := stats.Mean(rewards)
		c.Mean = &m
		c.Varies = slices.Max(rewards) > slices.Min(rewards)
	}
	c.Flaky = c.Passed > 0 && c.Failed > 0
	return c
}

func summarizeArm(a Arm, d Design, byTask map[string][]Row) (ArmSummary, error) {
	s := ArmSummary{Arm: a}
	var rewards []float64
	var ends [][2]float64 // of what is independent
	var all []Row
	for _, task := range d.Tasks {
		rows := byTask[task]
		c := cellOf(task, rows)
		s.Tasks = append(s.Tasks, c)
		s.Bounds[0] += c.Bounds[0] / float64(len(d.Tasks))
		s.Bounds[1] += c.Bounds[1] / float64(len(d.Tasks))
		if len(d.Tasks) > 1 {
			ends = append(ends, c.Bounds)
		}
		for _, r := range rows {
			if len(d.Tasks) == 1 {
				ends = append(ends, boundsOf(r.Verdict))
			}
			all = append(all, r)
			s.add(r.Verdict)
			if known(r.Verdict) {
				rewards = append(rewards, *r.Verdict.Reward)
			}
			s.Faults, s.Spoilt, s.Recovered = s.Faults+r.Faults, s.Spoilt+r.Spoilt, s.Recovered+r.Recovered
			s.Again += r.Again
			if g := r.Verdict.Grader; g != "" && !slices.Contains(s.Graders, g) {
				s.Graders = append(s.Graders, g)
			}
		}
	}
	slices.Sort(s.Graders)
	s.Reward = stats.Describe(rewards)
	s.Interval = widest(ends, d)
	var err error
	if s.Pass, err = rate(s.Passed, s.Failed, s.Open(), d); err != nil {
		return s, err
	}
	if s.Gates, err = gates(all, d); err != nil {
		return s, err
	}
	if s.Chances, err = chances(s.Tasks, d.Trials); err != nil {
		return s, err
	}
	s.Seconds = amount(all, s.Passed, func(r Row) *float64 { return r.Seconds })
	s.Dollars = amount(all, s.Passed, func(r Row) *float64 { return r.Dollars })
	s.Tokens = amount(all, s.Passed, func(r Row) *float64 { return r.Tokens })
	return s, nil
}

// interval is that of a mean over values that are independent of each other; nil where they show none.
func interval(values []float64, d Design) *stats.Interval {
	i, ok := stats.BCa(len(values), d.resamples(), level, uint64(d.Seed), func(drawn []int) float64 {
		sum := 0.0
		for _, k := range drawn {
			sum += values[k]
		}
		return sum / float64(len(drawn))
	})
	if !ok {
		return nil
	}
	return &i
}

// widest is the interval of a mean over values of which only bounds are known: from its low end over the lower ones to its high end
// over the upper ones. Where either shows no interval it ends at the mean.
func widest(bounds [][2]float64, d Design) *stats.Interval {
	low, high := make([]float64, len(bounds)), make([]float64, len(bounds))
	for i, b := range bounds {
		low[i], high[i] = b[0], b[1]
	}
	one, other := interval(low, d), interval(high, d)
	if len(bounds) < 2 || one == nil && other == nil && slices.Equal(low, high) {
		return nil
	}
	out := stats.Interval{Low: stats.Mean(low), High: stats.Mean(high)}
	if one != nil {
		out.Low = one.Low
	}
	if other != nil {
		out.High = other.High
	}
	return &out
}

// units is what counts as independent: tasks, since attempts at one are alike; of one task, its trials.
func units(d Design) int {
	if len(d.Tasks) == 1 {
		return d.Trials
	}
	return len(d.Tasks)
}

func rate(right, wrong, open int, d Design) (Rate, error) {
	r := Rate{Right: right, Wrong: wrong, Open: open, Bounds: [2]float64{0, 1}, Interval: stats.Interval{Low: 0, High: 1}}
	n := float64(right + wrong + open)
	if n == 0 {
		return r, nil
	}
	r.Units = min(units(d), right+wrong+open)
	r.Bounds = [2]float64{float64(right) / n, float64(right+open) / n}
	if open == 0 {
		r.Value = &r.Bounds[0]
	}
	low, err := stats.Wilson(r.Bounds[0]*float64(r.Units), float64(r.Units))
	if err != nil {
		return r, err
	}
	high, err := stats.Wilson(r.Bounds[1]*float64(r.Units), float64(r.Units))
	if err != nil {
		return r, err
	}
	r.Interval = stats.Interval{Low: low.Low, High: high.High}
	return r, nil
}

// gates are the rates of the gates, in the order of the verdicts. A gate that asked nothing of an episode, or that was not reached
// since another one had failed, is not counted; one that nobody could answer is open, and so is every gate of an episode without any.
func gates(rows []Row, d Design) ([]GateRate, error) {
	type tally struct{ right, wrong, open int }
	by := map[string]*tally{}
	var order []string
	for _, r := range rows {
		for _, g := range r.Verdict.Gates {
			t := by[g.Name]
			if t == nil {
				t = &tally{}
				by[g.Name] = t
				order = append(order, g.Name)
			}
			switch g.Outcome {
			case tare.Pass:
				t.right++
			case tare.Fail:
				t.wrong++
			case tare.NotApplicable:
			default:
				if r.Verdict.Outcome != tare.Fail {
					t.open++
				}
			}
		}
	}
	none := 0
	for _, r := range rows {
		if len(r.Verdict.Gates) == 0 {
			none++
		}
	}
	out := []GateRate{}
	for _, name := range order {
		t := by[name]
		t.open += none
		r, err := rate(t.right, t.wrong, t.open, d)
		if err != nil {
			return nil, err
		}
		out = append(out, GateRate{name, r})
	}
	return out, nil
}

// chances are pass@k and pass^k for every k up to the trials. What has no verdict counts as failed for the one bound and as passed for
// the other.
func chances(cells []Cell, trials int) ([]Chance, error) {
	var out []Chance
	for k := 1; k <= trials; k++ {
		c := Chance{K: k}
		for _, cell := range cells {
			for side, passed := range []int{cell.Passed, cell.Passed + cell.Open()} {
				at, err := stats.PassAtK(cell.Planned, passed, k)
				if err != nil {
					return nil, err
				}
				hat, err := stats.PassHatK(cell.Planned, passed, k)
				if err != nil {
					return nil, err
				}
				c.At[side] += at / float64(len(cells))
				c.Hat[side] += hat / float64(len(cells))
			}
		}
		out = append(out, c)
	}
	return out, nil
}

func amount(rows []Row, solved int, of func(Row) *float64) Amount {
	var a Amount
	sum := 0.0
	for _, r := range rows {
		if r.Verdict.Outcome == "" {
			continue
		}
		a.Of++
		if v := of(r); v != nil {
			a.Known++
			sum += *v
		}
	}
	if a.Of == 0 || a.Known < a.Of {
		return a
	}
	each := sum / float64(a.Of)
	a.Sum, a.Each = &sum, &each
	if solved > 0 {
		per := sum / float64(solved)
		a.PerSolved = &per
	}
	return a
}
