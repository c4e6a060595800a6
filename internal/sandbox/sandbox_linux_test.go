package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/sandbox"
	"tare/internal/sandbox/sandboxtest"
)

// The test binary runs itself again as another kind of caller; the environment says which.
const (
	envCaller = "TARE_TEST_CALLER"
	envState  = "TARE_TEST_STATE"
	envBridge = "TARE_TEST_BRIDGE"
	envMarker = "TARE_TEST_MARKER"

	callerUser     = "user"      // unprivileged
	callerNoUserns = "no-userns" // root on a machine without user namespaces
	callerVictim   = "victim"    // one that gets killed
)

func TestMain(m *testing.M) {
	code, err := testMain(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func testMain(m *testing.M) (int, error) {
	if os.Getenv(envCaller) == callerNoUserns {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			return 0, fmt.Errorf("turning user namespaces off: %w", err)
		}
	}
	if os.Getenv(envState) == "" {
		dir, err := os.MkdirTemp(sandbox.TempDir(), "tare-sandbox-test-")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		if err := os.Chmod(dir, 0o711); err != nil {
			return 0, err
		}
		bridge := filepath.Join(dir, "tare-bridge")
		build := exec.Command("go", "build", "-o", bridge, "tare/cmd/tare-bridge")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("building bridge: %w\n%s", err, out)
		}
		os.Setenv(envState, dir)
		os.Setenv(envBridge, bridge)
	}
	return m.Run(), nil
}

func open(backend string) func(t *testing.T) sandbox.Sandbox {
	return func(t *testing.T) sandbox.Sandbox {
		t.Helper()
		sb, err := sandbox.Open(context.Background(), options(backend))
		if err != nil {
			t.Fatal(err)
		}
		return sb
	}
}

func options(backend string) sandbox.Options {
	return sandbox.Options{
		Backend:   backend,
		StateRoot: filepath.Join(os.Getenv(envState), "state-"+os.Getenv(envCaller)),
		Bridge:    os.Getenv(envBridge),
	}
}

func TestBwrap(t *testing.T) {
	kind := sandbox.IsolationBwrap
	if os.Getenv(envCaller) == callerNoUserns {
		kind = sandbox.IsolationBwrapRoot
	}
	sandboxtest.Run(t, open("bwrap"), sandboxtest.Caps{Isolation: kind, Isolated: true, Forwards: true})
}

func TestProcess(t *testing.T) {
	sandboxtest.Run(t, open("process"), sandboxtest.Caps{Isolation: sandbox.IsolationProcess, Forwards: true})
}

// TestWithoutCgroups runs both backends as on a machine where no control group can be made.
func TestWithoutCgroups(t *testing.T) {
	for backend, caps := range map[string]sandboxtest.Caps{
		"bwrap":   {Isolation: sandbox.IsolationBwrap, Isolated: true, Forwards: true},
		"process": {Isolation: sandbox.IsolationProcess, Forwards: true},
	} {
		t.Run(backend, func(t *testing.T) {
			if os.Getenv(envCaller) != "" {
				t.Skip("other callers have none anyway")
			}
			sandboxtest.Run(t, func(t *testing.T) sandbox.Sandbox {
				sb := open(backend)(t)
				sandbox.WithoutCgroups(sb)
				return sb
			}, caps)
		})
	}
}

// TestSecondBest forces the ways that are for other machines, on one that would allow new user namespaces: there only the
// seccomp filter refuses them.
func TestSecondBest(t *testing.T) {
	kinds := []string{sandbox.IsolationBwrapSeccomp}
	if os.Geteuid() == 0 {
		kinds = append(kinds, sandbox.IsolationBwrapRoot)
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			sandboxtest.Run(t, func(t *testing.T) sandbox.Sandbox {
				sb := open("bwrap")(t)
				sandbox.ForceKind(sb, kind)
				return sb
			}, sandboxtest.Caps{Isolation: kind, Isolated: true, Forwards: true})
		})
	}
}

