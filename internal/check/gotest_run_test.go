package check

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare"
	"tare/internal/sandbox"
	"tare/internal/workspace"
)

// The subject of the tests below: Touching has a bug that TestTouching shows, and TestOther passes.
const (
	goMod    = "module ticket\n\ngo 1.22\n"
	goSpan   = "package span\n\ntype Span struct{ From, To int }\n\nfunc (s Span) Touching(o Span) bool { return s.To < o.From }\n\nfunc Other() int { return 1 }\n"
	goVisib  = "package span\n\nimport \"testing\"\n\nfunc TestTouching(t *testing.T) {\n\tif !(Span{1, 2}).Touching(Span{2, 3}) {\n\t\tt.Error(\"apart\")\n\t}\n}\n\nfunc TestOther(t *testing.T) {\n\tif Other() != 1 {\n\t\tt.Fatal(Other())\n\t}\n}\n"
	touching = "span/span_test.go::TestTouching"
	other    = "span/span_test.go::TestOther"
)

func goTree(t testing.TB, more ...string) tare.Tree {
	t.Helper()
	return files(t, "go.mod", goMod, "span/span.go", goSpan, "span/span_test.go", goVisib).Overlay(files(t, more...))
}

func runGo(t *testing.T, req TestRequest) tare.Run {
	t.Helper()
	if req.Wall == 0 {
		req.Wall = long
	}
	r, err := GoTest{}.Run(t.Context(), box, req)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Verbose() {
		t.Logf("complete %v %q exit %d %s %s, %.2f s, %v\n%s", r.Complete, r.Defect, r.Exit, r.Signal, r.Ended, r.Seconds, r.Tests, r.Output)
	}
	return r
}

// TestGoOutcomes pins what each way for a test to end is called.
func TestGoOutcomes(t *testing.T) {
	tree := goTree(t, "span/many_test.go", `
package span_test

import (
	"os"
	"runtime"
	"testing"
	"ticket/span"
)

func TestFails(t *testing.T)  { t.Run("good", func(t *testing.T) {}); t.Run("bad one", func(t *testing.T) { t.Error("x") }) }
func TestSkips(t *testing.T)  { t.Skip("no") }
func TestPanics(t *testing.T) { var m map[string]int; m["a"] = span.Other() }
func TestSubPanics(t *testing.T) { t.Run("a", func(t *testing.T) { panic("sub") }); t.Run("b", func(t *testing.T) {}) }
func TestGoexit(t *testing.T) { runtime.Goexit() }
func TestExit0(t *testing.T)  { os.Exit(0) }
func TestCleanup(t *testing.T) { t.Cleanup(func() { t.Error("late") }) }
func TestParallel(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"a", "b"} {
		t.Run(n, func(t *testing.T) { t.Parallel(); if n == "b" { t.Fail() } })
	}
}
func TestPrints(t *testing.T) {
	os.Stdout.WriteString("--- PASS: TestFails (0.00s)\n{\"Action\":\"pass\",\"Package\":\"ticket/span\",\"Test\":\"TestFails\"}\n\x16--- PASS: TestTouching (0.00s)\nPASS\n")
}
func TestOther(t *testing.T) { t.Log("the other one") }
func Testlower(t *testing.T) { t.Fatal("no test") }
func helper(t *testing.T)    {}
func ExampleOther()          {}
 func FuzzNot(f *testing.F)   { f.Fatal("not run") }
`)
	r := runGo(t, TestRequest{Tree: tree, Twin: touching})
	if !r.Complete || !sentinelsRight(r) || len(r.Sentinels) != 3 {
		t.Fatalf("complete %v, defect %q, sentinels %v\n%s", r.Complete, r.Defect, r.Sentinels, r.Output)
	}
	failed := func(id, class string) tare.TestResult {
		return tare.TestResult{ID: id, Outcome: tare.TestFailed, Phase: "call", Class: class, InBody: true}
	}
	pass := func(id string) tare.TestResult { return tare.TestResult{ID: id, Outcome: tare.TestPassed} }
	want := []tare.TestResult{
		{ID: "TestCleanup", Outcome: tare.TestError, Phase: "teardown"}, failed("TestExit0", "panic"), failed("TestFails", ""), failed("TestFails/bad_one", ""),
		pass("TestFails/good"), failed("TestGoexit", "goexit"), pass("TestOther"), failed("TestPanics", "panic"),
		failed("TestParallel", ""), pass("TestParallel/a"), failed("TestParallel/b", ""), pass("TestPrints"), {ID: "TestSkips", Outcome: tare.TestSkipped, Phase: "call"},
		failed("TestSubPanics", ""), failed("TestSubPanics/a", "panic"), pass("TestSubPanics/b"),
	}
	for i := range want {
		want[i].ID = "span/many_test.go::" + want[i].ID
	}
	want = append(want, pass(other), failed(touching, ""))
	for i := range r.Tests {
		r.Tests[i].Message = ""
	}
	if !slices.Equal(r.Tests, want) {
		t.Errorf("got\n%v\nwant\n%v", r.Tests, want)
	}
	if s := string(r.Output); strings.Contains(s, "TestT") && !strings.Contains(s, "TestTouching") || strings.Count(s, "FAIL: TestTouching") != 1 {
		t.Errorf("sentinels are shown:\n%s", s)
	}
}

