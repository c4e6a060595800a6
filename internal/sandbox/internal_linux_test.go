package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openHere opens the bubblewrap backend itself, in a state root of the test.
func openHere(t *testing.T) *bwrap {
	t.Helper()
	root, err := os.MkdirTemp(TempDir(), "tare-internal-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if err := os.Chmod(root, 0o711); err != nil {
		t.Fatal(err)
	}
	sb, err := Open(context.Background(), Options{StateRoot: filepath.Join(root, "state")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sb.Close() })
	return sb.(*bwrap)
}

// TestMask shows that a tare installed into a directory that is shown inside can be neither run nor read there.
func TestMask(t *testing.T) {
	b := openHere(t)
	probe := Cmd{Argv: []string{"/bin/sh", "-c", "/usr/bin/env true && echo ran; head -c 4 /usr/bin/env | wc -c"}}
	res, err := b.Run(t.Context(), probe)
	if err != nil || string(res.Stdout.Data) != "ran\n4\n" {
		t.Fatalf("before: %q, %v", res.Stdout.Data, err)
	}
	b.mask = "/usr/bin/env" // as if it were the running program
	if err := os.RemoveAll(b.etc); err != nil {
		t.Fatal(err)
	}
	if err := b.prepare(); err != nil {
		t.Fatal(err)
	}
	res, err = b.Run(t.Context(), probe)
	if err != nil || string(res.Stdout.Data) != "0\n" {
		t.Errorf("masked: %q, %v", res.Stdout.Data, err)
	}
}

func TestUnavailable(t *testing.T) {
	b := openHere(t)
	b.program = "/bin/false"
	var u *Unavailable
	if err := b.choose(t.Context()); !errors.As(err, &u) || u.Reason == "" || u.Mend == "" {
		t.Errorf("a bubblewrap that does not work: %v", err)
	}
	if _, err := Open(t.Context(), Options{Backend: "chroot"}); err == nil || errors.As(err, &u) {
		t.Errorf("an unknown backend: %v", err)
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{StateRoot: root}); !errors.As(err, &u) || !strings.Contains(u.Reason, root) {
		t.Errorf("a state root that others can write: %v", err)
	}
}

func TestUnreachableStateRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs payloads as another user")
	}
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	var u *Unavailable
	if _, err := Open(t.Context(), Options{StateRoot: filepath.Join(closed, "state")}); !errors.As(err, &u) || !strings.Contains(u.Reason, closed) {
		t.Errorf("got %v", err)
	}
}

// TestBrokenIsAnError shows that a sandbox which fails is told apart from a command that does.
func TestBrokenIsAnError(t *testing.T) {
	b := openHere(t)
	b.systemArgs = append(b.systemArgs, "--no-such-option")
	res, err := b.Run(t.Context(), Cmd{Argv: []string{"/bin/true"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-option") {
		t.Errorf("error %v, result %+v", err, res)
	}
}

// TestLockIsOneFile has many take and give back one lock, by removing its file: never do two hold it, and nothing is left.
func TestLockIsOneFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "id.lock")
	var held atomic.Int32
	var wg sync.WaitGroup
	took := 0
	var mu sync.Mutex
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				f, err := lockFile(name)
				if err != nil {
					continue // somebody else has it
				}
				if held.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				now, err1 := os.Lstat(name)
				mine, err2 := f.Stat()
				if err1 != nil || err2 != nil || !os.SameFile(now, mine) {
					t.Error("the lock is of a file that nobody else can see")
				}
				held.Add(-1)
				os.Remove(name)
				f.Close()
				mu.Lock()
				took++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || took == 0 {
		t.Errorf("taken %d times; left %v, %v", took, left, err)
	}
}

