package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Sizes of the file systems in memory that a command may fill.
const (
	tmpSize  = 512 << 20
	homeSize = 64 << 20
	shmSize  = 64 << 20
)

// Where things are inside.
const (
	insideHome   = "/home/tare"
	insideTmp    = "/tmp"
	insideBridge = "/run/tare/bridge"
	insideID     = 1000 // uid and gid, where a user namespace can map them
)

// system lists the host directories that are shown read-only, where they exist. Never /usr or /usr/local as a whole.
var system = []string{
	"/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec", "/usr/share", "/usr/include",
}

// roots lists the directories at the root that are links into /usr on a merged system, and directories on others.
var roots = []string{"/bin", "/lib", "/lib32", "/lib64", "/libx32"}

// A bwrap is the bubblewrap backend.
type bwrap struct {
	*state
	program    string
	kind       string                 // an Isolation constant
	bridge     func() (string, error) // a copy that the owner can reach, made when it is first needed
	groups     *cgroups
	etc        string // a directory that stands for /etc
	mask       string // the running program, when it lies in a system directory
	seccomp    []byte
	processes  string // flag of ulimit
	setpriv    string
	systemArgs []string

	cold      bool // keep no residents
	residents residents
}

func openBwrap(ctx context.Context, o Options) (Sandbox, error) {
	program, err := findBwrap()
	if err != nil {
		return nil, err
	}
	groups := openCgroupsHere()
	st, err := openState(o.StateRoot, o.InMemory && groups != nil)
	if err != nil {
		groups.close()
		return nil, err
	}
	b := &bwrap{
		state: st, groups: groups, program: program, seccomp: seccompFilter(), processes: processFlag(), mask: self(),
		cold: o.Cold,
	}
	b.bridge = sync.OnceValues(func() (string, error) { return b.stage(o.Bridge) })
	if err := b.prepare(); err != nil {
		b.Close()
		return nil, err
	}
	if err := b.choose(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// self is the real path of the running program, which holds the answers.
func self() string {
	p, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return p
}

func findBwrap() (string, error) {
	for _, p := range []string{"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"} {
		if unix.Access(p, unix.X_OK) == nil {
			return p, nil
		}
	}
	if p, err := exec.LookPath("bwrap"); err == nil {
		return p, nil
	}
	return "", &Unavailable{Reason: "bubblewrap (bwrap) is not installed", Mend: "apt-get install bubblewrap"}
}

func openCgroupsHere() *cgroups {
	mounts, _ := os.ReadFile("/proc/self/mounts")
	self, _ := os.ReadFile("/proc/self/cgroup")
	return openCgroups(string(mounts), string(self))
}

// prepare works out what is the same for every run.
func (b *bwrap) prepare() error {
	b.etc = filepath.Join(b.dir, "etc")
	if err := makeEtc(b.etc); err != nil {
		return fmt.Errorf("making /etc for the sandbox: %w", err)
	}
	a := []string{"--perms", "0755", "--dir", "/usr"}
	for _, dir := range system {
		if isDir(dir) {
			a = append(a, "--ro-bind", dir, dir)
		}
	}
	for _, dir := range roots {
		if to, err := os.Readlink(dir); err == nil {
			a = append(a, "--symlink", to, dir)
		} else if isDir(dir) {
			a = append(a, "--ro-bind", dir, dir)
		}
	}
	a = append(a, "--ro-bind", b.etc, "/etc")
	for _, dir := range slices.Concat(system, roots) {
		if b.mask != "" && below(b.mask, dir) && isDir(dir) {
			a = append(a, "--ro-bind", "/dev/null", b.mask)
			break
		}
	}
	b.systemArgs = append(a,
		"--proc", "/proc", "--dev", "/dev",
		"--perms", "1777", "--size", strconv.Itoa(shmSize), "--tmpfs", "/dev/shm",
		"--remount-ro", "/dev",
		"--perms", "1777", "--size", strconv.Itoa(tmpSize), "--tmpfs", insideTmp,
		"--perms", "0755", "--dir", "/home",
		"--perms", "0755", "--dir", "/var", "--symlink", "../tmp", "/var/tmp",
		"--perms", "0755", "--dir", "/run")
	return nil
}

func isDir(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.IsDir()
}

// choose finds the strongest way of starting bubblewrap that this machine allows, by running a command in each.
func (b *bwrap) choose(ctx context.Context) error {
	kinds := []string{IsolationBwrap}
	if b.seccomp != nil {
		kinds = append(kinds, IsolationBwrapSeccomp)
		if b.root {
			if p, err := exec.LookPath("setpriv"); err == nil {
				b.setpriv = p
				kinds = append(kinds, IsolationBwrapRoot)
			}
		}
	}
	var first error
	for _, kind := range kinds {
		b.kind = kind
		res, err := b.Run(ctx, Cmd{Argv: []string{"/bin/sh", "-c", "exit 0"}})
		if err == nil && res.Exit == 0 && res.Ended == LimitNone {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("trying sandbox: %w", ctx.Err())
		}
		if err == nil {
			err = fmt.Errorf("bubblewrap cannot make a sandbox here: %s", firstLine(res.Stderr.Data))
		}
		if first == nil {
			first = err
		}
	}
	return unavailable(first)
}

// userNamespaces is the advice where nothing tells what it is that refuses.
const userNamespaces = "let this user make user namespaces ('unshare --user true' must work), or run tare as root"

// unavailable turns a failed trial into advice.
func unavailable(err error) error {
	u := &Unavailable{Reason: err.Error(), Mend: userNamespaces}
	switch {
	case sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1":
		u.Mend = "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (or give /usr/bin/bwrap an AppArmor profile that allows userns)"
	case sysctl("kernel/unprivileged_userns_clone") == "0":
		u.Mend = "sysctl -w kernel.unprivileged_userns_clone=1"
	case sysctl("user/max_user_namespaces") == "0":
		u.Mend = "sysctl -w user.max_user_namespaces=15000"
	case inContainer():
		u.Mend = "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined"
	}
	return u
}

func sysctl(name string) string {
	data, _ := os.ReadFile("/proc/sys/" + name)
	return strings.TrimSpace(string(data))
}

func inContainer() bool {
	for _, p := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(p); err == nil {
			return true
		}
	}
	return false
}

// setupTries is how often a sandbox is made for a command that has not been let go yet.
const setupTries = 3

func (b *bwrap) Isolation() string { return b.kind }

func (b *bwrap) Close() error {
	b.residents.close()
	b.groups.close()
	return b.state.Close()
}

func (b *bwrap) Run(ctx context.Context, cmd Cmd) (Result, error) {
	if ctx.Err() != nil {
		return Result{Exit: -1, Ended: LimitCancelled, Isolation: b.kind, Extra: make([]Bytes, len(cmd.Extra))}, nil
	}
	res, err := b.run(ctx, cmd)
	var setup *setupError
	for range setupTries - 1 { // a machine that is short of something for a moment
		if !errors.As(err, &setup) || ctx.Err() != nil {
			break
		}
		res, err = b.run(ctx, cmd)
	}
	res.Isolation = b.kind
	if err != nil {
		return res, fmt.Errorf("running in sandbox: %w", err)
	}
	return res, nil
}

func (b *bwrap) run(ctx context.Context, cmd Cmd) (Result, error) {
	if err := cmd.check(); err != nil {
		return Result{}, err
	}
	mounts, err := b.mountArgs(cmd)
	if err != nil {
		return Result{}, err
	}
	if res, done, err := b.runWarm(ctx, cmd, mounts); done {
		return res, err
	}
	r, err := newRun(cmd, b.uid, b.gid)
	if err != nil {
		return Result{}, err
	}
	if r.group, err = b.groups.make(r.limits.Memory); err != nil {
		r.drop()
		return Result{}, &setupError{err}
	}
	t := &bwrapTree{group: r.group}
	c, closeFiles, err := b.command(r, t, mounts)
	if err == nil {
		err = start(c)
	}
	if closeFiles != nil {
		closeFiles()
	}
	if err != nil {
		r.drop()
		t.close()
		return Result{}, fmt.Errorf("starting bubblewrap: %w", err)
	}
	t.bwrap = c.Process
	return r.supervise(ctx, waitFor(c), t)
}

// mountArgs checks the mounts of a command and turns them into options.
func (b *bwrap) mountArgs(cmd Cmd) ([]string, error) {
	var a []string
	for _, m := range cmd.Mounts {
		host, err := b.resolveMount(m)
		if err != nil {
			return nil, err
		}
		option := "--ro-bind"
		if m.Writable {
			option = "--bind"
		}
		a = append(a, parentArgs(m.Guest)...)
		a = append(a, option, host, m.Guest)
	}
	if hasPort(cmd.Forwards) {
		bridge, err := b.bridge()
		if err != nil {
			return nil, err
		}
		a = append(a, "--perms", "0755", "--dir", "/run/tare", "--ro-bind", bridge, insideBridge)
	}
	for i, f := range cmd.Forwards {
		if err := b.giveSocket(f.Socket); err != nil {
			return nil, err
		}
		at := f.Path
		if at == "" {
			at = insideSocket(i)
		} else {
			a = append(a, parentArgs(at)...)
		}
		a = append(a, "--ro-bind", f.Socket, at)
	}
	return a, nil
}

func hasPort(list []Forward) bool {
	return slices.ContainsFunc(list, func(f Forward) bool { return f.Port != 0 })
}

// parentArgs makes the directories above a mount point, passable for a payload that is not who makes them. Those that the
// system or another mount brings along are left as they are.
func parentArgs(guest string) []string {
	var a []string
	for dir := filepath.Dir(guest); dir != "/"; dir = filepath.Dir(dir) {
		a = append([]string{"--perms", "0755", "--dir", dir}, a...)
	}
	return a
}

func insideSocket(i int) string { return fmt.Sprintf("/run/tare/%d.sock", i) }

// command makes the call of bubblewrap. Its options travel in a file, because pid 1 of a sandbox shows its command line
// and environment to all.
func (b *bwrap) command(r *run, t *bwrapTree, mounts []string) (*exec.Cmd, func(), error) {
	c := &exec.Cmd{Path: b.program, Env: []string{}, Dir: "/"}
	closeStdin, err := r.stdio(c)
	if err != nil {
		return nil, nil, err
	}
	var files []*os.File
	closeFiles := func() {
		closeStdin()
		for _, f := range files {
			f.Close()
		}
	}
	pass := func(f *os.File) string {
		c.ExtraFiles = append(c.ExtraFiles, f)
		files = append(files, f)
		return strconv.Itoa(2 + len(c.ExtraFiles))
	}
	statusRead, statusWrite, err := os.Pipe()
	if err != nil {
		return nil, closeFiles, err
	}
	t.status = statusRead
	goRead, goWrite, err := os.Pipe()
	if err != nil {
		statusWrite.Close()
		return nil, closeFiles, err
	}
	t.gate = goWrite

	args := b.namespaceArgs()
	args = append(args, "--json-status-fd", pass(statusWrite), "--block-fd", pass(goRead))
	if b.seccomp != nil {
		f, err := memfile("seccomp", b.seccomp)
		if err != nil {
			return nil, closeFiles, err
		}
		args = append(args, "--seccomp", pass(f))
	}
	args = slices.Concat(args, b.worldArgs(mounts), environmentArgs(r.cmd))
	f, err := memfile("args", []byte(strings.Join(args, "\x00")+"\x00"))
	if err != nil {
		return nil, closeFiles, err
	}
	c.Args = append([]string{"bwrap", "--args", pass(f), "--"}, b.payload(r)...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if b.root && b.kind != IsolationBwrapRoot {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.gid)}
	}
	return c, closeFiles, nil
}

