package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tare"
	"tare/internal/run"
	"tare/internal/transcript"
	"tare/internal/workspace"
)

// maxRecord bounds a record that somebody hands in, in bytes.
const maxRecord = 256 << 20

func (a *app) grade() *cobra.Command {
	var task, solution, patch, record string
	c := &cobra.Command{
		Use:   "grade --task TASK (--solution DIR | --patch FILE | --record FILE)",
		Short: "Grade a finished tree, a patch or a record, with no agent",
		Long: `grade lays a finished tree (or the seed with a patch applied) into a fresh workspace and grades it on the path that an
agent's work takes. --record judges a record that is there already and runs nothing; of a file, or of standard input ("-"),
that holds one record a line it judges each, in constant memory, and --task may be a suite.

Exit codes: 0 PASS, 1 FAIL, 3 UNVERIFIED, 2 bad input, 4 the machine cannot grade.`,
		Example: "  tare grade --task tickets/bugfix_inventory --solution ./my-fix\n  tare grade --task tickets/bugfix_inventory --patch fix.patch --format json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			given := 0
			for _, v := range []string{solution, patch, record} {
				if v != "" {
					given++
				}
			}
			if task == "" || given != 1 {
				return usage("grade takes --task and one of --solution, --patch, --record; see 'tare grade --help'")
			}
			tasks, err := a.tasks([]string{task})
			if err != nil {
				return err
			}
			if record != "" {
				return a.gradeRecord(tasks, record)
			}
			if len(tasks) != 1 {
				return usage("--task takes one task; %q is %d", task, len(tasks))
			}
			if err := hasWorkspace(tasks[0]); err != nil {
				return err
			}
			if tasks[0], err = a.sourced(c.Context(), tasks[0]); err != nil {
				return err
			}
			tree, err := solutionTree(c.Context(), tasks[0], solution, patch)
			if err != nil {
				return err
			}
			lacks := len(tasks[0].Seed.Filter(func(f tare.File) bool { _, ok := tree.Lookup(f.Path); return !ok }))
			switch n := len(tasks[0].Seed); {
			case len(tree) == 0:
			case lacks == n:
				a.note("nothing of the seed of %s is in %s: what a solution lacks counts as deleted. Is it the whole workspace?", tasks[0].ID, printable(solution))
			case patch == "" && 2*lacks > n:
				a.note("%s lacks %d of the %d files of the seed of %s, which count as deleted. Is it the whole workspace? Changes alone go in by --patch.", printable(solution), lacks, n, tasks[0].ID)
			}
			return a.gradeTree(c.Context(), tasks[0], tree)
		},
	}
	f := c.Flags()
	f.StringVar(&a.result, "result", "", "of a vulnerability: also write the verdict to this file, in the form of result.json (docs/vulns.md)")
	f.StringVar(&task, "task", "", "the task: suite/name or a directory with a task.yaml")
	f.StringVar(&solution, "solution", "", "directory that holds the whole finished workspace")
	f.StringVar(&patch, "patch", "", "git patch against the task's seed")
	f.StringVar(&record, "record", "", "record.json of an episode, or a stream of them, one a line; of a scenario also MCP messages (JSON-RPC) or OpenTelemetry spans; - reads standard input")
	return c
}

// solutionTree reads what is to be graded; whatever is wrong with it is bad input.
func solutionTree(ctx context.Context, task *tare.Task, solution, patch string) (tare.Tree, error) {
	if solution != "" {
		tree, err := readWhole(solution)
		if err != nil {
			return nil, usage("reading --solution: %w", err)
		}
		return tree, nil
	}
	b, err := workspace.ReadFile(patch, workspace.MaxPatch)
	if err != nil {
		return nil, usage("reading --patch: %w", err)
	}
	tree, err := workspace.Apply(ctx, task.Seed, b)
	if err != nil {
		return nil, usage("applying %s to the seed of %s: %w", patch, task.ID, err)
	}
	return tree, nil
}

// readWhole reads a finished workspace. What of it cannot be graded makes it bad input: to grade the rest would be to grade
// something else than what was named.
func readWhole(dir string) (tare.Tree, error) {
	tree, err := workspace.Read(dir, workspace.ReadLimits{Skip: []string{".git"}})
	var left *workspace.OmittedError
	if errors.As(err, &left) {
		first, more := left.Omissions[0], len(left.Omissions)+left.More-1
		err = fmt.Errorf("%s cannot be graded: %s", filepath.Join(dir, first.Path), first.Reason)
		if more > 0 {
			err = fmt.Errorf("%w; nor can %d more", err, more)
		}
	}
	if err != nil {
		return nil, err
	}
	return append(tare.Tree{}, tree...), nil // an empty tree is a tree
}