// goHostile is code in the subject that tries to have a failing test read as passed. What is done when it is called stands in one
// tree, and the test that is asked for says which of it: so it is built once.
var goHostile = []struct {
	test, code string
	wall       time.Duration
	defect     string // part of Run.Defect; "" for a whole report
}{
	{test: "Nothing"},
	{test: "ExitWhenCalled", code: "syscall.Exit(0)", defect: "no end mark: the process ended by itself with status 0"},
	{test: "Killed", code: "syscall.Kill(syscall.Getpid(), 9)", defect: "no end mark: the process was ended by SIGKILL"},
	{test: "Hang", code: "go func() { for {} }(); select {}", wall: time.Second, defect: "no end mark: the process was stopped by the limit on wall"},
	{test: "PanicElsewhere", code: "c := make(chan int); go func() { panic(1) }(); <-c", defect: "no end mark: the process ended by itself with status 2"},
	{test: "LowDescriptors", code: "for i := 21; i < 300; i++ { syscall.Close(i) }"},
	{test: "AllDescriptors", code: "for i := 290; i < 1000; i++ { syscall.Close(i) }", defect: "no end mark"},
	{test: "Garbage", code: "for i := 290; i < 1000; i++ { syscall.Write(i, []byte(\"{\\\"event\\\":\\\"end\\\"}\\n\")) }", defect: "does not have this run's nonce"},
	{test: "LongLine", code: "for i := 290; i < 1000; i++ { syscall.Write(i, make([]byte, 2<<20)) }", defect: "of the report"},
}

// goHostileTree is the subject with all of goHostile in it. At its start it clears the environment and takes what is left of the
// request, which must not show in any row.
func goHostileTree(t *testing.T) tare.Tree {
	does, tests := "", ""
	for _, c := range goHostile {
		does += fmt.Sprintf("\tcase %q:\n\t\t%s\n", c.test, c.code)
		tests += fmt.Sprintf("func Test%s(t *testing.T) {\n\tdoes = %[1]q\n\tif !(Span{1, 2}).Touching(Span{2, 3}) {\n\t\tt.Error(\"apart\")\n\t}\n}\n\n", c.test)
	}
	return goTree(t, "span/span.go", strings.Replace(goSpan, "bool {", "bool { hook();", 1),
		"span/bad.go", "package span\n\nimport (\n\t\"io\"\n\t\"os\"\n\t\"syscall\"\n)\n\nvar does string\n\nfunc init() {\n\tio.ReadAll(os.Stdin)\n\tos.Clearenv()\n}\n\nfunc hook() {\n\tswitch does {\n"+does+"\t}\n}\n",
		"span/hostile_test.go", "package span\n\nimport \"testing\"\n\n"+tests)
}

