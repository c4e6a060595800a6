package sandbox

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A cgroups is where this process may make control groups that bound memory; nil when it may not.
type cgroups struct {
	dir     string // of our own, with a group for each run in it
	version int
	next    atomic.Int64
}

// A group is the control group of one run. All methods do nothing on nil.
type group struct {
	dir     string
	version int
}

// openCgroups finds, by trying, where memory can be bounded: version 2 first, then version 1, else nil.
func openCgroups(mounts, self string) *cgroups {
	for _, at := range candidates(mounts, self) {
		sweepGroups(at.dir)
		dir, err := os.MkdirTemp(at.dir, fmt.Sprintf("tare-%d-", os.Getpid()))
		if err != nil {
			continue
		}
		c := &cgroups{dir: dir, version: at.version}
		if c.works() {
			return c
		}
		c.close()
	}
	return nil
}

// oldGroup is how long a group of another program must have been at rest before it counts as left behind.
const oldGroup = 10 * time.Minute

// sweepGroups removes the groups of programs that were killed. A program in another pid namespace cannot be seen from
// here, hence only groups in which nothing was made or removed for a while; make makes anew what went all the same.
func sweepGroups(dir string) {
	old, _ := filepath.Glob(filepath.Join(dir, "tare-*-*"))
	for _, g := range old {
		pid, err := strconv.Atoi(strings.Split(filepath.Base(g), "-")[1])
		if err != nil || unix.Kill(pid, 0) != unix.ESRCH {
			continue
		}
		if info, err := os.Stat(g); err != nil || time.Since(info.ModTime()) < oldGroup {
			continue
		}
		inner, _ := filepath.Glob(filepath.Join(g, "[0-9]*"))
		for _, d := range append(inner, g) {
			unix.Rmdir(d)
		}
	}
}

// candidates lists the directories in which a group could be made, the best first. mounts and self are the contents of
// /proc/self/mounts and /proc/self/cgroup.
func candidates(mounts, self string) []group {
	var v1, v2 []group
	own1, own2 := "/", "/"
	for _, line := range strings.Split(self, "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 {
			continue
		}
		if f[1] == "" {
			own2 = f[2]
		} else if hasWord(f[1], "memory") {
			own1 = f[2]
		}
	}
	sc := bufio.NewScanner(strings.NewReader(mounts))
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) < 4 {
			continue
		}
		switch {
		case f[2] == "cgroup2":
			// A group with processes in it cannot pass controllers on, so a sibling of our own is the likelier place.
			own := filepath.Join(f[1], own2)
			if own != f[1] {
				v2 = append(v2, group{filepath.Dir(own), 2})
			}
			v2 = append(v2, group{own, 2})
		case f[2] == "cgroup" && hasWord(f[3], "memory"):
			v1 = append(v1, group{filepath.Join(f[1], own1), 1}, group{f[1], 1})
		}
	}
	return append(v2, v1...)
}

func hasWord(list, word string) bool {
	for _, w := range strings.Split(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// works tries a group for real: its limit can be set and a process can be moved into it.
func (c *cgroups) works() bool {
	if c.version == 2 {
		// may already be so, or be refused; what counts is whether a group below then has the file
		os.WriteFile(filepath.Join(c.dir, "cgroup.subtree_control"), []byte("+memory"), 0)
	}
	g, err := c.make(DefaultMemory)
	if err != nil {
		return false
	}
	defer g.close()
	probe, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "read x"}, &os.ProcAttr{Files: []*os.File{nil}, Sys: nil})
	if err != nil {
		return false
	}
	moved := g.add(probe.Pid)
	probe.Kill()
	probe.Wait()
	return moved == nil
}

