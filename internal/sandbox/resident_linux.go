package sandbox

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// residentModule is what makes a Python program a resident.
//
//go:embed python/tare_resident.py
var residentModule []byte

const (
	insideState  = ResidentDir + "/state" // where a resident sees the state directory, from which it mounts the trees of runs
	maxFailures  = 3                      // in a row, until no more residents are tried
	residentSays = 16 << 10               // bytes kept of what a resident says, for a person
)

// A residents is the residents of one sandbox. Its zero value is ready.
type residents struct {
	mu      sync.Mutex
	byKey   map[string]*resident
	started int
	failed  int   // attempts, to start one or to fork from it, since the last that did not
	lastErr error // of those
	closed  bool
}

// A resident is a process, in a sandbox of its own, that commands are forked from. Like bubblewrap it is trusted and runs
// nothing of theirs.
type resident struct {
	ready   chan struct{} // closed when its start has come to an end, in which err says why it failed
	err     error
	exited  chan struct{} // closed when its process is gone; said is then what it had to say
	said    []byte
	process *os.Process // bubblewrap's
	control *net.UnixConn
	sending sync.Mutex

	users   int // guarded by residents.mu
	retired bool
}

// resident finds the one for w, or starts it. It is nil where there is none to be had; one that is not must be put back.
func (b *bwrap) resident(ctx context.Context, w *Warm) *resident {
	rs := &b.residents
	rs.mu.Lock()
	res := b.residentLocked(w)
	if res != nil {
		res.users++
	}
	rs.mu.Unlock()
	if res == nil {
		return nil
	}
	select {
	case <-res.ready:
	case <-ctx.Done():
		rs.put(res, false)
		return nil
	}
	if res.err != nil {
		rs.put(res, true)
		return nil
	}
	return res
}

// Ahead starts the resident for w, if it is not there.
func (b *bwrap) Ahead(w *Warm) {
	if b.cold {
		return
	}
	b.residents.mu.Lock()
	defer b.residents.mu.Unlock()
	b.residentLocked(w)
}

// residentLocked is the resident for w, which may still be starting; nil where there is none to be had.
func (b *bwrap) residentLocked(w *Warm) *resident {
	key, err := json.Marshal(w)
	if err != nil || b.kind != IsolationBwrap || !countsPerNamespace() {
		return nil
	}
	rs := &b.residents
	if rs.failed >= maxFailures || rs.closed {
		return nil
	}
	if res := rs.byKey[string(key)]; res != nil {
		return res
	}
	res := &resident{ready: make(chan struct{}), exited: make(chan struct{})}
	if rs.byKey == nil {
		rs.byKey = map[string]*resident{}
	}
	rs.byKey[string(key)] = res
	rs.started++
	go func() {
		defer close(res.ready)
		// not under the context of whoever asks, for who asks next wants it too
		start, cancel := context.WithTimeout(context.Background(), setupTime)
		defer cancel()
		if res.err = b.startResident(start, res, w); res.err != nil {
			rs.trouble(res.err)
		}
	}()
	return res
}

// trouble notes that there was no fork to be had. Where that goes on, this machine is one that has none.
func (rs *residents) trouble(err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.failed, rs.lastErr = rs.failed+1, err
}

// put gives a resident back. One that is spent is not used again, and goes when the last command gives it back.
func (rs *residents) put(res *resident, spent bool) {
	rs.mu.Lock()
	res.users--
	if spent && !res.retired {
		res.retired = true
		for k, v := range rs.byKey {
			if v == res {
				delete(rs.byKey, k)
			}
		}
	}
	if !spent {
		rs.failed = 0
	}
	end := res.retired && res.users == 0
	rs.mu.Unlock()
	if end {
		res.end()
	}
}

// close ends all residents; no command runs any more.
func (rs *residents) close() {
	rs.mu.Lock()
	rs.closed = true
	all := rs.byKey
	rs.byKey = nil
	rs.mu.Unlock()
	for _, res := range all {
		<-res.ready
		res.end()
	}
}

// end lets a resident go, and waits until it has: it ends when its control socket does.
func (res *resident) end() {
	if res.control != nil {
		res.control.Close()
		<-res.exited
	}
}

// startResident starts res and waits until it serves.
func (b *bwrap) startResident(ctx context.Context, res *resident, w *Warm) error {
	module, err := b.Keep("resident", func(dir string) error {
		return writeFile(filepath.Join(dir, "tare_resident.py"), residentModule)
	})
	if err != nil {
		return err
	}
	mounts, err := b.mountArgs(Cmd{Mounts: w.Mounts})
	if err != nil {
		return err
	}
	for _, d := range w.Dirs {
		mounts = slices.Concat(mounts, parentArgs(d), []string{"--perms", "0755", "--dir", d})
	}
	mounts = slices.Concat(mounts, parentArgs(insideState), []string{
		"--bind", b.dir, insideState,
		"--ro-bind", filepath.Join(module, "tare_resident.py"), ResidentDir + "/tare_resident.py",
	})
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	err = b.launch(res, w, mounts, theirs)
	theirs.Close()
	if err != nil {
		ours.Close()
		return fmt.Errorf("starting resident: %w", err)
	}
	res.control = ours
	hello := map[string]any{"moved": []string{b.dir, insideState}, "seccomp": hex.EncodeToString(b.seccomp), "base": b.baseArgs()}
	if err := res.greet(ctx, hello); err != nil {
		res.end()
		return fmt.Errorf("starting resident: %w: %.500q", err, lastLine(res.said))
	}
	return nil
}

