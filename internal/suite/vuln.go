package suite

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"tare"
)

// Bounds of what a vulnerability's task holds.
const (
	maxReport = 64 << 10 // bytes of one report or script
	maxInputs = 2000     // variants, and benign inputs
)

// vulnGates are the gates at which a control of a vulnerability may be expected to fail, in the order of the verdict.
var vulnGates = []string{
	tare.GateInfrastructure, tare.GateIntegrity, tare.GatePatch, tare.GateBuild, tare.GatePoCs, tare.GateIntentTests, tare.GateFunctionalTests,
}

// A flaw is the part of a loader that vulnerabilities need.
type flaw struct {
	*loader
	spec   *tare.VulnSpec
	used   map[string]bool // files that task.yaml names, one by one
	hidden map[string]bool // files and folders that agents never see
}

// vuln reads a task of that kind.
func (l *loader) vuln(root *node) {
	s := l.yaml
	if !s.object(root, "a vulnerability",
		[]string{"schema", "kind", "title", "category", "project", "language", "reports", "pocs", "references"},
		"cwe", "limits", "build", "test", "driver", "variants", "benign", "intent", "function", "protected", "controls", "mutants", "module") {
		return
	}
	v := &flaw{loader: l, spec: &tare.VulnSpec{}, used: map[string]bool{}, hidden: map[string]bool{}}
	l.task.Vuln = v.spec
	v.spec.Project = s.line(root.get("project"), "project")
	v.spec.Language = s.oneOf(root.get("language"), "language", "c", "go", "python")
	v.spec.CWE = s.line(root.get("cwe"), "cwe")
	l.form = runnerForm{rubbish: runners[map[string]string{"go": "gotest", "python": "pytest"}[v.spec.Language]].rubbish}
	l.limits(root.get("limits"))
	v.module(root.get("module"))
	l.task.Seed = subtree(l.tree, seedDir)
	switch {
	case v.spec.Module != nil && len(l.task.Seed) > 0:
		s.fail(root.at("module"), "the seed is the module's source, so there can be no folder seed")
	case v.spec.Module == nil && len(l.task.Seed) == 0:
		s.fail(pos{1, 1}, "there is no folder seed, or nothing in it; it is the source tree as the agent gets it")
		return // nearly all that follows is about it, and would only say so again
	}
	v.reports(root.get("reports"))
	if v.spec.Build = v.script(root.get("build"), "build", false); root.get("build") == nil && v.spec.Language != "python" {
		s.fail(pos{1, 1}, "a program in %s is built: give build", v.spec.Language)
	}
	v.spec.Test = v.script(root.get("test"), "test", false)
	v.driver(root.get("driver"))
	v.pocs(root.get("pocs"))
	v.variants(root.get("variants"))
	v.benign(root.get("benign"))
	v.spec.Protected = v.protected(root.get("protected"))
	v.spec.Intent = v.testSet(root.get("intent"), "intent")
	v.spec.Function = v.testSet(root.get("function"), "function")
	if v.spec.Intent == nil && v.spec.Function == nil && v.spec.Benign == nil {
		s.fail(root.pos, "nothing says that a fix leaves the program working: give the task function, intent or benign")
	}
	v.references(root)
	v.controls(root.get("controls"))
	v.equivalents(root.get("mutants"))
	l.task.Hidden = l.tree.Filter(func(f tare.File) bool {
		for h, yes := range v.hidden {
			if yes && tare.Under(f.Path, h) {
				return true
			}
		}
		return false
	})
	v.files()
	l.task.Ticket = prompt(l.task)
	l.leaks()
}

