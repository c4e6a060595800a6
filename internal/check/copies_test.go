package check

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tare"
)

// TestCopies lends a copy again that a program left as it was, and none that it changed in any way. The first change comes so soon
// after the copy was laid out that the kernel's time need not tell.
func TestCopies(t *testing.T) {
	sb := box
	tree := tare.Tree{
		{Path: "a/data", Mode: 0o644, Data: []byte("1234")},
		{Path: "prog", Mode: 0o755, Data: []byte("#!/bin/sh\neval \"$1\"\n")},
	}
	for name, tt := range map[string]struct {
		does  string
		again bool
	}{
		"nothing":                {"cat a/data", true},
		"same size":              {"printf 4321 > a/data", false},
		"same content":           {"printf 1234 > a/data", false},
		"another file":           {": > b", false},
		"a file come and gone":   {": > b; rm b", false},
		"mode":                   {"chmod 600 a/data", false},
		"time put back":          {"touch -r a/data /tmp/t; printf 4321 > a/data; touch -r /tmp/t a/data", false},
		"moved away and back":    {"mv a/data x; mv x a/data", false},
		"another name for it":    {"ln a/data a/more; rm a/more", false},
		"replaced by a link":     {"rm a/data; ln -s /etc/hostname a/data", false},
		"what lies beside":       {"echo x > /tmp/y", true},
		"a directory of its own": {"mkdir d", false},
	} {
		t.Run(name, func(t *testing.T) {
			var copies Copies
			run := func(does string) tare.Execution {
				t.Helper()
				e, _, err := Start{ID: "x", Tree: tree, Language: "c", Command: []string{"./prog", does}, Copies: &copies}.Run(t.Context(), sb)
				if err != nil || !e.Started {
					t.Fatalf("%+v, %v", e, err)
				}
				return e
			}
			run(tt.does)
			if got := len(copies.free) == 1; got != tt.again {
				t.Fatalf("it is lent again: %v", got)
			}
			dirs := ""
			if tt.again {
				dirs = copies.free[0].dir
			}
			if e := run("cat a/data; ls; ls a"); string(e.Stdout) != "1234a\nprog\ndata\n" {
				t.Errorf("the next one finds %q", e.Stdout)
			}
			if tt.again && copies.free[0].dir != dirs {
				t.Error("it was laid out anew all the same")
			}
			held := copies.free[0].dir
			if err := copies.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(held); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", held, err)
			}
		})
	}
}

// TestFreshChange compares the content where the kernel's time cannot tell a change from the laying out.
func TestFreshChange(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("1234"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := &booth{tree: dir, files: tare.Tree{{Path: "f", Mode: 0o644, Data: []byte("4321")}}, lent: time.Now()}
	var err error
	if w.stamps, err = stampsOf(dir); err != nil {
		t.Fatal(err)
	}
	if w.stamps != nil && w.untouched() {
		t.Error("a file whose content is not the tree's passes for untouched")
	}
	w.files[0].Data = []byte("1234")
	if w.stamps != nil && !w.untouched() {
		t.Error("a file that is as it was written passes for changed")
	}
}