func (a *app) gradeTree(ctx context.Context, task *tare.Task, tree tare.Tree) error {
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt)
	defer cancel()
	if err := equipped([]*tare.Task{task}); err != nil {
		return err
	}
	return a.withRig(ctx, func(ctx context.Context, r *rig) error {
		bar := a.progress()
		bar.say("grading %s …", task.ID)
		job := run.Job{Task: task, Solution: tree, Episode: r.episode(task, "solution:"+short(tree.Digest()))}
		one := run.Rig{Play: r.play, Attempts: 2, Grader: r.grader, Proof: a.proofOf}
		results, err := one.Run(ctx, "", run.Plan{Jobs: []run.Job{job}}, nil)
		bar.clear()
		if err != nil {
			return err
		}
		if !results[0].Played() {
			return exit{exitInterrupted, errors.New("interrupted before the verdict")}
		}
		return a.showVerdict(results[0])
	})
}

// gradeRecord judges a record that is there already, or each of a stream of them.
func (a *app) gradeRecord(tasks []*tare.Task, path string) error {
	in, err := a.openRecord(path)
	if err != nil {
		return usage("reading --record: %w", err)
	}
	defer in.Close() // it was read only
	lines := bufio.NewReaderSize(in, 1<<20)
	first, err := readRecordLine(lines)
	if err != nil && !errors.Is(err, io.EOF) {
		return usage("reading --record %s: %w", path, err)
	}
	if errors.Is(err, io.EOF) || schemaOf(first) != tare.RecordSchema { // one value, over however many lines, or another tool's file
		rest, err := io.ReadAll(io.LimitReader(lines, int64(maxRecord-len(first)+1)))
		if err != nil || len(first)+len(rest) > maxRecord {
			return usage("reading --record %s: %w", path, cmp.Or(err, errTooLong))
		}
		if len(tasks) != 1 {
			return usage("--task takes one task; it is %d here", len(tasks))
		}
		return a.gradeOne(tasks[0], append(first, rest...), path)
	}
	if _, err := skipBlank(lines); errors.Is(err, io.EOF) && len(tasks) == 1 {
		return a.gradeOne(tasks[0], first, path) // one record with an end of line
	}
	return a.gradeStream(tasks, lines, first, path)
}

// skipBlank goes over white space, and shows what follows it.
func skipBlank(r *bufio.Reader) (byte, error) {
	for {
		c, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if !strings.ContainsRune(" \t\r\n", rune(c)) {
			return c, r.UnreadByte()
		}
	}
}

// openRecord opens a file, or standard input for "-".
func (a *app) openRecord(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(a.stdin), nil
	}
	f, _, err := workspace.OpenFile(path)
	if err != nil {
		return nil, err // and no file in an interface
	}
	return f, nil
}

var errTooLong = fmt.Errorf("a record takes at most %d MB", maxRecord>>20)

// readRecordLine reads one line, without its end, that is not blank. At the end of the file it says io.EOF beside what is left.
func readRecordLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxRecord:
			return nil, errTooLong
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return line, err
		case len(bytes.TrimSpace(line)) > 0:
			return line, nil
		default:
			line = line[:0]
		}
	}
}

func schemaOf(b []byte) string {
	var head struct {
		Schema string `json:"schema"`
	}
	if json.Unmarshal(b, &head) != nil {
		return ""
	}
	return head.Schema
}

func (a *app) gradeOne(task *tare.Task, b []byte, path string) error {
	rec, err := recordOf(b, task, path)
	if err != nil {
		return err
	}
	if rec.Schema != tare.RecordSchema {
		return usage("reading --record %s: its schema is %q, not %q", path, rec.Schema, tare.RecordSchema)
	}
	if rec.TaskHash != task.Hash {
		return usage("%s is a record of another version of the task: it names %s, and %s is %s", path, rec.TaskHash, task.ID, task.Hash)
	}
	r, err := a.judgeRecord(&run.Rig{Grader: tare.GraderDigest(), Proof: a.proofOf}, task, rec)
	if err != nil {
		return err
	}
	return a.showVerdict(r)
}

func (a *app) judgeRecord(rig *run.Rig, task *tare.Task, rec tare.Record) (run.Result, error) {
	entry, err := tare.NewEntry(rec)
	if err != nil {
		return run.Result{}, err
	}
	return run.Result{Job: run.Job{Task: task, Episode: rec.Trajectory.Episode}, Record: rec, Verdict: rig.Judge(task, rec, entry.Hash)}, nil
}

