package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare"
	"tare/internal/store"
	"tare/internal/store/storetest"
)

// A machine is a place where tare is run: a store, and a directory for what is in use.
type machine struct {
	t       *testing.T
	db      string
	state   string
	workdir string
}

func newMachine(t *testing.T, db string) *machine {
	t.Helper()
	m := &machine{t: t, db: db, state: t.TempDir(), workdir: newWorkdir(t)}
	if m.db == "" {
		m.db = "sqlite:" + filepath.Join(m.state, "tare.db")
	}
	return m
}

func (m *machine) command(args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(bin, "tare"), args...)
	c.Env = append(os.Environ(), "TARE_DB="+m.db, "TARE_STATE="+m.state, "TARE_WORKDIR="+m.workdir)
	return c
}

// start starts tare, and ends it with the test.
func (m *machine) start(args ...string) (*exec.Cmd, *bytes.Buffer) {
	m.t.Helper()
	c := m.command(args...)
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c, &said
}

func (m *machine) open() *store.DB {
	m.t.Helper()
	d, err := store.OpenDB(context.Background(), m.db, store.Options{Local: m.state})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { d.Close() })
	return d
}

// until waits until so much of the only run is done.
func (m *machine) until(d *store.DB, done int) {
	m.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ids, err := d.Runs(); err == nil && len(ids) > 0 {
			if p, err := d.Progress(context.Background(), ids[0]); err == nil && p.Done >= done && (p.Running > 0 || p.Ended()) {
				return
			}
		}
	}
	m.t.Fatal("it takes too long")
}

// outcomes runs tare and returns the outcomes of its episodes, sorted.
func (m *machine) outcomes(code int, args ...string) []string {
	m.t.Helper()
	c := m.command(append(args, "--format", "json")...)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if c.ProcessState == nil || c.ProcessState.ExitCode() != code {
		m.t.Fatalf("tare %v: %v, want exit code %d\n%s%s", args, err, code, out, said.String())
	}
	var all []string
	for line := range bytes.Lines(out) {
		var v struct {
			tare.Verdict
			Episode tare.Episode `json:"episode"`
		}
		if err := json.Unmarshal(line, &v); err != nil {
			m.t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %s %d: %s %s", v.Episode.Task, v.Episode.Agent, v.Episode.Trial, v.Outcome, v.RootGate))
	}
	slices.Sort(all)
	return all
}

// sound checks that the ledger verifies and that no process is left that was started here.
func (m *machine) sound(d *store.DB) {
	m.t.Helper()
	r, err := d.Verify()
	if err != nil || len(r.Findings) > 0 || r.Waiting > 0 {
		m.t.Errorf("%+v, %v", r, err)
	}
	planned, verdicts, ids := 0, 0, []string(nil)
	if ids, err = d.Runs(); err != nil {
		m.t.Error(err)
	}
	for _, id := range ids {
		p, perr := d.Progress(context.Background(), id)
		all, err := d.Episodes(id)
		planned, verdicts = planned+p.Planned-p.Lost, verdicts+len(all)
		if perr != nil || err != nil || p.Ended() && len(all) != p.Done {
			m.t.Errorf("run %s: %+v, %d verdicts, %v, %v", id, p, len(all), perr, err)
		}
	}
	m.t.Logf("matrix: %d planned, %d verdicts, %d entries in the log, %d findings", planned, verdicts, r.Head.Size, len(r.Findings))
	var left []string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if left = m.processes(); len(left) == 0 {
			return
		}
	}
	m.t.Errorf("left running: %v", left)
}

