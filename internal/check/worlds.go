package check

import (
	"context"
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
func (Pytest) Cross(ctx context.Context, sb sandbox.Sandbox, text, behaviour tare.Tree, sources []string) (tare.Tree, error) {
	made, _, err := transform(ctx, sb, "cross", "", sources, text, behaviour)
	if err != nil {
		return nil, err
	}
	data := func(t tare.Tree) tare.Tree {
		return t.Filter(func(f tare.File) bool { return tare.Under(f.Path, sources...) && !isModule(f) && !isTest(f) })
	}
	out := text
	for _, f := range data(text) {
		out = out.Without(f.Path)
	}
	return out.Overlay(data(behaviour)).Overlay(made), nil
}

// Rewrite drops comments and layout, moves lines and renames local variables where no code can tell. Docstrings stay.
// A file that cannot be parsed stays as it is; nobody can import it. NotTransformable names one that can be imported and not
// be written otherwise.
func (r Pytest) Rewrite(ctx context.Context, sb sandbox.Sandbox, t tare.Tree, sources []string) (tare.Tree, error) {
	return r.Vary(ctx, sb, t, sources, "")
}

// Vary is Rewrite with other instructions in each function for each salt; with none for "".
func (Pytest) Vary(ctx context.Context, sb sandbox.Sandbox, t tare.Tree, sources []string, salt string) (tare.Tree, error) {
	made, _, err := transform(ctx, sb, "rewrite", salt, sources, t)
	if err != nil {
		return nil, err
	}
	return t.Overlay(withModes(made, t)), nil
}

// Poison lets a function raise when the seed has one of its qualified name, in whatever file. The exception derives from
// BaseException only, so that neither the subject nor pytest.raises(Exception) takes it for one of its own. Nothing
// raises while modules of the sources are being imported. Special methods such as __init__ raise only when the tree
// changed them: tests must be able to make objects. NotTransformable says that no function raises.
func (Pytest) Poison(ctx context.Context, sb sandbox.Sandbox, t, seed tare.Tree, sources []string) (tare.Tree, error) {
	made, symbols, err := transform(ctx, sb, "poison", "", sources, t, seed)
	if err != nil {
		return nil, err
	}
	if len(symbols) == 0 {
		return nil, &NotTransformable{Reason: "no function of the sources has the name of one of the seed's"}
	}
	return t.Overlay(made), nil
}

// Graft replaces definitions by name: functions, and assignments to one name, of modules and classes. A function that
// has moved is found when only one file defines it. A function that has more parameters than the seed's keeps them.
// Grafted names are FILE:NAME. NotTransformable names a file of the seed's that cannot be parsed in tree.
func (Pytest) Graft(ctx context.Context, sb sandbox.Sandbox, t, seed tare.Tree, sources []string) (tare.Tree, []string, error) {
	made, symbols, err := transform(ctx, sb, "graft", "", sources, t, seed)
	if err != nil {
		return nil, nil, err
	}
	return t.Overlay(withModes(made, t)), symbols, nil
}

// Lend adds modules, module-level names, members of classes and parameters that fix has and neither seed nor t. What is lent
// to t comes from below sources; nothing of t's own calls it.
func (Pytest) Lend(ctx context.Context, sb sandbox.Sandbox, t, fix, seed tare.Tree, sources []string) (tare.Tree, []string, error) {
	made, symbols, err := transform(ctx, sb, "lend", "", sources, t, fix, seed)
	if err != nil {
		return nil, nil, err
	}
	return t.Overlay(withModes(made, t)), symbols, nil
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

// transform has the files of a world made of up to three trees, and names what was changed in them.
func transform(ctx context.Context, sb sandbox.Sandbox, op, salt string, sources []string, trees ...tare.Tree) (tare.Tree, []string, error) {
	read := func(t tare.Tree) (map[string][]byte, error) {
		files := map[string][]byte{}
		for _, f := range t {
			if !tare.Under(f.Path, sources...) || !isModule(f) || isTest(f) {
				continue
			}
			if len(f.Data) > maxSource {
				return nil, &NotTransformable{f.Path, fmt.Sprintf("is larger than %d bytes", maxSource)}
			}
			files[f.Path] = f.Data
		}
		return files, nil
	}
	request := map[string]any{"op": op, "salt": salt, "roots": roots(sources)}
	for i, name := range []string{"text", "other", "seed"} {
		files := map[string][]byte{}
		if i < len(trees) {
			var err error
			if files, err = read(trees[i]); err != nil {
				return nil, nil, err
			}
		}
		request[name] = files
	}
	c := command{script: "tree", wall: 60 * time.Second, maxReport: 64 << 20, request: request}
	ans, err := c.run(ctx, sb)
	if err != nil {
		return nil, nil, fmt.Errorf("making a %s world: %w", op, err)
	}
	rep := ans.read()
	if rep.defect != "" && ans.result.Signal != "" {
		return nil, nil, &NotTransformable{Reason: "the interpreter was ended by " + ans.result.Signal + " when it read the sources"}
	}
	if rep.defect != "" {
		return nil, nil, fmt.Errorf("making a %s world: %s: %.500s", op, rep.defect, tail(ans.result.Stderr.Data))
	}
	for _, e := range rep.of("refused") {
		return nil, nil, &NotTransformable{e.ID, e.Message}
	}
	var files []tare.File
	for _, e := range rep.of("file") {
		files = append(files, tare.File{Path: e.ID, Mode: 0o644, Data: e.Data})
	}
	var symbols []string
	for _, e := range rep.of("symbol") {
		symbols = append(symbols, e.ID)
	}
	made, err := tare.NewTree(files)
	if err != nil {
		return nil, nil, fmt.Errorf("making a %s world: %w", op, err)
	}
	return made, symbols, nil
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