// make makes the group of one run.
func (c *cgroups) make(memory int64) (*group, error) {
	if c == nil {
		return nil, nil
	}
	g := &group{dir: filepath.Join(c.dir, strconv.FormatInt(c.next.Add(1), 10)), version: c.version}
	if err := os.MkdirAll(g.dir, 0o755); err != nil {
		return nil, fmt.Errorf("making control group: %w", err)
	}
	limit := []byte(strconv.FormatInt(memory, 10))
	var err error
	if g.version == 2 {
		err = g.write("memory.max", limit)
		g.write("memory.swap.max", []byte("0")) // absent without swap accounting
		g.write("memory.oom.group", []byte("1"))
	} else {
		err = g.write("memory.limit_in_bytes", limit)
		g.write("memory.memsw.limit_in_bytes", limit)
	}
	if err != nil {
		g.close()
		return nil, fmt.Errorf("setting memory limit: %w", err)
	}
	return g, nil
}

func (c *cgroups) close() {
	if c != nil {
		unix.Rmdir(c.dir)
	}
}

func (g *group) write(name string, data []byte) error {
	f, err := os.OpenFile(filepath.Join(g.dir, name), os.O_WRONLY, 0) // never create one
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(data)
	return err
}

func (g *group) read(name string) []byte {
	data, _ := os.ReadFile(filepath.Join(g.dir, name))
	return data
}

// field finds the value after a key in a file of keys and values.
func (g *group) field(name, key string) int64 {
	for _, line := range bytes.Split(g.read(name), []byte("\n")) {
		if f := bytes.Fields(line); len(f) == 2 && string(f[0]) == key {
			n, _ := strconv.ParseInt(string(f[1]), 10, 64)
			return n
		}
	}
	return 0
}

// add moves a process into the group.
func (g *group) add(pid int) error {
	if g == nil {
		return nil
	}
	return g.write("cgroup.procs", []byte(strconv.Itoa(pid)))
}

// kind is what Result.MemoryBy says.
func (g *group) kind() string {
	if g == nil {
		return "none"
	}
	return "cgroup" + strconv.Itoa(g.version)
}

// oomKilled reports whether a process of the group was killed for memory.
func (g *group) oomKilled() bool {
	switch {
	case g == nil:
		return false
	case g.version == 2:
		return g.field("memory.events", "oom_kill") > 0
	}
	return g.field("memory.oom_control", "oom_kill") > 0
}

// starved reports whether a process of the group was killed for memory although the group was within its limit: the machine
// had none left.
func (g *group) starved() bool {
	switch {
	case !g.oomKilled():
		return false
	case g.version == 2:
		return g.field("memory.events", "oom") == 0
	}
	// how often the limit was met is counted by two, where swap is, and not always: to have been at it counts as well
	at := g.number("memory.limit_in_bytes") - g.number("memory.max_usage_in_bytes")
	return g.number("memory.failcnt") == 0 && g.number("memory.memsw.failcnt") <= 0 && at > atLimit
}

// atLimit is how far below its limit a group may have been when it met it: charges are made for several pages at a time.
const atLimit = 1 << 20

// number is a file of one number; -1 where there is none.
func (g *group) number(name string) int64 {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(g.read(name))), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// peak is the most memory that the group had, in bytes; 0 when the kernel does not say.
func (g *group) peak() int64 {
	if g == nil {
		return 0
	}
	name := "memory.peak"
	if g.version == 1 {
		name = "memory.max_usage_in_bytes"
	}
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(g.read(name))), 10, 64)
	return n
}

// cpu is the processor time of the group, where one file says so.
func (g *group) cpu() time.Duration {
	if g == nil || g.version != 2 {
		return 0
	}
	return time.Duration(g.field("cpu.stat", "usage_usec")) * time.Microsecond
}

// pids lists the processes of the group. Nothing that runs without privilege can leave it.
func (g *group) pids() []int {
	if g == nil {
		return nil
	}
	var list []int
	for _, f := range bytes.Fields(g.read("cgroup.procs")) {
		if pid, err := strconv.Atoi(string(f)); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// close removes the group; its processes are dead, but the kernel may take a moment to let go of them.
func (g *group) close() {
	if g == nil {
		return
	}
	for range 50 {
		if err := unix.Rmdir(g.dir); err != unix.EBUSY {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}
