package queue_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tare"
	"tare/internal/queue"
	"tare/internal/store"
	"tare/internal/store/storetest"
)

func TestMain(m *testing.M) {
	if os.Getenv(workerVar) != "" {
		os.Exit(workerMain())
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil { // they wait more than they work
		panic(err)
	}
	os.Exit(storetest.Main(m))
}

// ready is a database of PostgreSQL with all tables, which others are copies of: to make these costs more than most tests.
var ready = sync.OnceValues(func() (string, error) {
	server, err := storetest.Shared()
	if err != nil {
		return "", err
	}
	address, err := server.New()
	if err != nil {
		return "", err
	}
	d, err := store.OpenDB(context.Background(), address, store.Options{})
	if err != nil {
		return "", err
	}
	_, err = queue.Open(context.Background(), d)
	return address, errors.Join(err, d.Close())
})

// databases are the addresses of empty databases of both kinds.
func databases(t testing.TB) map[string]string {
	t.Helper()
	return map[string]string{"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "a [1]?.db"), "postgres": postgres(t)}
}

// postgres is the address of an empty database of PostgreSQL.
func postgres(t testing.TB) string {
	t.Helper()
	template, err := ready()
	if err != nil {
		t.Fatal(err)
	}
	address, err := storetest.Postgres(t).Copy(template)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// open opens the queue of a database.
func open(t testing.TB, address string) (*store.DB, *queue.Queue) {
	t.Helper()
	return openWith(t, address, store.Options{Local: t.TempDir()})
}

func openWith(t testing.TB, address string, o store.Options) (*store.DB, *queue.Queue) {
	t.Helper()
	d, err := store.OpenDB(context.Background(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	q, err := queue.Open(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	return d, q
}

func overQueues(t *testing.T, test func(t *testing.T, d *store.DB, q *queue.Queue)) {
	for name, address := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, q := open(t, address)
			test(t, d, q)
		})
	}
}

// work is a run of n episodes of an agent.
func work(t testing.TB, run, agent string, n int) store.Work {
	t.Helper()
	w := store.Work{Run: run, Attempts: 3}
	var all []tare.Episode
	for i := range n {
		ep := tare.Episode{Task: "s/t", Agent: agent, Trial: i + 1}
		all = append(all, ep)
		w.Episodes = append(w.Episodes, store.Planned{Episode: ep, Limited: agent, Provider: "p-" + agent})
	}
	var err error
	if w.Plan, err = tare.NewEntry(map[string]any{"schema": "tare.plan/1", "episodes": all}); err != nil {
		t.Fatal(err)
	}
	return w
}

func enqueue(t testing.TB, q *queue.Queue, w store.Work) {
	t.Helper()
	if _, err := q.Enqueue(context.Background(), w); err != nil {
		t.Fatal(err)
	}
}

// play passes an episode, or says that infrastructure ended it.
func play(l *store.Lease, lost bool) (queue.Played, error) {
	rec, err := tare.NewEntry(tare.Record{Schema: tare.RecordSchema, Trajectory: tare.Trajectory{Episode: l.Episode, Final: fmt.Sprint("attempt ", l.Number)}})
	if err != nil {
		return queue.Played{}, err
	}
	v := tare.Verdict{Schema: tare.VerdictSchema, Record: rec.Hash, Outcome: tare.Pass}
	if lost {
		v.Outcome, v.Cause = tare.Unverified, tare.CauseInfrastructure
	}
	verdict, err := tare.NewEntry(v)
	return queue.Played{Record: rec, Verdict: verdict, Lost: lost}, err
}

// quick is a worker for tests.
func quick(slots int, p queue.Player) queue.Config {
	return queue.Config{Slots: slots, Play: p, Beat: 100 * time.Millisecond, Commit: 30 * time.Second}
}

// until lets workers work until a run has ended.
func until(t testing.TB, d *store.DB, q *queue.Queue, run string, workers ...queue.Config) {
	t.Helper()
	stop := make(chan struct{})
	var all sync.WaitGroup
	for _, c := range workers {
		all.Go(func() {
			if err := q.Work(context.Background(), c, stop); err != nil {
				t.Errorf("worker: %v", err)
			}
		})
	}
	wait(t, 10*time.Minute, over(d, run))
	close(stop)
	all.Wait()
}

// wait waits until done, and asks seldom enough that the asking is no part of the work.
func wait(t testing.TB, most time.Duration, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(most); ; {
		began := time.Now()
		if done() {
			return
		}
		if began.After(deadline) {
			t.Fatal("it takes too long")
		}
		time.Sleep(max(10*time.Millisecond, 20*time.Since(began)))
	}
}

// sound checks that a run of n episodes came out whole: each has one verdict, what the rows say is what the entries say, and the
// ledger verifies.
func sound(t testing.TB, d *store.DB, run string, n int) {
	t.Helper()
	all, err := d.Episodes(run)
	if err != nil || len(all) != n {
		t.Errorf("%d episodes of %d, %v", len(all), n, err)
	}
	for _, r := range all {
		if len(r.Verdicts) != 1 {
			t.Errorf("%v has %d verdicts", r.Record.Trajectory.Episode, len(r.Verdicts))
		}
	}
	p, err := d.Progress(context.Background(), run)
	if err != nil || p.Done != n || p.Planned != n {
		t.Errorf("%+v, %v", p, err)
	}
	if err := d.Ledger().Integrate(); err != nil {
		t.Error(err)
	}
	r, err := d.Verify()
	if err != nil || len(r.Findings) > 0 || r.Waiting > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	var attempts int
	if err := d.Writer().QueryRow(fmt.Sprintf("SELECT count(*) FROM attempts WHERE run = '%s'", run)).Scan(&attempts); err != nil {
		t.Error(err)
	}
	t.Logf("matrix: %d planned, %d verdicts, %d attempts, %d entries in the log, %d findings", n, len(all), attempts, r.Head.Size, len(r.Findings))
	var leases int
	if err := d.Writer().QueryRow("SELECT count(*) FROM leases").Scan(&leases); err != nil || leases > 0 {
		t.Errorf("%d leases are left, %v", leases, err)
	}
}

func TestEachEpisodeOnce(t *testing.T) {
	overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
		const n = 100
		enqueue(t, q, work(t, "r", "a", n))
		var plays atomic.Int64
		p := func(_ context.Context, l *store.Lease) (queue.Played, error) {
			plays.Add(1)
			if l.Episode.Trial%25 == 0 && l.Number == 1 {
				return queue.Played{}, errors.New("no such thing")
			}
			if l.Episode.Trial%25 == 1 && l.Number == 1 {
				panic("a defect")
			}
			return play(l, l.Episode.Trial%25 == 2 && l.Number == 1)
		}
		until(t, d, q, "r", quick(3, p), quick(3, p))
		sound(t, d, "r", n)
		if got := plays.Load(); got != n+12 {
			t.Errorf("%d plays", got)
		}
		for _, trial := range []int{25, 26, 27} {
			lost, err := d.LostAttempts("r", tare.Episode{Task: "s/t", Agent: "a", Trial: trial})
			if err != nil || len(lost) != 1 {
				t.Errorf("lost attempts at %d: %d, %v", trial, len(lost), err)
			}
		}
		enqueue(t, q, work(t, "r", "a", n)) // again: there is nothing to do
		if p, err := d.Progress(context.Background(), "r"); err != nil || p.Waiting > 0 {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

func TestLostForGood(t *testing.T) {
	overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
		enqueue(t, q, work(t, "r", "a", 2))
		var plays atomic.Int64
		p := func(_ context.Context, l *store.Lease) (queue.Played, error) {
			plays.Add(1)
			return play(l, l.Episode.Trial == 1)
		}
		until(t, d, q, "r", quick(2, p))
		got, err := d.Progress(context.Background(), "r")
		if err != nil || got.Lost != 1 || got.Done != 1 || plays.Load() != 4 {
			t.Errorf("%+v after %d plays, %v", got, plays.Load(), err)
		}
		// asked for again, it is played again, and nothing else is
		enqueue(t, q, work(t, "r", "a", 2))
		until(t, d, q, "r", quick(2, func(_ context.Context, l *store.Lease) (queue.Played, error) { return play(l, false) }))
		sound(t, d, "r", 2)
	})
}

func TestLimitsAreShared(t *testing.T) {
	for _, name := range []string{"a", "p-a"} {
		overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
			if err := d.SetLimit(context.Background(), name, 2); err != nil {
				t.Fatal(err)
			}
			enqueue(t, q, work(t, "r", "a", 20))
			enqueue(t, q, work(t, "s", "b", 20))
			var now, most, others atomic.Int64
			p := func(_ context.Context, l *store.Lease) (queue.Played, error) {
				if l.Episode.Agent == "a" {
					if n := now.Add(1); n > most.Load() {
						most.Store(n)
					}
					defer now.Add(-1)
				} else {
					others.Add(1)
				}
				time.Sleep(time.Duration(rand.N(5)) * time.Millisecond) // as work takes time
				return play(l, false)
			}
			until(t, d, q, "r", quick(3, p), quick(3, p))
			until(t, d, q, "s", quick(3, p))
			sound(t, d, "r", 20)
			if most.Load() > 2 || others.Load() != 20 {
				t.Errorf("%d of a were played at once; %d of b were played", most.Load(), others.Load())
			}
		})
	}
}

func TestPriorities(t *testing.T) {
	overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
		late, soon := work(t, "a", "late", 3), work(t, "b", "soon", 3)
		late.Priority = 1
		enqueue(t, q, late)
		enqueue(t, q, soon)
		var order []string
		until(t, d, q, "a", quick(1, func(_ context.Context, l *store.Lease) (queue.Played, error) {
			order = append(order, fmt.Sprint(l.Episode.Agent, l.Episode.Trial))
			return play(l, false)
		}))
		if got := strings.Join(order, " "); got != "soon1 soon2 soon3 late1 late2 late3" {
			t.Error(got)
		}
	})
}

