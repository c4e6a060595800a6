package check

import (
	_ "embed"
	"path"
	"slices"
	"strings"

	"tare"
)

// stdlibList is the top-level names of the standard library of Python 3.11 and of newer ones, in lower case.
//
//go:embed stdlib.txt
var stdlibList string

// instruments are the modules that pytest and the scripts are made of, beside the standard library.
var instruments = []string{
	"pytest", "_pytest", "pluggy", "attr", "attrs", "iniconfig", "packaging", "py", "tomli", "exceptiongroup", "pygments",
	"colorama", "typing_extensions", "six", "setuptools", "pkg_resources", "_distutils_hack",
	"tare_channel", "tare_failure", "tare_plugin", "tare_pytest", "tare_probe", "tare_values", "tare_read", "tare_hidden_probe", "tare_main",
}

// configuration are the files that pytest and its plug-ins take options from.
var configuration = []string{
	"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml", "pyvenv.cfg",
}

// shadows says which module of pytest's or of the standard library p would be imported in place of; "" for none.
func shadows(p string, seed tare.Tree) string {
	if !strings.HasSuffix(strings.ToLower(p), ".py") {
		return ""
	}
	parts := strings.Split(p, "/")
	for i, part := range parts {
		root := strings.Join(parts[:i], "/")
		if i > 0 && inPackage(root, seed) {
			return "" // below a package, names are the package's own
		}
		name := strings.ToLower(part)
		name, _, _ = strings.Cut(name, ".")
		tool := slices.Contains(instruments, name)
		if !tool && !slices.Contains(strings.Fields(stdlibList), name) {
			continue
		}
		if taken(root, part, seed) || !tool && !importRoot(root, seed) {
			continue
		}
		if tool {
			return "module " + name + " would take the place of one that pytest is made of"
		}
		return "module " + name + " would take the place of the standard library's"
	}
	return ""
}

// taken reports whether the seed itself has a module of that name in dir; then it is the seed's to be.
func taken(dir, part string, seed tare.Tree) bool {
	name, _, _ := strings.Cut(part, ".")
	at := path.Join(dir, name)
	return slices.ContainsFunc(seed, func(f tare.File) bool {
		return f.Path == at+".py" || strings.HasPrefix(f.Path, at+"/")
	})
}

// inPackage reports whether the seed has dir, or a directory above it, as a package.
func inPackage(dir string, seed tare.Tree) bool {
	for ; dir != "." && dir != ""; dir = path.Dir(dir) {
		if _, ok := seed.Lookup(dir + "/__init__.py"); ok {
			return true
		}
	}
	return false
}

// importRoot reports whether dir, which is in no package, is on the import path when tests run, or is likely to be: the
// tree itself, the usual names for sources and tests, and whatever directory the seed has modules or packages in.
func importRoot(dir string, seed tare.Tree) bool {
	if slices.Contains([]string{"", "src", "lib", "python", "test", "tests"}, strings.ToLower(dir)) {
		return true
	}
	return slices.ContainsFunc(seed, func(f tare.File) bool {
		up, base := path.Split(f.Path)
		up = strings.TrimSuffix(up, "/")
		return strings.HasSuffix(base, ".py") && (up == dir || base == "__init__.py" && path.Dir(up) == dir)
	})
}
