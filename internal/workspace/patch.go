package workspace

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"

	"tare"
)

// MaxPatch bounds a patch that is read or made, in bytes. Base 85 makes a binary file a quarter longer.
const MaxPatch = DefaultBytes + DefaultBytes/4

// Diff returns the patch that leads from one tree to the other, in git's format, with binary content and full object
// names so that it can be applied again. It is empty when git would see no difference: a patch says nothing of empty
// directories, of permissions other than the owner's x, and of paths called .git. What git writes of an empty file below a
// directory whose name ends in a space, it cannot read again.
//
// Git compares two trees of a bare repository made for the purpose: no file is checked out, so no attribute, filter
// or driver that the trees bring along applies.
func Diff(ctx context.Context, from, to tare.Tree) ([]byte, error) {
	from, to, err := onlyDifferent(from, to)
	if err != nil {
		return nil, fmt.Errorf("making a patch: %w", err)
	}
	if len(from) == 0 && len(to) == 0 {
		return nil, nil
	}
	db := newODB()
	var ids [2]oid
	for i, t := range []tare.Tree{from, to} {
		entries, err := db.blobs(t)
		if err == nil {
			ids[i], err = db.trees(entries)
		}
		if err != nil {
			return nil, fmt.Errorf("making a patch: %w", err)
		}
	}
	g, err := newScratch(db, nil)
	if err != nil {
		return nil, fmt.Errorf("making a patch: %w", err)
	}
	defer g.remove()
	// A renamed file is one deleted and one new: git cannot apply the rename of a link whose place a directory takes.
	patch, err := g.run(ctx, nil, "diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff",
		"--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", ids[0].String(), ids[1].String())
	if err != nil {
		return nil, fmt.Errorf("making a patch: %w", err)
	}
	return patch, nil
}

// onlyDifferent returns the files of both trees, in canonical form, that a patch between them is about.
func onlyDifferent(from, to tare.Tree) (f, t tare.Tree, err error) {
	if from, err = Canonical(from); err != nil {
		return nil, nil, err
	}
	if to, err = Canonical(to); err != nil {
		return nil, nil, err
	}
	differs := func(other tare.Tree) func(tare.File) bool {
		return func(a tare.File) bool {
			b, ok := other.Lookup(a.Path)
			return inPatches(a) && !(ok && !b.Mode.IsDir() && gitMode(a.Mode) == gitMode(b.Mode) && bytes.Equal(a.Data, b.Data))
		}
	}
	return from.Filter(differs(to)), to.Filter(differs(from)), nil
}

// inPatches reports whether git would keep f at all.
func inPatches(f tare.File) bool { return !f.Mode.IsDir() && !inDotGit(f.Path) }

// A PatchError says why a patch does not apply. It is the patch that is at fault, or whoever made it.
type PatchError struct {
	File   string // the first file that is in the way, as git writes it; "" when the patch cannot be read
	Line   int    // where in File the hunk begins that does not fit, or, without File, the patch's line; 0 when unknown
	Detail string // what git says about it, at most 2000 bytes
}

func (e *PatchError) Error() string {
	switch {
	case e.File != "" && e.Line > 0:
		return fmt.Sprintf("the patch does not apply: %q, the hunk at line %d: %q", e.File, e.Line, e.Detail)
	case e.File != "":
		return fmt.Sprintf("the patch does not apply: %q: %q", e.File, e.Detail)
	}
	return fmt.Sprintf("the patch does not apply or cannot be read: %q", e.Detail)
}

// Apply returns base as the patch changes it. It takes what "git apply" takes, with one leading directory stripped,
// and all of it or nothing. A patch that does not fit, cannot be read, leaves the tree, writes through a link or into
// .git, or adds a submodule is a *PatchError. An empty patch changes nothing.
//
// What the patch does not touch keeps its permissions; what it does gets 0644 or 0755, unless the owner's x stays as
// it was. Git works on the index of a bare repository made for the purpose, so no file of the tree is ever on disk.
func Apply(ctx context.Context, base tare.Tree, patch []byte) (tare.Tree, error) {
	base, err := Canonical(base)
	if err != nil {
		return nil, fmt.Errorf("applying a patch: %w", err)
	}
	if len(patch) == 0 {
		return base, nil
	}
	if len(patch) > MaxPatch {
		return nil, &PatchError{Detail: fmt.Sprintf("it is larger than %d bytes", MaxPatch)}
	}
	db := newODB()
	entries, err := db.blobs(base.Filter(inPatches))
	if err != nil {
		return nil, fmt.Errorf("applying a patch: %w", err)
	}
	g, err := newScratch(db, entries)
	if err != nil {
		return nil, fmt.Errorf("applying a patch: %w", err)
	}
	defer g.remove()
	if _, err := g.run(ctx, patch, "apply", "--cached", "--whitespace=nowarn", "-"); err != nil {
		var exit *gitError
		if errors.As(err, &exit) && exit.refused && !diskFull.Match(exit.stderr) {
			return nil, patchError(exit.stderr)
		}
		return nil, fmt.Errorf("applying a patch: %w", err)
	}
	t, err := g.result(base, db)
	if err != nil {
		return nil, fmt.Errorf("applying a patch: %w", err)
	}
	return t, nil
}

