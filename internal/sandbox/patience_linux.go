package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// On a busy machine a command's time can be up before it had any of a processor. What the kernel says of each thread, for how
// long it could have run and was not let, tells that from a command that sleeps. A command cannot make it look so without the
// help of others: for each second that one of its threads waits for another of its own, that other one runs, and what
// the command runs is taken off.

// maxThreads bounds for how many threads of a process one sample asks.
const maxThreads = 64

// A threadID names a thread for as long as its process lives.
type threadID struct {
	pid, tid int
	start    uint64 // of the process
}

// delays is for how long each thread of a tree has waited for a processor, since it began.
func delays(list []proc) map[threadID]time.Duration {
	out := map[threadID]time.Duration{}
	for _, p := range list {
		if !p.alive() {
			continue
		}
		tids := []int{p.pid}
		if p.threads > 1 {
			tids = nil
			tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.pid))
			for _, t := range tasks[:min(len(tasks), maxThreads)] {
				if tid, err := strconv.Atoi(t.Name()); err == nil {
					tids = append(tids, tid)
				}
			}
		}
		for _, tid := range tids {
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", p.pid, tid))
			if f := bytes.Fields(data); err == nil && len(f) == 3 { // ran, waited, how often; a kernel may be without
				ns, _ := strconv.ParseInt(string(f[1]), 10, 64)
				out[threadID{p.pid, tid, p.start}] = time.Duration(ns)
			}
		}
	}
	return out
}

// wait adds to r.waited what the thread that waited longest since the last sample did.
func (r *run) wait(now map[threadID]time.Duration) {
	var longest time.Duration
	for id, d := range now {
		longest = max(longest, d-r.delays[id])
	}
	r.delays = now
	r.waited += longest
}

// kept is for how long the machine kept the command waiting.
func (r *run) kept() time.Duration { return max(0, r.waited-r.cpu) }

// more is how much longer a command may run that has run for so long; nothing when its time is up.
func (r *run) more(ran time.Duration) time.Duration {
	left := r.limits.Wall + min(r.kept(), r.limits.Patience) - ran
	if left <= 0 {
		return 0
	}
	return max(left, everySample)
}