// TestClosedStateLeavesNothing also shows it of one that could not be opened.
func TestClosedStateLeavesNothing(t *testing.T) {
	root := t.TempDir()
	if os.Geteuid() == 0 {
		root = filepath.Join(TempDir(), fmt.Sprintf("tare-state-test-%d", os.Getpid()))
		t.Cleanup(func() { os.RemoveAll(root) })
	}
	s, err := openState(root, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = &state{}
	if err := s.makeDir(filepath.Join(root, "none")); err == nil || s.Close() != nil {
		t.Errorf("a state below a directory that is not there: %v", err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestSweep(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"s-dead", "s-alive", "s-young", "other"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o711); err != nil {
			t.Fatal(err)
		}
		f, err := lockFile(filepath.Join(root, name, lockName))
		if err != nil {
			t.Fatal(err)
		}
		if name != "s-alive" {
			f.Close()
		} else {
			defer f.Close()
		}
		if name != "s-young" {
			old := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(root, name), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	sweep(root)
	for name, want := range map[string]bool{"s-dead": false, "s-alive": true, "s-young": true, "other": true} {
		if got := isDir(filepath.Join(root, name)); got != want {
			t.Errorf("%s is there: %v, want %v", name, got, want)
		}
	}
}

func TestTranslator(t *testing.T) {
	translate := translator([]Mount{{Host: "/h/$1/w", Guest: "/work"}, {Host: "/h/lib", Guest: "/lib/x"}})
	for in, want := range map[string]string{
		"/work":                    "/h/$1/w",
		"/work/a.py":               "/h/$1/w/a.py",
		"--root=/work":             "--root=/h/$1/w",
		"/work:/work":              "/h/$1/w:/h/$1/w",
		"open('/work/x'), '/work'": "open('/h/$1/w/x'), '/h/$1/w'",
		"/workshop":                "/workshop",
		"/work.py":                 "/work.py",
		"/my/work":                 "/my/work",
		"work":                     "work",
		"/lib/x/y":                 "/h/lib/y",
	} {
		if got := translate(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// Control groups of version 2 are tried on a directory that looks like one: what the kernel does with the files is
// its own affair, which files are written and read is ours.
func TestCgroup2Files(t *testing.T) {
	dir := t.TempDir()
	c := &cgroups{dir: dir, version: 2}
	// the kernel makes these with the directory; here the first make fails because they are missing
	if _, err := c.make(1 << 20); err == nil {
		t.Fatal("a group without memory.max was accepted")
	}
	g := &group{dir: dir, version: 2}
	for name, text := range map[string]string{
		"memory.max": "max\n", "cgroup.procs": "", "memory.peak": "4096\n",
		"memory.events": "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\n",
		"cpu.stat":      "usage_usec 1500\nuser_usec 1000\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.add(4711); err != nil {
		t.Fatal(err)
	}
	if got := g.pids(); len(got) != 1 || got[0] != 4711 {
		t.Errorf("pids %v", got)
	}
	if !g.oomKilled() || g.peak() != 4096 || g.cpu() != 1500*time.Microsecond || g.kind() != "cgroup2" {
		t.Errorf("oom %v, peak %d, cpu %v, kind %s", g.oomKilled(), g.peak(), g.cpu(), g.kind())
	}
}

func TestSweepGroups(t *testing.T) {
	dead := exec.Command("/bin/true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	gone := filepath.Join(dir, fmt.Sprintf("tare-%d-1", dead.Process.Pid))
	young := filepath.Join(dir, fmt.Sprintf("tare-%d-2", dead.Process.Pid)) // may be of a program that cannot be seen
	stays := filepath.Join(dir, fmt.Sprintf("tare-%d-1", os.Getpid()))
	for _, d := range []string{filepath.Join(gone, "7"), young, stays} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * oldGroup)
	for _, d := range []string{gone, stays} {
		if err := os.Chtimes(d, long, long); err != nil {
			t.Fatal(err)
		}
	}
	sweepGroups(dir)
	if isDir(gone) || !isDir(stays) || !isDir(young) {
		t.Errorf("there are: of a dead program %v, of a young one %v, of a living one %v", isDir(gone), isDir(young), isDir(stays))
	}
}

func TestCgroupCandidates(t *testing.T) {
	for name, tt := range map[string]struct {
		mounts, self string
		want         []group
	}{
		"hybrid": {
			"cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0",
			"4:memory:/a/b\n1:cpu:/\n0::/",
			[]group{{"/sys/fs/cgroup/unified", 2}, {"/sys/fs/cgroup/memory/a/b", 1}, {"/sys/fs/cgroup/memory", 1}},
		},
		"systemd session": {
			"cgroup2 /sys/fs/cgroup cgroup2 rw 0 0", "0::/user.slice/user-1.slice/session-1.scope",
			[]group{{"/sys/fs/cgroup/user.slice/user-1.slice", 2}, {"/sys/fs/cgroup/user.slice/user-1.slice/session-1.scope", 2}},
		},
		"none": {"tmpfs / tmpfs rw 0 0", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := candidates(tt.mounts, tt.self)
			if len(got) != len(tt.want) {
				t.Fatalf("got %v, want %v", got, tt.want)
			}
			for i := range got {
				if got[i] != tt.want[i] {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			}
		})
	}
}

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	shim, real := filepath.Join(dir, ".pyenv", "shims"), filepath.Join(dir, "opt", "bin")
	for _, d := range []string{shim, real} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"only-here", "sh"} {
			if err := os.WriteFile(filepath.Join(d, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := filepath.Join(real, "linked")
	if err := os.Symlink("only-here", link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", shim+":relative:"+real)
	want, err := filepath.EvalSymlinks(filepath.Join(real, "only-here"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"only-here", "linked", link} {
		if got, err := Resolve(name); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if got, err := Resolve("sh"); err != nil || below(got, dir) {
		t.Errorf("sh: %q, %v; the system's own comes first", got, err)
	}
	for _, name := range []string{"no-such-program", "./sh"} {
		if got, err := Resolve(name); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestReadProc(t *testing.T) {
	p, err := readProc(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if p.ppid != os.Getppid() || p.threads < 1 || p.start == 0 || p.private <= 0 || !p.alive() {
		t.Errorf("%+v", p)
	}
	if _, err := readProc(1 << 30); err == nil {
		t.Error("a process that cannot be")
	}
	found := false
	for _, q := range subtree(allProcs(), os.Getppid()) {
		found = found || q.pid == os.Getpid()
	}
	if !found {
		t.Error("this process is not among its parent's descendants by table")
	}
	found = false
	for _, q := range descendants(os.Getppid()) {
		found = found || q.pid == os.Getpid()
	}
	if !found {
		t.Error("this process is not among its parent's descendants by lists of children")
	}
}

// TestSetupIsTriedAgain starts a bubblewrap that ends without a word at first.
func TestSetupIsTriedAgain(t *testing.T) {
	sb, err := openBwrap(t.Context(), Options{StateRoot: stateRoot(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	b := sb.(*bwrap)
	dir, err := b.NewDir("t")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "bwrap")
	fails := func(times int) {
		text := fmt.Sprintf("#!/bin/sh\nn=$(cat %[1]s/n 2>/dev/null || echo 0)\necho $((n + 1)) >%[1]s/n\n[ $n -ge %[2]d ] || exit 1\nexec %[3]s \"$@\"\n", dir, times, b.program)
		if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(dir, "n"))
	}
	real := b.program
	for times, ok := range map[int]bool{setupTries - 1: true, setupTries: false} {
		b.program = real
		fails(times)
		b.program = script
		res, err := b.Run(t.Context(), Cmd{Argv: []string{"/bin/echo", "here"}})
		if got := err == nil && string(res.Stdout.Data) == "here\n"; got != ok {
			t.Errorf("after %d failures: %q, %v", times, res.Stdout.Data, err)
		}
	}
}

// TestSandboxesHaveUsersOfTheirOwn opens two side by side, as two programs would.
func TestSandboxesHaveUsersOfTheirOwn(t *testing.T) {
	root := stateRoot(t)
	first, err := openState(root, true)
	if err != nil {
		t.Fatal(err)
	}
	second, err := openState(root, true)
	if err != nil {
		t.Fatal(err)
	}
	if (first.uid != second.uid) != first.root {
		t.Errorf("uids %d and %d, as root: %v", first.uid, second.uid, first.root)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	third, err := openState(root, true)
	if err != nil {
		t.Fatal(err)
	}
	if third.uid != first.uid {
		t.Errorf("uid %d is not given again: %d", first.uid, third.uid)
	}
	for _, s := range []*state{second, third} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// stateRoot is a state root that every user can reach.
func stateRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(TempDir(), "tare-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestKilledFromOutside kills, from outside, each process that a run consists of. Without the command itself, which can do
// the same to itself, there is no result.
func TestKilledFromOutside(t *testing.T) {
	b := openHere(t)
	for _, c := range []struct {
		name   string
		victim int // how far below bubblewrap's own process
		fails  bool
	}{{"bubblewrap", 0, true}, {"pid 1 inside", 1, true}, {"the command", 2, false}} {
		t.Run(c.name, func(t *testing.T) {
			before := map[int]bool{}
			for _, p := range descendants(os.Getpid()) {
				before[p.pid] = true
			}
			var victim proc
			res, err := b.Run(t.Context(), Cmd{
				Argv: []string{"/usr/bin/python3", "-c", "print('ready', flush=True)\nimport time\ntime.sleep(60)"},
				OnOutput: func(int, []byte) {
					for _, p := range descendants(os.Getpid()) {
						if up, err := readProc(p.ppid); p.ppid == os.Getpid() && !before[p.pid] && err == nil && up.pid == os.Getpid() {
							victim = p
						}
					}
					for range c.victim {
						victim = descendants(victim.pid)[1]
					}
					unix.Kill(victim.pid, unix.SIGKILL)
				},
			})
			if c.victim == 1 && !tellsEnds(t) {
				t.Skip("this kernel does not say how pid 1 of a sandbox ended")
			}
			if (err != nil) != c.fails || err == nil && res.Signal != "SIGKILL" || res.Ended != LimitNone {
				t.Errorf("killed %d: error %v, exit %d, signal %q, ended %q", victim.pid, err, res.Exit, res.Signal, res.Ended)
			}
		})
	}
	// a command that ends itself, or says that it was, is not taken for one that was ended
	for _, script := range []string{"kill -9 $$", "exit 137", "kill -9 1; exit 3"} {
		res, err := b.Run(t.Context(), Cmd{Argv: []string{"/bin/sh", "-c", script}})
		if err != nil || res.Exit != 137 && res.Exit != 3 {
			t.Errorf("%s: exit %d, error %v", script, res.Exit, err)
		}
	}
}

// tellsEnds reports whether the kernel says of a process that is gone how it ended.
func tellsEnds(t *testing.T) bool {
	t.Helper()
	c := exec.Command("/bin/sh", "-c", "read x")
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(c.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	stdin.Close()
	c.Wait()
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	return unix.IoctlPidfdInfo(fd, &info) == nil && info.Mask&unix.PIDFD_INFO_EXIT != 0
}

// TestFullDisk shows that a run whose tree lies on a full file system has no result. That of /proc has no room at all.
func TestFullDisk(t *testing.T) {
	for host, full := range map[string]bool{"/proc": true, t.TempDir(): false} {
		for _, writable := range []bool{true, false} {
			r := &run{cmd: Cmd{Mounts: []Mount{{Host: host, Guest: "/srv/w", Writable: writable}}}}
			r.lookAtDisks()
			err := r.spoilt(&processTree{}, Result{})
			if want := full && writable; (err != nil) != want || want && !strings.Contains(err.Error(), "/srv/w") {
				t.Errorf("%s, writable %v: %v", host, writable, err)
			}
		}
	}
}
