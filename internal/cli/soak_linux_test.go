package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare"
	"tare/internal/proof"
	"tare/internal/sandbox"
	"tare/internal/soak"
)

var (
	soakGradings = flag.Int("soak", 0, "gradings of TestSoak; 0 for the few that every test run makes")
	soakSeed     = flag.Uint64("soak-seed", 1, "what TestSoak draws from")
)

const (
	shortSoak = 18
	soakJobs  = 4
	soakDisk  = 704 << 20 // a file system that holds what four gradings lay out and the binaries that are kept, and not much more
	soakRSS   = 48 << 20  // how much more of this process may be resident at the end than after it warmed up
	soakDir   = "TARE_TEST_SOAK_DIR"
)

// TestSoak grades and grades while the machine is at its worst, and then looks for what was left behind. It says PASS or
// FAIL of a solution as it must, or that infrastructure got in the way while something did; never anything else.
//
// It runs in a process of its own, whose descriptors and memory are nobody else's, with a small disk that only it sees.
func TestSoak(t *testing.T) {
	if dir := os.Getenv(soakDir); dir != "" {
		soakHere(t, dir)
		return
	}
	dir, err := os.MkdirTemp(sandbox.TempDir(), "tare-soak-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, unix.SIGTERM) // so that what is deferred is done
	defer stop()
	c := exec.CommandContext(ctx, self, "-test.run=^TestSoak$", "-test.v", "-test.timeout=0", fmt.Sprint("-soak=", *soakGradings), fmt.Sprint("-soak-seed=", *soakSeed))
	c.Env = append(os.Environ(), soakDir+"="+dir)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if *soakGradings > 0 { // somebody waits for it
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
	}
	soak.Apart(c)
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("outside of its own disk the soak left %v, %v", left, err)
	}
}

func soakHere(t *testing.T, dir string) {
	if err := soak.Adopt(); err != nil {
		t.Fatal(err)
	}
	n := *soakGradings
	if n == 0 {
		n = shortSoak
	}
	s := &soaking{t: t, disk: dir, began: time.Now(), r: rand.New(rand.NewPCG(*soakSeed, 0)), first: map[string]string{}, rows: map[string]*soakRow{}}
	s.items = soakItems(t, *soakGradings == 0)
	s.readyGo()
	if err := soak.SmallDisk(dir, soakDisk); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"work", "tmp", "state"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o711); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	s.linkGo()
	s.say("%d gradings, %d at a time, of %d solutions; seed %d", n, soakJobs, len(s.items), *soakSeed)
	s.inRig(func(ctx context.Context, r *rig) { s.grade(ctx, r, s.items[0]) }) // with the first rig the runtime and the suites come up
	start := s.census()
	s.inRig(func(ctx context.Context, r *rig) {
		s.play(ctx, r, max(2*soakJobs, n/10), nil)
		warm := s.census()
		s.say("warm after %d gradings: %d MiB resident", s.done, warm.RSS>>20)
		s.play(ctx, r, n-s.done, soakPhases)
		s.compare("after the last grading", warm, steady(warm))
	})
	s.compare("after the rig was closed", start, func(now soak.Census) []soak.Leak { return now.Since(start, soakRSS) })
	s.summary(n)
	for _, pid := range soak.Descendants() { // named above, and of no use to anybody
		unix.Kill(pid, unix.SIGKILL)
	}
}

// A soaking is one soak on its way.
type soaking struct {
	t     *testing.T
	disk  string
	began time.Time
	items []soakItem
	r     *rand.Rand
	clock soak.JumpingClock
	log   soak.Log

	done   int
	first  map[string]string   // of each item, how its right verdict reads
	rows   map[string]*soakRow // by the hazards that a grading met
	wrongs []string
	killed int
	filled int
	jumped int
	leaks  []string
}

// A soakRow counts what came of gradings.
type soakRow struct{ right, unverified, refused, wrong int }

// A soakItem is a solution whose right verdict is known.
type soakItem struct {
	task    *tare.Task
	control tare.Control
}

func (i soakItem) name() string { return i.task.ID + " " + i.control.Name }

