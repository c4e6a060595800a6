package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPatience runs commands on a processor that others keep busy. One that wants it is given the time that it waited; one
// that sleeps is not, and neither is one that stands in its own way.
func TestPatience(t *testing.T) {
	b := openHere(t)
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("this kernel does not say how long a thread waited for a processor")
	}
	var first unix.CPUSet
	first.Set(0)
	busy := func(t *testing.T, n int) {
		t.Helper()
		for range n {
			c := exec.Command("/bin/sh", "-c", "while :; do :; done")
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the kernel may share a processor out by sessions
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Process.Kill(); c.Wait() })
			if err := unix.SchedSetaffinity(c.Process.Pid, &first); err != nil {
				t.Fatal(err)
			}
		}
	}
	const onFirst = "import os, time\nos.sched_setaffinity(0, {0})\n"
	burn := onFirst + "while time.process_time() < 0.3: pass\nprint('done')"
	for _, c := range []struct {
		name     string
		busy     int
		script   string
		patience time.Duration
		ended    Limit
		fails    string
	}{
		{"itself", 0, onFirst + "for _ in range(5): os.fork()\nwhile True: pass", time.Minute, LimitCPU, ""},
		{"without patience", 8, burn, 0, LimitWall, ""},
		{"kept waiting", 8, burn, time.Minute, LimitNone, ""},
		{"asleep", 8, onFirst + "time.sleep(1000)", time.Minute, LimitWall, ""},
		{"for too long", 8, burn, 300 * time.Millisecond, LimitWall, "the machine was too busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			busy(t, c.busy)
			limits := Limits{Wall: time.Second, CPU: 2 * time.Second, Patience: c.patience}
			res, err := b.Run(t.Context(), Cmd{Argv: []string{"/usr/bin/python3", "-c", c.script}, Limits: limits})
			if fmt.Sprint(err) != "<nil>" && c.fails == "" || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Fatal(err)
			}
			if res.Ended != c.ended {
				t.Errorf("ended by %q after %s with %s of a processor", res.Ended, res.Wall, res.CPU)
			}
		})
	}
}

// TestMore gives what was seen of a command whose time is up, and how much longer it may run.
func TestMore(t *testing.T) {
	s := time.Second
	for _, c := range []struct{ waited, cpu, patience, ran, want time.Duration }{
		{0, 0, 9 * s, s, 0},
		{5 * s, 0, 0, s, 0},
		{5 * s, 2 * s, 9 * s, s, 3 * s},
		{5 * s, 6 * s, 9 * s, s, 0},
		{50 * s, 2 * s, 9 * s, 4 * s, 6 * s},
		{50 * s, 2 * s, 9 * s, 10 * s, 0},
		{2*s + 1, 0, 9 * s, 3 * s, everySample},
	} {
		r := &run{limits: Limits{Wall: s, Patience: c.patience}, waited: c.waited, cpu: c.cpu}
		if got := r.more(c.ran); got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}
