package check

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"go/ast"
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tare"
	"tare/internal/sandbox"
)

// IsTest reports whether the file at p is a test, or serves tests alone: Go keeps them beside the sources.
func (GoTest) IsTest(p string) bool {
	return strings.HasSuffix(p, "_test.go") || slices.Contains(strings.Split(path.Dir(p), "/"), "testdata")
}

// Tests lists the test functions of every package of the module, one that a build constraint leaves out included: such a
// test is then seen not to run. Ids are the file and the function. Files are parsed, never built.
//
// A test's digest changes when its own code does, and when a declaration of its package's test files changes that it rests
// on, as far as names tell; init functions and TestMain always count, comments and layout do not.
func (GoTest) Tests(_ context.Context, _ sandbox.Sandbox, t tare.Tree) ([]tare.TestNode, []string, error) {
	disk, _ := splitView(t)
	var nodes []tare.TestNode
	var broken []string
	for _, p := range goPackages(disk, nil) {
		broken = append(broken, p.broken...)
		for _, f := range p.tests {
			for _, fn := range f.functions() {
				nodes = append(nodes, tare.TestNode{ID: f.path + "::" + fn.Name.Name, File: f.path, Digest: p.digest(f, fn)})
			}
		}
	}
	slices.Sort(broken)
	slices.SortStableFunc(nodes, func(a, b tare.TestNode) int { return strings.Compare(a.File, b.File) })
	return nodes, broken, nil
}

// A goFile is one parsed file.
type goFile struct {
	path string
	src  []byte
	fset *token.FileSet
	ast  *ast.File
}

// A goPackage is one directory with tests.
type goPackage struct {
	dir    string // "." for the root
	name   string // of the package that the tests are of or, where there is no such package, of the tests
	tests  []goFile
	broken []string // test files that cannot be read as such
	absent bool     // there are no tests to build
}

// parseGo parses the file f of a tree.
func parseGo(f tare.File, mode parser.Mode) (goFile, error) {
	g := goFile{path: f.Path, src: f.Data, fset: token.NewFileSet()}
	var err error
	g.ast, err = parser.ParseFile(g.fset, f.Path, f.Data, mode)
	return g, err
}

// goPackages lists the directories of t that hold test files, of those that nodes name when it names any: those that
// go test ./... would go through.
func goPackages(t tare.Tree, nodes []string) []goPackage {
	var dirs []string
	for _, f := range t {
		if isGoTest(f) && !ignoredDir(t, path.Dir(f.Path)) && (nodes == nil || namesDir(nodes, path.Dir(f.Path))) {
			dirs = append(dirs, path.Dir(f.Path))
		}
	}
	slices.Sort(dirs)
	var out []goPackage
	for _, dir := range slices.Compact(dirs) {
		out = append(out, readGoPackage(t, dir))
	}
	return out
}

func namesDir(nodes []string, dir string) bool {
	return slices.ContainsFunc(nodes, func(n string) bool { return path.Dir(fileOfNode(n)) == dir })
}

func readGoPackage(t tare.Tree, dir string) goPackage {
	p := goPackage{dir: dir}
	external := ""
	for _, f := range t {
		if path.Dir(f.Path) != dir || !strings.HasSuffix(f.Path, ".go") || f.Mode.Type() != 0 || ignoredName(path.Base(f.Path)) {
			continue
		}
		if !isGoTest(f) {
			if g, err := parseGo(f, parser.PackageClauseOnly); err == nil && p.name == "" && goBuilds(f) {
				p.name = g.ast.Name.Name
			}
			continue
		}
		g, err := parseGo(f, parser.SkipObjectResolution)
		if err != nil || len(f.Data) > maxTestFile || !utf8.ValidString(f.Path) {
			p.broken = append(p.broken, f.Path)
			continue
		}
		p.tests = append(p.tests, g)
		if name := g.ast.Name.Name; !strings.HasSuffix(name, "_test") {
			external = name
		} else if external == "" {
			external = name
		}
	}
	if p.name == "" {
		p.name = external
	}
	return p
}

// isGoTest reports whether f holds tests that the go command would see, wherever it stands.
func isGoTest(f tare.File) bool {
	return f.Mode.Type() == 0 && strings.HasSuffix(f.Path, "_test.go") && !ignoredName(path.Base(f.Path))
}

// ignoredName reports whether the go command passes a file or directory of that name over.
func ignoredName(base string) bool {
	return strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".")
}

// ignoredDir reports whether the go command passes dir over, or takes it for another module.
func ignoredDir(t tare.Tree, dir string) bool {
	for d := dir; d != "."; d = path.Dir(d) {
		if base := path.Base(d); ignoredName(base) || base == "testdata" || base == "vendor" {
			return true
		}
		if _, ok := t.Lookup(d + "/go.mod"); ok {
			return true
		}
	}
	return false
}

// goBuilds reports whether the name of f and its build constraints let it be built here.
func goBuilds(f tare.File) bool {
	c := build.Default
	c.CgoEnabled = false
	c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.Data)), nil }
	ok, err := c.MatchFile(path.Dir(f.Path), path.Base(f.Path))
	return ok && err == nil
}

