package evidence

import (
	"path"
	"slices"
	"strings"

	"tare"
)

// Code of the tree under test shares a directory with what it is tested by. What is needed to build a test or a driver is gone
// again before anything of the tree runs, where the language can do without; data of hidden cases lie where the case is that
// names them. In Python tests are read when they run.

// sourceEndings are those of files that only a compiler reads.
var sourceEndings = map[string][]string{
	"c":  {".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".inc", ".o"},
	"go": {".go", ".mod", ".sum"},
}

func isSourceOf(language, p string) bool {
	return slices.Contains(sourceEndings[language], strings.ToLower(path.Ext(p)))
}

// runnable is a built tree as programs see it: without the sources of the driver, and in Go without any that no command
// names, which spares the copying.
func runnable(v *tare.VulnSpec, built tare.Tree) tare.Tree {
	named := func(p string) bool {
		in := func(words []string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, p) })
		}
		for _, poc := range v.PoCs {
			if in(poc.Command) {
				return true
			}
		}
		for _, set := range []*tare.TestSet{v.Intent, v.Function} {
			if set != nil && slices.ContainsFunc(set.Cases, func(c tare.ProgramCase) bool { return in(c.Command) }) {
				return true
			}
		}
		return v.Benign != nil && in(v.Benign.Command)
	}
	return built.Filter(func(f tare.File) bool {
		switch {
		case !isSourceOf(v.Language, f.Path) || f.Mode.Type() != 0:
			return true
		case v.Driver != nil && holdsPath(v.Driver.Files, f.Path):
			return false
		case v.Language == "go" && !slices.Contains(strings.Split(path.Dir(f.Path), "/"), "testdata"):
			return named(f.Path)
		}
		return true
	})
}

// dataOf are the files of set that a case finds: those that it names, and those that no case does.
func dataOf(set *tare.TestSet, words []string) tare.Tree {
	names := func(words []string, p string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, p) })
	}
	return set.Files.Filter(func(f tare.File) bool {
		return names(words, f.Path) || !slices.ContainsFunc(set.Cases, func(c tare.ProgramCase) bool { return names(c.Command, f.Path) })
	})
}

// embedders are the changed Go files that would build hidden files into the program, and so could read them.
func embedders(l *vulnLayout) []tare.Silencer {
	var out []tare.Silencer
	for _, c := range l.changes {
		f, ok := l.final.Lookup(c.Path)
		if !ok || !strings.HasSuffix(c.Path, ".go") || l.kept[c.Path] {
			continue
		}
		was, _ := l.task.Seed.Lookup(c.Path)
		line := 0
		for text := range strings.Lines(string(f.Data)) {
			line++
			rest, ok := strings.CutPrefix(strings.TrimSpace(text), "//go:embed ")
			if !ok || strings.Contains(string(was.Data), text) {
				continue
			}
			for _, pattern := range strings.Fields(rest) {
				pattern = strings.TrimPrefix(strings.Trim(pattern, "\"`"), "all:")
				if slices.ContainsFunc(l.hidden(), func(h tare.Tree) bool { return embeds(path.Dir(c.Path), pattern, h) }) {
					out = append(out, tare.Silencer{Path: c.Path, Line: line, What: "go:embed " + pattern, Why: "builds hidden tests into the program that they test"})
				}
			}
		}
	}
	return out
}

// embeds reports whether a pattern of a file in dir takes one of files.
func embeds(dir, pattern string, files tare.Tree) bool {
	for _, f := range files {
		rel := f.Path
		if dir != "." {
			var ok bool
			if rel, ok = strings.CutPrefix(f.Path, dir+"/"); !ok {
				continue
			}
		}
		for p := rel; p != "."; p = path.Dir(p) { // a directory is taken with all in it
			if ok, err := path.Match(pattern, p); ok && err == nil || pattern == "." {
				return true
			}
		}
	}
	return false
}
