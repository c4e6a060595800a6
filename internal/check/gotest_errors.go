package check

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare"
)

// A goError is one thing that the go command said about a tree, or about itself when it names no file.
type goError struct {
	file string // in the tree
	line int
	text string
}

func (e goError) String() string {
	if e.file == "" {
		return e.text
	}
	return fmt.Sprintf("%s:%d: %s", e.file, e.line, e.text)
}

var goErrorLine = regexp.MustCompile(`^(?:vet: )?([^\s:]+):(\d+)(?::\d+)?: (.+)$`)

// errors reads what the go command said, by file and line. Only the go command and the compiler wrote it; names and texts
// in it may be the tree's.
func (b *goBench) errors(a answer) []goError {
	if a.result.Ended != "" || a.result.Signal != "" {
		return []goError{{text: "the build " + a.ending()}}
	}
	var errs []goError
	last := ""
	for _, out := range [][]byte{a.result.Stdout.Data, a.result.Stderr.Data} {
		for line := range strings.Lines(string(out)) {
			line = strings.TrimRight(line, "\r\n")
			if m := goErrorLine.FindStringSubmatch(line); m != nil {
				n, _ := strconv.Atoi(m[2])
				errs = append(errs, goError{b.inTree(m[1]), n, m[3]})
			} else if line != "" && !strings.HasPrefix(line, "FAIL") && !strings.HasPrefix(line, "#") && last == "" {
				last = line
			}
		}
	}
	if len(errs) == 0 {
		return []goError{{text: cmp.Or(last, "the go command "+a.ending())}}
	}
	slices.SortStableFunc(errs, func(a, b goError) int {
		return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.line, b.line), strings.Compare(a.text, b.text))
	})
	return slices.Compact(errs)
}

// inTree is the path in the tree of a file that the go command names.
func (b *goBench) inTree(name string) string {
	if !path.IsAbs(name) {
		name = path.Join(b.guest, name)
	}
	if p, ok := b.free[name]; ok {
		return p
	}
	return strings.TrimPrefix(path.Clean(name), b.guest+"/")
}

// A goFailure is what of a package could not be built.
type goFailure struct {
	whole bool // nothing of it was
	errs  []goError
	tests map[string][]goError // by id: tests that the others were built without
}

// The ways in which the compiler says that something is not there.
var goMissing = []*regexp.Regexp{
	regexp.MustCompile(`^undefined: (\S+)`),
	regexp.MustCompile(`^(\S+) undefined \(`),
	regexp.MustCompile(`^name (\S+) not exported by package`),
	regexp.MustCompile(`^unknown field (\S+) in struct literal`),
	regexp.MustCompile(`^(?:too many|not enough) arguments in call to (\S+)`),
	regexp.MustCompile(`^assignment mismatch: .* but (\S+?)(?:\(.*)? returns`),
	regexp.MustCompile(`^package (\S+) is not in std`),
	regexp.MustCompile(`^no required module provides package (\S+?);?(?: |$)`),
	regexp.MustCompile(`^cannot find module providing package (\S+?):?(?: |$)`),
	regexp.MustCompile(`^(?:no Go files in|build constraints exclude all Go files in) (\S+)`),
}

// missing is what errs say is not there, "" when anything else is wrong too. It is for the tests to miss something: what
// the sources miss is the sources' own fault.
func missing(errs []goError) string {
	name := ""
	for _, e := range errs {
		if !strings.HasSuffix(e.file, "_test.go") {
			return ""
		}
		for _, re := range goMissing {
			if m := re.FindStringSubmatch(e.text); m != nil {
				name = cmp.Or(name, m[1])
			}
		}
	}
	return name
}

