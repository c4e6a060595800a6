package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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

// Where a sandbox shows what belongs to one build or run of a subject, beside the tree.
const (
	scriptAt  = "/srv/script"  // the folder of the script that builds
	inputAt   = "/srv/input"   // the file that InputWord stands for
	scratchAt = "/srv/scratch" // the directory that ScratchDir stands for
	reportsAt = "/srv/reports" // where a sanitizer writes
	driverAt  = "/srv/cc"      // what gcc finds in the place of its own parts
	unitsAt   = "/srv/units"   // where those put what they saw
)

// reportedExit is the status of a program that its sanitizer ended, and no other that is in use.
const reportedExit = 99

const (
	buildWall = 2 * time.Minute
	startWall = 20 * time.Second
	hangWall  = 10 // times as long by the clock as with a processor, so that a machine that is busy hangs nothing

	maxKept   = 32 << 10 // of stdout and of stderr each, in the record
	maxStream = 4 << 20  // of both together, that a program may write

	maxReports     = 64      // files
	maxReportBytes = 1 << 20 // of each
)

// A Subject is a source tree and how it is built.
type Subject struct {
	Tree     tare.Tree
	Language string      // c, go, python
	Script   tare.Script // of the grader's; with no text there is nothing to build
	Modules  string      // of Go: a module cache of the host's, see [ModuleStore]; "" for none
	Look     bool        // at what could silence a sanitizer; for C alone
	OnOutput func([]byte)
}

// A Built is a tree as a build left it.
type Built struct {
	OK   bool
	Tree tare.Tree
	Did  tare.Execution
	Log  Log

	Profile *Profile // when it was asked for
}

// Build has the script build the tree, in a sandbox with a HOME, a /tmp and caches of its own and no network. What it left
// is taken from there as bytes: of each thing that is started later, there is a copy of its own.
func (s Subject) Build(ctx context.Context, sb sandbox.Sandbox) (b Built, err error) {
	if s.Script.Text == "" {
		return Built{OK: true, Tree: s.Tree}, nil
	}
	w, err := newBooth(sb, s.Tree)
	if err != nil {
		return b, err
	}
	defer w.close(&err)
	name := path.Base(s.Script.Name)
	if err := w.put(scriptAt, tare.Tree{{Path: name, Mode: 0o555, Data: []byte(s.Script.Text)}}, false); err != nil {
		return b, err
	}
	wall := s.Script.Wall
	if wall <= 0 {
		wall = buildWall
	}
	cmd := sandbox.Cmd{
		Argv: []string{"/bin/sh", scriptAt + "/" + name}, Env: map[string]string{}, Limits: limits(wall, 0),
	}
	if s.Language == "go" {
		tools, err := findGoTools(ctx, sb)
		if err != nil {
			return b, err
		}
		cmd.Mounts = tools.mounts()
		maps.Copy(cmd.Env, goEnv())
		cmd.Mounts = append(cmd.Mounts, withModules(s.Modules, cmd.Env)...)
		maps.Copy(cmd.Env, tools.cache(w.at(filepath.Join(w.dir, "cache"), goCache)))
		maps.Copy(cmd.Env, tools.Env)
	}
	if s.Language == "c" && s.Look {
		if err := w.watchCompiler(&cmd); err != nil {
			return b, err
		}
	}
	res, err := w.run(ctx, cmd, &b.Log, s.OnOutput)
	if err != nil {
		return b, fmt.Errorf("building: %w", err)
	}
	b.Did = execution(name, cmd.Argv, res)
	b.OK = res.Exit == 0 && res.Ended == ""
	if !b.OK {
		return b, nil
	}
	b.Tree, err = workspace.Read(w.tree, workspace.ReadLimits{Files: 100_000, Bytes: 1 << 30, FileBytes: maxELF, First: s.Tree})
	left, err := workspace.LeftOut(err)
	for _, o := range left {
		fmt.Fprintf(&b.Log, "[%q is not kept for what follows: %s]\n", o.Path, o.Reason)
	}
	if err != nil || s.Language != "c" || !s.Look {
		return b, err
	}
	units, unseen, err := readUnits(filepath.Join(w.dir, path.Base(unitsAt)))
	if err != nil {
		return b, fmt.Errorf("reading what the compiler saw: %w", err)
	}
	p := profile(s.Tree, b.Tree, units, w.guest)
	for _, why := range unseen {
		p.Opaque["a translation unit"] = why
	}
	b.Profile = &p
	return b, nil
}