// processes are those that were started here, or work below the machine's directory.
func (m *machine) processes() (left []string) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		m.t.Fatal(err)
	}
	for _, dir := range dirs {
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if bytes.Contains(env, []byte(m.workdir)) || bytes.Contains(line, []byte(m.workdir)) {
			left = append(left, filepath.Base(dir)+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return left
}

// Runs that what happens to them must not alter: one of episodes that are short, and one whose gradings run code in sandboxes.
var (
	survivors = []string{"run", "scenarios/scale_to_three", "scenarios/false_success", "--agent", "careful,straight", "--trials", "5"}
	graded    = []string{"run", "tickets/bugfix_inventory", "--agent", "noop,baseline", "--trials", "3"}
)

// TestRunnerIsKilled ends a run with SIGKILL, twice, the second time while it resumes. The same command brings it to the end that it
// has when nobody does that.
func TestRunnerIsKilled(t *testing.T) {
	t.Parallel()
	undisturbed := newMachine(t, "")
	want := undisturbed.outcomes(1, graded...)
	m := newMachine(t, "")
	d := m.open()
	for _, done := range []int{1, 4} {
		c, said := m.start(append(graded, "--jobs", "1")...)
		m.until(d, done)
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err == nil {
			t.Fatalf("it came to its end: %s", said)
		}
	}
	if got := m.outcomes(1, graded...); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	m.sound(d)
}

// TestKilledRunnerIsReaped kills a runner whose agent has a daemon that outlives it, in a sandbox that is none. The next one finds the
// daemon, and the workspaces, and removes both.
func TestKilledRunnerIsReaped(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "")
	script := filepath.Join(t.TempDir(), "agent.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nsetsid sleep 1234567 >/dev/null 2>&1 &\nsleep 1234567\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c, said := m.start("run", "tickets/bugfix_inventory", "--agent", "cmd:"+script, "--sandbox", "process", "--wall", "10m", "--jobs", "1")
	daemons := func() int {
		n := 0
		for _, p := range m.processes() {
			if strings.Contains(p, "sleep 1234567") {
				n++
			}
		}
		return n
	}
	for deadline := time.Now().Add(time.Minute); daemons() < 2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the agent never played: %s, %v", said, m.processes())
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if daemons() == 0 {
		t.Error("nothing outlived it: there is nothing to reap")
	}
	began := time.Now()
	m.outcomes(1, "run", "scenarios/false_success", "--agent", "noop") // any tare that works here
	for daemons() > 0 && time.Since(began) < 10*time.Second {
		time.Sleep(20 * time.Millisecond)
	}
	left, err := filepath.Glob(filepath.Join(m.workdir, "s*"))
	if n := daemons(); n > 0 || len(left) > 0 || err != nil {
		t.Errorf("left: %d processes, %v, %v", n, left, err)
	}
	d := m.open()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if playing, err := d.Playing(context.Background()); err == nil && len(playing) == 0 {
			break
		}
	}
	if playing, err := d.Playing(context.Background()); err != nil || len(playing) > 0 {
		t.Errorf("still taken for played: %+v, %v", playing, err)
	}
	m.sound(d)
}

// TestInterrupted interrupts a run: once it finishes what runs, twice it stops. Both say how to go on.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, times := range []int{1, 2} {
		m := newMachine(t, "")
		d := m.open()
		c, said := m.start(append(graded, "--jobs", "1")...)
		m.until(d, 1)
		for n := range times {
			if n > 0 {
				time.Sleep(200 * time.Millisecond) // two at once are one
			}
			if err := c.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
		err := c.Wait()
		var e *exec.ExitError
		if !errors.As(err, &e) || e.ExitCode() != 130 || !strings.Contains(said.String(), "tare run --resume") {
			t.Errorf("%d times: %v: %s", times, err, said)
		}
		ids, err := d.Runs()
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.Progress(context.Background(), ids[0])
		if err != nil || p.Running != 0 || p.Waiting == 0 || p.Done == 0 || p.Lost != 0 {
			t.Errorf("%d times: %+v, %v", times, p, err)
		}
		if got := m.outcomes(1, "run", "--resume", ids[0]); len(got) != p.Planned {
			t.Errorf("%d times: %v", times, got)
		}
		m.sound(d)
	}
}

// TestTwoRunners starts the same run twice at once. Both come to the same end, and each episode has one verdict.
func TestTwoRunners(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "")
	d := m.open()
	c, said := m.start(append(survivors, "-q")...)
	got := m.outcomes(1, survivors...)
	if err := c.Wait(); c.ProcessState.ExitCode() != 1 {
		t.Errorf("the other one: %v: %s", err, said)
	}
	ids, err := d.Runs()
	if err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	all, err := d.Episodes(ids[0])
	if err != nil || len(all) != len(got) || len(got) != 20 {
		t.Errorf("%d episodes, %d shown, %v", len(all), len(got), err)
	}
	for _, r := range all {
		if len(r.Verdicts) != 1 {
			t.Errorf("%v has %d verdicts", r.Record.Trajectory.Episode, len(r.Verdicts))
		}
	}
	m.sound(d)
}

// TestLongLine plays an agent that prints 50 MB without an end of line. It is graded as what it is, and neither the store nor the
// record grows by it.
func TestLongLine(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "")
	d := m.open()
	script := filepath.Join(t.TempDir(), "agent.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nhead -c 52428800 /dev/zero | tr '\\000' x\nhead -c 52428800 /dev/zero | tr '\\000' y >&2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	// it was stopped, and what it left undone may only be missing
	if got := m.outcomes(3, "run", "tickets/bugfix_inventory", "--agent", "cmd:"+script); len(got) != 1 || !strings.Contains(got[0], "UNVERIFIED behaviour") {
		t.Error(got)
	}
	kept := int64(0)
	err := filepath.WalkDir(m.state, func(_ string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		kept += info.Size()
		return err
	})
	if err != nil || kept > 8<<20 {
		t.Errorf("%d bytes are kept, %v", kept, err)
	}
	m.sound(d)
}