// id is the id of the test whose function the linker calls symbol.
func (p goPackage) id(symbol string) (string, bool) {
	dot := strings.LastIndexByte(symbol, '.')
	if dot < 0 {
		return "", false
	}
	name, external := symbol[dot+1:], strings.HasSuffix(symbol[:dot], "_test")
	best := ""
	for _, f := range p.tests {
		if !slices.ContainsFunc(f.functions(), func(fn *ast.FuncDecl) bool { return fn.Name.Name == name }) || !goBuilds(tare.File{Path: f.path, Data: f.src}) {
			continue
		}
		if best == "" || external == strings.HasSuffix(f.ast.Name.Name, "_test") {
			best = f.path + "::" + name
		}
	}
	return best, best != ""
}

// functions lists the test functions of f.
func (f goFile) functions() []*ast.FuncDecl {
	var out []*ast.FuncDecl
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && isTestFunction(fn) {
			out = append(out, fn)
		}
	}
	return out
}

// isTestFunction reports whether go test takes fn for a test: TestXxx, and one parameter that could be a *testing.T.
func isTestFunction(fn *ast.FuncDecl) bool {
	rest, ok := strings.CutPrefix(fn.Name.Name, "Test")
	if r, _ := utf8.DecodeRuneInString(rest); !ok || fn.Recv != nil || rest != "" && unicode.IsLower(r) || fn.Name.Name == "TestMain" && !takes(fn, "T") {
		return false
	}
	return takes(fn, "T")
}

// takes reports whether fn has one parameter, a pointer to something called name.
func takes(fn *ast.FuncDecl, name string) bool {
	params := fn.Type.Params.List
	if len(params) != 1 || len(params[0].Names) > 1 || fn.Type.TypeParams != nil || fn.Type.Results != nil {
		return false
	}
	star, ok := params[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	switch x := star.X.(type) {
	case *ast.Ident:
		return x.Name == name
	case *ast.SelectorExpr:
		return x.Sel.Name == name
	}
	return false
}

// A goDecl is one declaration of the package's test files: what it names, what it may refer to, and its text.
type goDecl struct {
	file   goFile
	node   ast.Node
	names  []string
	uses   map[string]bool
	always bool
}

// declarations lists those of a file; of a group, each member by itself.
func (f goFile) declarations() []goDecl {
	var out []goDecl
	add := func(n ast.Node, names ...string) {
		out = append(out, goDecl{file: f, node: n, names: names, uses: identifiersIn(n)})
	}
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d)
			}
			add(d, name)
			out[len(out)-1].always = d.Recv == nil && (name == "init" || name == "TestMain")
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s, s.Name.Name)
				case *ast.ValueSpec:
					var n ast.Node = s
					if d.Tok == token.CONST && d.Lparen.IsValid() {
						n = d // iota and implied values make the group one thing
					}
					add(n, identNames(s.Names)...)
					out[len(out)-1].always = slices.Contains(identNames(s.Names), "_")
				}
			}
		}
	}
	return out
}

func identNames(ids []*ast.Ident) []string {
	var out []string
	for _, id := range ids {
		out = append(out, id.Name)
	}
	return out
}

// receiver is the name of the type of a method.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func identifiersIn(n ast.Node) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			out[id.Name] = true
		}
		return true
	})
	return out
}

// digest is the hash of fn, a test of f, and of all that it rests on in the package's test files.
func (p goPackage) digest(f goFile, fn *ast.FuncDecl) tare.Digest {
	var all, taken []goDecl
	for _, t := range p.tests {
		if t.ast.Name.Name != f.ast.Name.Name {
			continue
		}
		for _, d := range t.declarations() {
			if x, ok := d.node.(*ast.FuncDecl); !ok || !isTestFunction(x) {
				all = append(all, d)
			}
		}
	}
	names := identifiersIn(fn)
	for grown := true; grown; {
		grown = false
		for i, d := range all {
			if d.node == nil || !d.always && !slices.ContainsFunc(d.names, func(n string) bool { return names[n] }) {
				continue
			}
			taken = append(taken, d)
			for n := range d.uses {
				names[n] = true
			}
			all[i].node, all[i].always, grown = nil, false, true
		}
	}
	h := sha256.New()
	tokens(h, f.text(fn))
	var texts []string
	for _, d := range taken {
		var b bytes.Buffer
		tokens(&b, d.file.text(d.node))
		texts = append(texts, b.String())
	}
	slices.Sort(texts)
	for _, t := range slices.Compact(texts) {
		io.WriteString(h, t)
	}
	return tare.Digest("sha256:" + hex.EncodeToString(h.Sum(nil)))
}

// text is the source of a node of f.
func (f goFile) text(n ast.Node) []byte { return f.src[f.offset(n.Pos()):f.offset(n.End())] }

// offset is where p is in the source, whatever line directives say.
func (f goFile) offset(p token.Pos) int { return f.fset.PositionFor(p, false).Offset }

func (f goFile) line(p token.Pos) int { return f.fset.PositionFor(p, false).Line }

// tokens writes the tokens of a piece of source, without comments and layout.
func tokens(w io.Writer, src []byte) {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", fset.Base(), len(src)), src, func(token.Position, string) {}, 0)
	comma := false
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			io.WriteString(w, "\n")
			return
		case token.SEMICOLON:
			continue // there or not by layout, as is a comma before the end of a list
		case token.COMMA:
			comma = true
			continue
		case token.RPAREN, token.RBRACE, token.RBRACK:
		default:
			if comma {
				io.WriteString(w, ",\x00")
			}
		}
		comma = false
		io.WriteString(w, tok.String()+" "+lit+"\x00")
	}
}
