package check

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/parser"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tare"
	"tare/internal/sandbox"
	"tare/internal/workspace"
)

// viewDir holds, in a tree of [GoTest.Cross] and its like, what is built in the place of what is on disk. Its files are of
// an irregular mode: no tree that was read from a disk, and so none of an agent's, holds such files.
const viewDir = ".tare"

// A goView is what the compiler sees of some packages: files in the place of all those on disk that are not tests.
type goView struct {
	packages []string  // directories
	files    tare.Tree // at their paths in the tree
}

// withView is disk as it reads, with view to be built.
func withView(disk tare.Tree, v goView) tare.Tree {
	if len(v.packages) == 0 {
		return disk
	}
	over := tare.Tree{{Path: viewDir + "/packages", Mode: fs.ModeIrregular | 0o444, Data: []byte(strings.Join(v.packages, "\n"))}}
	for _, f := range v.files {
		over = append(over, tare.File{Path: viewDir + "/build/" + f.Path, Mode: fs.ModeIrregular | 0o444, Data: f.Data})
	}
	slices.SortFunc(over, func(a, b tare.File) int { return strings.Compare(a.Path, b.Path) })
	return disk.Overlay(over)
}

// splitView is what withView put together.
func splitView(t tare.Tree) (disk tare.Tree, v goView) {
	for _, f := range t {
		switch p, in := strings.CutPrefix(f.Path, viewDir+"/build/"); {
		case f.Mode&fs.ModeIrregular == 0:
			disk = append(disk, f)
		case in:
			v.files = append(v.files, tare.File{Path: p, Mode: 0o644, Data: f.Data})
		case f.Path == viewDir+"/packages":
			v.packages = strings.Split(string(f.Data), "\n")
		}
	}
	return disk, v
}

// leftOut is src as the compiler sees it in the place of a file that is on disk and not to be built: to go:embed it reads
// as it is but for one line.
func leftOut(src []byte) []byte {
	const never = "//go:build ignore"
	head, _, _ := strings.Cut(string(src), "\npackage ")
	for line := range strings.Lines(head) {
		if strings.HasPrefix(line, "//go:build ") {
			return []byte(strings.Replace(string(src), strings.TrimRight(line, "\r\n"), never, 1))
		}
	}
	return append([]byte(never+"\n\n"), src...)
}

// An overlay is what the go command sees in the place of files of the disk, by their paths in the tree.
type overlay map[string][]byte

// overlay is the part of it that the view makes.
func (b *goBench) overlay() overlay {
	o := overlay{}
	for _, f := range b.disk {
		if slices.Contains(b.view.packages, path.Dir(f.Path)) && isGoSource(f) {
			o[f.Path] = leftOut(f.Data)
		}
	}
	for _, f := range b.view.files {
		dir, base := path.Split(f.Path)
		name := dir + "zz_" + base // keeps what its ending says of systems, and its place among the others
		for _, there := b.disk.Lookup(name); there || o[name] != nil; _, there = b.disk.Lookup(name) {
			name = dir + "zz_" + path.Base(name)
		}
		o[name] = append(fmt.Appendf(nil, "//line %s:1\n", path.Join(b.guest, f.Path)), f.Data...)
	}
	return o
}

// isGoSource reports whether f is Go source that is no test.
func isGoSource(f tare.File) bool {
	return f.Mode.Type() == 0 && strings.HasSuffix(f.Path, ".go") && !strings.HasSuffix(f.Path, "_test.go")
}

// goCommand has the go command build something from the tree and the overlay o, into out. The tree is read-only to it.
func (b *goBench) goCommand(ctx context.Context, o overlay, args ...string) (a answer, err error) {
	free, err := b.layOverlay(o)
	if err != nil {
		return a, fmt.Errorf("writing the overlay: %w", err)
	}
	out, cache := filepath.Join(b.dir, "out"), filepath.Join(b.dir, "cache")
	mounts := append(b.tools.mounts(),
		sandbox.Mount{Host: b.treeDir, Guest: b.guest}, sandbox.Mount{Host: free, Guest: b.at(free, goFree)},
		sandbox.Mount{Host: out, Guest: b.at(out, goOut), Writable: true})
	env := goEnv()
	mounts = append(mounts, withModules(b.modules, env)...)
	maps.Copy(env, b.tools.cache(b.at(cache, goCache)))
	maps.Copy(env, b.tools.Env)
	if b.wall == goReadyWall { // there is no warm cache: this makes it
		delete(env, "GOCACHEPROG")
		env["GOCACHE"] = b.at(cache, "/srv/cache")
		mounts = append(mounts, sandbox.Mount{Host: cache, Guest: env["GOCACHE"], Writable: true})
	}
	if !b.steered {
		env["GOWORK"] = "off"
	}
	a.builds = true
	at := slices.Index(args, "-o")
	args = slices.Insert(args, at, "-overlay", path.Join(b.at(free, goFree), "overlay.json"))
	args[at+3] = path.Join(b.at(out, goOut), args[at+3])
	err = b.run(ctx, sandbox.Cmd{
		Argv: append([]string{"go"}, args...), Dir: b.guest, Env: env, Mounts: mounts,
		Limits: limits(cmp.Or(b.wall, goBuildWall), 0),
	}, &a)
	return a, err
}

