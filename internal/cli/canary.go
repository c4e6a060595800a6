package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare"
	"tare/internal/canary"
	"tare/internal/check"
	"tare/internal/oracle"
	"tare/internal/run"
	"tare/internal/sandbox"
	"tare/internal/suite"
	"tare/internal/workspace"
)

type canaryFlags struct {
	agent   string
	only    []string
	project int
	repeats int
	jobs    int
	seed    int64
	wall    time.Duration
}

// canaryWall bounds an episode of a canary whose manifest does not.
const canaryWall = 900 * time.Second

func (a *app) canary() *cobra.Command {
	var f canaryFlags
	var metrics strings.Builder
	for _, d := range canary.Definitions() {
		fmt.Fprintf(&metrics, "  %-24s %s\n", d[0], d[1])
	}
	var table strings.Builder
	for _, d := range canary.Table() {
		fmt.Fprintf(&table, "  %-37s %s\n", d.When, d.Permits)
	}
	c := &cobra.Command{
		Use:   "canary MANIFEST --agent A",
		Short: "Send planted defects and clean controls through a whole harness",
		Long: `canary asks whether a harness has ever returned a negative result where the answer was known. It plants defects in fixtures,
shows by itself that each signal occurs there and nowhere else, and sends them, among clean controls and in two wordings, through
the adapter that real work goes through. MANIFEST is a file, a folder with a canary.yaml, or canaries, which is built in
(docs/canaries.md).

` + metrics.String() + `
What the numbers support, every row that holds:

` + table.String() + `
Exit codes: 0 the first row holds; 1 another one does; 3 nothing is wrong and something is UNVERIFIED; 2 bad input, 4 no rig.`,
		Example: "  tare canary canaries --agent cmd:my_agent/run_agent.sh\n  tare canary canary.yaml --agent cmd:./run_agent.sh --project 500\n  tare canary canaries --agent cmd:my_agent/run_agent.sh --only py-last-page,py-clean-pages --repeats 3",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.runCanaries(c.Context(), args[0], f) },
	}
	fs := c.Flags()
	fs.StringVar(&f.agent, "agent", "", "the agent that is the harness's adapter; default: what the manifest says")
	fs.StringSliceVar(&f.only, "only", nil, "only these canaries, by id")
	fs.IntVar(&f.project, "project", 0, "also say what this many episodes would take")
	fs.IntVar(&f.repeats, "repeats", 0, "episodes of each wording; default: what the manifest says")
	fs.IntVar(&f.jobs, "jobs", 1, "episodes played at once; an adapter that keeps a directory is played one at a time")
	fs.Int64Var(&f.seed, "seed", 0, "seed of the run; another one is another run, and the same one resumes")
	fs.DurationVar(&f.wall, "wall", 0, "time limit of an episode; default: the manifest's, else 15m")
	a.live.add(fs)
	a.presets.add(fs)
	return c
}

func (a *app) runCanaries(ctx context.Context, arg string, f canaryFlags) error {
	if f.jobs < 1 || f.repeats < 0 || f.project < 0 {
		return usage("--jobs is at least 1, --repeats and --project are not negative")
	}
	manifest, dir, err := a.canaries(ctx, arg)
	if err != nil {
		return err
	}
	tasks, err := only(manifest.Tasks, f.only)
	if err != nil {
		return err
	}
	if f.agent == "" {
		f.agent = manifest.Adapter
	}
	if f.agent == "" {
		return usage("canary takes --agent; try --agent cmd:./run_agent.sh")
	}
	return a.withRig(ctx, func(ctx context.Context, r *rig) error {
		plan, err := a.canaryPlan(r, tasks, f)
		if err != nil {
			return err
		}
		if err := a.canKeep(); err != nil {
			return err
		}
		if err := r.alone(f.agent, dir); err != nil {
			return err
		}
		if err := r.showFixtures(ctx, tasks); err != nil {
			return err
		}
		_, err = a.measureHarness(ctx, r, manifest, plan, f)
		return err
	})
}

