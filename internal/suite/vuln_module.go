package suite

import (
	"fmt"
	"slices"
	"strings"

	"tare"
)

// NeedModules is the need of a suite whose seeds are public Go modules: the user's module cache, or a module proxy the first
// time.
const NeedModules = "modules"

// edits reads what a reference or control changes of a module's source, and reports whether there is any.
func (v *flaw) edits(n *node, of string) bool {
	list := n.get("edits")
	if list == nil {
		return false
	}
	s := v.yaml
	if v.spec.Module == nil {
		s.fail(list.pos, "edits are for the source of a module; what changes a seed is kept as whole files")
		return true
	}
	for _, e := range s.list(list, "edits", 1) {
		if !s.object(e, "an edit", []string{"file", "replace", "with"}) {
			continue
		}
		edit := tare.Edit{Of: of, File: s.path(e.get("file"), "file"), Replace: s.str(e.get("replace"), "replace")}
		if w := e.get("with"); w.kind != kStr {
			s.fail(w.pos, "with must be text")
		} else {
			edit.With = w.text
		}
		if edit.Replace == edit.With {
			s.fail(e.pos, "the edit leaves everything as it is")
		}
		v.spec.Module.Edits = append(v.spec.Module.Edits, edit)
	}
	return true
}

// Complete is t with its source, where its seed is a public Go module: vulnerable becomes the seed, and what fixed changes of
// it, protected files aside, the reference called ModuleReference. What could not be looked at when the task was loaded
// is looked at now; an error is the task's author's. A task of another kind is returned as it is, and t is not changed.
func Complete(t *tare.Task, vulnerable, fixed tare.Tree) (*tare.Task, error) {
	if t.Vuln == nil || t.Vuln.Module == nil {
		return t, nil
	}
	out, spec := *t, *t.Vuln
	out.Vuln, out.Seed = &spec, vulnerable
	m := completer{task: t, seed: vulnerable}
	fix := m.fix(fixed)
	out.References = slices.Clone(t.References)
	for i := range out.References {
		r := &out.References[i]
		if r.Fix = slices.Clone(r.Fix); r.Name == ModuleReference {
			r.Fix = fix
		}
		r.Fix = m.edit("reference:"+r.Name, r.Fix)
	}
	out.Controls = slices.Clone(t.Controls)
	for i := range out.Controls {
		c := &out.Controls[i]
		if name, ok := strings.CutPrefix(c.Name, "reference:"); ok && c.Origin == tare.FromReference {
			j := slices.IndexFunc(out.References, func(r tare.Reference) bool { return r.Name == name })
			c.Apply = []tare.Tree{out.References[j].Fix}
		} else if edited := m.edit(c.Name, nil); len(edited) > 0 {
			c.Apply = append(slices.Clone(c.Apply), edited)
		}
		m.control(*c)
	}
	for _, pattern := range spec.Protected {
		one := &tare.VulnSpec{Protected: []string{pattern}}
		if !slices.ContainsFunc(vulnerable, func(f tare.File) bool { return one.Protects(f.Path) }) {
			m.fail("no file of it fits the protected path %s", clip(pattern))
		}
	}
	spec.Function = m.function(spec.Function)
	if len(m.problems) > 0 {
		return nil, fmt.Errorf("completing %s with module %s at %s: %s", t.ID, spec.Module.Path, spec.Module.Vulnerable, strings.Join(m.problems, "; "))
	}
	return &out, nil
}

// A completer looks at what a task says of a module.
type completer struct {
	task     *tare.Task
	seed     tare.Tree
	problems []string
}

func (m *completer) fail(format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf(format, args...))
}

// fix is what the fixed version changes of the seed. A reference cannot delete, so what is built must be there in both.
func (m *completer) fix(fixed tare.Tree) tare.Tree {
	fix := fixed.Filter(func(f tare.File) bool {
		old, there := m.seed.Lookup(f.Path)
		return !m.task.Vuln.Protects(f.Path) && !(there && string(old.Data) == string(f.Data))
	})
	for _, f := range m.seed {
		if _, there := fixed.Lookup(f.Path); !there && strings.HasSuffix(f.Path, ".go") && !m.task.Vuln.Protects(f.Path) {
			m.fail("the fixed version has no %s, and a reference deletes nothing", clip(f.Path))
		}
	}
	if len(fix) == 0 {
		m.fail("the fixed version changes nothing but protected files")
	}
	return fix
}

// edit is over with the edits of the reference or control called of, each in the file as the edits before it left it.
func (m *completer) edit(of string, over tare.Tree) tare.Tree {
	for _, e := range m.task.Vuln.Module.Edits {
		if e.Of != of {
			continue
		}
		f, there := m.seed.Overlay(over).Lookup(e.File)
		switch n := strings.Count(string(f.Data), e.Replace); {
		case !there:
			m.fail("%s edits %s, which is not there", clip(of), clip(e.File))
			continue
		case n != 1:
			m.fail("%s edits %s where it reads %s, which it does %d times and not once", clip(of), clip(e.File), clip(e.Replace), n)
			continue
		}
		f.Data = []byte(strings.Replace(string(f.Data), e.Replace, e.With, 1))
		over = over.Overlay(tare.Tree{f})
	}
	return over
}

// control looks at what a control deletes, and whether it changes anything.
func (m *completer) control(c tare.Control) {
	for _, p := range c.Delete {
		if !holds(m.seed, p) {
			m.fail("control %s deletes %s, which is not there", clip(c.Name), clip(p))
		}
	}
	if len(c.Apply)+len(c.Delete) > 0 && len(m.seed.Changes(c.Solution(m.seed))) == 0 {
		m.fail("control %s leaves the seed as it is", clip(c.Name))
	}
}

// function is the project's own tests with their files.
func (m *completer) function(set *tare.TestSet) *tare.TestSet {
	if set == nil || set.Runner == "cases" {
		return set
	}
	out := *set
	files := map[string]bool{}
	for _, id := range set.IDs {
		file, rest, _ := strings.Cut(id, "::")
		f, there := m.seed.Lookup(file)
		switch {
		case !there:
			m.fail("there is no file %s, which function names", clip(file))
		case !strings.Contains(string(f.Data), testName(rest)):
			m.fail("the file %s has no test %s", clip(file), clip(testName(rest)))
		}
		files[file] = true
	}
	out.Files = m.seed.Filter(func(f tare.File) bool { return files[f.Path] })
	return &out
}