// again runs tests of this binary as another caller.
func again(t *testing.T, caller, tests string, attr *syscall.SysProcAttr) {
	t.Helper()
	if os.Geteuid() != 0 || os.Getenv(envCaller) != "" {
		t.Skip("only root can be another")
	}
	binary := copyTo(t, os.Args[0], filepath.Join(os.Getenv(envState), "test-"+caller))
	state := filepath.Join(os.Getenv(envState), "state-"+caller)
	if err := os.MkdirAll(state, 0o711); err != nil {
		t.Fatal(err)
	}
	if c := attr.Credential; c != nil {
		if err := os.Chown(state, int(c.Uid), int(c.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-test.run", "^" + tests + "$", "-test.v"}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = state
	cmd.Env = []string{
		"PATH=/usr/local/go/bin:/usr/bin:/bin", "HOME=/nonexistent",
		envCaller + "=" + caller, envState + "=" + os.Getenv(envState), envBridge + "=" + os.Getenv(envBridge),
	}
	cmd.SysProcAttr = attr
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil || !strings.Contains(out.String(), "--- PASS: "+tests) {
		t.Errorf("as %s: %v\n%s", caller, err, failures(out.String()))
	}
}

// failures leaves out what went well.
func failures(log string) string {
	var keep []string
	for line := range strings.Lines(log) {
		if !strings.Contains(line, "=== ") && !strings.Contains(line, "--- PASS") && !strings.Contains(line, "isolation ") {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "")
}

func copyTo(t *testing.T, from, to string) string {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o711)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Chmod(0o711); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(to) })
	return to
}

func unprivileged() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 64999, Gid: 64999}}
}

func TestBwrapUnprivileged(t *testing.T)   { again(t, callerUser, "TestBwrap", unprivileged()) }
func TestWarmUnprivileged(t *testing.T)    { again(t, callerUser, "TestBwrapWarm", unprivileged()) }
func TestProcessUnprivileged(t *testing.T) { again(t, callerUser, "TestProcess", unprivileged()) }

// TestBwrapRootWithoutUserns is root in a user namespace in which there may be no further one.
func TestBwrapRootWithoutUserns(t *testing.T) {
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 65536}}
	again(t, callerNoUserns, "TestBwrap", &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true,
		Credential: &syscall.Credential{Uid: 0, Gid: 0},
	})
}

// TestDoctor tries the machine that the tests run on, which has all that is needed.
func TestDoctor(t *testing.T) {
	list := sandbox.Doctor(t.Context(), options(""))
	names := map[string]bool{}
	for _, f := range list {
		names[f.Name] = true
		if !f.OK || f.Detail == "" || f.Mend != "" {
			t.Errorf("%+v", f)
		}
	}
	for _, want := range []string{"bubblewrap", "sandbox", "state root", "memory limit", "warm start", "network refused", "kernel settings refused", "python3", "pytest", "gcc", "git"} {
		if !names[want] {
			t.Errorf("%s was not tried", want)
		}
	}
}

// TestDoctorSaysWhatIsMissing looks at a machine whose state root is no good: it says so, and goes on to
// what can be looked at all the same.
func TestDoctorSaysWhatIsMissing(t *testing.T) {
	o := options("")
	o.StateRoot = t.TempDir()
	if err := os.Chmod(o.StateRoot, 0o777); err != nil {
		t.Fatal(err)
	}
	list := sandbox.Doctor(t.Context(), o)
	names := map[string]sandbox.Finding{}
	for _, f := range list {
		names[f.Name] = f
	}
	if f := names["sandbox"]; f.OK || f.Mend == "" || !strings.Contains(f.Detail, o.StateRoot) {
		t.Errorf("%+v", f)
	}
	for _, want := range []string{"python3", "pytest", "gcc", "git"} {
		if f := names[want]; f.Detail == "" {
			t.Errorf("%s was not looked at", want)
		}
	}
}

