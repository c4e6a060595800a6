package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// A proc is one line of the host's process table.
type proc struct {
	pid, ppid, pgid, sid int
	state                byte
	threads              int
	cpu                  time.Duration // its own, and that of children it waited for
	start                uint64        // clock ticks since boot; with the pid it names a process for good
	private              int64         // bytes resident and not shared with a file
}

// clockTick is the unit of times in /proc: USER_HZ is 100 on every architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// readProc reads a process from /proc. An error mostly means that it is gone.
func readProc(pid int) (proc, error) {
	p := proc{pid: pid}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, err
	}
	// the second field is the name, in brackets, and may itself hold brackets and blanks
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return p, fmt.Errorf("reading stat of process %d", pid)
	}
	f := bytes.Fields(data[end+1:])
	if len(f) < 20 {
		return p, fmt.Errorf("reading stat of process %d", pid)
	}
	num := func(i int) int { n, _ := strconv.Atoi(string(f[i])); return n }
	p.state = f[0][0]
	p.ppid, p.pgid, p.sid = num(1), num(2), num(3)
	p.cpu = time.Duration(num(11)+num(12)+num(13)+num(14)) * clockTick
	p.threads = num(17)
	p.start, _ = strconv.ParseUint(string(f[19]), 10, 64)
	if statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)); err == nil {
		if m := bytes.Fields(statm); len(m) >= 3 {
			resident, _ := strconv.ParseInt(string(m[1]), 10, 64)
			shared, _ := strconv.ParseInt(string(m[2]), 10, 64)
			p.private = (resident - shared) * int64(os.Getpagesize())
		}
	}
	return p, nil
}

// alive reports whether the process still runs.
func (p proc) alive() bool { return p.state != 'Z' && p.state != 'X' }

// allPids lists the processes of the machine, as far as this one's /proc shows them.
func allPids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var list []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// allProcs reads the whole process table.
func allProcs() []proc {
	var list []proc
	for _, pid := range allPids() {
		if p, err := readProc(pid); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// descendants reads pid and all that descends from it. It follows the children lists, which costs in proportion to the
// tree; a kernel without them costs a walk over all processes.
func descendants(pid int) []proc {
	if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())); err != nil {
		return subtree(allProcs(), pid)
	}
	var list []proc
	todo := []int{pid}
	seen := map[int]bool{pid: true}
	for len(todo) > 0 {
		pid := todo[0]
		todo = todo[1:]
		p, err := readProc(pid)
		if err != nil {
			continue
		}
		list = append(list, p)
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		for _, t := range tasks {
			data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
			for _, f := range bytes.Fields(data) {
				if child, err := strconv.Atoi(string(f)); err == nil && !seen[child] {
					seen[child] = true
					todo = append(todo, child)
				}
			}
		}
	}
	return list
}

// subtree picks pid and its descendants out of a process table.
func subtree(all []proc, pid int) []proc {
	children := map[int][]proc{}
	var list []proc
	for _, p := range all {
		children[p.ppid] = append(children[p.ppid], p)
		if p.pid == pid {
			list = append(list, p)
		}
	}
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i].pid]...)
	}
	return list
}

// total sums up a tree.
func total(list []proc) usage {
	u := usage{delays: delays(list)}
	for _, p := range list {
		u.cpu += p.cpu
		if p.alive() {
			u.processes += p.threads
			u.memory += p.private
		}
	}
	return u
}
