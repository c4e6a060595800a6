package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A bwrapTree is a pid namespace: it is dead when its first process is.
type bwrapTree struct {
	group  *group
	bwrap  *os.Process
	status *os.File // bubblewrap's JSON
	gate   *os.File // a byte lets the command go
	init   int      // host pid of pid 1 inside; 0 while unknown
	pidfd  int
	exited bool // bubblewrap said how the command ended, so it was started
}

// A statusLine is one of the documents that bubblewrap writes.
type statusLine struct {
	ChildPid *int `json:"child-pid"`
	ExitCode *int `json:"exit-code"`
}

func (t *bwrapTree) ready(ctx context.Context) error {
	if d, ok := ctx.Deadline(); ok {
		t.status.SetReadDeadline(d)
	}
	stop := context.AfterFunc(ctx, func() { t.status.SetReadDeadline(time.Now()) })
	line, err := t.readStatus()
	stop()
	if err != nil || line.ChildPid == nil {
		return fmt.Errorf("waiting for bubblewrap: %w", err)
	}
	// The child waits at the gate, so this pid is still its.
	fd, err := unix.PidfdOpen(*line.ChildPid, 0)
	if err != nil {
		return fmt.Errorf("opening sandbox process: %w", err)
	}
	t.init, t.pidfd = *line.ChildPid, fd
	if err := t.group.add(t.init); err != nil {
		return fmt.Errorf("moving sandbox to its control group: %w", err)
	}
	if _, err := t.gate.Write([]byte{1}); err != nil {
		return fmt.Errorf("starting command: %w", err)
	}
	return nil
}

// readStatus reads one line, byte by byte, for the next must be left to the next call.
func (t *bwrapTree) readStatus() (statusLine, error) {
	var line []byte
	var c [1]byte
	for len(line) < 4096 {
		if _, err := io.ReadFull(t.status, c[:]); err != nil {
			return statusLine{}, err
		}
		if c[0] == '\n' {
			break
		}
		line = append(line, c[0])
	}
	var s statusLine
	err := json.Unmarshal(line, &s)
	return s, err
}

func (t *bwrapTree) sample() usage { return total(descendants(t.init)) }

func (t *bwrapTree) kill() {
	if t.init != 0 {
		unix.PidfdSendSignal(t.pidfd, unix.SIGKILL, nil, 0)
		return
	}
	t.bwrap.Kill() // its child dies with it
}

func (t *bwrapTree) gone() error {
	if t.init != 0 { // bubblewrap waits for it, except when it was itself killed
		if err := t.dead(); err != nil {
			return err
		}
	}
	t.status.SetReadDeadline(time.Now().Add(drainTime))
	for {
		line, err := t.readStatus()
		if err != nil {
			return nil
		}
		if line.ExitCode != nil {
			t.exited = true
		}
	}
}

// dead kills the first process, and all others with it, and waits until they are gone.
func (t *bwrapTree) dead() error {
	unix.PidfdSendSignal(t.pidfd, unix.SIGKILL, nil, 0)
	fds := []unix.PollFd{{Fd: int32(t.pidfd), Events: unix.POLLIN}}
	for deadline := time.Now().Add(killTime); ; {
		n, err := unix.Poll(fds, int(max(0, time.Until(deadline)/time.Millisecond)))
		if n > 0 {
			return nil
		}
		if err != unix.EINTR {
			return errStuck
		}
	}
}

// broken tells a sandbox that could not be made from a command that failed: only of a command that was started does
// bubblewrap report the exit.
func (t *bwrapTree) broken(stderr []byte) error {
	if t.exited {
		return nil
	}
	line, _, _ := bytes.Cut(bytes.TrimSpace(stderr), []byte("\n"))
	if len(line) == 0 {
		return errors.New("bubblewrap ended without a word")
	}
	return fmt.Errorf("bubblewrap: %q", bytes.TrimPrefix(line, []byte("bwrap: ")))
}

// killed asks the kernel how pid 1 ended, which it tells from Linux 6.15 on. Nothing inside a pid namespace can kill its first
// process: SIGKILL comes from outside. Bubblewrap's word for it, 137, is one that a command can say as well.
func (t *bwrapTree) killed() bool {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	if t.init == 0 || unix.IoctlPidfdInfo(t.pidfd, &info) != nil || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return false
	}
	ws := unix.WaitStatus(info.Exit_code)
	return ws.Signaled() && ws.Signal() == unix.SIGKILL
}

func (t *bwrapTree) close() {
	if t.status != nil {
		t.status.Close()
	}
	if t.gate != nil {
		t.gate.Close()
	}
	if t.init != 0 {
		unix.Close(t.pidfd)
	}
	t.group.close()
}
