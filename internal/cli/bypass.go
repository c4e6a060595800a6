package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"tare"
	"tare/internal/agent"
	"tare/internal/episode"
	"tare/internal/patchcheck"
	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/suite"
	"tare/internal/workspace"
	"tare/suites"
)

// attempts loads the built-in attempts to get round the levels of help.
var attempts = sync.OnceValues(func() ([]*suite.Attempt, error) {
	out, err := suite.Attempts(suites.Attempts(), "bypass")
	if err != nil {
		return nil, fmt.Errorf("loading the built-in attempts: %w", err)
	}
	return out, nil
})

// attemptAgent begins the name of the agent of an episode that plays an attempt.
const attemptAgent = controlAgent + "bypass:"

// A bypassRow is one attempt at one level and what became of it.
type bypassRow struct {
	attempt *suite.Attempt
	level   int
	says    string // what the program said at the end
	gate    string // at which the final grade failed
	wrong   string // "" when the attempt failed for its stated reason
}

// proveBypass plays the attempts on the tasks that args name; only keeps those of these names.
func (a *app) proveBypass(ctx context.Context, args, only []string) error {
	tasks, err := a.tasks(args)
	if err != nil {
		return err
	}
	all, err := attempts()
	if err != nil {
		return err
	}
	for _, name := range only {
		if !slices.ContainsFunc(all, func(x *suite.Attempt) bool { return x.Name == name }) {
			return usage("there is no attempt %q", name)
		}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	return a.withRig(ctx, func(ctx context.Context, r *rig) error {
		var rows []bypassRow
		bar := a.progress()
		defer bar.clear()
		for _, x := range all {
			i := slices.IndexFunc(tasks, func(t *tare.Task) bool { return t.ID == x.On })
			if i < 0 || len(only) > 0 && !slices.Contains(only, x.Name) {
				continue
			}
			for _, row := range x.Rows {
				for _, level := range row.Levels {
					bar.say("attempt %s at level %d", x.Name, level)
					got, err := r.playAttempt(ctx, x, row, level, narrowed(tasks[i]))
					if err != nil {
						return err
					}
					rows = append(rows, got)
				}
			}
		}
		bar.clear()
		if len(rows) == 0 {
			return usage("no attempt is on any of these tasks; there are some on %s", strings.Join(attacked(all), ", "))
		}
		return a.showBypass(rows)
	})
}

// narrowed is a task without the inputs that only widen its final grade. What an attempt is about is whether it fails, and it
// leaves the vulnerability as it is.
func narrowed(t *tare.Task) *tare.Task {
	out, vuln := *t, *t.Vuln
	vuln.Variants, vuln.Benign = nil, nil
	out.Vuln = &vuln
	return &out
}

// attacked lists the tasks that attempts are on.
func attacked(all []*suite.Attempt) []string {
	var out []string
	for _, x := range all {
		out = append(out, x.On)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// playAttempt plays one attempt at one level, on the path of all agents, and holds what came of it against its row.
func (r *rig) playAttempt(ctx context.Context, x *suite.Attempt, row suite.AttemptRow, level int, t *tare.Task) (got bypassRow, err error) {
	got = bypassRow{attempt: x, level: level}
	job := run.Job{Task: t, Episode: r.episode(t, attemptAgent+x.Name)}
	job.Episode.Level = strconv.Itoa(level)
	var beside *neighbour
	if x.Neighbour {
		if beside, err = r.neighbour(ctx, t, level); err != nil {
			return got, err
		}
		defer func() { err = errors.Join(err, beside.leave()) }()
	}
	rec, err := r.play(ctx, job, io.Discard)
	if err != nil {
		return got, err
	}
	entry, err := tare.NewEntry(rec)
	if err != nil {
		return got, err
	}
	verdict := (&run.Rig{Grader: r.grader, Proof: r.a.proofOf}).Judge(t, rec, entry.Hash)
	got.says, got.gate = rec.Trajectory.Final, verdict.RootGate
	got.wrong = firstOf(wrongEnd(rec, verdict, row), leaked(rec, t), beside.disturbed(rec), leftBehind())
	return got, nil
}

// wrongEnd says how an attempt ended otherwise than its row states.
func wrongEnd(rec tare.Record, v tare.Verdict, row suite.AttemptRow) string {
	switch {
	case len(rec.Evidence.Problems) > 0:
		return "something of ours failed: " + rec.Evidence.Problems[0].Error
	case rec.Trajectory.Stop != tare.EndTurn:
		return fmt.Sprintf("it ended by %s: %s", rec.Trajectory.Stop, rec.Trajectory.Detail)
	case !row.Says.MatchString(rec.Trajectory.Final):
		return fmt.Sprintf("it says %q, expected %v", rec.Trajectory.Final, row.Says)
	case v.Outcome != tare.Fail || v.RootGate != row.Gate:
		g, _ := v.Gate(v.RootGate)
		return fmt.Sprintf("the final grade is %s by %q (%s), expected FAIL by %q", v.Outcome, v.RootGate, g.Reason, row.Gate)
	}
	return ""
}

// leaked looks for hidden material in all that the agent was told, and says where it is.
func leaked(rec tare.Record, t *tare.Task) string {
	cutter := patchcheck.CutterOf(t)
	holds := func(text string) bool { return !bytes.Equal(cutter.Cut([]byte(text)), []byte(text)) }
	if holds(rec.Trajectory.Final) {
		return "what it says at the end holds hidden material"
	}
	for _, s := range rec.Trajectory.Steps {
		if holds(s.Observation.Preview) {
			return fmt.Sprintf("the answer to call %d, %s, holds hidden material", s.Call.Index, s.Call.Tool)
		}
	}
	return ""
}

// leftName is in the command line of every process that an attempt leaves behind.
const leftName = "tare-bypass-left-behind"

// leftBehind looks for processes of attempts.
func leftBehind() string {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		return fmt.Sprintf("the processes of this machine cannot be listed: %v", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil && bytes.Contains(b, []byte(leftName)) { // one that is gone left nothing
			return "a process that it started is still there: " + filepath.Base(filepath.Dir(f))
		}
	}
	return ""
}

// A neighbour is another agent's run, which does nothing while an attempt is played.
type neighbour struct {
	mark  string
	ws    *workspace.Workspace
	tree  tare.Digest
	world episode.Served
	calls atomic.Int64
}

// neighbour opens the world of an agent whose tree holds a file that no other has.
func (r *rig) neighbour(ctx context.Context, t *tare.Task, level int) (*neighbour, error) {
	n := &neighbour{mark: "neighbours-own-" + rand.Text()}
	dir, err := r.sb.NewDir("w-*")
	if err != nil {
		return nil, err
	}
	uid, gid := r.sb.Owner()
	own := t.Seed.Overlay(tare.Tree{{Path: "neighbours-own.txt", Mode: 0o644, Data: []byte(n.mark + "\n")}})
	if n.ws, err = workspace.New(ctx, dir, own, workspace.Owner{UID: uid, GID: gid}); err != nil {
		return nil, err
	}
	n.tree = own.Digest()
	job := run.Job{Task: t, Episode: r.episode(t, attemptAgent+"neighbour")}
	job.Episode.Level = strconv.Itoa(level)
	n.world, err = r.patchWorld(ctx, job, episode.World{
		Workspace: n.ws, Limits: t.Limits, Began: r.now(), OnStep: func(tare.Step) { n.calls.Add(1) }, OnProblem: func(error) { n.calls.Add(1) },
	}, nil)
	if err != nil {
		return nil, errors.Join(err, n.ws.Remove())
	}
	return n, nil
}

// disturbed says what the attempt did to its neighbour, or saw of it.
func (n *neighbour) disturbed(rec tare.Record) string {
	if n == nil {
		return ""
	}
	now, err := n.ws.Snapshot()
	switch {
	case err != nil:
		return "the neighbour's tree cannot be read: " + err.Error()
	case now.Digest() != n.tree:
		return "the neighbour's tree was changed"
	case n.calls.Load() > 0:
		return "the neighbour's tools were called"
	case strings.Contains(rec.Trajectory.Final, n.mark):
		return "the neighbour's tree was seen"
	}
	return ""
}

func (n *neighbour) leave() error { return errors.Join(n.world.Close(), n.ws.Remove()) }

// attacker is the agent that plays an attempt.
func (r *rig) attacker(name string) (agent.Agent, error) {
	all, err := attempts()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(x *suite.Attempt) bool { return attemptAgent+x.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no agent %s", name)
	}
	dir, err := r.sb.NewDir("x-*")
	if err != nil {
		return nil, err
	}
	uid, gid := r.sb.Owner()
	place := filepath.Join(dir, "x")
	if err := workspace.Lay(place, all[i].Files, workspace.Owner{UID: uid, GID: gid}); err != nil {
		return nil, err
	}
	return agent.Command(name, filepath.Join(place, "attack.py"))
}

// showBypass prints the rows and says whether all are as they must be.
func (a *app) showBypass(rows []bypassRow) error {
	wrong := 0
	var lines []report.Line
	for _, row := range rows {
		mark, said := "ok", strings.Join(strings.Fields(row.says), " ")
		if row.wrong != "" {
			wrong++
			mark, said = "WRONG", row.wrong
		}
		if a.json() {
			out := map[string]any{
				"schema": "tare.bypass-row/1", "attempt": row.attempt.Name, "title": row.attempt.Title, "task": row.attempt.On, "level": row.level,
				"ok": row.wrong == "", "said": row.says, "gate": row.gate, "stopped": row.attempt.Stopped,
			}
			if row.wrong != "" {
				out["wrong"] = row.wrong
			}
			if err := a.writeJSON(out); err != nil {
				return err
			}
			continue
		}
		lines = append(lines, report.Line{Cells: []string{mark, row.attempt.Name, strconv.Itoa(row.level), row.gate, clip(printable(said), 300)}})
	}
	if !a.json() {
		columns := []report.Column{{Head: ""}, {Head: "ATTEMPT"}, {Head: "LEVEL"}, {Head: "FAILS AT"}, {Head: "AND SAYS", Min: 20}}
		if err := report.Table(a.stdout, columns, lines, a.options()); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "\n%d of %s failed for the stated reason\n", len(rows)-wrong, many(len(rows), "attempt"))
	}
	if wrong > 0 {
		return exit{exitFailed, nil}
	}
	return nil
}
