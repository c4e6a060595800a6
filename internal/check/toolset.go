package check

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tare"
	"tare/internal/sandbox"
)

// Tools names the sets of tools that grading a task takes, for Identity and Equipped: its runners, of a vulnerability also what
// builds and runs programs of its language. A scenario takes none.
func Tools(t *tare.Task) []string {
	var out []string
	switch {
	case t.Vuln != nil:
		out = append(out, map[string]string{"c": "gcc", "go": "gotest", "python": "pytest"}[t.Vuln.Language])
		for _, set := range []*tare.TestSet{t.Vuln.Intent, t.Vuln.Function} {
			if set != nil && set.Runner != "cases" && !slices.Contains(out, set.Runner) {
				out = append(out, set.Runner)
			}
		}
	case t.Runner != "":
		out = append(out, t.Runner)
	}
	return out
}

// IdentityOf is the Identity of all tools of a task; "" for one that takes none.
func IdentityOf(t *tare.Task) (string, error) {
	var out []string
	for _, set := range Tools(t) {
		id, err := Identity(set)
		if err != nil {
			return "", err
		}
		out = append(out, id)
	}
	return strings.Join(out, "; "), nil
}

// gccIdentity reads the compiler and the run-time library of its sanitizer, some ten megabytes, and so is asked once.
var gccIdentity = sync.OnceValues(func() (string, error) {
	program, err := sandbox.Resolve("gcc")
	if err != nil {
		return "", err
	}
	libraries, err := filepath.Glob("/usr/lib/gcc*/*/*/libasan.so")
	if err == nil && len(libraries) == 0 {
		err = errors.New("gcc is there without AddressSanitizer: there is no libasan.so below /usr/lib/gcc")
	}
	if err != nil {
		return "", fmt.Errorf("finding AddressSanitizer: %w", err)
	}
	compilers, err := filepath.Glob("/usr/lib/gcc*/*/*/cc1")
	if err != nil {
		return "", fmt.Errorf("finding the compiler: %w", err)
	}
	var read []string
	for _, f := range append(libraries, compilers...) {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
			read = append(read, f)
		}
	}
	return identity(program, read...)
})