func (s *soaking) say(format string, args ...any) {
	fmt.Printf("soak %7.1fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

func (s *soaking) app() *app {
	return &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, quiet: true, format: "text", backend: "bwrap", state: filepath.Join(s.disk, "state"), workdir: filepath.Join(s.disk, "work")}
}

func (s *soaking) inRig(work func(context.Context, *rig)) {
	s.t.Helper()
	err := s.app().withRig(s.t.Context(), func(ctx context.Context, r *rig) error {
		r.now = s.clock.Now
		work(ctx, r)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *soaking) census() soak.Census {
	s.t.Helper()
	c, err := soak.Take(s.disk)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// passing are kinds of which a rig that is open has some at any moment, and not always the same: an interpreter that is kept
// ready is replaced after a run that was killed. Their number must stay what it is.
var passing = []string{"process", "descriptor", "goroutine"}

const passingRoom = 32

// steady names what an open rig has more than before.
func steady(before soak.Census) func(now soak.Census) []soak.Leak {
	return func(now soak.Census) []soak.Leak {
		leaks := now.Without(passing...).Since(before.Without(passing...), soakRSS)
		leaks = slices.DeleteFunc(leaks, func(l soak.Leak) bool { // a bounded number, until the rig is closed
			return l.Kind == "file" && strings.Contains(l.What, "/go-kept")
		})
		for _, kind := range passing {
			if n, was := now.Count(kind), before.Count(kind); n > was+passingRoom {
				leaks = append(leaks, soak.Leak{Kind: kind, What: fmt.Sprintf("%d, and %d before", n, was)})
			}
		}
		return leaks
	}
}

// compare names what there is now and was not before.
func (s *soaking) compare(when string, before soak.Census, look func(soak.Census) []soak.Leak) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	now, leaks, err := soak.Settled(ctx, look, s.disk)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, l := range leaks {
		s.leaks = append(s.leaks, when+": "+l.String())
	}
	s.say("%s: %d things left, %d MiB resident, %d before", when, len(leaks), now.RSS>>20, before.RSS>>20)
}

// An outcome of one grading.
type soaked struct {
	item     soakItem
	verdict  tare.Verdict
	err      error
	from, to time.Time
}

func (s *soaking) grade(ctx context.Context, r *rig, item soakItem) soaked {
	got := soaked{item: item, from: time.Now()}
	res, err := r.judgeControl(ctx, item.task, item.control)
	got.verdict, got.err, got.to = res.Verdict, err, time.Now()
	return got
}

// play makes n gradings, several at a time, through the phases.
func (s *soaking) play(ctx context.Context, r *rig, n int, phases []phase) {
	next, results := make(chan soakItem), make(chan soaked)
	var wg sync.WaitGroup
	for range soakJobs {
		wg.Go(func() {
			for item := range next {
				results <- s.grade(ctx, r, item)
			}
		})
	}
	order := make([]soakItem, n)
	for i := range order {
		if order[i] = s.items[i%len(s.items)]; n > len(s.items) || i >= len(s.items) {
			order[i] = s.items[s.r.IntN(len(s.items))]
		}
	}
	s.r.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	go func() {
		for _, item := range order {
			next <- item
		}
		close(next)
		wg.Wait()
		close(results)
	}()
	each := max(2, min(25, n/max(1, len(phases))))
	stop := func() {}
	at, told := -1, time.Now()
	for i := 0; ; i++ {
		if p := i / each; len(phases) > 0 && p != at && i < n {
			stop()
			at, stop = p, s.begin(ctx, r, phases[p%len(phases)])
		}
		got, ok := <-results
		if !ok {
			break
		}
		s.take(got)
		if time.Since(told) > 15*time.Second || i+1 == n {
			told = time.Now()
			s.say("%d graded, %d killed, %d times full, %d jumps, %d wrong", s.done, s.killed, s.filled, s.jumped, len(s.wrongs))
		}
	}
	stop()
}

// take sorts one grading in.
func (s *soaking) take(got soaked) {
	s.done++
	met := s.log.Met(got.from, got.to)
	row := s.rows[fmt.Sprint(met)]
	if row == nil {
		row = &soakRow{}
		s.rows[fmt.Sprint(met)] = row
	}
	excused := slices.Contains(met, soak.Kill) || slices.Contains(met, soak.Full) // nothing else may cost a verdict
	v := got.verdict
	switch {
	case got.err != nil && excused:
		row.refused++
		return
	case got.err != nil:
		s.wrong(row, got, met, "the rig failed: "+got.err.Error())
		return
	case v.Outcome == tare.Unverified && v.Cause == tare.CauseInfrastructure && (excused || tooBusy(v)):
		row.unverified++
		return
	}
	if why := proof.Misses(got.item.control.Expect, v); why != "" {
		s.wrong(row, got, met, why)
		return
	}
	text := rendered(v)
	if first, ok := s.first[got.item.name()]; ok && first != text {
		s.wrong(row, got, met, "another verdict than before:\n"+first+"\n"+text)
		return
	}
	s.first[got.item.name()] = text
	row.right++
}

// tooBusy reports whether it was for others that there is no verdict: a soak need not have the machine to itself.
func tooBusy(v tare.Verdict) bool {
	return slices.ContainsFunc(v.Gates, func(g tare.Gate) bool { return strings.Contains(g.Reason, "the machine was too busy") })
}

func (s *soaking) wrong(row *soakRow, got soaked, met []soak.Hazard, why string) {
	row.wrong++
	reason := ""
	for _, g := range got.verdict.Gates {
		if g.Outcome != tare.Pass && g.Reason != "" {
			reason += fmt.Sprintf("\n    %s %s: %s", g.Outcome, g.Name, g.Reason)
		}
	}
	s.wrongs = append(s.wrongs, fmt.Sprintf("%s, having met %v: %s%s", got.item.name(), met, why, reason))
	s.say("WRONG %s", s.wrongs[len(s.wrongs)-1])
}

// summary prints the table, and fails the test for whatever is not as it must be.
func (s *soaking) summary(n int) {
	fmt.Printf("\n%-20s %6s %11s %8s %6s\n", "met", "right", "unverified", "refused", "wrong")
	met := map[soak.Hazard]int{}
	for _, name := range slices.Sorted(maps.Keys(s.rows)) {
		row := s.rows[name]
		fmt.Printf("%-20s %6d %11d %8d %6d\n", strings.Trim(name, "[]")+" ", row.right, row.unverified, row.refused, row.wrong)
		for _, h := range []soak.Hazard{soak.Kill, soak.Full, soak.Clock} {
			if strings.Contains(name, string(h)) {
				met[h] += row.right + row.unverified + row.refused
			}
		}
	}
	took := time.Since(s.began)
	each := took / time.Duration(max(1, s.done))
	cpu := processorTime() / time.Duration(max(1, s.done))
	fmt.Printf("\n%d gradings in %s, %s each; 2000 would take %s\n", s.done, took.Round(time.Second), each.Round(time.Millisecond), (2000 * each).Round(time.Minute))
	fmt.Printf("%s of processor time each; with both processors of a machine to itself 2000 would take %s\n", cpu.Round(time.Millisecond), (1000 * cpu).Round(time.Minute))
	fmt.Printf("%d processes killed, the disk full %d times, %d jumps of the clock\n", s.killed, s.filled, s.jumped)
	for _, l := range s.leaks {
		s.t.Error(l)
	}
	for _, w := range s.wrongs {
		s.t.Error(w)
	}
	if s.done < n || s.killed == 0 || s.filled == 0 || s.jumped == 0 || met[soak.Kill] == 0 || met[soak.Full] == 0 || met[soak.Clock] == 0 {
		s.t.Errorf("the machine was not at its worst: of %d gradings %d were made; met %v", n, s.done, met)
	}
	if len(s.rows) == 0 || !slices.ContainsFunc(slices.Collect(maps.Values(s.rows)), func(r *soakRow) bool { return r.right > 0 }) {
		s.t.Error("nothing came out right")
	}
}

// processorTime is what this process and all that it waited for used.
func processorTime() (sum time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// A phase is which hazards are at work for a while.
type phase []soak.Hazard

var soakPhases = []phase{{soak.Kill}, {soak.Clock}, {soak.Full}, {}, {soak.Kill, soak.Clock}, {soak.Kill, soak.Full}}

// begin sets the hazards of p to work; stop returns when they are at rest.
func (s *soaking) begin(ctx context.Context, r *rig, p phase) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, h := range p {
		rnd := rand.New(rand.NewPCG(s.r.Uint64(), 0))
		wg.Go(func() {
			switch h {
			case soak.Kill:
				s.killed += soak.Killing(ctx, &s.log, rnd, 300*time.Millisecond)
			case soak.Full:
				n, err := soak.Filling(ctx, &s.log, s.disk, 400*time.Millisecond, 2*time.Second)
				s.filled += n
				if err != nil {
					s.t.Error(err)
				}
			case soak.Clock:
				s.jumped += s.jumping(ctx, r, rnd, !slices.Contains(p, soak.Kill))
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// jumping sets the clock, makes directories look as old or as young as it says, and lets another program that starts up on
// the same state look for what others left behind.
func (s *soaking) jumping(ctx context.Context, r *rig, rnd *rand.Rand, others bool) (times int) {
	end := s.log.Begin(soak.Clock)
	defer end()
	for ctx.Err() == nil {
		s.clock.Jump(rnd)
		times++
		now := s.clock.Now()
		dirs, _ := filepath.Glob(filepath.Join(filepath.Dir(r.sb.StateDir()), "s*"))
		inner, _ := filepath.Glob(filepath.Join(r.sb.StateDir(), "*"))
		for _, d := range slices.Concat(dirs, inner) {
			_ = os.Chtimes(d, now, now) // it may be gone
		}
		if others {
			sb, err := sandbox.Open(ctx, r.a.sandboxOptions())
			if err == nil {
				err = sb.Close()
			}
			if err != nil && ctx.Err() == nil {
				s.t.Errorf("another program on the same state: %v", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	return times
}

// readyGo has what Go's runner keeps for all runs made where it is kept, when some task needs it.
func (s *soaking) readyGo() {
	i := slices.IndexFunc(s.items, func(i soakItem) bool { return i.task.Runner == "gotest" })
	if i < 0 {
		return
	}
	a := s.app()
	a.workdir = ""
	err := a.withRig(s.t.Context(), func(ctx context.Context, r *rig) error {
		_, err := r.judgeControl(ctx, s.items[i].task, s.items[i].control)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// linkGo shows on the small disk what is too large for it.
func (s *soaking) linkGo() {
	ready, _ := filepath.Glob(fmt.Sprintf("/var/tmp/tare-%d/go-*/ready", os.Geteuid()))
	for _, r := range ready {
		dir := filepath.Dir(r)
		if err := os.Symlink(dir, filepath.Join(s.disk, "work", filepath.Base(dir))); err != nil {
			s.t.Fatal(err)
		}
	}
}

// soakItems lists what is graded: the controls of some tasks, and solutions that do to their sandbox what they can.
func soakItems(t *testing.T, short bool) []soakItem {
	all, err := (&app{}).tasks(nil)
	if err != nil {
		t.Fatal(err)
	}
	var items []soakItem
	per := map[string]int{}
	for _, task := range all {
		per[task.Runner]++
		if task.Kind != tare.Ticket || short && per[task.Runner] > 2 {
			continue
		}
		sweep := inSweep(task)
		bad := 0
		for _, c := range task.Controls {
			if c.Origin == tare.FromBad {
				bad++
			}
			if sweep(c) || c.Origin == tare.FromBad && bad <= 3 && c.Agent == "" && !short {
				items = append(items, soakItem{task, c})
			}
		}
		if task.Runner == "pytest" && per[task.Runner] == 1 {
			items = append(items, soakHostile(t, task)...)
		}
	}
	if len(items) < 10 {
		t.Fatal(errors.New("there is too little to grade"))
	}
	return items
}

// soakHostile is the first reference of task, with something added to its source that its sandbox has to bear.
func soakHostile(t *testing.T, task *tare.Task) []soakItem {
	var out []soakItem
	untested := tare.Expect{Outcome: tare.Fail, Gate: tare.GateRegressionTest}
	for _, h := range []struct {
		name, code string
		expect     tare.Expect
	}{
		{"fills its pipes", "for _ in range(24): sys.stdout.write('x' * 65536 + '\\n'); sys.stderr.write('y' * 65536 + '\\n')", untested},
		{"overfills its pipes", "while True: os.write(1, b'x' * 65536)", tare.Expect{Outcome: tare.Fail}},
		{"overfills the report", "while True: os.write(3, b'x' * 65536)", tare.Expect{Outcome: tare.Fail}},
		{"fills its disks", "for d in ('/tmp', os.path.expanduser('~'), '/dev/shm'):\n    try:\n        with open(d + '/fill', 'wb') as f:\n            while f.write(bytes(1 << 20)): f.flush()\n    except OSError: pass", untested},
		{"kills itself", "os.kill(os.getpid(), 9)", tare.Expect{Outcome: tare.Fail}},
		{"says that it was killed", "os._exit(137)", tare.Expect{Outcome: tare.Fail}},
		{"leaves processes", "for _ in range(8):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0: time.sleep(1000)\n        os._exit(0)", untested},
		{"leaves holders of its pipes", "if os.fork() == 0:\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    time.sleep(1000)", untested},
		{"locks its directories", "os.makedirs('/srv/workspace/d/e', exist_ok=True); os.chmod('/srv/workspace/d', 0)", untested},
	} {
		fix := slices.Clone(task.References[0].Fix)
		i := slices.IndexFunc(fix, func(f tare.File) bool { return strings.HasSuffix(f.Path, ".py") })
		if i < 0 {
			t.Fatal("the reference changes no source")
		}
		fix[i].Data = append(slices.Clone(fix[i].Data), "\nimport os, signal, sys, time\n"+h.code+"\n"...)
		out = append(out, soakItem{task, tare.Control{Name: h.name, Origin: tare.FromBad, Apply: []tare.Tree{fix}, Expect: h.expect}})
	}
	return out
}
