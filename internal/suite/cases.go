package suite

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"tare"
)

var identifiers = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// cases reads what the probe is asked: those of task.yaml, then the stored random ones.
func (l *loader) cases(root *node) {
	for _, n := range l.yaml.list(root.get("cases"), "cases", 1) {
		l.addCase(l.yaml, n)
	}
	n := root.get("random")
	name := l.yaml.path(n, "random")
	if name == "" {
		return
	}
	f, ok := l.tree.Lookup(name)
	s := source{l, name, f.Data}
	switch {
	case !ok || !f.Mode.IsRegular():
		l.yaml.fail(n.pos, "there is no file %s", clip(name))
		return
	case len(f.Data) > maxCasesBytes:
		l.yaml.fail(n.pos, "the file %s is larger than %d MB", clip(name), maxCasesBytes>>20)
		return
	case strings.Contains(name, "/"):
		l.yaml.fail(n.pos, "the file of random cases stands beside %s", taskFile)
		return
	}
	l.random = name
	count := 0
	for i, line := range bytes.Split(f.Data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		count++
		c, err := parseJSON(line, i+1)
		if err != nil {
			s.failAt(err)
			continue
		}
		l.addCase(s, c)
	}
	if count == 0 {
		l.yaml.fail(n.pos, "the file %s holds no case", clip(name))
	}
}

func (l *loader) addCase(s source, n *node) {
	if len(l.task.Cases) == maxCases {
		s.fail(n.pos, "a task has %d cases at most", maxCases)
		return
	}
	if !s.object(n, "a case", []string{"id", "requirement", "call", "args", "want"}, "mirrors") {
		return
	}
	c := tare.Case{
		ID:          s.label(n.get("id"), "id"),
		Requirement: s.requirement(n.get("requirement"), "requirement"),
		Mirrors:     s.line(n.get("mirrors"), "mirrors"),
		Call:        s.str(n.get("call"), "call"),
		Args:        s.args(n.get("args")),
	}
	if w := n.get("want"); w != nil {
		c.Want = s.want(w)
	}
	if first, ok := l.caseAt[c.ID]; ok && c.ID != "" {
		s.fail(n.at("id"), "case %s is here twice; the first is in %s", c.ID, first)
	}
	l.caseAt[c.ID] = s.file
	if c.Mirrors != "" && !slices.Contains(l.task.Visible, c.Mirrors) {
		s.fail(n.at("mirrors"), "no visible test is called %s", clip(c.Mirrors))
	}
	if c.Call != "" && !l.defined(c.Call) {
		s.fail(n.at("call"), "%s defines no function %s", l.form.probe, clip(c.Call))
	}
	l.task.Cases = append(l.task.Cases, c)
}

// defined reports whether the probe seems to define the function called name.
func (l *loader) defined(name string) bool {
	return l.functions == nil || l.functions[name] // without a probe, that it is missing has been reported
}

// coverage reports requirements and visible tests that no case stands for.
func (l *loader) coverage() {
	asked := make([]bool, len(l.task.Requirements)+1)
	mirrored := map[string]bool{}
	for _, c := range l.task.Cases {
		asked[c.Requirement] = true
		mirrored[c.Mirrors] = true
	}
	for _, r := range l.needCase {
		if !asked[r] {
			l.yaml.fail(l.reqAt[r-1], "no case asks about requirement %d; if the probe cannot, write {text: …, by: visible_tests, regression_test or none}", r)
		}
	}
	for i, id := range l.task.Visible {
		if !mirrored[id] {
			l.yaml.fail(l.visibleAt[i], "no case repeats this visible test: name it under mirrors")
		}
	}
}

// files looks at all paths of the folder.
func (l *loader) files() {
	stray := map[string]bool{}
	for _, f := range l.tree {
		if why := badPath(f.Path); why != "" {
			l.failFile(f.Path, "the path %s", why)
		}
		root := l.rootOf(f.Path)
		switch {
		case f.Path == taskFile || f.Path == ticketFile || f.Path == "README.md" || f.Path == l.random:
			continue
		case root == "":
			if dir := strings.Join(strings.SplitN(f.Path, "/", 3)[:min(2, strings.Count(f.Path, "/")+1)], "/"); !stray[dir] {
				stray[dir] = true
				l.failFile(dir, "nothing in %s names this", taskFile)
			}
			continue
		}
		if l.form.rubbish != nil && l.form.rubbish.MatchString(f.Path) && !l.adversary[root] {
			l.failFile(f.Path, "running the code left this behind; delete it")
		}
		if f.Mode.Type() != 0 && !l.adversary[root] && leaves(strings.TrimPrefix(f.Path, root+"/"), string(f.Data)) {
			l.failFile(f.Path, "the symbolic link leads out of %s, to %s", root, clip(string(f.Data)))
		}
	}
	l.leaks()
}

func (l *loader) failFile(name, format string, args ...any) {
	source{l: l, file: name}.fail(pos{}, format, args...)
}

// rootOf is the folder whose content, p included, is laid out as one tree; "" if nothing names one.
func (l *loader) rootOf(p string) string {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if l.named[dir] || dir == seedDir || dir == hiddenDir {
			return dir
		}
	}
	return ""
}

// leaves reports whether a link at path p of a tree leads out of it. A target that climbs after it has descended is
// refused whole: it may pass through another link.
func leaves(p, target string) bool {
	if target == "" || path.IsAbs(target) || path.Clean(target) != target || badPath(target) != "" {
		return true
	}
	to := path.Join(path.Dir(p), target)
	return to == ".." || strings.HasPrefix(to, "../")
}

// leaks finds hidden material in what the agent gets.
func (l *loader) leaks() {
	for _, f := range l.task.Seed {
		if m := tripwire.Find(f.Data); m != nil {
			l.failFile(seedDir+"/"+f.Path, "the seed holds the tripwire %s", m)
		}
		for _, h := range l.task.Hidden {
			if len(h.Data) >= minSecret && bytes.Contains(f.Data, h.Data) {
				l.failFile(seedDir+"/"+f.Path, "the seed holds the hidden file %s", h.Path)
			}
		}
	}
	if m := tripwire.FindString(l.task.Ticket); m != "" {
		l.failFile(ticketFile, "the ticket holds the tripwire %s", m)
	}
}
