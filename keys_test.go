package tare_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/llm"
)

// Recorded exchanges, logs and scripts are kept in the tree, and no key of a model's service is. A key of a test's own holds
// 0123456789.
func TestNoKeys(t *testing.T) {
	for _, key := range []string{"sk-ant-api03-" + strings.Repeat("aB3_", 10), "sk-proj-" + strings.Repeat("aB3-", 10), "AIza" + strings.Repeat("aB3_x", 7), "sk-" + strings.Repeat("aB3x", 12)} {
		if !llm.KeyForm.MatchString(key) {
			t.Errorf("%s would not be found", key)
		}
	}
	looked := 0
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); n == ".git" || n == "bin" || n == ".tare" {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		looked++
		for _, at := range llm.KeyForm.FindAllIndex(b, -1) {
			// Within a longer word it is none: hashes and base64 look like anything.
			if at[0] > 0 && isWord(b[at[0]-1]) {
				continue
			}
			// A key has digits; words with hyphens between them have none.
			if hit := string(b[at[0]:at[1]]); strings.ContainsAny(hit, "0123456789") && !strings.Contains(hit, "0123456789") {
				t.Errorf("%s holds what looks like a key: %.12s…", file, hit)
			}
		}
		return nil
	})
	if err != nil || looked < 500 {
		t.Fatalf("looked at %d files: %v", looked, err)
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
