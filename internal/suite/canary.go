package suite

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare"
)

// A CanarySource is where a manifest of canaries and what it names come from. A repo that cannot be taken, and a file that is
// not there, are errors of the manifest, at the place that names them.
type CanarySource struct {
	Name    string // of the suite: the first part of the canaries' ids
	Dir     string // of the manifest, as errors call it
	File    string // its name in Dir
	Text    []byte
	Fixture func(repo string) (tare.Tree, error)
	Open    func(path string) ([]byte, error) // a file beside the manifest
	Apply   func(base tare.Tree, patch []byte) (tare.Tree, error)
}

// Canaries is a manifest of canaries.
type Canaries struct {
	Name    string
	Adapter string       // the agent that the manifest names; "" for none
	Tasks   []*tare.Task // in the manifest's order
	Hash    tare.Digest  // of all of it: fixtures, plants, phrasings
}

// maxManifest bounds a manifest, in bytes; maxRepeats the repeats of a canary.
const (
	maxManifest = 1 << 20
	maxRepeats  = 1000
)

// LoadCanaries reads a manifest: the form of docs/canaries.md. Nothing is returned with an error, which is an *Error or several
// of them joined.
func LoadCanaries(src CanarySource) (*Canaries, error) {
	l := &loader{shown: src.Dir, task: &tare.Task{}}
	m := &manifest{source: source{l, src.File, src.Text}, src: src, ids: map[string]pos{}, trees: map[string]tare.Tree{}}
	out := &Canaries{Name: src.Name}
	root, err := parseYAML(src.Text)
	switch {
	case len(src.Text) > maxManifest:
		m.fail(pos{1, 1}, "the manifest is larger than %d KB", maxManifest>>10)
	case err != nil:
		m.failAt(err)
	default:
		m.decode(root, out)
	}
	if err := join(l.problems); err != nil {
		return nil, err
	}
	var list strings.Builder
	for _, t := range out.Tasks {
		fmt.Fprintf(&list, "%s %s\n", t.ID, t.Hash)
	}
	out.Hash = tare.HashBytes([]byte(list.String()))
	return out, nil
}

// A manifest is one while it is decoded.
type manifest struct {
	source
	src   CanarySource
	ids   map[string]pos
	trees map[string]tare.Tree // fixtures that were read

	phrasings []tare.Phrasing
	repeats   int
	limits    tare.Limits
}

func (m *manifest) decode(root *node, out *Canaries) {
	if !m.object(root, "a manifest", []string{"version", "canaries"}, "phrasings", "repeats", "limits", "adapter") {
		return
	}
	if v := root.get("version"); v != nil && (v.kind != kInt || v.text != "1") {
		m.fail(v.pos, "version must be 1")
	}
	m.phrasings = builtinPhrasings()
	if n := root.get("phrasings"); n != nil {
		m.phrasings = m.readPhrasings(n, m.phrasings)
	}
	m.repeats = 1
	if n := root.get("repeats"); n != nil {
		m.repeats = m.readRepeats(n)
	}
	m.limits = m.readLimits(root.get("limits"))
	out.Adapter = m.line(root.get("adapter"), "adapter")
	planted, clean := 0, 0
	for _, n := range m.list(root.get("canaries"), "canaries", 1) {
		t := m.canary(n)
		if t == nil {
			continue
		}
		if t.Canary.Planted != "" {
			planted++
		} else {
			clean++
		}
		out.Tasks = append(out.Tasks, t)
	}
	if at := root.get("canaries"); at != nil && len(m.l.problems) == 0 {
		if planted == 0 {
			m.fail(at.pos, "no canary is planted: a harness that never reports anything would look well")
		}
		if clean == 0 {
			m.fail(at.pos, "no canary is clean: a harness that reports everything would look well")
		}
	}
}

func (m *manifest) readRepeats(n *node) int {
	v := m.count(n, "repeats")
	if v > maxRepeats {
		m.fail(n.pos, "repeats must be at most %d", maxRepeats)
	}
	return v
}

func (m *manifest) readLimits(n *node) tare.Limits {
	var l tare.Limits
	if n != nil && m.object(n, "limits", nil, "wall", "turns") {
		l.Wall = m.duration(n.get("wall"), "wall")
		l.Turns = m.count(n.get("turns"), "turns")
	}
	return l
}