// layOverlay writes o, and the grader's instruments with it, to a directory of the host's.
func (b *goBench) layOverlay(o overlay) (string, error) {
	free, err := os.MkdirTemp(b.dir, "free")
	if err != nil {
		return "", err
	}
	guest := b.at(free, goFree)
	replace := b.tools.replaced()
	b.free = map[string]string{}
	var files []tare.File
	names := make([]string, 0, len(o))
	for p := range o {
		names = append(names, p)
	}
	slices.Sort(names)
	for i, p := range names {
		name := fmt.Sprintf("%d.go", i)
		files = append(files, tare.File{Path: name, Mode: 0o444, Data: o[p]})
		replace[path.Join(b.guest, p)] = path.Join(guest, name)
		b.free[path.Join(guest, name)] = p
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	t, err := tare.NewTree(append(files, tare.File{Path: "overlay.json", Mode: 0o444, Data: list}))
	if err != nil {
		return "", err
	}
	uid, gid := b.sb.Owner()
	return free, workspace.Lay(free, t, workspace.Owner{UID: uid, GID: gid})
}

// goSentinels are the grader's tests in one package.
type goSentinels struct{ file, passing, failing, double string }

func newGoSentinels() goSentinels {
	return goSentinels{file: "s" + secret(5) + "_test.go", passing: "TestT" + secret(5), failing: "TestT" + secret(5), double: "TestT" + secret(5)}
}

func (s goSentinels) source(pkg string) []byte {
	return fmt.Appendf(nil, "package %s\n\nimport %[2]s \"testing\"\n\nfunc %[3]s(t *%[2]s.T) {}\nfunc %[4]s(t *%[2]s.T) { t.Fail() }\nfunc %[5]s(t *%[2]s.T) { t.Fail() }\n",
		pkg, "t"+strings.TrimSuffix(s.file, "_test.go"), s.passing, s.failing, s.double)
}

// testingFirst has every package of the tree import package testing, by a file more in its directory. Go starts packages
// after those that they import and otherwise in the order of their paths: one that imports next to nothing would start before
// the instrument, and could read what the grader tells it, nonce and all. under is the directory of the tests to be built.
func (b *goBench) testingFirst(o overlay, under string) {
	seen := map[string]bool{}
	add := func(f tare.File, ending string) {
		dir := path.Dir(f.Path)
		if f.Mode.Type() != 0 || seen[dir+ending] || !goBuilds(f) {
			return
		}
		g, err := parseGo(f, parser.PackageClauseOnly)
		if err != nil || ending == "_test.go" && !strings.HasSuffix(g.ast.Name.Name, "_test") {
			return
		}
		seen[dir+ending] = true
		o[path.Join(dir, "f"+secret(5)+ending)] = fmt.Appendf(nil, "package %s\n\nimport _ \"testing\"\n", g.ast.Name.Name)
	}
	for _, f := range b.view.files {
		add(f, ".go")
	}
	for _, f := range b.disk {
		switch {
		case isGoSource(f) && !slices.Contains(b.view.packages, path.Dir(f.Path)):
			add(f, ".go")
		case strings.HasSuffix(f.Path, "_test.go") && path.Dir(f.Path) == under:
			add(f, "_test.go")
		}
	}
}

// buildTests builds the tests of p, with the grader's among them, unless that has been done and is kept. Where nothing but
// the bodies of some tests is wrong, it builds the others without those. The run that it returns has what is known of the
// commands; names is what the grader's tests are called.
func (b *goBench) buildTests(ctx context.Context, p goPackage) (run tare.Run, names goSentinels, failed goFailure, err error) {
	kept, err := b.keptDir("tests", p.dir, p.name)
	if err != nil {
		return run, names, failed, err
	}
	if made, ok := b.reuse(kept, "t.test"); ok && len(made.Sentinels) == 3 {
		run.Command = append(made.Argv, "&&")
		return run, goSentinels{passing: made.Sentinels[0], failing: made.Sentinels[1], double: made.Sentinels[2]}, failed, nil
	}
	names = newGoSentinels()
	o := b.overlay()
	b.testingFirst(o, p.dir)
	o[path.Join(p.dir, names.file)] = names.source(p.name)
	binary := filepath.Join(b.dir, "out", "t.test")
	for range 3 {
		if err := os.RemoveAll(binary); err != nil {
			return run, names, failed, fmt.Errorf("clearing up: %w", err)
		}
		a, err := b.goCommand(ctx, o, "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", "t.test", "./"+p.dir)
		if err != nil {
			return run, names, failed, err
		}
		d := a.describe(nil)
		run.Seconds += d.Seconds
		run.Command = append(slices.Clone(a.argv), "&&")
		info, err := os.Lstat(binary)
		if err == nil && info.Mode().IsRegular() && a.result.Exit == 0 && a.result.Ended == "" {
			if failed.tests == nil { // the whole package
				err = b.keep(kept, "t.test", goMade{Argv: a.argv, Sentinels: []string{names.passing, names.failing, names.double}})
			}
			return run, names, failed, err
		}
		run.Output = d.Output
		errs := b.errors(a)
		if !failed.prune(p, errs, o) {
			failed.whole, failed.errs = true, errs
			return run, names, failed, nil
		}
	}
	failed.whole = true
	return run, names, failed, nil
}

// goTools is the toolchain, and what was made ready with it once for all runs on this machine.
type goTools struct {
	sandbox.Toolchain
	root string // GOROOT
	dir  string // holds cache, src and out
}

// findGoTools finds the toolchain and makes ready what runs rest on, unless that has been done.
func findGoTools(ctx context.Context, sb sandbox.Sandbox) (t goTools, err error) {
	if t.Toolchain, err = sandbox.FindToolchain("go"); err != nil {
		return t, err
	}
	program, err := sandbox.Resolve("go")
	if err != nil {
		return t, err
	}
	t.root = filepath.Dir(filepath.Dir(program))
	id, err := goIdentity()
	if err != nil {
		return t, err
	}
	helpers, err := goHelperTree()
	if err != nil {
		return t, err
	}
	sum := tare.HashBytes([]byte(id + string(helpers.Digest())))
	t.dir = filepath.Join(sb.LastingDir(), "go-"+string(sum)[len("sha256:"):][:16])
	if _, err := os.Stat(filepath.Join(t.dir, "ready")); err == nil {
		return t, nil
	}
	unlock, err := lockFile(t.dir + ".lock")
	if err != nil {
		return t, fmt.Errorf("making Go ready: %w", err)
	}
	defer unlock()
	if _, err := os.Stat(filepath.Join(t.dir, "ready")); err == nil {
		return t, nil
	}
	if err := t.prepare(ctx, sb, helpers); err != nil {
		return t, fmt.Errorf("making Go ready: %w", err)
	}
	return t, nil
}

func goHelperTree() (tare.Tree, error) {
	entries, err := goHelpers.ReadDir("gohelper")
	if err != nil {
		return nil, fmt.Errorf("reading helpers: %w", err)
	}
	var t tare.Tree
	for _, e := range entries {
		b, err := goHelpers.ReadFile("gohelper/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("reading helpers: %w", err)
		}
		t = append(t, tare.File{Path: strings.TrimSuffix(e.Name(), ".txt"), Mode: 0o444, Data: b})
	}
	return t, nil
}

// replaced is the overlay that puts the grader's instrument into package testing.
func (t goTools) replaced() map[string]string {
	at := filepath.Join(t.root, "src", "testing")
	return map[string]string{
		filepath.Join(at, "testing.go"):                           filepath.Join(t.dir, "src", "testing.go"),
		filepath.Join(at, "tare.go"):                              filepath.Join(t.dir, "src", "testing_tare.go"),
		filepath.Join(t.root, "src", "tareprobe", "tareprobe.go"): filepath.Join(t.dir, "src", "tareprobe.go"),
	}
}

// standin is a test binary that holds tests of the grader's alone.
func (t goTools) standin() string { return filepath.Join(t.dir, "out", "standin.test") }

// mounts show the toolchain and the warm cache, both at their own places.
func (t goTools) mounts() []sandbox.Mount {
	out := []sandbox.Mount{{Host: t.dir, Guest: t.dir}}
	if t.Mount.Host != "" {
		out = append(out, t.Mount)
	}
	return out
}

// prepare builds the usual packages of the standard library, in a sandbox as every build, and keeps what came of it where
// builds can read and nothing can write. No code but Go's own and the grader's has a part in it.
func (t goTools) prepare(ctx context.Context, sb sandbox.Sandbox, helpers tare.Tree) error {
	work, err := sb.NewDir("w*")
	if err != nil {
		return err
	}
	defer clear(work)
	b := &goBench{sb: sb, tools: t, dir: work, treeDir: filepath.Join(work, "m"), wall: goReadyWall}
	b.guest = b.at(b.treeDir, "/srv/m")
	b.tools.dir = filepath.Join(work, "t")
	if err := b.layTools(t.root, helpers); err != nil {
		return err
	}
	// the last of the tests fills the cache for those who test without the grader's instrument
	for _, args := range [][]string{
		{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", "standin.test", "./warm"},
		{"build", "-ldflags=-s -w", "-o", "warm", "."},
		{"build", "-ldflags=-s -w", "-o", "cacheprog", "./cacheprog"},
		{"test", "-c", "-plain", "-o", "plain.test", "./warm"},
	} {
		if i := slices.Index(args, "-plain"); i > 0 {
			args = slices.Delete(args, i, i+1)
			b.tools.root = "/unused" // replaces nothing
		}
		a, err := b.goCommand(ctx, nil, args...)
		if err != nil {
			return err
		}
		if a.result.Exit != 0 || a.result.Ended != "" {
			return fmt.Errorf("go %s %s: %.2000s%.2000s", args[0], a.ending(), a.result.Stdout.Data, a.result.Stderr.Data)
		}
	}
	return t.keep(work)
}

// layTools writes what is built to make a machine ready: a module m of the grader's own, and beside it the instruments.
func (b *goBench) layTools(root string, helpers tare.Tree) error {
	testing, err := os.ReadFile(filepath.Join(root, "src", "testing", "testing.go"))
	if err != nil {
		return err
	}
	if testing, err = instrumented(testing); err != nil {
		return err
	}
	file := func(name, helper string) tare.File {
		f, _ := helpers.Lookup(helper)
		return tare.File{Path: name, Mode: 0o444, Data: f.Data}
	}
	uid, gid := b.sb.Owner()
	for name, files := range map[string]tare.Tree{
		"m": {
			file("cacheprog/main.go", "cacheprog.go"),
			{Path: "go.mod", Mode: 0o444, Data: []byte("module tare.warm\n\ngo 1.24\n")},
			file("main.go", "warm_main.go"), file("warm/warm.go", "warm.go"), file("warm/warm_test.go", "warm_test.go"),
		},
		"t": {
			{Path: "src/testing.go", Mode: 0o444, Data: testing},
			file("src/testing_tare.go", "testing_tare.go"), file("src/tareprobe.go", "tareprobe.go"),
		},
		"out": {}, "cache": {},
	} {
		if err := workspace.Lay(filepath.Join(b.dir, name), files, workspace.Owner{UID: uid, GID: gid}); err != nil {
			return err
		}
	}
	return nil
}

// keep copies what prepare made to where it stays, which may be another disk, as the caller's own. The mark that it is whole comes
// last.
func (t goTools) keep(work string) error {
	made := t.dir + ".new"
	if err := os.RemoveAll(made); err != nil { // of a program that was killed; the lock is ours
		return err
	}
	for from, to := range map[string]string{"t": "", "cache": "cache", "out": "out"} {
		if err := os.CopyFS(filepath.Join(made, to), os.DirFS(filepath.Join(work, from))); err != nil {
			return err
		}
	}
	err := filepath.WalkDir(made, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o444)
		if d.IsDir() || filepath.Dir(name) == filepath.Join(made, "out") {
			mode = 0o755
		}
		if err := os.Lchown(name, os.Geteuid(), os.Getegid()); err != nil {
			return err
		}
		return os.Chmod(name, mode)
	})
	if err != nil {
		return err
	}
	if err := os.RemoveAll(t.dir); err != nil {
		return err
	}
	if err := os.Rename(made, t.dir); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(t.dir, "ready"), nil, 0o444)
}

// cache is the environment in which the go command reads what the warm cache holds, and keeps what it adds at own. The warm
// one is shown read-only, so that nothing can be written into it.
func (t goTools) cache(own string) map[string]string {
	return map[string]string{
		"GOCACHE":     own,
		"GOCACHEPROG": strings.Join([]string{filepath.Join(t.dir, "out", "cacheprog"), filepath.Join(t.dir, "cache"), own}, " "),
	}
}
