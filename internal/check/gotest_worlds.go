package check

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"

	"tare"
	"tare/internal/sandbox"
)

// Cross makes the tree in which packages whose sources differ are built from behaviour's, while on disk stand text's: the
// compiler is handed behaviour's files under names of their own, and text's with a line that leaves them out, so that also
// what go:embed finds under their names is the text. Positions that the program learns of are behaviour's, in text's files.
// Files below the sources that are no Go, data above all, are the behaviour's, since code reads them; everything outside
// the sources, and every test, is the text's.
func (GoTest) Cross(_ context.Context, _ sandbox.Sandbox, text, behaviour tare.Tree, sources []string) (tare.Tree, error) {
	text, _ = splitView(text)
	behaviour, _ = splitView(behaviour)
	reads, err := goSources(text, sources)
	if err != nil {
		return nil, err
	}
	acts, err := goSources(behaviour, sources)
	if err != nil {
		return nil, err
	}
	var v goView
	for _, dir := range dirsOf(reads, acts) {
		r, a := inDir(reads, dir), inDir(acts, dir)
		if len(r.Changes(a)) == 0 {
			continue
		}
		v.packages = append(v.packages, dir)
		v.files = append(v.files, a...)
	}
	data := func(t tare.Tree) tare.Tree {
		return t.Filter(func(f tare.File) bool {
			return tare.Under(f.Path, sources...) && !isGoSource(f) && !(GoTest{}).IsTest(f.Path)
		})
	}
	out := text
	for _, f := range data(text) {
		out = out.Without(f.Path)
	}
	return withView(out.Overlay(data(behaviour)), v), nil
}

// goSources is the Go sources of t.
func goSources(t tare.Tree, sources []string) (tare.Tree, error) {
	var out tare.Tree
	for _, f := range t {
		if !tare.Under(f.Path, sources...) || !isGoSource(f) || (GoTest{}).IsTest(f.Path) {
			continue
		}
		if len(f.Data) > maxSource {
			return nil, &NotTransformable{f.Path, fmt.Sprintf("is larger than %d bytes", maxSource)}
		}
		out = append(out, f)
	}
	return out, nil
}