// readPhrasings reads a list of names of phrasings that are known, or a mapping of names to texts.
func (m *manifest) readPhrasings(n *node, known []tare.Phrasing) []tare.Phrasing {
	var out []tare.Phrasing
	seen := map[string]pos{}
	switch n.kind {
	case kList:
		for _, item := range n.items {
			name := m.label(item, "a phrasing")
			m.unique(seen, name, item.pos, "phrasing")
			i := slices.IndexFunc(known, func(p tare.Phrasing) bool { return p.Name == name })
			if name != "" && i < 0 {
				m.fail(item.pos, "there is no phrasing %s; write phrasings as a mapping of names to texts", clip(name))
				continue
			}
			if i >= 0 {
				out = append(out, known[i])
			}
		}
	case kMap:
		for _, f := range n.keys {
			if !labelForm.MatchString(f.name) {
				m.fail(f.pos, "%s is no name of a phrasing", clip(f.name))
				continue
			}
			out = append(out, tare.Phrasing{Name: f.name, Text: m.str(f.val, "a phrasing")})
		}
	default:
		m.fail(n.pos, "phrasings must be a list of names, or a mapping of names to texts")
		return known
	}
	if len(out) < 2 && len(m.l.problems) == 0 {
		m.fail(n.pos, "there must be two phrasings at least: what follows from the wording shows in no other way")
	}
	return out
}

// canary reads one entry; nil when it is none.
func (m *manifest) canary(n *node) *tare.Task {
	before := len(m.l.problems)
	if !m.object(n, "a canary", []string{"id", "repo", "planted", "expected_signal"}, "plant", "phrasings", "repeats", "limits", "check") {
		return nil
	}
	id := m.label(n.get("id"), "id")
	if id != "" && !nameForm.MatchString(id) {
		m.fail(n.at("id"), "id is %s: use letters, digits, dot, dash and underscore, 64 at most", clip(id))
	}
	if id != "" {
		m.unique(m.ids, id, n.at("id"), "canary")
	}
	spec := &tare.CanarySpec{Repeats: m.repeats, Phrasings: m.phrasings}
	clean := false
	if p := n.get("planted"); p != nil {
		if clean = p.kind == kNull; !clean {
			spec.Planted = m.line(p, "planted")
		}
	}
	if s := n.get("expected_signal"); s != nil {
		spec.Signal = m.signal(s)
		if none := spec.Signal.Kind == tare.SignalNone; spec.Signal.Kind != "" && none != clean {
			if clean {
				m.fail(s.pos, "a clean canary has the signal 'no failure reported'")
			} else {
				m.fail(s.pos, "a planted canary must name what proves that it was detected")
			}
		}
	}
	if p := n.get("phrasings"); p != nil {
		spec.Phrasings = m.readPhrasings(p, m.phrasings)
	}
	if r := n.get("repeats"); r != nil {
		spec.Repeats = m.readRepeats(r)
	}
	t := &tare.Task{ID: m.src.Name + "/" + id, Kind: tare.Canary, Title: "canary " + id, Category: tare.Development, Canary: spec, Limits: m.limits}
	if l := n.get("limits"); l != nil {
		t.Limits = m.readLimits(l)
	}
	if r := n.get("repo"); r != nil {
		m.fixture(n, t, clean)
	}
	if n := len(m.l.problems); n > before || n == maxProblems { // no more are noted than that
		return nil
	}
	m.tellsNothing(n, t)
	t.Ticket = spec.Phrasings[0].Text
	t.Hash = CanaryHash(t.ID, spec, t.Limits, t.Seed.Digest(), spec.Twin.Digest())
	return t
}

// fixture reads the fixture of a canary and plants its defect.
func (m *manifest) fixture(n *node, t *tare.Task, clean bool) {
	at := n.get("repo")
	repo := m.str(at, "repo")
	if repo == "" {
		return
	}
	tree, ok := m.trees[repo]
	if !ok {
		var err error
		if tree, err = m.src.Fixture(repo); err != nil {
			m.fail(at.pos, "taking the fixture %s: %v", clip(repo), err)
			return
		}
		m.trees[repo] = tree
	}
	if len(tree) == 0 {
		m.fail(at.pos, "the fixture %s holds no file", clip(repo))
		return
	}
	t.Canary.Check = m.check(n.get("check"), at, tree)
	t.Seed = tree
	plant := n.get("plant")
	switch {
	case clean && plant != nil:
		m.fail(plant.pos, "a clean canary has no plant: write what is planted")
	case !clean:
		_, id, _ := strings.Cut(t.ID, "/")
		name, from := path.Join("plants", id+".patch"), at.pos
		if plant != nil {
			name, from = m.path(plant, "plant"), plant.pos
		}
		if name == "" {
			return
		}
		patch, err := m.src.Open(name)
		if err != nil {
			m.fail(from, "the plant of this canary is a patch, %s: %v", clip(name), err)
			return
		}
		planted, err := m.src.Apply(tree, patch)
		switch {
		case err != nil:
			m.fail(from, "planting %s: %v", clip(name), err)
		case planted.Digest() == tree.Digest():
			m.fail(from, "%s changes nothing", clip(name))
		default:
			t.Seed, t.Canary.Twin = planted, tree
		}
	}
}