// worldArgs makes the file system that the command finds.
func (b *bwrap) worldArgs(mounts []string) []string {
	return slices.Concat(b.baseArgs(), b.ownArgs(mounts))
}

// baseArgs make the part of it that is the same for all commands.
func (b *bwrap) baseArgs() []string { return slices.Concat(b.systemArgs, b.homeArgs()) }

// ownArgs add what is the command's own.
func (b *bwrap) ownArgs(mounts []string) []string {
	return append(slices.Clone(mounts), "--remount-ro", "/")
}

// environmentArgs are the environment of the command and where it starts.
func environmentArgs(cmd Cmd) []string {
	a := []string{"--clearenv"}
	for _, kv := range environment(cmd.Env, insideHome, insideTmp) {
		k, v, _ := strings.Cut(kv, "=")
		a = append(a, "--setenv", k, v)
	}
	return append(a, "--chdir", startDir(cmd))
}

func startDir(cmd Cmd) string { return cmp.Or(cmd.Dir, insideHome) }

// namespaceArgs says which namespaces are made. IPC, pid, network and mount namespaces are never optional.
func (b *bwrap) namespaceArgs() []string {
	a := []string{
		"--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--hostname", "sandbox", "--die-with-parent", "--new-session", "--as-pid-1",
	}
	if b.kind == IsolationBwrapRoot {
		// what setpriv needs to drop all, and to enter a directory that is the payload's
		a = append(a, "--cap-drop", "ALL")
		for _, c := range []string{"CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_DAC_READ_SEARCH"} {
			a = append(a, "--cap-add", c)
		}
		return a
	}
	a = append(a, "--unshare-user", "--uid", strconv.Itoa(insideID), "--gid", strconv.Itoa(insideID))
	if b.kind == IsolationBwrap {
		a = append(a, "--disable-userns")
	}
	return a
}

