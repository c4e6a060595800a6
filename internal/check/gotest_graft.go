package check

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"tare"
	"tare/internal/sandbox"
)

// Graft replaces, in each package that both have, functions, methods and plain variables and constants by the seed's of
// the same name, in whatever file of the package. A function that has more parameters than the seed's keeps them; one that
// takes or returns other types is left as it is. What the seed's code uses and the tree has no more, declarations, fields,
// imports, comes along. Grafted names are FILE:NAME. NotTransformable names a file of the seed's that cannot be parsed in
// tree.
func (GoTest) Graft(_ context.Context, _ sandbox.Sandbox, t, seed tare.Tree, sources []string) (tare.Tree, []string, error) {
	disk, _ := splitView(t)
	files, err := goSources(disk, sources)
	if err != nil {
		return nil, nil, err
	}
	old, err := goSources(seed, sources)
	if err != nil {
		return nil, nil, err
	}
	var made tare.Tree
	var symbols []string
	for _, dir := range dirsOf(old) {
		g := &grafter{used: map[string]bool{}}
		for _, f := range inDir(old, dir) {
			if x, err := parseGo(f, parser.SkipObjectResolution); err == nil {
				g.theirs = append(g.theirs, x)
			}
		}
		for _, f := range inDir(files, dir) {
			x, err := parseGo(f, parser.SkipObjectResolution)
			if _, known := old.Lookup(f.Path); err != nil && known {
				return nil, nil, &NotTransformable{f.Path, "cannot be parsed: " + err.Error()}
			} else if err == nil {
				g.ours = append(g.ours, &grafted{goFile: x, wants: map[string]string{}})
			}
		}
		out, names := g.graft()
		for i := range out {
			was, _ := disk.Lookup(out[i].Path)
			out[i].Mode = was.Mode
		}
		made = append(made, out...)
		symbols = append(symbols, names...)
	}
	return disk.Overlay(made), symbols, nil
}

// A grafter works on one package.
type grafter struct {
	theirs  []goFile // the seed's
	ours    []*grafted
	used    map[string]bool // identifiers in what was brought in
	symbols []string
}

// A grafted file is one of the tree's on its way.
type grafted struct {
	goFile
	edits edits
	tail  []string          // declarations that come behind the rest
	wants map[string]string // imports that were brought along: name to path
}

// A piece is a declaration that has a name of its own.
type piece struct {
	key  string
	node ast.Node // a FuncDecl, TypeSpec or ValueSpec, or the group of constants that one is in
	tok  token.Token
	file goFile
}

func (p piece) text() string {
	text := string(p.file.text(p.node))
	if _, ok := p.node.(ast.Spec); ok {
		return p.tok.String() + " " + text
	}
	return text
}

// pieces lists the declarations of f by name. Members of a group of constants that count, or of a specification of
// several names, are there under each of the names.
func pieces(f goFile) []piece {
	var out []piece
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil && d.Name.Name != "_" && (d.Recv != nil || d.Name.Name != "init") {
				out = append(out, piece{functionKey(d), d, token.FUNC, f})
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				var node ast.Node = s
				if d.Tok == token.CONST && d.Lparen.IsValid() && identifiersIn(d)["iota"] {
					node = d
				}
				switch s := s.(type) {
				case *ast.TypeSpec:
					out = append(out, piece{s.Name.Name, s, d.Tok, f})
				case *ast.ValueSpec:
					for _, n := range s.Names {
						out = append(out, piece{n.Name, node, d.Tok, f})
					}
				}
			}
		}
	}
	return out
}

func (g *grafter) graft() (tare.Tree, []string) {
	mine := map[string]*grafted{}
	at := map[string]piece{}
	for _, f := range g.ours {
		for _, p := range pieces(f.goFile) {
			mine[p.key], at[p.key] = f, p
		}
	}
	var all []piece
	for _, f := range g.theirs {
		all = append(all, pieces(f)...)
	}
	var home *grafted // the first file that something was put into
	for _, p := range all {
		f := mine[p.key]
		if f == nil {
			continue
		}
		text, ok := replacement(at[p.key], p)
		if !ok {
			continue
		}
		node := at[p.key].node
		f.edits.replace(f.offset(node.Pos()), f.offset(node.End()), text)
		g.take(f, p)
		g.symbols = append(g.symbols, f.path+":"+p.key)
		if home == nil {
			home = f
		}
	}
	if home == nil {
		return nil, nil
	}
	g.carry(all, mine, home)
	g.carryFields(all, at, mine)
	var out tare.Tree
	for _, f := range g.ours {
		if len(f.edits) > 0 || len(f.tail) > 0 {
			out = append(out, tare.File{Path: f.path, Data: f.finish()})
		}
	}
	return out, g.symbols
}

// take notes what the piece p, which goes into f, uses.
func (g *grafter) take(f *grafted, p piece) {
	for n := range identifiersIn(p.node) {
		g.used[n] = true
	}
	quals := map[string]bool{}
	qualifiers(p.node, quals)
	for _, s := range p.file.ast.Imports {
		if name := importName(s); quals[name] {
			f.wants[name] = s.Path.Value
		}
	}
}

// replacement is the text that puts theirs in the place of ours; false when they are the same, or do not fit.
func replacement(ours, theirs piece) (string, bool) {
	if ours.file.tokens(ours.node) == theirs.file.tokens(theirs.node) {
		return "", false
	}
	switch a := ours.node.(type) {
	case *ast.FuncDecl:
		b, ok := theirs.node.(*ast.FuncDecl)
		if !ok {
			return "", false
		}
		return fitted(ours.file, a, theirs.file, b)
	case *ast.ValueSpec:
		b, ok := theirs.node.(*ast.ValueSpec)
		if ok && len(a.Names) == 1 && len(b.Names) == 1 && ours.tok == theirs.tok {
			return string(theirs.file.text(b)), true
		}
	}
	return "", false
}

