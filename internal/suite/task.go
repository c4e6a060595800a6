package suite

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tare"
)

// Names and bounds of the files of a task's folder.
const (
	taskFile   = "task.yaml"
	ticketFile = "ticket.md"
	seedDir    = "seed"
	hiddenDir  = "hidden"

	taskSchema    = "tare.task/1"
	maxTaskBytes  = 512 << 10 // of task.yaml
	maxCasesBytes = 8 << 20   // of the random cases
	maxCases      = 20000
)

// A runnerForm is what the loader must know about a runner to say early what it would stumble over later.
type runnerForm struct {
	probe   string         // the file of hidden/ whose functions the cases call
	defines *regexp.Regexp // a line that makes names known to the probe; its groups hold them
	rubbish *regexp.Regexp // paths that running the code leaves behind
	tests   *regexp.Regexp // paths that are tests wherever they stand, and so no sources; nil for none

	draft   string                   // a probe to start from
	example func(title string) Draft // a ticket to start from
}

var runners = map[string]runnerForm{
	"pytest": {
		probe:   hiddenDir + "/probe.py",
		defines: regexp.MustCompile(`(?m)^(?:async +)?(?:def|class) +(\w+)|^(\w+) *=|^from +\S+ +import +(.*)`),
		rubbish: regexp.MustCompile(`(^|/)(__pycache__|\.pytest_cache|\.mypy_cache)(/|$)|\.pyc$`),
		draft:   probePy,
		example: examplePython,
	},
	"gotest": {
		probe:   hiddenDir + "/probe.go",
		defines: regexp.MustCompile(`(?m)^func +(\w+)\(`),
		rubbish: regexp.MustCompile(`\.(test|prof)$|(^|/)testdata/fuzz/`),
		tests:   regexp.MustCompile(`_test\.go$|(^|/)testdata/`),
		draft:   probeGo,
		example: exampleGo,
	},
}

// A loader reads one task. It goes on after a problem, so that all are reported at once.
type loader struct {
	shown    string // the folder as it is called in errors
	tree     tare.Tree
	task     *tare.Task
	problems []problem

	yaml      source
	parsed    map[string]string // parsed forms of files, if the folder came from an archive
	form      runnerForm
	named     map[string]bool   // overlay folders that task.yaml names
	adversary map[string]bool   // those of them that an adversary brings
	needCase  []int             // requirements that the probe must ask about
	reqAt     []pos             // of requirements
	visibleAt []pos             // of visible tests
	caseAt    map[string]string // case id to the file that holds it
	random    string            // the file of random cases
	functions map[string]bool   // what the probe defines; nil when it could not be read
}

// loadTask makes the task of a folder, which is called shown in errors.
func loadTask(suite, shown string, t namedTree) (*tare.Task, error) {
	l := &loader{
		shown: shown, tree: t.tree, parsed: t.parsed, named: map[string]bool{}, adversary: map[string]bool{}, caseAt: map[string]string{},
		task: &tare.Task{ID: suite + "/" + t.name, Hash: t.tree.Digest()},
	}
	f, _ := t.tree.Lookup(taskFile)
	l.yaml = source{l, taskFile, f.Data}
	switch {
	case !f.Mode.IsRegular():
		l.yaml.fail(pos{}, "this must be a file")
	case len(f.Data) > maxTaskBytes:
		l.yaml.fail(pos{}, "the file is larger than %d KB; random cases belong in a file of their own", maxTaskBytes>>10)
	default:
		root, err := decodeParsed(t.parsed[taskFile], f.Data)
		if err != nil {
			root, err = parseYAML(f.Data)
		}
		if err != nil {
			l.yaml.failAt(err)
			break
		}
		l.decode(root)
	}
	if err := join(l.problems); err != nil {
		return nil, err
	}
	return l.task, nil
}

// decode reads the whole task. Each step may use what those before it have read.
func (l *loader) decode(root *node) {
	s, t := l.yaml, l.task
	if root.kind == kMap {
		s.oneOf(root.get("schema"), "schema", taskSchema)
		t.Kind = tare.TaskKind(s.oneOf(root.get("kind"), "kind", string(tare.Ticket), string(tare.Scenario), string(tare.Vuln)))
		t.Title = s.line(root.get("title"), "title")
		t.Category = tare.Category(s.oneOf(root.get("category"), "category", string(tare.Development), string(tare.HeldOut), string(tare.Fixture)))
	}
	switch t.Kind {
	case tare.Scenario:
		l.scenario(root)
		return
	case tare.Vuln:
		l.vuln(root)
		return
	}
	if !s.object(root, "a task",
		[]string{"schema", "kind", "title", "category", "runner", "sources", "requirements", "visible", "seed", "references", "cases"},
		"limits", "decoys", "twins", "worthless", "controls", "random") {
		return
	}
	t.Runner = s.oneOf(root.get("runner"), "runner", "pytest", "gotest")
	l.form = runners[t.Runner]
	l.limits(root.get("limits"))
	l.folders()
	if len(t.Seed) == 0 {
		return // nearly all that follows is about it, and would only say so again
	}
	l.requirements(root.get("requirements"))
	l.seedFacts(root)
	l.references(root.get("references"))
	l.twins(root.get("twins"))
	l.controls(root)
	l.cases(root)
	l.coverage()
	l.files()
}

