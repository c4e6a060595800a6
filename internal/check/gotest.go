package check

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare"
	"tare/internal/sandbox"
	"tare/internal/workspace"
)

// GoTest runs Go modules that need nothing but the standard library: tests as go test builds them, probes as programs of
// their own.
//
// A run has two halves, in sandboxes of their own. The go command builds a binary; the tree is data to it, and no code of
// the tree runs. The binary then runs where there is neither toolchain nor build cache. Package testing is built with an
// instrument of the grader's in it (gohelper/testing_tare.go.txt), which reports each result on a private descriptor with
// a nonce and closes with an end mark; what a test prints is never read. Code of the tree shares the process with the
// instrument, so a report can be forged by code that sets out to; what cannot happen is that a process that ended early, a
// test that was not run or a line that somebody else wrote is taken for a whole report.
//
// Tests are built without vet, cgo and C, and for the machine at hand. Examples, benchmarks and fuzz targets are not run.
type GoTest struct {
	Without tare.Without // defences that are off; none in production
}

//go:embed gohelper/*.txt
var goHelpers embed.FS

const (
	goBuildWall = 3 * time.Minute  // of one build: no code of the tree runs in it
	goReadyWall = 30 * time.Minute // of each of the builds that make a machine ready
	goOut       = "/srv/out"
	goCache     = "/tmp/cache" // what a build adds goes with the sandbox's private /tmp
	goFree      = "/srv/free"  // where a build shows what is not on disk
)

// Run runs tests. Each package with a test that was asked for is built and run by itself, in its own directory. A package
// that cannot be built gives each of its tests the outcome error at collection, with what the compiler said; what it said
// of symbols that are not there is in Missing. The grader's own tests then run in a binary of the grader's.
//
// A test is reported under its file and name, a subtest under those of its test and its own: pkg/a_test.go::TestX/case.
// Reverse runs packages and tests backwards. Nothing in a tree steers a run but what it is built of: go.mod, go.work and
// vendor are honoured when Steered, and otherwise as they stand, workspaces aside.
func (r GoTest) Run(ctx context.Context, sb sandbox.Sandbox, req TestRequest) (out tare.Run, err error) {
	b, err := newGoBench(ctx, sb, req.Tree, req.DirName)
	if err != nil {
		return tare.Run{}, err
	}
	defer b.close(&err)
	b.steered, b.onOutput, b.without = req.Steered, req.OnOutput, r.Without
	b.unseen, b.modules = req.Unseen, req.Modules
	packages := goPackages(b.disk, req.Nodes)
	if req.Reverse {
		slices.Reverse(packages)
	}
	out = tare.Run{Tree: req.Tree.Digest(), Complete: true}
	twinDir := path.Dir(fileOfNode(req.Twin))
	if req.Twin != "" && !slices.ContainsFunc(packages, func(p goPackage) bool { return p.dir == twinDir }) {
		twinDir = ""
		if len(packages) > 0 {
			twinDir = packages[0].dir
		}
	}
	if len(packages) == 0 {
		packages = []goPackage{{dir: ".", absent: true}}
		twinDir = "."
	}
	for i, p := range packages {
		one := goRequest{TestRequest: req, pkg: p, first: i == 0}
		if p.dir == twinDir && req.Twin != "" {
			one.twin = nameOfNode(req.Twin)
		}
		r, err := b.runPackage(ctx, one)
		if err != nil {
			return tare.Run{}, err
		}
		joinRuns(&out, r)
	}
	return out, nil
}

// A goRequest is what is asked of one package.
type goRequest struct {
	TestRequest
	pkg   goPackage
	first bool   // of the packages of a run
	twin  string // the name of the test that is doubled; "" for none
}

// runPackage builds and runs the tests of one package.
func (b *goBench) runPackage(ctx context.Context, req goRequest) (tare.Run, error) {
	var names goSentinels
	var failed goFailure
	binary := ""
	var built tare.Run
	if !req.pkg.absent {
		if err := b.show(); err != nil {
			return tare.Run{}, err
		}
		var err error
		if built, names, failed, err = b.buildTests(ctx, req.pkg); err != nil {
			return tare.Run{}, err
		}
		binary = filepath.Join(b.dir, "out", "t.test")
	}
	if failed.whole || req.pkg.absent {
		names.passing, names.failing, names.double = "TestPassing", "TestFailing", "TestDouble"
		binary = b.tools.standin()
	}
	a, err := b.runBinary(ctx, req, names, binary)
	if err != nil {
		return tare.Run{}, err
	}
	out := a.describe(b.disk)
	out.Command = append(slices.Clone(built.Command), out.Command...)
	out.Seconds += built.Seconds
	out.Output = append(built.Output, out.Output...)
	rep := a.read()
	rep.goTests(req, failed, &out)
	rep.checkGo(a)
	out.Defect, out.Complete = rep.defect, rep.defect == ""
	if failed.whole {
		out.Exit = max(out.Exit, 1)
	}
	return out, nil
}

