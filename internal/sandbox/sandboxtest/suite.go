// Package sandboxtest is the conformance suite of the sandbox: every backend runs it, on every kind of machine that it
// claims to work on. An escape is always really tried, from inside. A backend that does not isolate must say so, and the
// same attempts must then succeed where the host would let them, so that each attempt is known to be a real one.
package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/sandbox"
)

// Caps say what a backend claims.
type Caps struct {
	Isolation string // what Isolation must return
	Isolated  bool   // escapes must fail; otherwise they must be possible, and reported so by Isolation
	Forwards  bool   // forwards can be tried
}

// Python is the interpreter that the probes run in.
const Python = "/usr/bin/python3"

// generous bounds what a test waits for on a busy machine.
const generous = 60 * time.Second

// A suite is one run of the suite over one open sandbox.
type suite struct {
	sb   sandbox.Sandbox
	caps Caps
}

// Run runs the suite. open is called once, and once more for the cases that close what they opened.
func Run(t *testing.T, open func(t *testing.T) sandbox.Sandbox, caps Caps) {
	sb := open(t)
	t.Cleanup(func() {
		if err := sb.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		if _, err := os.Stat(sb.StateDir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("Close left %s behind (%v)", sb.StateDir(), err)
		}
	})
	s := &suite{sb: sb, caps: caps}
	if got := sb.Isolation(); got != caps.Isolation {
		t.Fatalf("Isolation is %q, want %q", got, caps.Isolation)
	}
	for _, group := range []struct {
		name string
		run  func(*suite, *testing.T)
	}{
		{"basics", (*suite).basics},
		{"limits", (*suite).limits},
		{"hostile", (*suite).hostile},
		{"escapes", (*suite).escapes},
		{"environment", (*suite).environment},
		{"mounts", (*suite).mounts},
		{"forwards", (*suite).forwards},
		{"nothing left", func(_ *suite, t *testing.T) { leftovers(t, open) }},
	} {
		t.Run(group.name, func(t *testing.T) { group.run(s, t) })
	}
}

// run runs cmd and fails the test when the sandbox fails.
func (s *suite) run(t *testing.T, cmd sandbox.Cmd) sandbox.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), generous)
	defer cancel()
	res, err := s.sb.Run(ctx, cmd)
	if err != nil {
		t.Fatalf("running %.80q: %v", cmd.Argv, err)
	}
	if res.Isolation != s.caps.Isolation {
		t.Errorf("a result says isolation %q, want %q", res.Isolation, s.caps.Isolation)
	}
	return res
}

func sh(script string, args ...string) []string {
	return append([]string{"/bin/sh", "-c", script, "sh"}, args...)
}

func python(script string, args ...string) []string {
	return append([]string{Python, "-I", "-S", "-c", script}, args...)
}

// expect compares how a command ended.
func expect(t *testing.T, res sandbox.Result, exit int, ended sandbox.Limit) {
	t.Helper()
	if res.Exit != exit || res.Ended != ended {
		t.Fatalf("exit %d (%s), ended by %q, want exit %d, ended by %q\nstdout %.500q\nstderr %.500q",
			res.Exit, res.Signal, res.Ended, exit, ended, res.Stdout.Data, res.Stderr.Data)
	}
}

// dir makes a workspace.
func (s *suite) dir(t *testing.T) string {
	t.Helper()
	dir, err := s.sb.NewDir("w")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// give makes a file in a workspace, owned by whom payloads run as.
func (s *suite) give(t *testing.T, name string, data string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	uid, gid := s.sb.Owner()
	if err := os.Chown(name, uid, gid); err != nil {
		t.Fatal(err)
	}
}

// running finds the live processes of this machine that have marker among their arguments. It ends them, so that a sandbox
// that leaves a fork bomb behind fails one test and does not spoil the machine.
func running(t *testing.T, marker string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if bytes.Contains(line, []byte(marker)) {
			pids = append(pids, pid)
			syscall.Kill(pid, syscall.SIGSTOP)
		}
	}
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	return pids
}

// mark makes a string that no other test puts on a command line.
func mark(t *testing.T) string {
	return fmt.Sprintf("mark-%d-%s", os.Getpid(), strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' {
			return '-'
		}
		return r
	}, t.Name()))
}

