package queue_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tare"
	"tare/internal/queue"
	"tare/internal/store"
	"tare/internal/store/storetest"
)

var faultsFor = flag.Duration("faults", 6*time.Second, "how long the randomised test of faults goes on, on each database")

// Of the process that a test starts as a worker.
const (
	workerVar  = "TARE_TEST_QUEUE" // the database
	pointVar   = "TARE_TEST_POINT" // where it kills itself
	timesVar   = "TARE_TEST_TIMES" // when it is there for the nth time
	slowVar    = "TARE_TEST_SLOW"  // how long it plays an episode, at most
	bigVar     = "TARE_TEST_BIG"   // bytes of a record
	ballastVar = "TARE_TEST_FULL"  // it is on a full disk: this file is in the way, and goes when it is told to
	dirVar     = "TARE_TEST_DIR"   // of that disk
	realVar    = "TARE_TEST_REAL"  // it has the times of production
)

// workerMain is a worker in a process of its own, until stdin ends.
func workerMain() int {
	err := workerProcess()
	if err != nil {
		fmt.Println("worker:", strings.ReplaceAll(err.Error(), "\n", " "))
		return 1
	}
	return 0
}

func workerProcess() error {
	if os.Getenv(ballastVar) != "" {
		return fullDisk()
	}
	ctx := context.Background()
	d, err := store.OpenDB(ctx, os.Getenv(workerVar), store.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	q, err := queue.Open(ctx, d)
	if err != nil {
		return err
	}
	slow, _ := time.ParseDuration(os.Getenv(slowVar))
	big, _ := strconv.Atoi(os.Getenv(bigVar))
	left, _ := strconv.ParseInt(os.Getenv(timesVar), 10, 64)
	var there atomic.Int64
	cfg := quick(2, func(ctx context.Context, l *store.Lease) (queue.Played, error) {
		if slow > 0 {
			select { // as work takes time
			case <-time.After(slow/2 + rand.N(slow/2)):
			case <-ctx.Done():
				return queue.Played{}, ctx.Err()
			}
		}
		if big > 0 {
			return playBig(l, big)
		}
		return play(l, false)
	})
	if os.Getenv(realVar) != "" {
		cfg.Beat = 0
	}
	cfg.At = func(point string) {
		if point == os.Getenv(pointVar) && there.Add(1) == left {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	stop := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
		close(stop)
	}()
	for {
		fmt.Println("up")
		err := q.Work(ctx, cfg, stop)
		if !errors.Is(err, queue.ErrTaken) {
			return err
		}
		fmt.Println("taken for lost")
	}
}

// playBig passes an episode with a record of n bytes.
func playBig(l *store.Lease, n int) (queue.Played, error) {
	rec, err := tare.NewEntry(tare.Record{Schema: tare.RecordSchema, Trajectory: tare.Trajectory{Episode: l.Episode, Final: strings.Repeat("x", n) + fmt.Sprint(l.Episode.Trial)}})
	if err != nil {
		return queue.Played{}, err
	}
	verdict, err := tare.NewEntry(tare.Verdict{Schema: tare.VerdictSchema, Record: rec.Hash, Outcome: tare.Pass, Grader: "sha256:00"})
	return queue.Played{Record: rec, Verdict: verdict}, err
}

// A process is a worker that a test started.
type process struct {
	cmd *exec.Cmd
	out *bufio.Reader
	in  interface{ Close() error }
}

func start(t testing.TB, address string, env ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(append(os.Environ(), workerVar+"="+address), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Stderr = os.Stderr
	out, err1 := p.cmd.StdoutPipe()
	in, err2 := p.cmd.StdinPipe()
	if err := errors.Join(err1, err2, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	if line, err := p.out.ReadString('\n'); line != "up\n" {
		t.Fatalf("the worker said %q, %v", line, err)
	}
	t.Cleanup(func() { p.kill() })
	return p
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	_ = p.cmd.Wait()
}

// end ends it in order.
func (p *process) end(t testing.TB) {
	t.Helper()
	err := p.in.Close()
	said, rerr := io.ReadAll(p.out) // to its end: Wait closes it
	if err := errors.Join(err, rerr, p.cmd.Wait()); err != nil {
		t.Errorf("ending a worker: %v; it said: %s", err, said)
	}
}

func over(d *store.DB, run string) func() bool {
	return func() bool {
		p, err := d.Progress(context.Background(), run)
		return err == nil && p.Ended()
	}
}

// TestKilledAtEachPoint ends a worker with SIGKILL at each point of an episode. Another one finishes the run.
func TestKilledAtEachPoint(t *testing.T) {
	for _, dialect := range []string{"sqlite", "postgres"} {
		for i, point := range []string{"before claim", "after claim", "after play", "before commit", "in commit", "after commit"} {
			t.Run(dialect+" "+point, func(t *testing.T) {
				t.Parallel()
				address := databases(t)[dialect]
				d, q := open(t, address)
				run := fmt.Sprint("r", i)
				w := work(t, run, fmt.Sprint("a", i), 30)
				w.Attempts = 5
				enqueue(t, q, w)
				victim := start(t, address, pointVar+"="+point, timesVar+"=4")
				if err := victim.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
					t.Fatalf("it ended otherwise: %v", err)
				}
				if p, err := d.Progress(context.Background(), run); err != nil || p.Ended() {
					t.Fatalf("there is nothing left to do: %+v, %v", p, err)
				}
				other := start(t, address)
				wait(t, 60*time.Second, over(d, run))
				other.end(t)
				sound(t, d, run, 30)
			})
		}
	}
}

// TestStoppedWorkerIsTakenOver stops a worker, as a machine does that nobody hears of any more, with the times of production. Its
// episodes are played by another within ten seconds; when it comes back it counts for nothing until it has registered again.
func TestStoppedWorkerIsTakenOver(t *testing.T) {
	for dialect, address := range databases(t) {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			d, q := open(t, address)
			enqueue(t, q, work(t, "r", "a", 4))
			victim := start(t, address, realVar+"=1", slowVar+"=1h")
			wait(t, 30*time.Second, func() bool {
				p, err := d.Progress(context.Background(), "r")
				return err == nil && p.Running == 2
			})
			other := start(t, address, realVar+"=1")
			wait(t, 30*time.Second, func() bool {
				p, err := d.Progress(context.Background(), "r")
				return err == nil && p.Done == 2
			})
			victim.signal(syscall.SIGSTOP)
			began := time.Now()
			wait(t, 30*time.Second, over(d, "r"))
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			} else {
				t.Logf("taken over and played after %s", took.Round(10*time.Millisecond))
			}
			victim.signal(syscall.SIGCONT)
			if line, err := victim.out.ReadString('\n'); line != "taken for lost\n" {
				t.Errorf("it said %q, %v", line, err)
			}
			victim.kill()
			other.end(t)
			sound(t, d, "r", 4)
		})
	}
}