// TestThreeWorkers plays a run on three workers with PostgreSQL, of which one is killed: the totals are those of a run without.
func TestThreeWorkers(t *testing.T) {
	t.Parallel()
	address, err := storetest.Postgres(t).New()
	if err != nil {
		t.Fatal(err)
	}
	want := newMachine(t, "").outcomes(1, survivors...)
	var workers []*exec.Cmd
	var machines []*machine
	for range 3 {
		m := newMachine(t, address)
		c, _ := m.start("worker", "--jobs", "1")
		workers, machines = append(workers, c), append(machines, m)
	}
	m := newMachine(t, address)
	d := m.open()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // or the others are done before the first one is there
		pulses, err := d.Pulses(context.Background())
		if err == nil && len(pulses) == len(workers) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the workers are not all there: %+v, %v", pulses, err)
		}
	}
	killed := make(chan error, 1)
	go func() {
		defer close(killed)
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			playing, err := d.Playing(context.Background())
			pulses, perr := d.Pulses(context.Background())
			if err != nil || perr != nil {
				continue
			}
			for _, p := range pulses {
				if p.PID == workers[0].Process.Pid && slices.ContainsFunc(playing, func(x store.Playing) bool { return x.Worker == p.ID }) {
					killed <- workers[0].Process.Kill()
					return
				}
			}
		}
		killed <- errors.New("the first worker never played")
	}()
	got := m.outcomes(1, survivors...)
	if err := <-killed; err != nil {
		t.Error(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for _, w := range workers[1:] {
		if err := w.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		_ = w.Wait()
		if code := w.ProcessState.ExitCode(); code != 130 {
			t.Errorf("a worker ended with %d", code)
		}
	}
	_ = workers[0].Wait()
	for _, m := range machines {
		m.sound(d)
	}
}

// TestNobodyCanPlay asks for what no worker can play: it is said, and not waited for.
func TestNobodyCanPlay(t *testing.T) {
	address, err := storetest.Postgres(t).New()
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, address)
	c, said := m.start("run", "scenarios/scale_to_three", "--agent", "careful")
	t.Parallel() // only now, as in TestClientsHang
	err = c.Wait()
	var e *exec.ExitError
	if !errors.As(err, &e) || e.ExitCode() != 3 || !strings.Contains(said.String(), "no worker is there") || !strings.Contains(said.String(), "incomplete: 1 of 1") {
		t.Errorf("%v: %s", err, said)
	}
}

// TestAnotherGraderJudgesAgain asks again for a run that another grader judged, and of which it said the contrary of what the present one
// says. All of it is judged again, once, and nothing is played again.
func TestAnotherGraderJudgesAgain(t *testing.T) {
	t.Parallel()
	ask := []string{"run", "scenarios/scale_to_three", "--agent", "noop,straight"}
	now, was := newMachine(t, ""), newMachine(t, "")
	now.outcomes(1, ask...)
	from, to := now.open(), was.open()
	ids, err := from.Runs()
	if err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	run := ids[0]
	judgedByAnother(t, from, to, run)
	want := []string{"scenarios/scale_to_three noop 1: FAIL route", "scenarios/scale_to_three straight 1: FAIL "}
	for range 2 { // the second time there is nothing to judge
		if got := was.outcomes(1, ask...); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q: a failure stays one", got, want)
		}
	}
	if played, err := filepath.Glob(filepath.Join(was.state, "trajectories", "*", "*", "trajectory*.jsonl")); err != nil || len(played) > 0 {
		t.Errorf("these were played: %q, %v", played, err)
	}
	all, err := to.Episodes(run)
	if err != nil || len(all) != 2 {
		t.Fatal(len(all), err)
	}
	for _, r := range all {
		v := r.Latest()
		if len(r.Verdicts) != 2 || v.Grader != tare.GraderDigest() || v.Correction == nil || !slices.Contains(v.Correction.Changed, tare.ChangedGrader) || v.Outcome == r.Verdicts[0].Outcome {
			t.Errorf("%s: %d verdicts, the latest %s by %s, %+v", r.Record.Trajectory.Episode.Agent, len(r.Verdicts), v.Outcome, v.Grader, v.Correction)
		}
	}
	was.sound(to)
}

// judgedByAnother copies a run, with verdicts of another grader that say the contrary.
func judgedByAnother(t *testing.T, from, to *store.DB, run string) {
	t.Helper()
	var plan json.RawMessage
	if err := from.Plan(run, &plan); err != nil {
		t.Fatal(err)
	}
	if err := to.Begin(run, tare.Entry{Schema: "tare.plan/1", Bytes: plan, Hash: tare.HashBytes(plan)}); err != nil {
		t.Fatal(err)
	}
	all, err := from.Episodes(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		v := r.Verdict()
		v.Grader = "sha256:another"
		if v.Outcome == tare.Pass {
			v.Outcome, v.Cause, v.RootGate = tare.Fail, tare.CauseAgent, ""
		} else {
			v.Outcome, v.Cause, v.RootGate = tare.Pass, "", ""
		}
		record, err := tare.NewEntry(r.Record)
		if err != nil {
			t.Fatal(err)
		}
		verdict, err := tare.NewEntry(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := to.Save(run, r.Record.Trajectory.Episode, record, verdict); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Ledger().Integrate(); err != nil {
		t.Fatal(err)
	}
}
