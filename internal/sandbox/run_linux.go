package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	setupTime = 60 * time.Second // for a sandbox to be made ready, on a busy machine
	killTime  = 10 * time.Second // for a killed tree to be gone
	drainTime = 10 * time.Second // for readers to see the end of a pipe once nobody can write to it any more
)

// sampling says how often a running tree is looked at.
const (
	firstSample = 60 * time.Millisecond // most runs have ended by then
	everySample = 80 * time.Millisecond
)

// A tree is a started command and all its descendants, as a backend sees them.
type tree interface {
	// ready completes the setup after the first process was started, and lets the command go.
	ready(ctx context.Context) error
	// sample looks at the live tree.
	sample() usage
	// kill sends SIGKILL to all of it, without waiting.
	kill()
	// gone returns when nothing of it is alive, or an error when that could not be brought about in time. It is called
	// after the first process has been waited for.
	gone() error
	// broken reports why the command never started, when that is so; asked after gone.
	broken(stderr []byte) error
	// killed reports whether somebody outside ended the first process of the command's, when that can be told; asked after
	// gone.
	killed() bool
	// close frees what the tree held.
	close()
}

// An ending is how a command ended, as whoever waited for it was told.
type ending struct {
	exit   int
	signal syscall.Signal // 0 for none; some say it by the status, 128+N
	cpu    time.Duration  // of all that was waited for
	err    error          // why nothing is known of it
}

// endingOf is the ending of a process that was waited for.
func endingOf(ps *os.ProcessState) ending {
	e := ending{cpu: ps.UserTime() + ps.SystemTime()}
	if ws := ps.Sys().(syscall.WaitStatus); ws.Signaled() {
		e.exit, e.signal = 128+int(ws.Signal()), ws.Signal()
	} else {
		e.exit = ws.ExitStatus()
	}
	return e
}

// usage is one sample of a tree.
type usage struct {
	processes int
	cpu       time.Duration
	memory    int64 // private bytes
	delays    map[threadID]time.Duration
}

// A run is one Run in progress.
type run struct {
	cmd     Cmd
	limits  Limits
	group   *group // nil without a cgroup
	outputs []*output
	over    chan struct{}              // an output ran over its budget
	peak    int64                      // highest sample of memory
	cpu     time.Duration              // highest sample of processor time
	delays  map[threadID]time.Duration // at the last sample
	waited  time.Duration              // for a processor, by the samples
	full    string                     // a writable tree whose file system was found full; "" for none
}

// newRun makes the pipes for the command's outputs, in the order of its descriptors from 1.
func newRun(cmd Cmd, uid, gid int) (*run, error) {
	r := &run{cmd: cmd, limits: cmd.Limits.withDefaults(), over: make(chan struct{})}
	shared := &budget{left: r.limits.Output}
	end := sync.OnceFunc(func() { close(r.over) })
	var tee sync.Mutex
	for i := range 2 + len(cmd.Extra) {
		o, err := pipe(uid, gid)
		if err != nil {
			r.drop()
			return nil, err
		}
		r.outputs = append(r.outputs, o)
		o.over = end
		o.budget = shared
		if i >= 2 {
			o.budget = &budget{left: cmd.Extra[i-2].Max}
			if o.budget.left <= 0 {
				o.budget.left = DefaultExtra
			}
		} else if cmd.OnOutput != nil {
			o.tee = func(p []byte) {
				tee.Lock()
				defer tee.Unlock()
				cmd.OnOutput(i+1, p)
			}
		}
	}
	return r, nil
}

func (r *run) drop() {
	for _, o := range r.outputs {
		o.drop()
	}
}

// stdio gives the child its descriptors 0, 1, 2, and as extra files those from 3.
func (r *run) stdio(c *exec.Cmd) (closeStdin func(), err error) {
	closeStdin = func() {}
	if r.cmd.StdinFile != nil {
		c.Stdin = r.cmd.StdinFile
	} else if len(r.cmd.Stdin) > 0 {
		f, err := memfile("stdin", r.cmd.Stdin)
		if err != nil {
			return nil, err
		}
		c.Stdin = f
		closeStdin = func() { f.Close() }
	}
	c.Stdout, c.Stderr = r.outputs[0].write, r.outputs[1].write
	for _, o := range r.outputs[2:] {
		c.ExtraFiles = append(c.ExtraFiles, o.write)
	}
	return closeStdin, nil
}