// prune takes the tests in whose bodies the errors are out of what is built, and reports whether that could help: there
// are errors, and each is in the body of a test that was still there.
func (f *goFailure) prune(p goPackage, errs []goError, o overlay) bool {
	before := maps.Clone(f.tests)
	if f.tests == nil {
		f.tests = map[string][]goError{}
	}
	hit := map[string]bool{} // files
	for _, e := range errs {
		file, fn := p.testAt(e)
		if fn == nil || before[file.path+"::"+fn.Name.Name] != nil {
			return false
		}
		id := file.path + "::" + fn.Name.Name
		f.tests[id] = append(f.tests[id], e)
		hit[file.path] = true
	}
	for _, file := range p.tests {
		if hit[file.path] {
			o[file.path] = file.without(func(fn *ast.FuncDecl) bool { return f.tests[file.path+"::"+fn.Name.Name] != nil })
		}
	}
	return len(errs) > 0
}

// testAt finds the test in whose body e is.
func (p goPackage) testAt(e goError) (goFile, *ast.FuncDecl) {
	for _, f := range p.tests {
		if f.path != e.file {
			continue
		}
		for _, fn := range f.functions() {
			if fn.Body != nil && f.line(fn.Body.Lbrace) <= e.line && e.line <= f.line(fn.Body.Rbrace) {
				return f, fn
			}
		}
	}
	return goFile{}, nil
}

// without is the source of f less the functions for which drop is true, and less the names of imports that only they use.
// Lines stay where they are.
func (f goFile) without(drop func(*ast.FuncDecl) bool) []byte {
	out := slices.Clone(f.src)
	used := map[string]bool{}
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && isTestFunction(fn) && drop(fn) {
			for i := f.offset(fn.Pos()); i < f.offset(fn.End()); i++ {
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
			continue
		}
		qualifiers(d, used)
	}
	for _, s := range slices.Backward(f.ast.Imports) {
		if name := importName(s); name != "_" && name != "." && !used[name] {
			at, end := f.offset(s.Pos()), f.offset(s.Path.Pos())
			out = slices.Concat(out[:at], []byte("_ "), out[end:])
		}
	}
	return out
}

// qualifiers notes the names before a dot in n.
func qualifiers(n ast.Node, used map[string]bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok {
				used[id.Name] = true
			}
		}
		return true
	})
}

var versionElement = regexp.MustCompile(`^v[0-9]+$`)

// importName is the name that an import gives, as far as its path tells: the standard library keeps to that.
func importName(s *ast.ImportSpec) string {
	if s.Name != nil {
		return s.Name.Name
	}
	p, err := strconv.Unquote(s.Path.Value)
	if err != nil {
		return ""
	}
	if versionElement.MatchString(path.Base(p)) {
		p = path.Dir(p)
	}
	return path.Base(p)
}

// results are those of the tests that were asked for and could not be built.
func (f goFailure) results(req goRequest) []tare.TestResult {
	var out []tare.TestResult
	add := func(id string, errs []goError) {
		t := tare.TestResult{ID: id, Outcome: tare.TestError, Phase: "collect", Class: "build failed", Missing: missing(errs)}
		for i, e := range errs {
			if i == 0 {
				t.Class = "build failed: " + e.String()
			}
			if i < 10 {
				t.Message += e.String() + "\n"
			}
		}
		t.Message = t.Message[:min(len(t.Message), 2000)]
		out = append(out, t)
	}
	for _, file := range req.pkg.tests {
		for _, fn := range file.functions() {
			id := file.path + "::" + fn.Name.Name
			errs := f.tests[id]
			if f.whole && len(errs) == 0 {
				errs = f.errs
			}
			if !f.whole && errs == nil {
				continue
			}
			if asked(req.Nodes, id) {
				add(id, errs)
			}
			for _, n := range req.Nodes {
				if strings.HasPrefix(n, id+"/") {
					add(n, errs)
				}
			}
		}
	}
	for _, name := range req.pkg.broken {
		if !f.whole {
			break
		}
		if req.Nodes == nil {
			add(name, f.errs)
		}
		for _, n := range req.Nodes {
			if fileOfNode(n) == name {
				add(n, f.errs)
			}
		}
	}
	return out
}
