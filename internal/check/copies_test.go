package check

import (
	"io/fs"
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

// TestCopiesWithData lends a copy with files of one run's own laid into it. They are gone for the next run, whatever it is, and a
// copy in which they were touched is lent to nobody. Where something stands in their way, the tree is laid out for that run alone.
func TestCopiesWithData(t *testing.T) {
	sb := box
	tree := tare.Tree{
		{Path: "a/data", Mode: 0o644, Data: []byte("1234")},
		{Path: "empty", Mode: fs.ModeDir | 0o755},
		{Path: "link", Mode: fs.ModeSymlink | 0o777, Data: []byte("a")},
		{Path: "prog", Mode: 0o755, Data: []byte("#!/bin/sh\neval \"$1\"\n")},
	}
	file := func(p string) tare.File { return tare.File{Path: p, Mode: 0o644, Data: []byte("own")} }
	for name, tt := range map[string]struct {
		data  tare.File
		does  string
		finds string
		again bool
	}{
		"beside":            {file("a/own"), "cat a/*", "1234own", true},
		"in a new place":    {file("b/c/own"), "cat b/c/own; stat -c %a b b/c b/c/own", "own755\n755\n644\n", true},
		"there already":     {tree[0], "cat a/data", "1234", true},
		"changed":           {file("a/own"), "echo x > a/own", "", false},
		"gone":              {file("b/own"), "rm b/own", "", false},
		"another beside":    {file("b/own"), ": > b/more", "", false},
		"another content":   {file("a/data"), "cat a/data", "own", false},
		"below a file":      {file("prog2/own"), "cat prog2/own", "own", true},
		"for a directory":   {file("a"), "cat a", "own", false},
		"in an empty place": {file("empty/own"), "cat empty/own", "own", false},
		"below a link":      {file("link/own"), "cat link/own; ls a", "owndata\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			var copies Copies
			s := Start{ID: "x", Tree: tree, Data: tare.Tree{tt.data}, Language: "c", Command: []string{"./prog", tt.does}, Copies: &copies}
			e, _, err := s.Run(t.Context(), sb)
			if err != nil || !e.Started || string(e.Stdout) != tt.finds {
				t.Fatalf("%+v, %v, it finds %q", e, err, e.Stdout)
			}
			if got := len(copies.free) == 1; got != tt.again {
				t.Fatalf("it is lent again: %v", got)
			}
			s.Data, s.Command = nil, []string{"./prog", "find . | sort | tr '\n' ' '"}
			if e, _, err := s.Run(t.Context(), sb); err != nil || string(e.Stdout) != ". ./a ./a/data ./empty ./link ./prog " {
				t.Errorf("%v, the next one finds %q", err, e.Stdout)
			}
			if err := copies.Close(); err != nil {
				t.Error(err)
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
