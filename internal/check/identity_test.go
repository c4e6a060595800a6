package check

import (
	"os"
	"path/filepath"
	"testing"
)

// TestIdentityFollowsTheFiles changes the interpreter, and the runner's version, in place.
func TestIdentityFollowsTheFiles(t *testing.T) {
	dir := t.TempDir()
	tool, version := filepath.Join(dir, "python3.11"), filepath.Join(dir, "_version.py")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(tool, "one")
	write(version, "7.2")
	link := filepath.Join(dir, "python3")
	if err := os.Symlink("python3.11", link); err != nil {
		t.Fatal(err)
	}
	identify := func() string {
		t.Helper()
		id, err := identity(link, version)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	seen := map[string]string{identify(): "as it was"}
	for _, c := range []struct{ what, path, text string }{{"another interpreter", tool, "two"}, {"another runner", version, "7.3"}} {
		write(c.path, c.text)
		id := identify()
		if other := seen[id]; other != "" {
			t.Errorf("%s has the identity of %s: %s", c.what, other, id)
		}
		seen[id] = c.what
	}
	if _, err := identity(filepath.Join(dir, "none"), version); err == nil {
		t.Error("an interpreter that is not there has an identity")
	}
}
