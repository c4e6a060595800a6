package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"tare"
	"tare/internal/check"
	"tare/internal/queue"
	"tare/internal/run"
	"tare/internal/sandbox"
	"tare/internal/store"
	"tare/internal/suite"
)

// mostAttempts is how often an episode is played that infrastructure ends.
const mostAttempts = 3

// Needs of an episode, as a worker must have them.
const (
	needIsolation = "isolation:"
	needTools     = "tools:"
	needProgram   = "program:"
	needScript    = "script:"
	needGrader    = "grader:"
	needAgent     = "agent:"
	needAsking    = "asking:"
)

// needs are what a worker must have to play a job: the isolation that it is planned with, the tools of its language, the program of
// a live world, the very script of a command, and the same grader, so that no run is judged by two.
func (a *app) needs(job run.Job) []string {
	out := []string{needIsolation + job.Episode.Isolation, needGrader + short(tare.GraderDigest())}
	for _, set := range job.Task.Tools() {
		out = append(out, needTools+set)
	}
	if s := job.Task.Scenario; s != nil && s.World.MCP != nil && len(s.World.MCP.Command) > 0 && a.server == "" {
		out = append(out, needProgram+url.PathEscape(s.World.MCP.Command[0]))
	}
	if strings.HasPrefix(job.Episode.Agent, "cmd:") {
		out = append(out, needScript+url.PathEscape(strings.TrimPrefix(job.Episode.Agent, "cmd:")))
	}
	if isLive(job.Episode.Agent) || isPresetLabel(job.Episode.Agent) {
		out = append(out, needAgent+url.QueryEscape(job.Episode.Agent)+":"+url.QueryEscape(job.Episode.Policy), needAsking+a.asking())
	}
	return out
}

// asking is the hash of the settings of agents that ask a model which no episode names: a worker plays with its own, and so it must
// have the same.
func (a *app) asking() string {
	prices, _ := os.ReadFile(a.live.prices) // what cannot be read was refused before
	b, err := tare.Canonical(map[string]any{"output": a.live.maxOutput, "result": a.live.result, "thinking": a.live.thinking, "approve": cmp.Or(a.live.approve, "auto"),
		"prices": string(prices), "hosts": append([]string{}, a.presets.hosts...)})
	if err != nil {
		panic(err) // text and numbers always encode
	}
	return short(tare.HashBytes(b))
}

// hasAgent reports whether an agent that asks a model could be played here: its model, its key, its policy or its client.
func (a *app) hasAgent(label, policy string) bool {
	var err error
	if isPresetLabel(label) {
		_, err = a.presetAgent(label, policy)
	} else {
		_, err = a.liveAgent(label, policy)
	}
	return err == nil
}

// alone says what of a run's flags no worker elsewhere can know of.
func (a *app) alone(f runFlags) error {
	for flag, set := range map[string]bool{"--server": a.server != "", "--bug": len(a.bugs) > 0, "--keep": f.keep, "--approve terminal": a.live.approve == "terminal"} {
		if set {
			return usage("%s is of this machine, and the episodes of a shared database are played by workers: run it without --db %s", flag, a.place())
		}
	}
	return nil
}

// has is what this machine has, and can whether it has something that has a name of its own.
func (r *rig) has() []string {
	out := []string{needIsolation + r.sb.Isolation(), needGrader + short(r.grader), needAsking + r.a.asking()}
	for _, set := range []string{"pytest", "gotest", "gcc"} {
		if check.Equipped(set) == nil {
			out = append(out, needTools+set)
		}
	}
	return out
}

func (r *rig) can(need string) bool {
	kind, rest, _ := strings.Cut(need, ":")
	what, err := url.PathUnescape(rest)
	if err != nil {
		return false
	}
	switch kind + ":" {
	case needTools:
		return check.Equipped(what) == nil
	case needProgram:
		_, err := exec.LookPath(what)
		return err == nil
	case needAgent:
		label, policy, _ := strings.Cut(rest, ":") // a colon of theirs is escaped
		label, err1 := url.QueryUnescape(label)
		policy, err2 := url.QueryUnescape(policy)
		return err1 == nil && err2 == nil && r.a.hasAgent(label, policy)
	case needScript:
		path, hash := what, ""
		if i := strings.LastIndex(what, scriptMark); i >= 0 {
			path, hash = what[:i], what[i+len(scriptMark):]
		}
		if to := r.moved[path]; to != "" {
			path = to
		}
		b, err := os.ReadFile(path)
		return err == nil && (hash == "" || short(tare.HashBytes(b)) == hash)
	}
	return false
}