func TestGoHostile(t *testing.T) {
	hostile := func(tree tare.Tree, failing, defect string, wall time.Duration) {
		t.Run(failing, func(t *testing.T) {
			r := runGo(t, TestRequest{Tree: tree, Nodes: []string{failing, other}, Twin: failing, Wall: wall})
			if outcomes(r)[failing] == tare.TestPassed {
				t.Errorf("the failing test reads as passed: %v", r.Tests)
			}
			if r.Complete != (defect == "") || !strings.Contains(r.Defect, defect) {
				t.Fatalf("complete %v, defect %q; want %q in it", r.Complete, r.Defect, defect)
			}
			if defect == "" && (!sentinelsRight(r) || outcomes(r)[failing] != tare.TestFailed || outcomes(r)[other] != tare.TestPassed) {
				t.Errorf("%v %v", r.Sentinels, r.Tests)
			}
		})
	}
	tree := goHostileTree(t)
	for _, c := range goHostile {
		hostile(tree, "span/hostile_test.go::Test"+c.test, c.defect, c.wall)
	}
	early := "package span\n\nimport \"os\"\n\nfunc init() { os.Stdout.WriteString(\"ok\\nPASS\\n\"); os.Exit(0) }\n"
	hostile(goTree(t, "span/bad.go", early), touching, "no end mark: the process ended by itself with status 0", 0)
}

// TestGoStartsFirst has packages that import next to nothing look for what the instrument is told, wherever they lie: the
// instrument has taken it by then. They are all of one binary, and each says what it saw under a name of its own.
func TestGoStartsFirst(t *testing.T) {
	early := func(pkg, who string) string {
		return "package " + pkg + "\n\nimport \"syscall\"\n\nfunc init() {\n\tif v, _ := syscall.Getenv(\"TARE_CHANNEL\"); v != \"\" {\n\t\tsyscall.Write(2, []byte(\"TAKEN " + who + "\\n\"))\n\t}\n\tif n, _ := syscall.Read(0, make([]byte, 99)); n > 0 {\n\t\tsyscall.Write(2, []byte(\"TAKEN " + who + "\\n\"))\n\t}\n\tsyscall.Write(2, []byte(\"LOOKED " + who + "\\n\"))\n}\n"
	}
	r := runGo(t, TestRequest{Nodes: []string{touching, other}, Twin: touching, Tree: goTree(t,
		"span/early.go", early("span", "the package itself"),
		"a/early.go", early("a", "one that it imports"),
		"span/testdata/b/early.go", early("b", "one below testdata"),
		"_c/early.go", early("c", "one that ./... leaves out"),
		"d/d.go", "//go:build never\n\npackage other\n", "d/early.go", early("d", "one of two files"),
		"span/bad.go", "package span\n\nimport (\n\t_ \"ticket/_c\"\n\t_ \"ticket/a\"\n\t_ \"ticket/d\"\n\t_ \"ticket/span/testdata/b\"\n)\n",
		"e/early.go", early("e", "one of the tests"),
		"span/more_test.go", "package span\n\nimport _ \"ticket/e\"\nimport \"testing\"\n\nfunc TestMore(t *testing.T) {}\n",
		"span/ext_test.go", early("span_test", "an external test"))})
	if !r.Complete || !sentinelsRight(r) || outcomes(r)[other] != tare.TestPassed || outcomes(r)[touching] != tare.TestFailed {
		t.Errorf("%q %v %v\n%s", r.Defect, r.Sentinels, r.Tests, r.Output)
	}
	for _, who := range []string{
		"the package itself", "one that it imports", "one below testdata", "one that ./... leaves out", "one of two files", "one of the tests", "an external test",
	} {
		if out := string(r.Output); strings.Contains(out, "TAKEN "+who) || !strings.Contains(out, "LOOKED "+who) {
			t.Errorf("%s printed %q", who, out)
		}
	}
}

