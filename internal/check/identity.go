package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"tare/internal/sandbox"
)

// Identity names the tools that a runner's verdicts rest on, by the content of what decides their behaviour, so that a
// certificate can tell whether they have changed. It starts no process, and answers with an error where they are missing.
func Identity(runner string) (string, error) {
	switch runner {
	case "pytest":
		return identity("/usr/bin/python3", "/usr/lib/python3/dist-packages/_pytest/_version.py")
	case "gotest":
		return goIdentity()
	case "gcc": // no runner of tests, and yet what grading in C takes
		return gccIdentity()
	default:
		return "", fmt.Errorf("there are no tools called %q", runner)
	}
}

// Equipped says what of a runner's tools is missing, or cannot be shown to a command in the sandbox.
func Equipped(runner string) error {
	if _, err := Identity(runner); err != nil {
		return err
	}
	if runner == "gotest" {
		_, err := sandbox.FindToolchain("go")
		return err
	}
	return nil
}

// goIdentity reads some twenty megabytes, and so is asked once.
var goIdentity = sync.OnceValues(func() (string, error) {
	program, err := sandbox.Resolve("go")
	if err != nil {
		return "", err
	}
	root := filepath.Dir(filepath.Dir(program))
	return identity(program, filepath.Join(root, "VERSION"), filepath.Join(root, "src", "testing", "testing.go"))
})

func identity(interpreter string, files ...string) (string, error) {
	real, err := filepath.EvalSymlinks(interpreter)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", interpreter, err)
	}
	h := sha256.New()
	for _, name := range append([]string{real}, files...) {
		f, err := os.Open(name)
		if err != nil {
			return "", fmt.Errorf("reading the tools of a runner: %w", err)
		}
		_, err = io.Copy(h, f)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return "", fmt.Errorf("reading the tools of a runner: %w", err)
		}
	}
	return filepath.Base(real) + " " + hex.EncodeToString(h.Sum(nil))[:16], nil
}
