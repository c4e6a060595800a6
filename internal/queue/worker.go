package queue

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"tare"
	"tare/internal/store"
)

// Played is what came of an attempt.
type Played struct {
	Record, Verdict tare.Entry
	Lost            bool // infrastructure ended it: its record is kept, and no verdict
}

// A Player plays a leased episode. An error means that it could not be played at all or that ctx ended.
type Player func(ctx context.Context, l *store.Lease) (Played, error)

// An Event says that a worker began or ended an attempt.
type Event struct {
	Lease  *store.Lease
	Done   bool
	Played Played
	Again  bool // it was lost, and is tried again
	Took   time.Duration
}

// Config says how a worker works. The zero values of times are those of production.
type Config struct {
	Slots   int // episodes played at once
	Has     []string
	Can     func(need string) bool // whether it has what Has does not name, such as a script; nil: no
	Version tare.Digest            // of its grader
	Run     string                 // the run that it plays alone; "": all
	Play    Player
	Tell    func(Event)                               // called from several goroutines
	Gone    func(w store.Pulse, leases []store.Lease) // another worker was taken for lost; nil: nobody is told
	Strict  bool                                      // an episode that cannot be played at all ends the worker, rather than be tried again

	Beat     time.Duration      // between two beats of its heart; default 1 s
	Patience int                // beats for which another one's heart may stand; default 6
	Commit   time.Duration      // for which it tries to keep what came of an attempt; default 5 min
	At       func(point string) // of tests: told of each point that it passes
}

// ErrTaken means that a worker was taken for lost while it lived: it was stopped, or could not reach the database, for too long.
var ErrTaken = errors.New("this worker was taken for lost, and others have its episodes")

// A worker is one process at work.
type worker struct {
	q    *Queue
	cfg  Config
	self store.Worker

	stop     <-chan struct{}         // closed by whoever wants it to stop; nil: nobody does
	stopping chan struct{}           // closed: no further episode begins
	over     <-chan struct{}         // closed: what is played is given up
	fail     context.CancelCauseFunc // ends everything

	mu    sync.Mutex
	has   []string
	plays map[*store.Lease]context.CancelFunc

	astray map[string]bool // leases that nobody played at the last tick, which alone uses it
}

// errCancelled is why an episode of a cancelled run is given up.
var errCancelled = errors.New("its run was cancelled")

// Work plays what waits until stop is closed, whereupon it finishes what it plays, or ctx ends, whereupon it gives that up. The error
// is of the rig or the database.
func (q *Queue) Work(ctx context.Context, cfg Config, stop <-chan struct{}) error {
	cfg.Beat, cfg.Commit = orElse(cfg.Beat, time.Second), orElse(cfg.Commit, 5*time.Minute)
	cfg.Patience = orElse(cfg.Patience, 6)
	id, err := newID()
	if err != nil {
		return err
	}
	w := &worker{q: q, cfg: cfg, has: cfg.Has, stop: stop, stopping: make(chan struct{}), plays: map[*store.Lease]context.CancelFunc{}}
	host, pid := Self()
	w.self = store.Worker{ID: id, Host: host, PID: pid, Version: cfg.Version, Slots: max(1, cfg.Slots), Has: cfg.Has, Run: cfg.Run}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	w.fail, w.over = fail, ctx.Done()
	// a server that starts just now is waited for, as it is while there is work
	if err := w.again(ctx, func(ctx context.Context) error { return q.db.Register(ctx, w.self) }); err != nil {
		return fmt.Errorf("registering a worker: %w", err)
	}
	var client *river.Client[*sql.Tx]
	var closeClient func()
	err = w.again(ctx, func(context.Context) (err error) {
		client, closeClient, err = w.start(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("starting the queue: %w", err)
	}
	defer closeClient()
	ticking := make(chan struct{})
	go func() {
		defer close(ticking)
		w.tick(ctx)
	}()
	select {
	case <-stop:
	case <-ctx.Done():
	}
	close(w.stopping)
	err = w.end(ctx, client)
	cause := context.Cause(ctx)
	fail(nil)
	<-ticking
	if errors.Is(cause, context.Canceled) {
		cause = nil
	}
	ending := context.WithoutCancel(ctx) // a connection that broke just now is no failure of what was done
	return errors.Join(cause, err,
		w.again(ending, func(ctx context.Context) error { return q.db.End(ctx, id) }),
		w.again(ending, func(context.Context) error { return q.db.Ledger().Integrate() }))
}

// end ends River's part once all that is played has come to its end. Where the database is out of reach it would wait for that.
func (w *worker) end(ctx context.Context, client *river.Client[*sql.Tx]) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go func() {
		for ; ; time.Sleep(100 * time.Millisecond) {
			w.mu.Lock()
			n := len(w.plays)
			w.mu.Unlock()
			if n == 0 || ctx.Err() != nil {
				break
			}
		}
		time.AfterFunc(3*time.Second, cancel)
	}()
	if err := client.Stop(ctx); err != nil {
		return errors.Join(err, client.StopAndCancel(context.WithoutCancel(ctx)))
	}
	return nil
}

func orElse[T comparable](v, standard T) T {
	var none T
	if v == none {
		return standard
	}
	return v
}

func newID() (string, error) {
	var b [6]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("naming a worker: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// start makes River's end of the worker and starts it.
func (w *worker) start(ctx context.Context) (*river.Client[*sql.Tx], func(), error) {
	client, done, err := w.client(ctx)
	if err != nil {
		return nil, nil, err
	}
	// River's own context is not ctx: what is played ends by ours, and River is then stopped in order.
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		done()
		return nil, nil, err
	}
	return client, done, nil
}

// client is River's end of the worker.
func (w *worker) client(ctx context.Context) (*river.Client[*sql.Tx], func(), error) {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, river.WorkFunc(w.work)); err != nil {
		return nil, nil, err
	}
	var pool *pgxpool.Pool
	done := func() {}
	if w.q.db.Postgres() {
		cfg, err := pgxpool.ParseConfig(w.q.db.URL())
		if err != nil {
			return nil, nil, err
		}
		cfg.MinConns, cfg.MaxConns = 0, 1
		if pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
			return nil, nil, err
		}
		done = pool.Close
	}
	c, err := river.NewClient(w.q.driver(pool), &river.Config{
		ID: w.self.ID, Logger: quiet(), Workers: workers, JobTimeout: -1,
		Queues:        map[string]river.QueueConfig{queueName: {MaxWorkers: w.self.Slots}},
		FetchCooldown: 20 * time.Millisecond, FetchPollInterval: 500 * time.Millisecond,
		CompletedJobRetentionPeriod: time.Minute,
	})
	if err != nil {
		done()
		return nil, nil, err
	}
	return c, done, nil
}