// module reads which public Go module the seed is.
func (v *flaw) module(n *node) {
	s := v.yaml
	if n == nil || !s.object(n, "module", []string{"path", "vulnerable", "fixed", "hash", "fixed_hash"}) {
		return
	}
	m := &tare.ModuleSpec{
		Path: s.line(n.get("path"), "path"), Vulnerable: s.line(n.get("vulnerable"), "vulnerable"), Fixed: s.line(n.get("fixed"), "fixed"),
		Hash: s.line(n.get("hash"), "hash"), FixedHash: s.line(n.get("fixed_hash"), "fixed_hash"),
	}
	for _, h := range []string{"hash", "fixed_hash"} {
		if t := n.get(h); t != nil && !strings.HasPrefix(t.text, "h1:") {
			s.fail(t.pos, "%s is the hash of the module's zip file as go.sum has it, and begins with h1:", h)
		}
	}
	for _, h := range []string{"vulnerable", "fixed"} {
		if t := n.get(h); t != nil && !strings.HasPrefix(t.text, "v") {
			s.fail(t.pos, "%s is a version, such as v1.2.3", h)
		}
	}
	if m.Vulnerable != "" && m.Vulnerable == m.Fixed {
		s.fail(n.at("fixed"), "the fixed version is the vulnerable one")
	}
	if v.spec.Language != "" && v.spec.Language != "go" {
		s.fail(n.pos, "a module is of language go, and this task is of %s", v.spec.Language)
	}
	v.spec.Module = m
}

// file is the file of the folder that n names.
func (v *flaw) file(n *node, what string) (tare.File, bool) {
	p := v.yaml.path(n, what)
	if p == "" {
		return tare.File{}, false
	}
	f, ok := v.tree.Lookup(p)
	switch {
	case !ok:
		v.yaml.fail(n.pos, "there is no file %s", clip(p))
	case !f.Mode.IsRegular():
		v.yaml.fail(n.pos, "%s must be a file, and no link", clip(p))
		ok = false
	case tare.Under(p, seedDir) || p == taskFile:
		v.yaml.fail(n.pos, "%s cannot be %s: it is no part of the seed or of %s", what, clip(p), taskFile)
		ok = false
	}
	v.used[p] = true
	return f, ok
}

// text is the file that n names, which people read.
func (v *flaw) text(n *node, what string) string {
	f, ok := v.file(n, what)
	if !ok {
		return ""
	}
	at := source{v.loader, f.Path, f.Data}
	switch {
	case !utf8.Valid(f.Data) || bytes.ContainsRune(f.Data, 0):
		at.fail(pos{}, "this is not UTF-8 text")
	case len(f.Data) > maxReport:
		at.fail(pos{}, "the file is larger than %d KB", maxReport>>10)
	case len(bytes.TrimSpace(f.Data)) == 0:
		at.fail(pos{}, "the file is empty")
	}
	return string(f.Data)
}

func (v *flaw) reports(n *node) {
	s := v.yaml
	if !s.object(n, "reports", nil, "issue", "description", "crashes") {
		return
	}
	r := tare.Reports{Issue: v.text(n.get("issue"), "issue"), Description: v.text(n.get("description"), "description")}
	for _, c := range s.list(n.get("crashes"), "crashes", 1) {
		r.Crashes = append(r.Crashes, v.text(c, "a crash report"))
	}
	if len(n.keys) == 0 {
		s.fail(n.pos, "an agent must know what is wrong: give issue, description or crashes")
	}
	v.spec.Reports = r
}

// script is a script with its limit. Those of the grader alone are hidden.
func (v *flaw) script(n *node, what string, hidden bool) tare.Script {
	if n == nil || !v.yaml.object(n, what, []string{"script"}, "wall") {
		return tare.Script{}
	}
	return v.scriptOf(n, hidden)
}

func (v *flaw) scriptOf(n *node, hidden bool) tare.Script {
	sc := tare.Script{Name: v.yaml.path(n.get("script"), "script"), Text: v.text(n.get("script"), "script"), Wall: v.yaml.duration(n.get("wall"), "wall")}
	if hidden && sc.Name != "" {
		v.hidden[sc.Name] = true
	}
	return sc
}

func (v *flaw) driver(n *node) {
	if n == nil || !v.yaml.object(n, "driver", []string{"files", "script"}, "wall") {
		return
	}
	v.spec.Driver = &tare.Driver{Files: v.folder(n.get("files"), "files"), Build: v.scriptOf(n, true)}
}

