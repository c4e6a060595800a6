// Package report shows what became of episodes: tables and single verdicts for a terminal, JUnit XML for CI, and one
// self-contained HTML page. It reads what it is handed, and nothing else.
//
// Everything that an agent, a tool or a task had a hand in is untrusted here: it is bounded, made valid UTF-8, its control
// characters and its direction overrides are shown as escapes, and then it is escaped once more for the format at hand.
//
// No number stands alone. Beside a reward stands what it could have been, given what is unknown; beside a total, how many
// episodes it covers; and beside both, whether the grader was proven to tell right from wrong.
package report

import (
	"slices"
	"strings"
	"time"

	"tare"
)

// A Result is a run, as far as it is shown.
type Result struct {
	Run        string   // its name
	Rows       []Row    // one per planned episode, in the plan's order
	ProofLines []string // what the proof consisted of, a sentence each; may be empty
}

// A Row is one planned episode and what became of it, or, in a table that shows no episode by itself, several that came out alike.
type Row struct {
	Episode    tare.Episode
	Title      string          // of the task
	HeldOut    bool            // the task's results must not guide development
	Canary     bool            // the task measures the harness; its verdict is no score
	Decoys     []string        // of the task, for the metrics
	Verdict    tare.Verdict    // the zero Outcome means that the episode was not played
	History    []tare.Verdict  // all verdicts there are, the oldest first; may be empty
	Trajectory tare.Trajectory // may be empty
	Times      int             // episodes that it stands for; 0 is one
}

func (r Row) times() int { return max(1, r.Times) }

// Options say how a terminal is written to.
type Options struct {
	Color bool
	Width int // columns; below 60 is 100
}

func (o Options) width() int {
	if o.Width < 60 {
		return 100
	}
	return o.Width
}

// Columns is the width that is written to.
func (o Options) Columns() int { return o.width() }

func (r Row) played() bool { return r.Verdict.Outcome != "" }

// took is how long the episode ran, 0 when that is not known.
func (r Row) took() time.Duration {
	if r.Trajectory.Started.IsZero() || r.Trajectory.Finished.Before(r.Trajectory.Started) {
		return 0
	}
	return r.Trajectory.Finished.Sub(r.Trajectory.Started)
}

// task is the line of a matrix that r belongs in, agent the column.
func (r Row) task() string {
	return joined(r.Episode.Task, r.Episode.Level, r.Episode.Fault)
}

func (r Row) agent() string {
	world := ""
	if strings.HasPrefix(r.Episode.World, "mcp:") || strings.HasPrefix(r.Episode.World, "mcp @") { // a server in the place of the task's own
		world = r.Episode.World
	}
	return joined(r.Episode.Agent, r.Episode.Policy, world)
}

func joined(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	for i, p := range parts {
		parts[i] = line(p, nameLimit)
	}
	return strings.Join(parts, " · ")
}

// root is the gate that decided r's verdict.
func (r Row) root() (tare.Gate, bool) {
	if r.Verdict.RootGate == "" {
		return tare.Gate{}, false
	}
	return r.Verdict.Gate(r.Verdict.RootGate)
}

// Counts add up episodes. Planned is the sum of Passed, Failed, Unverified and NotPlayed; Infrastructure is a part of
// Unverified, and Unfinished overlaps with everything that was played.
type Counts struct {
	Planned, Passed, Failed, Unverified, NotPlayed int
	Infrastructure, Unfinished                     int

	Reward    *float64   // mean over what was graded; nil when nothing was
	Bounds    [2]float64 // of the mean over all that was planned, given what is unknown
	Score     *float64   // as Reward, over proven tasks only; nil when none of those was graded
	ScoreFrom int        // episodes that Score covers
}

// Graded is the number of episodes with an answer.
func (c Counts) Graded() int { return c.Passed + c.Failed }

// Known reports whether every planned episode has its reward, so that the bounds say nothing new.
func (c Counts) Known() bool { return c.Graded() == c.Planned && c.Planned > 0 }