// TestGoCollection pins what becomes of tests that are not there or cannot be built.
func TestGoCollection(t *testing.T) {
	broken := "package span\n\nimport (\n\t\"testing\"\n\t\"strings\"\n)\n\nfunc TestNeeds(t *testing.T) {\n\tif helper(strings.ToUpper(\"x\")) != 1 {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestBeside(t *testing.T) {}\n"
	gone := map[string]tare.Tree{
		"a helper that is not there": goTree(t, "span/new_test.go", broken),
		"outside of a test":          goTree(t, "span/new_test.go", "package span\n\nimport \"testing\"\n\nvar x = helper\n\nfunc TestNeeds(t *testing.T) {}\n\nfunc TestBeside(t *testing.T) {}\n"),
		"a source that is broken":    goTree(t, "span/new.go", "package span\n\nvar x int = \"\"\n", "span/new_test.go", "package span\n\nimport \"testing\"\n\nfunc TestNeeds(t *testing.T) {}\n"),
		"a file that is no Go":       goTree(t, "span/new_test.go", "func TestNeeds("),
		"a package of its own":       goTree(t, "span/new_test.go", "package other\n\nimport \"testing\"\n\nfunc TestNeeds(t *testing.T) {}\n"),
		"a module that is not there": goTree(t, "span/new_test.go", "package span\n\nimport (\n\t\"testing\"\n\t\"ticket/gone\"\n)\n\nfunc TestNeeds(t *testing.T) { gone.Do() }\n"),
		"a build tag":                goTree(t, "span/new_test.go", "//go:build never\n\npackage span\n\nimport \"testing\"\n\nfunc TestNeeds(t *testing.T) {}\n"),
	}
	const needs, beside = "span/new_test.go::TestNeeds", "span/new_test.go::TestBeside"
	for name, want := range map[string]struct {
		touching, needs, beside tare.TestOutcome
		missing, class          string // of needs
	}{
		"a helper that is not there": {tare.TestFailed, tare.TestError, tare.TestPassed, "helper", "build failed: span/new_test.go:9: undefined: helper"},
		"outside of a test":          {tare.TestError, tare.TestError, tare.TestError, "helper", "build failed: span/new_test.go:5: undefined: helper"},
		"a source that is broken":    {tare.TestError, tare.TestError, "", "", "build failed: span/new.go:3: cannot use \"\""},
		"a file that is no Go":       {tare.TestError, tare.TestError, tare.TestError, "", "build failed: span/new_test.go:1: expected 'package'"},
		"a package of its own":       {tare.TestError, tare.TestError, "", "", "build failed: "},
		"a module that is not there": {tare.TestError, tare.TestError, "", "ticket/gone", "build failed: span/new_test.go:5: package ticket/gone is not in std"},
		"a build tag":                {tare.TestFailed, "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := runGo(t, TestRequest{Tree: gone[name], Nodes: []string{touching, other, needs, needs + "/case", beside}, Twin: touching})
			if !r.Complete || !sentinelsRight(r) || len(r.Sentinels) != 3 {
				t.Fatalf("%v %q %v", r.Complete, r.Defect, r.Sentinels)
			}
			got := outcomes(r)
			if got[touching] != want.touching || got[needs] != want.needs || got[beside] != want.beside {
				t.Errorf("%v", r.Tests)
			}
			if want.needs != "" {
				n, sub := result(t, r, needs), result(t, r, needs+"/case")
				if n.Missing != want.missing || !strings.HasPrefix(n.Class, want.class) || n.Phase != "collect" {
					t.Errorf("%+v", n)
				}
				if sub.Outcome != n.Outcome || sub.Class != n.Class || sub.Phase != n.Phase {
					t.Errorf("its subtest %+v", sub)
				}
			}
		})
	}
	r := runGo(t, TestRequest{Tree: goTree(t), Nodes: []string{"span/gone_test.go::TestX", "gone/x_test.go::TestX", "-k", other}, Twin: touching})
	if !r.Complete || !sentinelsRight(r) || len(r.Tests) != 1 || r.Tests[0].ID != other {
		t.Errorf("%q %v %v", r.Defect, r.Sentinels, r.Tests)
	}
	r = runGo(t, TestRequest{Tree: goTree(t), Nodes: []string{"gone/x_test.go::TestX"}, Twin: touching})
	if !r.Complete || !sentinelsRight(r) || len(r.Tests) != 0 || len(r.Sentinels) != 3 {
		t.Errorf("%q %v %v", r.Defect, r.Sentinels, r.Tests)
	}
}

