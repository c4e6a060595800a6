package suite

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tare"
)

// Names and bounds of the folder that holds adversaries.
const (
	adversaryFile   = "adversary.yaml"
	adversarySchema = "tare.adversary/1"
	partsDir        = "parts" // texts that several adversaries use
	maxAdversary    = 64 << 10
)

// A Base is the tree that an adversary starts from.
type Base string

const (
	OnSeed      Base = "seed"      // the bug is left
	OnReference Base = "reference" // the fix is right; whatever test there is proves nothing
	OnTested    Base = "tested"    // the fix is right, and its genuine regression test is there
)

var bases = []Base{OnSeed, OnReference, OnTested}

// Any is the kind of an adversary that fits every runner.
const Any = "any"

// An Adversary is one way to win without the work, as data that fits many tickets.
type Adversary struct {
	Name     string
	Title    string
	Tries    string // what it does and what it wants to be believed
	Kind     string // Any, or the runner of the tickets that it fits
	Stopped  string // the mechanism that stops it, for people
	Detected string // what is not prevented but only detected, or not even that; "" for nothing
	Defences []string
	Only     []string // names of the tickets that it fits; nil for all
	Rows     []AdversaryRow
	Steps    []Step
	Agent    string // a shell script that plays in the sandbox after the steps; "" for none
	Hash     tare.Digest
}

// An AdversaryRow is an adversary on one base, and what must become of it. Where AsSeed is set, what must become of it is
// what becomes of the unfixed seed.
type AdversaryRow struct {
	Base   Base
	AsSeed bool
	Expect tare.Expect
}

// An Op is what a step does to the tree.
type Op string

const (
	OpWrite   Op = "write"   // Text becomes the file
	OpAppend  Op = "append"  // Text goes to the end of the file, which is there
	OpPrepend Op = "prepend" // Text goes to its beginning
	OpDelete  Op = "delete"  // the file, or all below the directory
	OpSymlink Op = "symlink" // the path becomes a link to Text; what was there goes
	OpRename  Op = "rename"  // the file gets the path Text
)

var ops = []Op{OpWrite, OpAppend, OpPrepend, OpDelete, OpSymlink, OpRename}

// A Step is one change to the tree. Path and Text may hold placeholders.
type Step struct {
	Op   Op
	Path string
	Text string
}

// placeholder is what stands for something of the ticket at hand: @source@.
var placeholder = regexp.MustCompile(`@[a-z0-9_]+@`)

// Placeholders are the names that paths and texts may hold, and what each stands for.
var Placeholders = map[string]string{
	"@source@":         "path of the first file of the seed that the first reference changes",
	"@module@":         "the name by which Python imports it",
	"@source_dir@":     "the directory of that file",
	"@source_base@":    "the name of that file, without its directory",
	"@package@":        "the name of the package of @source@, in Go",
	"@import_path@":    "the path by which Go imports the package of @source@",
	"@root@":           "the first of the ticket's sources",
	"@visible_file@":   "path of the file of the first visible test",
	"@visible_upper@":  "the same path with its file name in capitals",
	"@test_dir@":       "the directory of that file",
	"@test_package@":   "the name of the package that the first visible test is of, in Go",
	"@test_file@":      "path of the first file of the first reference's regression test",
	"@visible_ids@":    "the ids of all visible tests, as a list of JSON texts",
	"@source_sha256@":  "hash of @source@ in the seed, in hex",
	"@fix_line@":       "a line of the first reference's @source@ that neither the seed nor another reference has, as JSON text",
	"@seed_line@":      "a line of the seed's @source@ that no reference has, as JSON text",
	"@seed_source@":    "the text of @source@ in the seed, as JSON text",
	"@good_sources@":   "the texts of @source@ in all references, as a list of JSON texts",
	"@probe_file@":     "path of the hidden probe, as the ticket's author calls it",
	"@probe_basename@": "its last part",
}

// Adversaries loads the folder of adversaries at the root of fsys, by name. The error is an *Error, or several of them
// joined; then nothing is returned with it.
func Adversaries(fsys fs.FS, shown string) ([]*Adversary, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, &Error{File: shown, Message: "reading the adversaries: " + reason(err)}
	}
	var out []*Adversary
	var problems []problem
	for _, e := range entries {
		if !e.IsDir() || e.Name() == partsDir {
			continue
		}
		l := &loader{shown: shown + "/" + e.Name(), task: &tare.Task{}} // an expectation names no requirement
		if a := l.adversaryFolder(fsys, e.Name()); a != nil {
			out = append(out, a)
		}
		problems = append(problems, l.problems...)
	}
	if err := join(problems); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, &Error{File: shown, Message: "there is no adversary in the folder"}
	}
	return out, nil
}