// runBinary runs a test binary in the directory of its package.
func (b *goBench) runBinary(ctx context.Context, req goRequest, names goSentinels, binary string) (answer, error) {
	a := answer{nonce: secret(16), without: b.without}
	lines := []string{"nonce " + a.nonce, "passing " + names.passing, "failing " + names.failing, "double " + names.double, "dice " + secret(7)}
	if req.twin != "" {
		lines = append(lines, "twin "+req.twin)
	}
	if req.Reverse {
		lines = append(lines, "reverse")
	}
	if req.Nodes == nil {
		lines = append(lines, "all")
	}
	for _, n := range req.Nodes {
		if path.Dir(fileOfNode(n)) == req.pkg.dir {
			lines = append(lines, "test "+nameOfNode(n))
		}
	}
	bin := b.at(filepath.Dir(binary), scriptDir)
	cmd := sandbox.Cmd{
		Argv:   []string{path.Join(bin, filepath.Base(binary)), "-test.paniconexit0"},
		Dir:    b.runDir(req.pkg),
		Env:    map[string]string{"TARE_CHANNEL": "3"},
		Mounts: []sandbox.Mount{{Host: b.treeDir, Guest: b.guest, Writable: true}, {Host: filepath.Dir(binary), Guest: bin}},
		Stdin:  []byte(strings.Join(lines, "\n") + "\n"),
		Extra:  []sandbox.Extra{{Name: "report", Max: maxReport}},
		Limits: limits(req.Wall, 0),
	}
	if err := b.hide(); err != nil {
		return a, err
	}
	err := b.run(ctx, cmd, &a)
	return a, err
}

// hide takes the files away that code of the tree must not read: what is built of them is built.
func (b *goBench) hide() error {
	for _, f := range b.unseen {
		if err := os.Remove(filepath.Join(b.treeDir, filepath.FromSlash(f))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("hiding tests: %w", err)
		}
		b.hidden = true
	}
	return nil
}

// show puts back what hide took.
func (b *goBench) show() error {
	if !b.hidden {
		return nil
	}
	b.hidden = false
	return b.layAgain()
}

// run runs one command until its ending can be told from an accident, and takes its report. Each try finds the tree as it
// was laid out.
func (b *goBench) run(ctx context.Context, cmd sandbox.Cmd, a *answer) error {
	if b.onOutput != nil {
		cmd.OnOutput = func(_ int, p []byte) { b.onOutput(p) }
	}
	a.argv = cmd.Argv
	tried := false
	got, err := insist(ctx, func() (answer, error) {
		if tried {
			if err := b.layAgain(); err != nil {
				return *a, err
			}
			if b.hidden {
				if err := b.hide(); err != nil {
					return *a, err
				}
			}
		}
		tried = true
		var err error
		a.result, err = b.sb.Run(ctx, cmd)
		if err != nil {
			return *a, fmt.Errorf("running %s: %w", path.Base(cmd.Argv[0]), err)
		}
		a.report = nil
		if len(a.result.Extra) > 0 {
			a.report = a.result.Extra[0].Data
		}
		return *a, ctx.Err()
	})
	*a = got
	return err
}

// joinRuns puts the run of a further package behind those before it.
func joinRuns(out *tare.Run, r tare.Run) {
	if len(out.Command) > 0 {
		out.Command = append(out.Command, "&&")
	}
	out.Command = append(out.Command, r.Command...)
	if out.Exit == 0 && out.Signal == "" {
		out.Exit, out.Signal = r.Exit, r.Signal
	}
	if out.Ended == "" {
		out.Ended = r.Ended
	}
	if out.Complete && !r.Complete {
		out.Complete, out.Defect = false, r.Defect
	}
	out.Seconds += r.Seconds
	out.Sentinels = append(out.Sentinels, r.Sentinels...)
	out.Tests = append(out.Tests, r.Tests...)
	out.Output = tail(append(out.Output, r.Output...))
}

