package sandboxtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tare/internal/sandbox"
)

func (s *suite) environment(t *testing.T) {
	const secret = "sk-should-never-be-seen"
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "PYTHONPATH", "PYTHONSTARTUP", "PYTEST_ADDOPTS", "LD_LIBRARY_PATH", "GOFLAGS", "GIT_DIR", "BASH_ENV", "ENV",
	} {
		t.Setenv(name, secret)
	}
	t.Run("nothing inherited", func(t *testing.T) {
		res := s.run(t, sandbox.Cmd{Argv: python(`import os
for k in sorted(os.environ): print(k)`)})
		got := strings.Fields(string(res.Stdout.Data))
		allowed := []string{"HOME", "LANG", "PATH", "PWD", "TMPDIR"}
		for _, k := range got {
			if !slices.Contains(allowed, k) && !(k == "TARE_RUN" && !s.caps.Isolated) {
				t.Errorf("%s is set inside", k)
			}
		}
		for _, k := range []string{"HOME", "LANG", "PATH", "TMPDIR"} {
			if !slices.Contains(got, k) {
				t.Errorf("%s is not set inside", k)
			}
		}
	})
	t.Run("what is named is passed", func(t *testing.T) {
		res := s.run(t, sandbox.Cmd{
			Argv: sh(`echo "$PYTHONPATH|$GOFLAGS|$LANG|$MULTI"`),
			Env:  map[string]string{"PYTHONPATH": "/x", "GOFLAGS": "-mod=mod", "LANG": "C", "MULTI": "a\nb=c"},
		})
		if got := string(res.Stdout.Data); got != "/x|-mod=mod|C|a\nb=c\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("HOME and TMPDIR", func(t *testing.T) {
		argv := sh(`test ! -e "$HOME/left" && test ! -e "$TMPDIR/left" && touch "$HOME/left" "$TMPDIR/left" && ls -A "$HOME" "$TMPDIR" | grep -c left`)
		for range 2 {
			res := s.run(t, sandbox.Cmd{Argv: argv})
			if string(res.Stdout.Data) != "2\n" {
				t.Errorf("not fresh, or not writable: %q %q", res.Stdout.Data, res.Stderr.Data)
			}
		}
	})
	t.Run("pid 1 tells nothing", func(t *testing.T) { s.pidOne(t, secret) })
	t.Run("memory file systems are bounded", func(t *testing.T) {
		if !s.caps.Isolated {
			t.Log("has the host's file systems") // reported by Isolation
			return
		}
		res := s.run(t, sandbox.Cmd{Argv: python(`import os
for d in ('/tmp', '/dev/shm', os.environ['HOME']):
    v = os.statvfs(d)
    print(v.f_blocks * v.f_frsize <= 1 << 30)
for line in open('/proc/self/mounts'):
    dev, dir, kind, opts = line.split()[:4]
    if kind == 'tmpfs' and 'rw' in opts.split(',') and 'size=' not in opts: print('unbounded', dir)`)})
		if got := string(res.Stdout.Data); got != "True\nTrue\nTrue\n" {
			t.Errorf("got %q %q", got, res.Stderr.Data)
		}
	})
}

