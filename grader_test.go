package tare

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestGraderDigest compares the digest of what is embedded with that of the repository, and says of changes to its files
// whether they make another grader.
func TestGraderDigest(t *testing.T) {
	repository := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (path == "suites" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(path)
		repository[path] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	digest := func() Digest {
		d, err := graderDigest(repository)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	now := digest()
	if now != GraderDigest() {
		t.Errorf("the sources have digest %s, those that are embedded %s: the embed line and graderRooms differ", now, GraderDigest())
	}
	for path, other := range map[string]bool{
		"internal/oracle/rules.go":             true,
		"internal/oracle/gates.go":             true,
		"internal/check/tests.go":              true,
		"internal/check/python/tare_plugin.py": true,
		"internal/evidence/layout.go":          true,
		"internal/sandbox/sandbox.go":          true,
		"internal/workspace/lay.go":            true,
		"internal/suite/task.go":               true,
		"internal/episode/episode.go":          true,
		"verdict.go":                           true,
		"internal/oracle/new.go":               true, // a file that is not there yet
		"internal/check/python/new.py":         true,
		"new.go":                               true,
		"internal/report/report.go":            false,
		"internal/cli/prove.go":                false,
		"internal/proof/proof.go":              false,
		"internal/store/files.go":              false,
		"README.md":                            false,
		"internal/oracle/oracle_test.go":       false,
		"internal/oracle/testdata/new.txt":     false,
	} {
		old := repository[path]
		text := []byte("// another line")
		if old != nil {
			text = append(append([]byte(nil), old.Data...), text...)
		}
		repository[path] = &fstest.MapFile{Data: text}
		if (digest() != now) != other {
			t.Errorf("after a change to %s it is another grader: %v, want %v", path, !other, other)
		}
		if old == nil {
			delete(repository, path)
		} else {
			repository[path] = old
		}
	}

	mod := string(repository["go.mod"].Data)
	for module, other := range map[string]bool{"cel.dev/cel-go": true, "github.com/google/jsonschema-go": true, "github.com/spf13/cobra": false} {
		i := strings.Index(mod, module+" v")
		if i < 0 {
			t.Fatalf("go.mod does not require %s", module)
		}
		at := i + len(module) + 2
		repository["go.mod"] = &fstest.MapFile{Data: []byte(mod[:at] + "9" + mod[at:])}
		if (digest() != now) != other {
			t.Errorf("with another version of %s it is another grader: %v, want %v", module, !other, other)
		}
	}
	repository["go.mod"] = &fstest.MapFile{Data: []byte("module tare\n")}
	if _, err := graderDigest(repository); err == nil {
		t.Error("a grader without its modules has a digest")
	}
}
