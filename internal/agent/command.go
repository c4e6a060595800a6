package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare"
	"tare/internal/sandbox"
	"tare/internal/workspace"
)

// Where a command finds things inside its sandbox.
const (
	guestWorkspace = "/workspace"
	guestScript    = "/agent"
	guestBrief     = "/brief"
	guestUsage     = "/usage"
	guestKept      = "/kept"
	promptFile     = "prompt.md"
	usageFile      = "usage.json"
	adapterFile    = "adapter.json"
	guestPort      = 7117 // of the MCP server, where the sandbox has a loopback of its own

	patchPort   = 3000 // of test_patch, likewise
	guestDaemon = "/run/ssebench/sse.sock"
	guestLogs   = "/tmp/mcp/logs"
)

// maxPrompt is the longest prompt: it is one argument, of which the system allows 128 KiB.
const maxPrompt = 96 << 10

// noLimit stands for the wall limit of a command whose ctx has none.
const noLimit = 24 * time.Hour

type command struct {
	name   string
	script string // absolute
	keeps  bool
}

// Command returns the agent that is a program of others' making: script, which must be an executable file. It runs inside
// the sandbox in the workspace, which it may write; its own directory is mounted beside it, read-only and without .git. It is handed
//
//	argument 1        the prompt
//	argument 2        the workspace
//	TARE_PROMPT_FILE  a file that holds the prompt too
//	TARE_WORKSPACE    the workspace, also its working directory
//	TARE_MCP_URL      the world's tools, MCP over streamable HTTP
//	TARE_USAGE_FILE   where it may write what it took of a model, as the JSON of tare.Usage; without it that is unknown
//	SSE_ARCHIVE       where it may write a dialog.jsonl; without one, one is made of the trajectory
//	TARE_KEPT         a directory that it finds again in the next episode, if adapter.json beside it says {"keeps": true}
//
// and, where there is a vulnerability to repair,
//
//	TARE_PATCH_URL     test_patch, MCP over streamable HTTP: http://localhost:3000/mcp
//	SSE_DAEMON_SOCKET  the daemon's Unix socket
//	MCP_LOG_DIR        where test_patch leaves logs that are too long for an answer; read-only
//
// Status 0 means that it says it is done, and what it printed last on stdout is its last message. All that it started is
// gone when Play returns.
func Command(name, script string) (Agent, error) {
	abs, err := filepath.Abs(script)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("finding agent %s: %w", script, err)
	}
	info, err := os.Stat(abs)
	switch {
	case err != nil:
		return nil, fmt.Errorf("finding agent %s: %w", script, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("agent %s is not a file", script)
	case info.Mode().Perm()&0o111 == 0:
		return nil, fmt.Errorf("agent %s is not executable; chmod +x mends that", script)
	}
	keeps, err := readAdapter(filepath.Dir(abs))
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", script, err)
	}
	return command{name, abs, keeps}, nil
}

// readAdapter reads what the file beside a script declares of it.
func readAdapter(dir string) (keeps bool, err error) {
	b, err := workspace.ReadFile(filepath.Join(dir, adapterFile), 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", adapterFile, err)
	}
	var declared struct {
		Keeps bool `json:"keeps"`
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&declared); err != nil {
		return false, fmt.Errorf("reading %s: %w", adapterFile, err)
	}
	return declared.Keeps, nil
}

// Keeps reports whether the command declares a directory of its own.
func (a command) Keeps() bool { return a.keeps }

func (a command) Name() string { return a.name }

// Prompt is the brief as one text.
func Prompt(b tare.Brief) string {
	text := strings.TrimSpace(b.Text)
	if b.Title != "" && !strings.HasPrefix(text, "#") {
		text = "# " + b.Title + "\n\n" + text
	}
	return text + "\n"
}

func (a command) environment(port int) map[string]string {
	env := map[string]string{
		"TARE_PROMPT_FILE": path.Join(guestBrief, promptFile),
		"TARE_WORKSPACE":   guestWorkspace,
		"TARE_MCP_URL":     fmt.Sprintf("http://127.0.0.1:%d/mcp", port),
		"TARE_USAGE_FILE":  path.Join(guestUsage, usageFile),
		"SSE_ARCHIVE":      guestArchive,
	}
	if a.keeps {
		env["TARE_KEPT"] = guestKept
	}
	return env
}

func (a command) argv(prompt string) []string {
	return []string{path.Join(guestScript, filepath.Base(a.script)), prompt, guestWorkspace}
}

func (a command) Exposes(b tare.Brief) Exposure {
	return Exposure{Dirs: []string{filepath.Dir(a.script)}, Env: a.environment(guestPort), Args: a.argv(Prompt(b))}
}