// measureHarness plays a plan of canaries and shows and keeps what they say of the harness. The certificate is nil where they are not
// all of the manifest.
func (a *app) measureHarness(ctx context.Context, r *rig, manifest *suite.Canaries, plan run.Plan, f canaryFlags) (*harnessCertificate, error) {
	files := r.adapterFiles(f.agent)
	id, results, interrupted, err := a.playCanaries(ctx, r, plan, f.jobs)
	if err != nil {
		return nil, err
	}
	if r.adapterFiles(f.agent) != files {
		return nil, fmt.Errorf("what lies beside %s changed while canaries were played: nobody can say what they are of", scriptOf(f.agent))
	}
	cert, err := a.certifyHarness(id, manifest, files, results)
	if err != nil {
		return nil, err
	}
	return cert, a.endCanaries(id, results, interrupted, f)
}

// adapterFiles is the hash of what a command's script is shown with.
func (r *rig) adapterFiles(agent string) tare.Digest {
	if script := scriptOf(agent); r.moved[script] != "" {
		return loneDigest(script)
	}
	return adapterFiles(agent)
}

// playCanaries plays a plan of canaries and keeps what they are, so that their records can be judged again.
func (a *app) playCanaries(ctx context.Context, r *rig, plan run.Plan, jobs int) (string, []run.Result, bool, error) {
	id, err := plan.ID()
	if err != nil {
		return "", nil, false, err
	}
	if err := a.keepCanaries(id, plan); err != nil {
		return "", nil, false, err
	}
	return a.playPlan(ctx, r, plan, jobs)
}

func (a *app) endCanaries(id string, results []run.Result, interrupted bool, f canaryFlags) error {
	s, err := canary.Summarize(canary.Rows(results))
	if err != nil {
		return err
	}
	if err := a.showCanaries(id, results, f.project); err != nil {
		return err
	}
	a.noteLost(results)
	a.note("\nrun %s is kept in %s; tare show %s · tare regrade %s · tare diff %s OTHER", id, a.state, id, id, id)
	if interrupted || !allPlayed(results) {
		a.note("interrupted: %d of %d episodes are finished and kept; the same command goes on from here", played(results), len(results))
		return exit{exitInterrupted, nil}
	}
	return canaryExit(s)
}

// canaryExit is success for the first row of the table alone.
func canaryExit(s canary.Summary) error {
	switch {
	case s.Holds(canary.Passes):
		return nil
	case len(s.Table) == 1 && s.Holds(canary.Unverified):
		return exit{exitUnverified, nil}
	}
	return exit{exitFailed, nil}
}

// only picks canaries by id.
func only(tasks []*tare.Task, ids []string) ([]*tare.Task, error) {
	if len(ids) == 0 {
		return tasks, nil
	}
	var out []*tare.Task
	for _, id := range ids {
		i := slices.IndexFunc(tasks, func(t *tare.Task) bool { return shortID(t) == id })
		if i < 0 {
			var all []string
			for _, t := range tasks {
				all = append(all, shortID(t))
			}
			return nil, usage("there is no canary %q; there are %s", id, strings.Join(all, ", "))
		}
		if !slices.Contains(out, tasks[i]) {
			out = append(out, tasks[i])
		}
	}
	return out, nil
}

func shortID(t *tare.Task) string {
	_, id, _ := strings.Cut(t.ID, "/")
	return id
}

// canaryPlan makes the episodes of canaries: each in every wording, next to each other, as often as is asked.
func (a *app) canaryPlan(r *rig, tasks []*tare.Task, f canaryFlags) (run.Plan, error) {
	var plan run.Plan
	name, err := a.harness(f.agent)
	if err != nil {
		return plan, err
	}
	for _, t := range tasks {
		repeats := t.Canary.Repeats
		if f.repeats > 0 {
			repeats = f.repeats
		}
		for trial := 1; trial <= repeats; trial++ {
			for _, p := range t.Canary.Phrasings {
				job := run.Job{Task: t, Episode: r.episode(t, name)}
				if isLive(name) {
					if job.Episode, err = a.live.episode(job.Episode, name); err != nil {
						return plan, err
					}
				}
				if isPreset(name) {
					if job.Episode, err = a.presetEpisode(job.Episode, name); err != nil {
						return plan, err
					}
				}
				job.Episode.Level, job.Episode.Trial, job.Episode.Seed = p.Name, trial, f.seed
				switch {
				case f.wall > 0:
					job.Episode.Limits.Wall = f.wall
				case job.Episode.Limits.Wall == 0:
					job.Episode.Limits.Wall = canaryWall
				}
				plan.Jobs = append(plan.Jobs, job)
			}
		}
	}
	return plan, nil
}