// TestPoisonedEpisode plays an episode that ends whatever process plays it. It is lost after as many as the run allows, and the
// others are played.
func TestPoisonedEpisode(t *testing.T) {
	for dialect, address := range databases(t) {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			d, q := open(t, address)
			enqueue(t, q, work(t, "r", "a", 1))
			for range 3 {
				p := start(t, address, pointVar+"=after claim", timesVar+"=1")
				_ = p.cmd.Wait()
				if got, err := d.Progress(context.Background(), "r"); err != nil || got.Running != 1 {
					t.Fatalf("%+v, %v", got, err)
				}
			}
			enqueue(t, q, work(t, "s", "b", 3))
			last := start(t, address)
			wait(t, 30*time.Second, over(d, "r"))
			wait(t, 30*time.Second, over(d, "s"))
			last.end(t)
			got, err := d.Progress(context.Background(), "r")
			lost, lerr := d.LostAttempts("r", tare.Episode{Task: "s/t", Agent: "a", Trial: 1})
			if err != nil || lerr != nil || got.Lost != 1 || len(lost) != 3 {
				t.Errorf("%+v with %d lost attempts, %v, %v", got, len(lost), err, lerr)
			}
			sound(t, d, "s", 3)
		})
	}
}

// TestServerGoes kills PostgreSQL and starts it again, and cuts all connections, while workers work.
func TestServerGoes(t *testing.T) {
	for what, fault := range map[string]func(*storetest.Server) error{
		"killed": func(s *storetest.Server) error { return errors.Join(s.Kill(), s.Up()) },
		"cut":    (*storetest.Server).Cut,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := storetest.Own(t)
			address, err := server.New()
			if err != nil {
				t.Fatal(err)
			}
			d, q := open(t, address)
			w := work(t, "r", "a", 300)
			w.Attempts = 10
			enqueue(t, q, w)
			one, two := start(t, address, slowVar+"=10ms"), start(t, address, slowVar+"=10ms")
			for _, share := range []int{50, 150} {
				wait(t, 60*time.Second, func() bool {
					p, err := d.Progress(context.Background(), "r")
					return err == nil && p.Done >= share
				})
				if err := fault(server); err != nil {
					t.Fatal(err)
				}
			}
			wait(t, 60*time.Second, over(d, "r"))
			one.end(t)
			two.end(t)
			sound(t, d, "r", 300)
		})
	}
}