// A Start says which program of a built tree to start, and what to look for.
type Start struct {
	ID       string
	Tree     tare.Tree // as a build left it
	Data     tare.Tree // files that are laid over Tree for this program alone
	Language string
	Command  []string
	Input    []byte
	Stdin    bool // the input is fed to standard input
	Wall     time.Duration
	Trigger  *tare.Trigger // what the input is known to trigger; nil: nothing
	Copies   *Copies       // of Tree, for the programs of one check; nil: it is laid out for this one alone
	OnOutput func([]byte)
}

// Run starts the program in a copy of the tree and says what was seen. Its output is read to the end; signs of a fault are
// taken from there and from the sanitizer's own files, where those of the program's children are too.
func (s Start) Run(ctx context.Context, sb sandbox.Sandbox) (e tare.Execution, log Log, err error) {
	if why := notThere(s.all(), s.Command); why != "" {
		return tare.Execution{ID: s.ID, Command: s.Command, Exit: -1, Defect: why, OutDigest: tare.HashBytes(nil)}, log, nil
	}
	w, err := s.Copies.take(sb, s.Tree, s.Data)
	if err != nil {
		return e, log, err
	}
	defer s.Copies.give(w, &err)
	cmd, err := s.cmd(w)
	if err != nil {
		return e, log, err
	}
	res, err := w.run(ctx, cmd, &log, s.OnOutput)
	if err != nil {
		return e, log, fmt.Errorf("running %s: %w", s.Command[0], err)
	}
	if h := s.hang(); h > 0 && res.Ended == "" && res.CPU > h { // it ended before anybody looked
		res.Ended = sandbox.LimitCPU
	}
	e = execution(s.ID, s.Command, res)
	var reports []byte
	if w.has(reportsAt) {
		if reports, err = readReports(filepath.Join(w.dir, path.Base(reportsAt))); err != nil {
			return e, log, fmt.Errorf("reading the sanitizer's reports: %w", err)
		}
	}
	if short := shortTrace(res.Stderr.Data); s.Language == "go" && len(short) < len(res.Stderr.Data) {
		log, e.Stderr = Log{}, head(short)
		log.Write(res.Stdout.Data)
		log.Write(short)
	}
	log.Write(reports)
	s.signs(&e, res, reports, w)
	s.judgeable(&e)
	return e, log, nil
}

// all is the tree that the program finds.
func (s Start) all() tare.Tree {
	if len(s.Data) == 0 {
		return s.Tree
	}
	return s.Tree.Overlay(s.Data)
}

// cmd is what the sandbox is to run.
func (s Start) cmd(w *booth) (sandbox.Cmd, error) {
	wall := s.Wall
	if wall <= 0 {
		wall = startWall
	}
	cmd := sandbox.Cmd{Env: s.env(), Limits: limits(wall, 0)}
	if h := s.hang(); h > 0 {
		cmd.Limits = limits(hangWall*h, h)
	}
	cmd.Limits.Output = maxStream
	if s.Language != "go" && s.Language != "python" {
		if err := w.put(reportsAt, tare.Tree{}, true); err != nil {
			return cmd, err
		}
	}
	if s.Stdin {
		cmd.Stdin = s.Input
	}
	for _, word := range s.Command {
		if strings.Contains(word, tare.InputWord) {
			word = strings.ReplaceAll(word, tare.InputWord, inputAt)
			if err := w.putFile(inputAt, s.Input); err != nil {
				return cmd, err
			}
		}
		if strings.Contains(word, tare.ScratchDir) {
			word = strings.ReplaceAll(word, tare.ScratchDir, scratchAt)
			if err := w.put(scratchAt, tare.Tree{}, true); err != nil {
				return cmd, err
			}
		}
		cmd.Argv = append(cmd.Argv, word)
	}
	return cmd, nil
}