// TestDiesWithCaller kills a program in the middle of a run: what it ran must die with it.
func TestDiesWithCaller(t *testing.T) {
	marker := os.Getenv(envMarker)
	if os.Getenv(envCaller) == callerVictim {
		sb := open("bwrap")(t)
		sb.Run(t.Context(), sandbox.Cmd{
			Argv:     []string{"/bin/sh", "-c", "setsid sleep 1000 & echo ready; sleep 1000", marker},
			OnOutput: func(int, []byte) { fmt.Println(marker, "ready") },
		})
		return
	}
	marker = fmt.Sprintf("mark-dies-with-%d", os.Getpid())
	victim := exec.Command(os.Args[0], "-test.run", "^TestDiesWithCaller$")
	victim.Env = append(os.Environ(), envCaller+"="+callerVictim, envMarker+"="+marker)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	for scan := bufio.NewScanner(out); ; {
		if !scan.Scan() {
			t.Fatal("the victim ended too soon")
		}
		if strings.Contains(scan.Text(), marker+" ready") {
			break
		}
	}
	// pid 1 of the sandbox has the marker on its command line, and the namespace is empty when it is gone
	fds := processesWith(t, marker)
	if len(fds) == 0 {
		t.Fatal("nothing to kill")
	}
	victim.Process.Kill()
	victim.Wait()
	for _, fd := range fds {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, 30_000); n != 1 {
			t.Errorf("a process outlived its caller by 30 s (%v)", err)
			unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		unix.Close(fd)
	}
}

// processesWith opens the processes that have marker among their arguments.
func processesWith(t *testing.T, marker string) (fds []int) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		line, _ := os.ReadFile(name)
		if !bytes.Contains(line, []byte(marker)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			t.Fatal(err)
		}
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			fds = append(fds, fd)
		}
	}
	return fds
}

// TestUserSharedWithOthers has another program, which keeps its state elsewhere as one in another container does, run under
// the uid of ours after the limits of ours are set. Where the kernel counts the processes of a uid on the whole machine, theirs must
// not use up what ours may have.
func TestUserSharedWithOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("without root every sandbox counts in a namespace of its own")
	}
	pair := make([]sandbox.Sandbox, 2)
	for i := range pair {
		o := options("bwrap")
		o.StateRoot = filepath.Join(os.Getenv(envState), fmt.Sprintf("apart-%d", i))
		sb, err := sandbox.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer sb.Close()
		sandbox.ForceKind(sb, sandbox.IsolationBwrapRoot)
		pair[i] = sb
	}
	a, _ := pair[0].Owner()
	if b, _ := pair[1].Owner(); a != b {
		t.Fatalf("the uids are %d and %d: nothing is tested", a, b)
	}
	var signs [2]string
	for i := range signs {
		var err error
		if signs[i], err = pair[i].NewDir("signs"); err != nil {
			t.Fatal(err)
		}
	}
	mounts := func(i int) []sandbox.Mount {
		return []sandbox.Mount{{Host: signs[i], Guest: "/mine", Writable: true}, {Host: signs[1-i], Guest: "/other"}}
	}
	crowd, over := context.WithCancel(t.Context())
	gone := make(chan struct{})
	defer func() { over(); <-gone }()
	go func() {
		defer close(gone)
		res, err := pair[1].Run(crowd, sandbox.Cmd{
			Argv: []string{"/bin/sh", "-c", `until [ -e /other/started ]; do sleep 0.01; done
for i in $(seq 100); do sleep 1000 & done; : >/mine/crowded; wait`},
			Mounts: mounts(1),
			Limits: sandbox.Limits{Wall: time.Minute},
		})
		if err != nil || res.Ended != sandbox.LimitCancelled {
			t.Errorf("the crowd: %v, exit %d, ended by %q: %s", err, res.Exit, res.Ended, res.Stderr.Data)
		}
	}()
	res, err := pair[0].Run(t.Context(), sandbox.Cmd{
		Argv: []string{"/usr/bin/python3", "-c", `import os, threading, time
open("/mine/started", "w").close() # the limits are set
while not os.path.exists("/other/crowded"): time.sleep(0.01)
e = threading.Event()
for i in range(15): threading.Thread(target=e.wait, daemon=True).start()
print("all started")`},
		Mounts: mounts(0),
		Limits: sandbox.Limits{Processes: 30, Wall: time.Minute},
	})
	if err != nil || res.Exit != 0 || string(res.Stdout.Data) != "all started\n" {
		t.Errorf("exit %d, %v, ended by %q\n%s%s", res.Exit, err, res.Ended, res.Stdout.Data, res.Stderr.Data)
	}
}
