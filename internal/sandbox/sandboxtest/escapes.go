package sandboxtest

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tare/internal/sandbox"
)

// without says what an attempt does where nothing isolates.
type without int

const (
	succeeds without = iota // so the attempt is a real one
	refused                 // the unprivileged uid alone is enough
	depends                 // on the machine
)

// An attempt is Python that prints "could" when it got out.
type attempt struct {
	name    string
	script  string
	args    []string
	without without
}

// escapes tries each attempt, and checks that a backend without isolation lets through what the host does.
func (s *suite) escapes(t *testing.T) {
	for _, a := range s.attempts(t) {
		t.Run(a.name, func(t *testing.T) {
			res := s.run(t, sandbox.Cmd{Argv: python("import os, sys, socket, ctypes\n"+a.script+"\nprint('done')", a.args...)})
			out := string(res.Stdout.Data)
			could := strings.Contains(out, "could")
			if !strings.HasSuffix(out, "done\n") && !strings.Contains(string(res.Stderr.Data), "Error") {
				t.Fatalf("the attempt was not made: exit %d, stdout %q, stderr %q", res.Exit, out, res.Stderr.Data)
			}
			switch {
			case s.caps.Isolated && could:
				t.Errorf("a command got out: %s", out)
			case !s.caps.Isolated && a.without == succeeds && !could:
				t.Errorf("without isolation it should have succeeded: stdout %q, stderr %q", out, res.Stderr.Data)
			case !s.caps.Isolated && a.without == refused && could:
				t.Errorf("the unprivileged uid should have been refused: %s", out)
			}
			t.Logf("isolation %s: possible %v", res.Isolation, could)
		})
	}
}

const could = "\nprint('could', flush=True)"

func (s *suite) attempts(t *testing.T) []attempt {
	t.Helper()
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tcp.Close() })
	abstract := "@" + mark(t)
	ux, err := net.Listen("unix", abstract)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ux.Close() })
	port := strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port)

	neighbour := s.dir(t)
	s.give(t, filepath.Join(neighbour, "work.txt"), "of another")
	binary := s.copyOfSelf(t)
	tmp := hostTmp(t)
	hostPid := strconv.Itoa(os.Getpid())

	owner, _ := s.sb.Owner()
	signalParent := refused
	if owner == os.Geteuid() {
		signalParent = succeeds
	}
	return append([]attempt{
		{"network: host loopback", "socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)" + could, []string{port}, succeeds},
		{"network: abstract socket", "c = socket.socket(socket.AF_UNIX); c.connect('\\0' + sys.argv[1][1:])" + could, []string{abstract}, succeeds},
		{"network: a route out", "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.1', 9))" + could, nil, depends},
		{"network: interfaces", "if [n for _, n in socket.if_nameindex() if n != 'lo']: print('could')", nil, depends},
		{"network: hypervisor", "socket.socket(40, socket.SOCK_STREAM)" + could, nil, depends},
		{"network: packets", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)" + could, nil, refused},
		{"core pattern", "open('/proc/sys/kernel/core_pattern', 'w')" + could, nil, refused},
		{"sysrq", "open('/proc/sysrq-trigger', 'w')" + could, nil, refused},
		{"shadow", "open('/etc/shadow').read()" + could, nil, refused},
		{"shadow of pid 1", "open('/proc/1/root/etc/shadow').read()" + could, nil, refused},
		{"write the system", `
for d in ('/', '/usr', '/usr/bin', '/usr/lib', '/usr/share', '/usr/include', '/etc', '/lib', '/bin', '/dev', '/home', '/run', '/var'):
    try: open(d + '/tare-was-here', 'w')
    except OSError: pass
    else:
        os.unlink(d + '/tare-was-here')
        print('could')`, nil, refused},
		{"kernel settings", `
import re
# message queues, semaphores and shared memory are settings of the command's own IPC namespace, pid_max of its pid namespace
own = re.compile(r'/proc/sys/(fs/mqueue/.*|kernel/(msg\w+|sem|sem_next_id|shm\w+|auto_msgmni|pid_max|ns_last_pid))$')
for top, dirs, files in os.walk('/proc/sys'):
    for f in files:
        f = os.path.join(top, f)
        if own.match(f): continue
        try: os.close(os.open(f, os.O_WRONLY))
        except OSError: pass
        else: print(f, 'could')`, nil, depends},
		{"host processes", `
for p in os.listdir('/proc'):
    try:
        if p.isdigit() and sys.argv[1].encode() in open('/proc/%s/cmdline' % p, 'rb').read() and int(p) != os.getpid():
            if b'import os, sys, socket' not in open('/proc/%s/cmdline' % p, 'rb').read(): print('could')
    except OSError: pass`, []string{filepath.Base(os.Args[0])}, succeeds},
		{"signal the parent", "os.kill(int(sys.argv[1]), 0)" + could, []string{hostPid}, signalParent},
		{"neighbour's workspace", "open(sys.argv[1]).read()" + could, []string{filepath.Join(neighbour, "work.txt")}, succeeds},
		{"list the state directory", "os.listdir(sys.argv[1])" + could, []string{s.sb.StateDir()}, signalParent},
		{"read the tare binary", "open(sys.argv[1], 'rb').read(4)" + could, []string{binary}, succeeds},
		{"run the tare binary", "os.execv(sys.argv[1], ['sh', '-c', 'echo could; echo done'])", []string{binary}, succeeds},
		{"host /tmp", "open(sys.argv[1]).read()" + could, []string{tmp}, succeeds},
		{"host /usr/local", "os.listdir('/usr/local')" + could, nil, succeeds},
		{"host home", "if os.path.exists('/root') or os.listdir('/home') not in ([], ['tare']): print('could')", nil, succeeds},
		{"devices", `
known = {'null', 'zero', 'full', 'random', 'urandom', 'tty', 'pts', 'ptmx', 'shm', 'fd', 'stdin', 'stdout', 'stderr', 'core', 'console'}
if set(os.listdir('/dev')) - known: print('could')`, nil, depends},
		{"capabilities", `
for line in open('/proc/self/status'):
    k, v = line.split(':', 1)
    if k.startswith('Cap') and int(v, 16) or k == 'NoNewPrivs' and v.strip() != '1' or k == 'Seccomp' and v.strip() != '2': print(line, 'could')`, nil, succeeds},
		{"start-up hooks", `
for p in ('/etc/profile', '/etc/gitconfig', '/etc/pip.conf', '/etc/resolv.conf', '/etc/machine-id'):
    if os.path.exists(p): print('could')`, nil, succeeds},
	}, kernelAttempts()...)
}

