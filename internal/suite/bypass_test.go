package suite_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tare/internal/suite"
	"tare/suites"
)

// attemptFolder is a good folder of attempts, with one text replaced.
func attemptFolder(old, with string) fstest.MapFS {
	const yaml = "schema: tare.bypass/1\ntitle: A try\ntries: Tries it.\nstopped: By that.\non: vulns/x\nneighbour: yes\nrows:\n  - {levels: [0, 2], says: \"no( way)?\"}\n  - {levels: [4], says: never, gate: build}\n"
	return fstest.MapFS{
		"lib.py":             {Data: []byte("shared = 1\n")},
		"first/attempt.yaml": {Data: []byte(strings.Replace(yaml, old, with, 1))},
		"first/attack.py":    {Data: []byte("#!/usr/bin/python3\n")},
	}
}

func TestAttempts(t *testing.T) {
	all, err := suite.Attempts(attemptFolder("", ""), "bypass")
	if err != nil || len(all) != 1 {
		t.Fatalf("%d attempts, %v", len(all), err)
	}
	a := all[0]
	if a.Name != "first" || a.On != "vulns/x" || !a.Neighbour || len(a.Rows) != 2 || !slices.Equal(a.Rows[0].Levels, []int{0, 2}) || a.Rows[0].Gate != "pocs" || a.Rows[1].Gate != "build" {
		t.Errorf("%+v", a)
	}
	if says := a.Rows[0].Says; !says.MatchString("no way") || says.MatchString("no way out") || says.MatchString("oh no") {
		t.Error("what an attempt says is not held whole against its row")
	}
	if f, ok := a.Files.Lookup("attack.py"); !ok || f.Mode.Perm() != 0o755 {
		t.Errorf("the program: %v", f.Mode)
	}
	if _, ok := a.Files.Lookup("lib.py"); !ok {
		t.Error("what is shared is not there")
	}
}

func TestAttemptRefusals(t *testing.T) {
	for name, tt := range map[string]struct{ old, with, want string }{
		"schema":      {"tare.bypass/1", "tare.bypass/9", "attempt.yaml:1:9: schema"},
		"no rows":     {"rows:\n  - {levels: [0, 2], says: \"no( way)?\"}\n  - {levels: [4], says: never, gate: build}\n", "rows: []\n", "rows"},
		"level":       {"levels: [4]", "levels: [5]", "attempt.yaml:9:15: a level is a number from 0 to 4"},
		"level twice": {"levels: [4]", "levels: [2]", "level"},
		"expression":  {"no( way)?", "no( way", "says is no regular expression"},
		"gate":        {"gate: build", "gate: claims", "gate"},
		"unknown key": {"title: A try", "titel: A try", "titel"},
	} {
		if _, err := suite.Attempts(attemptFolder(tt.old, tt.with), "bypass"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	for _, gone := range []string{"lib.py", "first/attempt.yaml", "first/attack.py"} {
		folder := attemptFolder("", "")
		delete(folder, gone)
		if _, err := suite.Attempts(folder, "bypass"); err == nil {
			t.Errorf("without %s: no error", gone)
		}
	}
}

// TestBuiltInAttempts: each names a task that there is, and plays at the levels 0, 2 and 4.
func TestBuiltInAttempts(t *testing.T) {
	all, err := suite.Attempts(suites.Attempts(), "bypass")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, a := range suites.Archives() {
		s, err := suite.FromArchive(a.Name, a.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range s.Tasks {
			known[task.ID] = task.Vuln != nil
		}
	}
	for _, a := range all {
		var levels []int
		for _, r := range a.Rows {
			levels = append(levels, r.Levels...)
		}
		slices.Sort(levels)
		if !known[a.On] || !slices.Equal(levels, []int{0, 2, 4}) || a.Stopped == "" || a.Tries == "" {
			t.Errorf("%s is on %s at levels %v", a.Name, a.On, levels)
		}
	}
}