// pidOne looks through /proc for what the host has to do with the run. Extra descriptors, a mount and standard input are
// there to be found.
func (s *suite) pidOne(t *testing.T, secret string) {
	dir := s.dir(t)
	res := s.run(t, sandbox.Cmd{
		Argv: python(`import os
for p in [p for p in os.listdir('/proc') if p.isdigit()] + ['self']:
    for f in ('environ', 'cmdline', 'comm'):
        try: print(open('/proc/%s/%s' % (p, f), 'rb').read())
        except OSError as e: pass
    try: fds = os.listdir('/proc/%s/fd' % p)
    except OSError: continue
    for fd in fds:
        try: print(os.readlink('/proc/%s/fd/%s' % (p, fd)))
        except OSError: pass
print('done')`),
		Dir: "/w", Stdin: []byte("x"), Extra: make([]sandbox.Extra, 1),
		Mounts: []sandbox.Mount{{Host: dir, Guest: "/w", Writable: true}},
	})
	out := string(res.Stdout.Data)
	if !strings.HasSuffix(out, "done\n") {
		t.Fatalf("exit %d, stderr %q", res.Exit, res.Stderr.Data)
	}
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, s := range []string{secret, dir, filepath.Dir(dir), cwd, os.Args[0], "bwrap", "tare-bridge"} {
		if strings.Contains(out, s) {
			found = true
			t.Logf("/proc holds %q", s)
		}
	}
	if found == s.caps.Isolated {
		t.Errorf("isolated %v, found something of the host %v", s.caps.Isolated, found)
	}
}

func (s *suite) mounts(t *testing.T) {
	t.Run("writable", func(t *testing.T) {
		dir := s.dir(t)
		s.give(t, filepath.Join(dir, "in"), "from outside")
		res := s.run(t, sandbox.Cmd{
			Argv: sh(`cat in; pwd; echo inside > out; mkdir d; chmod 755 d`), Dir: "/work",
			Mounts: []sandbox.Mount{{Host: dir, Guest: "/work", Writable: true}},
		})
		expect(t, res, 0, sandbox.LimitNone)
		want := "from outside/work\n"
		if !s.caps.Isolated {
			want = "from outside" + dir + "\n"
		}
		if string(res.Stdout.Data) != want {
			t.Errorf("stdout %q, want %q", res.Stdout.Data, want)
		}
		uid, _ := s.sb.Owner()
		info, err := os.Lstat(filepath.Join(dir, "out"))
		if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != uid {
			t.Errorf("what was written is not the owner's: %v, %v", info, err)
		}
	})
	t.Run("read-only", func(t *testing.T) {
		dir := s.dir(t)
		s.give(t, filepath.Join(dir, "in"), "x")
		res := s.run(t, sandbox.Cmd{
			Argv: sh(`cat /a/deep/place/in; echo y > /a/deep/place/in || rm /a/deep/place/in || chmod 777 /a/deep/place`), Mounts: []sandbox.Mount{{Host: dir, Guest: "/a/deep/place"}},
		})
		if refused := res.Exit != 0; refused != s.caps.Isolated || string(res.Stdout.Data) != "x" {
			t.Errorf("isolated %v, writing refused %v, stdout %q, stderr %q", s.caps.Isolated, refused, res.Stdout.Data, res.Stderr.Data)
		}
	})
	t.Run("one in another", func(t *testing.T) {
		outer, inner := s.dir(t), s.dir(t)
		s.give(t, filepath.Join(inner, "f"), "inner")
		res := s.run(t, sandbox.Cmd{
			Argv:   sh(`cat /work/sub/f`),
			Mounts: []sandbox.Mount{{Host: outer, Guest: "/work", Writable: true}, {Host: inner, Guest: "/work/sub"}},
		})
		if s.caps.Isolated && string(res.Stdout.Data) != "inner" {
			t.Errorf("stdout %q, stderr %q", res.Stdout.Data, res.Stderr.Data)
		}
	})
	t.Run("a single file", func(t *testing.T) {
		dir := s.dir(t)
		s.give(t, filepath.Join(dir, "f"), "one file")
		res := s.run(t, sandbox.Cmd{Argv: sh(`cat /probe/f; ls /probe`), Mounts: []sandbox.Mount{{Host: filepath.Join(dir, "f"), Guest: "/probe/f"}}})
		if s.caps.Isolated && string(res.Stdout.Data) != "one filef\n" {
			t.Errorf("stdout %q, stderr %q", res.Stdout.Data, res.Stderr.Data)
		}
	})
	t.Run("toolchain", func(t *testing.T) {
		tc, err := sandbox.FindToolchain("go")
		if err != nil {
			t.Log(err) // a machine with its Go under /root, or a test binary on a machine without Go
			return
		}
		cmd := sandbox.Cmd{Argv: []string{"go", "env", "GOOS"}, Env: tc.Env}
		if tc.Mount.Host != "" {
			cmd.Mounts = []sandbox.Mount{tc.Mount}
		}
		res := s.run(t, cmd)
		expect(t, res, 0, sandbox.LimitNone)
	})
	if s.caps.Isolated {
		t.Run("refused", s.refusedMounts)
	}
	t.Run("sanitizer", s.sanitizer)
}

