package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ownerName is the file of a state directory that says which process made it.
const ownerName = ".owner"

// An owner is a process in a namespace of processes. With the time of its start its number means no other one.
type owner struct {
	pid   int
	start uint64
	space string
}

func pidSpace() string {
	space, _ := os.Readlink("/proc/self/ns/pid") // without /proc nobody's owner is told from another's, and nothing is reaped
	return space
}

// noteOwner says in a state directory that it is this process's.
func noteOwner(dir string) error {
	p, err := readProc(os.Getpid())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ownerName), fmt.Appendf(nil, "%d %d %s\n", p.pid, p.start, pidSpace()), 0o600)
}

func readOwner(dir string) (o owner, ok bool) {
	b, err := os.ReadFile(filepath.Join(dir, ownerName))
	if err != nil {
		return o, false
	}
	n, err := fmt.Sscanf(string(b), "%d %d %s", &o.pid, &o.start, &o.space)
	return o, err == nil && n == 3
}

// gone reports whether the process has ended, as far as that can be seen from here.
func (o owner) gone() bool {
	if o.space != pidSpace() {
		return false
	}
	p, err := readProc(o.pid)
	return errors.Is(err, os.ErrNotExist) || err == nil && (p.start != o.start || !p.alive())
}

// Abandoned lists the state directories below root whose program has ended without removing them, as one does that was killed. "" is
// the usual root.
func Abandoned(root string) []string {
	var out []string
	for _, root := range usualRoots(root) {
		dirs, _ := filepath.Glob(filepath.Join(root, "s*"))
		for _, dir := range dirs {
			if o, ok := readOwner(dir); ok && o.gone() {
				out = append(out, dir)
			}
		}
	}
	return out
}

// Reap removes what programs left below root that ended without doing so: processes first, then control groups, then directories with
// the workspaces in them. It returns how many programs that were.
func Reap(root string) (n int, err error) {
	for _, dir := range Abandoned(root) {
		done, derr := reapOne(dir)
		err = errors.Join(err, derr)
		if done {
			n++
		}
	}
	return n, err
}

// reapOne reaps one directory, unless another program is about to.
func reapOne(dir string) (done bool, err error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, nil // it never came to hold anything, or it is gone already
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false, nil
	}
	o, ok := readOwner(dir)
	if !ok || !o.gone() {
		return false, nil
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) { // what forks while it is killed is met again
		left := o.left(dir)
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended meanwhile
		}
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			return false, fmt.Errorf("reaping %s: processes %v do not end", dir, left)
		}
	}
	for _, g := range groupsOf(o.pid) {
		inner, _ := filepath.Glob(filepath.Join(g, "[0-9]*"))
		for _, d := range append(inner, g) {
			_ = unix.Rmdir(d) // one that cannot be removed holds nothing that runs
		}
	}
	if err := removeTree(dir); err != nil {
		return false, fmt.Errorf("reaping %s: %w", dir, err)
	}
	return true, nil
}

// groupsOf are the control groups that a process made for its runs.
func groupsOf(pid int) (out []string) {
	mounts, err1 := os.ReadFile("/proc/self/mounts")
	self, err2 := os.ReadFile("/proc/self/cgroup")
	if err1 != nil || err2 != nil {
		return nil
	}
	for _, at := range candidates(string(mounts), string(self)) {
		found, _ := filepath.Glob(filepath.Join(at.dir, fmt.Sprintf("tare-%d-*", pid)))
		out = append(out, found...)
	}
	return out
}

// left are the processes of an owner that has ended: those in its control groups, at work in its directory, or with the mark of its
// runs.
func (o owner) left(dir string) (pids []int) {
	_, err := readProc(o.pid)
	reused := err == nil // then its marks may be those of the new process
	group := fmt.Appendf(nil, "/tare-%d-", o.pid)
	mark := fmt.Appendf(nil, "TARE_RUN=%d.", o.pid)
	for _, p := range allProcs() {
		if !p.alive() || p.pid == os.Getpid() || p.start < o.start {
			continue
		}
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.pid))
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
		marked := !reused && (bytes.HasPrefix(env, mark) || bytes.Contains(env, append([]byte{0}, mark...)))
		in, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", p.pid))
		if !reused && bytes.Contains(in, group) || marked || cwd == dir || strings.HasPrefix(cwd, dir+"/") {
			pids = append(pids, p.pid)
		}
	}
	return pids
}