// start starts c. A child that is to die with us dies when the *thread* that started it ends, so the thread must not be
// one that a caller has locked to a goroutine of its own.
func start(c *exec.Cmd) error {
	sealDescriptors()
	errc := make(chan error)
	go func() { errc <- c.Start() }()
	return <-errc
}

// sealDescriptors keeps what this program was itself started with, such as a shell's open files, from being passed on:
// Go marks only what it opens. Nothing is closed here, and what a child is handed by name is not affected.
func sealDescriptors() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, _ := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// waitFor waits for a started command.
func waitFor(c *exec.Cmd) func() ending {
	return func() ending {
		err := c.Wait() // what it says of the exit is in the state
		if c.ProcessState == nil {
			return ending{err: err}
		}
		return endingOf(c.ProcessState)
	}
}

// supervise sees a started command through to its end, which wait waits for. It always ends the tree and frees it.
func (r *run) supervise(ctx context.Context, wait func() ending, t tree) (Result, error) {
	defer t.close()
	for _, o := range r.outputs {
		o.write.Close()
		go o.drain()
	}
	done := make(chan ending, 1)
	go func() { done <- wait() }()

	setup, cancel := context.WithTimeout(ctx, setupTime)
	readyErr := t.ready(setup)
	cancel()
	r.lookAtDisks()
	began := time.Now()
	var ended Limit
	var end ending
	if readyErr == nil {
		ended, end = r.watch(ctx, done, t)
	} else {
		t.kill()
		end = within(done)
	}
	wall := time.Since(began)
	r.lookAtDisks()
	goneErr := t.gone()
	res := Result{Wall: wall, Ended: ended, PeakMemory: r.peak, MemoryBy: r.group.kind()}
	r.collect(&res)
	if goneErr != nil {
		return res, fmt.Errorf("ending process tree: %w", goneErr)
	}
	if errors.Is(end.err, errStuck) {
		return res, fmt.Errorf("waiting for sandbox: %w", end.err)
	}
	if readyErr != nil && ctx.Err() != nil {
		res.Exit, res.Ended = -1, LimitCancelled
		return res, nil
	}
	// The backend's own account of what went wrong says more than our not having heard from it, if it gave one.
	if readyErr != nil && len(bytes.TrimSpace(res.Stderr.Data)) == 0 {
		return res, &setupError{readyErr}
	}
	if err := t.broken(res.Stderr.Data); err != nil && ended == LimitNone {
		return res, err
	}
	if readyErr != nil {
		return res, &setupError{readyErr}
	}
	if end.err != nil {
		return res, fmt.Errorf("waiting for sandbox: %w", end.err)
	}
	r.account(&res, end)
	return res, r.spoilt(t, res)
}

// spoilt says what of the machine's, and not the command's doing, makes a result worth nothing.
func (r *run) spoilt(t tree, res Result) error {
	switch {
	case res.Ended == LimitCancelled:
		return nil
	case r.full != "":
		return fmt.Errorf("the file system of %s was full", r.full)
	case res.Ended == LimitMemory && r.group.starved():
		return errors.New("the machine ran out of memory")
	case res.Ended == LimitWall && r.limits.Patience > 0 && r.kept() >= r.limits.Patience:
		return fmt.Errorf("the machine was too busy: of %s the command waited %s for a processor that others had", res.Wall.Round(time.Second), r.waited.Round(time.Second))
	case res.Ended == LimitNone && t.killed():
		return errors.New("the sandbox was killed from outside")
	}
	return nil
}

// Less than this, in bytes and in files, and a file system counts as full: a run that met the end of it would come out as if
// the command were at fault.
const (
	fullBytes = 16 << 20
	fullFiles = 64
)

