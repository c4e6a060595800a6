// Package proof shows that a task's grader can tell right from wrong: it plays every control of the task, twice, on the
// path that production takes, and compares what came out with what had to.
package proof

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"tare"
	"tare/internal/run"
	"tare/internal/suite"
)

// A Judge plays a control and judges it. It is production's own path, wired by the caller. pass counts from 0: what is
// observed in one is never used in another.
type Judge func(ctx context.Context, task *tare.Task, c tare.Control, pass int) (run.Result, error)

// Options say how to prove.
type Options struct {
	Jobs        int                     // controls played at once; below 1 is 1
	Passes      int                     // times the whole table is played; below 1 is 2
	Adversaries []*suite.Adversary      // that are played where they fit; without any the proof is not whole
	Controls    func(tare.Control) bool // nil: all

	// Rejudge judges a record again, as production does: that is how records that are spoilt on purpose are judged. Nil
	// leaves those rows out.
	Rejudge func(*tare.Task, tare.Record) tare.Verdict

	// Mutation plays the mutants of a vulnerability's references; nil leaves them out, and then the proof is not whole.
	Mutation *Mutation

	Progress       func(done, all int) // called one at a time
	MutantProgress func(done, all int)
}

// A Row is one control and how it came out.
type Row struct {
	Control string      `json:"control"`
	Origin  tare.Origin `json:"origin"`
	Expect  tare.Expect `json:"expect"`
	Got     Got         `json:"got"`
	OK      bool        `json:"ok"`
	Wrong   string      `json:"wrong,omitempty"` // in which way it is not OK
	Stops   []string    `json:"stops,omitempty"` // the hidden cases that it fails
	Variant VariantKind `json:"variant,omitempty"`
}

// Got is the part of a verdict that must come out the same every time.
type Got struct {
	Outcome     tare.Outcome `json:"outcome"`
	Cause       tare.Cause   `json:"cause,omitempty"`
	Reward      *float64     `json:"reward"`
	Gate        string       `json:"gate,omitempty"`
	Requirement int          `json:"requirement,omitempty"`
	Reason      string       `json:"reason,omitempty"`
}

// A Table is the proof of one task.
type Table struct {
	Task      string        `json:"task"`
	Kind      tare.TaskKind `json:"kind,omitempty"` // of a vulnerability
	TaskHash  tare.Digest   `json:"task_hash"`
	HeldOut   bool          `json:"held_out,omitempty"`
	Isolation string        `json:"isolation"`
	Passes    int           `json:"passes"`
	Controls  bool          `json:"controls"` // every control of the task was played
	Whole     bool          `json:"whole"`    // and every adversary that fits it, or every variant of a scenario
	Rows      []Row         `json:"rows"`
	Idle      []string      `json:"idle,omitempty"`  // hidden cases that stop no control
	Unfit     []string      `json:"unfit,omitempty"` // variants whose precondition does not hold
	Live      bool          `json:"live,omitempty"`  // a scenario on a live server, which few variants fit

	Unsteady int         `json:"unsteady"`          // rows that came out otherwise on a later pass
	Mutants  []MutantRow `json:"mutants,omitempty"` // of a vulnerability's references
	Refused  string      `json:"refused,omitempty"` // why the task's checks may not count, all rows apart
}

// OK reports whether every row came out as it must, and nothing else is in the way.
func (t Table) OK() bool {
	return len(t.Rows) > 0 && t.Refused == "" && !slices.ContainsFunc(t.Rows, func(r Row) bool { return !r.OK })
}

// Digest is the hash of the table.
func (t Table) Digest() (tare.Digest, error) {
	b, err := tare.Canonical(t)
	if err != nil {
		return "", err
	}
	return tare.HashBytes(b), nil
}

// Controls are the controls of task, the derived ones included: its own rows, each twin, which the probe must tell from the
// reference that it was made of, and the adversaries that fit it.
func Controls(task *tare.Task, adversaries []*suite.Adversary) []tare.Control {
	out := slices.Clone(task.Controls)
	for _, tw := range task.Twins {
		out = append(out, tare.Control{
			Name: "twin:" + tw.Name, Origin: tare.FromBad, Apply: []tare.Tree{tw.Tree},
			Expect: tare.Expect{Outcome: tare.Fail},
		})
	}
	return append(out, Adversarial(task, adversaries)...)
}