// hang is for how long a program may keep a processor; 0 for one that is not known to hang.
func (s Start) hang() time.Duration {
	if s.Trigger == nil {
		return 0
	}
	return s.Trigger.Hang
}

// env is the environment of a program. What a tree says in __asan_default_options and its like counts for less than this.
func (s Start) env() map[string]string {
	switch s.Language {
	case "python":
		return map[string]string{"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
	case "go":
		if s.Trigger == nil || s.Trigger.Exit == nil && s.Trigger.Signal == "" {
			return map[string]string{"GOTRACEBACK": "crash"} // a panic then ends the program by a signal, which no closing of descriptors hides
		}
		return nil
	}
	common := strings.Join([]string{
		"log_path=" + reportsAt + "/r", fmt.Sprintf("exitcode=%d", reportedExit),
		"symbolize=0", // it takes a hundred milliseconds; functions are found in the program that is at hand anyway
		"detect_leaks=0", "halt_on_error=1", "abort_on_error=0", "color=never", "print_summary=1", "print_legend=0", "disable_coredump=1",
		"handle_segv=2", "handle_sigbus=2", "handle_sigfpe=2", // the program's own handlers have no say
	}, ":")
	return map[string]string{
		"ASAN_OPTIONS": common, "LSAN_OPTIONS": common, "MSAN_OPTIONS": common, "TSAN_OPTIONS": common,
		"UBSAN_OPTIONS": common + ":print_stacktrace=1",
	}
}

// signs fills in what tells of a fault.
func (s Start) signs(e *tare.Execution, res sandbox.Result, reports []byte, w *booth) {
	z := &symbolizer{tree: s.all(), roots: []string{w.guest, w.tree}}
	e.Signs = sanitizerSigns(reports, z.locate)
	stderr := res.Stderr.Data
	switch s.Language {
	case "go":
		if e.Signal != "" || e.Exit == 2 {
			e.Signs = append(e.Signs, goSigns(stderr)...)
		}
	case "python":
		e.Signs = append(e.Signs, pythonSigns(stderr, e.Exit)...)
	default:
		e.Signs = append(e.Signs, undefinedSigns(slices.Concat(reports, stderr), z.locate)...)
		if e.Exit == reportedExit && len(e.Signs) == 0 && sanitized(programs(s.all(), s.Command)) {
			e.Signs = append(e.Signs, tare.Sign{Kind: tare.SignSanitizer, What: "report lost"})
		}
	}
	if s.Trigger != nil && s.Trigger.Output != "" {
		if text := []byte(s.Trigger.Output); bytes.Contains(res.Stdout.Data, text) || bytes.Contains(res.Stderr.Data, text) {
			e.Signs = append(e.Signs, tare.Sign{Kind: tare.SignOutput, What: s.Trigger.Output})
		}
	}
}

// judgeable notes why it is no evidence when nothing was triggered.
func (s Start) judgeable(e *tare.Execution) {
	hangs := s.Trigger != nil && s.Trigger.Hang > 0
	switch {
	case !e.Started:
		e.Defect = "the program could not be started: " + lastLine(e.Stderr)
	case e.Ended != "" && !(hangs && (e.Ended == "wall" || e.Ended == "cpu")):
		e.Defect = "it was ended by the limit on " + e.Ended
	case s.Trigger != nil && s.Trigger.Sanitizer != "" && !sanitized(programs(s.all(), s.Command)):
		e.Defect = "there is no sanitizer in what was run"
	}
}

// notThere says why a command cannot be started in the tree; "" when it can, as far as files tell.
func notThere(t tare.Tree, command []string) string {
	if len(command) == 0 {
		return "there is no command"
	}
	name := command[0]
	if strings.Contains(name, "/") && !path.IsAbs(name) {
		f, ok := fileAt(t, name)
		switch {
		case !ok:
			return fmt.Sprintf("there is no program %s in the built tree", name)
		case f.Mode.Type() != 0 || f.Mode.Perm()&0o111 == 0:
			return fmt.Sprintf("%s is no program that can be started", name)
		}
	}
	if !strings.HasPrefix(path.Base(name), "python3") {
		return ""
	}
	for _, word := range command[1:] {
		if strings.HasPrefix(word, "-") && word != "-m" && word != "-c" {
			continue
		}
		if strings.HasSuffix(word, ".py") && !path.IsAbs(word) {
			if _, ok := fileAt(t, word); !ok {
				return fmt.Sprintf("there is no program %s in the built tree", word)
			}
		}
		break
	}
	return ""
}

// execution is what is known of a command, whatever it wrote.
func execution(id string, command []string, res sandbox.Result) tare.Execution {
	e := tare.Execution{
		ID: id, Command: command, Started: true, Exit: res.Exit, Signal: res.Signal, Ended: string(res.Ended),
		Seconds: res.Wall.Seconds(), Stdout: head(res.Stdout.Data), Stderr: head(res.Stderr.Data), OutDigest: tare.HashBytes(res.Stdout.Data),
	}
	if e.Signal != "" || e.Ended != "" {
		e.Exit = -1
	}
	if e.Ended != "" {
		e.Signal = "" // ours
	}
	if e.Exit == 126 || e.Exit == 127 { // of the shell that starts it, or of the loader
		said := string(res.Stderr.Data)
		for _, s := range []string{"error while loading shared libraries: ", ": not found", ": Permission denied", ": cannot execute"} {
			if strings.Contains(said, s) {
				e.Started = false
			}
		}
	}
	if e.Exit == 1 && bytes.HasPrefix(res.Stderr.Data, []byte("/usr/bin/python3: No module named ")) {
		e.Started = false
	}
	return e
}

// head is a copy of the beginning of b.
func head(b []byte) []byte { return append([]byte(nil), b[:min(len(b), maxKept)]...) }

// lastLine is the end of what a program said.
func lastLine(b []byte) string {
	b = bytes.TrimSpace(b)
	return clip(string(b[bytes.LastIndexByte(b, '\n')+1:]), maxWhat)
}

// readReports is what is in dir, files alone, in the order of their names; it was writable to untrusted code.
func readReports(dir string) ([]byte, error) {
	t, err := workspace.Read(dir, workspace.ReadLimits{Files: maxReports, FileBytes: maxReportBytes, Bytes: 4 * maxReportBytes, Skip: []string{}})
	left, err := workspace.LeftOut(err)
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, f := range t {
		if f.Mode.Type() == 0 {
			out = append(append(out, f.Data...), '\n')
		}
	}
	for _, o := range left { // one that is too long is still one
		if o.Mode.IsRegular() {
			b, err := readHead(dir, o.Path)
			if err != nil {
				return nil, err
			}
			out = append(append(out, b...), '\n')
		}
	}
	return out, nil
}

// readHead is the beginning of a report that is too long for the whole.
func readHead(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(name) // nothing is left that could put another in its place
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxReportBytes))
}