// harness is the name of an agent that can be sent canaries: one that replies.
func (a *app) harness(name string) (string, error) {
	if name == noop {
		return name, nil
	}
	if isLive(name) {
		return name, a.live.check(name)
	}
	if isPreset(name) {
		return name, a.checkAgent(name)
	}
	script, ok := strings.CutPrefix(name, "cmd:")
	if !ok {
		return "", usage("agent %q does not reply to what it is asked; canaries are for cmd:SCRIPT, presets, anthropic:MODEL and openai:MODEL (and noop, which says nothing)", name)
	}
	if err := a.checkAgent(name); err != nil {
		return "", err
	}
	b, err := os.ReadFile(script)
	if err != nil {
		return "", usage("agent %s: %w", name, err)
	}
	return name + scriptMark + short(tare.HashBytes(b)), nil
}

// alone sees to it that a script which lies beside the manifest is shown without what lies there: plants and fixtures are
// answers.
func (r *rig) alone(name, dir string) error {
	script, ok := strings.CutPrefix(name, "cmd:")
	if !ok || dir == "" {
		return nil
	}
	abs, err := filepath.Abs(script)
	if err != nil {
		return err
	}
	_, err = r.loneScript(script, filepath.Dir(abs) == dir)
	return err
}

// keptFor is the directory that an agent keeps between the episodes of this command.
func (r *rig) keptFor(name string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if dir := r.kept[name]; dir != "" {
		return dir, nil
	}
	dir, err := r.sb.NewDir("k-*")
	if err != nil {
		return "", err
	}
	if r.kept == nil {
		r.kept = map[string]string{}
	}
	r.kept[name] = dir
	return dir, nil
}

// showFixtures runs the check of every fixture, planted and without its plant, and refuses canaries whose signal does not
// occur on the one or occurs on the other.
func (r *rig) showFixtures(ctx context.Context, tasks []*tare.Task) error {
	bar := r.a.progress()
	defer bar.clear()
	r.shown = map[tare.Digest]tare.CanaryEvidence{}
	done := map[string]*tare.FixtureRun{}
	once := func(tree tare.Tree, c tare.FixtureCheck) (*tare.FixtureRun, error) {
		key := string(tree.Digest()) + strings.Join(c.Argv, "\x00")
		if done[key] == nil {
			res, err := r.checkFixture(ctx, tree, c)
			if err != nil {
				return nil, err
			}
			done[key] = res
		}
		return done[key], nil
	}
	var bad []string
	for i, t := range tasks {
		bar.say("fixture %d of %d: %s", i+1, len(tasks), t.ID)
		var ev tare.CanaryEvidence
		var err error
		if ev.Fixture, err = once(t.Seed, t.Canary.Check); err == nil && t.Canary.Twin != nil {
			ev.Twin, err = once(t.Canary.Twin, t.Canary.Check)
		}
		if err != nil {
			return fmt.Errorf("checking the fixture of %s: %w", t.ID, err)
		}
		if why := oracle.FixtureFault(t, ev); why != "" {
			bad = append(bad, fmt.Sprintf("%s: %s", t.ID, why))
		}
		r.shown[t.Hash] = ev
	}
	if len(bad) > 0 {
		return usage("%s that nobody could answer; nothing was sent:\n  %s", manyCanaries(len(bad)), strings.Join(bad, "\n  "))
	}
	return nil
}

const (
	fixtureWall   = 2 * time.Minute
	fixtureOutput = 128 << 10
)