func TestPauseAndCancel(t *testing.T) {
	overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
		ctx := context.Background()
		enqueue(t, q, work(t, "r", "a", 6))
		began, cancelled := make(chan string, 10), make(chan struct{}, 10)
		stuck := atomic.Bool{}
		p := func(ctx context.Context, l *store.Lease) (queue.Played, error) {
			if l.Run == "r" && stuck.Load() {
				began <- l.Run
				<-ctx.Done()
				cancelled <- struct{}{}
				return queue.Played{}, ctx.Err()
			}
			return play(l, false)
		}
		if err := d.Pause(ctx, "r"); err != nil {
			t.Fatal(err)
		}
		enqueue(t, q, work(t, "s", "b", 2))
		until(t, d, q, "s", quick(1, p))
		if got, err := d.Progress(ctx, "r"); err != nil || got.Done != 0 || got.Held != 6 {
			t.Errorf("while paused: %+v, %v", got, err)
		}
		stuck.Store(true)
		if err := d.Continue(ctx, "r", q.Wake); err != nil {
			t.Fatal(err)
		}
		stop, done := make(chan struct{}), make(chan error)
		go func() { done <- q.Work(ctx, quick(1, p), stop) }()
		<-began
		if err := d.Cancel(ctx, "r"); err != nil {
			t.Fatal(err)
		}
		<-cancelled
		wait(t, 30*time.Second, func() bool {
			got, err := d.Progress(ctx, "r")
			return err == nil && got.Cancelled == 6
		})
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
		stuck.Store(false)
		enqueue(t, q, work(t, "r", "a", 6)) // asked for again, all of it is played
		until(t, d, q, "r", quick(2, p))
		sound(t, d, "r", 6)
	})
}