// A booth is a copy of a tree and what lies beside it, for one command.
type booth struct {
	sb     sandbox.Sandbox
	dir    string // on the host
	tree   string // on the host
	guest  string // where a sandbox shows the tree
	files  tare.Tree
	mounts []sandbox.Mount // the first is the tree

	stamps map[string]stamp // of the tree as it was laid out; nil: it cannot be told whether it is so still
	more   tare.Tree        // laid over files for the command that has it now
	made   []string         // for that, directories before what is in them
	lent   time.Time
}

// newBooth lays out t. It is to be closed.
func newBooth(sb sandbox.Sandbox, t tare.Tree) (*booth, error) {
	dir, err := sb.NewDir("d*")
	if err != nil {
		return nil, err
	}
	w := &booth{sb: sb, dir: dir, tree: filepath.Join(dir, usualName), files: t}
	w.guest = w.at(w.tree, treeParent+"/"+usualName)
	if err := w.put(treeParent+"/"+usualName, t, true); err != nil {
		return nil, errors.Join(err, clear(dir))
	}
	return w, nil
}

func (w *booth) at(host, guest string) string {
	if w.sb.Isolation() == sandbox.IsolationProcess {
		return host
	}
	return guest
}

// put lays out t to be shown at guest. What is there already stays.
func (w *booth) put(guest string, t tare.Tree, writable bool) error {
	if w.has(guest) {
		return nil
	}
	host := filepath.Join(w.dir, path.Base(guest))
	w.mounts = append(w.mounts, sandbox.Mount{Host: host, Guest: guest, Writable: writable})
	return w.lay(host, t)
}