// folder is the hidden folder that n names.
func (v *flaw) folder(n *node, what string) tare.Tree {
	dir := v.yaml.path(n, what)
	if dir == "" {
		return nil
	}
	if top, _, _ := strings.Cut(dir, "/"); top == seedDir {
		v.yaml.fail(n.pos, "%s cannot be %s: what lies in the seed is not hidden", what, clip(dir))
		return nil
	}
	v.named[dir], v.hidden[dir] = true, true
	t := subtree(v.tree, dir)
	if len(t) == 0 {
		v.yaml.fail(n.pos, "there is no folder %s, or nothing in it", clip(dir))
	}
	return t
}

// command is the words of a command, and whether one of them is replaced by the path of the input.
func (v *flaw) command(n *node, what string) (words []string, takes bool) {
	for _, w := range v.yaml.list(n, what, 1) {
		if w.kind != kStr || strings.ContainsRune(w.text, 0) {
			v.yaml.fail(w.pos, "a word of a command must be text; this is %s (in quotes it is text)", w.kind)
			continue
		}
		words = append(words, w.text)
		takes = takes || strings.Contains(w.text, tare.InputWord)
	}
	if len(words) > 0 && strings.TrimSpace(words[0]) == "" {
		v.yaml.fail(n.pos, "the first word of %s is the program, and is empty", what)
	}
	return words, takes
}

// fed checks that an input is used in one way.
func (v *flaw) fed(n *node, takes, has bool) (stdin bool) {
	if b := n.get("stdin"); b != nil {
		if b.kind != kBool {
			v.yaml.fail(b.pos, "stdin must be true or false")
		}
		stdin = b.text == "true"
	}
	switch {
	case has && !takes && !stdin:
		v.yaml.fail(n.pos, "the input is used by nothing: put %s into run, or say stdin: true", tare.InputWord)
	case !has && (takes || stdin):
		v.yaml.fail(n.pos, "run or stdin asks for an input, and there is none: name its file under input")
	case takes && stdin:
		v.yaml.fail(n.pos, "the input goes to standard input or stands in run, not both")
	}
	return stdin
}

func (v *flaw) pocs(n *node) {
	s := v.yaml
	seen := map[string]pos{}
	for _, p := range s.list(n, "pocs", 1) {
		if !s.object(p, "a PoC", []string{"name", "run", "triggers"}, "input", "stdin", "wall") {
			continue
		}
		poc := tare.PoC{Name: s.label(p.get("name"), "name"), Wall: s.duration(p.get("wall"), "wall")}
		s.unique(seen, poc.Name, p.pos, "PoC")
		var takes bool
		poc.Command, takes = v.command(p.get("run"), "run")
		if in := p.get("input"); in != nil {
			f, ok := v.file(in, "input")
			if poc.Input = f.Data; ok && poc.Input == nil {
				poc.Input = []byte{}
			}
			v.hidden[f.Path] = ok
		}
		poc.Stdin = v.fed(p, takes, p.get("input") != nil)
		poc.Triggers = v.trigger(p.get("triggers"))
		if t := poc.Triggers; t.Hang > 0 && poc.Wall > 0 && poc.Wall < t.Hang {
			s.fail(p.at("wall"), "the run is ended before it could be seen to hang: leave wall out, or make it longer")
		}
		v.spec.PoCs = append(v.spec.PoCs, poc)
	}
}

var signals = []string{"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS"}

// trigger reads what it means that a PoC triggers: one thing.
func (v *flaw) trigger(n *node) tare.Trigger {
	s := v.yaml
	if n == nil || !s.object(n, "triggers", nil, "sanitizer", "panic", "signal", "exit", "hang", "output", "at") {
		return tare.Trigger{}
	}
	t := tare.Trigger{
		Sanitizer: s.line(n.get("sanitizer"), "sanitizer"), Panic: s.line(n.get("panic"), "panic"), Signal: s.oneOf(n.get("signal"), "signal", signals...),
		Hang: s.duration(n.get("hang"), "hang"), Output: s.str(n.get("output"), "output"), At: s.line(n.get("at"), "at"),
	}
	if e := n.get("exit"); e != nil {
		t.Exit = s.status(e)
	}
	kinds := 0
	for _, k := range []string{"sanitizer", "panic", "signal", "exit", "hang", "output"} {
		if n.get(k) != nil {
			kinds++
		}
	}
	if kinds != 1 {
		s.fail(n.pos, "a PoC triggers in one way: give one of sanitizer, panic, signal, exit, hang, output")
	}
	if at := n.get("at"); at != nil && n.get("sanitizer") == nil && n.get("panic") == nil {
		s.fail(at.pos, "at names a function of a trace, which only a sanitizer's report or a panic has")
	}
	if v.spec.Language == "python" && n.get("sanitizer") != nil || v.spec.Language == "go" && n.get("sanitizer") != nil {
		s.fail(n.at("sanitizer"), "programs in %s are built without a sanitizer: use panic", v.spec.Language)
	}
	return t
}