func TestNeeds(t *testing.T) {
	overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
		ctx := context.Background()
		w := work(t, "r", "a", 4)
		w.Episodes[0].Needs, w.Episodes[1].Needs = []string{"gotest", "bwrap"}, []string{"cmd:x"}
		enqueue(t, q, w)
		if unmet, err := d.Unmet(ctx, "r"); err != nil || len(unmet) != 3 {
			t.Errorf("without workers: %+v, %v", unmet, err)
		}
		p := func(_ context.Context, l *store.Lease) (queue.Played, error) { return play(l, false) }
		poor, rich := quick(2, p), quick(1, p)
		poor.Has, rich.Has = []string{"bwrap"}, []string{"gotest", "bwrap"}
		rich.Can = func(need string) bool { return need == "cmd:x" }
		stop, done := make(chan struct{}), make(chan error)
		go func() { done <- q.Work(ctx, poor, stop) }()
		wait(t, 30*time.Second, func() bool {
			got, err := d.Progress(ctx, "r")
			return err == nil && got.Done == 2
		})
		unmet, err := d.Unmet(ctx, "r")
		if err != nil || len(unmet) != 2 || fmt.Sprint(unmet[0].Lacking, unmet[1].Lacking) != "[gotest] [cmd:x]" && fmt.Sprint(unmet[0].Lacking, unmet[1].Lacking) != "[cmd:x] [gotest]" {
			t.Errorf("%+v, %v", unmet, err)
		}
		until(t, d, q, "r", rich)
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
		sound(t, d, "r", 4)
	})
}