func (a command) Play(ctx context.Context, brief tare.Brief, w World) (end Ending, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("playing %s: %w", a.name, err)
		}
	}()
	if ctx.Err() != nil {
		return interrupted(ctx), nil
	}
	prompt := Prompt(brief)
	if len(prompt) > maxPrompt || strings.IndexByte(prompt, 0) >= 0 {
		return Ending{}, fmt.Errorf("the prompt is not text of at most %d bytes", maxPrompt)
	}
	dir, err := w.Sandbox.NewDir("b-*")
	if err != nil {
		return Ending{}, err
	}
	held := &workspace.Workspace{Dir: dir}
	defer func() { err = errors.Join(err, held.Remove()) }()
	uid, gid := w.Sandbox.Owner()
	told := filepath.Join(dir, "b")
	err = workspace.Lay(told, tare.Tree{{Path: promptFile, Mode: 0o644, Data: []byte(prompt)}}, workspace.Owner{UID: uid, GID: gid})
	if err != nil {
		return Ending{}, err
	}
	used := filepath.Join(dir, "u")
	if err := workspace.Lay(used, nil, workspace.Owner{UID: uid, GID: gid}); err != nil {
		return Ending{}, err
	}
	archive := filepath.Join(dir, "a")
	if err := workspace.Lay(archive, nil, workspace.Owner{UID: uid, GID: gid}); err != nil {
		return Ending{}, err
	}
	home, err := a.home(dir, uid, gid)
	if err != nil {
		return Ending{}, err
	}
	port, err := portFor(ctx, w.Sandbox, guestPort)
	if err != nil {
		return Ending{}, err
	}
	cmd := sandbox.Cmd{
		Argv: a.argv(prompt),
		Dir:  guestWorkspace,
		Env:  a.environment(port),
		Mounts: []sandbox.Mount{
			{Host: w.Dir, Guest: guestWorkspace, Writable: true},
			{Host: home, Guest: guestScript},
			{Host: told, Guest: guestBrief},
			{Host: used, Guest: guestUsage, Writable: true},
			{Host: archive, Guest: guestArchive, Writable: true},
		},
		Forwards: []sandbox.Forward{{Port: port, Socket: w.Socket}},
		Limits:   sandbox.Limits{Wall: timeLeft(ctx)},
	}
	if info, err := os.Lstat(filepath.Join(home, ".git")); err == nil && info.IsDir() { // what is committed is no part of an adapter
		empty := filepath.Join(dir, "e")
		if err := workspace.Lay(empty, nil, workspace.Owner{UID: uid, GID: gid}); err != nil {
			return Ending{}, err
		}
		cmd.Mounts = append(cmd.Mounts, sandbox.Mount{Host: empty, Guest: path.Join(guestScript, ".git")})
	}
	cmd.Mounts = append(cmd.Mounts, w.Mounts...)
	maps.Copy(cmd.Env, w.Env)
	if a.keeps {
		if w.Kept == "" {
			return Ending{}, errors.New("it keeps a directory between episodes, and was given none")
		}
		cmd.Mounts = append(cmd.Mounts, sandbox.Mount{Host: w.Kept, Guest: guestKept, Writable: true})
	}
	if w.Patch != nil {
		if err := w.Patch.show(ctx, w.Sandbox, &cmd); err != nil {
			return Ending{}, err
		}
	}
	res, err := w.Sandbox.Run(ctx, cmd)
	if err != nil {
		return Ending{}, err
	}
	end = a.ending(ctx, res)
	end.Usage = readUsage(used)
	if own := readDialog(archive, &end); own != nil {
		end.Outside = &tare.Outside{Dialog: own}
	}
	return end, nil
}

// readUsage is what a command says that it took of a model; nil where it says nothing that can be read.
func readUsage(dir string) *tare.Usage {
	t, err := workspace.Read(dir, workspace.ReadLimits{})
	if _, bad := workspace.LeftOut(err); bad != nil {
		return nil
	}
	f, ok := t.Lookup(usageFile)
	var u tare.Usage
	if !ok || !f.Mode.IsRegular() || len(f.Data) > 1<<16 || json.Unmarshal(f.Data, &u) != nil {
		return nil
	}
	for _, n := range []*int64{u.InputTokens, u.OutputTokens} {
		if n != nil && *n < 0 {
			return nil
		}
	}
	if u.Dollars != nil && *u.Dollars < 0 {
		return nil
	}
	return &u
}

// maxSaid bounds what is kept of either stream of a command, in bytes: as much of its end as of its beginning.
const maxSaid = 256 << 10

