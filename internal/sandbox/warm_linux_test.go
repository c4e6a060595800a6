package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/sandbox"
	"tare/internal/sandbox/sandboxtest"
)

// execResident becomes whatever command it is given, so that any command can be run warm.
const execResident = `import os, signal, sys
sys.path.insert(0, sys.argv[1])
import tare_resident
argv = tare_resident.serve(3)
for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, for itself
    signal.signal(ignored, signal.SIG_DFL)
try:
    os.execvp(argv[0], argv)
except OSError:
    os._exit(127)
`

// A warmed is a sandbox in which every command is forked from a resident.
type warmed struct {
	sandbox.Sandbox
	warm *sandbox.Warm
	t    *testing.T
}

func warmUp(t *testing.T, sb sandbox.Sandbox, program string) warmed {
	t.Helper()
	dir, err := sb.Keep("test-resident", func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "resident.py"), []byte(program), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return warmed{sb, &sandbox.Warm{
		Argv:   []string{sandboxtest.Python, "-s", "-S", "-B", "/srv/test/resident.py", sandbox.ResidentDir},
		Mounts: []sandbox.Mount{{Host: dir, Guest: "/srv/test"}},
	}, t}
}

func (w warmed) Run(ctx context.Context, cmd sandbox.Cmd) (sandbox.Result, error) {
	cmd.Warm = w.warm
	res, err := w.Sandbox.Run(ctx, cmd)
	can := len(cmd.Forwards) == 0 && res.Exit != -1
	for _, m := range cmd.Mounts {
		can = can && strings.HasPrefix(m.Host, w.StateDir()) // the system's toolchains are not
	}
	if err == nil && can && !res.Warm {
		w.t.Errorf("%.80q was started cold: %s", cmd.Argv, sandbox.ColdBecause(w.Sandbox))
	}
	return res, err
}

// TestBwrapWarm is the conformance suite with every command that can be forked from a resident forked from one.
func TestBwrapWarm(t *testing.T) {
	sandboxtest.Run(t, func(t *testing.T) sandbox.Sandbox { return warmUp(t, open("bwrap")(t), execResident) },
		sandboxtest.Caps{Isolation: sandbox.IsolationBwrap, Isolated: true, Forwards: true})
}

// evalResident runs the text that it is given as Python, in the fork itself: what the resident left in memory is there.
const evalResident = `import sys
sys.path.insert(0, sys.argv[1])
import tare_resident
argv = tare_resident.serve(3)
exec(compile(argv[-1], 'run', 'exec'), {'__name__': 'run'})
`