// TestTwoVersions lets workers of two binaries, with graders of their own, share a database. Each plays what was planned for its
// grader; what is left of a run goes to the other when that asks for it, and nothing is played twice.
func TestTwoVersions(t *testing.T) {
	overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
		asked := func(run, grader string, n int) store.Work {
			w := work(t, run, run, n)
			for i := range w.Episodes {
				w.Episodes[i].Needs = []string{"grader:" + grader}
			}
			return w
		}
		enqueue(t, q, asked("r", "old", 6))
		enqueue(t, q, asked("s", "new", 6))
		var plays atomic.Int64
		version := func(grader string, most int64) queue.Config {
			c := quick(1, func(ctx context.Context, l *store.Lease) (queue.Played, error) {
				if want := map[string]string{"r": "old", "s": "new"}[l.Run]; want != grader && most > 0 {
					t.Errorf("the %s one played %s", grader, l.Run)
				}
				if n := plays.Add(1); most > 0 && n > most {
					<-ctx.Done() // a binary that is replaced in the middle of its work
					return queue.Played{}, ctx.Err()
				}
				return play(l, false)
			})
			c.Has = []string{"grader:" + grader}
			return c
		}
		ctx, replaced := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- q.Work(ctx, version("old", 3), nil) }()
		wait(t, time.Minute, func() bool { return plays.Load() > 3 })
		replaced()
		if err := <-done; err != nil {
			t.Error(err)
		}
		enqueue(t, q, asked("r", "new", 6)) // the same command again, by the new binary
		until(t, d, q, "r", version("new", 0))
		until(t, d, q, "s", version("new", 0))
		sound(t, d, "r", 6)
		sound(t, d, "s", 6)
		if n := plays.Load(); n != 13 {
			t.Errorf("%d plays of 12 episodes, of which one was given up", n)
		}
	})
}

// TestStalledConnection lets a worker's connections stall, as a network does that swallows all and says nothing. Others take over; when
// it is heard again its word counts no more.
func TestStalledConnection(t *testing.T) {
	t.Parallel()
	address := postgres(t)
	d, q := open(t, address)
	enqueue(t, q, work(t, "r", "a", 30))
	through, stall := stalling(t, address)
	victim := start(t, through, slowVar+"=50ms")
	wait(t, time.Minute, func() bool {
		p, err := d.Progress(context.Background(), "r")
		return err == nil && p.Done >= 3
	})
	stall(true)
	other := start(t, address)
	wait(t, time.Minute, over(d, "r"))
	stall(false)
	if line, err := victim.out.ReadString('\n'); line != "taken for lost\n" {
		t.Errorf("it said %q, %v", line, err)
	}
	victim.kill()
	other.end(t)
	sound(t, d, "r", 30)
}