// refusedMounts names what is never shown.
func (s *suite) refusedMounts(t *testing.T) {
	dir := s.dir(t)
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	for _, m := range []sandbox.Mount{
		{Host: "/"}, {Host: "/usr/local"}, {Host: "/etc"}, {Host: "/root"}, {Host: "/usr/../etc"}, {Host: link},
		{Host: s.sb.StateDir()}, {Host: filepath.Dir(s.sb.StateDir())}, {Host: s.sb.LastingDir()}, {Host: "/var/tmp", Writable: true},
		{Host: "/usr/share", Writable: true}, {Host: filepath.Dir(os.Args[0])}, {Host: filepath.Join(dir, "missing")},
	} {
		m.Guest = "/m"
		if res, err := s.sb.Run(t.Context(), sandbox.Cmd{Argv: sh(`ls /m`), Mounts: []sandbox.Mount{m}}); err == nil {
			t.Errorf("%s (writable %v) was mounted: %.200q", m.Host, m.Writable, res.Stdout.Data)
		}
	}
}

// sanitizer builds and runs a C program under AddressSanitizer, whose leak check needs /proc and traces its own threads.
func (s *suite) sanitizer(t *testing.T) {
	if _, err := os.Stat("/usr/bin/gcc"); err != nil {
		t.Fatal("this test needs gcc: apt-get install gcc libc6-dev")
	}
	dir := s.dir(t)
	s.give(t, filepath.Join(dir, "a.c"), `#include <stdlib.h>
int main(int n, char **v) { char *p = malloc(8); if (n == 2) { volatile char *q = malloc(9); q = 0; } if (n == 3) return p[8]; free(p); return 0; }`)
	at := []sandbox.Mount{{Host: dir, Guest: "/w", Writable: true}}
	res := s.run(t, sandbox.Cmd{Argv: []string{"/usr/bin/gcc", "-O0", "-fsanitize=address", "-o", "a", "a.c"}, Dir: "/w", Mounts: at})
	expect(t, res, 0, sandbox.LimitNone)
	for _, c := range []struct {
		args   []string
		exit   int
		report string
	}{{nil, 0, ""}, {[]string{"leak"}, 99, "LeakSanitizer"}, {[]string{"over", "flow"}, 99, "heap-buffer-overflow"}} {
		res := s.run(t, sandbox.Cmd{
			Argv: append([]string{"./a"}, c.args...), Dir: "/w", Mounts: at, Limits: sandbox.Limits{Memory: 256 << 20},
			Env: map[string]string{"ASAN_OPTIONS": "exitcode=99:symbolize=0"},
		})
		if res.Exit != c.exit || !strings.Contains(string(res.Stderr.Data), c.report) {
			t.Errorf("%v: exit %d, stderr %.300q", c.args, res.Exit, res.Stderr.Data)
		}
	}
}