func (l *loader) adversaryFolder(fsys fs.FS, name string) *Adversary {
	text, err := fs.ReadFile(fsys, path.Join(name, adversaryFile))
	s := source{l, adversaryFile, text}
	l.yaml = s
	switch {
	case err != nil:
		s.fail(pos{}, "there is no such file; it says what the adversary does")
		return nil
	case !nameForm.MatchString(name):
		s.fail(pos{}, "the folder's name cannot be part of an agent's name: use letters, digits, dot, dash and underscore")
		return nil
	case len(text) > maxAdversary:
		s.fail(pos{}, "the file is larger than %d KB", maxAdversary>>10)
		return nil
	}
	root, err := parseYAML(text)
	if err != nil {
		s.failAt(err)
		return nil
	}
	files := &partFiles{fsys: fsys, dir: name, used: map[string]bool{}}
	a := l.adversaryOf(root, name, files)
	files.unused(s)
	var all bytes.Buffer
	fmt.Fprintf(&all, "%d:%s", len(text), text)
	for _, f := range files.read {
		fmt.Fprintf(&all, "%s %d:%s", f.Path, len(f.Data), f.Data)
	}
	a.Hash = tare.HashBytes(all.Bytes())
	return a
}

func (l *loader) adversaryOf(root *node, name string, files *partFiles) *Adversary {
	s, a := l.yaml, &Adversary{Name: name}
	if !s.object(root, "an adversary", []string{"schema", "title", "tries", "kind", "on", "stopped", "defences"}, "steps", "agent", "detected", "only") {
		return a
	}
	s.oneOf(root.get("schema"), "schema", adversarySchema)
	a.Title = s.line(root.get("title"), "title")
	a.Tries = fold(s.str(root.get("tries"), "tries"))
	a.Stopped = fold(s.str(root.get("stopped"), "stopped"))
	a.Detected = fold(s.str(root.get("detected"), "detected"))
	kinds := append([]string{Any}, runnerNames()...)
	a.Kind = s.oneOf(root.get("kind"), "kind", kinds...)
	seen := map[string]pos{}
	for _, n := range s.list(root.get("defences"), "defences", 1) {
		id := s.line(n, "a defence")
		s.unique(seen, id, n.pos, "defence")
		a.Defences = append(a.Defences, id)
	}
	for _, n := range s.list(root.get("only"), "only", 1) {
		a.Only = append(a.Only, s.label(n, "a ticket's name"))
	}
	l.adversaryRows(root.get("on"), a)
	for _, n := range s.list(root.get("steps"), "steps", 1) {
		if step, ok := l.step(n, files); ok {
			a.Steps = append(a.Steps, step)
		}
	}
	if n := root.get("agent"); n != nil {
		a.Agent = l.filled(n, "agent", files)
	}
	if root.get("steps") == nil && root.get("agent") == nil {
		s.fail(root.pos, "the adversary does nothing: give it steps or an agent")
	}
	return a
}

// adversaryRows reads what must become of the adversary on each base: an expectation, or the words "as the seed".
func (l *loader) adversaryRows(n *node, a *Adversary) {
	s := l.yaml
	var names []string
	for _, b := range bases {
		names = append(names, string(b))
	}
	if n == nil || !s.object(n, "on", nil, names...) {
		return
	}
	for _, f := range n.keys {
		if !slices.Contains(names, f.name) {
			continue
		}
		row := AdversaryRow{Base: Base(f.name)}
		if f.val.kind == kStr {
			row.AsSeed = s.oneOf(f.val, "what must become of it", "as the seed") != ""
			if row.Base != OnSeed {
				s.fail(f.val.pos, "only what leaves the bug comes out as the seed does")
			}
		} else {
			row.Expect = s.expect(f.val)
			if row.Expect.Outcome == tare.Pass && row.Base != OnTested {
				s.fail(f.val.pos, "an adversary must not pass, but where the work is done and proven")
			}
		}
		a.Rows = append(a.Rows, row)
	}
	if len(n.keys) == 0 {
		s.fail(n.pos, "name at least one base: on can be %s", strings.Join(names, ", "))
	}
}