// Count adds rows up.
func Count(rows []Row) Counts {
	var c Counts
	var sum, score float64
	for _, r := range rows {
		v, n := r.Verdict, r.times()
		low, high := v.RewardBounds[0], v.RewardBounds[1]
		c.Planned += n
		switch v.Outcome {
		case tare.Pass:
			c.Passed += n
		case tare.Fail:
			c.Failed += n
		case "":
			c.NotPlayed += n
			low, high = 0, 1
		default:
			c.Unverified += n
			if v.Cause == tare.CauseInfrastructure {
				c.Infrastructure += n
			}
		}
		if v.Unfinished {
			c.Unfinished += n
		}
		if v.Reward != nil && (v.Outcome == tare.Pass || v.Outcome == tare.Fail) {
			low, high = *v.Reward, *v.Reward
			sum += *v.Reward * float64(n)
			if v.Proof.Status == tare.Proven {
				score += *v.Reward * float64(n)
				c.ScoreFrom += n
			}
		}
		c.Bounds[0] += low * float64(n)
		c.Bounds[1] += high * float64(n)
	}
	if c.Planned > 0 {
		c.Bounds[0] /= float64(c.Planned)
		c.Bounds[1] /= float64(c.Planned)
	}
	if n := c.Graded(); n > 0 {
		sum /= float64(n)
		c.Reward = &sum
	}
	if c.ScoreFrom > 0 {
		score /= float64(c.ScoreFrom)
		c.Score = &score
	}
	return c
}

// A grid is rows sorted into a matrix of tasks by agents, both in the order in which they first occur.
type grid struct {
	tasks, agents   []string
	byTask, byAgent map[string][]int    // indices into rows
	cells           map[[2]string][]int // likewise
	rows            []Row
}

func newGrid(rows []Row) grid {
	g := grid{byTask: map[string][]int{}, byAgent: map[string][]int{}, cells: map[[2]string][]int{}, rows: rows}
	for i, r := range rows {
		t, a := r.task(), r.agent()
		if g.byTask[t] == nil {
			g.tasks = append(g.tasks, t)
		}
		if g.byAgent[a] == nil {
			g.agents = append(g.agents, a)
		}
		g.byTask[t], g.byAgent[a] = append(g.byTask[t], i), append(g.byAgent[a], i)
		g.cells[[2]string{t, a}] = append(g.cells[[2]string{t, a}], i)
	}
	return g
}

func (g grid) at(indices []int) []Row {
	out := make([]Row, len(indices))
	for n, i := range indices {
		out[n] = g.rows[i]
	}
	return out
}

func (g grid) ofAgent(a string) []Row        { return g.at(g.byAgent[a]) }
func (g grid) ofTask(t string) []Row         { return g.at(g.byTask[t]) }
func (g grid) cell(task, agent string) []Row { return g.at(g.cells[[2]string{task, agent}]) }

// proofRank orders the states of a proof from best to worst.
var proofRank = [...]tare.ProofStatus{tare.Proven, tare.Partly, tare.Stale, tare.Unproven}

// weakest is the worst proof behind rows; rows that were not played have none to show and do not count.
func weakest(rows []Row) tare.Proof {
	worst, at := tare.Proof{Status: tare.Unproven}, -1
	for _, r := range rows {
		if !r.played() {
			continue
		}
		i := slices.Index(proofRank[:], r.Verdict.Proof.Status)
		if i < 0 {
			i = len(proofRank) - 1 // no answer is no proof
		}
		if i > at {
			worst, at = r.Verdict.Proof, i
			worst.Status = proofRank[i]
		}
	}
	return worst
}

// provenTasks counts the tasks of g whose proof is current, and those that were played at all.
func (g grid) provenTasks() (proven, played int) {
	for _, t := range g.tasks {
		rows := g.ofTask(t)
		if !slices.ContainsFunc(rows, Row.played) {
			continue
		}
		played++
		if weakest(rows).Status == tare.Proven {
			proven++
		}
	}
	return proven, played
}

// mark is the sign of an outcome, which tells outcomes apart where colour does not.
func mark(o tare.Outcome) string {
	switch o {
	case tare.Pass:
		return "✓"
	case tare.Fail:
		return "✗"
	case tare.Unverified:
		return "?"
	case tare.Blocked:
		return "–"
	case tare.NotApplicable:
		return "·"
	case "":
		return "○"
	default:
		return "!"
	}
}

// worstOutcome sums up the episodes of one cell: FAIL over UNVERIFIED over not played over PASS.
func worstOutcome(rows []Row) tare.Outcome {
	for _, o := range []tare.Outcome{tare.Fail, tare.Unverified, ""} {
		if slices.ContainsFunc(rows, func(r Row) bool { return r.Verdict.Outcome == o }) {
			return o
		}
	}
	return tare.Pass
}
