package suite

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare"
)

// ModuleReference is the name of the reference that is the fixed version of a module.
const ModuleReference = "fixed"

// references reads the fixes. Where the seed is a module, its fixed version is the first of them, and comes when the module does.
func (v *flaw) references(root *node) {
	s, n := v.yaml, root.get("references")
	seen := map[string]pos{}
	least := 2
	if v.spec.Module != nil {
		least = 1
		seen[ModuleReference] = root.at("references")
		v.task.References = append(v.task.References, tare.Reference{Name: ModuleReference})
	}
	for _, r := range s.list(n, "references", least) {
		if !s.object(r, "a reference", []string{"name"}, "files", "edits") {
			continue
		}
		ref := tare.Reference{Name: s.label(r.get("name"), "name")}
		s.unique(seen, ref.Name, r.pos, "reference")
		files := r.get("files")
		if v.edits(r, "reference:"+ref.Name) {
			v.task.References = append(v.task.References, ref)
			continue
		}
		if files == nil {
			s.fail(r.pos, "a reference lacks the key %q", "files")
			continue
		}
		ref.Fix = v.overlay(files, "files")
		for _, f := range ref.Fix {
			if v.spec.Protects(f.Path) {
				s.fail(files.pos, "a reference leaves protected files alone, but %s holds %s", clip(files.text), clip(f.Path))
			}
		}
		v.unchanged(ref.Fix, files)
		for _, other := range v.task.References {
			if len(ref.Fix) > 0 && other.Fix.Digest() == ref.Fix.Digest() {
				s.fail(r.pos, "references %s and %s are the same fix; they must be written differently", other.Name, ref.Name)
			}
		}
		v.task.References = append(v.task.References, ref)
	}
}

// controls derives and reads all controls, in the order in which a proof shows them: the seed, doing nothing, each
// reference, and those that task.yaml lists.
func (v *flaw) controls(n *node) {
	s, t := v.yaml, v.task
	zero, one := 0.0, 1.0
	unfixed := tare.Expect{Outcome: tare.Fail, Reward: &zero, Gate: tare.GatePoCs, Reason: "still triggers"}
	t.Controls = append(t.Controls,
		tare.Control{Name: "seed", Origin: tare.FromSeed, Expect: unfixed},
		tare.Control{Name: "noop", Origin: tare.FromNoop, Agent: "noop", Expect: unfixed})
	for _, r := range t.References {
		t.Controls = append(t.Controls, tare.Control{
			Name: "reference:" + r.Name, Origin: tare.FromReference, Apply: []tare.Tree{r.Fix}, Expect: tare.Expect{Outcome: tare.Pass, Reward: &one},
		})
	}
	seen := map[string]pos{}
	for _, c := range t.Controls {
		seen[c.Name] = pos{1, 1}
	}
	for _, c := range s.list(n, "controls", 0) {
		if control, ok := v.control(c); ok {
			s.unique(seen, control.Name, c.pos, "control")
			t.Controls = append(t.Controls, control)
		}
	}
}

// control reads one patch whose right verdict task.yaml states.
func (v *flaw) control(n *node) (tare.Control, bool) {
	s, t := v.yaml, v.task
	if !s.object(n, "a control", []string{"name", "origin", "expect"}, "on", "files", "delete", "edits") {
		return tare.Control{}, false
	}
	c := tare.Control{
		Name:   s.label(n.get("name"), "name"),
		Origin: tare.Origin(s.oneOf(n.get("origin"), "origin", string(tare.FromBad), string(tare.FromAcceptable))),
	}
	if c.Name == "" || c.Origin == "" {
		return c, false
	}
	for _, d := range s.list(n.get("delete"), "delete", 0) {
		p := s.path(d, "a path to delete")
		if p != "" && v.spec.Module == nil && !holds(t.Seed, p) {
			s.fail(d.pos, "the seed has no %s to delete", clip(p))
		}
		if p != "" {
			c.Delete = append(c.Delete, p)
		}
	}
	if n.get("on") != nil {
		ref, _ := v.reference(n.get("on"), "on")
		if c.Apply = append(c.Apply, ref.Fix); ref.Name != "" && v.spec.Module != nil {
			s.fail(n.at("on"), "a control cannot be laid over a reference of a module, which is not there yet")
		}
	}
	if n.get("files") != nil {
		c.Apply = append(c.Apply, v.overlay(n.get("files"), "files"))
		v.adversary[n.get("files").text] = c.Origin == tare.FromBad // which may bring what no honest patch does
	}
	edited := v.edits(n, c.Name)
	switch {
	case edited: // what it changes is not there yet
	case len(c.Apply) == 0 && len(c.Delete) == 0:
		s.fail(n.pos, "control %s changes nothing: give it files, on or delete", c.Name)
	case len(t.Seed.Changes(c.Solution(t.Seed))) == 0:
		s.fail(n.pos, "control %s leaves the seed as it is", c.Name)
	}
	if e := n.get("expect"); e != nil {
		c.Expect = s.expectAt(e, vulnGates)
		pass := c.Expect.Outcome == tare.Pass
		switch {
		case c.Origin == tare.FromAcceptable && c.Expect.Outcome != "" && !pass:
			s.fail(e.pos, "an acceptable patch passes")
		case c.Origin == tare.FromBad && pass:
			s.fail(e.pos, "a bad patch does not pass; one that may is acceptable")
		}
	}
	return c, true
}