// dirsOf lists the directories of the files of trees.
func dirsOf(trees ...tare.Tree) []string {
	var out []string
	for _, t := range trees {
		for _, f := range t {
			out = append(out, path.Dir(f.Path))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func inDir(t tare.Tree, dir string) tare.Tree {
	return t.Filter(func(f tare.File) bool { return path.Dir(f.Path) == dir })
}

// functionKey is a function's name, with that of its receiver's type.
func functionKey(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	return receiver(fn) + "." + fn.Name.Name
}

// Poison has each function and method begin with a call that marks the test which made it as failed and ends it, when the
// seed has one of that name, in whatever file. No recover takes that for the subject's own panic. While no test runs,
// nothing is poisoned. Functions called New… are only when the tree changed them: tests must be able to make objects, and
// a test that only looks cannot hide behind a constructor. NotTransformable says that no function is poisoned.
func (GoTest) Poison(_ context.Context, _ sandbox.Sandbox, t, seed tare.Tree, sources []string) (tare.Tree, error) {
	disk, _ := splitView(t)
	files, err := goSources(disk, sources)
	if err != nil {
		return nil, err
	}
	old, err := goSources(seed, sources)
	if err != nil {
		return nil, err
	}
	known := map[string][]string{}
	for _, f := range old {
		if g, err := parseGo(f, parser.SkipObjectResolution); err == nil {
			for _, fn := range functionsOf(g) {
				known[functionKey(fn)] = append(known[functionKey(fn)], g.tokens(fn))
			}
		}
	}
	var v goView
	for _, dir := range dirsOf(files) {
		hit := false
		var made tare.Tree
		for _, f := range inDir(files, dir) {
			out, n := poisoned(f, known)
			hit = hit || n > 0
			made = append(made, tare.File{Path: f.Path, Mode: f.Mode, Data: out})
		}
		if hit {
			v.packages = append(v.packages, dir)
			v.files = append(v.files, made...)
		}
	}
	if len(v.packages) == 0 {
		return nil, &NotTransformable{Reason: "no function of the sources has the name of one of the seed's"}
	}
	return withView(disk, v), nil
}

// functionsOf lists the functions and methods of g that can be called and have a body.
func functionsOf(g goFile) []*ast.FuncDecl {
	var out []*ast.FuncDecl
	for _, d := range g.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && fn.Name.Name != "_" && (fn.Recv != nil || fn.Name.Name != "init") {
			out = append(out, fn)
		}
	}
	return out
}

// tokens is the text of n without comments and layout.
func (f goFile) tokens(n ast.Node) string {
	var b bytes.Buffer
	tokens(&b, f.text(n))
	return b.String()
}

// poisoned is f with the call put into functions that are known, and how many those are. Lines stay where they are.
func poisoned(f tare.File, known map[string][]string) ([]byte, int) {
	g, err := parseGo(f, parser.SkipObjectResolution)
	if err != nil {
		return f.Data, 0
	}
	var e edits
	for _, fn := range functionsOf(g) {
		texts, ok := known[functionKey(fn)]
		if !ok || fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "New") && slices.Contains(texts, g.tokens(fn)) {
			continue
		}
		e.insert(g.offset(fn.Body.Lbrace)+1, " if tarePoison.TarePoisoned() { return "+g.zeros(fn)+" };")
	}
	if len(e) == 0 {
		return f.Data, 0
	}
	n := len(e)
	e.insert(g.offset(g.ast.Name.End()), `; import tarePoison "testing"`)
	return e.apply(f.Data), n
}

// zeros is a list of zero values for the results of fn; "" when there are none, or when they have names.
func (f goFile) zeros(fn *ast.FuncDecl) string {
	var out []string
	if fn.Type.Results == nil {
		return ""
	}
	for _, r := range fn.Type.Results.List {
		if len(r.Names) > 0 {
			return ""
		}
		out = append(out, "*new("+string(f.text(r.Type))+")")
	}
	return strings.Join(out, ", ")
}

// edits are replacements in a text, each of the bytes from at to end.
type edits []struct {
	at, end int
	text    string
}

func (e *edits) replace(at, end int, text string) {
	*e = append(*e, struct {
		at, end int
		text    string
	}{at, end, text})
}

func (e *edits) insert(at int, text string) { e.replace(at, at, text) }

// apply makes all of them, none of which may overlap.
func (e edits) apply(src []byte) []byte {
	slices.SortStableFunc(e, func(a, b struct {
		at, end int
		text    string
	}) int {
		return a.at - b.at
	})
	var out []byte
	from := 0
	for _, x := range e {
		if x.at < from {
			continue
		}
		out = append(append(out, src[from:x.at]...), x.text...)
		from = x.end
	}
	return append(out, src[from:]...)
}

// Rewrite drops comments, directives aside, and layout, moves lines, and renames what functions call their own:
// parameters and local variables, whose names no code can learn. A file that cannot be parsed stays as it is.
func (GoTest) Rewrite(_ context.Context, _ sandbox.Sandbox, t tare.Tree, sources []string) (tare.Tree, error) {
	disk, _ := splitView(t)
	files, err := goSources(disk, sources)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{} // that occur anywhere
	for _, f := range files {
		if g, err := parseGo(f, parser.SkipObjectResolution); err == nil {
			for n := range identifiersIn(g.ast) {
				names[n] = true
			}
		}
	}
	var made tare.Tree
	for _, f := range files {
		if out := rewritten(f, names); out != nil {
			made = append(made, tare.File{Path: f.Path, Mode: f.Mode, Data: out})
		}
	}
	return disk.Overlay(made), nil
}

// rewritten is f with another text; nil when it cannot be read.
func rewritten(f tare.File, names map[string]bool) []byte {
	g, err := parseGo(f, parser.ParseComments)
	if err != nil {
		return nil
	}
	var kept []*ast.CommentGroup
	for _, group := range g.ast.Comments {
		var list []*ast.Comment
		for _, c := range group.List {
			switch {
			case strings.HasPrefix(c.Text, "//line ") || strings.HasPrefix(c.Text, "/*line ") || strings.HasPrefix(c.Text, "// #"):
				return append([]byte("//\n//\n"), f.Data...) // positions and C are not to be touched
			case strings.HasPrefix(c.Text, "//go:") || strings.HasPrefix(c.Text, "// +build"):
				list = append(list, c)
			}
		}
		if group.List = list; len(list) > 0 {
			kept = append(kept, group)
		}
	}
	g.ast.Comments = kept
	renameLocals(g.ast, names)
	var b bytes.Buffer
	b.WriteString("//\n//\n\n")
	if err := format.Node(&b, g.fset, g.ast); err != nil {
		return nil
	}
	if _, err := parser.ParseFile(token.NewFileSet(), f.Path, b.Bytes(), 0); err != nil {
		return nil
	}
	return b.Bytes()
}

// renameLocals gives parameters, results, receivers and local variables other names, but for those that are also the key of
// a literal somewhere: there the parser cannot tell a variable from a field.
func renameLocals(f *ast.File, names map[string]bool) {
	fields, keys := map[any]bool{}, map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, field := range n.Fields.List {
				fields[field] = true
			}
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok {
				keys[id.Name] = true
			}
		}
		return true
	})
	var locals []*ast.Ident
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || id.Obj == nil || id.Obj.Kind != ast.Var || fields[id.Obj.Decl] || keys[id.Name] || id.Name == "_" || names[id.Name+"_v"] {
				return true
			}
			if at := id.Obj.Pos(); at >= fn.Pos() && at < fn.End() {
				locals = append(locals, id)
			}
			return true
		})
	}
	for _, id := range locals { // not before: an object is found by its name
		id.Name += "_v"
	}
}
