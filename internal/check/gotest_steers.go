package check

import (
	"path"
	"slices"
	"strings"

	"tare"
)

// Steers says why the file at p could steer what is built, and so what tests and probes observe, other than as source: by
// its name, in any case of letters.
//
// Test files do not steer: graded runs have the seed's own, and a new one has no part in them. Nor does the text of a
// source, whatever directives are in it: it is what is graded, and what it can do to its own process it may do.
func (GoTest) Steers(p string, seed tare.Tree) string {
	parts := strings.Split(strings.ToLower(p), "/")
	base := parts[len(parts)-1]
	of := " not in the seed"
	if _, ok := seed.Lookup(p); ok {
		of = " of the seed, changed"
	}
	switch ext := path.Ext(base); {
	case base == "go.mod" || base == "go.sum":
		return base + of + ": it says what a module is made of"
	case base == "go.work" || base == "go.work.sum":
		return base + of + ": it says which modules are built"
	case slices.Contains(parts[:len(parts)-1], "vendor"):
		return "a vendor directory takes the place of modules"
	case ext == ".s" || ext == ".syso" || ext == ".o" || ext == ".a":
		return "assembly and binary code is linked in, and not bound by what Go lets source do"
	case slices.Contains([]string{".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".for", ".f90", ".swig", ".swigcxx"}, ext):
		return "code in another language changes how a package is built"
	case base == "default.pgo":
		return "a profile changes how a program is built"
	}
	return ""
}
