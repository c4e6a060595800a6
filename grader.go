package tare

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"sync"
)

// graderRooms are the folders whose code can change a verdict. These nouns, at the root, can too.
var graderRooms = []string{
	"internal/agent", "internal/check", "internal/claims", "internal/contract", "internal/detect", "internal/episode", "internal/evidence", "internal/oracle",
	"internal/mcpproxy", "internal/mcpserve", "internal/platform", "internal/predicate", "internal/sandbox", "internal/suite", "internal/tools", "internal/workspace",
}

// graderModules are the modules of others whose code can change a verdict: their versions are a part of the grader.
var graderModules = []string{"cel.dev/cel-go", "github.com/google/jsonschema-go"}

// graderSources are these rooms and nouns, embedded so that a plain go build knows its own grader.
//
//go:embed *.go go.mod internal/agent internal/check internal/claims internal/contract internal/detect internal/episode internal/evidence internal/oracle internal/mcpproxy internal/mcpserve internal/platform internal/predicate internal/sandbox internal/suite internal/tools internal/workspace
var graderSources embed.FS

// GraderDigest is the hash of the sources of all that can change a verdict, tests aside. Certificates and verdicts name
// it, so that a changed grader is noticed and a changed report is not.
var GraderDigest = sync.OnceValue(func() Digest {
	d, err := graderDigest(graderSources)
	if err != nil {
		panic(err) // an embedded file always reads
	}
	return d
})

// graderDigest is the digest of the grader whose sources are in fsys, among whatever else is there.
func graderDigest(fsys fs.FS) (Digest, error) {
	files, err := fs.Glob(fsys, "*.go")
	if err != nil {
		return "", fmt.Errorf("listing the grader's sources: %w", err)
	}
	for _, room := range graderRooms {
		err := fs.WalkDir(fsys, room, func(path string, d fs.DirEntry, err error) error {
			switch hidden := strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_"); {
			case err != nil:
				return err
			case d.IsDir() && (hidden || d.Name() == "testdata"):
				return fs.SkipDir
			case !d.IsDir() && !hidden:
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("listing the grader's sources: %w", err)
		}
	}
	h := sha256.New()
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return "", fmt.Errorf("reading the grader's modules: %w", err)
	}
	for _, m := range graderModules {
		version, err := moduleVersion(string(mod), m)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %s\n", m, version)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		b, err := fs.ReadFile(fsys, path)
		if err != nil {
			return "", fmt.Errorf("reading the grader's sources: %w", err)
		}
		fmt.Fprintf(h, "%s %d:%s", path, len(b), b)
	}
	return Digest("sha256:" + hex.EncodeToString(h.Sum(nil))), nil
}

// moduleVersion is the version at which a go.mod requires a module.
func moduleVersion(mod, module string) (string, error) {
	for line := range strings.Lines(mod) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == module {
			return f[1], nil
		}
	}
	return "", fmt.Errorf("reading the grader's modules: go.mod does not require %s", module)
}