// goTests takes the results of one package into out.
func (r *report) goTests(req goRequest, failed goFailure, out *tare.Run) {
	items := r.of("item")
	results := r.goResults(items)
	out.Sentinels = append(out.Sentinels, goSentinelResults(req, items, results)...)
	ids := make([]string, len(items))
	symbols, there := map[string]bool{}, map[string]bool{}
	for i, e := range items {
		if e.Role != "" {
			continue
		}
		id, known := "", false
		if !symbols[e.ID] { // to look one up takes a walk through the package
			id, known = req.pkg.id(e.ID)
		}
		symbols[e.ID] = true
		if !known || there[id] {
			r.fail("test %q is not one of the tree's, or announced twice", e.ID)
			continue
		}
		ids[i], there[id] = id, true
		if res, ok := results[i]; ok && asked(req.Nodes, id) {
			out.Tests = append(out.Tests, res.goResult(id))
		}
	}
	for _, e := range r.of("sub") {
		if e.Item < 0 || e.Item >= len(ids) || ids[e.Item] == "" || !strings.HasPrefix(e.ID, nameOfNode(ids[e.Item])+"/") {
			r.fail("subtest %q is of no test that was announced", e.ID)
			continue
		}
		if id := fileOfNode(ids[e.Item]) + "::" + e.ID; asked(req.Nodes, id) {
			out.Tests = append(out.Tests, e.goResult(id))
		}
	}
	out.Tests = append(out.Tests, failed.results(req)...)
	slices.SortStableFunc(out.Tests, func(a, b tare.TestResult) int { return strings.Compare(a.ID, b.ID) })
}

// goResults joins results to the tests that were announced, and notes what does not join.
func (r *report) goResults(items []event) map[int]event {
	results := map[int]event{}
	for i, e := range items {
		if e.Item != i {
			r.fail("test %q is announced out of order", e.ID)
		}
	}
	for _, e := range r.of("result") {
		if _, twice := results[e.Item]; twice || e.Item < 0 || e.Item >= len(items) || items[e.Item].ID != e.ID {
			r.fail("test %q has two results, or was never announced", e.ID)
			continue
		}
		results[e.Item] = e
	}
	return results
}

// goSentinelResults says how the grader's own tests came out. Those of a further package are called after it.
func goSentinelResults(req goRequest, items []event, results map[int]event) []tare.Sentinel {
	var out []tare.Sentinel
	suffix := ""
	if !req.first {
		suffix = " in " + req.pkg.dir
	}
	for _, s := range []struct {
		role string
		want tare.TestOutcome
	}{{"passing", tare.TestPassed}, {"failing", tare.TestFailed}, {"twin", tare.TestFailed}} {
		if s.role == "twin" && req.twin == "" {
			continue
		}
		got := tare.Sentinel{Name: s.role, Want: s.want}
		if s.role != "twin" {
			got.Name += suffix
		}
		for i, e := range items {
			if e.Role == s.role {
				got.Got = tare.TestOutcome(results[i].Outcome)
			}
		}
		out = append(out, got)
	}
	return out
}

// checkGo notes what the end mark and the way in which the process ended say against a whole report.
func (r *report) checkGo(a answer) {
	if r.end == nil {
		return
	}
	items, results, subs := len(r.of("item")), len(r.of("result")), len(r.of("sub"))
	switch {
	case r.end.Status != a.result.Exit:
		r.fail("the report ends with status %d, the process %s", r.end.Status, a.ending())
	case r.end.Status < 0 || r.end.Status > 1:
		r.fail("package testing stopped early, with status %d", r.end.Status)
	case r.end.Items != items || r.end.Results != results+subs:
		r.fail("the end mark counts %d tests and %d results, the report has %d and %d", r.end.Items, r.end.Results, items, results+subs)
	case items != results:
		r.fail("tests that were collected have no result") // how many is for chance to say: the sentinels stand at random places
	}
}

// goResult is the result of a test or subtest.
func (e event) goResult(id string) tare.TestResult {
	t := tare.TestResult{ID: id, Outcome: tare.TestOutcome(e.Outcome)}
	switch t.Outcome {
	case tare.TestPassed:
		return t
	case tare.TestSkipped:
	case tare.TestFailed:
		if e.When != "call" {
			t.Outcome = tare.TestError
		}
	default:
		t.Outcome = tare.TestError
	}
	t.Phase, t.Class, t.Message, t.InBody = e.When, e.Class, untimed(e.Message), e.InBody && e.When == "call"
	return t
}

// untimed is what a test printed without how long its subtests took, which is another figure each time and would be quoted as a reason.
func untimed(message string) string {
	lines := strings.Split(message, "\n")
	for i, l := range lines {
		if at := strings.LastIndex(l, " ("); at > 0 && strings.HasPrefix(strings.TrimLeft(l, " "), "--- ") && strings.HasSuffix(l, "s)") {
			lines[i] = l[:at]
		}
	}
	return strings.Join(lines, "\n")
}

// asked reports whether nodes, when there are any, cover id: its own, or that of its test.
func asked(nodes []string, id string) bool {
	return nodes == nil || slices.ContainsFunc(nodes, func(n string) bool { return id == n || strings.HasPrefix(id, n+"/") })
}

// fileOfNode is the file of a test's id.
func fileOfNode(id string) string {
	file, _, _ := strings.Cut(id, "::")
	return file
}

// nameOfNode is the name of the function of a test's id.
func nameOfNode(id string) string {
	_, name, _ := strings.Cut(id, "::")
	name, _, _ = strings.Cut(name, "/")
	return name
}

