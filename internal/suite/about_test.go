package suite

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare"
)

func TestNeeds(t *testing.T) {
	for _, tt := range []struct{ text, want, problem string }{
		{"", "", ""},
		{"schema: tare.suite/1\n", "", ""},
		{"schema: tare.suite/1\nneeds: [npm]\n", "npm", ""},
		{"schema: tare.suite/2\n", "", `suite.yaml:1:9: schema is "tare.suite/2"`},
		{"schema: tare.suite/1\nneeds: [moon]\n", "", `suite.yaml:2:9: what a suite needs is "moon"; it can be npm`},
		{"schema: tare.suite/1\nneeds: [npm, npm]\n", "", `suite.yaml:2:14: the need "npm" is here twice`},
		{"schema: tare.suite/1\nwants: []\n", "", `suite.yaml:2:1: a suite has no key "wants"`},
		{"needs: [npm\n", "", "suite.yaml:1"},
		{strings.Repeat("# long\n", 10000), "", "suite.yaml must be a file of at most 64 KB"},
	} {
		dir := suiteFolder(t)
		if tt.text != "" {
			write(t, dir, tare.Tree{{Path: suiteFile, Mode: 0o644, Data: []byte(tt.text)}})
		}
		s, err := LoadSuite(dir)
		if tt.problem != "" {
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%.60q: %v, and %q was expected", tt.text, err, tt.problem)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := Pack(dir)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := FromArchive(filepath.Base(dir), b)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.Needs, " "); got != tt.want || !slices.Equal(packed.Needs, s.Needs) || packed.Tasks[0].Hash != s.Tasks[0].Hash {
			t.Errorf("%.60q: needs %q, and packed %q", tt.text, s.Needs, packed.Needs)
		}
		if err := os.Remove(filepath.Join(dir, suiteFile)); err == nil {
			without, err := Pack(dir)
			if err != nil || SameContent(b, without) {
				t.Errorf("%.60q: the archive is the same without it (%v)", tt.text, err)
			}
		}
	}
	dir := suiteFolder(t)
	if err := os.Symlink("empty_queue/task.yaml", filepath.Join(dir, suiteFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadSuite(dir); err == nil {
		t.Error("a link is read")
	}
}