// kernelAttempts lists what only system calls can do. libc is asked directly, so that no tool's own checks come between.
func kernelAttempts() []attempt {
	call := func(name, setup string) attempt {
		return attempt{name, "libc = ctypes.CDLL(None, use_errno=True)\nif " + setup + " >= 0: print('could')", nil, depends}
	}
	number := map[string][2]int{ // x86-64, arm64
		"keyctl": {250, 219}, "bpf": {321, 280}, "uring": {425, 425},
	}
	sys := func(name string) string {
		return fmt.Sprintf("(%d if os.uname().machine == 'x86_64' else %d)", number[name][0], number[name][1])
	}
	return []attempt{
		call("user namespace", "libc.unshare(0x10000000)"),
		call("user namespace by clone", "libc.syscall(56 if os.uname().machine == 'x86_64' else 220, 0x10000011, 0, 0, 0, 0)"),
		call("mount namespace", "libc.unshare(0x00020000)"),
		call("pid namespace", "libc.unshare(0x20000000)"),
		call("enter a namespace", "libc.setns(os.open('/proc/1/ns/user', os.O_RDONLY), 0)"),
		call("mount", "libc.mount(b'none', b'/tmp', b'tmpfs', 0, 0)"),
		call("unmount", "libc.umount2(b'/etc', 2)"),
		call("remount writable", "libc.mount(0, b'/usr/bin', 0, 0x20 | 0x1000, 0)"),
		call("keyring", "libc.syscall("+sys("keyctl")+", 0, -3, 1)"),
		call("bpf", "libc.syscall("+sys("bpf")+", 0, 0, 0)"),
		call("io_uring", "libc.syscall("+sys("uring")+", 1, ctypes.create_string_buffer(256))"),
		call("become root", "libc.setuid(0)"),
	}
}

// copyOfSelf puts a copy of the running program where every user of the host can run it.
func (s *suite) copyOfSelf(t *testing.T) string {
	t.Helper()
	// a shell will do for what is tried, and is smaller; what counts is that it lies outside the sandbox
	in, err := os.Open("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	dir, err := os.MkdirTemp(sandbox.TempDir(), "tare-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "tare")
	out, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// hostTmp makes a file in the host's /tmp that everybody can read.
func hostTmp(t *testing.T) string {
	t.Helper()
	f, err := os.CreateTemp("/tmp", "tare-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(f.Name()) })
	if err := f.Chmod(0o644); err != nil {
		t.Fatal(err)
	}
	f.Close()
	return f.Name()
}
