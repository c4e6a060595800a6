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

// graderSources are the rooms that can change a verdict, and these nouns. They are embedded so that a plain go build knows
// its own grader.
//
//go:embed *.go internal/agent internal/check internal/claims internal/episode internal/evidence internal/oracle internal/sandbox internal/suite internal/workspace
var graderSources embed.FS

// GraderDigest is the hash of the sources of all that can change a verdict, tests aside. Certificates and verdicts name
// it, so that a changed grader is noticed and a changed report is not.
var GraderDigest = sync.OnceValue(func() Digest {
	h := sha256.New()
	err := fs.WalkDir(graderSources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/") {
			return err
		}
		b, err := graderSources.ReadFile(path)
		fmt.Fprintf(h, "%s %d:%s", path, len(b), b)
		return err
	})
	if err != nil {
		panic(err) // an embedded file always reads
	}
	return Digest("sha256:" + hex.EncodeToString(h.Sum(nil)))
})