// gradeStream judges records, one a line, one after the other: none is held longer than it takes, so that there may be any
// number of them. Each is of one of the tasks.
func (a *app) gradeStream(tasks []*tare.Task, lines *bufio.Reader, line []byte, path string) error {
	known, proofs := map[tare.Digest]*tare.Task{}, map[tare.Digest]tare.Proof{}
	for _, t := range tasks {
		known[t.Hash], proofs[t.Hash] = t, a.proofOf(t)
	}
	rig := &run.Rig{Grader: tare.GraderDigest(), Proof: func(t *tare.Task) tare.Proof { return proofs[t.Hash] }}
	out := bufio.NewWriterSize(a.stdout, 64<<10)
	shown := *a
	shown.stdout = out
	tally := map[tare.Outcome]int{}
	n, bad := 0, error(nil)
	for ended := false; bad == nil; {
		n++
		bad = func() error {
			var rec tare.Record
			if err := json.Unmarshal(line, &rec); err != nil {
				return usage("reading --record %s: record %d: %w", path, n, err)
			}
			task := known[rec.TaskHash]
			if rec.Schema != tare.RecordSchema || task == nil {
				return usage("reading --record %s: record %d (schema %q) is of %s, which is none of the tasks that were named", path, n, rec.Schema, rec.TaskHash)
			}
			r, err := a.judgeRecord(rig, task, rec)
			if err != nil {
				return err
			}
			tally[r.Verdict.Outcome]++
			return shown.streamed(n, r)
		}()
		if bad != nil || ended {
			break
		}
		var err error
		line, err = readRecordLine(lines)
		if ended = errors.Is(err, io.EOF); ended && len(bytes.TrimSpace(line)) == 0 {
			break
		}
		if err != nil && !ended {
			bad = usage("reading --record %s: record %d: %w", path, n+1, err)
		}
	}
	if !a.json() && bad == nil {
		fmt.Fprintf(out, "%s: %d PASS, %d FAIL, %d UNVERIFIED\n", many(n, "record"), tally[tare.Pass], tally[tare.Fail], tally[tare.Unverified])
	}
	if err := errors.Join(bad, out.Flush()); err != nil {
		return err
	}
	switch {
	case tally[tare.Fail] > 0:
		return exit{exitFailed, nil}
	case tally[tare.Unverified] > 0:
		return exit{exitUnverified, nil}
	}
	return nil
}

// streamed shows one verdict of a stream.
func (a *app) streamed(n int, r run.Result) error {
	if a.json() {
		return a.writeJSON(verdictLine("", r))
	}
	why := ""
	if g, ok := r.Verdict.Gate(r.Verdict.RootGate); ok {
		why = fmt.Sprintf("  %s: %s", g.Name, clip(g.Reason, 160))
	}
	_, err := fmt.Fprintf(a.stdout, "%d  %s  %s  %s%s\n", n, r.Verdict.Outcome, r.Verdict.Task, printable(r.Job.Episode.Agent), why)
	return err
}

// recordOf reads a record. That of a scenario may also be what another tool wrote down.
func recordOf(b []byte, task *tare.Task, path string) (tare.Record, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if task.Kind == tare.Scenario && (json.Unmarshal(b, &head) != nil || head.Schema == "") {
		rec, _, err := transcript.Read(b, task)
		if err != nil {
			var at *transcript.Error
			if errors.As(err, &at) && at.Line > 0 {
				return rec, usage("reading --record: %s:%w", path, err)
			}
			return rec, usage("reading --record: %s: %w", path, err)
		}
		return rec, nil
	}
	var rec tare.Record
	if err := json.Unmarshal(b, &rec); err != nil {
		return rec, usage("reading --record %s: %w", path, err)
	}
	return rec, nil
}

// showVerdict prints a verdict and makes of it an exit code.
func (a *app) showVerdict(r run.Result) error {
	if err := a.writeResult(r); err != nil {
		return err
	}
	if a.json() {
		if err := a.writeJSON(r.Verdict); err != nil {
			return err
		}
	} else if err := a.writeVerdict(r); err != nil {
		return err
	}
	return outcomeExit([]run.Result{r})
}

// outcomeExit is the exit code of what was graded: FAIL over UNVERIFIED over success.
func outcomeExit(results []run.Result) error {
	code := exitOK
	for _, r := range results {
		switch {
		case r.Verdict.Outcome == tare.Fail:
			code = exitFailed
		case r.Verdict.Outcome != tare.Pass && code == exitOK:
			code = exitUnverified
		}
	}
	if code == exitOK {
		return nil
	}
	return exit{code, nil}
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the grader's hash", Args: cobra.NoArgs, Example: "  tare version",
		RunE: func(*cobra.Command, []string) error {
			if a.json() {
				return a.writeJSON(map[string]any{"schema": "tare.version/1", "grader": tare.GraderDigest()})
			}
			_, err := fmt.Fprintf(a.stdout, "tare, grader %s\n", tare.GraderDigest())
			return err
		},
	}
}

// short is as much of a digest as tells trees apart for people.
func short(d tare.Digest) string { return strings.TrimPrefix(string(d), "sha256:")[:12] }
