package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tare"
	"tare/internal/mcpserve"
	"tare/internal/patchcheck"
	"tare/internal/workspace"
)

// Variables of the environment that patchd reads where no flag says it.
const (
	daemonSocketVariable = "SSE_DAEMON_SOCKET"
	adminSocketVariable  = "SSE_ADMIN_SOCKET"
	tokenVariable        = "TARE_PATCHD_TOKEN"
)

// daemonName is what the daemon is called in what is printed.
const daemonName = "daemon"

// leastToken is the shortest token that is taken.
const leastToken = 16

// patchdFlags are the flags of tare patchd.
type patchdFlags struct {
	task, tree    string
	mcp, http     string
	socket, admin string
	token         string
	dialog        string
	result        string
}

func (a *app) patchd() *cobra.Command {
	var f patchdFlags
	c := &cobra.Command{
		Use:   "patchd --task TASK --tree DIR",
		Short: "Serve test_patch and the daemon for a vulnerability's source tree",
		Long: `patchd checks one source tree of a vulnerability for as long as it runs: by the tool test_patch over MCP, and by a daemon with
one Unix socket for agents and one for whoever grades. SSE_DIFFICULTY (0 to 4; unset: 2) says how much agents may check; both
enforce it. A tree that is not there is made from the task.

Nothing else listens on TCP unless --http asks for it, and then to whoever brings the token. The server runs outside any sandbox
and its binary holds the answers: who is to be measured must not be able to read it.`,
		Example: "  tare patchd --task vulns/station_telegram --tree ./work\n  claude mcp add ssebench http://localhost:3000/mcp --transport http\n  SSE_DIFFICULTY=0 tare patchd --task vulns/station_telegram --tree ./work --mcp 127.0.0.1:3001",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			level, err := patchcheck.LevelFrom(patchcheck.Environment)
			if err == nil {
				_, err = patchcheck.TimeoutFrom(patchcheck.Environment)
			}
			if err != nil {
				return usage("%w", err)
			}
			if err := f.complete(); err != nil {
				return err
			}
			task, err := a.vulnerability(c.Context(), f.task)
			if err != nil {
				return err
			}
			return a.withRig(c.Context(), func(ctx context.Context, r *rig) error { return r.patchd(ctx, task, level, f) })
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.task, "task", "", "the vulnerability")
	fs.StringVar(&f.tree, "tree", "", "the source tree to check; made from the task when it is not there")
	fs.StringVar(&f.mcp, "mcp", "127.0.0.1:3000", "serve test_patch over MCP at this address, at /mcp; empty: not at all")
	fs.StringVar(&f.http, "http", "", "also serve the agents' side of the daemon at this TCP address, to whoever brings the token")
	fs.StringVar(&f.socket, "socket", "", "the daemon's socket for agents; default: $"+daemonSocketVariable+", else one in a new directory")
	fs.StringVar(&f.admin, "admin", "", "the daemon's socket for whoever grades, in a directory of its owner's alone; default: $"+adminSocketVariable+", else one in a new directory")
	fs.StringVar(&f.token, "token", "", "what TCP clients bring as \"Authorization: Bearer TOKEN\", at least 16 characters; better in $"+tokenVariable+", which no process list shows")
	fs.StringVar(&f.dialog, "dialog", "", "a file in which the agent writes down its dialog, one JSON object with a seq a line; for /agent/dialog")
	fs.StringVar(&f.result, "result", "", "a result.json that whoever grades will write; for /result")
	return c
}

// complete takes what no flag says from the environment, and refuses what must not be.
func (f *patchdFlags) complete() error {
	if f.task == "" || f.tree == "" {
		return usage("patchd takes --task and --tree")
	}
	f.socket = firstOf(f.socket, os.Getenv(daemonSocketVariable))
	f.admin = firstOf(f.admin, os.Getenv(adminSocketVariable))
	f.token = firstOf(f.token, os.Getenv(tokenVariable))
	switch {
	case f.token != "" && len(f.token) < leastToken:
		return usage("the token has %d characters; it takes %d", len(f.token), leastToken)
	case f.http != "" && f.token == "":
		return usage("--http serves tools on TCP, which takes a token: --token or %s", tokenVariable)
	case f.mcp != "" && !loopback(f.mcp) && f.token == "":
		return usage("--mcp %s is not this machine's loopback alone, so it takes a token: --token or %s", f.mcp, tokenVariable)
	}
	return nil
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// loopback reports whether nobody but this machine's users reaches an address.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return !strings.Contains(addr, ":") // a port alone
	}
	ip := net.ParseIP(host)
	return host == "" || host == "localhost" || ip != nil && ip.IsLoopback()
}

// vulnerability is the one task that arg names.
func (a *app) vulnerability(ctx context.Context, arg string) (*tare.Task, error) {
	tasks, err := a.tasks([]string{arg})
	if err != nil {
		return nil, err
	}
	switch {
	case len(tasks) != 1:
		return nil, usage("--task takes one task; %q is %d", arg, len(tasks))
	case tasks[0].Category == tare.Fixture:
		return nil, usage("%s is a fixture that tests the grader; it is not shown to agents", tasks[0].ID)
	case tasks[0].Kind != tare.Vuln:
		return nil, usage("%s is a %s; patchd is for vulnerabilities", tasks[0].ID, tasks[0].Kind)
	}
	if tasks, err = a.ready(ctx, tasks); err != nil {
		return nil, err
	}
	return tasks[0], nil
}