// stalling is a way to a server over loopback that can be made to swallow what is sent.
func stalling(t *testing.T, address string) (through string, stall func(bool)) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var gate sync.RWMutex // held for writing while nothing passes
	copying := func(to, from net.Conn) {
		defer to.Close()
		b := make([]byte, 4096)
		for {
			n, err := from.Read(b)
			gate.RLock()
			gate.RUnlock()
			if _, werr := to.Write(b[:n]); err != nil || werr != nil {
				return
			}
		}
	}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", at)
			if err != nil {
				client.Close()
				continue
			}
			go copying(server, client)
			go copying(client, server)
		}
	}()
	u.Host, u.RawQuery = l.Addr().String(), "sslmode=disable"
	return u.String(), func(on bool) {
		if on {
			gate.Lock()
		} else {
			gate.Unlock()
		}
	}
}

// TestFullDisk fills the disk of an SQLite store while blobs, and while rows, are written. What was kept stays, what was played is
// kept once there is room, and nothing is counted twice.
func TestFullDisk(t *testing.T) {
	for what, size := range map[string]int{"blobs": 100 << 10, "rows": 30 << 10} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", `mount -t tmpfs -o size=6m none "$0" && exec "$1"`, dir, os.Args[0])
			cmd.Env = append(os.Environ(), workerVar+"=full", bigVar+"="+strconv.Itoa(size), ballastVar+"=1", dirVar+"="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			t.Log(strings.TrimSpace(string(out)))
		})
	}
}

// fullDisk runs on a disk of 6 MB, half of which is taken by something else for the first part.
func fullDisk() error {
	ctx := context.Background()
	dir := os.Getenv(dirVar)
	big, _ := strconv.Atoi(os.Getenv(bigVar))
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); err != nil {
		return err
	}
	d, err := store.OpenDB(ctx, "sqlite:"+filepath.Join(dir, "tare.db"), store.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	q, err := queue.Open(ctx, d)
	if err != nil {
		return err
	}
	n := 1 << 20 / big * 3 / 2 // 1.5 MB in all, and again as much for the journal of rows
	w := store.Work{Run: "r", Attempts: 3}
	var all []tare.Episode
	for i := range n {
		ep := tare.Episode{Task: "s/t", Agent: "a", Trial: i + 1}
		all = append(all, ep)
		w.Episodes = append(w.Episodes, store.Planned{Episode: ep, Limited: "a"})
	}
	if w.Plan, err = tare.NewEntry(map[string]any{"schema": "tare.plan/1", "episodes": all}); err != nil {
		return err
	}
	if _, err := q.Enqueue(ctx, w); err != nil {
		return err
	}
	cfg := quick(2, func(_ context.Context, l *store.Lease) (queue.Played, error) { return playBig(l, big) })
	cfg.Commit = 500 * time.Millisecond
	stop := make(chan struct{})
	err = q.Work(ctx, cfg, stop)
	p, perr := d.Progress(ctx, "r")
	fmt.Printf("full after %d of %d: %v\n", p.Done, n, err)
	if err == nil || perr != nil || p.Done == 0 || p.Done == n {
		return fmt.Errorf("the disk was not full: %+v, %w", p, perr)
	}
	if r, err := d.Verify(); err != nil || len(r.Findings) > 0 {
		return fmt.Errorf("when full: %+v, %w", r.Findings, err)
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	go func() {
		for p, err := d.Progress(ctx, "r"); err != nil || !p.Ended(); p, err = d.Progress(ctx, "r") {
			time.Sleep(20 * time.Millisecond)
		}
		close(stop)
	}()
	if err := q.Work(ctx, cfg, stop); err != nil {
		return err
	}
	r, err := d.Verify()
	got, gerr := d.Episodes("r")
	if err != nil || gerr != nil || len(r.Findings) > 0 || len(got) != n {
		return fmt.Errorf("with room again: %d of %d, %+v, %w, %w", len(got), n, r.Findings, err, gerr)
	}
	return nil
}

// TestClockStepped puts times into the rows that were written under clocks of other days.
func TestClockStepped(t *testing.T) {
	overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
		enqueue(t, q, work(t, "r", "a", 4))
		for trial, at := range map[int]time.Duration{1: 48 * time.Hour, 2: -48 * time.Hour} {
			if _, err := d.Writer().Exec(fmt.Sprintf("UPDATE episodes SET not_before = %d WHERE trial = %d", time.Now().Add(at).UnixMicro(), trial)); err != nil {
				t.Fatal(err)
			}
		}
		tomorrow := time.Now().Add(24 * time.Hour).UTC().Format("2006-01-02 15:04:05.000")
		if _, err := d.Writer().Exec("UPDATE river_job SET scheduled_at = '" + tomorrow + "', state = 'scheduled'"); err != nil {
			t.Fatal(err)
		}
		until(t, d, q, "r", quick(2, func(_ context.Context, l *store.Lease) (queue.Played, error) { return play(l, false) }))
		sound(t, d, "r", 4)
	})
}

