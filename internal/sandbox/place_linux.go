package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Where state is kept unless a place is named. On the disk a run may write what it likes; in memory that counts as its own, so that it
// is for those alone who know what will run, as a proof does. There trees are made and removed by the thousand, and a disk may take that
// ill: ext4 without a journal passes over every inode that was removed in the last seconds before it gives out another, so that each run
// is slower than the one before it.
const (
	inMemory = "/dev/shm"
	onDisk   = "/var/tmp"

	enoughMemory = 6 << 30 // bytes: a proof of vulns, two jobs, was seen to hold 0.9e9, and each run may hold 2 GiB
)

// usual is the state root of this user's below dir.
func usual(dir string) string { return filepath.Join(dir, fmt.Sprintf("tare-%d", os.Geteuid())) }

// TempDir is a directory of the system's for what is short-lived: one in memory where there is plenty of it, else one on the disk. What
// is to outlive the program does not belong there.
func TempDir() string {
	if roomInMemory(inMemory) {
		return inMemory
	}
	return onDisk
}

// usualRoots are the places where state may be that is kept under root, of which "" is the usual one.
func usualRoots(root string) []string {
	if root != "" {
		return []string{root}
	}
	return owned(usual(onDisk), usual(inMemory))
}

// owned are those of dirs that are directories of this user's, and no links. Whatever lies in another's says nothing, and is not removed.
func owned(dirs ...string) (out []string) {
	for _, dir := range dirs {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid() {
			out = append(out, dir)
		}
	}
	return out
}

// roomInMemory reports whether dir holds its files in memory, programs among them, and there is enough of that: free in dir, free in
// the machine, and not kept from this program by a control group.
func roomInMemory(dir string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || fs.Type != unix.TMPFS_MAGIC || fs.Flags&unix.ST_NOEXEC != 0 {
		return false
	}
	mounts, err1 := os.ReadFile("/proc/self/mounts")
	self, err2 := os.ReadFile("/proc/self/cgroup")
	meminfo, err3 := os.ReadFile("/proc/meminfo")
	return err1 == nil && err2 == nil && err3 == nil && unix.Access(dir, unix.W_OK|unix.X_OK) == nil &&
		int64(fs.Bavail)*fs.Bsize >= enoughMemory && available(meminfo) >= enoughMemory &&
		allowed(candidates(string(mounts), string(self))) >= enoughMemory
}

// available is how much memory a new program can have, in bytes, by the content of /proc/meminfo; 0 when it does not say.
func available(meminfo []byte) int64 {
	for line := range bytes.Lines(meminfo) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == "MemAvailable:" && string(f[2]) == "kB" {
			n, err := strconv.ParseInt(string(f[1]), 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}

// allowed is the least that the limits of the groups, and of those that they lie in, leave of memory, in bytes.
func allowed(groups []group) int64 {
	least := int64(1) << 62
	for _, g := range groups {
		for ; g.dir != "/" && g.dir != "."; g.dir = filepath.Dir(g.dir) {
			for limit, used := range map[string]string{"memory.max": "memory.current", "memory.limit_in_bytes": "memory.usage_in_bytes"} {
				if n := g.number(limit); n > 0 { // "max" is no number, and one that is not there is none
					least = min(least, n-max(0, g.number(used)))
				}
			}
		}
	}
	return least
}