// lookAtDisks notes when a file system that the command writes to is full. What the command fills within its own limits is
// a file system of the sandbox's, in memory.
func (r *run) lookAtDisks() {
	for _, m := range r.cmd.Mounts {
		var s unix.Statfs_t
		if r.full != "" || !m.Writable || unix.Statfs(m.Host, &s) != nil {
			continue
		}
		if s.Bavail*uint64(s.Bsize) < fullBytes || s.Files > 0 && s.Ffree < fullFiles {
			r.full = m.Guest
		}
	}
}

// collect takes in the outputs.
func (r *run) collect(res *Result) {
	res.Stdout, res.Stderr = r.outputs[0].finish(), r.outputs[1].finish()
	for _, o := range r.outputs[2:] {
		res.Extra = append(res.Extra, o.finish())
	}
}

// A setupError says that a sandbox was not ready in time, or at all. The command was never let go, so that it may be tried
// again.
type setupError struct{ err error }

func (e *setupError) Error() string { return "setting up sandbox: " + e.err.Error() }
func (e *setupError) Unwrap() error { return e.err }

// errStuck says that a killed process did not end.
var errStuck = errors.New("process did not end after SIGKILL")

// within waits for a killed process, but not for ever.
func within(done <-chan ending) ending {
	timer := time.NewTimer(killTime)
	defer timer.Stop()
	select {
	case end := <-done:
		return end
	case <-timer.C:
		return ending{err: errStuck}
	}
}

// watch waits for the command to end, and ends it when a limit is met.
func (r *run) watch(ctx context.Context, done <-chan ending, t tree) (Limit, ending) {
	began := time.Now()
	wall := time.NewTimer(r.limits.Wall)
	defer wall.Stop()
	tick := time.NewTimer(firstSample)
	defer tick.Stop()
	for {
		var why Limit
		select {
		case end := <-done:
			select {
			case <-r.over:
				return LimitOutput, end
			default:
				return LimitNone, end
			}
		case <-wall.C:
			why = r.exceeded(t.sample())
			if more := r.more(time.Since(began)); more > 0 && why == LimitNone {
				wall.Reset(more)
			} else if why == LimitNone {
				why = LimitWall
			}
		case <-ctx.Done():
			why = LimitCancelled
		case <-r.over:
			why = LimitOutput
		case <-tick.C:
			r.lookAtDisks()
			why = r.exceeded(t.sample())
			tick.Reset(everySample)
		}
		if why != LimitNone {
			t.kill()
			return why, within(done)
		}
	}
}

// exceeded compares one sample with the limits.
func (r *run) exceeded(u usage) Limit {
	r.peak = max(r.peak, u.memory)
	r.cpu = max(r.cpu, u.cpu)
	r.wait(u.delays)
	switch {
	case u.processes > r.limits.Processes:
		return LimitProcesses
	case u.cpu > r.limits.CPU:
		return LimitCPU
	case r.group == nil && u.memory > r.limits.Memory:
		return LimitMemory
	}
	return LimitNone
}

// account fills in how the command ended and what it used.
func (r *run) account(res *Result, end ending) {
	// of a tree that was killed the parent is told less than what was seen
	res.CPU = max(end.cpu, r.cpu)
	res.Exit = end.exit
	sig := end.signal
	if sig == 0 && res.Exit > 128 && res.Exit <= 128+64 {
		sig = syscall.Signal(res.Exit - 128)
	}
	if sig != 0 {
		res.Signal = unix.SignalName(sig)
	}
	if peak := r.group.peak(); peak > 0 {
		res.PeakMemory = peak
	}
	if cpu := r.group.cpu(); cpu > res.CPU {
		res.CPU = cpu
	}
	switch {
	case res.Ended != LimitNone:
	case r.group.oomKilled():
		res.Ended = LimitMemory
	case sig == syscall.SIGXCPU, sig == syscall.SIGKILL && res.CPU >= r.limits.CPU:
		res.Ended = LimitCPU
	case sig == syscall.SIGXFSZ:
		res.Ended = LimitFileSize
	}
}
