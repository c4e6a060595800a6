package check

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tare"
	"tare/internal/sandbox"
	"tare/internal/workspace"
)

// Pytest runs Python trees: tests with the system's pytest, probes with its interpreter.
//
// Every command is a script of ours, mounted beside the tree and started without site packages, environment or
// configuration of the tree's. It reports on a private descriptor, one JSON object a line, each with a nonce of the
// command's own, and closes with an end mark that counts what was sent. Code of the tree shares the process with the
// script, so a report can be forged by code that sets out to; what cannot happen is that a process that ended early, a
// test that was not run or a line that somebody else wrote is taken for a whole report.
type Pytest struct {
	Without tare.Without // defences that are off; none in production
}

//go:embed python/*.py python/*.ini
var scripts embed.FS

const (
	interpreter = "/usr/bin/python3"
	scriptDir   = "/srv/check" // where a sandbox shows the scripts
	hiddenDir   = "/srv/hidden"
	treeParent  = "/srv"
	usualName   = "workspace" // of the directory that a tree stands in

	maxLine   = 1 << 20
	maxReport = 8 << 20
	maxOutput = 8 << 10 // kept of stdout and of stderr, each

	defaultWall = 60 * time.Second

	reversed = "1" // hash of an interpreter that runs tests in reverse

	patience = 9 // times the wall limit, for a command that the machine keeps waiting
)

// limits bounds a command that runs code of a tree's. That the machine was busy with others is not held against the tree.
func limits(wall, cpu time.Duration) sandbox.Limits {
	if wall <= 0 {
		wall = defaultWall
	}
	return sandbox.Limits{Wall: wall, CPU: cpu, Patience: patience * wall}
}

// A command is one script to run in a sandbox.
type command struct {
	script    string // session, pytest, probe, read or tree
	request   map[string]any
	wall      time.Duration
	cpu       time.Duration // 0 for what the sandbox makes of wall
	maxReport int64

	tree    tare.Tree // laid out for this command, unless nil
	dirName string
	hidden  tare.Tree
	hash    string // of the interpreter's str hashes; "" for 0
	without tare.Without
	cold    bool // start an interpreter for it alone: the tree is to have a say in what is loaded first

	onOutput func([]byte)
}

// An answer is what came of a command.
type answer struct {
	argv   []string
	nonce  string
	result sandbox.Result
	report []byte
	builds bool // it is of the go command, which runs nothing of the tree's

	without tare.Without
}

// run runs c until its ending can be told from an accident. An error means that this rig failed or that ctx is done.
func (c command) run(ctx context.Context, sb sandbox.Sandbox) (answer, error) {
	return insist(ctx, func() (answer, error) { return c.once(ctx, sb) })
}

// once lays out what c needs, runs it, and clears up.
func (c command) once(ctx context.Context, sb sandbox.Sandbox) (a answer, err error) {
	dir, err := sb.NewDir("d*")
	if err != nil {
		return a, err
	}
	defer func() {
		if cerr := clear(dir); err == nil && cerr != nil {
			err = fmt.Errorf("clearing up: %w", cerr)
		}
	}()
	mounts, args, err := c.lay(dir, sb)
	if err != nil {
		return a, err
	}
	a.nonce, a.without = secret(16), c.without
	cmd, err := c.cmd(a.nonce, mounts, args)
	if err != nil {
		return a, err
	}
	a.argv = cmd.Argv
	a.result, err = sb.Run(ctx, cmd)
	if err != nil {
		return a, fmt.Errorf("running %s: %w", c.script, err)
	}
	if err := ctx.Err(); err != nil {
		return a, err
	}
	if len(a.result.Extra) > 0 {
		a.report = a.result.Extra[0].Data
	}
	return a, nil
}

// truncated reports whether the report was longer than it may be.
func (a answer) truncated() bool { return len(a.result.Extra) > 0 && a.result.Extra[0].Truncated }

// cmd is what the sandbox is to run. -S and -s: no site packages and what they start; -B: no bytecode in the tree. Not -I,
// which would make hashes random.
func (c command) cmd(nonce string, mounts []sandbox.Mount, args []string) (sandbox.Cmd, error) {
	c.request["nonce"] = nonce
	if len(c.without) > 0 {
		c.request["without"] = c.without
	}
	stdin, err := json.Marshal(c.request)
	if err != nil {
		return sandbox.Cmd{}, fmt.Errorf("writing request: %w", err)
	}
	cmd := sandbox.Cmd{
		Argv:   slices.Concat(program(), []string{c.script}, args, []string{"3"}),
		Dir:    "/",
		Env:    environment(c.hash),
		Mounts: mounts,
		Stdin:  stdin,
		Extra:  []sandbox.Extra{{Name: "report", Max: cmp.Or(c.maxReport, maxReport)}},
		Limits: limits(c.wall, c.cpu),
	}
	if !c.cold {
		cmd.Warm = warm(c.script, c.hash, mounts[0], args)
	}
	if c.onOutput != nil {
		cmd.OnOutput = func(_ int, p []byte) { c.onOutput(p) }
	}
	return cmd, nil
}

// program is the interpreter and the script with which all begin.
func program() []string { return []string{interpreter, "-s", "-S", "-B", scriptDir + "/tare_main.py"} }

func environment(hash string) map[string]string {
	return map[string]string{"PYTHONHASHSEED": cmp.Or(hash, "0"), "PYTHONDONTWRITEBYTECODE": "1"}
}