// tellsNothing refuses phrasings and fixtures that give the answer away.
func (m *manifest) tellsNothing(n *node, t *tare.Task) {
	spec := t.Canary
	answers := []string{spec.Planted, spec.Signal.Name}
	at := n.at("expected_signal")
	if spec.Signal.File != "" && spec.Signal.Line > 0 {
		answers = append(answers, fmt.Sprintf("%s:%d", spec.Signal.File, spec.Signal.Line))
	}
	for _, a := range answers {
		for _, p := range spec.Phrasings {
			if a != "" && strings.Contains(strings.ToLower(p.Text), strings.ToLower(a)) {
				m.fail(at, "phrasing %s would tell the harness what it is to find: %s", p.Name, clip(a))
			}
		}
	}
	for _, f := range t.Seed {
		if spec.Planted != "" && bytes.Contains(f.Data, []byte(spec.Planted)) {
			m.fail(n.at("planted"), "the harness could read what is planted in %s", clip(f.Path))
		}
	}
}

var (
	noFailure     = regexp.MustCompile(`(?i)^\s*(?:no (?:failures?|defects?|bugs?|errors?|problems?)(?: (?:is |are )?(?:reported|found|detected))?|none|quiet)\s*$`)
	exceptionForm = regexp.MustCompile(`^[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Fault|Warning)$`)
	goTestForm    = regexp.MustCompile(`^(?:Test|Example|Fuzz)[A-Z0-9_]\w*(?:/\S+)*$`)
	dottedForm    = regexp.MustCompile(`^[\w]+(?:\.\w+)+\.test_?\w+$`)
	placeForm     = regexp.MustCompile(`^([\w./-]+\.\w+):(\d+)$`)
	exitText      = regexp.MustCompile(`(?i)^exit (?:status|code) (\d{1,3})$`)
)

// signal reads what proves detection: text, whose kind is clear from its form, or a mapping that says it.
func (m *manifest) signal(n *node) tare.Signal {
	if n.kind == kMap {
		return m.signalMap(n)
	}
	v := m.line(n, "expected_signal")
	switch {
	case v == "":
		return tare.Signal{}
	case noFailure.MatchString(v):
		return tare.Signal{Kind: tare.SignalNone}
	case strings.Contains(v, "::") || goTestForm.MatchString(v) || dottedForm.MatchString(v):
		return tare.Signal{Kind: tare.SignalTest, Name: v}
	case exceptionForm.MatchString(v):
		return tare.Signal{Kind: tare.SignalException, Name: v}
	case placeForm.MatchString(v):
		f := placeForm.FindStringSubmatch(v)
		line, err := strconv.Atoi(f[2])
		if err != nil || line < 1 {
			m.fail(n.pos, "%s is no line of a file", clip(v))
		}
		return tare.Signal{Kind: tare.SignalPlace, File: f[1], Line: line}
	case exitText.MatchString(v):
		status, _ := strconv.Atoi(exitText.FindStringSubmatch(v)[1])
		return m.status(n, status)
	}
	if len(strings.TrimFunc(v, func(r rune) bool { return r < '0' })) < 3 {
		m.fail(n.pos, "the signal %s is too short to be told from other words", clip(v))
	}
	return tare.Signal{Kind: tare.SignalText, Name: v}
}

func (m *manifest) status(n *node, status int) tare.Signal {
	if status < 1 || status > 255 {
		m.fail(n.pos, "an exit status that proves a defect is between 1 and 255")
	}
	return tare.Signal{Kind: tare.SignalExit, Status: status}
}