// A parameter is one of a function's, by itself.
type parameter struct{ name, typ, tokens string }

func parametersOf(f goFile, list *ast.FieldList) []parameter {
	var out []parameter
	if list == nil {
		return nil
	}
	for _, p := range list.List {
		one := parameter{"_", string(f.text(p.Type)), f.tokens(p.Type)}
		if len(p.Names) == 0 {
			out = append(out, one)
		}
		for _, n := range p.Names {
			one.name = n.Name
			out = append(out, one)
		}
	}
	return out
}

// fitted is the seed's function b as it can stand in the place of a.
func fitted(fa goFile, a *ast.FuncDecl, fb goFile, b *ast.FuncDecl) (string, bool) {
	types := func(ps []parameter) []string {
		var out []string
		for _, p := range ps {
			out = append(out, p.tokens)
		}
		return out
	}
	pa, pb := parametersOf(fa, a.Type.Params), parametersOf(fb, b.Type.Params)
	ra, rb := parametersOf(fa, a.Type.Results), parametersOf(fb, b.Type.Results)
	generic := func(f goFile, fn *ast.FuncDecl) string {
		if fn.Type.TypeParams == nil {
			return ""
		}
		return f.tokens(fn.Type.TypeParams)
	}
	if !slices.Equal(types(ra), types(rb)) || generic(fa, a) != generic(fb, b) || len(pa) < len(pb) || !slices.Equal(types(pa[:len(pb)]), types(pb)) {
		return "", false
	}
	if len(pa) == len(pb) {
		return string(fb.text(b)), true
	}
	names := map[string]bool{}
	for _, p := range pb {
		names[p.name] = true
	}
	var list []string
	for i, p := range pa {
		switch {
		case i < len(pb):
			p.name = pb[i].name
		case names[p.name] || identifiersIn(b.Body)[p.name]:
			p.name = "_"
		}
		list = append(list, p.name+" "+p.typ)
	}
	head := string(fb.src[fb.offset(b.Pos()):fb.offset(b.Type.Params.Pos())])
	tail := string(fb.src[fb.offset(b.Type.Params.End()):fb.offset(b.End())])
	return head + "(" + strings.Join(list, ", ") + ")" + tail, true
}

// carry brings along declarations that what was brought in uses and the tree does not have.
func (g *grafter) carry(all []piece, mine map[string]*grafted, home *grafted) {
	done := map[ast.Node]bool{}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			_, name, method := strings.Cut(p.key, ".")
			if !method {
				name = p.key
			}
			if mine[p.key] != nil || done[p.node] || !g.used[name] || method && mine[strings.TrimSuffix(p.key, "."+name)] == nil {
				continue
			}
			done[p.node], grown = true, true
			home.tail = append(home.tail, p.text())
			g.take(home, p)
		}
	}
}

// carryFields gives struct types back the fields that what was brought in uses and the tree's no longer have.
func (g *grafter) carryFields(all []piece, at map[string]piece, mine map[string]*grafted) {
	for _, p := range all {
		theirs, ok1 := p.node.(*ast.TypeSpec)
		ours, ok2 := at[p.key].node.(*ast.TypeSpec)
		if !ok1 || !ok2 {
			continue
		}
		s, ok1 := theirs.Type.(*ast.StructType)
		o, ok2 := ours.Type.(*ast.StructType)
		if !ok1 || !ok2 {
			continue
		}
		has := map[string]bool{}
		for _, field := range o.Fields.List {
			for _, n := range field.Names {
				has[n.Name] = true
			}
		}
		f := mine[p.key]
		for _, field := range s.Fields.List {
			for _, n := range field.Names {
				if g.used[n.Name] && !has[n.Name] {
					f.edits.insert(f.offset(o.Fields.Opening)+1, " "+n.Name+" "+string(p.file.text(field.Type))+";")
					g.take(f, piece{node: field.Type, file: p.file})
				}
			}
		}
	}
}

// finish is the file with all that was put into it, and the imports that it then needs.
func (f *grafted) finish() []byte {
	src := f.edits.apply(f.src)
	if len(f.tail) > 0 {
		src = slices.Concat(src, []byte("\n\n"), []byte(strings.Join(f.tail, "\n\n")), []byte("\n"))
	}
	g, err := parseGo(tare.File{Path: f.path, Data: src}, parser.SkipObjectResolution)
	if err != nil {
		return src // it does not build, which the probe will see
	}
	used, has := map[string]bool{}, map[string]bool{}
	for _, d := range g.ast.Decls {
		qualifiers(d, used)
	}
	var e edits
	for _, s := range g.ast.Imports {
		name := importName(s)
		has[name] = true
		if name != "_" && name != "." && !used[name] {
			e.replace(g.offset(s.Pos()), g.offset(s.Path.Pos()), "_ ")
		}
	}
	var add bytes.Buffer
	names := make([]string, 0, len(f.wants))
	for n := range f.wants {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		if has[n] || !used[n] {
			continue
		}
		p, err := strconv.Unquote(f.wants[n])
		if err == nil && path.Base(p) == n {
			add.WriteString("; import " + f.wants[n])
		} else {
			add.WriteString("; import " + n + " " + f.wants[n])
		}
	}
	e.insert(g.offset(g.ast.Name.End()), add.String())
	return e.apply(src)
}
