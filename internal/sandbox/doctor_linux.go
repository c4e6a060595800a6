package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Doctor tries, one after the other, what runs need of this machine. Everything that can be tried from inside a sandbox
// is tried from there.
func Doctor(ctx context.Context, o Options) []Finding {
	var list []Finding
	add := func(f Finding) { list = append(list, f) }
	add(doctorBubblewrap(ctx))
	o.Backend = ""
	sb, err := Open(ctx, o)
	if err != nil {
		f := Finding{Name: "sandbox", Detail: err.Error(), Mend: userNamespaces}
		if u := (*Unavailable)(nil); errors.As(err, &u) {
			f.Detail, f.Mend = u.Reason, u.Mend
		}
		add(f)
		for _, n := range needs { // seen from here, where they cannot be tried from inside
			add(n.look(ctx))
		}
		return list
	}
	defer sb.Close()
	add(Finding{Name: "sandbox", OK: true, Detail: sb.Isolation()})
	uid, _ := sb.Owner()
	add(Finding{Name: "state root", OK: true, Detail: fmt.Sprintf("%s, reached as uid %d", sb.StateDir(), uid)})
	add(doctorMemory(ctx, sb))
	add(doctorWarm(ctx, sb))
	for _, e := range escapes() {
		add(e.try(ctx, sb))
	}
	for _, n := range needs {
		add(n.try(ctx, sb))
	}
	return list
}

func doctorBubblewrap(ctx context.Context) Finding {
	f := Finding{Name: "bubblewrap", Mend: "apt-get install bubblewrap"}
	program, err := findBwrap()
	if err != nil {
		f.Detail = "not installed"
		return f
	}
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		f.Detail = fmt.Sprintf("%s --version: %v", program, err)
		return f
	}
	return Finding{Name: f.Name, OK: true, Detail: program + ", " + strings.TrimSpace(string(out))}
}

func doctorMemory(ctx context.Context, sb Sandbox) Finding {
	res, err := sb.Run(ctx, Cmd{Argv: []string{"/bin/sh", "-c", ":"}})
	switch {
	case err != nil:
		return Finding{Name: "memory limit", Detail: "the sandbox started no command: " + err.Error(), Mend: startMend}
	case res.MemoryBy == "none":
		return Finding{
			Name: "memory limit", OK: true,
			Detail: "no control group can be made here; memory is sampled, and a quick allocation may pass the limit for a moment",
		}
	}
	return Finding{Name: "memory limit", OK: true, Detail: res.MemoryBy}
}

// startMend is for a sandbox that could be opened and then starts nothing.
const startMend = "try again; if that does not help, restart the machine or its container: it is out of processes, memory or mounts"

// doctorWarm tries to fork a command from a resident. Where that cannot be, all works as well, and slower.
func doctorWarm(ctx context.Context, sb Sandbox) Finding {
	f := Finding{Name: "warm start", OK: true}
	program := fmt.Sprintf("import sys\nsys.path.insert(0, %q)\nimport tare_resident\ntare_resident.serve(3)", ResidentDir)
	argv := []string{"/usr/bin/python3", "-S", "-c", program}
	var took time.Duration
	for range 2 { // the first one starts the resident
		began := time.Now()
		res, err := sb.Run(ctx, Cmd{Argv: argv[:3], Warm: &Warm{Argv: argv}})
		took = time.Since(began)
		if err != nil || !res.Warm {
			f.Detail = "each run starts an interpreter of its own: " + coldBecause(sb)
			return f
		}
	}
	f.Detail = fmt.Sprintf("a run can be forked from an interpreter that is kept ready, in %d ms", took.Milliseconds())
	return f
}

// coldBecause says why sb forks no commands.
func coldBecause(sb Sandbox) string {
	b, ok := sb.(*bwrap)
	switch {
	case !ok || b.kind != IsolationBwrap:
		return "isolation " + sb.Isolation() + " has no way to"
	case b.cold:
		return "as asked for"
	case !countsPerNamespace():
		return "this kernel counts processes by user, not by namespace"
	}
	b.residents.mu.Lock()
	defer b.residents.mu.Unlock()
	if b.residents.lastErr != nil {
		return b.residents.lastErr.Error()
	}
	return "a fork could not be made"
}

// An attempt is something that a command inside must not be able to do. The script exits with 0 when it could.
type attempt struct {
	name, script string
	host         net.Listener // what it tries to reach; nil for most
}

// escapes lists the attempts.
func escapes() []attempt {
	list := []attempt{
		{name: "kernel settings refused", script: `: > /proc/sys/kernel/core_pattern`},
		{name: "host accounts hidden", script: `cat /etc/shadow`},
		{name: "user namespaces refused inside", script: `unshare --user true`},
		{name: "system read-only", script: `touch /usr/bin/x || touch /usr/lib/x || touch /etc/x`},
		{name: "host environment hidden", script: `tr '\0' '\n' < /proc/1/environ | grep -v -E '^(HOME|PATH|LANG|TMPDIR|PWD|OLDPWD|SHLVL|_)='`},
	}
	if l, err := net.Listen("tcp4", "127.0.0.1:0"); err == nil {
		script := fmt.Sprintf(`: > /dev/tcp/127.0.0.1/%d || : > /dev/tcp/192.0.2.1/80`, l.Addr().(*net.TCPAddr).Port)
		list = append(list, attempt{name: "network refused", script: script, host: l})
	}
	return list
}

