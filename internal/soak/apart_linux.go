package soak

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Apart has c start in a mount namespace of its own, where it may mount and nobody else sees it. Without root that takes a
// user namespace, in which it keeps its own ids.
func Apart(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if uid := os.Geteuid(); uid != 0 {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		c.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
}

// SmallDisk mounts a file system of that many bytes at dir. It belongs in a process that was started by [Apart], and goes
// with it. What the process starts from then on has no privilege of it.
func SmallDisk(dir string, size int64) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("leaving the machine's mounts alone: %w", err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%d,mode=0711", size)); err != nil {
		return fmt.Errorf("mounting a small disk: %w", err)
	}
	if os.Geteuid() == 0 {
		return nil
	}
	if _, _, e := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0); e != 0 {
		return fmt.Errorf("giving up privileges: %w", e)
	}
	return nil
}
