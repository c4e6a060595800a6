package soak_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/soak"
)

// The test binary runs itself again in a mount namespace of its own, where it may mount what it likes.
const inNamespace = "TARE_TEST_NAMESPACE"

// again runs one test of this binary in namespaces of its own, and fails t when it fails there.
func again(t *testing.T) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), inNamespace+"=1")
	soak.Apart(c)
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatal(err)
	}
}

// TestLeaksAreNamed leaks one thing of each kind and finds it in the census, and nothing of another kind.
func TestLeaksAreNamed(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		again(t)
		return
	}
	if err := soak.Adopt(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	held := []any{}
	r, w, err := os.Pipe() // with the first one the runtime opens what it polls with
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	r.Close()
	for kind, leak := range map[string]func(t *testing.T) (what string){
		"process": func(t *testing.T) string {
			c := exec.Command("/bin/sh", "-c", "echo up; read x")
			return started(t, c)
		},
		"process, dead, that nobody waited for": func(t *testing.T) string {
			c := exec.Command("/bin/sh", "-c", "exit 0")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			fd, err := unix.PidfdOpen(c.Process.Pid, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Wait() })
			return fmt.Sprintf("pid %d, state Z", c.Process.Pid)
		},
		"process, loose": func(t *testing.T) string {
			c := exec.Command("/bin/sh", "-c", "exec 3<&0; setsid sh -c 'echo up; read x <&3' & wait")
			started(t, c)
			c.Process.Kill()
			c.Process.Wait()
			return "read x <&3"
		},
		"mount": func(t *testing.T) string {
			at := t.TempDir()
			if err := soak.SmallDisk(at, 1<<20); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Unmount(at, 0) })
			return at
		},
		"cgroup": func(t *testing.T) string {
			for _, at := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup"} {
				g, err := os.MkdirTemp(at, fmt.Sprintf("tare-%d-", os.Getpid()))
				if err == nil {
					t.Cleanup(func() { os.Remove(g) })
					return g
				}
			}
			t.Skip("no control group can be made here")
			return ""
		},
		"descriptor": func(t *testing.T) string {
			f, err := os.Open(os.Args[0])
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return os.Args[0]
		},
		"descriptor, of a pipe": func(t *testing.T) string {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.Close(); w.Close() })
			return "pipe (2 times)"
		},
		"file": func(t *testing.T) string {
			name := filepath.Join(dir, "left.txt")
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Remove(name) })
			return name
		},
		"goroutine": func(t *testing.T) string {
			stop := make(chan struct{})
			go func() { <-stop }()
			t.Cleanup(func() { close(stop) })
			return "TestLeaksAreNamed"
		},
		"memory": func(t *testing.T) string {
			block := make([]byte, 32<<20)
			for i := range block {
				block[i] = 1
			}
			held = append(held, block)
			t.Cleanup(func() { held = nil })
			return "MiB more than"
		},
	} {
		t.Run(kind, func(t *testing.T) {
			before, err := soak.Take(dir)
			if err != nil {
				t.Fatal(err)
			}
			what := leak(t)
			now, err := soak.Take(dir)
			if err != nil {
				t.Fatal(err)
			}
			kind, _, _ := strings.Cut(kind, ",")
			found := false
			for _, l := range now.Since(before, 16<<20) {
				switch {
				case l.Kind == kind && strings.Contains(l.String(), what):
					found = true
				case kind == "process" && (l.Kind == "descriptor" || l.Kind == "goroutine"): // what it was started with
				default:
					t.Errorf("named without reason: %s", l)
				}
			}
			if !found {
				t.Errorf("%q is not named in %v", what, now.Since(before, 16<<20))
			}
		})
	}
	if len(held) > 0 {
		t.Error("the memory is still held")
	}
}

// started starts c, waits for its first line and says by what its process is known. It ends with the test.
func started(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		for _, pid := range soak.Descendants() {
			unix.Kill(pid, unix.SIGKILL)
		}
		for {
			if _, err := unix.Wait4(-1, nil, 0, nil); err == unix.ECHILD {
				return
			}
		}
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("pid %d", c.Process.Pid)
}

// TestKillingKillsOnlyOurs shows that victims are processes below this one, and that each is noted.
func TestKillingKillsOnlyOurs(t *testing.T) {
	c := exec.Command("/bin/sh", "-c", "sh -c 'read y'; read x")
	if _, err := c.StdinPipe(); err != nil { // never a line; Wait closes it, and so ends whoever was not killed
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var log soak.Log
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int)
	began := time.Now()
	go func() { done <- soak.Killing(ctx, &log, rand.New(rand.NewPCG(1, 2)), 5*time.Millisecond) }()
	c.Wait()
	cancel()
	n := <-done
	if ws := c.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || n == 0 || log.Times(soak.Kill) < n {
		t.Errorf("killed %d, noted %d, %v", n, log.Times(soak.Kill), c.ProcessState)
	}
	if met := log.Met(began, time.Now()); !slices.Equal(met, []soak.Hazard{soak.Kill}) {
		t.Errorf("met %v", met)
	}
	if met := log.Met(began.Add(-time.Hour), began.Add(-time.Minute)); len(met) != 0 {
		t.Errorf("before it began: met %v", met)
	}
}

// TestFillingLeavesNoRoom shows that nobody else can write while a file system is full, and everybody before and after.
func TestFillingLeavesNoRoom(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		again(t)
		return
	}
	dir := t.TempDir()
	if err := soak.SmallDisk(dir, 8<<20); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, 0)
	write := func() error { return os.WriteFile(filepath.Join(dir, "other"), make([]byte, 64<<10), 0o600) }
	if err := write(); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(dir, "other"))
	var log soak.Log
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := soak.Filling(ctx, &log, dir, time.Hour, 0)
		done <- err
	}()
	for deadline := time.Now().Add(20 * time.Second); write() == nil; {
		if time.Now().After(deadline) {
			t.Fatal("there is still room")
		}
	}
	cancel()
	if err := <-done; err != nil || log.Times(soak.Full) != 1 {
		t.Errorf("filled %d times, %v", log.Times(soak.Full), err)
	}
	if err := write(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestClockJumps(t *testing.T) {
	var c soak.JumpingClock
	r := rand.New(rand.NewPCG(1, 2))
	back, forth := false, false
	for range 20 {
		before := c.Now()
		c.Jump(r)
		d := c.Now().Sub(before)
		back, forth = back || d < -time.Hour, forth || d > time.Hour
	}
	if !back || !forth {
		t.Errorf("jumped back %v, forth %v", back, forth)
	}
}
