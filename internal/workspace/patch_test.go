package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tare"
)

// scratchTemp makes t.TempDir the place for temporary files and fails the test if anything is left there.
func scratchTemp(t *testing.T) string {
	t.Helper()
	d := t.TempDir()
	t.Setenv("TMPDIR", d)
	t.Cleanup(func() {
		if left, _ := os.ReadDir(d); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return d
}

func roundTrip(t interface {
	Helper()
	Fatalf(string, ...any)
}, a, b tare.Tree) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	patch, err := Diff(ctx, a, b)
	if err != nil {
		t.Fatalf("making: %v", err)
	}
	got, err := Apply(ctx, a, patch)
	if err != nil {
		t.Fatalf("applying: %v\n%q", err, patch)
	}
	want, err := Canonical(b)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("%s\n%q", d, patch)
	}
	return patch
}

func TestDiffThenApply(t *testing.T) {
	scratchTemp(t)
	base := tree(t, agentBase...)
	everything := odd(t).Without("hollow", "private", "read-only") // git knows neither
	for name, tt := range map[string]struct {
		to   tare.Tree
		want []string // in the patch
	}{
		"nothing":        {base, nil},
		"new":            {base.Overlay(tree(t, file("d/new", "x\n"))), []string{"--- /dev/null\n+++ b/d/new\n", "new file mode 100644\n"}},
		"new and empty":  {base.Overlay(tree(t, file("new", ""))), []string{"new file mode 100644\nindex 0000000000000000000000000000000000000000..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n"}},
		"deleted":        {base.Without("src/b.py"), []string{"deleted file mode 100644"}},
		"renamed":        {base.Without("src/a.py").Overlay(tree(t, file("c.py", "one\ntwo\nthree\n"))), []string{"diff --git a/c.py b/c.py\nnew file", "diff --git a/src/a.py b/src/a.py\ndeleted file"}},
		"link renamed":   {base.Without("l").Overlay(tree(t, link("m", "src/a.py"), file("l/f", "x\n"))), nil},
		"mode":           {base.Overlay(tree(t, exe("src/b.py", "b\n"))), []string{"old mode 100644\nnew mode 100755\n"}},
		"binary":         {base.Overlay(tree(t, file("bin", "\x00\xff"))), []string{"GIT binary patch\nliteral 2\n"}},
		"no newline":     {base.Overlay(tree(t, file("src/b.py", "b"))), []string{"-b\n+b\n\\ No newline at end of file\n"}},
		"crlf":           {base.Overlay(tree(t, file("crlf.txt", "a\r\nc\r\n"))), []string{"-b\r\n+c\r\n"}},
		"latin-1":        {base.Overlay(tree(t, file("src/b.py", "\xe9\n"))), []string{"+\xe9\n"}},
		"file to link":   {base.Overlay(tree(t, link("src/b.py", "/etc/passwd"))), []string{"deleted file mode 100644", "new file mode 120000"}},
		"link to dir":    {base.Overlay(tree(t, file("l/f", "x\n"))), nil},
		"file to dir":    {base.Overlay(tree(t, file("src/b.py/f", "x\n"))), nil},
		"dir to file":    {base.Overlay(tree(t, file("src", "x\n"))), nil},
		"everything":     {everything, []string{`"a/new\nline"`, `"a/not-utf8-\377\376"`}},
		"nothing left":   {nil, nil},
		"white space":    {base.Overlay(tree(t, file("src/b.py", " \t \n\n\n"))), nil},
		"looks like one": {base.Overlay(tree(t, file("src/b.py", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/x b/x\n"))), nil},
	} {
		t.Run(name, func(t *testing.T) {
			patch := string(roundTrip(t, base, tt.to))
			for _, want := range tt.want {
				if !strings.Contains(patch, want) {
					t.Errorf("the patch lacks %q:\n%s", want, patch)
				}
			}
			if name == "nothing" && patch != "" {
				t.Errorf("got %q", patch)
			}
			roundTrip(t, tt.to, base)
		})
	}
}

// TestDiffIsGits has git itself apply the patch in a directory, as a user would.
func TestDiffIsGits(t *testing.T) {
	scratch := t.TempDir()
	a, b := tree(t, agentBase...), odd(t).Without("hollow", "private", "read-only").Overlay(tree(t, file("src/a.py", "one\n2\nthree\n")))
	patch, err := Diff(t.Context(), a, b)
	if err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(scratch, "p")
	if err := os.WriteFile(p, patch, 0o600); err != nil {
		t.Fatal(err)
	}
	d := mustLay(t, a)
	c := exec.CommandContext(t.Context(), "git", "apply", p)
	c.Dir, c.Env = d, []string{"PATH=" + os.Getenv("PATH"), "GIT_CEILING_DIRECTORIES=" + filepath.Dir(d), "HOME=" + scratch}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := Read(d, ReadLimits{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b, got); d != "" {
		t.Error(d)
	}
}

// TestPatchesIgnoreAttributes puts files into the tree that steer git wherever it works on a checkout, and into the
// environment and HOME what steers it everywhere. The patch must be the same with and without.
func TestPatchesIgnoreAttributes(t *testing.T) {
	scratchTemp(t)
	from := tree(t, file("a.txt", "one\r\ntwo\r\n$Id$\n"), file("b.bin", "\x00"), file("plain", "x\n"))
	to := tree(t, file("a.txt", "one\r\n2\n$Id: x$\n"), file("b.bin", "\x00\x01"), exe("plain", "x\n"))
	clean := string(roundTrip(t, from, to))

	home := t.TempDir()
	marker := filepath.Join(home, "ran")
	driver := filepath.Join(home, "driver")
	if err := os.WriteFile(driver, []byte("#!/bin/sh\ntouch "+marker+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("[diff]\n\texternal = %[1]s\n\tnoprefix = true\n\tmnemonicPrefix = true\n[diff \"x\"]\n\tcommand = %[1]s\n\ttextconv = %[1]s\n"+
		"[filter \"x\"]\n\tclean = %[1]s\n\tsmudge = %[1]s\n\trequired = true\n[core]\n\tautocrlf = true\n\tfsmonitor = %[1]s\n\thooksPath = %[2]s\n\tattributesFile = %[2]s/attr\n[apply]\n\twhitespace = fix\n", driver, home)
	for name, data := range map[string]string{".gitconfig": config, "attr": "* diff=x filter=x\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("GIT_EXTERNAL_DIFF", driver)
	t.Setenv("GIT_DIR", home)
	t.Setenv("GIT_DIFF_OPTS", "-u0")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "diff.external")
	t.Setenv("GIT_CONFIG_VALUE_0", driver)
	for _, attributes := range []string{
		"* diff=x\n", "* filter=x\n", "* text eol=crlf\n", "* text eol=lf\n", "* text=auto\n", "* -text\n", "* binary\n", "* -diff\n", "* ident\n",
		"* export-ignore\n", "* working-tree-encoding=UTF-16\n", "* whitespace=trailing-space,cr-at-eol,tab-in-indent\n", "[attr]x diff=x\n* x\n",
	} {
		steer := tree(t, file(".gitattributes", attributes), file("sub/.gitattributes", attributes), file(".gitconfig", config), file("config", config),
			file("info/attributes", attributes), file(".gitmodules", "[submodule \"a\"]\n\tpath = a\n\turl = /\n"))
		// Different on both sides, or else they would not get as far as git.
		more := tree(t, file(".gitattributes", attributes+"#\n"), file("sub/.gitattributes", attributes+"#\n"), file("info/attributes", attributes+"#\n"))
		got := string(roundTrip(t, from.Overlay(steer), to.Overlay(steer).Overlay(more)))
		for _, part := range strings.SplitAfter(clean, "diff --git ")[1:] {
			if part = strings.TrimSuffix(part, "diff --git "); !strings.Contains(got, part) {
				t.Errorf("%q: the patch is\n%s\nand lacks\n%s", attributes, got, part)
			}
		}
		roundTrip(t, from, to.Overlay(steer))
	}
	if _, err := os.Lstat(marker); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a command of the configuration was run")
	}
}

func TestDiffLeavesOutWhatGitDoesNotKnow(t *testing.T) {
	scratchTemp(t)
	a := tree(t, tare.File{Path: "f", Mode: 0o600, Data: []byte("x")}, file("sub/.git/config", "a"), dir("empty"), dir("up/inner"), dir("self"), file("g", "x\n"))
	b := tree(t, tare.File{Path: "f", Mode: 0o644, Data: []byte("x")}, file("sub/.GIT/config", "b"), file("g", "x\n"))
	patch, err := Diff(t.Context(), a, b)
	if err != nil || len(patch) > 0 {
		t.Errorf("got %q, %v", patch, err)
	}
	// And Apply keeps them.
	patch, err = Diff(t.Context(), a, a.Overlay(tree(t, file("g", "y\n"), file("empty/now/not", "\n"), file("up", "\n"), file("self", "\n"))))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Apply(t.Context(), a, patch)
	if err != nil {
		t.Fatal(err)
	}
	want := a.Overlay(tree(t, file("g", "y\n"), file("empty/now/not", "\n"), file("up", "\n"), file("self", "\n")))
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestApplyKeepsPermissions(t *testing.T) {
	scratchTemp(t)
	base := tree(t, tare.File{Path: "f", Mode: 0o600, Data: []byte("x\n")}, tare.File{Path: "g", Mode: 0o444, Data: []byte("x\n")}, tare.File{Path: "h", Mode: 0o700, Data: []byte("x\n")})
	patch, err := Diff(t.Context(), base, tree(t, file("f", "y\n"), exe("g", "x\n"), file("h", "x\n")))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Apply(t.Context(), base, patch)
	if err != nil {
		t.Fatal(err)
	}
	want := tree(t, tare.File{Path: "f", Mode: 0o600, Data: []byte("y\n")}, exe("g", "x\n"), file("h", "x\n"))
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

const (
	newFile   = "diff --git a/%[1]s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+x\n"
	linkToEtc = "diff --git a/a b/a\nnew file mode 120000\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n"
)

// headless is linkToEtc without the line that says that the file is new, which git 2.39 aborts at.
var headless = strings.Replace(linkToEtc, "new file mode 120000", "n", 1)

func TestApplyRefuses(t *testing.T) {
	scratchTemp(t)
	base := tree(t, file("f.py", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"), link("etc", "/etc"), file("x", "x\n"))
	for name, tt := range map[string]struct {
		patch string
		file  string
		line  int
		want  string
	}{
		"up":                 {fmt.Sprintf(newFile, "../out"), "../out", 0, "invalid path"},
		"inner up":           {fmt.Sprintf(newFile, "d/../../out"), "d/../../out", 0, "invalid path"},
		"absolute":           {fmt.Sprintf(newFile, "/out"), "/out", 0, "invalid path"},
		"git":                {fmt.Sprintf(newFile, ".git/hooks/x"), ".git/hooks/x", 0, "invalid path"},
		"git in capitals":    {fmt.Sprintf(newFile, "sub/.GIT/x"), "sub/.GIT/x", 0, "invalid path"},
		"through a link":     {fmt.Sprintf(newFile, "etc/passwd"), "etc/passwd", 0, "beyond a symbolic link"},
		"through a new link": {linkToEtc + fmt.Sprintf(newFile, "a/passwd"), "a/passwd", 0, "beyond a symbolic link"},
		"link afterwards":    {fmt.Sprintf(newFile, "a/passwd") + linkToEtc, "a/passwd", 0, "beyond a symbolic link"},
		"through a file":     {fmt.Sprintf(newFile, "x/y"), "x/y", 0, ""},
		"over what is there": {fmt.Sprintf(newFile, "x"), "x", 0, "already exists"},
		"wrong context":      {"--- a/f.py\n+++ b/f.py\n@@ -2,3 +2,3 @@\n 2\n-THREE\n+3\n 4\n", "f.py", 2, "patch failed"},
		"second hunk":        {"--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n@@ -7,2 +7,2 @@\n-seven\n+7\n 8\n", "f.py", 7, "patch failed"},
		"no such file":       {"--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n", "none", 0, "does not exist in index"},
		"not a patch":        {"hello\n", "", 0, "No valid patches"},
		"cut short":          {"--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@\n-1\n", "", 5, "corrupt patch"},
		"submodule":          {"diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit 0123456789012345678901234567890123456789\n", "s", 0, "neither a file nor a link"},
		"half":               {fmt.Sprintf(newFile, "good") + fmt.Sprintf(newFile, "../bad"), "../bad", 0, "invalid path"},
		"git's assertion":    {headless + fmt.Sprintf(newFile, "a/x"), "", 0, "Assertion"},
		"link to nothing":    {"diff --git a/a b/a\nnew file mode 120000\n", "", 0, "cannot be stored"},
		"bomb":               {bomb, "", 0, "memory"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Apply(t.Context(), base, []byte(tt.patch))
			var pe *PatchError
			if !errors.As(err, &pe) || got != nil {
				t.Fatalf("got %v, %v", got, err)
			}
			if pe.File != tt.file || pe.Line != tt.line || !strings.Contains(pe.Error(), tt.want) {
				t.Errorf("got %q line %d: %v; want %q line %d with %q", pe.File, pe.Line, pe, tt.file, tt.line, tt.want)
			}
		})
	}
}

// bomb is a binary patch that says it unfolds to six gigabytes, which git would try to make room for.
const bomb = "diff --git a/z b/z\nnew file mode 100644\nindex 0000000000000000000000000000000000000000..0123456789012345678901234567890123456789\n" +
	"GIT binary patch\nliteral 6442450944\nKcmZQzfB*mg00000\n\nliteral 0\nHcmV?d00001\n\n"

func TestPatchesStop(t *testing.T) {
	scratchTemp(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("asked to stop")
	cancel(why)
	if _, err := Diff(ctx, tree(t, file("a", "x")), nil); !errors.Is(err, why) {
		t.Errorf("Diff: %v", err)
	}
	_, err := Apply(ctx, tree(t, file("a", "x")), fmt.Appendf(nil, newFile, "b"))
	var pe *PatchError
	if !errors.Is(err, why) || errors.As(err, &pe) {
		t.Errorf("Apply: %v", err)
	}
}

// trees draws small trees over few names and contents, so that files, links and directories often stand where another
// tree has something else.
func trees(seed tare.Tree) *rapid.Generator[tare.Tree] {
	name := rapid.SampledFrom([]string{"a", "b", "c d", "\xff", "new\nline", "é", "a.b", "-", "\"q\"", "back\\slash", "\t"})
	data := rapid.OneOf(
		rapid.SampledFrom([]string{"", "\n", "one\ntwo\nthree\n", "one\r\ntwo\r\nthree\r\n", "one\ntwo\nthree", "\x00", "diff --git a/a b/a\n", "@@ -1 +1 @@\n", "\\ No newline at end of file\n", "b\n", "../a"}),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"one\n", "two\n", "three\n", "\n", "x\r\n", "end"}), 0, 30), func(l []string) string { return strings.Join(l, "") }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 200), func(b []byte) string { return string(b) }),
	)
	return rapid.Custom(func(t *rapid.T) tare.Tree {
		out := seed
		for range rapid.IntRange(0, 8).Draw(t, "files") {
			p := strings.Join(rapid.SliceOfN(name, 1, 3).Draw(t, "path"), "/")
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				out = out.Overlay(tare.Tree{exe(p, data.Draw(t, "data"))})
			case 1:
				to := strings.ReplaceAll(data.Draw(t, "target"), "\x00", "0")
				out = out.Overlay(tare.Tree{link(p, to+"x")})
			case 2:
				out = out.Without(p)
			default:
				out = out.Overlay(tare.Tree{file(p, data.Draw(t, "data"))})
			}
		}
		return out
	})
}

func TestPatchProperty(t *testing.T) {
	scratchTemp(t)
	rapid.Check(t, func(t *rapid.T) {
		a := trees(nil).Draw(t, "a")
		b := trees(a).Draw(t, "b")
		roundTrip(t, a, b)
	})
}

func TestReadProperty(t *testing.T) {
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		want := trees(nil).Draw(t, "tree")
		n++
		d := filepath.Join(base, fmt.Sprint(n))
		if err := Lay(d, want, asIs); err != nil {
			t.Fatal(err)
		}
		got, err := Read(d, ReadLimits{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
		if err := (&Workspace{Dir: d}).Remove(); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzApply looks for a patch whose result is not a tree, holds a repository's files, leaves the directory that it is laid
// out in, or is no longer found when the difference that it made is taken as a patch in turn.
func FuzzApply(f *testing.F) {
	base := tree(f, file("f.py", "1\n2\n3\n"), link("etc", "/etc"), link("up", ".."), file("d/x", "x\n"), exe("run", "#!/bin/sh\n"), dir("empty"))
	for _, p := range []string{"../out", "/out", "d/../../out", "etc/passwd", "up/out", ".git/hooks/x", "d/.GIT/x", "\"\\056\\056/out\"", "f.py/x", "empty", "c:\\x", "git~1/x"} {
		f.Add(fmt.Appendf(nil, newFile, p))
		f.Add([]byte(linkToEtc + fmt.Sprintf(newFile, p)))
		f.Add(fmt.Appendf(nil, "diff --git a/f.py b/%[1]s\nsimilarity index 100%%\nrename from f.py\nrename to %[1]s\n", p))
		f.Add(fmt.Appendf(nil, "--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1 @@\n-1\n+2\n", p))
	}
	f.Add([]byte(bomb))
	f.Add([]byte(headless + fmt.Sprintf(newFile, "a/x")))
	f.Add([]byte("diff --git a/etc b/etc\ndeleted file mode 120000\n--- a/etc\n+++ /dev/null\n@@ -1 +0,0 @@\n-/etc\n\\ No newline at end of file\n" + fmt.Sprintf(newFile, "etc/passwd")))
	f.Fuzz(func(t *testing.T, patch []byte) {
		tmp := t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := Apply(ctx, base, patch)
		if err != nil {
			var pe *PatchError
			if !errors.As(err, &pe) {
				t.Fatalf("%q: %v", patch, err)
			}
			return
		}
		for _, e := range got {
			if inDotGit(e.Path) {
				t.Fatalf("%q writes %q", patch, e.Path)
			}
		}
		if err := Lay(filepath.Join(tmp, "tree"), got, asIs); err != nil {
			t.Fatalf("%q: %v", patch, err)
		}
		if left, err := os.ReadDir(tmp); err != nil || len(left) != 1 {
			t.Fatalf("%q wrote outside: %v, %v", patch, left, err)
		}
		back, err := Read(filepath.Join(tmp, "tree"), ReadLimits{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(got, back, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%q: %s", patch, d)
		}
		if slices.ContainsFunc(got, func(f tare.File) bool { return strings.Contains(f.Path, " /") }) {
			return // see Diff
		}
		diff, err := Diff(ctx, base, got)
		if err != nil {
			t.Fatalf("%q: %v", patch, err)
		}
		again, err := Apply(ctx, base, diff)
		if d := cmp.Diff(got, again, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Fatalf("%q makes a difference of %q, and that %v %s", patch, diff, err, d)
		}
	})
}