// step reads one change. Its key is what it does, its value the path.
func (l *loader) step(n *node, files *partFiles) (Step, bool) {
	s := l.yaml
	var keys []string
	for _, o := range ops {
		keys = append(keys, string(o))
	}
	if n.kind != kMap {
		s.fail(n.pos, "a step must be a mapping with one of the keys %s; this is %s", strings.Join(keys, ", "), n.kind)
		return Step{}, false
	}
	var step Step
	var at *node
	for _, o := range ops {
		if v := n.get(string(o)); v != nil {
			if step.Op != "" {
				s.fail(v.pos, "a step does one thing; this one does %s and %s", step.Op, o)
			}
			step.Op, at = o, v
		}
	}
	if step.Op == "" {
		s.fail(n.pos, "a step needs one of the keys %s", strings.Join(keys, ", "))
		return Step{}, false
	}
	extra := []string{"text", "file"}
	switch step.Op {
	case OpDelete:
		extra = nil
	case OpSymlink, OpRename:
		extra = []string{"to"}
	}
	if !s.object(n, "a step that does "+string(step.Op), []string{string(step.Op)}, extra...) {
		return Step{}, false
	}
	step.Path = l.known(at, s.str(at, "a path"))
	if concrete := placeholder.ReplaceAllString(step.Path, "x"); concrete != "" && (path.IsAbs(concrete) || path.Clean(concrete) != concrete || concrete == ".." || strings.HasPrefix(concrete, "../")) {
		s.fail(at.pos, "%s is no clean path that stays inside", clip(step.Path))
	}
	switch {
	case step.Op == OpDelete:
	case step.Op == OpSymlink || step.Op == OpRename:
		if n.get("to") == nil {
			s.fail(n.pos, "a step that does %s lacks the key \"to\"", step.Op)
			return Step{}, false
		}
		step.Text = l.known(n.get("to"), s.str(n.get("to"), "to"))
	default:
		text, file := n.get("text"), n.get("file")
		if (text == nil) == (file == nil) {
			s.fail(n.pos, "a step that does %s takes one of text and file", step.Op)
			return Step{}, false
		}
		if text != nil && text.kind == kStr && text.text == "" {
			return step, true // an empty file is a file
		}
		if text != nil {
			step.Text = l.known(text, s.str(text, "text"))
		} else {
			step.Text = l.filled(file, "file", files)
		}
	}
	return step, true
}

// filled is the text of the file that n names, in the adversary's folder or among the parts.
func (l *loader) filled(n *node, what string, files *partFiles) string {
	name := l.yaml.path(n, what)
	if name == "" {
		return ""
	}
	b, err := files.open(name)
	if err != nil {
		l.yaml.fail(n.pos, "neither the folder nor %s holds a file %s", partsDir, clip(name))
		return ""
	}
	return l.known(n, string(b))
}

// known checks that every placeholder of a text is one.
func (l *loader) known(n *node, text string) string {
	for _, p := range placeholder.FindAllString(text, -1) {
		if _, ok := Placeholders[p]; !ok {
			l.yaml.fail(n.pos, "nothing is called %s; placeholders are %s", clip(p), strings.Join(placeholderNames(), ", "))
		}
	}
	return text
}

func placeholderNames() []string {
	var out []string
	for p := range Placeholders {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

func runnerNames() []string {
	var out []string
	for name := range runners {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// partFiles are the files that an adversary may name.
type partFiles struct {
	fsys fs.FS
	dir  string
	used map[string]bool
	read tare.Tree
}

func (p *partFiles) open(name string) ([]byte, error) {
	b, err := fs.ReadFile(p.fsys, path.Join(p.dir, name))
	if err != nil {
		b, err = fs.ReadFile(p.fsys, path.Join(partsDir, name))
	}
	if err == nil && !p.used[name] {
		p.used[name] = true
		p.read = append(p.read, tare.File{Path: name, Data: b})
	}
	return b, err
}

// unused reports files of the folder that the adversary does not name: they would look as if they mattered.
func (p *partFiles) unused(s source) {
	err := fs.WalkDir(p.fsys, p.dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if name := strings.TrimPrefix(file, p.dir+"/"); name != adversaryFile && !p.used[name] {
			s.fail(pos{}, "the folder holds %s, which no step names", clip(name))
		}
		return nil
	})
	if err != nil {
		s.fail(pos{}, "reading the folder: %s", reason(err))
	}
}

// fill replaces the placeholders of a text by what values has for them. It is false when one has no value: then the
// adversary does not fit the ticket.
func fill(text string, values map[string]string) (string, bool) {
	fits := true
	out := placeholder.ReplaceAllStringFunc(text, func(p string) string {
		v, ok := values[p]
		fits = fits && ok
		return v
	})
	return out, fits && utf8.ValidString(out)
}