func (a attempt) try(ctx context.Context, sb Sandbox) Finding {
	if a.host != nil {
		defer a.host.Close()
	}
	res, err := sb.Run(ctx, Cmd{
		// the mark tells an attempt that failed from one that was never made
		Argv:   []string{"/bin/bash", "-c", "echo tried; { " + a.script + "; } > /dev/null"},
		Limits: Limits{Wall: 20 * time.Second},
	})
	return a.finding(res, err, sb.Isolation())
}

// finding says what came of the attempt. What the tools inside say, "Permission denied" most often, is good news and must
// read like it.
func (a attempt) finding(res Result, err error, isolation string) Finding {
	f := Finding{Name: a.name, Mend: startMend}
	switch {
	case err != nil:
		f.Detail = "the sandbox started no command: " + err.Error()
	case string(bytes.TrimSpace(res.Stdout.Data)) != "tried" || res.Ended != LimitNone:
		f.Detail = "it could not be tried inside"
		if why := firstLine(res.Stderr.Data); why != "" {
			f.Detail += ": " + why
		}
	case res.Exit == 0:
		f.Detail = "a command inside could do it: " + a.script
		f.Mend = "do not run untrusted code here: " + isolation + " does not hold on this machine; take another, or a virtual machine"
	default:
		f = Finding{Name: a.name, OK: true, Detail: "tried inside, in vain"}
		if said := firstLine(res.Stderr.Data); said != "" {
			if i := strings.LastIndex(said, ": "); i >= 0 {
				said = said[i+2:] // what is before it names the tool and the place
			}
			f.Detail += " (" + said + ")"
		}
	}
	return f
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	return string(line[:min(len(line), 200)])
}

// A need is a program that tasks use and that must work inside.
type need struct {
	name     string
	argv     []string
	packages string // Debian's
}

var needs = []need{
	{"python3", []string{"/usr/bin/python3", "--version"}, "python3"},
	{"pytest", []string{"/usr/bin/python3", "-m", "pytest", "--version"}, "python3-pytest"},
	{"gcc", []string{"/usr/bin/gcc", "--version"}, "gcc libc6-dev"},
	{"git", []string{"/usr/bin/git", "--version"}, "git"},
}

// look runs it on the host, where there is no sandbox to try it in.
func (n need) look(ctx context.Context) Finding {
	if f, ok := n.missing(); ok {
		return f
	}
	out, err := exec.CommandContext(ctx, n.argv[0], n.argv[1:]...).CombinedOutput()
	if err != nil {
		if len(bytes.TrimSpace(out)) == 0 {
			out = []byte(err.Error())
		}
		return n.broken("here", out)
	}
	return Finding{Name: n.name, OK: true, Detail: firstLine(out)}
}

func (n need) try(ctx context.Context, sb Sandbox) Finding {
	if f, ok := n.missing(); ok {
		return f
	}
	res, err := sb.Run(ctx, Cmd{Argv: n.argv})
	said := res.Stdout.Data
	if len(bytes.TrimSpace(said)) == 0 {
		said = res.Stderr.Data
	}
	switch {
	case err != nil:
		return Finding{Name: n.name, Detail: "the sandbox started no command: " + err.Error(), Mend: startMend}
	case res.Ended != LimitNone:
		return Finding{Name: n.name, Detail: fmt.Sprintf("%s was ended by the limit on %s", n.argv[0], res.Ended), Mend: "try again when the machine has less to do"}
	case res.Exit != 0 || res.Signal != "":
		return n.broken("inside", said)
	}
	return Finding{Name: n.name, OK: true, Detail: firstLine(said)}
}

// missing says that the program is not there at all, if it is not.
func (n need) missing() (Finding, bool) {
	if _, err := os.Stat(n.argv[0]); !errors.Is(err, fs.ErrNotExist) {
		return Finding{}, false
	}
	return Finding{Name: n.name, Detail: n.argv[0] + " is not there", Mend: "apt-get install " + n.packages}, true
}

// broken says that the program is there, and what it said instead of its version.
func (n need) broken(where string, said []byte) Finding {
	if bytes.Contains(said, []byte("No module named "+n.name)) {
		return Finding{Name: n.name, Detail: n.argv[0] + " has no module " + n.name, Mend: "apt-get install " + n.packages}
	}
	f := Finding{Name: n.name, Detail: n.argv[0] + " does not run " + where, Mend: "apt-get install --reinstall " + n.packages}
	if line := firstLine(said); line != "" {
		f.Detail += "; it says: " + line
	}
	return f
}