func (l *loader) limits(n *node) {
	if n == nil || !l.yaml.object(n, "limits", nil, "wall", "turns", "check") {
		return
	}
	l.task.Limits = tare.Limits{
		Wall:  l.yaml.duration(n.get("wall"), "wall"),
		Turns: l.yaml.count(n.get("turns"), "turns"),
		Check: l.yaml.duration(n.get("check"), "check"),
	}
}

// folders reads ticket, seed and hidden.
func (l *loader) folders() {
	ticket, ok := l.tree.Lookup(ticketFile)
	s := source{l, ticketFile, ticket.Data}
	switch {
	case !ok || !ticket.Mode.IsRegular():
		s.fail(pos{}, "there is no such file; it holds what the agent reads")
	case !utf8.Valid(ticket.Data):
		s.fail(pos{}, "this is not UTF-8")
	case len(bytes.TrimSpace(ticket.Data)) == 0:
		s.fail(pos{}, "the file is empty; it holds what the agent reads")
	}
	l.task.Ticket = string(ticket.Data)
	l.task.Seed = subtree(l.tree, seedDir)
	if len(l.task.Seed) == 0 {
		l.yaml.fail(pos{1, 1}, "there is no folder seed, or nothing in it; it is the workspace as the agent gets it")
	}
	l.task.Hidden = subtree(l.tree, hiddenDir)
	if l.form.probe == "" {
		return
	}
	probe, ok := l.tree.Lookup(l.form.probe)
	if !ok || !probe.Mode.IsRegular() {
		l.yaml.fail(pos{1, 1}, "there is no file %s; it holds the functions that the cases call", l.form.probe)
		return
	}
	l.functions = map[string]bool{}
	for _, m := range l.form.defines.FindAllSubmatch(probe.Data, -1) {
		for _, name := range identifiers.FindAll(bytes.Join(m[1:], []byte(" ")), -1) {
			l.functions[string(name)] = true
		}
	}
}

var numbered = regexp.MustCompile(`^ {0,3}([0-9]{1,4})[.)][ \t]+(\S.*)$`)

// An item is one entry of a ticket's numbered list.
type item struct {
	number, text string
	pos
}

// numberedItems finds the numbered lists of a ticket, code blocks aside. An item ends at the next one, at an empty
// line that no indented text follows, and at a heading or another list.
func numberedItems(ticket string) []item {
	var items []item
	open, blank, fenced := false, false, false
	for i, line := range strings.Split(ticket, "\n") {
		line = strings.TrimRight(line, " \t\r")
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
			fenced, open = !fenced, false
			continue
		}
		m := numbered.FindStringSubmatch(line)
		switch {
		case fenced:
		case text == "":
			blank = true
			continue
		case m != nil:
			items = append(items, item{m[1], m[2], pos{i + 1, strings.Index(line, m[1]) + 1}})
			open = true
		case open && (!blank || line[0] == ' ' || line[0] == '\t') && !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "- ") && !strings.HasPrefix(text, "* "):
			items[len(items)-1].text += " " + text
		default:
			open = false
		}
		blank = false
	}
	return items
}

