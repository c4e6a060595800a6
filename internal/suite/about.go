package suite

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// suiteFile says what is so of all tasks of a suite. It is no part of any of them: their hashes do not depend on it.
const (
	suiteFile   = "suite.yaml"
	suiteSchema = "tare.suite/1"
	maxAbout    = 64 << 10
)

// NeedNPM is the need of a suite whose worlds are servers from npm: node and npx, and the registry the first time.
const NeedNPM = "npm"

// readAbout reads the suite.yaml of the folder dir.
func readAbout(dir string, e fs.DirEntry) ([]byte, error) {
	info, err := e.Info()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxAbout {
		return nil, fmt.Errorf("%s must be a file of at most %d KB", suiteFile, maxAbout>>10)
	}
	b, err := os.ReadFile(filepath.Join(dir, suiteFile))
	return append([]byte{}, b...), err
}

// readNeeds reads what a suite.yaml says.
func readNeeds(shown string, about []byte) ([]string, error) {
	if about == nil {
		return nil, nil
	}
	l := &loader{shown: shown}
	s := source{l, suiteFile, about}
	root, err := parseYAML(about)
	if err != nil {
		s.failAt(err)
		return nil, join(l.problems)
	}
	var needs []string
	if s.object(root, "a suite", []string{"schema"}, "needs") {
		s.oneOf(root.get("schema"), "schema", suiteSchema)
		seen := map[string]pos{}
		for _, n := range s.list(root.get("needs"), "needs", 0) {
			need := s.oneOf(n, "what a suite needs", NeedNPM, NeedModules)
			s.unique(seen, need, n.pos, "the need")
			if need != "" && !slices.Contains(needs, need) {
				needs = append(needs, need)
			}
		}
	}
	return needs, join(l.problems)
}