// saidOf is all that a command said.
func saidOf(res sandbox.Result) *tare.Said {
	said := &tare.Said{Exit: res.Exit, Signal: res.Signal, Truncated: res.Stdout.Truncated || res.Stderr.Truncated}
	if res.Ended != sandbox.LimitNone {
		said.Exit = -1
	}
	keep := func(b []byte) []byte {
		if len(b) <= maxSaid {
			return b
		}
		said.Truncated = true
		return slices.Concat(b[:maxSaid/2], []byte("\n"), b[len(b)-maxSaid/2:])
	}
	said.Stdout, said.Stderr = keep(res.Stdout.Data), keep(res.Stderr.Data)
	return said
}

// show gives a command its way to what p serves.
func (p *Patch) show(ctx context.Context, sb sandbox.Sandbox, cmd *sandbox.Cmd) error {
	port, err := portFor(ctx, sb, patchPort)
	if err != nil {
		return err
	}
	cmd.Env["TARE_PATCH_URL"] = fmt.Sprintf("http://localhost:%d/mcp", port)
	cmd.Env["SSE_DAEMON_SOCKET"], cmd.Env["MCP_LOG_DIR"] = guestDaemon, guestLogs
	cmd.Forwards = append(cmd.Forwards, sandbox.Forward{Port: port, Socket: p.Socket}, sandbox.Forward{Path: guestDaemon, Socket: p.Daemon})
	cmd.Mounts = append(cmd.Mounts, sandbox.Mount{Host: p.Logs, Guest: guestLogs})
	return nil
}

// home is the directory of the script, as the sandbox's user can reach it: where it lies, or where that is behind a
// directory which is closed to others, as /root is, a copy below dir.
func (a command) home(dir string, uid, gid int) (string, error) {
	from := filepath.Dir(a.script)
	if uid == os.Getuid() || open(from) && open(a.script) {
		return from, nil
	}
	t, err := workspace.Read(from, workspace.ReadLimits{Skip: []string{}})
	if _, err := workspace.LeftOut(err); err != nil {
		return "", fmt.Errorf("copying %s, which the sandbox's user cannot reach: %w", from, err)
	}
	to := filepath.Join(dir, "h")
	if err := workspace.Lay(to, t, workspace.Owner{UID: uid, GID: gid}); err != nil {
		return "", fmt.Errorf("copying %s, which the sandbox's user cannot reach: %w", from, err)
	}
	return to, nil
}

// open reports whether others may pass through every directory on the way to p, and read and execute p itself.
func open(p string) bool {
	for d, need := p, fs.FileMode(0o005); ; d, need = filepath.Dir(d), 0o001 {
		info, err := os.Stat(d)
		if err != nil || info.Mode().Perm()&need != need {
			return false
		}
		if d == filepath.Dir(d) {
			return true
		}
	}
}

// timeLeft is how long ctx still lasts; a second more, so that it is ctx which ends the command, whoever wakes first.
func timeLeft(ctx context.Context) time.Duration {
	until, ok := ctx.Deadline()
	if !ok {
		return noLimit
	}
	return max(0, time.Until(until)) + time.Second
}

// portFor picks the port at which the command finds its world: the given one, or, where it has no loopback of its own, one of
// the host's that was free a moment ago.
func portFor(ctx context.Context, sb sandbox.Sandbox, port int) (int, error) {
	if sb.Isolation() != sandbox.IsolationProcess {
		return port, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// ending says what a command's result means. A command that was ended counts as that and nothing else: what it managed
// to exit with, or to print, after it was told to stop is not its own decision.
func (a command) ending(ctx context.Context, res sandbox.Result) Ending {
	end := Ending{Final: bounded(res.Stdout.Data), Said: saidOf(res)}
	switch {
	case res.Ended == sandbox.LimitWall:
		end.Stop, end.Detail = tare.WallLimit, timeUp
	case res.Ended == sandbox.LimitCancelled:
		stopped := interrupted(ctx)
		end.Stop, end.Detail = stopped.Stop, stopped.Detail
	case res.Ended != sandbox.LimitNone:
		end.Stop, end.Detail = tare.AgentCrash, fmt.Sprintf("ended by the limit on %s", res.Ended)
	case res.Signal != "":
		end.Stop, end.Detail = tare.AgentCrash, "killed by "+res.Signal+lastLine(res.Stderr.Data)
	case res.Exit != 0:
		end.Stop, end.Detail = tare.AgentCrash, fmt.Sprintf("exit status %d%s", res.Exit, lastLine(res.Stderr.Data))
	default:
		end.Stop = tare.EndTurn
	}
	return end
}

// lastLine is the end of what a command said on stderr, to go with its status.
func lastLine(stderr []byte) string {
	lines := strings.Split(bounded(stderr), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return ""
	}
	if len(last) > 300 {
		last = strings.ToValidUTF8(last[:300], "") + "…"
	}
	return ": " + last
}