// Prove plays the controls of task and returns the table. The error is of the rig or ctx; a proof that does not hold is
// a Table that is not OK.
func Prove(ctx context.Context, task *tare.Task, judge Judge, o Options) (Table, error) {
	controls := Controls(task, o.Adversaries)
	whole := len(controls)
	if o.Controls != nil {
		controls = slices.DeleteFunc(controls, func(c tare.Control) bool { return !o.Controls(c) })
	}
	passes := o.Passes
	if passes < 1 {
		passes = 2
	}
	results, stops, err := play(ctx, task, controls, passes, judge, o)
	if err != nil {
		return Table{}, err
	}
	table := Table{Task: task.ID, TaskHash: task.Hash, HeldOut: task.Category == tare.HeldOut, Passes: passes}
	table.Controls = len(controls) == whole
	table.Whole = table.Controls && len(o.Adversaries) > 0
	for i, c := range controls {
		row := newRow(c, results[i])
		row.Stops = stops[i]
		table.Rows = append(table.Rows, row)
		table.Isolation = results[i][0].Verdict.Isolation
		if unsteady(results[i]) != "" {
			table.Unsteady++
		}
	}
	derived, unfit, err := derivedRows(task, controls, results, o.Rejudge)
	if err != nil {
		return Table{}, fmt.Errorf("proving %s: %w", task.ID, err)
	}
	table.Rows, table.Unfit = append(table.Rows, derived...), unfit
	if task.Kind == tare.Scenario {
		table.Whole = table.Controls && o.Rejudge != nil
		table.Live = task.Scenario.World.MCP != nil
	}
	if task.Kind == tare.Vuln {
		table.Kind = tare.Vuln
		if err := table.kill(ctx, task, controls, results, o); err != nil {
			return Table{}, fmt.Errorf("proving %s: %w", task.ID, err)
		}
	}
	if table.Controls {
		table.Idle = idle(task, table.Rows)
	}
	return table, nil
}

// derivedRows are the rows that are made of the records of others: spoilt ones of a ticket or a vulnerability, variants of a scenario.
func derivedRows(task *tare.Task, controls []tare.Control, results [][]run.Result, judge func(*tare.Task, tare.Record) tare.Verdict) (rows []Row, unfit []string, err error) {
	switch task.Kind {
	case tare.Ticket, tare.Vuln:
		rows, err = sickRows(task, controls, results, judge)
		return rows, nil, err
	}
	good := goodControl(controls, func(i int) int { return len(results[i][0].Record.Trajectory.Steps) })
	if good < 0 || judge == nil {
		return nil, nil, nil
	}
	return variantRows(task, results[good], judge)
}