// TestOneRun lets a worker play one run and no other, as that of a command does with its own flags.
func TestOneRun(t *testing.T) {
	overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
		enqueue(t, q, work(t, "a", "left", 3))
		enqueue(t, q, work(t, "b", "mine", 5))
		alone := quick(2, func(_ context.Context, l *store.Lease) (queue.Played, error) { return play(l, false) })
		alone.Run = "b"
		stop, done := make(chan struct{}), make(chan error)
		go func() { done <- q.Work(context.Background(), alone, stop) }()
		wait(t, time.Minute, over(d, "b"))
		if unmet, err := d.Unmet(context.Background(), "a"); err != nil || len(unmet) != 1 {
			t.Errorf("%+v, %v", unmet, err)
		}
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
		sound(t, d, "b", 5)
		if p, err := d.Progress(context.Background(), "a"); err != nil || p.Waiting != 3 {
			t.Errorf("the other run: %+v, %v", p, err)
		}
		alone.Run = "a"
		until(t, d, q, "a", alone)
		sound(t, d, "a", 3)
	})
}

// TestFinishedMeanwhile lets an episode be finished by somebody without a lease while a worker plays it: that record stands, the worker
// goes on, and its own record is kept beside.
func TestFinishedMeanwhile(t *testing.T) {
	overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
		enqueue(t, q, work(t, "r", "a", 3))
		until(t, d, q, "r", quick(1, func(_ context.Context, l *store.Lease) (queue.Played, error) {
			p, err := play(l, false)
			if err != nil || l.Episode.Trial != 2 {
				return p, err
			}
			first := *l
			first.Number = 99
			other, err := play(&first, false)
			return p, errors.Join(err, d.Save(l.Run, l.Episode, other.Record, other.Verdict))
		}))
		sound(t, d, "r", 3)
		ep := tare.Episode{Task: "s/t", Agent: "a", Trial: 2}
		kept, err := d.Find("r", ep)
		late, lerr := d.LostAttempts("r", ep)
		if err != nil || lerr != nil || kept.Record.Trajectory.Final != "attempt 99" || len(late) != 1 || late[0].Trajectory.Final != "attempt 1" {
			t.Errorf("%q, %d late, %v, %v", kept.Record.Trajectory.Final, len(late), err, lerr)
		}
	})
}

// TestEndedWithLease ends a worker that could not keep what it played: its episode is another's to play.
func TestEndedWithLease(t *testing.T) {
	overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
		ctx := context.Background()
		enqueue(t, q, work(t, "r", "a", 1))
		host, pid := queue.Self()
		w := store.Worker{ID: "one", Host: host, PID: pid, Slots: 1}
		if err := d.Register(ctx, w); err != nil {
			t.Fatal(err)
		}
		if l, err := d.Claim(ctx, w); err != nil || l == nil {
			t.Fatalf("%v, %v", l, err)
		}
		if err := d.End(ctx, "one"); err != nil {
			t.Fatal(err)
		}
		until(t, d, q, "r", quick(1, func(_ context.Context, l *store.Lease) (queue.Played, error) { return play(l, false) }))
		sound(t, d, "r", 1)
	})
}