var (
	hunkFailed = regexp.MustCompile(`(?m)^error: patch failed: (.+):(\d+)$`)
	fileFailed = regexp.MustCompile(`(?m)^error: (?:invalid path '(.+)'|affected file '(.+)' is beyond a symbolic link|'(.+)' appears as both .+|(.+?): .+)$`)
	diskFull   = regexp.MustCompile(`(?m)^(?:error|fatal): .+: No space left on device$`)
	lineFailed = regexp.MustCompile(`(?m) at line (\d+)$`)
)

func patchError(stderr []byte) *PatchError {
	e := &PatchError{Detail: string(bytes.TrimSpace(stderr[:min(len(stderr), 2000)]))}
	if m := hunkFailed.FindSubmatch(stderr); m != nil {
		e.File = string(m[1])
		e.Line, _ = strconv.Atoi(string(m[2])) // the expression lets only digits through
	} else if m := lineFailed.FindSubmatch(stderr); m != nil {
		e.Line, _ = strconv.Atoi(string(m[1]))
	} else if m := fileFailed.FindSubmatch(stderr); m != nil {
		e.File = string(bytes.Join(m[1:], nil)) // only one of them matched
	}
	return e
}

// result reads the tree that git left in the index. What git does not know is taken over from base, unless it is now
// in the way.
func (g scratch) result(base tare.Tree, db odb) (tare.Tree, error) {
	raw, err := os.ReadFile(filepath.Join(g.dir, "index"))
	if err != nil {
		return nil, err
	}
	entries, err := decodeIndex(raw)
	if err != nil {
		return nil, err
	}
	var out tare.Tree
	taken := map[string]bool{} // paths of files and of the directories that they lie in
	left := int64(DefaultBytes) + base.Size()
	for _, e := range entries {
		if inDotGit(e.path) {
			return nil, &PatchError{File: e.path, Detail: "it would write a repository's own files"}
		}
		f, err := g.file(e, base, db)
		if err != nil {
			return nil, err
		}
		if left -= int64(len(f.Data)); left < 0 {
			return nil, &PatchError{File: e.path, Detail: "the patch makes the tree too large"}
		}
		out = append(out, f)
		for p := e.path; p != "." && !taken[p]; p = path.Dir(p) {
			taken[p] = true
		}
	}
	isFile := map[string]bool{}
	for _, f := range out {
		isFile[f.Path] = true
	}
	for _, f := range base {
		if !inPatches(f) && !taken[f.Path] && !below(f.Path, isFile) {
			out = append(out, f)
		}
	}
	t, err := Canonical(out)
	if err != nil { // base was canonical
		return nil, &PatchError{Detail: "the result is not a tree: " + err.Error()}
	}
	return t, nil
}

func below(p string, files map[string]bool) bool {
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		if files[d] {
			return true
		}
	}
	return false
}

// file returns the file that e stands for.
func (g scratch) file(e indexEntry, base tare.Tree, db odb) (tare.File, error) {
	f := tare.File{Path: e.path}
	old, was := base.Lookup(e.path)
	switch e.mode {
	case gitFile, gitExec:
		f.Mode = fs.FileMode(e.mode & 0o777)
		if was && old.Mode.IsRegular() && gitMode(old.Mode) == e.mode {
			f.Mode = old.Mode
		}
	case gitLink:
		f.Mode = fs.ModeSymlink | 0o777
	default:
		return f, &PatchError{File: e.path, Detail: fmt.Sprintf("mode %o is neither a file nor a link", e.mode)}
	}
	if raw, ok := db.objects[e.id]; ok {
		_, data, _ := bytes.Cut(raw, []byte{0})
		f.Data = data
		return f, nil
	}
	name := e.id.String()
	r, err := os.Open(filepath.Join(g.dir, "objects", name[:2], name[2:]))
	if err != nil {
		return f, err
	}
	defer r.Close()
	kind, data, err := inflate(r, DefaultFileBytes)
	if err != nil || kind != "blob" {
		return f, &PatchError{File: e.path, Detail: fmt.Sprintf("its new content cannot be taken: %v", err)}
	}
	f.Data = data
	return f, nil
}