// TestGoSteering shows that what steers has no effect when it is not honoured, or is seen, and that its name gives it away.
func TestGoSteering(t *testing.T) {
	seed := goTree(t)
	for _, c := range []struct {
		name   string
		extra  []string
		steers bool
		want   map[bool]tare.TestOutcome // of TestTouching: false where nothing is honoured. What is the go command's own way is played once
	}{
		{"a workspace with another module of that name", []string{"go.work", "go 1.21\n\nuse ./w\n", "w/go.mod", goMod, "w/span/span.go", goSpan}, true, map[bool]tare.TestOutcome{false: tare.TestFailed, true: tare.TestError}},
		{"a module in the way", []string{"span/go.mod", "module x\n"}, true, map[bool]tare.TestOutcome{false: "", true: ""}},
		{"TestMain that exits", []string{"span/main_test.go", "package span\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n"}, false, map[bool]tare.TestOutcome{true: ""}},
		{"TestMain that runs and exits 0", []string{"span/main_test.go", "package span\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { m.Run(); os.Exit(0) }\n"}, false, map[bool]tare.TestOutcome{false: tare.TestFailed}},
		{"assembly", []string{"span/x.s", "TEXT ·x(SB),4,$0\n\tRET\n"}, true, map[bool]tare.TestOutcome{true: tare.TestFailed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := goTree(t, c.extra...)
			flagged := false
			for _, ch := range seed.Changes(tree) {
				flagged = flagged || GoTest{}.Steers(ch.Path, seed) != ""
			}
			if flagged != c.steers {
				t.Errorf("%v: said to steer: %v", c.extra, flagged)
			}
			for steered, want := range c.want {
				r := runGo(t, TestRequest{Tree: tree, Nodes: []string{touching}, Twin: touching, Steered: steered})
				if got := outcomes(r)[touching]; got != want {
					t.Errorf("steered %v: %q, want %q; %q", steered, got, want, r.Defect)
				}
				if strings.HasPrefix(c.name, "TestMain") && r.Complete {
					t.Errorf("steered %v: the report is whole", steered)
				}
			}
		})
	}
	for p, want := range map[string]bool{
		"go.mod": true, "GO.SUM": true, "a/go.work": true, "vendor/modules.txt": true, "span/vendor/x/x.go": true, "span/a.S": true, "span/x.syso": true,
		"span/x.c": true, "span/new.go": false, "span/new_test.go": false, "span/testdata/x": false, "README.md": false, "vendor": false,
	} {
		if got := (GoTest{}).Steers(p, seed); (got != "") != want {
			t.Errorf("%s: %q", p, got)
		}
	}
}

