package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxRequest bounds what is sent to a resident; a command with more arguments starts from nothing.
const maxRequest = 64 << 10

// runWarm runs a command in a fork of its resident. It is false where that cannot be, in which case nothing has been done.
func (b *bwrap) runWarm(ctx context.Context, cmd Cmd, mounts []string) (Result, bool, error) {
	if !b.canFork(cmd) {
		return Result{}, false, nil
	}
	res := b.resident(ctx, cmd.Warm)
	if res == nil {
		return Result{}, false, nil
	}
	out, err := b.fork(ctx, res, cmd, mounts)
	out.Warm = true
	// A resident takes no harm from what runs in its forks. That it is not used again after one that had to be stopped, or
	// that crashed, is a second lock on that door.
	odd := err != nil || out.Signal != "" || out.Ended != LimitNone && out.Ended != LimitCancelled
	b.residents.put(res, odd)
	var setup *setupError
	if !errors.As(err, &setup) {
		return out, true, err
	}
	if ctx.Err() == nil {
		b.residents.trouble(err)
	}
	return Result{}, false, nil
}

// canFork reports whether a resident can give a command all that it asks for.
func (b *bwrap) canFork(cmd Cmd) bool {
	if cmd.Warm == nil || b.cold || len(cmd.Forwards) > 0 {
		return false
	}
	size := 0
	for _, a := range cmd.Argv {
		size += len(a)
	}
	for k, v := range cmd.Env {
		size += len(k) + len(v)
	}
	for _, m := range cmd.Mounts {
		host, err := b.resolveMount(m)
		if err != nil || !below(host, b.dir) {
			return false
		}
	}
	return size < maxRequest
}

// fork has the resident fork for a command, and sees that through.
func (b *bwrap) fork(ctx context.Context, res *resident, cmd Cmd, mounts []string) (Result, error) {
	r, err := newRun(cmd, b.uid, b.gid)
	if err != nil {
		return Result{}, err
	}
	if r.group, err = b.groups.make(r.limits.Memory); err != nil {
		r.drop()
		return Result{}, &setupError{err}
	}
	t := &warmTree{bwrapTree: bwrapTree{group: r.group}, resident: res, asked: make(chan struct{})}
	if err := b.request(r, t, mounts); err != nil {
		r.drop()
		t.close()
		return Result{}, &setupError{err}
	}
	return r.supervise(ctx, t.wait, t)
}

// request sends what the run needs.
func (b *bwrap) request(r *run, t *warmTree, mounts []string) error {
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	t.socket = ours
	raw, err := ours.SyscallConn()
	if err != nil {
		return err
	}
	raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
	if err != nil {
		return fmt.Errorf("asking for credentials: %w", err)
	}
	stdin := r.cmd.StdinFile
	if stdin == nil {
		if len(r.cmd.Stdin) > 0 {
			stdin, err = memfile("stdin", r.cmd.Stdin)
		} else {
			stdin, err = os.Open(os.DevNull)
		}
		if err != nil {
			return err
		}
		defer stdin.Close()
	}
	files := []*os.File{theirs, stdin}
	for _, o := range r.outputs {
		files = append(files, o.write)
	}
	env := map[string]string{"PWD": startDir(r.cmd)}
	for _, kv := range environment(r.cmd.Env, insideHome, insideTmp) {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	return t.resident.ask(request{
		World: b.ownArgs(mounts), Argv: r.cmd.Argv, Env: env, Dir: startDir(r.cmd), Limits: limitsOf(r.limits),
	}, files)
}

// A warmTree is the pid namespace of a run that a resident forked.
type warmTree struct {
	bwrapTree
	resident *resident
	socket   *net.UnixConn // the run's own, to its first process and to the resident
	asked    chan struct{} // closed when ready has come to its end, and wait may read
	failed   error         // why there is no command; read after wait
}

// ready waits for the first process, which stands at the gate, and lets it go. The kernel says which process it is.
func (t *warmTree) ready(ctx context.Context) error {
	defer close(t.asked)
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		t.socket.SetReadDeadline(time.Now())
	})
	text, pid, err := t.receive()
	if !stop() {
		<-interrupted
		t.socket.SetReadDeadline(time.Time{})
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("waiting for a fork of the resident: %w", err)
	}
	if text != "ready" || pid == 0 {
		return fmt.Errorf("a fork of the resident said %q", text)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("opening sandbox process: %w", err)
	}
	t.init, t.pidfd = pid, fd
	if err := t.group.add(pid); err != nil {
		return fmt.Errorf("moving sandbox to its control group: %w", err)
	}
	if _, err := t.socket.Write([]byte("go")); err != nil {
		return fmt.Errorf("starting command: %w", err)
	}
	return nil
}

// receive reads one message, and who sent it.
func (t *warmTree) receive() (text string, pid int, err error) {
	buf, oob := make([]byte, 4096), make([]byte, 256)
	n, oobn, _, _, err := t.socket.ReadMsgUnix(buf, oob)
	if err != nil {
		return "", 0, err
	}
	if n == 0 {
		return "", 0, errors.New("the resident is gone")
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return "", 0, err
	}
	for _, m := range messages {
		if cred, err := unix.ParseUnixCredentials(&m); err == nil {
			pid = int(cred.Pid)
		}
	}
	return string(buf[:n]), pid, nil
}

// wait waits for what the resident says of the end.
func (t *warmTree) wait() ending {
	<-t.asked
	for {
		text, _, err := t.receive()
		if err != nil {
			return ending{err: err}
		}
		word, rest, _ := strings.Cut(text, " ")
		switch word {
		case "error":
			t.failed = errors.New(rest)
		case "exit":
			return parseEnding(rest)
		default:
			return ending{err: fmt.Errorf("the resident said %q", text)}
		}
	}
}

// parseEnding reads the status of the first process, and the seconds that it and all that it waited for took.
func parseEnding(text string) ending {
	var status int
	var user, system float64
	if _, err := fmt.Sscanf(text, "%d %f %f", &status, &user, &system); err != nil {
		return ending{err: fmt.Errorf("reading the end of a run: %w", err)}
	}
	e := ending{cpu: time.Duration((user + system) * float64(time.Second))}
	if ws := syscall.WaitStatus(status); ws.Signaled() {
		e.exit, e.signal = 128+int(ws.Signal()), ws.Signal()
	} else {
		e.exit = ws.ExitStatus()
	}
	return e
}

func (t *warmTree) kill() {
	if t.init == 0 {
		t.socket.CloseWrite() // it does not get past the gate
		return
	}
	t.bwrapTree.kill()
}

func (t *warmTree) gone() error {
	if t.init == 0 {
		return nil // the resident has said so, or is no more, and what it forked with it
	}
	return t.dead()
}

func (t *warmTree) broken([]byte) error {
	if t.failed == nil {
		return nil
	}
	return &setupError{t.failed}
}

func (t *warmTree) close() {
	if t.socket != nil {
		t.socket.Close()
	}
	t.bwrapTree.close()
}
