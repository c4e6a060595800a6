// Package run goes the whole way of an episode: plan, play, record, judge, keep. The command line, proofs and demos all
// call it, so nothing is shown on a path that production does not take.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"tare"
	"tare/internal/oracle"
)

// PlanSchema is the schema of a plan's entry.
const PlanSchema = "tare.plan/1"

// A Job is one episode that is to be played, with what its player needs. Solution, when set, is put into the workspace
// in place of an agent's work: that is how controls and finished solutions are graded.
type Job struct {
	Episode  tare.Episode
	Task     *tare.Task
	Solution tare.Tree
}

// A Plan is all the jobs of a run.
type Plan struct {
	Jobs []Job
}

// PlanFact is a plan as it is kept.
type PlanFact struct {
	Schema   string         `json:"schema"`
	Episodes []tare.Episode `json:"episodes"`
}

// Entry is the plan as an entry.
func (p Plan) Entry() (tare.Entry, error) {
	fact := PlanFact{Schema: PlanSchema}
	for _, j := range p.Jobs {
		fact.Episodes = append(fact.Episodes, j.Episode)
	}
	return tare.NewEntry(fact)
}

// ID names the run of a plan: 12 hexadecimal digits of its hash. The same plan is the same run, which is what lets the
// same command resume.
func (p Plan) ID() (string, error) {
	e, err := p.Entry()
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(string(e.Hash), "sha256:")[:12], nil
}

// A Player plays one job and says all that was observed, writing the trajectory to w as it happens. An error means that
// the job could not be played at all or that ctx ended; a failure of the rig in mid-episode is in the record.
type Player func(ctx context.Context, job Job, w io.Writer) (tare.Record, error)

// A Recorder keeps what a run makes. Its methods may be called at once from several goroutines.
type Recorder interface {
	Begin(run string, plan tare.Entry) error
	Trajectory(run string, ep tare.Episode) (io.WriteCloser, error)
	Save(run string, ep tare.Episode, record, verdict tare.Entry) error // the episode is finished
	Lost(run string, ep tare.Episode, record tare.Entry) error          // an attempt that infrastructure ended
	Finished(run string, ep tare.Episode) (tare.Record, tare.Verdict, bool, error)
}

// A Rig plays jobs.
type Rig struct {
	Play     Player
	Recorder Recorder // nil: nothing is kept
	Jobs     int      // played at once; below 1 is 1
	Attempts int      // of an episode that infrastructure ends; below 1 is 1
	Proof    func(*tare.Task) tare.Proof
	Harness  func(tare.Episode) (h *tare.Harness, ceiling *float64) // what canaries showed of the adapter of an episode, and the ceiling of its scores
	Grader   tare.Digest
	Progress func(Event) // called from several goroutines, one at a time

	mu      sync.Mutex
	benches map[*tare.Task]*oracle.Bench
}

// maxBenches bounds the benches that a Rig keeps.
const maxBenches = 256

// bench is what judges the records of a scenario, with its expectations compiled once.
func (r *Rig) bench(task *tare.Task) *oracle.Bench {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.benches[task]
	if !ok {
		if r.benches == nil || len(r.benches) >= maxBenches {
			r.benches = map[*tare.Task]*oracle.Bench{}
		}
		b = oracle.NewBench(task)
		r.benches[task] = b
	}
	return b
}

// An Event says that an episode began or ended.
type Event struct {
	Job     Job
	Attempt int
	Done    bool
	Resumed bool // it was finished before
	Lost    bool // this attempt was ended by infrastructure, and there is a further one
	Result  Result
	Took    time.Duration
}

// A Result is what became of a job. Its zero Verdict means that it was never played.
type Result struct {
	Job     Job
	Record  tare.Record
	Verdict tare.Verdict
	History []tare.Verdict // all verdicts that are kept, the oldest first, where they were looked for
}

// Played reports whether the job has a verdict.
func (r Result) Played() bool { return r.Verdict.Outcome != "" }