// checkFixture runs a fixture's own check.
func (r *rig) checkFixture(ctx context.Context, tree tare.Tree, c tare.FixtureCheck) (out *tare.FixtureRun, err error) {
	dir, err := r.sb.NewDir("f-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, (&workspace.Workspace{Dir: dir}).Remove()) }()
	uid, gid := r.sb.Owner()
	at := filepath.Join(dir, "w")
	if err := workspace.Lay(at, tree, workspace.Owner{UID: uid, GID: gid}); err != nil {
		return nil, err
	}
	more, err := r.provision(ctx, c.Runner)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, more.Release()) }()
	wall := c.Wall
	if wall <= 0 {
		wall = fixtureWall
	}
	res, err := r.sb.Run(ctx, sandbox.Cmd{
		Argv: c.Argv, Dir: guestTree, Env: more.Env,
		Mounts: append(slices.Clone(more.Mounts), sandbox.Mount{Host: at, Guest: guestTree, Writable: true}),
		Limits: sandbox.Limits{Wall: wall},
	})
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	output := slices.Concat(res.Stdout.Data, []byte("\n"), res.Stderr.Data)
	if len(output) > fixtureOutput {
		output = output[:fixtureOutput]
	}
	return &tare.FixtureRun{Argv: c.Argv, Exit: res.Exit, Ended: string(res.Ended), Output: output}, nil
}

// provision readies the tools of a fixture's language, where the system's own do not do.
func (r *rig) provision(ctx context.Context, runner string) (check.Provision, error) {
	if runner == "" {
		return check.Provision{Env: map[string]string{}, Release: func() error { return nil }}, nil
	}
	how, err := check.For(runner)
	if err != nil {
		return check.Provision{}, err
	}
	return check.Provide(ctx, r.sb, how)
}

// A keptCanary is what a canary is, with the hash of its fixture: enough to judge a record of it, and to see that it is the one
// which the record is of.
type keptCanary struct {
	ID     string           `json:"id"`
	Hash   tare.Digest      `json:"hash"`
	Spec   *tare.CanarySpec `json:"spec"`
	Limits tare.Limits      `json:"limits"`
	Seed   tare.Digest      `json:"seed"`
	Twin   tare.Digest      `json:"twin"`
}

type keptCanaries struct {
	Schema   string       `json:"schema"`
	Canaries []keptCanary `json:"canaries"`
}

const canariesSchema = "tare.canaries/2"

func (a *app) canariesOf(run string) string { return filepath.Join(a.state, "canaries", run+".json") }

func (a *app) keepCanaries(run string, plan run.Plan) error {
	kept := keptCanaries{Schema: canariesSchema}
	seen := map[tare.Digest]bool{}
	for _, j := range plan.Jobs {
		if !seen[j.Task.Hash] {
			seen[j.Task.Hash] = true
			kept.Canaries = append(kept.Canaries, keptCanary{j.Task.ID, j.Task.Hash, j.Task.Canary, j.Task.Limits, j.Task.Seed.Digest(), j.Task.Canary.Twin.Digest()})
		}
	}
	b, err := tare.Canonical(kept)
	if err != nil {
		return err
	}
	path := a.canariesOf(run)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}

// knownCanaries are the canaries of a run; none of one that has none.
func (a *app) knownCanaries(run string) ([]*tare.Task, error) {
	b, err := os.ReadFile(a.canariesOf(run))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var kept keptCanaries
	if err := json.Unmarshal(b, &kept); err != nil || kept.Schema != canariesSchema {
		return nil, fmt.Errorf("reading the canaries of run %s: %w", run, errors.Join(err, errors.New("schema "+kept.Schema)))
	}
	var out []*tare.Task
	for _, k := range kept.Canaries {
		if k.Spec == nil || suite.CanaryHash(k.ID, k.Spec, k.Limits, k.Seed, k.Twin) != k.Hash {
			return nil, fmt.Errorf("reading the canaries of run %s: %s is not as it was when it was played", run, printable(clip(k.ID, 80)))
		}
		t := &tare.Task{ID: k.ID, Hash: k.Hash, Kind: tare.Canary, Category: tare.Development, Canary: k.Spec}
		t.Title = "canary " + shortID(t)
		out = append(out, t)
	}
	return out, nil
}
