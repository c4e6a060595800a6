package check

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tare"
	"tare/internal/sandbox"
)

// maxSource bounds a source file that is taken apart.
const maxSource = 512 << 10

// NotTransformable is the error for a tree that a world cannot be made of because of what is in it. It is a fact about
// the tree, not a failure of the rig.
type NotTransformable struct {
	Path   string // "" when it is no one file
	Reason string
}

func (n *NotTransformable) Error() string {
	if n.Path == "" {
		return n.Reason
	}
	return n.Path + ": " + n.Reason
}

// Cross makes the tree with an unchecked hash-based .pyc beside each source that differs, which Python runs whatever the
// source says. A module that only the behaviour has is a .pyc without source; one that only the text has cannot be
// imported. Files below the sources that are no modules, data above all, are the behaviour's, since code reads them;
// everything outside the sources is the text's. Source that does not compile raises SyntaxError, as it would.
func (r Pytest) Cross(ctx context.Context, sb sandbox.Sandbox, text, behaviour tare.Tree, sources []string) (tare.Tree, error) {
	return r.one(ctx, sb, sources, Making{Op: OpCross, From: []tare.Tree{text, behaviour}})
}

// Rewrite drops comments and layout, moves lines and renames local variables where no code can tell. Docstrings stay.
// A file that cannot be parsed stays as it is; nobody can import it. NotTransformable names one that can be imported and not
// be written otherwise.
func (r Pytest) Rewrite(ctx context.Context, sb sandbox.Sandbox, t tare.Tree, sources []string) (tare.Tree, error) {
	return r.one(ctx, sb, sources, Making{Op: OpRewrite, From: []tare.Tree{t}})
}

// Poison lets a function raise when the seed has one of its qualified name, in whatever file. The exception derives from
// BaseException only, so that neither the subject nor pytest.raises(Exception) takes it for one of its own. Nothing
// raises while modules of the sources are being imported. Special methods such as __init__ raise only when the tree
// changed them: tests must be able to make objects. NotTransformable says that no function raises.
func (r Pytest) Poison(ctx context.Context, sb sandbox.Sandbox, t, seed tare.Tree, sources []string) (tare.Tree, error) {
	return r.one(ctx, sb, sources, Making{Op: OpPoison, From: []tare.Tree{t, seed}})
}

// one makes one world.
func (r Pytest) one(ctx context.Context, sb sandbox.Sandbox, sources []string, m Making) (tare.Tree, error) {
	made, err := r.Make(ctx, sb, sources, []Making{m})
	if err != nil {
		return nil, err
	}
	return made[0].Tree, made[0].Err
}

// Make makes worlds in one run, which reads trees and runs nothing of them. With a salt, each function of what is loaded begins
// with other instructions, which do nothing: in what [Pytest.Rewrite] writes, and in the behaviour of [Pytest.Cross].
func (Pytest) Make(ctx context.Context, sb sandbox.Sandbox, sources []string, of []Making) ([]Made, error) {
	done, err := transform(ctx, sb, sources, of)
	if err != nil {
		return nil, err
	}
	out := make([]Made, len(of))
	for i, m := range of {
		switch d, t := done[i], m.From[0]; {
		case d.refused != nil:
			out[i].Err = d.refused
		case m.Op == OpCross:
			out[i].Tree = crossed(t, m.From[1], d.files, sources)
		case m.Op == OpPoison && len(d.symbols) == 0:
			out[i].Err = &NotTransformable{Reason: "no function of the sources has the name of one of the seed's"}
		case m.Op == OpPoison:
			out[i].Tree = t.Overlay(d.files)
		default:
			out[i].Tree = t.Overlay(withModes(d.files, t))
		}
	}
	return out, nil
}

// crossed is text with the data of behaviour, and with the code that was made of that.
func crossed(text, behaviour, code tare.Tree, sources []string) tare.Tree {
	data := func(t tare.Tree) tare.Tree {
		return t.Filter(func(f tare.File) bool { return tare.Under(f.Path, sources...) && !isModule(f) && !isTest(f) })
	}
	out := text
	for _, f := range data(text) {
		out = out.Without(f.Path)
	}
	return out.Overlay(data(behaviour)).Overlay(code)
}

// Graft replaces definitions by name: functions, and assignments to one name, of modules and classes. A function that
// has moved is found when only one file defines it. A function that has more parameters than the seed's keeps them.
// Grafted names are FILE:NAME. NotTransformable names a file of the seed's that cannot be parsed in tree.
func (Pytest) Graft(ctx context.Context, sb sandbox.Sandbox, t, seed tare.Tree, sources []string) (tare.Tree, []string, error) {
	return replaced(ctx, sb, sources, opGraft, t, seed)
}

// Lend adds modules, module-level names, members of classes and parameters that fix has and neither seed nor t. What is lent
// to t comes from below sources; nothing of t's own calls it.
func (Pytest) Lend(ctx context.Context, sb sandbox.Sandbox, t, fix, seed tare.Tree, sources []string) (tare.Tree, []string, error) {
	return replaced(ctx, sb, sources, opLend, t, fix, seed)
}