// Command runs all tests of the module.
func (GoTest) Command(dir string, _ []string) (argv []string, env map[string]string) {
	env = goEnv()
	return []string{"go", "test", "./..."}, env
}

// Provide shows the toolchain, and a cache of its own that begins with what the warm one holds.
func (GoTest) Provide(ctx context.Context, sb sandbox.Sandbox) (p Provision, err error) {
	tools, err := findGoTools(ctx, sb)
	if err != nil {
		return p, err
	}
	dir := goCache
	p.Release = func() error { return nil }
	if sb.Isolation() == sandbox.IsolationProcess { // where /tmp is everybody's
		if dir, err = sb.NewDir("c*"); err != nil {
			return p, err
		}
		p.Release = func() error { return clear(dir) }
	}
	p.Env = tools.cache(dir)
	maps.Copy(p.Env, tools.Env)
	p.Mounts = tools.mounts()
	return p, nil
}

// A goBench is a tree laid out to be built and run.
type goBench struct {
	sb       sandbox.Sandbox
	tools    goTools
	dir      string            // on the host: all that follows, and out, cache and free
	treeDir  string            // on the host
	guest    string            // where a sandbox shows the tree
	disk     tare.Tree         // what is laid out
	view     goView            // what is built in the place of some of it
	free     map[string]string // where the last build saw what is not on disk, and what that stood for
	steered  bool
	unseen   []string      // files that are not there when code of the tree runs
	hidden   bool          // they are gone now
	modules  string        // a module cache of the host's; "" for none
	wall     time.Duration // of one build, unless 0
	onOutput func([]byte)
	without  tare.Without
}

// newGoBench lays out t. It is to be closed, also when the rest fails.
func newGoBench(ctx context.Context, sb sandbox.Sandbox, t tare.Tree, dirName string) (b *goBench, err error) {
	b = &goBench{sb: sb}
	b.disk, b.view = splitView(t)
	if b.tools, err = findGoTools(ctx, sb); err != nil {
		return nil, err
	}
	if dirName == "" {
		dirName = usualName
	}
	if filepath.Base(dirName) != dirName || slices.Contains([]string{"..", "check", "out", "cache", "free", "hidden"}, dirName) {
		return nil, fmt.Errorf("%q cannot be the name of the tree's directory", dirName)
	}
	if b.dir, err = sb.NewDir("d*"); err != nil {
		return nil, err
	}
	b.treeDir = filepath.Join(b.dir, dirName)
	b.guest = b.at(b.treeDir, treeParent+"/"+dirName)
	if err = b.lay(); err != nil {
		b.close(&err)
		return nil, err
	}
	return b, nil
}

func (b *goBench) lay() error {
	uid, gid := b.sb.Owner()
	owner := workspace.Owner{UID: uid, GID: gid}
	for name, t := range map[string]tare.Tree{b.treeDir: b.disk, filepath.Join(b.dir, "out"): {}} {
		if err := workspace.Lay(name, tree(t), owner); err != nil {
			return err
		}
	}
	return nil
}

// layAgain lays the tree out anew, whatever a command made of it.
func (b *goBench) layAgain() error {
	if err := clear(b.treeDir); err != nil {
		return fmt.Errorf("clearing up: %w", err)
	}
	uid, gid := b.sb.Owner()
	return workspace.Lay(b.treeDir, tree(b.disk), workspace.Owner{UID: uid, GID: gid})
}

func (b *goBench) close(err *error) {
	if cerr := clear(b.dir); *err == nil && cerr != nil {
		*err = fmt.Errorf("clearing up: %w", cerr)
	}
}

// at is where a sandbox shows host: at guest, or at its own place where there are no mounts.
func (b *goBench) at(host, guest string) string {
	if b.sb.Isolation() == sandbox.IsolationProcess {
		return host
	}
	return guest
}

// runDir is where the tests of p run. A directory that is not there, or is no directory, is none to run in.
func (b *goBench) runDir(p goPackage) string {
	host := filepath.Join(b.treeDir, filepath.FromSlash(p.dir))
	if info, err := os.Lstat(host); err != nil || !info.IsDir() {
		return b.guest
	}
	return path.Join(b.guest, p.dir)
}

// goEnv is the environment of the go command: no network, no configuration, no cgo, the toolchain at hand.
func goEnv() map[string]string {
	return map[string]string{
		"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOPROXY": "off", "GOSUMDB": "off", "GOTOOLCHAIN": "local",
		"GOENV": "off", "GOTELEMETRY": "off", "GO111MODULE": "on", "GOMODCACHE": "/nonexistent",
		"GOMAXPROCS": strconv.Itoa(2), "GOGC": "400", // short-lived processes
	}
}
