package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Census is what this process, and what it started, hold at one moment. Each map is from what to how many.
type Census struct {
	held map[string]map[string]int // by the kind of a [Leak]
	RSS  int64                     // bytes of this process that are resident, after the collector gave back what it could
}

// Adopt makes this process the parent of what its children leave behind, so that a process that cut itself loose is found.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopting orphans: %w", err)
	}
	return nil
}

// Take counts. Files are those below dirs.
func Take(dirs ...string) (Census, error) {
	c := Census{held: map[string]map[string]int{}}
	var errs []error
	for kind, look := range map[string]func() ([]string, error){
		"process": processes, "mount": mounts, "cgroup": groups, "descriptor": descriptors, "goroutine": goroutines,
		"file": func() ([]string, error) { return files(dirs) },
	} {
		list, err := look()
		if err != nil {
			errs = append(errs, fmt.Errorf("looking for each %s: %w", kind, err))
		}
		c.held[kind] = map[string]int{}
		for _, what := range list {
			c.held[kind][what]++
		}
	}
	var err error
	c.RSS, err = resident()
	return c, errors.Join(append(errs, err)...)
}

// Since lists what c has and before does not, and memory when it grew by more than growth bytes.
func (c Census) Since(before Census, growth int64) []Leak {
	var leaks []Leak
	for _, kind := range slices.Sorted(maps.Keys(c.held)) {
		for _, what := range slices.Sorted(maps.Keys(c.held[kind])) {
			if n, was := c.held[kind][what], before.held[kind][what]; n > was {
				text := what
				if n-was > 1 {
					text = fmt.Sprintf("%s (%d times)", what, n-was)
				}
				leaks = append(leaks, Leak{kind, text})
			}
		}
	}
	if d := c.RSS - before.RSS; d > growth {
		leaks = append(leaks, Leak{"memory", fmt.Sprintf("%d MiB more than the %d MiB before, %d allowed", d>>20, before.RSS>>20, growth>>20)})
	}
	return leaks
}

// Without is c without what is of these kinds.
func (c Census) Without(kinds ...string) Census {
	out := Census{held: maps.Clone(c.held), RSS: c.RSS}
	for _, k := range kinds {
		delete(out.held, k)
	}
	return out
}

// Count is how much there is of a kind.
func (c Census) Count(kind string) (n int) {
	for _, times := range c.held[kind] {
		n += times
	}
	return n
}

// Settled takes a census until look finds no leak in it, or ctx ends: what was killed is gone only a moment later.
func Settled(ctx context.Context, look func(now Census) []Leak, dirs ...string) (Census, []Leak, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		now, err := Take(dirs...)
		leaks := look(now)
		if err != nil || len(leaks) == 0 {
			return now, leaks, err
		}
		select {
		case <-ctx.Done():
			return now, leaks, nil
		case <-tick.C:
		}
	}
}

// Descendants lists the processes below this one, dead ones that nobody waited for included.
func Descendants() []int {
	var out []int
	todo := []int{os.Getpid()}
	for len(todo) > 0 {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", todo[0]))
		todo = todo[1:]
		for _, name := range tasks {
			list, _ := os.ReadFile(name) // gone meanwhile
			for _, f := range bytes.Fields(list) {
				if pid, err := strconv.Atoi(string(f)); err == nil {
					out, todo = append(out, pid), append(todo, pid)
				}
			}
		}
	}
	return out
}

// processes names what is alive below this one. Orphans that died are put to rest.
func processes() ([]string, error) {
	if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())); err != nil {
		return nil, err
	}
	var out []string
	for _, pid := range Descendants() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, after, ok := strings.Cut(string(stat), ") ")
		switch {
		case err != nil || !ok:
			continue
		case after[0] == 'Z' && strings.HasPrefix(after[2:], strconv.Itoa(os.Getpid())+" ") && adopted(pid):
			unix.Wait4(pid, nil, unix.WNOHANG, nil)
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		words := strings.ReplaceAll(string(line[:min(len(line), 200)]), "\x00", " ")
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		out = append(out, fmt.Sprintf("pid %d, state %c, %s: %q", pid, after[0], bytes.TrimSpace(comm), words))
	}
	return out, nil
}

// adopted reports whether pid was started by a process that is gone, so that nobody here is about to wait for it: it lives in
// a pid namespace of its own, as no child of this process's own does.
func adopted(pid int) bool { return depth(strconv.Itoa(pid)) > depth("self") }

// depth is in how many pid namespaces a process has an id.
func depth(pid string) int {
	status, _ := os.ReadFile("/proc/" + pid + "/status")
	_, after, _ := strings.Cut(string(status), "\nNSpid:")
	ids, _, _ := strings.Cut(after, "\n")
	return len(strings.Fields(ids))
}

func mounts() ([]string, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 4 {
			out = append(out, f[4])
		}
	}
	return out, nil
}

// groups lists the control groups that a sandbox of this process made.
func groups() ([]string, error) {
	var out []string
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[2] != "cgroup2" && !(f[2] == "cgroup" && strings.Contains(f[3], "memory")) {
			continue // sandboxes bound memory and nothing else
		}
		at := f[1]
		err := filepath.WalkDir(at, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && strings.Contains(p, fmt.Sprintf("/tare-%d-", os.Getpid())) {
				out = append(out, p)
			}
			return nil // other programs' groups come and go
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// descriptors names what this process has open; of what has no name, its sort.
func descriptors() ([]string, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || strings.HasPrefix(to, fmt.Sprintf("/proc/%d/", os.Getpid())) {
			continue // the one that lists them
		}
		if sort, _, ok := strings.Cut(to, ":["); ok && sort != "anon_inode" {
			to = sort
		}
		out = append(out, to)
	}
	return out, nil
}

// goroutines names where each was started.
func goroutines() ([]string, error) {
	buf := make([]byte, 4<<20)
	var out []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		_, by, ok := strings.Cut(stack, "created by ")
		if !ok {
			continue // the first one
		}
		by, _, _ = strings.Cut(by, " in goroutine")
		out = append(out, by)
	}
	return out, nil
}

func files(dirs []string) ([]string, error) {
	var out []string
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // gone since it was listed
			}
			if p != dir {
				out = append(out, p)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func resident() (int64, error) {
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(b), "VmRSS:")
	var kib int64
	if _, err := fmt.Sscanf(after, "%d kB", &kib); err != nil {
		return 0, fmt.Errorf("reading how much memory is resident: %w", err)
	}
	return kib << 10, nil
}