// replaced is the first of trees with what op makes of them all put over it, and what was changed.
func replaced(ctx context.Context, sb sandbox.Sandbox, sources []string, op Op, trees ...tare.Tree) (tare.Tree, []string, error) {
	done, err := transform(ctx, sb, sources, []Making{{Op: op, From: trees}})
	switch {
	case err != nil:
		return nil, nil, err
	case done[0].refused != nil:
		return nil, nil, done[0].refused
	}
	return trees[0].Overlay(withModes(done[0].files, trees[0])), done[0].symbols, nil
}

// withModes is made with the modes that its files have in t.
func withModes(made, t tare.Tree) tare.Tree {
	for i, f := range made {
		if old, ok := t.Lookup(f.Path); ok {
			made[i].Mode = old.Mode
		}
	}
	return made
}

// What the script does with a tree that is no world.
const (
	opGraft Op = "graft"
	opLend  Op = "lend"
)

// A transformed is what the script made of trees: files to put over the first, the names of what was changed in them, or why
// the trees do not lend themselves to it.
type transformed struct {
	files   tare.Tree
	symbols []string
	refused *NotTransformable
}

// transform has files made, all in one run. Where that breaks on one of several, the error does not say on which.
func transform(ctx context.Context, sb sandbox.Sandbox, sources []string, of []Making) ([]transformed, error) {
	out := make([]transformed, len(of))
	texts := &texts{sources: sources, numbers: map[tare.Digest]int{}}
	makings := []map[string]any{} // of those that the script is to do
	index := []int{}              // their places in of
	for i, m := range of {
		numbers, err := texts.add(m.From)
		if errors.As(err, &out[i].refused) {
			continue
		}
		makings = append(makings, map[string]any{"op": m.Op, "salt": m.Salt, "trees": numbers})
		index = append(index, i)
	}
	if len(makings) == 0 {
		return out, nil
	}
	request := map[string]any{"roots": roots(sources), "trees": texts.trees, "makings": makings}
	c := command{script: "tree", wall: 60 * time.Second, maxReport: 64 << 20, request: request}
	ans, err := c.run(ctx, sb)
	if err != nil {
		return nil, fmt.Errorf("making worlds: %w", err)
	}
	rep := ans.read()
	if rep.defect != "" && ans.result.Signal != "" && len(of) == 1 {
		out[0].refused = &NotTransformable{Reason: "the interpreter was ended by " + ans.result.Signal + " when it read the sources"}
		return out, nil
	}
	if rep.defect == "" && rep.end.Items != len(rep.events)-1 {
		rep.fail("the end mark counts %d, the report has %d", rep.end.Items, len(rep.events)-1)
	}
	if rep.defect != "" {
		return nil, fmt.Errorf("making worlds: %s: %.500s", rep.defect, tail(ans.result.Stderr.Data))
	}
	for k, i := range index {
		if err := out[i].fill(rep, k); err != nil {
			return nil, fmt.Errorf("making worlds: %w", err)
		}
	}
	return out, nil
}

// fill takes what the report says of the making with that number.
func (d *transformed) fill(rep report, number int) error {
	var files []tare.File
	for _, e := range rep.events {
		switch {
		case e.Item != number:
		case e.Event == "refused" && d.refused == nil:
			d.refused = &NotTransformable{e.ID, e.Message}
		case e.Event == "file":
			files = append(files, tare.File{Path: e.ID, Mode: 0o644, Data: e.Data})
		case e.Event == "symbol":
			d.symbols = append(d.symbols, e.ID)
		}
	}
	var err error
	d.files, err = tare.NewTree(files)
	return err
}

// A texts is the modules of trees, each tree once.
type texts struct {
	sources []string
	numbers map[tare.Digest]int
	trees   []map[string][]byte
}

// add returns the numbers of trees. The error is a NotTransformable.
func (x *texts) add(trees []tare.Tree) ([]int, error) {
	var numbers []int
	for _, t := range trees {
		modules := t.Filter(func(f tare.File) bool { return tare.Under(f.Path, x.sources...) && isModule(f) && !isTest(f) })
		files := map[string][]byte{}
		for _, f := range modules {
			if len(f.Data) > maxSource {
				return nil, &NotTransformable{f.Path, fmt.Sprintf("is larger than %d bytes", maxSource)}
			}
			files[f.Path] = f.Data
		}
		digest := modules.Digest()
		n, ok := x.numbers[digest]
		if !ok {
			n = len(x.trees)
			x.numbers[digest], x.trees = n, append(x.trees, files)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// roots is the directories of the import path that sources stand for.
func roots(sources []string) []string {
	var out []string
	for _, s := range sources {
		if strings.HasSuffix(s, ".py") {
			s = path.Dir(s)
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		out = []string{"."}
	}
	return out
}

// isModule reports whether f is the source of a module.
func isModule(f tare.File) bool {
	return f.Mode.Type() == 0 && strings.HasSuffix(f.Path, ".py") && utf8.ValidString(f.Path)
}

// isTest reports whether f belongs to the tests, which a source root that is the whole tree also holds.
func isTest(f tare.File) bool {
	dirs := strings.Split(f.Path, "/")
	base := dirs[len(dirs)-1]
	return isTestFile(f.Path) || base == "conftest.py" ||
		slices.ContainsFunc(dirs[:len(dirs)-1], func(d string) bool { return d == "test" || d == "tests" })
}