// provider is who serves the model of an agent, where its name says so: openai/gpt-… is openai's.
func provider(agent string) string {
	if p, _, ok := strings.Cut(agent, "/"); ok && !strings.Contains(p, ":") {
		return p
	}
	return ""
}

// limitedName is an agent's name without the hash of its script.
func limitedName(agent string) string {
	if i := strings.LastIndex(agent, scriptMark); i > 0 && strings.HasPrefix(agent, "cmd:") {
		return agent[:i]
	}
	return agent
}

// workOf is a plan as a database takes it.
func (a *app) workOf(ctx context.Context, d *store.DB, id string, plan run.Plan) (store.Work, error) {
	w := store.Work{Run: id, Attempts: mostAttempts, Priority: a.priority, Suites: a.carried}
	var err error
	if w.Plan, err = plan.Entry(); err != nil {
		return w, err
	}
	for _, job := range plan.Jobs {
		p := store.Planned{Episode: job.Episode, Limited: limitedName(job.Episode.Agent), Provider: provider(job.Episode.Agent), Needs: a.needs(job)}
		if job.Solution != nil {
			b, err := json.Marshal(job.Solution)
			if err != nil {
				return w, fmt.Errorf("keeping a finished tree: %w", err)
			}
			if p.Solution, err = d.PutBlob(ctx, b); err != nil {
				return w, fmt.Errorf("keeping a finished tree: %w", err)
			}
		}
		w.Episodes = append(w.Episodes, p)
	}
	return w, nil
}

// A taskSource finds tasks by their hashes: among those of the command line, the built-in ones, and those that came with a run.
type taskSource struct {
	a  *app
	d  *store.DB
	mu sync.Mutex
	by map[tare.Digest]*tare.Task
}

func (a *app) taskSource(d *store.DB, known []*tare.Task) *taskSource {
	s := &taskSource{a: a, d: d, by: map[tare.Digest]*tare.Task{}}
	for _, t := range known {
		s.by[t.Hash] = t
	}
	return s
}

func (s *taskSource) find(ctx context.Context, hash tare.Digest) (*tare.Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.by[hash]; t != nil {
		return t, nil
	}
	name, archive, err := s.d.SuiteOf(ctx, hash)
	if err != nil {
		return nil, err
	}
	loaded, err := suite.FromArchive(name, archive)
	if err != nil {
		return nil, err
	}
	for _, t := range loaded.Tasks {
		if s.by[t.Hash] == nil {
			s.by[t.Hash] = t
		}
	}
	if s.by[hash] == nil {
		return nil, fmt.Errorf("task %s: its suite does not hold it: %w", hash, store.ErrNotFound)
	}
	return s.by[hash], nil
}

// job is a leased episode with its task and its finished tree.
func (s *taskSource) job(ctx context.Context, ep tare.Episode, solution tare.Digest) (run.Job, error) {
	job := run.Job{Episode: ep}
	t, err := s.find(ctx, ep.TaskHash)
	if err != nil {
		return job, err
	}
	if job.Task, err = s.a.sourced(ctx, t); err != nil {
		return job, err
	}
	if solution != "" {
		b, err := s.d.Blob(ctx, solution)
		if err != nil {
			return job, err
		}
		if err := json.Unmarshal(b, &job.Solution); err != nil {
			return job, fmt.Errorf("reading a finished tree: %w", err)
		}
	}
	return job, nil
}

// playLease plays and judges a leased episode.
func (r *rig) playLease(ctx context.Context, judge *run.Rig, d *store.DB, tasks *taskSource, l *store.Lease) (p queue.Played, err error) {
	job, err := tasks.job(ctx, l.Episode, l.Solution)
	if err != nil {
		return p, err
	}
	w, err := d.Trajectory(l.Run, l.Episode)
	if err != nil {
		return p, err
	}
	record, err := r.play(ctx, job, w)
	if err = errors.Join(err, w.Close()); err != nil {
		return p, err
	}
	if p.Record, err = tare.NewEntry(record); err != nil {
		return p, err
	}
	v := judge.Judge(job.Task, record, p.Record.Hash)
	p.Lost = v.Outcome == tare.Unverified && v.Cause == tare.CauseInfrastructure
	p.Verdict, err = tare.NewEntry(v)
	return p, err
}