// Run plays what of plan is not finished yet and returns a result per job, in the plan's order. When stop is closed no
// further job begins; when ctx ends, running jobs are given up. Either way what was finished is kept and the jobs that
// were not played have no verdict. The error is of the rig: the first one ends the run.
func (r *Rig) Run(ctx context.Context, id string, plan Plan, stop <-chan struct{}) ([]Result, error) {
	if r.Recorder != nil {
		entry, err := plan.Entry()
		if err != nil {
			return nil, err
		}
		if err := r.Recorder.Begin(id, entry); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]Result, len(plan.Jobs))
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range plan.Jobs {
			select {
			case <-stop: // select picks at random, and a closed stop must win
				return
			default:
			}
			select {
			case next <- i:
			case <-stop:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	var wg sync.WaitGroup
	var mu sync.Mutex
	tell := func(e Event) {
		if r.Progress != nil {
			mu.Lock()
			defer mu.Unlock()
			r.Progress(e)
		}
	}
	for range max(1, r.Jobs) {
		wg.Go(func() {
			for i := range next {
				res, err := r.one(ctx, id, plan.Jobs[i], tell)
				if err != nil {
					cancel(err)
					return
				}
				results[i] = res
			}
		})
	}
	wg.Wait()
	for i := range results {
		results[i].Job = plan.Jobs[i]
	}
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return results, err
	}
	return results, nil
}

// one brings a single job to its end: found finished, or played until infrastructure does not get in the way.
func (r *Rig) one(ctx context.Context, id string, job Job, tell func(Event)) (Result, error) {
	began := time.Now()
	if r.Recorder != nil {
		rec, verdict, ok, err := r.Recorder.Finished(id, job.Episode)
		if err != nil {
			return Result{}, err
		}
		if ok {
			res := Result{Job: job, Record: rec, Verdict: verdict}
			tell(Event{Job: job, Done: true, Resumed: true, Result: res})
			return res, nil
		}
	}
	for attempt := 1; ; attempt++ {
		tell(Event{Job: job, Attempt: attempt})
		res, lost, err := r.attempt(ctx, id, job)
		if err != nil {
			return Result{}, err
		}
		if !lost || attempt >= max(1, r.Attempts) {
			tell(Event{Job: job, Attempt: attempt, Done: true, Result: res, Took: time.Since(began)})
			return res, nil
		}
		tell(Event{Job: job, Attempt: attempt, Lost: true, Result: res, Took: time.Since(began)})
	}
}

// attempt plays, judges and keeps job once. lost means that infrastructure ended it; such an attempt is kept but does
// not finish the episode, so that a resume plays it again.
func (r *Rig) attempt(ctx context.Context, id string, job Job) (res Result, lost bool, err error) {
	record, err := r.played(ctx, id, job)
	if err != nil {
		if ctx.Err() != nil {
			return Result{Job: job}, false, nil // given up: no verdict
		}
		return res, false, fmt.Errorf("playing %s by %s: %w", job.Episode.Task, job.Episode.Agent, err)
	}
	entry, err := tare.NewEntry(record)
	if err != nil {
		return res, false, err
	}
	verdict := r.Judge(job.Task, record, entry.Hash)
	res = Result{Job: job, Record: record, Verdict: verdict}
	lost = verdict.Outcome == tare.Unverified && verdict.Cause == tare.CauseInfrastructure
	if r.Recorder == nil {
		return res, lost, nil
	}
	if lost {
		return res, true, r.Recorder.Lost(id, job.Episode, entry)
	}
	ventry, err := tare.NewEntry(verdict)
	if err != nil {
		return res, false, err
	}
	if err := r.Recorder.Save(id, job.Episode, entry, ventry); err != nil {
		// another program on the same store may have finished the episode meanwhile: the first record stands
		record, verdict, ok, ferr := r.Recorder.Finished(id, job.Episode)
		if ferr != nil || !ok {
			return res, false, errors.Join(err, ferr)
		}
		return Result{Job: job, Record: record, Verdict: verdict}, false, nil
	}
	return res, false, nil
}

func (r *Rig) played(ctx context.Context, id string, job Job) (record tare.Record, err error) {
	w := io.Writer(io.Discard)
	if r.Recorder != nil {
		file, err := r.Recorder.Trajectory(id, job.Episode)
		if err != nil {
			return record, err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		w = file
	}
	return r.Play(ctx, job, w)
}

// Judge asks the oracle and adds what it cannot know: which record it judged, by which grader, and how far that grader
// is proven. The hash is that of the record's canonical form. It may be called from several goroutines.
func (r *Rig) Judge(task *tare.Task, record tare.Record, hash tare.Digest) tare.Verdict {
	var v tare.Verdict
	if task.Kind == tare.Scenario {
		v = r.bench(task).JudgeEntry(record, hash)
	} else {
		v = oracle.Judge(task, record)
		v.Record = hash
	}
	v.Grader = r.Grader
	v.Proof = tare.Proof{Status: tare.Unproven}
	if r.Proof != nil {
		v.Proof = r.Proof(task)
	}
	if r.Harness != nil && task.Kind != tare.Canary {
		v.Proof.Harness, v.Proof.Ceiling = r.Harness(record.Trajectory.Episode)
	}
	return v
}