// homeArgs makes HOME. Without a user namespace the payload is another than who makes it, hence the sticky mode.
func (b *bwrap) homeArgs() []string {
	mode := "0700"
	if b.kind == IsolationBwrapRoot {
		mode = "1777"
	}
	return []string{"--perms", mode, "--size", strconv.Itoa(homeSize), "--tmpfs", insideHome}
}

// payload is what pid 1 runs: the script that sets limits, with the bridge before the command when ports are forwarded.
func (b *bwrap) payload(r *run) []string {
	processes := r.limits.Processes + slack
	if b.kind == IsolationBwrapRoot || !countsPerNamespace() {
		processes += tasksOf(b.uid) + others // the count is of the uid on the whole machine
	}
	limits := limitScript(r.limits, b.processes, processes)
	var a []string
	if b.kind == IsolationBwrapRoot {
		a = append(a, b.setpriv, "--reuid", strconv.Itoa(b.uid), "--regid", strconv.Itoa(b.gid), "--clear-groups",
			"--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs")
	}
	a = append(a, "/bin/sh", "-c", fmt.Sprintf(runScript, limits), "sh")
	if hasPort(r.cmd.Forwards) {
		a = append(a, insideBridge, "-extra", strconv.Itoa(len(r.cmd.Extra)))
		for i, f := range r.cmd.Forwards {
			if f.Port != 0 {
				a = append(a, "-forward", fmt.Sprintf("%d=%s", f.Port, insideSocket(i)))
			}
		}
		a = append(a, "--")
	}
	return append(a, r.cmd.Argv...)
}

// countsPerNamespace reports whether RLIMIT_NPROC counts within a user namespace, as it does from Linux 5.14.
func countsPerNamespace() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 5 || major == 5 && minor >= 14
}