// TestRandomFaults lets three workers work while what may happen to them, and to the server, happens.
func TestRandomFaults(t *testing.T) {
	for _, dialect := range []string{"sqlite", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			var server *storetest.Server
			address := "sqlite:" + filepath.Join(t.TempDir(), "tare.db")
			if dialect == "postgres" {
				server = storetest.Own(t)
				var err error
				if address, err = server.New(); err != nil {
					t.Fatal(err)
				}
			}
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			d, q := open(t, address)
			done := map[string]int{}
			ended, runs := time.Now().Add(*faultsFor), 0
			workers := []*process{start(t, address, slowVar+"=20ms"), start(t, address, slowVar+"=20ms"), start(t, address, slowVar+"=20ms")}
			for ; time.Now().Before(ended); runs++ {
				run := fmt.Sprint("r", runs)
				w := work(t, run, run, 100)
				w.Attempts = 1000 // no fault is the episode's
				enqueue(t, q, w)
				for !over(d, run)() {
					i := random.IntN(3)
					fault := random.IntN(8)
					switch {
					case fault < 3:
						workers[i].kill()
						workers[i] = start(t, address, slowVar+"=20ms")
						done["worker killed"]++
					case fault < 5:
						workers[i].signal(syscall.SIGSTOP)
						time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
						workers[i].signal(syscall.SIGCONT)
						done["worker stopped for a while"]++
					case fault == 5 && dialect == "postgres":
						if err := server.Cut(); err != nil {
							t.Fatal(err)
						}
						done["connections cut"]++
					case fault == 6 && dialect == "postgres":
						if err := errors.Join(server.Kill(), server.Up()); err != nil {
							t.Fatal(err)
						}
						done["server killed"]++
					case fault == 7:
						enqueueAgain(q, w)
						done["run asked for again"]++
					}
					time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
				}
				sound(t, d, run, 100)
			}
			for _, p := range workers {
				p.end(t)
			}
			t.Logf("%d episodes; %v", runs*100, done)
		})
	}
}

// enqueueAgain asks for a run again, as a second runner does; a server that is away is the fault of another.
func enqueueAgain(q *queue.Queue, w store.Work) { _, _ = q.Enqueue(context.Background(), w) }

// TestServerIsAway begins to work while the server is down, as after a reboot of both: the worker waits for it.
func TestServerIsAway(t *testing.T) {
	t.Parallel()
	server := storetest.Own(t)
	address, err := server.New()
	if err != nil {
		t.Fatal(err)
	}
	d, q := open(t, address)
	enqueue(t, q, work(t, "r", "a", 5))
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		done <- q.Work(context.Background(), quick(1, func(_ context.Context, l *store.Lease) (queue.Played, error) { return play(l, false) }), stop)
	}()
	if err := server.Up(); err != nil {
		t.Fatal(err)
	}
	wait(t, time.Minute, over(d, "r"))
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	sound(t, d, "r", 5)
}