// worker is how this process works for a database.
func (a *app) worker(r *rig, d *store.DB, tasks *taskSource, slots int, tell func(queue.Event)) queue.Config {
	judge := &run.Rig{Grader: r.grader, Proof: a.proofOf, Harness: a.harnessProof}
	return queue.Config{
		Slots: slots, Has: r.has(), Can: r.can, Version: r.grader, Tell: tell,
		Play: func(ctx context.Context, l *store.Lease) (queue.Played, error) {
			return r.playLease(ctx, judge, d, tasks, l)
		},
		Gone: a.gone,
	}
}

// gone says that a worker is gone, and reaps what it left on this machine: processes, control groups, workspaces.
func (a *app) gone(p store.Pulse, leases []store.Lease) {
	a.note("worker %s is gone; %s taken over", p.ID, many(len(leases), "episode"))
	n, err := sandbox.Reap(a.workdir)
	if n > 0 || err != nil {
		a.note("removed what %s left in %s%s", many(n, "program"), cmp.Or(a.workdir, "the usual directories"), because(err))
	}
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// adopt copies a run into the database that an earlier tare kept as files: what is finished there must not be played again.
func (a *app) adopt(ctx context.Context, id string) error {
	l, ok := a.files().(store.Layered)
	if !ok {
		return nil
	}
	var plan any
	if err := l.DB.Plan(id, &plan); err == nil || !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err := l.Old.Plan(id, &plan); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	}
	_, err := store.Merge(ctx, l.Old, l.DB, []string{id})
	return err
}

// playQueued plays a plan through the queue of the database: with a worker in this process, or by following what others do.
func (a *app) playQueued(ctx context.Context, r *rig, plan run.Plan, jobs int, stop <-chan struct{}, tell func(done int)) (string, []run.Result, error) {
	id, err := plan.ID()
	if err != nil {
		return "", nil, err
	}
	d, q, err := a.queue(ctx)
	if err != nil {
		return "", nil, err
	}
	if err := a.adopt(ctx, id); err != nil {
		return "", nil, err
	}
	w, err := a.workOf(ctx, d, id, plan)
	if err != nil {
		return "", nil, err
	}
	for name, most := range a.limits {
		if err := d.SetLimit(ctx, name, most); err != nil {
			return "", nil, err
		}
	}
	if _, err := q.Enqueue(ctx, w); err != nil {
		return "", nil, err
	}
	if p, err := d.Progress(ctx, id); err != nil || p.Ended() {
		results, rerr := a.queued(ctx, r, d, id, plan)
		return id, results, errors.Join(err, rerr)
	}
	if d.Postgres() {
		err = a.follow(ctx, d, q, id, stop, tell)
	} else {
		var tasks []*tare.Task
		for _, j := range plan.Jobs {
			tasks = append(tasks, j.Task)
		}
		err = a.workHere(ctx, r, d, q, id, a.taskSource(d, tasks), jobs, stop, tell)
	}
	results, rerr := a.queued(ctx, r, d, id, plan)
	return id, results, errors.Join(err, rerr)
}

// workHere works until the run has ended or somebody wants an end.
func (a *app) workHere(ctx context.Context, r *rig, d *store.DB, q *queue.Queue, id string, tasks *taskSource, jobs int, stop <-chan struct{}, tell func(int)) error {
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var once sync.Once
	end := func() { once.Do(func() { close(ended) }) }
	check := make(chan struct{}, 1)
	cfg := a.worker(r, d, tasks, jobs, func(e queue.Event) {
		if e.Done {
			select {
			case check <- struct{}{}:
			default:
			}
		}
	})
	cfg.Run = id      // others in this database are of other commands, with other flags
	cfg.Strict = true // what cannot be played here ends the run, as it would be no better the next time
	told := make(chan struct{})
	go func() {
		defer close(told)
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for next, idle := time.Now(), time.Now(); ; {
			var p store.Progress
			err := errTooSoon
			if began := time.Now(); !began.Before(next) {
				p, err = d.Progress(ctx, id)
				next = time.Now().Add(10 * time.Since(began)) // it reads the rows of the whole run
			}
			if err == nil {
				tell(p.Done + p.Lost)
				if p.Ended() || p.State != store.Active && p.Running == 0 {
					end()
					return
				}
				if p.Running > 0 {
					idle = time.Now()
				} else if time.Since(idle) > idleHere {
					if done, _ := a.nobody(ctx, d, id); done { // what cannot be asked is asked again
						end()
						return
					}
					idle = time.Now()
				}
			}
			select {
			case <-stop:
				end()
				return
			case <-ctx.Done():
				return
			case <-check:
			case <-ticker.C:
			}
		}
	}()
	err := q.Work(ctx, cfg, ended)
	cancel()
	<-told
	return err
}