// A scratch is a bare repository that exists for one command.
type scratch struct{ dir, home string }

func newScratch(db odb, index []indexEntry) (scratch, error) {
	tmp, err := os.MkdirTemp("", "tare-git-")
	if err != nil {
		return scratch{}, err
	}
	g := scratch{dir: filepath.Join(tmp, "repo"), home: filepath.Join(tmp, "home")}
	// Not compressed: the files live for milliseconds.
	t, err := db.loose("objects", zlib.NoCompression)
	t = append(t,
		tare.File{Path: "HEAD", Mode: 0o644, Data: []byte("ref: refs/heads/none\n")},
		tare.File{Path: "config", Mode: 0o644, Data: []byte("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")},
		tare.File{Path: "index", Mode: 0o644, Data: encodeIndex(index)},
		tare.File{Path: "refs", Mode: fs.ModeDir | 0o755},
	)
	if len(db.objects) == 0 {
		t = append(t, tare.File{Path: "objects", Mode: fs.ModeDir | 0o755})
	}
	if err == nil {
		err = Lay(g.dir, t, asIs)
	}
	if err == nil {
		err = os.Mkdir(g.home, 0o700)
	}
	if err != nil {
		g.remove()
		return scratch{}, err
	}
	return g, nil
}

// remove deletes the repository. What cannot be deleted stays in the directory for temporary files.
func (g scratch) remove() { os.RemoveAll(filepath.Dir(g.dir)) }

// A gitError is a git command that ended with something other than success.
type gitError struct {
	refused bool // git ran to its end and said no, or broke at what it was given
	stderr  []byte
	err     error
}

func (e *gitError) Error() string {
	return fmt.Sprintf("running git: %v: %q", e.err, e.stderr[:min(len(e.stderr), 2000)])
}
func (e *gitError) Unwrap() error { return e.err }

// run runs one git command in the repository, with no configuration but the repository's own, and no environment.
func (g scratch) run(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir = g.home
	c.Env = []string{
		"GIT_DIR=" + g.dir, "GIT_CEILING_DIRECTORIES=" + filepath.Dir(g.dir), "HOME=" + g.home, "XDG_CONFIG_HOME=" + g.home,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		"LC_ALL=C", "PATH=" + os.Getenv("PATH"),
	}
	stdout, stderr := &bounded{left: MaxPatch}, &bounded{left: 64 << 10, quiet: true}
	c.Stdout, c.Stderr = stdout, stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("running git: %w", err)
	}
	// Git reads its input first, so a patch that unfolds to more than memory meets the limit, not the machine.
	err = limit(c.Process.Pid)
	if err == nil {
		_, err = in.Write(stdin)
	}
	in.Close()
	werr := c.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("running git: %w", context.Cause(ctx))
	case stdout.full:
		return nil, fmt.Errorf("running git: it wrote more than %d bytes", MaxPatch)
	case werr != nil:
		return nil, &gitError{refused: c.ProcessState.Exited() || broke(c.ProcessState), stderr: stderr.buf.Bytes(), err: werr}
	case err != nil: // it succeeded without reading all of its input
		return nil, fmt.Errorf("running git: %w", err)
	}
	return stdout.buf.Bytes(), nil
}

// broke reports whether a process ended by a fault of its own, such as an assertion of git's that a patch can violate,
// and was not killed from outside.
func broke(s *os.ProcessState) bool {
	w, ok := s.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && slices.Contains([]syscall.Signal{syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE}, w.Signal())
}

// A bounded buffer fails when it is full, or, if quiet, forgets what comes then.
type bounded struct {
	buf   bytes.Buffer
	left  int
	quiet bool
	full  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	b.buf.Write(p[:n])
	if n < len(p) {
		b.full = true
		if !b.quiet {
			return n, errors.New("too much output")
		}
	}
	return len(p), nil
}