// launch starts the process of res, with control as its descriptor 3. What it says is for a person who looks for what failed.
func (b *bwrap) launch(res *resident, w *Warm, mounts []string, control *os.File) error {
	said, err := pipe(b.uid, b.gid)
	if err != nil {
		return err
	}
	said.budget, said.over = &budget{left: residentSays}, func() {}
	args := []string{
		"--unshare-user", "--uid", "0", "--gid", "0", "--cap-add", "ALL", // in a user namespace of its own, that is
		"--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--hostname", "sandbox", "--die-with-parent", "--new-session", "--as-pid-1",
	}
	args = slices.Concat(args, b.worldArgs(mounts), environmentArgs(Cmd{Env: w.Env, Dir: "/"}))
	f, err := memfile("args", []byte(strings.Join(args, "\x00")+"\x00"))
	if err != nil {
		said.drop()
		return err
	}
	defer f.Close()
	stdin, err := memfile("stdin", nil) // of the kind that a command has
	if err != nil {
		said.drop()
		return err
	}
	defer stdin.Close()
	c := &exec.Cmd{
		Path: b.program, Env: []string{}, Dir: "/", Stdin: stdin, Stdout: said.write, Stderr: said.write,
		ExtraFiles: []*os.File{control, f},
		Args:       slices.Concat([]string{"bwrap", "--args", "4", "--"}, w.Argv),
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if b.root {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.gid)}
	}
	if err := start(c); err != nil {
		said.drop()
		return err
	}
	res.process = c.Process
	said.write.Close()
	go said.drain()
	go func() {
		c.Wait()
		res.said = said.finish().Data
		close(res.exited)
	}()
	return nil
}

// greet tells the resident what is the same for every command, and waits for it.
func (res *resident) greet(ctx context.Context, what map[string]any) error {
	hello, err := json.Marshal(what)
	if err != nil {
		return err
	}
	if d, ok := ctx.Deadline(); ok {
		res.control.SetDeadline(d)
	}
	defer res.control.SetDeadline(time.Time{})
	if _, err := res.control.Write(hello); err != nil {
		return err
	}
	answer := make([]byte, 64)
	n, err := res.control.Read(answer)
	if err == nil && string(answer[:n]) != "resident" {
		err = fmt.Errorf("it said %q", answer[:n])
	}
	return err
}

// A request asks a resident for a run. Its fields are those that tare_resident.py reads.
type request struct {
	World  []string            `json:"world"` // options of bubblewrap
	Argv   []string            `json:"argv"`
	Env    map[string]string   `json:"env"`
	Dir    string              `json:"dir"`
	Limits map[string][2]int64 `json:"limits"` // soft and hard, by the name of the RLIMIT
}

// ask hands over a request and the descriptors that go with it.
func (res *resident) ask(req request, files []*os.File) error {
	b, err := json.Marshal(req)
	if err != nil {
		return err
	}
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	res.sending.Lock()
	defer res.sending.Unlock()
	res.control.SetWriteDeadline(time.Now().Add(setupTime))
	_, _, err = res.control.WriteMsgUnix(b, unix.UnixRights(fds...), nil)
	return err
}

// socketPair makes two ends of a socket that keeps messages apart: one for here, one to hand over.
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making sockets: %w", err)
	}
	unix.SetNonblock(fds[1], false)
	theirs := os.NewFile(uintptr(fds[1]), "theirs")
	file := os.NewFile(uintptr(fds[0]), "ours")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("making sockets: %w", err)
	}
	return conn.(*net.UnixConn), theirs, nil
}

// lastLine is where Python says what went wrong.
func lastLine(b []byte) string {
	b = bytes.TrimSpace(b)
	return string(b[bytes.LastIndexByte(b, '\n')+1:])
}

// limitsOf are the limits that the kernel keeps, as limitScript sets them.
func limitsOf(l Limits) map[string][2]int64 {
	same := func(n int64) [2]int64 { return [2]int64{n, n} }
	cpu := cpuSeconds(l)
	return map[string][2]int64{
		"CORE": same(0), "FSIZE": same((l.FileSize + 511) / 512 * 512), "NPROC": same(int64(l.Processes + slack)), "CPU": {cpu, cpu + 1},
	}
}
