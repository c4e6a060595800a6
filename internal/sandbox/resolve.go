package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// shims are path elements of version managers. Their programs are scripts that look for the real one at every start.
var shims = []string{"shims", ".pyenv", ".asdf", ".mise", ".rbenv", ".nodenv", ".goenv"}

// Resolve finds the real path of a program, for use inside a sandbox. The system's own directories come first, since
// those are shown inside and need no mount; then PATH, in which version managers' shims are passed over. An absolute
// name is only followed to its end.
func Resolve(name string) (string, error) {
	if filepath.IsAbs(name) {
		return filepath.EvalSymlinks(name)
	}
	if strings.ContainsRune(name, filepath.Separator) {
		return "", fmt.Errorf("resolving %s: neither a name nor an absolute path", name)
	}
	dirs := append([]string{"/usr/bin", "/bin"}, filepath.SplitList(os.Getenv("PATH"))...)
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) || isShim(dir) {
			continue
		}
		p, err := exec.LookPath(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(p); err == nil && !isShim(filepath.Dir(real)) {
			return real, nil
		}
	}
	return "", fmt.Errorf("resolving %s: %w", name, exec.ErrNotFound)
}

func isShim(dir string) bool {
	elems := strings.Split(dir, "/")
	return slices.ContainsFunc(shims, func(s string) bool { return slices.Contains(elems, s) }) &&
		!slices.Contains(elems, "versions") // where a manager keeps the real ones
}

// A Toolchain is a set of programs that lives outside the system directories and is shown inside at its own path.
type Toolchain struct {
	Name  string
	Mount Mount             // read-only
	Env   map[string]string // what finds it, PATH included
}

// toolchains says, for each name, which program reveals where the toolchain is installed, and how far up.
var toolchains = map[string]struct {
	program string
	up      int
}{
	"go":   {"go", 2},   // <root>/bin/go
	"node": {"node", 2}, // <root>/bin/node
}

// FindToolchain finds a named toolchain ("go", "node") for mounting. One that is part of the system needs no mount, and
// gets the zero Mount.
func FindToolchain(name string) (Toolchain, error) {
	how, ok := toolchains[name]
	if !ok {
		return Toolchain{}, fmt.Errorf("finding toolchain: %q is not known", name)
	}
	p, err := Resolve(how.program)
	if err != nil {
		return Toolchain{}, fmt.Errorf("finding toolchain: %w", err)
	}
	if below(p, "/usr/bin") || below(p, "/usr/lib") || below(p, "/usr/share") {
		return Toolchain{Name: name, Env: map[string]string{}}, nil
	}
	root := p
	for range how.up {
		root = filepath.Dir(root)
	}
	if slices.Contains(wholesale, root) {
		return Toolchain{}, fmt.Errorf("finding toolchain: %s is installed into %s, which is not shown as a whole", name, root)
	}
	if below(root, "/root") && os.Geteuid() == 0 {
		return Toolchain{}, errors.New("finding toolchain: " + root + " is out of reach of the user that payloads run as")
	}
	return Toolchain{
		Name:  name,
		Mount: Mount{Host: root, Guest: root},
		Env:   map[string]string{"PATH": filepath.Dir(p) + ":/usr/bin:/bin"},
	}, nil
}
