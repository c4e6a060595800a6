package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A processTree is a command without a namespace. With a control group its processes are those in the group. Without
// one they are found by what they cannot, or mostly do not, shed: parentage, session, a marker in the environment, and,
// since this program adopts orphans, being its child in a session that is not its own.
type processTree struct {
	owner  *process
	group  *group
	gate   *os.File
	marker string
	pid    int
	start  uint64
	known  map[int]uint64 // pid and start time of all that was ever seen; guarded by owner.mu
}

// begin notes the first process; the caller holds owner.mu.
func (t *processTree) begin(pid int) {
	t.pid = pid
	if p, err := readProc(pid); err == nil {
		t.start = p.start
	}
	t.known[pid] = t.start
	t.owner.live[t] = true
}

func (t *processTree) ready(context.Context) error {
	if err := t.group.add(t.pid); err != nil {
		return fmt.Errorf("moving command to its control group: %w", err)
	}
	if _, err := t.gate.Write([]byte("\n")); err != nil {
		return fmt.Errorf("starting command: %w", err)
	}
	return nil
}

func (t *processTree) sample() usage { return total(t.members()) }

// members finds the processes of the tree, dead ones that nobody waited for included.
func (t *processTree) members() []proc {
	if t.group != nil {
		var list []proc
		for _, pid := range t.group.pids() {
			if p, err := readProc(pid); err == nil {
				list = append(list, p)
			}
		}
		return list
	}
	all := allProcs()
	t.owner.mu.Lock()
	defer t.owner.mu.Unlock()
	var list []proc
	seen := map[int]bool{}
	add := func(p proc) {
		if !seen[p.pid] && p.pid != os.Getpid() {
			seen[p.pid] = true
			list = append(list, p)
		}
	}
	for _, p := range all {
		if t.known[p.pid] == p.start && p.start != 0 || p.sid == t.pid || p.pgid == t.pid ||
			hasMarker(p, t.marker) || t.orphan(p) {
			add(p)
		}
	}
	for i := 0; i < len(list); i++ {
		for _, p := range all {
			if p.ppid == list[i].pid {
				add(p)
			}
		}
	}
	for _, p := range list {
		t.known[p.pid] = p.start
	}
	return list
}

// orphan reports whether p is a child that was adopted, not started: it lives in another session, came up during this
// run, belongs to no other run, and is not the first process of a bubblewrap that was killed.
func (t *processTree) orphan(p proc) bool {
	if p.ppid != os.Getpid() || p.start < t.start {
		return false
	}
	if own, err := unix.Getsid(0); err != nil || p.sid == own {
		return false
	}
	for other := range t.owner.live {
		if other != t && other.known[p.pid] == p.start {
			return false
		}
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	_, after, _ := bytes.Cut(status, []byte("\nNSpid:"))
	ids, _, _ := bytes.Cut(after, []byte("\n"))
	own, _ := os.ReadFile("/proc/self/status")
	_, after, _ = bytes.Cut(own, []byte("\nNSpid:"))
	ours, _, _ := bytes.Cut(after, []byte("\n"))
	return len(bytes.Fields(ids)) == len(bytes.Fields(ours))
}

func hasMarker(p proc, marker string) bool {
	if !p.alive() || p.pid == os.Getpid() {
		return false
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
	return err == nil && bytes.Contains(env, append([]byte(marker), 0))
}

func (t *processTree) kill() { t.signal(unix.SIGKILL) }

// signal sends a signal to all members and reports how many are alive.
func (t *processTree) signal(sig unix.Signal) int {
	alive := 0
	for _, p := range t.members() {
		if p.alive() {
			alive++
			unix.Kill(p.pid, sig)
		}
	}
	return alive
}

// gone kills until nothing is left: what forks while it is being killed is stopped first.
func (t *processTree) gone() error {
	deadline := time.Now().Add(killTime)
	for {
		if t.signal(unix.SIGSTOP) == 0 {
			t.reap()
			return nil
		}
		t.signal(unix.SIGKILL)
		t.reap()
		if time.Now().After(deadline) {
			return errStuck
		}
		time.Sleep(time.Millisecond)
	}
}

// reap waits for members that became our children and died. The first process has been waited for already.
func (t *processTree) reap() {
	t.owner.mu.Lock()
	defer t.owner.mu.Unlock()
	for pid := range t.known {
		if pid != t.pid {
			unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

func (t *processTree) broken([]byte) error { return nil }

func (t *processTree) killed() bool { return false } // the command can have done it itself

func (t *processTree) close() {
	t.owner.mu.Lock()
	delete(t.owner.live, t)
	t.owner.mu.Unlock()
	if t.gate != nil {
		t.gate.Close()
	}
	t.group.close()
}