// TestInterrupts ends a worker in the two ways that there are.
func TestInterrupts(t *testing.T) {
	overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
		enqueue(t, q, work(t, "r", "a", 3))
		began, goOn := make(chan struct{}), make(chan struct{})
		p := func(ctx context.Context, l *store.Lease) (queue.Played, error) {
			began <- struct{}{}
			select {
			case <-goOn:
				return play(l, false)
			case <-ctx.Done():
				return queue.Played{}, ctx.Err()
			}
		}
		stop, done := make(chan struct{}), make(chan error)
		go func() { done <- q.Work(context.Background(), quick(1, p), stop) }()
		<-began
		close(stop) // what runs is finished
		close(goOn)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got, err := d.Progress(context.Background(), "r"); err != nil || got.Done != 1 || got.Waiting != 2 {
			t.Errorf("after one: %+v, %v", got, err)
		}
		goOn = make(chan struct{})
		ctx, cancel := context.WithCancel(context.Background())
		go func() { done <- q.Work(ctx, quick(1, p), nil) }()
		<-began
		cancel() // what runs is given up
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got, err := d.Progress(context.Background(), "r"); err != nil || got.Done != 1 || got.Waiting != 2 || got.Running != 0 {
			t.Errorf("after two: %+v, %v", got, err)
		}
		until(t, d, q, "r", quick(1, func(_ context.Context, l *store.Lease) (queue.Played, error) { return play(l, false) }))
		sound(t, d, "r", 3)
	})
}

// TestWordOfTheFormerHolder lets a worker be taken for lost that lives: what it says afterwards counts no more.
func TestWordOfTheFormerHolder(t *testing.T) {
	overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
		ctx := context.Background()
		enqueue(t, q, work(t, "r", "a", 1))
		host, pid := queue.Self()
		w := store.Worker{ID: "one", Host: host, PID: pid, Slots: 1}
		if err := d.Register(ctx, w); err != nil {
			t.Fatal(err)
		}
		l, err := d.Claim(ctx, w)
		if err != nil || l == nil {
			t.Fatalf("%v, %v", l, err)
		}
		pulses, err := d.Pulses(ctx)
		if err != nil || len(pulses) != 1 {
			t.Fatalf("%+v, %v", pulses, err)
		}
		late := pulses[0]
		if err := d.Beat(ctx, "one"); err != nil {
			t.Fatal(err)
		}
		if taken, err := d.TakeOver(ctx, late, q.Wake); err != nil || len(taken) != 0 {
			t.Errorf("a worker whose heart beat was taken for lost: %+v, %v", taken, err)
		}
		late.Beat++
		if taken, err := d.TakeOver(ctx, late, q.Wake); err != nil || len(taken) != 1 {
			t.Errorf("%+v, %v", taken, err)
		}
		nothing := func(*sql.Tx) error { return nil }
		played, err := play(l, false)
		if err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"its heart beats": d.Beat(ctx, "one"),
			"it finishes":     d.Finish(ctx, l, played.Record, played.Verdict, nothing),
			"it gives up":     d.GiveUp(ctx, l, q.Wake, nothing),
			"it claims again": func() error { _, err := d.Claim(ctx, w); return err }(),
			"it fails":        func() error { _, err := d.Fail(ctx, l, played.Record, q.Wake, nothing); return err }(),
		} {
			if !errors.Is(err, store.ErrLease) {
				t.Errorf("%s: %v", what, err)
			}
		}
		until(t, d, q, "r", quick(1, func(_ context.Context, l *store.Lease) (queue.Played, error) { return play(l, false) }))
		sound(t, d, "r", 1)
		lost, err := d.LostAttempts("r", l.Episode)
		if err != nil || len(lost) != 1 {
			t.Errorf("%+v, %v", lost, err)
		}
	})
}