func (m *manifest) signalMap(n *node) tare.Signal {
	if !m.object(n, "expected_signal", nil, "test", "exception", "text", "exit", "file", "line", "symbol") {
		return tare.Signal{}
	}
	s := tare.Signal{File: m.path(n.get("file"), "file"), Line: m.count(n.get("line"), "line"), Symbol: m.line(n.get("symbol"), "symbol")}
	if s.Line > 0 && s.File == "" {
		m.fail(n.pos, "a line is one of a file: name the file too")
	}
	kinds := 0
	for key, kind := range map[string]tare.SignalKind{"test": tare.SignalTest, "exception": tare.SignalException, "text": tare.SignalText} {
		if v := n.get(key); v != nil {
			kinds++
			s.Kind, s.Name = kind, m.line(v, key)
		}
	}
	if v := n.get("exit"); v != nil {
		kinds++
		s.Kind, s.Status = tare.SignalExit, m.status(v, m.count(v, "exit")).Status
		if s.File != "" || s.Symbol != "" {
			m.fail(n.pos, "an exit status has no place")
		}
	}
	switch {
	case kinds > 1:
		m.fail(n.pos, "a signal is a single observation: name one of test, exception, text and exit")
	case kinds == 0 && (s.File != "" || s.Symbol != ""):
		s.Kind = tare.SignalPlace
	case kinds == 0:
		m.fail(n.pos, "a signal names one of test, exception, text, exit, or a place: file, line, symbol")
	}
	return s
}

// check reads how the signal is shown to occur, or infers it from the fixture's files.
func (m *manifest) check(n, repo *node, tree tare.Tree) tare.FixtureCheck {
	if n == nil {
		c, ok := inferCheck(tree)
		if !ok {
			m.fail(repo.pos, "it is not clear how the fixture's tests are run: say so by check")
		}
		return c
	}
	var c tare.FixtureCheck
	argv := n
	if n.kind == kMap {
		if !m.object(n, "check", []string{"run"}, "runner", "wall") {
			return c
		}
		argv = n.get("run")
		c.Runner = m.oneOf(n.get("runner"), "runner", "gotest")
		c.Wall = m.duration(n.get("wall"), "wall")
	}
	for _, a := range m.list(argv, "the command of a check", 1) {
		c.Argv = append(c.Argv, m.str(a, "an argument"))
	}
	if len(c.Argv) > 0 && c.Argv[0] == "go" {
		c.Runner = "gotest"
	}
	return c
}

// inferCheck is how the tests of a fixture of a known form are run, so that they name each test.
func inferCheck(t tare.Tree) (tare.FixtureCheck, bool) {
	has := func(fits func(tare.File) bool) bool { return slices.ContainsFunc(t, fits) }
	switch {
	case has(func(f tare.File) bool { return f.Path == "go.mod" }):
		return tare.FixtureCheck{Argv: []string{"go", "test", "-v", "./..."}, Runner: "gotest"}, true
	case has(func(f tare.File) bool { return f.Path == "Makefile" && bytes.Contains(f.Data, []byte("\ncheck:")) }):
		return tare.FixtureCheck{Argv: []string{"make", "-s", "check"}}, true
	case has(func(f tare.File) bool {
		base := path.Base(f.Path)
		return strings.HasSuffix(base, ".py") && (strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py"))
	}):
		return tare.FixtureCheck{Argv: []string{"/usr/bin/python3", "-m", "pytest", "-v", "-rA", "--color=no", "-p", "no:cacheprovider"}}, true
	}
	return tare.FixtureCheck{}, false
}

// builtinPhrasings are two wordings of the same request: terse, and with a sentence of context and another verb. They say
// nothing of what may be found.
func builtinPhrasings() []tare.Phrasing {
	return []tare.Phrasing{
		{Name: "A", Text: "Run the tests of this repository. Report each test that fails, by its full id, and the exception or message with which it does. If none does, say that. Change no file."},
		{Name: "B", Text: "Somebody is about to build on this code and wants to know whether it does what its own tests ask of it. Execute the test suite that comes with the repository and list every test that does not succeed: its complete id, and the exception or message that goes with it. Where all of them succeed, state so. Leave the files as they are."},
	}
}

// CanaryHash covers all that a canary is: seed and twin are the hashes of its fixture, planted and not.
func CanaryHash(id string, spec *tare.CanarySpec, limits tare.Limits, seed, twin tare.Digest) tare.Digest {
	b, err := tare.Canonical(struct {
		ID         string
		Spec       *tare.CanarySpec
		Limits     tare.Limits
		Seed, Twin tare.Digest
	}{id, spec, limits, seed, twin})
	if err != nil {
		panic(err) // a struct of strings and numbers always encodes
	}
	return tare.HashBytes(b)
}