// requirements reads the numbered demands and compares them with the ticket's numbered list, word for word.
func (l *loader) requirements(n *node) {
	s := l.yaml
	for i, r := range s.list(n, "requirements", 1) {
		text, by := r, "behaviour"
		if r.kind == kMap && s.object(r, "a requirement", []string{"text", "by"}, "reason") {
			text = r.get("text")
			by = s.oneOf(r.get("by"), "by", "behaviour", "visible_tests", "regression_test", "none")
			reason := r.get("reason")
			s.line(reason, "reason")
			if by == "none" && reason == nil {
				s.fail(r.pos, "a requirement that nothing checks needs a reason")
			}
		}
		l.task.Requirements = append(l.task.Requirements, tare.Requirement{ID: i + 1, Text: fold(s.str(text, "a requirement"))})
		l.reqAt = append(l.reqAt, r.pos)
		if by == "behaviour" {
			l.needCase = append(l.needCase, i+1)
		}
	}
	if strings.TrimSpace(l.task.Ticket) == "" {
		return // that is said already
	}
	items := numberedItems(l.task.Ticket)
	ticket := source{l, ticketFile, []byte(l.task.Ticket)}
	for i, it := range items {
		switch {
		case i >= len(l.task.Requirements):
			ticket.fail(it.pos, "item %s of the ticket is no requirement in %s, which has %d", it.number, taskFile, len(l.task.Requirements))
		case it.number != fmt.Sprint(i+1):
			ticket.fail(it.pos, "this item should be number %d: a ticket has one numbered list, its requirements from 1", i+1)
		case fold(it.text) != l.task.Requirements[i].Text && l.task.Requirements[i].Text != "":
			s.fail(l.reqAt[i], "requirement %d is not what the ticket says in line %d: %s", i+1, it.line, clip(fold(it.text)))
		}
	}
	for i := len(items); i < len(l.reqAt); i++ {
		s.fail(l.reqAt[i], "the ticket's numbered list has no item %d", i+1)
	}
}

// fold is s with each run of white space made one space.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// seedFacts reads what task.yaml says about the seed.
func (l *loader) seedFacts(root *node) {
	s, t := l.yaml, l.task
	seen := map[string]pos{}
	for _, n := range s.list(root.get("sources"), "sources", 1) {
		p := s.path(n, "a source")
		s.unique(seen, p, n.pos, "source")
		if p != "" && !holds(t.Seed, p) {
			s.fail(n.pos, "the seed has no %s", clip(p))
		}
		if p != "" {
			t.Sources = append(t.Sources, p)
		}
	}
	seen = map[string]pos{}
	for _, n := range s.list(root.get("visible"), "visible", 1) {
		id := s.line(n, "a visible test")
		s.unique(seen, id, n.pos, "visible test")
		file, rest, ok := strings.Cut(id, "::")
		f, found := t.Seed.Lookup(file)
		switch {
		case id == "":
			continue
		case !ok:
			s.fail(n.pos, "%s is no test's exact id, which has the form path::name", clip(id))
		case !found:
			s.fail(n.pos, "the seed has no file %s", clip(file))
		case !bytes.Contains(f.Data, []byte(testName(rest))):
			s.fail(n.pos, "the file %s has no test %s", clip(file), clip(testName(rest)))
		}
		t.Visible = append(t.Visible, id)
		l.visibleAt = append(l.visibleAt, n.pos)
	}
	seen = map[string]pos{}
	for _, n := range s.list(root.get("decoys"), "decoys", 0) {
		p := s.path(n, "a decoy")
		s.unique(seen, p, n.pos, "decoy")
		if p == "" {
			continue
		}
		if _, ok := t.Seed.Lookup(p); !ok {
			s.fail(n.pos, "the seed has no file %s", clip(p))
		}
		t.Decoys = append(t.Decoys, p)
	}
}

// isSource reports whether p lies below the sources, and is no test.
func (l *loader) isSource(p string) bool {
	return tare.Under(p, l.task.Sources...) && (l.form.tests == nil || !l.form.tests.MatchString(p))
}

// testName is the name of a test in the rest of its id: the last part, without parameters and subtests.
func testName(rest string) string {
	name := rest[:min(len(rest), strings.IndexAny(rest+"[", "[/"))]
	return name[strings.LastIndex(name, ":")+1:]
}

// holds reports whether p is a file of t or a folder in it.
func holds(t tare.Tree, p string) bool {
	return slices.ContainsFunc(t, func(f tare.File) bool { return tare.Under(f.Path, p) })
}

// overlay reads the folder that n names, relative to the task's.
func (l *loader) overlay(n *node, what string) tare.Tree {
	dir := l.yaml.path(n, what)
	if dir == "" {
		return nil
	}
	if top, _, _ := strings.Cut(dir, "/"); top == seedDir || top == hiddenDir || top == taskFile || top == ticketFile {
		l.yaml.fail(n.pos, "%s cannot be %s: overlays have folders of their own", what, clip(dir))
		return nil
	}
	l.named[dir] = true
	t := subtree(l.tree, dir)
	if len(t) == 0 {
		l.yaml.fail(n.pos, "there is no folder %s, or nothing in it", clip(dir))
	}
	return t
}

