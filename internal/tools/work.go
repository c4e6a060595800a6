package tools

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
	"tare/internal/check"
	"tare/internal/sandbox"
	"tare/internal/workspace"
)

const (
	guestDir      = "/workspace" // where the copy stands for the tests
	maxTestOutput = 32 << 10     // of stdout, and of stderr, that an agent is shown
	maxDiff       = 256 << 10
	beat          = time.Second // between reports of progress
)

// snapshot reads the workspace as it is. left names what had to be left out, as a sentence, or is empty.
func (w *World) snapshot() (t tare.Tree, left string, err error) {
	t, err = w.cfg.Workspace.Snapshot()
	out, bad := workspace.LeftOut(err)
	if bad != nil {
		return nil, "", fmt.Errorf("reading the workspace: %w", bad)
	}
	var names []string
	for _, o := range out {
		names = append(names, quote(o.Path)+" ("+o.Reason+")")
		if len(names) == 10 {
			break
		}
	}
	if len(out) == 0 {
		return t, "", nil
	}
	return t, fmt.Sprintf("left out %d entries: %s", len(out), strings.Join(names, ", ")), nil
}

type testsIn struct {
	Noted
}

type testsOut struct {
	ReturnCode int     `json:"returncode" jsonschema:"exit status of the test command; 0 means that all tests passed"`
	Stdout     string  `json:"stdout"`
	Stderr     string  `json:"stderr"`
	TimedOut   bool    `json:"timed_out" jsonschema:"the run took too long and was ended"`
	Ended      string  `json:"ended,omitempty" jsonschema:"the limit that ended the run, such as wall, memory or output"`
	Duration   float64 `json:"duration" jsonschema:"seconds"`
	Truncated  bool    `json:"truncated" jsonschema:"the middle of stdout or stderr is left out"`
	Note       string  `json:"warning,omitempty" jsonschema:"files that could not be taken into the run"`
}

// runTests runs the tests on a copy of the workspace, so that neither they nor their caches change it, and so that no
// process of theirs can outlive its answer with a hand in the workspace.
func (w *World) runTests(ctx context.Context, c call, _ testsIn) ([]string, testsOut, error) {
	tree, left, err := w.snapshot()
	if err != nil {
		return nil, testsOut{}, err
	}
	dir, err := w.cfg.Sandbox.NewDir("t-*")
	if err != nil {
		return nil, testsOut{}, err
	}
	defer func() {
		if err := (&workspace.Workspace{Dir: dir}).Remove(); err != nil {
			w.cfg.OnProblem(err)
		}
	}()
	copyDir := filepath.Join(dir, "w")
	uid, gid := w.cfg.Sandbox.Owner()
	if err := workspace.Lay(copyDir, tree, workspace.Owner{UID: uid, GID: gid}); err != nil {
		return nil, testsOut{}, err
	}
	argv, env := w.cfg.Runner.Command(guestDir, w.cfg.Sources)
	more, err := check.Provide(ctx, w.cfg.Sandbox, w.cfg.Runner)
	if err != nil {
		return nil, testsOut{}, err
	}
	defer func() {
		if err := more.Release(); err != nil {
			w.cfg.OnProblem(err)
		}
	}()
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, more.Env)
	report := w.startReport(ctx, c)
	res, err := w.cfg.Sandbox.Run(ctx, sandbox.Cmd{
		Argv: argv, Dir: guestDir, Env: env,
		Mounts:   append(more.Mounts, sandbox.Mount{Host: copyDir, Guest: guestDir, Writable: true}),
		Limits:   sandbox.Limits{Wall: w.cfg.Limits.Check},
		OnOutput: report.output,
	})
	report.stop()
	if err != nil {
		return nil, testsOut{}, err
	}
	if ctx.Err() != nil {
		return nil, testsOut{}, ctx.Err()
	}
	out := testsOut{
		ReturnCode: res.Exit, TimedOut: res.Ended == sandbox.LimitWall, Ended: string(res.Ended), Duration: seconds(res.Wall), Note: left,
		Truncated: len(res.Stdout.Data) > maxTestOutput || len(res.Stderr.Data) > maxTestOutput || res.Stdout.Truncated || res.Stderr.Truncated,
	}
	// Where nothing isolates the tests, they see the copy's real path.
	shown := strings.NewReplacer(copyDir, guestDir, dir, guestDir, w.cfg.Sandbox.StateDir(), guestDir)
	show := func(b []byte) string {
		return ends(shown.Replace(strings.ToValidUTF8(string(b), "\ufffd")), maxTestOutput)
	}
	out.Stdout, out.Stderr = show(res.Stdout.Data), show(res.Stderr.Data)
	return []string{out.text(w.cfg.Limits.Check)}, out, nil
}