// pass tells a test of a point.
func (w *worker) pass(point string) {
	if w.cfg.At != nil {
		w.cfg.At(point)
	}
}

// work is one turn: it plays what waits, one episode after another, until there is nothing for this worker. What came of one is kept,
// and the next is claimed, in one transaction; that of the last one ends River's job.
func (w *worker) work(jobCtx context.Context, job *river.Job[turn]) error {
	ctx, cancel := context.WithCancel(jobCtx)
	defer cancel()
	began := time.Now()
	for waited := time.Duration(0); ; waited += pause {
		if w.stops() || time.Since(began) > turnMost {
			return river.JobSnooze(0)
		}
		l, err := w.claim(ctx)
		switch {
		case errors.Is(err, store.ErrLease):
			w.fail(ErrTaken)
			return river.JobSnooze(0)
		case err != nil && store.Lasting(err):
			w.fail(err)
			return river.JobSnooze(0)
		case l != nil:
			ended := false
			for l != nil {
				l, ended = w.play(ctx, job, l, time.Since(began) < turnMost)
			}
			if ended {
				return nil
			}
			waited = -pause
			continue
		case err == nil:
			waiting, err := w.q.db.Waiting(ctx, w.self.Run)
			if err == nil && waiting == 0 {
				return nil // the episode that this job was made for is another one's by now
			}
		}
		if waited >= patience { // others may be able to do what this one may not
			return river.JobSnooze(time.Second)
		}
		select {
		case <-time.After(pause):
		case <-w.stopping:
		}
	}
}

const (
	pause    = 200 * time.Millisecond // between two looks at what may be played
	patience = 2 * time.Second        // for which a job is held by a worker that may play nothing
	turnMost = 10 * time.Minute       // after which a turn begins no further episode: River takes a job for stuck after an hour
)

// stops reports whether no further episode is to begin.
func (w *worker) stops() bool {
	select {
	case <-w.stop: // what closes stopping may be on its way
		return true
	case <-w.stopping:
		return true
	case <-w.over:
		return true
	default:
		return false
	}
}

// own is the worker as it claims: with what it has by now.
func (w *worker) own() store.Worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	self := w.self
	self.Has = w.has
	return self
}

func (w *worker) claim(ctx context.Context) (*store.Lease, error) {
	w.pass("before claim")
	l, err := w.q.db.Claim(ctx, w.own())
	if err == nil && l != nil {
		w.pass("after claim")
	}
	return l, err
}