var errTooSoon = errors.New("it was asked just now")

// How long a run waits for a worker that can play what is left, before it says that there is none: for one elsewhere, and for its own.
const (
	idleFor  = 15 * time.Second
	idleHere = 3 * time.Second
)

// follow waits until workers elsewhere have played a run. The first interrupt pauses it, the second cancels what runs.
func (a *app) follow(ctx context.Context, d *store.DB, q *queue.Queue, id string, stop <-chan struct{}, tell func(int)) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	go q.Watch(watching, a.gone)
	ticker := time.NewTicker(300 * time.Millisecond)
	defer ticker.Stop()
	idle, failing := time.Now(), time.Now()
	for {
		p, err := d.Progress(ctx, id)
		if err == nil {
			failing = time.Now()
			tell(p.Done + p.Lost)
			if p.Ended() || p.State != store.Active && p.Running == 0 {
				return d.Ledger().Integrate()
			}
			if p.Running > 0 {
				idle = time.Now()
			} else if time.Since(idle) > idleFor {
				if done, err := a.nobody(ctx, d, id); done || err != nil {
					return err
				}
			}
		} else if ctx.Err() == nil && time.Since(failing) > time.Minute {
			return err
		}
		select {
		case <-ctx.Done():
			return d.Cancel(context.WithoutCancel(ctx), id)
		case <-stop:
			stop = nil
			if err := d.Pause(ctx, id); err != nil {
				return err
			}
		case <-ticker.C:
		}
	}
}

// nobody says what no worker can play; done means that nothing is left but that.
func (a *app) nobody(ctx context.Context, d *store.DB, id string) (done bool, err error) {
	unmet, err := d.Unmet(ctx, id)
	if err != nil || len(unmet) == 0 {
		return false, err
	}
	for _, u := range unmet {
		why := "no worker is there; start some: tare worker --db …"
		if len(u.Lacking) > 0 {
			why = "no worker has " + strings.Join(u.Lacking, " and ")
		} else if u.Needs != "" {
			why += ", with " + u.Needs
		}
		a.note("nobody can play %s, such as %s: %s", many(u.Episodes, "episode"), u.Example, why)
	}
	p, err := d.Progress(ctx, id)
	waiting := 0
	for _, u := range unmet {
		waiting += u.Episodes
	}
	return err == nil && waiting >= p.Waiting && p.Running == 0, err
}

// lightFrom is how many episodes a run has whose records are not all read to show its verdicts.
const lightFrom = 500

// queued reads what became of the jobs of a plan.
func (a *app) queued(ctx context.Context, r *rig, d *store.DB, id string, plan run.Plan) ([]run.Result, error) {
	results := make([]run.Result, len(plan.Jobs))
	light := map[tare.Digest][]tare.Verdict{}
	if len(plan.Jobs) >= lightFrom {
		eps := make([]tare.Episode, len(plan.Jobs))
		for i, j := range plan.Jobs {
			eps[i] = j.Episode
		}
		var err error
		if light, err = d.Verdicts(context.WithoutCancel(ctx), id, eps); err != nil {
			return nil, err
		}
	}
	for i, job := range plan.Jobs {
		results[i].Job = job
		if history := light[job.Episode.Key()]; len(history) > 0 {
			results[i].Verdict = tare.Standing(history)
			continue
		}
		rec, v, ok, err := d.Finished(id, job.Episode)
		if err != nil {
			return nil, err
		}
		if ok {
			results[i].Record, results[i].Verdict = rec, v
			continue
		}
		lost, err := d.LostAttempts(id, job.Episode)
		if err != nil {
			return nil, err
		}
		if n := len(lost); n > 0 {
			last := lost[n-1]
			entry, err := tare.NewEntry(last)
			if err != nil {
				return nil, err
			}
			results[i].Record, results[i].Verdict = last, r.judge.Judge(job.Task, last, entry.Hash)
		}
	}
	return results, nil
}