func (s *suite) basics(t *testing.T) {
	t.Run("status, streams and descriptors", func(t *testing.T) {
		res := s.run(t, sandbox.Cmd{
			Argv:  sh(`cat; echo out; echo err >&2; echo three >&3; printf four >&4; exit 7`),
			Stdin: []byte("in\x00\xff\n"),
			Extra: []sandbox.Extra{{Name: "a", Max: 100}, {Name: "b"}},
		})
		expect(t, res, 7, sandbox.LimitNone)
		for _, b := range []struct {
			name, want string
			got        sandbox.Bytes
		}{
			{"stdout", "in\x00\xff\nout\n", res.Stdout}, {"stderr", "err\n", res.Stderr},
			{"descriptor 3", "three\n", res.Extra[0]}, {"descriptor 4", "four", res.Extra[1]},
		} {
			if string(b.got.Data) != b.want || b.got.Total != int64(len(b.want)) || b.got.Truncated {
				t.Errorf("%s is %q (total %d, truncated %v), want %q", b.name, b.got.Data, b.got.Total, b.got.Truncated, b.want)
			}
		}
	})
	t.Run("all extra descriptors", func(t *testing.T) {
		res := s.run(t, sandbox.Cmd{
			Argv:  sh(`for fd in 3 4 5 6 7 8; do eval "echo $fd >&$fd"; done; echo leak 2>/dev/null >&9; exit 0`),
			Extra: make([]sandbox.Extra, sandbox.MaxExtra),
		})
		for i, b := range res.Extra {
			if want := fmt.Sprintln(i + 3); string(b.Data) != want {
				t.Errorf("descriptor %d: %q, want %q", i+3, b.Data, want)
			}
		}
		if res.Stderr.Total != 0 {
			t.Errorf("descriptor 9 leads to stderr: %q", res.Stderr.Data)
		}
	})
	t.Run("no other descriptors", func(t *testing.T) {
		// as when a shell starts this program with a file open: a descriptor that does not close on exec, with a number
		// beyond those that the sandbox itself hands to its child
		leak, err := unix.FcntlInt(0, unix.F_DUPFD, 100)
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(leak)
		res := s.run(t, sandbox.Cmd{Argv: python(`import os
fds = []
for fd in range(256):
    try: os.fstat(fd); fds.append(fd)
    except OSError: pass
print(fds)`), Extra: make([]sandbox.Extra, 1)})
		if got := string(res.Stdout.Data); got != "[0, 1, 2, 3]\n" {
			t.Errorf("open descriptors: %s", got)
		}
	})
	t.Run("signal", func(t *testing.T) {
		res := s.run(t, sandbox.Cmd{Argv: python(`import os; os.abort()`)})
		if res.Exit != 134 || res.Signal != "SIGABRT" || res.Stderr.Total != 0 {
			t.Errorf("exit %d, signal %q, stderr %q; want 134, SIGABRT and no remark of a shell", res.Exit, res.Signal, res.Stderr.Data)
		}
	})
	t.Run("not found", func(t *testing.T) {
		expect(t, s.run(t, sandbox.Cmd{Argv: []string{"no-such-command"}}), 127, sandbox.LimitNone)
	})
	t.Run("reopened streams", func(t *testing.T) {
		res := s.run(t, sandbox.Cmd{Argv: sh(`cat /dev/stdin > /dev/stdout; echo e > /dev/stderr`), Stdin: []byte("x")})
		if string(res.Stdout.Data) != "x" || string(res.Stderr.Data) != "e\n" {
			t.Errorf("stdout %q, stderr %q", res.Stdout.Data, res.Stderr.Data)
		}
	})
	t.Run("accounts", func(t *testing.T) {
		res := s.run(t, sandbox.Cmd{Argv: python(`
x = 0
for i in range(3000000): x += i`)})
		expect(t, res, 0, sandbox.LimitNone)
		if res.CPU < 30*time.Millisecond || res.CPU > generous || res.Wall <= 0 {
			t.Errorf("CPU %v, wall %v", res.CPU, res.Wall)
		}
		if res.MemoryBy != "none" && res.PeakMemory < 1<<20 {
			t.Errorf("peak memory %d by %s", res.PeakMemory, res.MemoryBy)
		}
	})
	t.Run("live output", func(t *testing.T) {
		var got [3]bytes.Buffer
		res := s.run(t, sandbox.Cmd{
			Argv:     sh(`echo one; echo two >&2; head -c 100000 /dev/zero`),
			Limits:   sandbox.Limits{Output: 1000},
			OnOutput: func(stream int, p []byte) { got[stream].Write(p) },
		})
		if !bytes.Equal(got[1].Bytes(), res.Stdout.Data) || !bytes.Equal(got[2].Bytes(), res.Stderr.Data) {
			t.Errorf("the tee saw %d and %d bytes, the result has %d and %d",
				got[1].Len(), got[2].Len(), len(res.Stdout.Data), len(res.Stderr.Data))
		}
	})
	t.Run("bad commands are errors", func(t *testing.T) {
		for name, cmd := range map[string]sandbox.Cmd{
			"no command":         {},
			"relative directory": {Argv: sh(":"), Dir: "work"},
			"missing directory":  {Argv: sh(":"), Dir: "/no/such/directory"},
			"odd name":           {Argv: sh(":"), Env: map[string]string{"A B": "x"}},
			"zero byte":          {Argv: sh(":", "a\x00b")},
			"too many extras":    {Argv: sh(":"), Extra: make([]sandbox.Extra, sandbox.MaxExtra+1)},
			"relative mount":     {Argv: sh(":"), Mounts: []sandbox.Mount{{Host: "x", Guest: "/x"}}},
			"mount over /proc":   {Argv: sh(":"), Mounts: []sandbox.Mount{{Host: s.dir(t), Guest: "/proc"}}},
			"a port and a path":  {Argv: sh(":"), Forwards: []sandbox.Forward{{Port: 8080, Path: "/run/x", Socket: "/x"}}},
			"neither":            {Argv: sh(":"), Forwards: []sandbox.Forward{{Socket: "/x"}}},
			"unclean path":       {Argv: sh(":"), Forwards: []sandbox.Forward{{Path: "/run/../x", Socket: "/x"}}},
			"low port":           {Argv: sh(":"), Forwards: []sandbox.Forward{{Port: 80, Socket: "/x"}}},
		} {
			if res, err := s.sb.Run(t.Context(), cmd); err == nil {
				t.Errorf("%s: no error, exit %d", name, res.Exit)
			}
		}
	})
	t.Run("side by side", func(t *testing.T) {
		const n = 6
		type answer struct {
			i   int
			out string
			err error
		}
		answers := make(chan answer, n)
		for i := range n {
			go func() {
				res, err := s.sb.Run(t.Context(), sandbox.Cmd{Argv: sh(`echo "$1" > "$HOME/f"; cat "$HOME/f"`, strconv.Itoa(i))})
				answers <- answer{i, string(res.Stdout.Data), err}
			}()
		}
		for range n {
			if a := <-answers; a.err != nil || a.out != fmt.Sprintln(a.i) {
				t.Errorf("run %d: %q, %v", a.i, a.out, a.err)
			}
		}
	})
}