// play plays a leased episode and keeps what came of it. It returns the next one, where there is one for this worker and more says that it
// is wanted; ended means that nothing waits any more and that the job has ended with that.
func (w *worker) play(jobCtx context.Context, job *river.Job[turn], l *store.Lease, more bool) (next *store.Lease, ended bool) {
	ctx, cancel := context.WithCancelCause(jobCtx)
	defer cancel(nil)
	w.mu.Lock()
	w.plays[l] = func() { cancel(errCancelled) }
	w.mu.Unlock()
	select {
	case <-w.over: // whoever ends what is played has done so
		cancel(errCancelled)
	default:
	}
	defer func() {
		w.mu.Lock()
		delete(w.plays, l)
		w.mu.Unlock()
	}()
	began := time.Now()
	w.tell(Event{Lease: l})
	played, err := w.attempt(ctx, l)
	w.pass("after play")
	and := &sequel{w: w, ctx: jobCtx, job: job, wanted: more}
	e := Event{Lease: l, Done: true, Played: played}
	switch {
	case err != nil && (ctx.Err() != nil || w.cfg.Strict):
		if ctx.Err() == nil {
			w.fail(err)
		}
		e.Done = false
		err = w.commit(jobCtx, func(ctx context.Context) error {
			return w.q.db.GiveUp(ctx, l, w.q.Wake, func(*sql.Tx) error { return nil })
		})
	case err != nil || played.Lost:
		e.Played.Lost = true
		if err != nil {
			played.Record, err = unplayed(l, err)
		}
		if err == nil {
			err = w.commit(jobCtx, and.to(func(ctx context.Context, also func(*sql.Tx) error) (err error) {
				e.Again, err = w.q.db.Fail(ctx, l, played.Record, w.q.Wake, also)
				return err
			}))
		}
	default:
		err = w.commit(jobCtx, and.to(func(ctx context.Context, also func(*sql.Tx) error) error {
			return w.q.db.Finish(ctx, l, played.Record, played.Verdict, also)
		}))
	}
	w.pass("after commit")
	e.Took = time.Since(began)
	switch {
	case errors.Is(err, store.ErrLease): // it is another worker's: the tick says why
	case errors.Is(err, store.ErrFinished) && e.Done: // what was kept first stands
		w.tell(e)
	case err != nil:
		w.fail(err)
	case e.Done:
		w.tell(e)
	}
	if and.next != nil {
		w.pass("after claim")
	}
	return and.next, and.ended
}

// A sequel is what a worker does with the transaction that keeps what came of an episode: it claims the next one or, where nothing waits,
// ends River's job. What goes wrong with that must not keep the episode from being kept, and so it is tried once.
type sequel struct {
	w      *worker
	ctx    context.Context // of the job, which is how River finds its client
	job    *river.Job[turn]
	wanted bool

	next  *store.Lease
	ended bool
}

// to adds the sequel to the first try of keep.
func (s *sequel) to(keep func(ctx context.Context, also func(*sql.Tx) error) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if s.wanted {
			s.wanted = false
			err := keep(ctx, func(tx *sql.Tx) error { return s.do(ctx, tx) })
			if err == nil {
				return nil
			}
			s.next, s.ended = nil, false
			if !store.Lasting(err) || errors.Is(err, store.ErrLease) || errors.Is(err, store.ErrFinished) {
				return err
			}
		}
		return keep(ctx, func(*sql.Tx) error {
			s.w.pass("in commit")
			return nil
		})
	}
}

func (s *sequel) do(ctx context.Context, tx *sql.Tx) error {
	s.next, s.ended = nil, false
	s.w.pass("in commit")
	if s.w.stops() {
		return nil
	}
	s.w.pass("before claim")
	l, err := s.w.q.db.ClaimIn(ctx, tx, s.w.own())
	if err != nil {
		return fmt.Errorf("claiming the next episode: %w", err)
	}
	if s.next = l; l != nil {
		return nil
	}
	waiting, err := s.w.q.db.WaitingIn(ctx, tx, s.w.self.Run)
	if err != nil || waiting > 0 {
		return err
	}
	s.ended = true
	return s.w.q.complete(s.ctx, tx, s.job)
}

func (w *worker) tell(e Event) {
	if w.cfg.Tell != nil {
		w.cfg.Tell(e)
	}
}

// attempt plays, and takes a panic of ours for a failure of the rig.
func (w *worker) attempt(ctx context.Context, l *store.Lease) (p Played, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return w.cfg.Play(ctx, l)
}

// unplayed is the record of an attempt that could not be made.
func unplayed(l *store.Lease, why error) (tare.Entry, error) {
	return tare.NewEntry(tare.Record{
		Schema: tare.RecordSchema, TaskHash: l.Episode.TaskHash,
		Trajectory: tare.Trajectory{Episode: l.Episode, Started: l.Began.UTC()},
		Evidence:   tare.Evidence{Problems: []tare.Problem{{Where: "playing", Error: why.Error()}}},
	})
}

// commit keeps what came of an attempt: it must not be lost for a database that is out of reach or full for a while.
func (w *worker) commit(ctx context.Context, keep func(context.Context) error) error {
	return w.again(ctx, func(ctx context.Context) error {
		w.pass("before commit")
		return keep(ctx)
	})
}

// again does something, and tries again while what goes wrong may pass: for a while, and shorter when somebody wants an end.
func (w *worker) again(ctx context.Context, do func(context.Context) error) error {
	deadline := time.Now().Add(w.cfg.Commit)
	over := w.over
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := try(ctx, do)
		if err == nil || store.Lasting(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-over: // somebody wants an end
			over, deadline = nil, time.Now().Add(min(w.cfg.Commit, 5*time.Second))
		case <-ctx.Done():
		}
	}
}

// try tries to keep something for a minute: a connection over which nothing comes any more must not hold it for good. What was kept
// all the same is recognised by the next try.
func try(ctx context.Context, keep func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return keep(ctx)
}
