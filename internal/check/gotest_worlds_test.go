package check

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"tare"
)

// A small subject with a bug: touching spans are apart. The fix has a helper in a file of its own.
const (
	goFixed = "package span\n\nimport \"cmp\"\n\n// Span is a half-open range.\ntype Span struct{ From, To int }\n\n// FIXED: they touch.\nfunc (s Span) Touching(o Span) bool { return cmp.Compare(last(s), o.From) <= 0 && meets(s, o) }\n\nfunc Other() int { return 1 }\n"
	goMeets = "package span\n\nfunc last(s Span) int { return s.To }\n\nfunc meets(s, o Span) bool { return s.To >= o.From }\n"

	goBugged = "package span\n\nimport \"strings\"\n\ntype Span struct{ From, To int; Label string }\n\nvar strict = true\n\nfunc (s Span) Touching(o Span) bool { return strings.ToLower(s.Label) == \"\" && beyond(s.To, o.From) }\n\nfunc beyond(a, b int) bool { return strict && a > b }\n\nfunc Other() int { return 1 }\n"

	goWorldTests = `
package span

import (
	_ "embed"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

//go:embed span.go
var text string

func source() string {
	b, err := os.ReadFile("span.go")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestGenuine(t *testing.T) {
	if !(Span{From: 1, To: 2}).Touching(Span{From: 2, To: 3}) {
		t.Error("apart")
	}
}
func TestGenuineElsewhere(t *testing.T) {
	done := make(chan bool)
	go func() { done <- Span{From: 1, To: 2}.Touching(Span{From: 2, To: 3}) }()
	if !<-done {
		t.Error("apart")
	}
}
func TestRecovers(t *testing.T) {
	defer func() { recover() }()
	if !(Span{From: 1, To: 2}).Touching(Span{From: 2, To: 3}) {
		t.Error("apart")
	}
}
func TestEmbed(t *testing.T) {
	if !strings.Contains(text, "FIXED") {
		t.Error()
	}
}
func TestRead(t *testing.T) {
	if !strings.Contains(source(), "FIXED") {
		t.Error()
	}
}
func TestCaller(t *testing.T) {
	f := runtime.FuncForPC(reflect.ValueOf(Other).Pointer())
	file, _ := f.FileLine(f.Entry())
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "FIXED") {
		t.Error(file, err)
	}
}
func TestListing(t *testing.T) {
	if _, err := os.Stat("meets.go"); err != nil {
		t.Error(err)
	}
}
func TestCode(t *testing.T) {
	f := runtime.FuncForPC(reflect.ValueOf(Span.Touching).Pointer())
	if _, line := f.FileLine(f.Entry()); line != 9 {
		t.Error(line)
	}
}
func TestOther(t *testing.T) {
	if Other() != 1 {
		t.Error()
	}
}
`
)

var goSrc = []string{"span"}

func goSeedTree(t *testing.T) tare.Tree {
	return files(t, "go.mod", goMod, "span/span.go", goBugged, "span/span_test.go", goWorldTests)
}

func goFixTree(t *testing.T) tare.Tree {
	return goSeedTree(t).Overlay(files(t, "span/span.go", goFixed, "span/meets.go", goMeets))
}