func (w *booth) has(guest string) bool {
	return slices.ContainsFunc(w.mounts, func(m sandbox.Mount) bool { return m.Guest == guest })
}

// lay makes a directory with t in it, which belongs to whoever runs commands.
func (w *booth) lay(host string, t tare.Tree) error {
	uid, gid := w.sb.Owner()
	if len(t) > 0 {
		return workspace.Lay(host, t, workspace.Owner{UID: uid, GID: gid})
	}
	if err := os.Mkdir(host, 0o700); err != nil || uid == os.Geteuid() {
		return err
	}
	return os.Chown(host, uid, gid)
}

// putFile shows one file at guest, to be read.
func (w *booth) putFile(guest string, data []byte) error {
	if w.has(guest) {
		return nil
	}
	host := filepath.Join(w.dir, path.Base(guest))
	w.mounts = append(w.mounts, sandbox.Mount{Host: host, Guest: guest})
	return errors.Join(os.WriteFile(host, data, 0o600), os.Chmod(host, 0o444)) // whatever the umask
}

// again lays everything that can be written to out anew.
func (w *booth) again() error {
	w.stamps = nil
	for _, m := range w.mounts {
		if !m.Writable {
			continue
		}
		if err := clear(m.Host); err != nil {
			return fmt.Errorf("clearing up: %w", err)
		}
		var t tare.Tree
		if m.Host == w.tree {
			t = w.files.Overlay(w.more)
		}
		if err := w.lay(m.Host, t); err != nil {
			return err
		}
	}
	return nil
}

// run runs one command in the tree until its ending can be told from an accident.
func (w *booth) run(ctx context.Context, cmd sandbox.Cmd, log *Log, onOutput func([]byte)) (sandbox.Result, error) {
	cmd.Dir = treeParent + "/" + usualName
	cmd.Mounts = append(cmd.Mounts, w.mounts...)
	tried := false
	a, err := insist(ctx, func() (a answer, err error) {
		if tried {
			if err := w.again(); err != nil {
				return a, err
			}
			*log = Log{}
		}
		tried = true
		cmd.OnOutput = func(_ int, p []byte) {
			log.Write(p)
			if onOutput != nil {
				onOutput(p)
			}
		}
		if a.result, err = w.sb.Run(ctx, cmd); err != nil {
			return a, err
		}
		return a, ctx.Err()
	})
	return a.result, err
}

func (w *booth) close(err *error) {
	if cerr := clear(w.dir); *err == nil && cerr != nil {
		*err = fmt.Errorf("clearing up: %w", cerr)
	}
}