// unchanged reports files of an overlay that are in the seed as they are: an overlay holds what it changes.
func (l *loader) unchanged(over tare.Tree, n *node) {
	for _, f := range over {
		old, ok := l.task.Seed.Lookup(f.Path)
		if ok && old.Mode == f.Mode && bytes.Equal(old.Data, f.Data) {
			l.yaml.fail(n.pos, "%s in %s is the same as in the seed; keep only what changes", clip(f.Path), clip(n.text))
		}
	}
}

// test reads an overlay of tests, which changes no source.
func (l *loader) test(n *node) tare.Tree {
	t := l.overlay(n, "test")
	for _, f := range t {
		if l.isSource(f.Path) {
			l.yaml.fail(n.pos, "a test changes no source, but %s holds %s", clip(n.text), clip(f.Path))
		}
	}
	l.unchanged(t, n)
	return t
}

func (l *loader) references(n *node) {
	s := l.yaml
	seen := map[string]pos{}
	for _, r := range s.list(n, "references", 2) {
		if !s.object(r, "a reference", []string{"name", "files", "test"}) {
			continue
		}
		ref := tare.Reference{Name: s.label(r.get("name"), "name")}
		s.unique(seen, ref.Name, r.pos, "reference")
		files := r.get("files")
		ref.Fix = l.overlay(files, "files")
		for _, f := range ref.Fix {
			if !l.isSource(f.Path) {
				s.fail(files.pos, "a reference changes sources only, but %s holds %s", clip(files.text), clip(f.Path))
			}
			if slices.Contains(l.task.Decoys, f.Path) {
				s.fail(files.pos, "a reference changes the decoy %s", clip(f.Path))
			}
		}
		l.unchanged(ref.Fix, files)
		if test := r.get("test"); test != nil {
			ref.Test = l.test(test)
		}
		for _, other := range l.task.References {
			if len(ref.Fix) > 0 && other.Fix.Digest() == ref.Fix.Digest() {
				s.fail(r.pos, "references %s and %s are the same fix; they must be written differently", other.Name, ref.Name)
			}
		}
		l.task.References = append(l.task.References, ref)
	}
}

// reference finds the reference that n names.
func (l *loader) reference(n *node, what string) (tare.Reference, bool) {
	name := l.yaml.str(n, what)
	if name == "" {
		return tare.Reference{}, false
	}
	i := slices.IndexFunc(l.task.References, func(r tare.Reference) bool { return r.Name == name })
	if i < 0 {
		l.yaml.fail(n.pos, "there is no reference %s", clip(name))
		return tare.Reference{}, false
	}
	return l.task.References[i], true
}

func (l *loader) twins(n *node) {
	s := l.yaml
	seen := map[string]pos{}
	for _, w := range s.list(n, "twins", 0) {
		if !s.object(w, "a twin", []string{"name", "of", "file", "replace", "with"}) {
			continue
		}
		twin := tare.Twin{
			Name: s.label(w.get("name"), "name"), File: s.path(w.get("file"), "file"), Replace: s.str(w.get("replace"), "replace"),
		}
		s.unique(seen, twin.Name, w.pos, "twin")
		if with := w.get("with"); with != nil && with.kind != kStr {
			s.fail(with.pos, "with must be text; this is %s (in quotes it is text)", with.kind)
		} else if with != nil {
			twin.With = with.text
		}
		ref, ok := l.reference(w.get("of"), "of")
		if !ok || twin.File == "" || twin.Replace == "" {
			continue
		}
		twin.Of = ref.Name
		twin.Tree = l.wrong(ref, twin, w)
		l.task.Twins = append(l.task.Twins, twin)
	}
}

// wrong is the reference with the twin's text replaced.
func (l *loader) wrong(ref tare.Reference, twin tare.Twin, n *node) tare.Tree {
	s := l.yaml
	f, ok := ref.Fix.Lookup(twin.File)
	if !ok {
		f, ok = l.task.Seed.Lookup(twin.File)
	}
	switch times := strings.Count(string(f.Data), twin.Replace); {
	case !ok || !f.Mode.IsRegular():
		s.fail(n.at("file"), "neither reference %s nor the seed has a file %s", ref.Name, clip(twin.File))
	case !l.isSource(twin.File):
		s.fail(n.at("file"), "a twin is wrong in a source; %s is none", clip(twin.File))
	case twin.Replace == twin.With:
		s.fail(n.at("with"), "replace and with are the same")
	case times != 1:
		s.fail(n.at("replace"), "the text must occur once in %s of reference %s, but occurs %d times", clip(twin.File), ref.Name, times)
	}
	data := strings.Replace(string(f.Data), twin.Replace, twin.With, 1)
	return ref.Fix.Overlay(tare.Tree{{Path: twin.File, Mode: f.Mode, Data: []byte(data)}})
}
