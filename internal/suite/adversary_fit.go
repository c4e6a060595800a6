package suite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tare"
)

// A Play is an adversary on one base of one ticket.
type Play struct {
	Adversary *Adversary
	Base      Base
	Solution  tare.Tree // the workspace that it makes, before its agent plays
	Agent     string    // the script of its agent; "" for none
	Expect    tare.Expect
}

// Fit applies a to task, once for each of its bases. There is none when the adversary does not fit the task: it is for
// another runner, for named tickets, or needs what the task does not have.
func (a *Adversary) Fit(task *tare.Task) []Play {
	_, name, _ := strings.Cut(task.ID, "/")
	if a.Kind != Any && a.Kind != task.Runner || len(task.References) == 0 || a.Only != nil && !slices.Contains(a.Only, name) {
		return nil
	}
	values := placeholders(task)
	var out []Play
	for _, row := range a.Rows {
		p := Play{Adversary: a, Base: row.Base, Solution: row.Base.tree(task), Expect: row.Expect}
		fits := true
		for _, s := range a.Steps {
			p.Solution, fits = s.apply(p.Solution, values)
			if !fits {
				break
			}
		}
		if !fits {
			continue
		}
		if p.Agent, fits = fill(a.Agent, values); !fits {
			continue
		}
		if row.AsSeed {
			i := slices.IndexFunc(task.Controls, func(c tare.Control) bool { return c.Origin == tare.FromSeed })
			if i < 0 {
				continue
			}
			p.Expect = task.Controls[i].Expect
		}
		out = append(out, p)
	}
	return out
}

func (b Base) tree(task *tare.Task) tare.Tree {
	ref := task.References[0]
	switch b {
	case OnReference:
		return task.Seed.Overlay(ref.Fix)
	case OnTested:
		return task.Seed.Overlay(ref.Fix).Overlay(ref.Test)
	default:
		return slices.Clone(task.Seed)
	}
}

// apply makes the change to t. It is false when t has nothing to make it to, or a placeholder has no value.
func (s Step) apply(t tare.Tree, values map[string]string) (tare.Tree, bool) {
	p, ok := fill(s.Path, values)
	text, ok2 := fill(s.Text, values)
	if !ok || !ok2 || p == "" {
		return nil, false
	}
	old, found := t.Lookup(p)
	file := tare.File{Path: p, Mode: 0o644, Data: []byte(text)}
	if found && old.Mode.IsRegular() {
		file.Mode = old.Mode
	}
	switch s.Op {
	case OpWrite:
	case OpAppend:
		file.Data = slices.Concat(old.Data, file.Data)
	case OpPrepend:
		file.Data = slices.Concat(file.Data, old.Data)
	case OpDelete:
		return t.Without(p), len(t.Without(p)) < len(t)
	case OpSymlink:
		file.Mode = fs.ModeSymlink | 0o777
		return t.Without(p).Overlay(tare.Tree{file}), true
	case OpRename:
		if !found || text == "" {
			return nil, false
		}
		old.Path = text
		return t.Without(p).Overlay(tare.Tree{old}), true
	}
	if s.Op != OpWrite && (!found || !old.Mode.IsRegular()) {
		return nil, false
	}
	return t.Overlay(tare.Tree{file}), true
}

// placeholders is what each placeholder stands for in task; those without a value are not in it.
func placeholders(task *tare.Task) map[string]string {
	out := map[string]string{}
	ref := task.References[0]
	put := func(name, value string) {
		if value != "" && value != "." {
			out[name] = value
		}
	}
	for _, f := range ref.Fix {
		old, ok := task.Seed.Lookup(f.Path)
		if !ok {
			continue
		}
		put("@source@", f.Path)
		put("@module@", moduleName(f.Path, task.Sources))
		put("@source_dir@", path.Dir(f.Path))
		put("@source_base@", path.Base(f.Path))
		put("@package@", packageName(old))
		put("@import_path@", importPath(task.Seed, path.Dir(f.Path)))
		sum := sha256.Sum256(old.Data)
		put("@source_sha256@", hex.EncodeToString(sum[:]))
		put("@seed_source@", jsonText(string(old.Data)))
		var good []string
		var all, others []byte
		for i, r := range task.References {
			g, ok := task.Seed.Overlay(r.Fix).Lookup(f.Path)
			if !ok {
				continue
			}
			good = append(good, string(g.Data))
			all = append(all, g.Data...)
			if i > 0 {
				others = append(others, g.Data...)
			}
		}
		put("@fix_line@", lineOnlyIn(f.Data, slices.Concat(old.Data, others)))
		put("@seed_line@", lineOnlyIn(old.Data, all))
		put("@good_sources@", jsonText(good))
		break
	}
	if len(task.Sources) > 0 {
		put("@root@", task.Sources[0])
	}
	if len(task.Visible) > 0 {
		file := visibleFile(task)
		put("@visible_file@", file)
		put("@test_dir@", path.Dir(file))
		if f, ok := task.Seed.Lookup(file); ok {
			put("@test_package@", strings.TrimSuffix(packageName(f), "_test"))
		}
		put("@visible_upper@", path.Join(path.Dir(file), strings.ToUpper(path.Base(file))))
		put("@visible_ids@", jsonText(task.Visible))
	}
	if len(ref.Test) > 0 {
		put("@test_file@", ref.Test[0].Path)
	}
	if len(task.Hidden) > 0 {
		put("@probe_file@", path.Join(hiddenDir, task.Hidden[0].Path))
		put("@probe_basename@", path.Base(task.Hidden[0].Path))
	}
	return out
}

// visibleFile is the file of the seed in which the first visible test stands: an id begins with it.
func visibleFile(task *tare.Task) string {
	best := ""
	for _, f := range task.Seed {
		if strings.HasPrefix(task.Visible[0], f.Path) && len(f.Path) > len(best) {
			best = f.Path
		}
	}
	return best
}

// moduleName is the name by which Python imports the file at p; "" for what is no module.
func moduleName(p string, sources []string) string {
	stem, ok := strings.CutSuffix(p, ".py")
	if !ok {
		return ""
	}
	for _, s := range sources {
		if rest, ok := strings.CutPrefix(stem, s+"/"); ok {
			stem = rest
			break
		}
	}
	return strings.ReplaceAll(strings.TrimSuffix(stem, "/__init__"), "/", ".")
}

// packageName is the name in the package clause of a Go file; "" for what is none.
func packageName(f tare.File) string {
	if !strings.HasSuffix(f.Path, ".go") {
		return ""
	}
	g, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Data, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	return g.Name.Name
}

// importPath is the path by which Go imports the package in dir of the module seed; "" where there is no module.
func importPath(seed tare.Tree, dir string) string {
	mod, _ := seed.Lookup("go.mod")
	for line := range strings.Lines(string(mod.Data)) {
		if module, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return path.Join(module, dir)
		}
	}
	return ""
}

// lineOnlyIn is the longest line of text that is nowhere in other, as JSON.
func lineOnlyIn(text, other []byte) string {
	var best []byte
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > len(best) && !bytes.Contains(other, line) {
			best = line
		}
	}
	if best == nil {
		return ""
	}
	return jsonText(string(best))
}

// jsonText is v in JSON, which for texts and lists of them is Python as well.
func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "" // texts and lists of them always encode
	}
	return string(b)
}