func passingGo(t *testing.T, tree tare.Tree) []string {
	t.Helper()
	r := runGo(t, TestRequest{Tree: tree})
	if !r.Complete || !sentinelsRight(r) {
		t.Fatalf("%q %v\n%s", r.Defect, r.Sentinels, r.Output)
	}
	var out []string
	for _, x := range r.Tests {
		if x.Phase == "collect" {
			t.Fatalf("%+v", x)
		}
		if x.Outcome == tare.TestPassed {
			_, name, _ := strings.Cut(x.ID, "::Test")
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// TestGoFourCells shows that a test of behaviour follows the behaviour, a test of text the text, in all combinations.
func TestGoFourCells(t *testing.T) {
	seed, fix := goSeedTree(t), goFixTree(t)
	g := GoTest{}
	genuine := []string{"Genuine", "GenuineElsewhere", "Recovers"}
	byText := []string{"Caller", "Embed", "Listing", "Read"}
	for _, c := range []struct {
		name string
		tree tare.Tree
		want []string
	}{
		{"fix", fix, slices.Concat(genuine, byText, []string{"Code", "Other"})},
		{"seed", seed, []string{"Code", "Other"}},
		{"text of the fix, behaviour of the seed", must(t)(g.Cross(t.Context(), box, fix, seed, goSrc)), slices.Concat(byText, []string{"Code", "Other"})},
		{"text of the seed, behaviour of the fix", must(t)(g.Cross(t.Context(), box, seed, fix, goSrc)), slices.Concat(genuine, []string{"Code", "Other"})},
		{"poison", must(t)(g.Poison(t.Context(), box, fix, seed, goSrc)), slices.Concat(byText, []string{"Code"})},
		{"rewrite", must(t)(g.Rewrite(t.Context(), box, fix, goSrc)), slices.Concat(genuine, []string{"Listing", "Other"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			slices.Sort(c.want)
			if got := passingGo(t, c.tree); !slices.Equal(got, c.want) {
				t.Errorf("passed %v\nwant   %v", got, c.want)
			}
		})
	}
	if same := must(t)(g.Cross(t.Context(), box, fix, fix, goSrc)); same.Digest() != fix.Digest() {
		t.Errorf("crossed with itself: %v", fix.Changes(same))
	}
	out, symbols, err := g.Graft(t.Context(), box, fix, seed, goSrc)
	if err != nil || !slices.Equal(symbols, []string{"span/span.go:Span.Touching"}) {
		t.Fatal(symbols, err)
	}
	if f, _ := out.Lookup("span/meets.go"); string(f.Data) != goMeets {
		t.Errorf("the helper is not as it was: %s", f.Data)
	}
	if got := passingGo(t, out); !slices.Equal(got, []string{"Caller", "Code", "Embed", "Listing", "Other", "Read"}) {
		f, _ := out.Lookup("span/span.go")
		t.Errorf("grafted: %v\n%s", got, f.Data)
	}
}

// TestGoViews shows that nothing in a tree that was read from a disk is taken for what is to be built.
func TestGoViews(t *testing.T) {
	fix := goFixTree(t)
	crossed := must(t)(GoTest{}.Cross(t.Context(), box, goSeedTree(t), fix, goSrc))
	var plain []tare.File
	for _, f := range crossed {
		f.Mode = f.Mode &^ fs.ModeIrregular
		plain = append(plain, f)
	}
	tree, err := tare.NewTree(plain)
	if err != nil {
		t.Fatal(err)
	}
	r := runGo(t, TestRequest{Tree: tree, Nodes: []string{"span/span_test.go::TestGenuine"}})
	if got := outcomes(r)["span/span_test.go::TestGenuine"]; got != tare.TestFailed {
		t.Errorf("files of an agent's that look like a view have it %s", got)
	}
	disk, view := splitView(crossed)
	if len(view.files) != 2 || !slices.Equal(view.packages, goSrc) {
		t.Errorf("%v", view)
	}
	if again := withView(disk, view); again.Digest() != crossed.Digest() {
		t.Error("put together and taken apart, it is another tree")
	}
	for src, want := range map[string]string{
		"package a\n":                       "//go:build ignore\n\npackage a\n",
		"// c\n//go:build x\n\npackage a\n": "// c\n//go:build ignore\n\npackage a\n",
	} {
		if got := leftOut([]byte(src)); string(got) != want {
			t.Errorf("%q: %q", src, got)
		}
	}
}

// TestGoPoison shows what is poisoned and what is not.
func TestGoPoison(t *testing.T) {
	const seed = `package s

import "errors"

type Box struct{ n int }

var Start = helper()

func init() { helper() }

func New(n int) *Box            { return &Box{n} }
func NewOld(n int) *Box         { return &Box{n} }
func (b *Box) Len() int         { return b.n }
func (b Box) Pair() (int, error) { return b.n, errors.New("no") }
func Named() (n int, err error) { return 1, nil }
func Nothing()                  {}
func Generic[T any](x T) T      { return x }
func helper() int               { return 5 }
`
	fix := strings.Replace(seed, "func NewOld(n int) *Box         { return &Box{n} }", "func NewOld(n int) *Box         { return &Box{n + 0} }", 1) + "func BrandNew() int { return 7 }\n"
	tests := `package s

import "testing"

func TestStart(t *testing.T)   { if Start != 5 || New(2).n != 2 || BrandNew() != 7 { t.Fail() } }
func TestChanged(t *testing.T) { NewOld(1) }
func TestLen(t *testing.T)     { New(1).Len() }
func TestPair(t *testing.T)    { New(1).Pair() }
func TestNamed(t *testing.T)   { Named() }
func TestNothing(t *testing.T) { defer func() { recover() }(); Nothing() }
func TestGeneric(t *testing.T) { Generic("x") }
func TestSub(t *testing.T)     { t.Run("a", func(t *testing.T) { helper() }); t.Run("b", func(t *testing.T) {}) }
func TestWait(t *testing.T)    { c := make(chan int); go func() { c <- helper(); close(c) }(); <-c }
`
	s := files(t, "go.mod", goMod, "s/s.go", seed, "s/s_test.go", tests)
	f := s.Overlay(files(t, "s/s.go", fix))
	got := passingGo(t, must(t)(GoTest{}.Poison(t.Context(), box, f, s, []string{"s"})))
	if want := []string{"Start", "Sub/b"}; !slices.Equal(got, want) {
		t.Errorf("passed %v\nwant   %v", got, want)
	}
	var no *NotTransformable
	if _, err := (GoTest{}).Poison(t.Context(), box, files(t, "s/a.go", "package s\nfunc A() {}\n"), s, []string{"s"}); !errors.As(err, &no) {
		t.Errorf("nothing to poison: %v", err)
	}
}

// TestGoRewrite shows that texts differ and behaviour does not.
func TestGoRewrite(t *testing.T) {
	odd := `//go:build linux

// Package odd is odd.
package odd

import (
	_ "embed"
	"fmt"
)

//go:embed data.txt
var data string // a comment

type pair struct{ left, right int }

func (p pair) sum(more ...int) (total int, err error) {
	total = p.left + p.right // add
	for _, m := range more {
		total += m
	}
	left := 3
	q := pair{left: left, right: total}
	defer func() { total += q.right - q.right }()
	switch x := any(total).(type) {
	case int:
		total = x
	}
loop:
	for i := range 3 {
		if i == 1 {
			break loop
		}
	}
	f := func(total_v string) string { return total_v + fmt.Sprint(left) + data }
	if f("") == "" {
		err = fmt.Errorf("%d", total)
	}
	return
}
`
	tests := "package odd\n\nimport (\n\t\"os\"\n\t\"strings\"\n\t\"testing\"\n)\n\nfunc TestSum(t *testing.T) {\n\tif n, err := (pair{1, 2}).sum(3, 4); n != 10 || err != nil {\n\t\tt.Fatal(n, err)\n\t}\n}\n\nfunc TestText(t *testing.T) {\n\tb, _ := os.ReadFile(\"odd.go\")\n\tif !strings.Contains(string(b), \"a comment\") || !strings.Contains(string(b), \" m \") {\n\t\tt.Fail()\n\t}\n}\n"
	tree := files(t, "go.mod", goMod, "odd/odd.go", odd, "odd/data.txt", "x", "odd/odd_test.go", tests, "odd/broken.go.txt", "")
	if got := passingGo(t, tree); len(got) != 2 {
		t.Fatalf("before: %v", got)
	}
	out := must(t)(GoTest{}.Rewrite(t.Context(), box, tree, []string{"odd"}))
	f, _ := out.Lookup("odd/odd.go")
	if got := passingGo(t, out); !slices.Equal(got, []string{"Sum"}) || !strings.Contains(string(f.Data), "more_v") || strings.Contains(string(f.Data), "a comment") {
		t.Errorf("after: %v\n%s", got, f.Data)
	}
}

// TestGoGraft shows what is brought back and what cannot be.
func TestGoGraft(t *testing.T) {
	seed := `package m

import (
	"sort"
	str "strings"
)

const limit = 3

type Store struct {
	names []string
	count map[string]int
}

func (s *Store) Add(name string) { s.names = append(s.names, str.TrimSpace(name)); s.bump(name) }
func (s *Store) bump(name string) { s.count[name]++ }
func (s *Store) Names() []string { sort.Strings(s.names); return s.names[:min(limit, len(s.names))] }
func Parse(s string) int         { return len(s) }
func Same(a int) int             { return a }
`
	fix := `package m

import "slices"

const limit = 30

type Store struct {
	names []string
}

func clean(s string) string { return s }

func (s *Store) Add(name string)  { s.names = append(s.names, clean(name)) }
func (s *Store) Names() []string  { return slices.Sorted(slices.Values(s.names)) }
func Parse(s string) (int, error) { return len(s), nil }
func Same(a int, more bool) int   { return a + 1 }
`
	tree := files(t, "go.mod", goMod, "m/m.go", fix)
	out, symbols, err := GoTest{}.Graft(t.Context(), box, tree, files(t, "go.mod", goMod, "m/m.go", seed), []string{"m"})
	want := []string{"m/m.go:limit", "m/m.go:Store.Add", "m/m.go:Store.Names", "m/m.go:Same"}
	if err != nil || !slices.Equal(symbols, want) {
		t.Fatal(symbols, err)
	}
	out = out.Overlay(files(t, "m/m_test.go", "package m\n\nimport \"testing\"\n\nfunc TestBoth(t *testing.T) {\n\ts := Store{count: map[string]int{}}\n\tfor _, n := range []string{\" d\", \"c\", \"b\", \"a\"} {\n\t\ts.Add(clean(n))\n\t}\n\tif n := s.Names(); len(n) != 3 || n[0] != \"a\" || Same(1, true) != 1 {\n\t\tt.Fatal(n)\n\t}\n\tif _, err := Parse(\"x\"); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n"))
	if got := passingGo(t, out); !slices.Equal(got, []string{"Both"}) {
		f, _ := out.Lookup("m/m.go")
		t.Errorf("%v\n%s", got, f.Data)
	}
	var no *NotTransformable
	if _, _, err := (GoTest{}).Graft(t.Context(), box, files(t, "m/m.go", "package m\nfunc ("), files(t, "m/m.go", seed), []string{"m"}); !errors.As(err, &no) {
		t.Errorf("a file that cannot be parsed: %v", err)
	}
}

// TestGoNodes lists tests by reading, and compares what is listed with what is run.
func TestGoNodes(t *testing.T) {
	list := func(tree tare.Tree) map[string]tare.Digest {
		ns, _, err := GoTest{}.Tests(t.Context(), nil, tree)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]tare.Digest{}
		for _, n := range ns {
			out[n.ID] = n.Digest
		}
		return out
	}
	base := []string{"a/a_test.go", "package a\n\nimport \"testing\"\n\nvar table = []int{1}\n\nfunc TestA(t *testing.T) { use(t, table) }\n\nfunc TestB(t *testing.T) {}\n\nfunc Testing(t *testing.T) {}\n\nfunc TestMain(m *testing.M) { m.Run() }\n",
		"a/help_test.go", "package a\n\nimport \"testing\"\n\nfunc use(t *testing.T, x []int) {}\n", "a/x_test.go", "package a_test\n\nimport T \"testing\"\n\nfunc TestA(t *T.T) {}\n"}
	with := func(more ...string) tare.Tree { return files(t, base...).Overlay(files(t, more...)) }
	before := list(with("go.mod", goMod))
	r := runGo(t, TestRequest{Tree: with("go.mod", goMod)})
	if len(before) != 3 || len(r.Tests) != 3 {
		t.Fatalf("listed %v, run %v, %s", before, r.Tests, r.Defect)
	}
	for _, x := range r.Tests {
		if before[x.ID] == "" || x.Outcome != tare.TestPassed {
			t.Errorf("%+v was not listed, or did not pass", x)
		}
	}
	for name, c := range map[string]struct {
		more    []string
		changed []string
	}{
		"layout":           {[]string{"a/a_test.go", strings.ReplaceAll(strings.Replace(base[1], "use(t, table)", "use(t,\n\ttable) // with the table\n", 1), "\n\n", "\n\n\n")}, nil},
		"a helper":         {[]string{"a/help_test.go", strings.Replace(base[3], "{}", "{ t.Skip() }", 1)}, []string{"a/a_test.go::TestA"}},
		"a table":          {[]string{"a/a_test.go", strings.Replace(base[1], "{1}", "{2}", 1)}, []string{"a/a_test.go::TestA"}},
		"init":             {[]string{"a/i_test.go", "package a\n\nfunc init() {}\n"}, []string{"a/a_test.go::TestA", "a/a_test.go::TestB"}},
		"nothing of these": {[]string{"a/b_test.go", "package a\n\nvar other = 1\n", "a/testdata/x_test.go", "package x\n", "_b/x_test.go", base[1], "m/go.mod", "module m\n", "m/x_test.go", base[1], "vendor/v/x_test.go", base[1]}, nil},
	} {
		var changed []string
		now := list(with(c.more...))
		for id, d := range now {
			if before[id] != d {
				changed = append(changed, id)
			}
		}
		if slices.Sort(changed); !slices.Equal(changed, c.changed) || len(now) != len(before) {
			t.Errorf("%s: changed %v, want %v; %d tests", name, changed, c.changed, len(now))
		}
	}
	_, broken, err := GoTest{}.Tests(t.Context(), nil, with("a/bad_test.go", "package a\nfunc ("))
	if err != nil || !slices.Equal(broken, []string{"a/bad_test.go"}) {
		t.Error(broken, err)
	}
}
