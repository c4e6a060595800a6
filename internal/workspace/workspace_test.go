package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare"
)

func file(p, data string) tare.File { return tare.File{Path: p, Mode: 0o644, Data: []byte(data)} }
func exe(p, data string) tare.File  { return tare.File{Path: p, Mode: 0o755, Data: []byte(data)} }
func link(p, to string) tare.File {
	return tare.File{Path: p, Mode: fs.ModeSymlink | 0o777, Data: []byte(to)}
}
func dir(p string) tare.File { return tare.File{Path: p, Mode: fs.ModeDir | 0o755} }

func tree(t testing.TB, files ...tare.File) tare.Tree {
	t.Helper()
	out, err := tare.NewTree(files)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// odd holds everything that a tool which thinks of files as text, or of names as words, would spoil.
func odd(t testing.TB) tare.Tree {
	return tree(t,
		file("crlf.txt", "one\r\ntwo\r\n"),
		file("latin1.py", "# caf\xe9\n"),
		file("no-final-newline", "end"),
		file("empty", ""),
		file("binary", "\x00\x01\xff\x00"),
		file("a.b", "sorts before a/b, though its directory comes first"),
		file("a/b", "x"),
		file("new\nline", "x"),
		file("not-utf8-\xff\xfe", "x"),
		file("back\\slash", "x"),
		file(" space ", "x"),
		file("-rf", "x"),
		exe("bin/run", "#!/bin/sh\n"),
		tare.File{Path: "private", Mode: 0o600, Data: []byte("x")},
		tare.File{Path: "read-only", Mode: 0o444, Data: []byte("x")},
		link("link", "a/b"),
		link("dangling", "/nowhere/\xff"),
		link("loop/self", "../loop"),
		dir("hollow/inner"),
	)
}

func mustLay(t testing.TB, files tare.Tree) string {
	t.Helper()
	d := filepath.Join(t.TempDir(), "tree")
	if err := Lay(d, files, asIs); err != nil {
		t.Fatal(err)
	}
	return d
}

func mustNew(t testing.TB, base tare.Tree) *Workspace {
	t.Helper()
	w, err := New(t.Context(), filepath.Join(t.TempDir(), "w"), base, asIs)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// play does to a workspace what an agent might, with a shell in it.
func play(t testing.TB, w *Workspace, script string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "/bin/sh", "-euc", script)
	c.Dir = w.Dir
	c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestLayThenRead(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	want := odd(t)
	got, err := Read(mustLay(t, want), ReadLimits{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

func TestLayRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		tree tare.Tree
		want string
	}{
		"through a link":  {tare.Tree{link("a", "/tmp"), file("a/b", "x")}, "something lies below it"},
		"through a file":  {tare.Tree{file("a", ""), file("a/b", "x")}, "something lies below it"},
		"absolute":        {tare.Tree{file("/a", "")}, "not a clean relative path"},
		"up":              {tare.Tree{file("../a", "")}, "not a clean relative path"},
		"inner up":        {tare.Tree{file("b/../../a", "")}, "not a clean relative path"},
		"twice":           {tare.Tree{file("a", ""), file("a", "")}, "occurs twice"},
		"device":          {tare.Tree{{Path: "a", Mode: fs.ModeDevice | 0o644}}, "neither file nor directory"},
		"pipe":            {tare.Tree{{Path: "a", Mode: fs.ModeNamedPipe | 0o644}}, "neither file nor directory"},
		"target with NUL": {tare.Tree{link("a", "x\x00y")}, "cannot be stored"},
		"empty target":    {tare.Tree{link("a", "")}, "cannot be stored"},
	} {
		t.Run(name, func(t *testing.T) {
			d := filepath.Join(t.TempDir(), "tree")
			err := Lay(d, tt.tree, asIs)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
			if left, _ := os.ReadDir(d); len(left) > 0 {
				t.Errorf("wrote %v", left)
			}
		})
	}
	t.Run("not empty", func(t *testing.T) {
		d := t.TempDir()
		outside := t.TempDir()
		if err := os.Symlink(outside, filepath.Join(d, "a")); err != nil {
			t.Fatal(err)
		}
		if err := Lay(d, tree(t, file("a/b", "x")), asIs); err == nil {
			t.Error("laid out over what was there")
		}
		if left, _ := os.ReadDir(outside); len(left) > 0 {
			t.Errorf("wrote %v through a link", left)
		}
		if err := Lay(d, tree(t, file("unrelated", "x")), asIs); err == nil {
			t.Error("laid out beside what was there")
		}
	})
}

func TestCanonicalDropsWhatIsImplied(t *testing.T) {
	got, err := Canonical(tare.Tree{
		{Path: "d", Mode: fs.ModeDir | 0o700}, file("d/f", "x"),
		{Path: "l", Mode: fs.ModeSymlink, Data: []byte("d")},
		{Path: "s", Mode: fs.ModeSetuid | 0o755},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := tree(t, file("d/f", "x"), link("l", "d"), tare.File{Path: "s", Mode: 0o755})
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

func TestLayGivesAllToOwner(t *testing.T) {
	o := Owner{os.Geteuid(), os.Getegid()}
	if o.UID == 0 {
		o = Owner{65534, 65533} // only root can give files away; others can only give them to themselves
	}
	w, err := New(t.Context(), filepath.Join(t.TempDir(), "w"), odd(t), o)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = filepath.WalkDir(w.Dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n++
		if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != o.UID || int(st.Gid) != o.GID {
			t.Errorf("%s belongs to %d:%d", p, st.Uid, st.Gid)
		}
		return nil
	})
	if err != nil || n < 30 {
		t.Fatalf("walked %d entries: %v", n, err)
	}
}

// TestFirstCommit asks git itself what it thinks of the repository that was written without it.
func TestFirstCommit(t *testing.T) {
	for name, base := range map[string]tare.Tree{
		"odd":         odd(t).Without("hollow"),
		"empty":       nil,
		"ignored":     tree(t, file(".gitignore", "*.log\n"), file("a.log", "x")),
		"sorting":     tree(t, file("a-b/x", ""), file("a/x", ""), file("a.c", ""), file("a/y/z", ""), file("a0", "")),
		"same twice":  tree(t, file("a", "same"), file("b/a", "same"), file("c/a", "same")),
		"long a path": tree(t, file(strings.Repeat(strings.Repeat("d", 200)+"/", 15)+strings.Repeat("f", 200), "x")),
		"attributes":  tree(t, file(".gitattributes", "* -text\n"), file("a", "x\r\n")),
	} {
		t.Run(name, func(t *testing.T) {
			w := mustNew(t, base)
			play(t, w, `
				git fsck --strict --full 2>&1 | grep -v '^notice: ' && exit 1
				test -z "$(git status --porcelain --ignored)"
				test "$(git log --all --format='%an %ae %ad %cn %ce %cd %s' --date=unix)" = "dev dev@localhost 1704067200 dev dev@localhost 1704067200 Initial commit"
				test "$(git ls-files -z | tr '\0' '\n' | wc -l)" = "$(git ls-tree -r -z HEAD | tr '\0' '\n' | wc -l)"
				git diff-index --cached --quiet HEAD`)
			out := filepath.Join(t.TempDir(), "out")
			play(t, w, "git clone -q . "+out)
			got, err := Read(out, ReadLimits{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(gitView(w.Base), gitView(got), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("a clone differs: %s", d)
			}
		})
	}
}

// gitView is t with the permissions that git keeps.
func gitView(t tare.Tree) tare.Tree {
	out := tare.Tree{}
	for _, f := range t {
		switch gitMode(f.Mode) {
		case gitFile:
			f.Mode = 0o644
		case gitExec:
			f.Mode = 0o755
		}
		out = append(out, f)
	}
	return out
}

func TestFirstCommitTellsNothing(t *testing.T) {
	a, b := mustNew(t, tree(t, file("a", "1"))), mustNew(t, tree(t, file("a", "1")))
	skip := ReadLimits{Skip: []string{}}
	ta, err := Read(a.Dir, skip)
	if err != nil {
		t.Fatal(err)
	}
	tb, err := Read(b.Dir, skip)
	if err != nil {
		t.Fatal(err)
	}
	if ta.Digest() != tb.Digest() {
		t.Error("two workspaces of one base differ")
	}
}

func TestNewRefusesDotGit(t *testing.T) {
	for _, p := range []string{".git/hooks/pre-commit", ".git", "sub/.GIT/config", ".Git/x"} {
		d := filepath.Join(t.TempDir(), "w")
		if _, err := New(t.Context(), d, tree(t, file(p, "x")), asIs); err == nil {
			t.Errorf("%s: no error", p)
		}
	}
}

var agentBase = []tare.File{
	file("src/a.py", "one\ntwo\nthree\n"), file("src/b.py", "b\n"), exe("run.sh", "#!/bin/sh\n"),
	file(".gitignore", "*.log\nbuild/\n"), file("crlf.txt", "a\r\nb\r\n"), link("l", "src/a.py"),
}

// TestSnapshotSeesWhatAgentsDo holds one case for each thing that hides a change from "git diff" in the workspace.
func TestSnapshotSeesWhatAgentsDo(t *testing.T) {
	changed := func(p, data string) tare.Tree { return tree(t, file(p, data)) }
	for name, tt := range map[string]struct {
		script string
		over   tare.Tree // what is new or differs
		gone   []string
	}{
		"nothing":          {"true", nil, nil},
		"edit":             {"echo x > src/a.py", changed("src/a.py", "x\n"), nil},
		"new":              {"mkdir new; echo x > new/f", changed("new/f", "x\n"), nil},
		"ignored":          {"mkdir build; echo x > build/f; echo y > y.log", tree(t, file("build/f", "x\n"), file("y.log", "y\n")), nil},
		"delete":           {"rm src/b.py", nil, []string{"src/b.py"}},
		"rename":           {"git mv src/b.py src/c.py", changed("src/c.py", "b\n"), []string{"src/b.py"}},
		"mode":             {"chmod 755 src/b.py; chmod 600 run.sh", tree(t, exe("src/b.py", "b\n"), tare.File{Path: "run.sh", Mode: 0o600, Data: []byte("#!/bin/sh\n")}), nil},
		"binary":           {`printf '\0\377' > bin`, changed("bin", "\x00\xff"), nil},
		"no newline":       {"printf end > src/b.py", changed("src/b.py", "end"), nil},
		"line endings":     {`printf 'a\nb\n' > crlf.txt`, changed("crlf.txt", "a\nb\n"), nil},
		"file to link":     {"ln -sf /etc/passwd src/b.py", tree(t, link("src/b.py", "/etc/passwd")), nil},
		"link to file":     {"rm l; echo x > l", changed("l", "x\n"), nil},
		"file to dir":      {"rm src/b.py; mkdir src/b.py; echo x > src/b.py/f", changed("src/b.py/f", "x\n"), []string{"src/b.py"}},
		"link to dir":      {"ln -s /etc etc", tree(t, link("etc", "/etc")), nil},
		"link loop":        {"ln -s . here; ln -s .. src/up", tree(t, link("here", "."), link("src/up", "..")), nil},
		"commit":           {"echo x > src/a.py; git add -A; git commit -qm done", changed("src/a.py", "x\n"), nil},
		"branch":           {"git switch -qc other; echo x > src/a.py; git commit -qam done", changed("src/a.py", "x\n"), nil},
		"stash":            {"echo x > src/a.py; git stash -q; echo z > z", changed("z", "z\n"), nil},
		"stash and back":   {"echo x > src/a.py; git stash -q; git stash pop -q", changed("src/a.py", "x\n"), nil},
		"amend":            {"echo x > src/a.py; git commit -q --amend -am other", changed("src/a.py", "x\n"), nil},
		"no git any more":  {"rm -rf .git; echo x > src/a.py", changed("src/a.py", "x\n"), nil},
		"another git":      {"rm -rf .git; git init -q; echo x > src/a.py; git add -A; git -c user.name=a -c user.email=b commit -qm 'Initial commit'", changed("src/a.py", "x\n"), nil},
		"git is a file":    {"rm -rf .git; echo gitdir: /etc > .git; echo x > src/a.py", changed("src/a.py", "x\n"), nil},
		"git is a link":    {"rm -rf .git; ln -s /etc .git; echo x > src/a.py", changed("src/a.py", "x\n"), nil},
		"nested repo":      {"mkdir sub; cd sub; git init -q; echo x > f; git add f; git -c user.name=a -c user.email=b commit -qm x", changed("sub/f", "x\n"), nil},
		"assume unchanged": {"git update-index --assume-unchanged src/a.py; echo x > src/a.py", changed("src/a.py", "x\n"), nil},
		"exclude":          {"mkdir -p .git/info; echo '*' > .git/info/exclude; echo x > new", changed("new", "x\n"), nil},
		"attributes":       {"echo '* -diff text eol=lf filter=x' > .gitattributes; git config filter.x.clean 'echo gone'; git config core.autocrlf true; printf 'x\\r\\n' > src/a.py", tree(t, file(".gitattributes", "* -diff text eol=lf filter=x\n"), file("src/a.py", "x\r\n")), nil},
		"hooks":            {"mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch /tmp/tare-hook-ran\\n' > .git/hooks/post-index-change; chmod +x .git/hooks/*; git config core.fsmonitor .git/hooks/post-index-change; echo x > src/a.py", changed("src/a.py", "x\n"), nil},
		"odd names":        {`printf x > "$(printf 'a\nb')"; printf x > "$(printf '\377\376')"; printf x > -rf`, tree(t, file("a\nb", "x"), file("\xff\xfe", "x"), file("-rf", "x")), nil},
		"read-only dir":    {"mkdir ro; echo x > ro/f; chmod 555 ro", changed("ro/f", "x\n"), nil},
		"empty dir":        {"mkdir -m 750 e", tree(t, tare.File{Path: "e", Mode: fs.ModeDir | 0o750}), nil},
		"hard link":        {"ln src/b.py src/c.py", changed("src/c.py", "b\n"), nil},
		"everything gone":  {"find . -mindepth 1 -delete", nil, []string{"."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := mustNew(t, tree(t, agentBase...))
			play(t, w, tt.script)
			got, err := w.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			want := w.Base.Without(tt.gone...).Overlay(tt.over)
			if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
			changes, err := w.Changes()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(w.Base.Changes(want), changes); d != "" {
				t.Error(d)
			}
			if err := w.Remove(); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(w.Dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("still there: %v", err)
			}
		})
	}
}

// TestReadLeavesOut shows that what cannot be taken is named, costs nothing, and does not hide the rest.
func TestReadLeavesOut(t *testing.T) {
	deep := strings.Repeat("d/", maxDepth+1)
	for name, tt := range map[string]struct {
		script string
		limits ReadLimits
		path   string
		reason string
	}{
		"pipe":         {script: "mkfifo p", path: "p", reason: "a named pipe"},
		"pipe in .git": {script: "rm .git/HEAD; mkfifo .git/HEAD; mkfifo p", path: "p", reason: "a named pipe"},
		"sparse":       {script: "truncate -s 10G huge", path: "huge", reason: "larger than"},
		"big":          {script: "head -c 11 /dev/zero > f", limits: ReadLimits{FileBytes: 10}, path: "f", reason: "larger than"},
		"much":         {script: "head -c 50 /dev/zero > z", limits: ReadLimits{Bytes: 12}, path: "z", reason: "more content in all"},
		"many":         {script: "i=0; while [ $i -lt 60 ]; do : > f$i; i=$((i+1)); done", limits: ReadLimits{Files: 50}, path: ".", reason: "more entries"},
		"many dirs":    {script: "mkdir d; cd d; i=0; while [ $i -lt 60 ]; do mkdir d$i; i=$((i+1)); done", limits: ReadLimits{Files: 50}, path: "d", reason: "more entries"},
		"many in all":  {script: "for d in a b; do mkdir $d; i=0; while [ $i -lt 30 ]; do : > $d/f$i; i=$((i+1)); done; done", limits: ReadLimits{Files: 50}, path: "b", reason: "more entries"},
		"deep":         {script: "mkdir -p " + deep, path: strings.TrimSuffix(deep, "/"), reason: "directories deep"},
	} {
		t.Run(name, func(t *testing.T) {
			w := mustNew(t, tree(t, file("a.py", "kept\n")))
			w.Limits = tt.limits
			play(t, w, tt.script)
			got, err := w.Snapshot()
			out, bad := LeftOut(err)
			if bad != nil {
				t.Fatal(bad)
			}
			if !slices.ContainsFunc(out, func(o Omission) bool { return o.Path == tt.path && strings.Contains(o.Reason, tt.reason) }) {
				t.Errorf("left out %+v, want %s: %s", out, tt.path, tt.reason)
			}
			if f, ok := got.Lookup("a.py"); !ok || string(f.Data) != "kept\n" {
				t.Errorf("lost a.py: %+v", got)
			}
			if _, ok := got.Lookup(tt.path); ok {
				t.Errorf("%s is in the tree", tt.path)
			}
			if _, err := w.Changes(); err == nil {
				t.Error("Changes does not say that something was left out")
			}
			if err := w.Remove(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("socket", func(t *testing.T) {
		d := t.TempDir()
		s, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(s)
		if err := syscall.Bind(s, &syscall.SockaddrUnix{Name: filepath.Join(d, "s")}); err != nil {
			t.Fatal(err)
		}
		_, err = Read(d, ReadLimits{})
		if out, _ := LeftOut(err); len(out) != 1 || out[0].Reason != "a socket" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("long list", func(t *testing.T) {
		d := t.TempDir()
		for i := range maxOmissions + 5 {
			if err := syscall.Mkfifo(filepath.Join(d, fmt.Sprint(i)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Read(d, ReadLimits{})
		var omitted *OmittedError
		if !errors.As(err, &omitted) || len(omitted.Omissions) != maxOmissions || omitted.More != 5 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no directory", func(t *testing.T) {
		_, err := Read(filepath.Join(t.TempDir(), "none"), ReadLimits{})
		if _, bad := LeftOut(err); !errors.Is(bad, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
}

// TestReadSame puts other things in the place of a file between the look and the read, as a live process might.
func TestReadSame(t *testing.T) {
	for name, swap := range map[string]func(p string) error{
		"link": func(p string) error { return errors.Join(os.Remove(p), os.Symlink("other", p)) },
		"pipe": func(p string) error { return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o600)) },
		"file": func(p string) error { return os.Rename(filepath.Join(filepath.Dir(p), "other"), p) },
		"more": func(p string) error { return os.WriteFile(p, []byte("longer than before"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			d := mustLay(t, tree(t, file("f", "x"), file("other", "y")))
			root, err := os.OpenRoot(d)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			info, err := root.Lstat("f")
			if err != nil {
				t.Fatal(err)
			}
			if err := swap(filepath.Join(d, "f")); err != nil {
				t.Fatal(err)
			}
			if got, err := readSame(root, "f", info); !errors.Is(err, errChanged) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestReadSkips(t *testing.T) {
	d := mustLay(t, tree(t, file("a/.GIT/x", ""), file(".git", ""), file("a/__pycache__/x", ""), file("a/f", "")))
	for _, tt := range []struct {
		skip []string
		want []string
	}{
		{nil, []string{"a/__pycache__/x", "a/f"}},
		{[]string{}, []string{".git", "a/.GIT/x", "a/__pycache__/x", "a/f"}},
		{[]string{".git", "__pycache__"}, []string{"a/f"}},
	} {
		got, err := Read(d, ReadLimits{Skip: tt.skip})
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, f := range got {
			paths = append(paths, f.Path)
		}
		if d := cmp.Diff(tt.want, paths); d != "" {
			t.Errorf("skip %q: %s", tt.skip, d)
		}
	}
}

// TestRemoveDeep removes a tree that is deeper than a process can have descriptors.
func TestRemoveDeep(t *testing.T) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	w := mustNew(t, nil)
	// From inside, as the whole path would be too long.
	play(t, w, "chmod 500 .git; p=tare-remove-0/"+strings.Repeat("d/", 100)+"; for i in 1 2 3 4; do mkdir -p $p; : > f; mkdir e; ln -s / out; cd -P $p; done")
	few := syscall.Rlimit{Cur: 200, Max: old.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	err := os.RemoveAll(w.Dir)
	got := w.Remove()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err == nil {
		t.Error("the tree is not deep enough to show anything")
	}
	if _, err := os.Lstat(w.Dir); got != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v; then %v", got, err)
	}
}

// TestRemove runs as an unprivileged user where that makes a difference: root needs no permission to delete.
func TestRemove(t *testing.T) {
	if os.Geteuid() == 0 {
		removeAs(t, 65534)
		return
	}
	w := mustNew(t, tree(t, agentBase...))
	play(t, w, "mkdir -p x/y/z; : > x/y/z/f; ln -s / x/y/out; chmod 000 x/y/z; chmod 500 x/y src; chmod 000 x; chmod 500 .")
	if err := w.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(w.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	if err := w.Remove(); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
}

// removeAs runs TestRemove again in a process of user uid, from a copy of this test that it can reach.
func removeAs(t *testing.T, uid uint32) {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	d, err := os.MkdirTemp("/var/tmp", "tare-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(d) })
	bin := filepath.Join(d, "test")
	if err := errors.Join(os.WriteFile(bin, self, 0o755), os.Chown(d, int(uid), int(uid))); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), bin, "-test.run=^TestRemove$", "-test.v")
	c.Dir, c.Env = d, []string{"TMPDIR=" + d, "PATH=/usr/bin:/bin"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := c.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestRemove")) {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestSnapshotOfAHeap shows that what is piled up elsewhere does not use up the limits of what the work is about.
func TestSnapshotOfAHeap(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	base := tree(t, tare.File{Path: "src/a.py", Mode: 0o644, Data: []byte("1")}, tare.File{Path: "tests/test_a.py", Mode: 0o644, Data: []byte("2")}, tare.File{Path: "z", Mode: 0o644})
	w, err := New(t.Context(), dir, base, Owner{os.Geteuid(), os.Getegid()})
	if err != nil {
		t.Fatal(err)
	}
	put := func(p, text string) {
		t.Helper()
		p = filepath.Join(dir, filepath.FromSlash(p))
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		put(fmt.Sprintf(".cache/x/%d", i), "x")
		put(fmt.Sprintf("src/.cache/%d", i), strings.Repeat("x", 100))
	}
	put("src/a.py", "3")
	put("src/b.py", "4")
	put("tests/test_b.py", "5")
	w.Limits = ReadLimits{Files: 20, Bytes: 1000}
	got, err := w.Snapshot()
	if _, bad := LeftOut(err); bad != nil || err == nil {
		t.Fatalf("%v, want what was left out", err)
	}
	for p, want := range map[string]string{"src/a.py": "3", "src/b.py": "4", "tests/test_a.py": "2", "tests/test_b.py": "5", "z": ""} {
		if f, ok := got.Lookup(p); !ok || string(f.Data) != want {
			t.Errorf("%s is %q, %v", p, f.Data, ok)
		}
	}
	if len(got) > 20 {
		t.Errorf("%d entries", len(got))
	}
}
