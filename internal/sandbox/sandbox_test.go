package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tare/internal/sandbox"
	"tare/internal/sandbox/sandboxtest"
)

// The test binary runs itself again as another kind of caller; the environment says which.
const (
	envCaller = "TARE_TEST_CALLER"
	envState  = "TARE_TEST_STATE"
	envBridge = "TARE_TEST_BRIDGE"

	callerUser     = "user"      // unprivileged
	callerNoUserns = "no-userns" // root on a machine without user namespaces
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
		dir, err := os.MkdirTemp("/var/tmp", "tare-sandbox-test-")
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