// patchd serves until it is interrupted.
func (r *rig) patchd(ctx context.Context, task *tare.Task, level patchcheck.Level, f patchdFlags) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	defer stop()
	ws, err := handedOut(task, f.tree)
	if err != nil {
		return err
	}
	own, err := os.MkdirTemp("", "tare-patchd-") // 0700; what lies in it is of this run alone
	if err != nil {
		return fmt.Errorf("making a directory for sockets: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(own)) }()
	agent, admin := firstOf(f.socket, filepath.Join(own, "agent", "sse.sock")), firstOf(f.admin, filepath.Join(own, "admin", "admin.sock"))
	if f.socket == "" {
		if err := os.Chmod(own, 0o711); err != nil {
			return fmt.Errorf("making a directory for sockets: %w", err)
		}
	}
	problem := func(err error) { r.a.note("%s: a failure of ours: %v", time.Now().Format(time.TimeOnly), err) }
	checker, err := r.checkerOf(task, level, ws, problem)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, checker.Close()) }()
	cfg := r.daemonConfig(task, ws.Dir, nil)
	cfg.Dialog = func(since int64) ([]json.RawMessage, error) { return dialogOf(f.dialog, since) }
	cfg.Result = func() (json.RawMessage, error) { return resultOf(f.result) }
	daemon := patchcheck.NewDaemon(checker, cfg)
	sockets, err := patchcheck.ListenSockets(ctx, daemon, agent, admin)
	if err != nil {
		return exit{exitUsage, err}
	}
	defer func() { err = errors.Join(err, sockets.Close()) }()
	r.a.note("%s at level %d (%v)\nagents: %s\nadmin:  %s", task.ID, level, level, agent, admin)
	ended := []<-chan struct{}{sockets.Died()}
	var listeners []*mcpserve.Listener
	defer func() {
		for _, l := range listeners {
			err = errors.Join(err, l.Close())
		}
	}()
	listen := func(what, addr string, h http.Handler, token bool) error {
		if token {
			h = patchcheck.WithToken(f.token, h)
		}
		l, err := mcpserve.ListenTCP(ctx, addr, h)
		if err != nil {
			return usage("serving %s at %s: %w", what, addr, err)
		}
		ended, listeners = append(ended, l.Ended()), append(listeners, l)
		r.a.note("%s at %s", what, strings.TrimSuffix(l.URL, map[bool]string{true: mcpserve.Path}[what == daemonName]))
		return nil
	}
	if f.http != "" {
		if err := listen(daemonName, f.http, daemon.Handler(false), true); err != nil {
			return err
		}
	}
	if f.mcp != "" {
		logs := &patchcheck.Logs{Dir: patchcheck.LogDirFrom(patchcheck.Environment), OnProblem: problem}
		server := patchcheck.NewServer(checker, patchcheck.ServerConfig{Logs: logs, Now: r.now})
		defer server.Close()
		if err := listen("test_patch", f.mcp, server.Handler(), !loopback(f.mcp)); err != nil {
			return err
		}
	}
	died, alive := patchcheck.Watch(ended...)
	defer alive()
	select {
	case <-ctx.Done():
		return nil
	case <-died:
		if ctx.Err() != nil {
			return nil
		}
		return errors.New("a server stopped answering")
	}
}

// handedOut is the tree in dir, which is made from the task when it is not there.
func handedOut(task *tare.Task, dir string) (*workspace.Workspace, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, usage("finding --tree %s: %w", dir, err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := workspace.Lay(abs, task.Seed, workspace.Owner{UID: -1, GID: -1}); err != nil {
			return nil, usage("making --tree: %w", err)
		}
	case err != nil:
		return nil, usage("finding --tree: %w", err)
	case !info.IsDir():
		return nil, usage("--tree %s is no directory", dir)
	}
	return &workspace.Workspace{Dir: abs, Base: task.Seed}, nil
}

// Bounds of what patchd reads of files that others write.
const (
	maxDialog = 16 << 20
	maxResult = 1 << 20
)

// dialogOf reads the entries of a dialog with a seq above since. Lines that are none are skipped.
func dialogOf(file string, since int64) ([]json.RawMessage, error) {
	if file == "" {
		return nil, nil
	}
	// The agent may have put something else in its place: a link to what is not its own, a pipe without an end.
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil // not there yet, or nothing that a dialog is in
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	b, err := io.ReadAll(io.LimitReader(f, maxDialog))
	if err != nil {
		return nil, fmt.Errorf("reading the dialog: %w", err)
	}
	var out []json.RawMessage
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, maxDialog)
	for lines.Scan() {
		var entry struct {
			Seq *int64 `json:"seq"`
		}
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Seq != nil && *entry.Seq > since {
			out = append(out, bytes.Clone(lines.Bytes()))
		}
	}
	return out, nil
}

// resultOf reads a result that may not be there yet.
func resultOf(file string) (json.RawMessage, error) {
	if file == "" {
		return nil, nil
	}
	b, err := workspace.ReadFile(file, maxResult)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(b)) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the result: %w", err)
	}
	return b, nil
}