// equivalents reads which mutants of the references are right fixes, by their ids as a proof prints them, and why.
func (v *flaw) equivalents(n *node) {
	s := v.yaml
	if n == nil || !s.object(n, "mutants", []string{"equivalent"}) {
		return
	}
	seen := map[string]pos{}
	for _, e := range s.list(n.get("equivalent"), "equivalent", 1) {
		if !s.object(e, "an equivalent mutant", []string{"id", "why"}) {
			continue
		}
		q := tare.Equivalent{ID: s.line(e.get("id"), "id"), Why: s.line(e.get("why"), "why")}
		s.unique(seen, q.ID, e.pos, "mutant")
		v.spec.Equivalent = append(v.spec.Equivalent, q)
	}
}

// testSet reads hidden tests, or those of the project.
func (v *flaw) testSet(n *node, what string) *tare.TestSet {
	s := v.yaml
	if n == nil || !s.object(n, what, []string{"runner"}, "files", "ids", "wall") {
		return nil
	}
	set := &tare.TestSet{Runner: s.oneOf(n.get("runner"), "runner", "gotest", "pytest", "cases"), Wall: s.duration(n.get("wall"), "wall")}
	own := what == "function" // then the tests are the seed's
	dir := ""
	if f := n.get("files"); f != nil && own {
		dir = v.seedFolder(f)
	} else if f != nil {
		set.Files, dir = v.folder(f, "files"), f.text
	} else if !own {
		s.fail(n.pos, "%s lacks the key %q: hidden tests have a folder", what, "files")
	}
	switch {
	case set.Runner == "cases" && n.get("ids") != nil:
		s.fail(n.at("ids"), "the ids of cases are the names of their files: leave ids out")
	case set.Runner == "cases" && n.get("files") == nil:
		if own {
			s.fail(n.pos, "%s lacks the key %q: cases have a folder", what, "files")
		}
	case set.Runner == "cases" && dir != "":
		v.cases(set, dir, n.get("files"), own)
	case set.Runner != "":
		v.ids(set, n, own)
	}
	return set
}

// seedFolder is the path, with seed/ before it, of a folder of the seed.
func (v *flaw) seedFolder(n *node) string {
	p := v.yaml.path(n, "files")
	if p == "" {
		return ""
	}
	if !tare.Under(p, seedDir) || len(subtree(v.tree, p)) == 0 {
		v.yaml.fail(n.pos, "functional tests are the project's own: files names a folder of the seed, such as seed/tests")
		return ""
	}
	return p
}

// ids reads the exact ids of tests, which must be in the files.
func (v *flaw) ids(set *tare.TestSet, n *node, own bool) {
	s := v.yaml
	in, where := set.Files, "the hidden files have"
	if own {
		in, where = v.task.Seed, "the seed has"
	}
	if n.get("ids") == nil {
		s.fail(n.pos, "tests of %s are named by their exact ids: give ids", set.Runner)
	}
	seen := map[string]pos{}
	files := map[string]bool{}
	for _, i := range s.list(n.get("ids"), "ids", 1) {
		id := s.line(i, "a test")
		s.unique(seen, id, i.pos, "test")
		if id == "" {
			continue
		}
		set.IDs = append(set.IDs, id)
		file, rest, ok := strings.Cut(id, "::")
		f, found := in.Lookup(file)
		switch {
		case !ok:
			s.fail(i.pos, "%s is no test's exact id, which has the form path::name", clip(id))
		case v.spec.Module != nil && own: // it is not there yet
		case !found:
			s.fail(i.pos, "%s no file %s", where, clip(file))
		case !strings.Contains(string(f.Data), testName(rest)):
			s.fail(i.pos, "the file %s has no test %s", clip(file), clip(testName(rest)))
		}
		files[file] = true
	}
	if own {
		set.Files = in.Filter(func(f tare.File) bool { return files[f.Path] })
	}
}