// eval runs text in a fork of w's resident, and fails the test when it does not end well.
func (w warmed) eval(t *testing.T, cmd sandbox.Cmd, text string) string {
	t.Helper()
	cmd.Argv = []string{sandboxtest.Python, "-c", text}
	res, err := w.Run(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	if res.Exit != 0 || res.Ended != "" {
		t.Fatalf("exit %d, ended by %q: %s", res.Exit, res.Ended, res.Stderr.Data)
	}
	return string(res.Stdout.Data)
}

// TestResidentIsOutOfReach tries from inside what would make of a resident's fork more than a run of its own. Each attempt
// prints when it succeeds.
func TestResidentIsOutOfReach(t *testing.T) {
	sb := warmUp(t, open("bwrap")(t), evalResident)
	defer sb.Close()
	for name, text := range map[string]string{
		"see it": `
import os
me = {'1', str(os.getpid())}
for p in os.listdir('/proc'):
    if p.isdigit() and p not in me: print('sees', p)
if os.getppid() != 1: print('has a parent', os.getppid())`,
		"signal it": `
import os, signal
for pid in list(range(3, 3000)) + [-2, -3]:
    try: os.kill(pid, 0); print('can signal', pid)
    except OSError: pass
for sig in (signal.SIGKILL, signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    os.kill(1, sig)`,
		"trace it, or what waits for the run": `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for pid in [0, 1] + list(range(3, 200)):
    if libc.ptrace(16, pid, 0, 0) == 0 or libc.ptrace(0x4206, pid, 0, 0) == 0: print('traces', pid)`,
		"write to the memory of what waits": `
import ctypes, os
for name in ['mem', 'environ', 'maps', 'cwd', 'root', 'ns/user'] + ['fd/%d' % fd for fd in range(64)]:
    path = '/proc/1/' + name
    try: print('leads to', name, os.readlink(path))
    except OSError: pass
    for flags in (os.O_RDONLY, os.O_WRONLY):
        try: print('opens', name, os.read(os.open(path, flags), 1))
        except OSError: pass
libc = ctypes.CDLL(None, use_errno=True)
buf = ctypes.create_string_buffer(8)
iov = (ctypes.c_size_t * 2)(ctypes.addressof(buf), 8)
if libc.process_vm_writev(1, iov, 1, iov, 1, 0) >= 0: print('writes by iov')`,
		"talk to it": `
import gc, os, stat
for fd in os.listdir('/proc/self/fd'):
    if int(fd) > 2 and os.path.exists('/proc/self/fd/' + fd): print('has descriptor', fd, os.readlink('/proc/self/fd/' + fd))
for fd in (0, 1, 2):
    if stat.S_ISSOCK(os.fstat(fd).st_mode): print('standard stream is a socket')`,
		"reach the trees of others": `
import os
for path in ('/run/tare', '/run/tare/state', '/run/tare/tare_resident.py', '/tmp/.tare', '/oldroot'):
    if os.path.lexists(path): print('there is', path)
if 'tare_resident' in open('/proc/self/mountinfo').read() or '/run/tare' in open('/proc/self/mountinfo').read(): print('is mounted')`,
		"undo what was given up": `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for name, flag in (('user', 0x10000000), ('mount', 0x20000), ('pid', 0x20000000), ('net', 0x40000000), ('cgroup', 0x2000000)):
    if libc.unshare(flag) == 0: print('new', name, 'namespace')
for path in ('/proc/sys/user/max_user_namespaces', '/proc/self/uid_map', '/proc/self/setgroups', '/proc/self/oom_score_adj'):
    if path.endswith('adj'): continue
    try: os.write(os.open(path, os.O_WRONLY), b'100'); print('wrote', path)
    except OSError: pass
for line in open('/proc/self/status'):
    if line.startswith('Cap') and int(line.split()[1], 16) or line.startswith('NoNewPrivs') and line.split()[1] != '1': print(line)
import resource
for r in (resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU, resource.RLIMIT_CORE):
    soft, hard = resource.getrlimit(r)
    try: resource.setrlimit(r, (hard + 1, hard + 1)); print('raised', r)
    except (ValueError, OSError): pass`,
	} {
		t.Run(name, func(t *testing.T) {
			if out := sb.eval(t, sandbox.Cmd{}, text); out != "" {
				t.Errorf("from inside: %s", out)
			}
		})
	}
	if n := sandbox.ResidentsStarted(sb.Sandbox); n != 1 {
		t.Errorf("%d residents were started for it, not the same one throughout", n)
	}
}

// TestRunsAreApart has one run leave what it can, and the next look for it.
func TestRunsAreApart(t *testing.T) {
	sb := warmUp(t, open("bwrap")(t), evalResident)
	defer sb.Close()
	sb.eval(t, sandbox.Cmd{Stdin: []byte("the-secret-of-one-run")}, `
import builtins, gc, os, sys
sys.stdin.read()
builtins.left = sys.left = True
sys.modules['json'].loads = lambda *_: print('poisoned')
for o in gc.get_objects():
    if type(o).__name__ == 'Resident': o.moved = ['/', '/']; o.seccomp = b''
for d in ('/tmp', '/dev/shm', os.environ['HOME'], '/var/tmp'): open(d + '/left', 'w')
import socket; s = socket.socket(socket.AF_UNIX); s.bind('\0left'); s.listen()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        import time; time.sleep(1000)
    os._exit(0)
os.wait()`)
	out := sb.eval(t, sandbox.Cmd{Stdin: []byte("x")}, `
import builtins, glob, os, re, socket, sys
if hasattr(builtins, 'left') or hasattr(sys, 'left'): print('a module was changed')
for f in glob.glob('/tmp/*') + glob.glob('/dev/shm/*') + glob.glob(os.environ['HOME'] + '/*'): print('found', f)
s = socket.socket(socket.AF_UNIX)
try: s.connect('\0left'); print('connected')
except OSError: pass
if len([p for p in os.listdir('/proc') if p.isdigit()]) != 2: print('processes', os.listdir('/proc'))
if 'Seccomp:\t2' not in open('/proc/self/status').read(): print('no filter')
# in two parts, so that this run's own copy is not what is found
first, rest = bytes(c ^ 1 for c in b'uid,rdbs'), bytes(c ^ 1 for c in b'du,ng,nod,sto')
memory = open('/proc/self/mem', 'rb', 0)
for line in open('/proc/self/maps'):
    a, b, mode = re.match(r'(\w+)-(\w+) (\S+)', line).groups()
    if mode.startswith('rw'):
        memory.seek(int(a, 16))
        try: part = memory.read(int(b, 16) - int(a, 16))
        except OSError: continue
        at = part.find(first)
        while at >= 0:
            if part.startswith(rest, at + len(first)): print('read the input of another run', line)
            at = part.find(first, at + 1)
print('looked for', len(first + rest))`)
	if out != "looked for 21\n" {
		t.Errorf("the second run: %s", out)
	}
	if n := sandbox.ResidentsStarted(sb.Sandbox); n != 1 {
		t.Errorf("%d residents were started, so the two runs did not have the same one", n)
	}
}

// TestWarmNeedsNoFilter tries what the system call filter also refuses where there is none.
func TestWarmNeedsNoFilter(t *testing.T) {
	inner := open("bwrap")(t)
	sandbox.WithoutSeccomp(inner)
	sb := warmUp(t, inner, evalResident)
	defer sb.Close()
	if out := sb.eval(t, sandbox.Cmd{}, `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, flag in (('user', 0x10000000), ('mount', 0x20000), ('pid', 0x20000000), ('net', 0x40000000)):
    if libc.unshare(flag) == 0: print('new', name, 'namespace')
if libc.umount2(b'/etc', 2) == 0: print('unmounted')
if libc.mount(None, b'/usr/bin', None, 0x20 | 0x1000, None) == 0: print('made writable')`); out != "" {
		t.Errorf("from inside: %s", out)
	}
}

// TestNeighboursAreApart has two runs of one resident at a time: neither meets the other.
func TestNeighboursAreApart(t *testing.T) {
	sb := warmUp(t, open("bwrap")(t), evalResident)
	defer sb.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	under, done := make(chan struct{}), make(chan struct{})
	begun := sync.OnceFunc(func() { close(under) })
	go func() {
		defer close(done)
		res, err := sb.Run(t.Context(), sandbox.Cmd{Argv: []string{"x", `
import ctypes, socket, sys
a = socket.socket(socket.AF_UNIX); a.bind('\0neighbour'); a.listen()
b = socket.socket(); b.bind(('127.0.0.1', 7777)); b.listen()
libc = ctypes.CDLL(None)
libc.shmget(4711, 4096, 0o1666)
pty = open('/dev/ptmx', 'rb+', 0)
print('here', flush=True)
sys.stdin.read()`}, StdinFile: r, OnOutput: func(int, []byte) { begun() }})
		if err != nil || res.Exit != 0 {
			t.Errorf("%+v, %v", res, err)
		}
		begun()
	}()
	<-under
	out := sb.eval(t, sandbox.Cmd{}, `
import ctypes, os, socket
for family, at in ((socket.AF_UNIX, '\0neighbour'), (socket.AF_INET, ('127.0.0.1', 7777))):
    try: socket.socket(family).connect(at); print('connected to', at)
    except OSError: pass
if ctypes.CDLL(None).shmget(4711, 4096, 0o666) >= 0: print('found shared memory')
if set(os.listdir('/dev/pts')) != {'ptmx'}: print('found a terminal')
l = socket.socket(); l.bind(('127.0.0.1', 7777)); l.listen(); socket.create_connection(('127.0.0.1', 7777))
print('looked')`)
	w.Close()
	<-done
	if out != "looked\n" {
		t.Errorf("the second run: %s", out)
	}
	if n := sandbox.ResidentsStarted(sb.Sandbox); n != 1 {
		t.Errorf("%d residents were started, so the two runs did not have the same one", n)
	}
}

// TestResidentIsThrownAway shows when: after a run that had to be stopped or that crashed, and only then; and that a run
// which is under way meanwhile goes on to its end.
func TestResidentIsThrownAway(t *testing.T) {
	sb := warmUp(t, open("bwrap")(t), evalResident)
	defer sb.Close()
	for range 3 {
		sb.eval(t, sandbox.Cmd{}, "pass")
	}
	want := func(n int) {
		t.Helper()
		if got := sandbox.ResidentsStarted(sb.Sandbox); got != n {
			t.Fatalf("%d residents were started, want %d", got, n)
		}
	}
	want(1)
	under, done := make(chan struct{}), make(chan struct{})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	begun := sync.OnceFunc(func() { close(under) })
	go func() {
		defer close(done)
		res, err := sb.Run(t.Context(), sandbox.Cmd{
			Argv: []string{sandboxtest.Python, "-c", "import sys; print('here', flush=True); print(sys.stdin.read())"}, StdinFile: r,
			OnOutput: func(int, []byte) { begun() },
			Limits:   sandbox.Limits{Wall: time.Minute},
		})
		if err != nil || string(res.Stdout.Data) != "here\nbye\n" {
			t.Errorf("the run that was under way: %q, %v", res.Stdout.Data, err)
		}
	}()
	<-under
	for text, ended := range map[string]sandbox.Limit{"while True: pass": sandbox.LimitCPU, "import os; os.abort()": ""} {
		before := sandbox.ResidentsStarted(sb.Sandbox)
		res, err := sb.Run(t.Context(), sandbox.Cmd{Argv: []string{"x", text}, Limits: sandbox.Limits{CPU: 100 * time.Millisecond}})
		if err != nil || res.Ended != ended || ended == "" && res.Signal != "SIGABRT" {
			t.Errorf("%s: ended by %q, signal %q, %v", text, res.Ended, res.Signal, err)
		}
		sb.eval(t, sandbox.Cmd{}, "pass")
		want(before + 1)
	}
	w.Write([]byte("bye"))
	w.Close()
	<-done
	r.Close()
}

// TestColdInstead has commands that ask to be warm where they cannot be: they run all the same, and say so.
func TestColdInstead(t *testing.T) {
	argv := []string{sandboxtest.Python, "-c", "print('ran')"}
	for name, sb := range map[string]sandbox.Sandbox{
		"asked for": func() sandbox.Sandbox {
			o := options("bwrap")
			o.Cold = true
			sb, err := sandbox.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			return sb
		}(),
		"the resident ends":       open("bwrap")(t),
		"the resident is no good": open("bwrap")(t),
		"process":                 open("process")(t),
		"bwrap-seccomp": func() sandbox.Sandbox {
			sb := open("bwrap")(t)
			sandbox.ForceKind(sb, sandbox.IsolationBwrapSeccomp)
			return sb
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			defer sb.Close()
			program := execResident
			switch name {
			case "the resident ends":
				program = "raise SystemExit('no use')"
			case "the resident is no good":
				program = strings.Replace(execResident, "argv = ", "tare_resident.Run.make_world = lambda self: 1 / 0\nargv = ", 1)
			}
			w := warmUp(t, sb, program)
			for range 5 {
				res, err := w.Sandbox.Run(t.Context(), sandbox.Cmd{Argv: argv, Warm: w.warm})
				if err != nil || string(res.Stdout.Data) != "ran\n" || res.Warm {
					t.Fatalf("%q, warm %v, %v", res.Stdout.Data, res.Warm, err)
				}
			}
			if why := sandbox.ColdBecause(sb); why == "" {
				t.Error("nothing says why")
			} else {
				t.Log(why)
			}
			if strings.HasPrefix(name, "the resident") && sandbox.ResidentsStarted(sb) != 3 {
				t.Errorf("%d residents were tried, not 3", sandbox.ResidentsStarted(sb))
			}
		})
	}
}

