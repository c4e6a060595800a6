package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A process is the backend without isolation. It promises limits and that nothing is left running, no more.
type process struct {
	*state
	groups    *cgroups
	processes string // flag of ulimit

	mu   sync.Mutex
	live map[*processTree]bool
}

// openProcess also makes this program adopt orphans (PR_SET_CHILD_SUBREAPER): without a control group that is the only
// way to find a daemon that has left its parent, its session and its environment behind.
func openProcess(_ context.Context, o Options) (Sandbox, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, &Unavailable{Reason: fmt.Sprintf("cannot adopt orphans: %v", err), Mend: "use the bwrap backend"}
	}
	groups := openCgroupsHere()
	st, err := openState(o.StateRoot, o.InMemory && groups != nil)
	if err != nil {
		groups.close()
		return nil, err
	}
	return &process{
		state: st, groups: groups, processes: processFlag(), live: map[*processTree]bool{},
	}, nil
}

func (p *process) Isolation() string { return IsolationProcess }

func (p *process) Close() error {
	p.groups.close()
	return p.state.Close()
}

func (p *process) Run(ctx context.Context, cmd Cmd) (Result, error) {
	if ctx.Err() != nil {
		return Result{Exit: -1, Ended: LimitCancelled, Isolation: IsolationProcess, Extra: make([]Bytes, len(cmd.Extra))}, nil
	}
	res, err := p.run(ctx, cmd)
	res.Isolation = IsolationProcess
	if err != nil {
		return res, fmt.Errorf("running process: %w", err)
	}
	return res, nil
}

func (p *process) run(ctx context.Context, cmd Cmd) (Result, error) {
	if err := cmd.check(); err != nil {
		return Result{}, err
	}
	home, err := p.NewDir("h")
	if err != nil {
		return Result{}, err
	}
	defer removeTree(home)
	tmp, err := p.NewDir("t")
	if err != nil {
		return Result{}, err
	}
	defer removeTree(tmp)
	closeForwards, err := p.forward(cmd.Forwards)
	if err != nil {
		return Result{}, err
	}
	defer closeForwards()

	r, err := newRun(cmd, p.uid, p.gid)
	if err != nil {
		return Result{}, err
	}
	if r.group, err = p.groups.make(r.limits.Memory); err != nil {
		r.drop()
		return Result{}, err
	}
	t := &processTree{owner: p, group: r.group, known: map[int]uint64{}}
	c, closeFiles, err := p.command(r, t, home, tmp)
	if err == nil {
		err = p.start(c, t)
	}
	if closeFiles != nil {
		closeFiles()
	}
	if err != nil {
		r.drop()
		t.close()
		return Result{}, fmt.Errorf("starting: %w", err)
	}
	return r.supervise(ctx, waitFor(c), t)
}

// start starts c as the first process of t, and notes it before another run can look for orphans and take it for one.
func (p *process) start(c *exec.Cmd, t *processTree) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := start(c); err != nil {
		return err
	}
	t.begin(c.Process.Pid)
	return nil
}

// gateFD is the descriptor on which the script waits to be let go.
const gateFD = 9

// command makes the call of the script that limits itself and becomes the command.
func (p *process) command(r *run, t *processTree, home, tmp string) (*exec.Cmd, func(), error) {
	shown := slices.Clone(r.cmd.Mounts)
	for _, f := range r.cmd.Forwards {
		if f.Path != "" {
			shown = append(shown, Mount{Host: f.Socket, Guest: f.Path})
		}
	}
	translate := translator(shown)
	// NPROC counts all processes of the uid on this host, so what runs already comes on top.
	limits := limitScript(r.limits, p.processes, tasksOf(p.uid)+r.limits.Processes+slack)
	c := &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", fmt.Sprintf(gateScript, limits), "sh"}}
	for _, a := range r.cmd.Argv {
		c.Args = append(c.Args, translate(a))
	}
	t.marker = fmt.Sprintf("TARE_RUN=%d.%p", os.Getpid(), t)
	c.Env = []string{t.marker}
	for _, kv := range environment(r.cmd.Env, home, tmp) {
		c.Env = append(c.Env, translate(kv))
	}
	c.Dir = home
	if r.cmd.Dir != "" {
		c.Dir = translate(r.cmd.Dir)
	}
	closeStdin, err := r.stdio(c)
	if err != nil {
		return nil, nil, err
	}
	gateRead, gateWrite, err := os.Pipe()
	if err != nil {
		return nil, closeStdin, fmt.Errorf("making pipe: %w", err)
	}
	t.gate = gateWrite
	for len(c.ExtraFiles) < gateFD-3 {
		c.ExtraFiles = append(c.ExtraFiles, nil)
	}
	c.ExtraFiles = append(c.ExtraFiles, gateRead)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if p.root {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.gid)}
	}
	return c, func() { closeStdin(); gateRead.Close() }, nil
}

// translator replaces guest paths, where they stand as whole path elements, by those of the host.
func translator(mounts []Mount) func(string) string {
	type rule struct {
		re   *regexp.Regexp
		host string
	}
	var rules []rule
	for _, m := range mounts {
		re := regexp.MustCompile(`(^|[^\w./-])` + regexp.QuoteMeta(m.Guest) + `($|[^\w.-])`)
		rules = append(rules, rule{re, m.Host})
	}
	return func(s string) string {
		for _, r := range rules {
			// what stands between two matches belongs to both, so once is not enough
			for range 2 {
				s = r.re.ReplaceAllString(s, "${1}"+escapeDollar(r.host)+"${2}")
			}
		}
		return s
	}
}

func escapeDollar(s string) string { return regexp.MustCompile(`\$`).ReplaceAllString(s, "$$$$") }

// tasksOf counts the processes and threads of a user.
func tasksOf(uid int) int {
	n := 0
	for _, pid := range allPids() {
		var st unix.Stat_t
		if unix.Stat("/proc/"+strconv.Itoa(pid), &st) != nil || int(st.Uid) != uid {
			continue
		}
		if p, err := readProc(pid); err == nil {
			n += p.threads
		}
	}
	return n
}
