package check

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"tare/internal/sandbox"
)

// IdentityOf is the Identity of several sets of tools, as Task.Tools names them; "" for none.
func IdentityOf(sets []string) (string, error) {
	var out []string
	for _, set := range sets {
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