// TestLeaseAstray leaves a worker with a lease that it does not know of, as a transaction does whose answer is lost: it gives it up by
// itself, and the run ends while the worker lives.
func TestLeaseAstray(t *testing.T) {
	overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
		enqueue(t, q, work(t, "r", "a", 3))
		var once sync.Once
		until(t, d, q, "r", quick(1, func(ctx context.Context, l *store.Lease) (queue.Played, error) {
			once.Do(func() {
				if stray, err := d.Claim(ctx, store.Worker{ID: l.Worker}); err != nil || stray == nil {
					t.Errorf("%+v, %v", stray, err)
				}
			})
			return play(l, false)
		}))
		sound(t, d, "r", 3)
		var attempts int
		if err := d.Writer().QueryRow("SELECT count(*) FROM attempts WHERE what = 'given up'").Scan(&attempts); err != nil || attempts != 1 {
			t.Errorf("%d were given up, %v", attempts, err)
		}
	})
}

// TestLeaseOfTheLost gives a lease to a worker that is not alive any more, as one gets that claims while it is taken for lost: others
// take it over all the same.
func TestLeaseOfTheLost(t *testing.T) {
	overQueues(t, func(t *testing.T, d *store.DB, q *queue.Queue) {
		ctx := context.Background()
		enqueue(t, q, work(t, "r", "a", 1))
		w := store.Worker{ID: "one", Host: "elsewhere", Slots: 1}
		if err := d.Register(ctx, w); err != nil {
			t.Fatal(err)
		}
		if l, err := d.Claim(ctx, w); err != nil || l == nil {
			t.Fatalf("%v, %v", l, err)
		}
		if _, err := d.Writer().Exec("UPDATE workers SET state = 'lost'"); err != nil {
			t.Fatal(err)
		}
		until(t, d, q, "r", quick(1, func(_ context.Context, l *store.Lease) (queue.Played, error) { return play(l, false) }))
		sound(t, d, "r", 1)
	})
}

// TestEndsBesideAnIntegrator has workers work while somebody else is at numbering and does not come to an end: their hearts go on, and the
// one that stops numbers what it kept before it ends. There may be nobody who does so afterwards.
func TestEndsBesideAnIntegrator(t *testing.T) {
	t.Parallel()
	d, q := open(t, postgres(t))
	const lock = 0x74617266 // of integrators; were it another, nobody would be seen to wait for it
	other, err := d.Writer().Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	if _, err := other.Exec(fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = 0; SELECT pg_advisory_xact_lock(%d)", lock)); err != nil {
		t.Fatal(err)
	}
	ask := func(query string) (n int) {
		if err := d.Writer().QueryRow(query).Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}
	enqueue(t, q, work(t, "r", "a", 4))
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- q.Work(context.Background(), quick(2, func(_ context.Context, l *store.Lease) (queue.Played, error) { return play(l, false) }), stop)
	}()
	wait(t, time.Minute, over(d, "r"))
	const beats = "SELECT coalesce(sum(beat), 0) FROM workers"
	before := ask(beats)
	wait(t, 10*time.Second, func() bool { return ask(beats) >= before+5 })
	close(stop)
	wait(t, time.Minute, func() bool {
		return len(done) > 0 || ask(fmt.Sprintf("SELECT count(*) FROM pg_locks l JOIN pg_database b ON b.oid = l.database WHERE b.datname = current_database() AND l.objid = %d AND NOT l.granted", lock)) > 0
	})
	if len(done) > 0 {
		t.Error("it ended before it could number what it kept")
	}
	if err := errors.Join(other.Rollback(), <-done); err != nil {
		t.Error(err)
	}
	if r, err := d.Verify(); err != nil || len(r.Findings) > 0 || r.Waiting > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	sound(t, d, "r", 4)
}