func (s *suite) forwards(t *testing.T) {
	if !s.caps.Forwards {
		_, err := s.sb.Run(t.Context(), sandbox.Cmd{Argv: sh(`:`), Forwards: []sandbox.Forward{{Port: 8080, Socket: "/x"}}})
		if err == nil {
			t.Error("a forward without a bridge is no error")
		}
		return
	}
	dir, err := s.sb.NewDir("f")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go shout(l)
	port := freePort(t)
	forward := []sandbox.Forward{{Port: port, Socket: socket}}

	t.Run("many connections, half closed", func(t *testing.T) {
		res := s.run(t, sandbox.Cmd{Argv: python(`import os, socket, sys, threading
bad = []
def one(i):
    try:
        c = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
        data = b'line %d\n' % i * 2000
        threading.Thread(target=lambda: (c.sendall(data), c.shutdown(socket.SHUT_WR))).start()
        got = b''
        while True:
            p = c.recv(65536)
            if not p: break
            got += p
        if got != data.upper() + b'END': bad.append((i, len(got)))
    except Exception as e: bad.append((i, repr(e)))
ts = [threading.Thread(target=one, args=(i,)) for i in range(40)]
for t in ts: t.start()
for t in ts: t.join()
os.write(3, repr(bad).encode())
sys.exit(5)`, fmt.Sprint(port)), Forwards: forward, Extra: make([]sandbox.Extra, 1)})
		expect(t, res, 5, sandbox.LimitNone)
		if got := string(res.Extra[0].Data); got != "[]" {
			t.Errorf("bad answers: %s", got)
		}
	})
	t.Run("ends as the command ends", func(t *testing.T) {
		m := mark(t)
		res := s.run(t, sandbox.Cmd{Argv: sh(`sleep 1000 & kill -TERM $$`, m), Forwards: forward})
		if res.Signal != "SIGTERM" {
			t.Errorf("exit %d, signal %q, stderr %q", res.Exit, res.Signal, res.Stderr.Data)
		}
		if pids := running(t, m); len(pids) > 0 {
			t.Errorf("still running: %v", pids)
		}
		expect(t, s.run(t, sandbox.Cmd{Argv: []string{"no-such-command"}, Forwards: forward}), 127, sandbox.LimitNone)
		res = s.run(t, sandbox.Cmd{Argv: sh(`sleep 1000`), Forwards: forward, Limits: sandbox.Limits{Wall: 300e6}})
		expect(t, res, 137, sandbox.LimitWall)
	})
	t.Run("at a path", func(t *testing.T) {
		at := sandbox.Forward{Path: "/run/served/x.sock", Socket: socket}
		res := s.run(t, sandbox.Cmd{Argv: python(`import os, socket, sys
c = socket.socket(socket.AF_UNIX); c.connect(os.environ['AT']); c.sendall(b'word'); c.shutdown(socket.SHUT_WR)
got = b''
while p := c.recv(100): got += p
bad = []
if sys.argv[1] == 'isolated':
    for what in (lambda: os.rename(os.environ['AT'], '/run/served/y'), lambda: os.remove(os.environ['AT']), lambda: os.rename('/run/served', '/run/moved'),
                 lambda: os.chmod(os.environ['AT'], 0o600), lambda: open('/run/served/z', 'w')):
        try: what(); bad.append('it could')
        except OSError: pass
print(got, bad)`, map[bool]string{true: "isolated", false: "not"}[s.sb.Isolation() != sandbox.IsolationProcess]), Env: map[string]string{"AT": at.Path}, Forwards: []sandbox.Forward{at}})
		expect(t, res, 0, sandbox.LimitNone)
		if got := string(res.Stdout.Data); got != "b'WORDEND' []\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("not a socket", func(t *testing.T) {
		for _, p := range []string{dir, filepath.Join(dir, "missing")} {
			if _, err := s.sb.Run(t.Context(), sandbox.Cmd{Argv: sh(`:`), Forwards: []sandbox.Forward{{Port: port, Socket: p}}}); err == nil {
				t.Errorf("%s was forwarded", p)
			}
		}
	})
}

// freePort finds a port that backend process can listen on, too.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// shout answers in capitals, and with END once the other side has ended.
func shout(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			r := bufio.NewReader(c)
			buf := make([]byte, 4096)
			for {
				n, err := r.Read(buf)
				c.Write(bytes.ToUpper(buf[:n]))
				if err != nil {
					io.WriteString(c, "END")
					return
				}
			}
		}()
	}
}