// warm is the resident for a script; args are those that a session is begun with.
func warm(script, hash string, scripts sandbox.Mount, args []string) *sandbox.Warm {
	w := &sandbox.Warm{
		Argv:   slices.Concat(program(), []string{"--resident", resident(script), sandbox.ResidentDir}),
		Env:    environment(hash),
		Mounts: []sandbox.Mount{scripts},
	}
	if script == session {
		w.Argv, w.Dirs = append(w.Argv, args...), args
	}
	return w
}

// Ahead has the residents started that runs of trees will ask for, in the usual directory and, in reverse, in again, where the
// sandbox has any. Who is sure of such runs need not wait for them later.
func (Pytest) Ahead(sb sandbox.Sandbox, again string) error {
	box, ok := sb.(sandbox.Aheader)
	if !ok {
		return nil
	}
	scripts, err := scriptsAt("", sb)
	if err != nil {
		return err
	}
	mount := sandbox.Mount{Host: scripts, Guest: scriptDir}
	box.Ahead(warm("probe", "", mount, nil))
	box.Ahead(warm(session, "", mount, []string{treeParent + "/" + usualName}))
	box.Ahead(warm("read", "", mount, nil))
	box.Ahead(warm(session, reversed, mount, []string{treeParent + "/" + again}))
	return nil
}

// session is the script that runs tests of trees for which pytest's start is the same.
const session = "session"

// resident names the scripts that one resident loads. Those that only read may share one; what code of a tree finds loaded
// is the same in each run.
func resident(script string) string {
	if script == "read" || script == "tree" {
		return "read,tree"
	}
	return script
}

// scriptsAt is where the scripts lie on the host. Where code of a tree could write to them, each command has its own.
func scriptsAt(dir string, sb sandbox.Sandbox) (string, error) {
	tools, err := toolTree()
	if err != nil {
		return "", err
	}
	lay := func(dir string) error { return workspace.Lay(dir, tools, workspace.Owner{UID: -1, GID: -1}) }
	if sb.Isolation() != sandbox.IsolationProcess {
		return sb.Keep("scripts", lay)
	}
	own := filepath.Join(dir, "check")
	return own, lay(own)
}

// lay writes the scripts and trees below dir, and says how to mount them and which arguments name them.
func (c command) lay(dir string, sb sandbox.Sandbox) ([]sandbox.Mount, []string, error) {
	uid, gid := sb.Owner()
	owner := workspace.Owner{UID: uid, GID: gid}
	scripts, err := scriptsAt(dir, sb)
	if err != nil {
		return nil, nil, err
	}
	mounts := []sandbox.Mount{{Host: scripts, Guest: scriptDir}}
	var args []string
	put := func(host, guest string, t tare.Tree, writable bool) error {
		mounts = append(mounts, sandbox.Mount{Host: host, Guest: guest, Writable: writable})
		return workspace.Lay(host, t, owner)
	}
	if c.tree != nil {
		name := c.dirName
		if name == "" {
			name = usualName
		}
		if filepath.Base(name) != name || name == "check" || name == "hidden" || name == ".." {
			return nil, nil, fmt.Errorf("%q cannot be the name of the tree's directory", name)
		}
		guest := treeParent + "/" + name
		args = append(args, guest)
		if err := put(filepath.Join(dir, name), guest, c.tree, true); err != nil {
			return nil, nil, err
		}
	}
	if c.hidden != nil {
		args = append(args, hiddenDir)
		if err := put(filepath.Join(dir, "hidden"), hiddenDir, c.hidden, false); err != nil {
			return nil, nil, err
		}
	}
	return mounts, args, nil
}

// clear removes dir, also when what ran there took its own permissions away.
func clear(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	w := workspace.Workspace{Dir: dir}
	return w.Remove()
}

// toolTree is the scripts as a tree, which nobody changes.
var toolTree = sync.OnceValues(func() (tare.Tree, error) {
	entries, err := scripts.ReadDir("python")
	if err != nil {
		return nil, fmt.Errorf("reading scripts: %w", err)
	}
	var t tare.Tree
	for _, e := range entries {
		b, err := scripts.ReadFile("python/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("reading scripts: %w", err)
		}
		t = append(t, tare.File{Path: e.Name(), Mode: 0o444, Data: b})
	}
	return t, nil
})

// secret is n random bytes in hex.
func secret(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// describe fills in what is known of the command itself, whatever it reported.
func (a answer) describe(tree tare.Tree) tare.Run {
	r := tare.Run{
		Tree:    tree.Digest(),
		Command: a.argv,
		Exit:    a.result.Exit,
		Signal:  a.result.Signal,
		Ended:   string(a.result.Ended),
		Seconds: a.result.Wall.Seconds(),
		Warm:    a.result.Warm,
		Output:  append(tail(a.result.Stdout.Data), tail(a.result.Stderr.Data)...),
	}
	if r.Signal != "" {
		r.Exit = -1
	}
	return r
}

// tail is a copy of the end of b.
func tail(b []byte) []byte {
	if len(b) > maxOutput {
		b = b[len(b)-maxOutput:]
	}
	return append([]byte(nil), b...)
}

// notStarted is the error for a command whose script did not come as far as the tree's code.
func (a answer) notStarted(what string) error {
	how := fmt.Sprintf("status %d", a.result.Exit)
	if a.result.Ended != "" {
		how = "stopped by the limit on " + string(a.result.Ended)
	} else if a.result.Signal != "" {
		how = a.result.Signal
	}
	return fmt.Errorf("starting %s: %s: %.500s", what, how, tail(a.result.Stderr.Data))
}