// text is the result for a model to read, the summary first.
func (o testsOut) text(limit time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "returncode: %d (%.2f s)\n", o.ReturnCode, o.Duration)
	switch {
	case o.TimedOut:
		fmt.Fprintf(&b, "timed out: the run was ended after %v\n", limit)
	case o.Ended != "":
		fmt.Fprintf(&b, "ended by the limit on: %s\n", o.Ended)
	}
	if o.Note != "" {
		fmt.Fprintf(&b, "warning: %s\n", o.Note)
	}
	if o.Stdout != "" {
		fmt.Fprintf(&b, "stdout:\n%s\n", strings.TrimSuffix(o.Stdout, "\n"))
	}
	if o.Stderr != "" {
		fmt.Fprintf(&b, "stderr:\n%s\n", strings.TrimSuffix(o.Stderr, "\n"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// A reporter tells the client every beat that a run goes on, and the last line that it printed. It does so beside the
// run, so that a client which does not read cannot hold it up.
type reporter struct {
	mu   sync.Mutex
	tail []byte
	end  func()
}

func (w *World) startReport(ctx context.Context, c call) *reporter {
	r := &reporter{end: func() {}}
	if c.progress == nil {
		return r
	}
	began := w.cfg.Now()
	quit, gone := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	send := func() {
		// The client may have gone; the run's own ctx notices.
		_ = c.session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: c.progress, Progress: seconds(w.cfg.Now().Sub(began)), Total: w.cfg.Limits.Check.Seconds(), Message: r.last(),
		})
	}
	go func() {
		defer close(gone)
		send()
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				send()
			case <-quit:
				return
			}
		}
	}()
	r.end = func() {
		close(quit)
		cancel()
		<-gone
	}
	return r
}

func (r *reporter) stop() { r.end() }

func (r *reporter) output(_ int, p []byte) {
	const keep = 400
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tail = append(r.tail, p[max(0, len(p)-keep):]...)
	r.tail = r.tail[max(0, len(r.tail)-keep):]
}

// last is the last line of output that is not blank.
func (r *reporter) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := strings.Split(strings.TrimRight(string(r.tail), " \r\n"), "\n")
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == utf8.RuneError {
			return -1
		}
		return c
	}, lines[len(lines)-1])
}

type diffIn struct {
	Noted
}

type diffOut struct {
	Diff        string   `json:"diff" jsonschema:"all changes in git's format; empty when there are none"`
	Changes     []change `json:"changes" jsonschema:"the files that differ, by path"`
	Truncated   bool     `json:"truncated" jsonschema:"the diff is cut at its end; changes is whole"`
	InvalidUTF8 bool     `json:"invalid_utf8,omitempty" jsonschema:"bytes that are no UTF-8 are shown as U+FFFD"`
	Warning     string   `json:"warning,omitempty"`
}

type change struct {
	Path string `json:"path"`
	Kind string `json:"kind" jsonschema:"added, deleted or modified"`
}

// gitDiff compares with the tree that was handed out, which is kept outside the workspace, so that a damaged, rewritten
// or missing .git changes nothing about the answer.
func (w *World) gitDiff(ctx context.Context, _ call, _ diffIn) ([]string, diffOut, error) {
	tree, left, err := w.snapshot()
	if err != nil {
		return nil, diffOut{}, err
	}
	diff, err := workspace.Diff(ctx, w.cfg.Workspace.Base, tree)
	if err != nil {
		return nil, diffOut{}, err
	}
	out := diffOut{Changes: []change{}, InvalidUTF8: !utf8.Valid(diff), Truncated: len(diff) > maxDiff, Warning: left}
	for _, c := range w.cfg.Workspace.Base.Changes(tree) {
		out.Changes = append(out.Changes, change{Path: strings.ToValidUTF8(c.Path, "\ufffd"), Kind: string(c.Kind)})
	}
	out.Diff = strings.ToValidUTF8(string(diff[:min(len(diff), maxDiff)]), "\ufffd")
	if why := w.damage(); why != "" {
		out.Warning = strings.TrimPrefix(out.Warning+"; "+why, "; ")
	}
	texts := []string{out.Diff}
	if out.Diff == "" {
		texts[0] = "no changes"
	}
	if out.Truncated {
		texts = append(texts, fmt.Sprintf("[cut after %d of %d bytes]", maxDiff, len(diff)))
	}
	if out.Warning != "" {
		texts = append(texts, "[warning: "+out.Warning+"]")
	}
	return texts, out, nil
}

// damage says what is visibly wrong with the workspace's .git. It looks, and runs nothing.
func (w *World) damage() string {
	const but = "; the diff is against the files as they were handed out"
	for name, dir := range map[string]bool{".git": true, ".git/objects": true, ".git/refs": true, ".git/HEAD": false} {
		info, err := w.root.Lstat(name)
		if err != nil || info.IsDir() != dir || info.Mode()&fs.ModeSymlink != 0 {
			return "the repository's .git is missing or damaged" + but
		}
	}
	return ""
}
