//go:build unix

package mcpproxy

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group, so that what it starts can be ended with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends what is left of a command's group.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // most often nothing is left