// TestResidentDies kills the resident under a run: the run is lost and says so, and the next has another.
func TestResidentDies(t *testing.T) {
	sb := warmUp(t, open("bwrap")(t), evalResident)
	defer sb.Close()
	_, err := sb.Run(t.Context(), sandbox.Cmd{
		Argv:     []string{"x", "import time; print('here', flush=True); time.sleep(1000)"},
		OnOutput: func(int, []byte) { sandbox.KillResidents(sb.Sandbox) },
		Limits:   sandbox.Limits{Wall: time.Minute},
	})
	if err == nil {
		t.Error("a run whose resident was killed came to a result")
	}
	if out := sb.eval(t, sandbox.Cmd{}, "print('ran')"); out != "ran\n" {
		t.Errorf("the next: %q", out)
	}
}

// TestAhead: a resident that was started before there was a command is the one that the command is forked from, it finds the
// directories that it asked for, and closing does not wait for who would use it.
func TestAhead(t *testing.T) {
	sb := open("bwrap")(t)
	if sb.Isolation() != sandbox.IsolationBwrap {
		t.Skipf("isolation %s has no residents", sb.Isolation())
	}
	w := warmUp(t, sb, strings.Replace(execResident, "argv = ", "assert os.listdir('/srv/a/b') == []\nargv = ", 1))
	w.warm.Dirs = []string{"/srv/a/b"}
	ahead := sb.(sandbox.Aheader)
	ahead.Ahead(w.warm)
	ahead.Ahead(w.warm)
	if n := sandbox.ResidentsStarted(sb); n != 1 {
		t.Errorf("%d residents were started", n)
	}
	res, err := w.Run(t.Context(), sandbox.Cmd{Argv: []string{"/bin/sh", "-c", "ls /srv"}})
	if err != nil || !res.Warm || strings.TrimSpace(string(res.Stdout.Data)) != "" {
		t.Errorf("%+v, %v: %q", res, err, res.Stdout.Data)
	}
	if n := sandbox.ResidentsStarted(sb); n != 1 {
		t.Errorf("%d residents were started for a command", n)
	}
	other := *w.warm
	other.Env = map[string]string{"A": "b"}
	ahead.Ahead(&other)
	if err := sb.Close(); err != nil {
		t.Error(err)
	}
	ahead.Ahead(w.warm)
	if n := sandbox.ResidentsStarted(sb); n != 2 {
		t.Errorf("%d residents were started, one of them after the end", n)
	}
}