// status is the exit status of a program.
func (s source) status(n *node) *int {
	code := 0
	if n.kind != kInt || len(n.text) > 3 || strings.HasPrefix(n.text, "-") {
		s.fail(n.pos, "an exit status is a whole number from 0 to 255")
		return nil
	}
	for _, d := range n.text {
		code = 10*code + int(d-'0')
	}
	if code > 255 {
		s.fail(n.pos, "an exit status is a whole number from 0 to 255")
	}
	return &code
}

// variants reads the inputs that were made of PoCs: a folder for each.
func (v *flaw) variants(n *node) {
	for _, f := range v.folder(n, "variants") {
		of, rest, ok := strings.Cut(f.Path, "/")
		if !slices.ContainsFunc(v.spec.PoCs, func(p tare.PoC) bool { return p.Name == of && len(p.Command) > 0 }) {
			v.failFile(v.yaml.path(n, "variants")+"/"+f.Path, "variants lie in a folder named after their PoC, and there is no PoC %s", clip(of))
			continue
		}
		if !ok || !f.Mode.IsRegular() {
			v.failFile(v.yaml.path(n, "variants")+"/"+f.Path, "variants are files in a folder named after their PoC")
			continue
		}
		if i := slices.IndexFunc(v.spec.PoCs, func(p tare.PoC) bool { return p.Name == of }); v.spec.PoCs[i].Input == nil {
			v.failFile(v.yaml.path(n, "variants")+"/"+f.Path, "the PoC %s has no input, so there can be no variants of it", clip(of))
		}
		v.spec.Variants = append(v.spec.Variants, tare.Input{Name: rest, Of: of, Data: f.Data})
	}
	if len(v.spec.Variants) > maxInputs {
		v.yaml.fail(n.pos, "there are more than %d variants", maxInputs)
	}
}

// benign reads the inputs on which a fix must answer as the reference does.
func (v *flaw) benign(n *node) {
	s := v.yaml
	if n == nil || !s.object(n, "benign", []string{"run", "inputs"}, "stdin") {
		return
	}
	b := &tare.Benign{}
	var takes bool
	b.Command, takes = v.command(n.get("run"), "run")
	b.Stdin = v.fed(n, takes, true)
	for _, f := range v.folder(n.get("inputs"), "inputs") {
		if !f.Mode.IsRegular() {
			v.failFile(v.yaml.path(n.get("inputs"), "inputs")+"/"+f.Path, "a benign input is a file")
		}
		b.Inputs = append(b.Inputs, tare.Input{Name: f.Path, Data: f.Data})
	}
	if len(b.Inputs) > maxInputs {
		s.fail(n.pos, "there are more than %d benign inputs", maxInputs)
	}
	v.spec.Benign = b
}

func (v *flaw) protected(n *node) []string {
	var out []string
	for _, p := range v.yaml.list(n, "protected", 1) {
		pattern := v.yaml.path(p, "a protected path")
		if pattern == "" {
			continue
		}
		if _, err := path.Match(pattern, ""); err != nil {
			v.yaml.fail(p.pos, "%s is no pattern: a bracket or a backslash is left open", clip(pattern))
			continue
		}
		one := &tare.VulnSpec{Protected: []string{pattern}}
		if v.spec.Module == nil && !slices.ContainsFunc(v.task.Seed, func(f tare.File) bool { return one.Protects(f.Path) }) {
			v.yaml.fail(p.pos, "no file of the seed fits %s", clip(pattern))
		}
		out = append(out, pattern)
	}
	return out
}