// play judges each control passes times; results are by control, then pass, and stops the hidden cases that each control fails on the
// first. Of a result only the verdict is kept, and the record where rows are made of it: all records of some hundred rows are what
// a proof would hold most of. Later passes go through the controls backwards, so that an order that matters shows.
func play(ctx context.Context, task *tare.Task, controls []tare.Control, passes int, judge Judge, o Options) (results [][]run.Result, stops [][]string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results, stops = make([][]run.Result, len(controls)), make([][]string, len(controls))
	for i := range results {
		results[i] = make([]run.Result, passes)
	}
	recorded := origins(task)
	type turn struct{ control, pass int }
	turns := make(chan turn)
	go func() {
		defer close(turns)
		for pass := range passes {
			for i := range controls {
				if pass%2 == 1 {
					i = len(controls) - 1 - i
				}
				select {
				case turns <- turn{i, pass}:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range max(1, o.Jobs) {
		wg.Go(func() {
			for t := range turns {
				res, err := judge(ctx, task, controls[t.control], t.pass)
				if err != nil {
					cancel(fmt.Errorf("proving %s, control %s: %w", task.ID, controls[t.control].Name, err))
					return
				}
				mu.Lock()
				if t.pass == 0 {
					stops[t.control] = failing(task, res)
				}
				kept := run.Result{Verdict: res.Verdict}
				if recorded(controls[t.control]) {
					kept.Record = res.Record
				}
				results[t.control][t.pass] = kept
				done++
				if o.Progress != nil {
					o.Progress(done, passes*len(controls))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return results, stops, context.Cause(ctx)
}

// origins says of the controls of task whether further rows may be made of their records.
func origins(task *tare.Task) func(tare.Control) bool {
	if task.Kind == tare.Scenario {
		return func(tare.Control) bool { return true } // a few agents, of which the best is not known before
	}
	of := map[string]bool{genuineOf(task): true}
	for _, s := range sicknessesOf(task) {
		of[s.of] = true
	}
	return func(c tare.Control) bool { return c.Origin == tare.FromReference || of[c.Name] }
}

func newRow(c tare.Control, results []run.Result) Row {
	row := Row{Control: c.Name, Origin: c.Origin, Expect: c.Expect, Got: got(results[0].Verdict)}
	row.Wrong = wrong(c.Expect, row.Got)
	if row.Wrong == "" {
		row.Wrong = unsteady(results)
	}
	row.OK = row.Wrong == ""
	return row
}

// unsteady says where later passes come out otherwise than the first; "" when none does.
func unsteady(results []run.Result) string {
	first := rendering(results[0].Verdict)
	for i, r := range results[1:] {
		if !bytes.Equal(first, rendering(r.Verdict)) {
			return fmt.Sprintf("pass %d came out otherwise: %s", i+2, differing(results[0].Verdict, r.Verdict))
		}
	}
	return ""
}

func got(v tare.Verdict) Got {
	g := Got{Outcome: v.Outcome, Cause: v.Cause, Reward: v.Reward, Gate: v.RootGate}
	if gate, ok := v.Gate(v.RootGate); ok {
		g.Requirement, g.Reason = gate.Requirement, gate.Reason
	}
	return g
}

// rendering is all of a verdict that must be the same on every pass: everything but the record's hash and times.
func rendering(v tare.Verdict) []byte {
	v.Record = ""
	v.Gates = slices.Clone(v.Gates)
	for i := range v.Gates {
		v.Gates[i].Seconds = 0
	}
	b, err := tare.Canonical(v)
	if err != nil {
		return fmt.Append(nil, err)
	}
	return b
}

// differing says in a few words where two verdicts part.
func differing(a, b tare.Verdict) string {
	if a.Outcome != b.Outcome {
		return fmt.Sprintf("%s and %s", a.Outcome, b.Outcome)
	}
	for i, g := range a.Gates {
		if i < len(b.Gates) && (g.Outcome != b.Gates[i].Outcome || g.Reason != b.Gates[i].Reason) {
			return fmt.Sprintf("gate %s: %q and %q", g.Name, g.Reason, b.Gates[i].Reason)
		}
	}
	return "the verdicts differ in what is behind them"
}

// wrong says in which way g is not what e expects; "" when it is.
func wrong(e tare.Expect, g Got) string {
	switch {
	case g.Outcome != e.Outcome:
		return fmt.Sprintf("expected %s, got %s", e.Outcome, g.Outcome)
	case e.Reward != nil && (g.Reward == nil || *g.Reward != *e.Reward):
		return fmt.Sprintf("expected reward %s, got %s", reward(e.Reward), reward(g.Reward))
	case e.Gate != "" && g.Gate != e.Gate:
		return fmt.Sprintf("expected to be stopped at %s, was at %s", e.Gate, g.Gate)
	case e.Requirement != 0 && g.Requirement != e.Requirement:
		return fmt.Sprintf("expected to break requirement %d, broke %d", e.Requirement, g.Requirement)
	case !strings.Contains(g.Reason, e.Reason):
		return fmt.Sprintf("expected the reason to say %q", e.Reason)
	}
	return ""
}

func reward(r *float64) string {
	if r == nil {
		return "none"
	}
	return fmt.Sprintf("%.2f", *r)
}

// failing lists the hidden cases that a result gets wrong.
func failing(task *tare.Task, r run.Result) []string {
	var out []string
	for _, e := range r.Record.Evidence.Runs {
		if e.Role != tare.RoleBehaviour {
			continue
		}
		for _, c := range task.Failing(e) {
			out = append(out, c.ID)
		}
	}
	return out
}

// idle lists the hidden cases that stop no control: were such a case wrong or gone, no row would tell. An adversary that brings the
// probe down fails all of them, whatever they ask, so that its rows do not count.
func idle(task *tare.Task, rows []Row) []string {
	used := map[string]bool{}
	for _, r := range rows {
		if r.Origin == tare.FromAdversary {
			continue
		}
		for _, id := range r.Stops {
			used[id] = true
		}
	}
	var out []string
	for _, c := range task.Cases {
		if !used[c.ID] {
			out = append(out, c.ID)
		}
	}
	return out
}

// Sweep holds the four states of seed 000's table, per task: each is the row's verdict, or nil where the task lacks the row.
type Sweep struct {
	Task                                string
	Unfixed, Untested, Genuine, Vacuous *Row
}

// SweepOf picks the four states out of a table.
func SweepOf(t Table) Sweep {
	s := Sweep{Task: t.Task}
	for i := range t.Rows {
		r := &t.Rows[i]
		switch {
		case r.Origin == tare.FromSeed && s.Unfixed == nil:
			s.Unfixed = r
		case r.Origin == tare.FromReference && s.Untested == nil && !strings.HasSuffix(r.Control, "+test"):
			s.Untested = r
		case r.Origin == tare.FromReference && s.Genuine == nil && strings.HasSuffix(r.Control, "+test"):
			s.Genuine = r
		case r.Origin == tare.FromWorthless && s.Vacuous == nil && strings.Contains(r.Control, "vacuous"):
			s.Vacuous = r
		}
	}
	return s
}

// WriteJSON writes the tables, one a line.
func WriteJSON(w io.Writer, tables []Table) error {
	for _, t := range tables {
		b, err := tare.Canonical(t)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n", b); err != nil {
			return err
		}
	}
	return nil
}

// Misses says in which way v is not what e expects; "" when it is.
func Misses(e tare.Expect, v tare.Verdict) string { return wrong(e, got(v)) }