var casePart = regexp.MustCompile(`^(.+)\.(cmd|in|out|exit)$`)

// cases reads programs to start and what must come out of them. Of hidden ones everything else in the folder is laid over the
// tree; of the project's own everything else is restored.
func (v *flaw) cases(set *tare.TestSet, dir string, n *node, own bool) {
	files := subtree(v.tree, dir)
	before := ""
	if own {
		before = strings.TrimPrefix(strings.TrimPrefix(dir, seedDir), "/")
	}
	set.Files = nil
	for _, f := range files {
		m := casePart.FindStringSubmatch(f.Path)
		if m == nil {
			if before != "" {
				f.Path = before + "/" + f.Path
			}
			set.Files = append(set.Files, f)
			continue
		}
		at := dir + "/" + f.Path
		_, hasCommand := files.Lookup(m[1] + ".cmd")
		_, hasOutput := files.Lookup(m[1] + ".out")
		switch {
		case !f.Mode.IsRegular():
			v.failFile(at, "this must be a file, and no link")
		case !hasCommand:
			v.failFile(at, "there is no %s.cmd beside it; it holds the command, one argument a line", m[1])
		case !hasOutput:
			v.failFile(at, "there is no %s.out beside it; it holds what the program prints", m[1])
		case m[2] == "cmd":
			set.Cases = append(set.Cases, v.programCase(files, m[1], dir))
			set.IDs = append(set.IDs, m[1])
		}
	}
	if len(set.Cases) == 0 {
		v.yaml.fail(n.pos, "there is no case in %s: a case is NAME.cmd and NAME.out, and may have NAME.in and NAME.exit", clip(dir))
	}
}

func (v *flaw) programCase(files tare.Tree, name, dir string) tare.ProgramCase {
	data := func(suffix string) []byte { f, _ := files.Lookup(name + suffix); return f.Data }
	c := tare.ProgramCase{ID: name, Command: strings.Split(strings.TrimSuffix(string(data(".cmd")), "\n"), "\n"), Stdin: data(".in"), Stdout: data(".out")}
	if strings.TrimSpace(c.Command[0]) == "" || slices.ContainsFunc(c.Command, func(w string) bool { return strings.ContainsAny(w, "\r\x00") }) {
		v.failFile(dir+"/"+name+".cmd", "this holds a command, one argument a line, the program first")
	}
	if e := strings.TrimSpace(string(data(".exit"))); e != "" {
		code, err := strconv.Atoi(e)
		if err != nil || code < 0 || code > 255 {
			v.failFile(dir+"/"+name+".exit", "this holds an exit status, a whole number from 0 to 255")
		}
		c.Exit = code
	}
	return c
}

// files looks at all paths of the folder.
func (v *flaw) files() {
	for _, f := range v.tree {
		if why := badPath(f.Path); why != "" {
			v.failFile(f.Path, "the path %s", why)
		}
		root := v.rootOf(f.Path)
		switch {
		case f.Path == taskFile || f.Path == "README.md" || v.used[f.Path]:
			continue
		case root == "" || root == hiddenDir && !v.named[hiddenDir]:
			v.failFile(f.Path, "nothing in %s names this", taskFile)
			continue
		}
		if v.form.rubbish != nil && v.form.rubbish.MatchString(f.Path) && !v.adversary[root] {
			v.failFile(f.Path, "running the code left this behind; delete it")
		}
		if f.Mode.Type() != 0 && !v.adversary[root] && leaves(strings.TrimPrefix(f.Path, root+"/"), string(f.Data)) {
			v.failFile(f.Path, "the symbolic link leads out of %s, to %s", root, clip(string(f.Data)))
		}
	}
}