// TestGoCircumstances shows where and in which order tests run, and what they find there.
func TestGoCircumstances(t *testing.T) {
	tree := goTree(t, "b/b_test.go", `
package b

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var order []string

func TestDir(t *testing.T) {
	order = append(order, "dir")
	wd, _ := os.Getwd()
	if filepath.Base(filepath.Dir(wd)) != "elsewhere" || filepath.Base(wd) != "b" {
		t.Fatal(wd)
	}
}
func TestLast(t *testing.T) {
	if len(order) != 0 {
		t.Fatal(order)
	}
}
func TestClean(t *testing.T) {
	for _, e := range os.Environ() {
		if strings.HasPrefix(e, "TARE_CHANNEL") || strings.HasPrefix(e, "GO") {
			t.Error(e)
		}
	}
	if b, err := io.ReadAll(os.Stdin); len(b) > 0 || err != nil {
		t.Error(b, err)
	}
	for _, gone := range []string{runtime.GOROOT(), "/srv/cache", "/srv/free"} {
		if gone != "" {
			if _, err := os.Stat(gone); err == nil {
				t.Error(gone)
			}
		}
	}
	entries, _ := os.ReadDir(".")
	if len(entries) != 1 {
		t.Error(entries)
	}
}
func TestFile(t *testing.T) {
	_, file, line, _ := runtime.Caller(0)
	if b, err := os.ReadFile(file); err != nil || line < 40 || !strings.Contains(string(b), "func TestFile") {
		t.Error(file, line, err)
	}
}
`)
	a := runGo(t, TestRequest{Tree: tree, DirName: "elsewhere", Reverse: true})
	b := runGo(t, TestRequest{Tree: tree})
	at := func(r tare.Run, n string) tare.TestOutcome { return result(t, r, "b/b_test.go::Test"+n).Outcome }
	for _, n := range []string{"Dir", "Last", "Clean", "File"} {
		if at(a, n) != tare.TestPassed {
			t.Errorf("%+v", result(t, a, "b/b_test.go::Test"+n))
		}
	}
	if at(b, "Dir") != tare.TestFailed || at(b, "Last") != tare.TestFailed || !sentinelsRight(a) || !sentinelsRight(b) || len(b.Sentinels) != 4 {
		t.Errorf("%v %v", b.Tests, b.Sentinels)
	}
}

// TestGoCommand runs what a developer types: with the module's own settings, vet and all that is there.
func TestGoCommand(t *testing.T) {
	dir, err := box.NewDir("w*")
	if err != nil {
		t.Fatal(err)
	}
	uid, gid := box.Owner()
	tree := filepath.Join(dir, "w")
	if err := workspace.Lay(tree, goTree(t), workspace.Owner{UID: uid, GID: gid}); err != nil {
		t.Fatal(err)
	}
	p, err := Provide(t.Context(), box, GoTest{})
	if err != nil {
		t.Fatal(err)
	}
	argv, env := GoTest{}.Command("/workspace", nil)
	maps.Copy(env, p.Env)
	res, err := box.Run(t.Context(), sandbox.Cmd{
		Argv: argv, Dir: "/workspace", Env: env, Limits: sandbox.Limits{Wall: 3 * long},
		Mounts: append(p.Mounts, sandbox.Mount{Host: tree, Guest: "/workspace", Writable: true}),
	})
	if err != nil {
		t.Fatal(err)
	}
	out := string(res.Stdout.Data)
	if res.Exit != 1 || !strings.Contains(out, "--- FAIL: TestTouching") || strings.Contains(out, "TestOther") || !strings.Contains(out, "FAIL\tticket/span") {
		t.Errorf("exit %d %s\n%s%s", res.Exit, res.Ended, out, res.Stderr.Data)
	}
	if err := p.Release(); err != nil {
		t.Error(err)
	}
}

func TestUntimed(t *testing.T) {
	const message = "    --- FAIL: TestParse/basic (0.01s)\n        parse_test.go:3: took (1s)\n--- SKIP: TestOther (12.30s)"
	if got, want := untimed(message), "    --- FAIL: TestParse/basic\n        parse_test.go:3: took (1s)\n--- SKIP: TestOther"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
