package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/workspace"
)

// FuzzPaths hands any path to every tool that takes one, in a workspace with links in it, one of which leads wherever the
// fuzzer says. Nothing outside is read or changed, nor is .git; what a tool says it wrote is there and can be read; and no
// mistake of the agent's is taken for one of ours.
func FuzzPaths(f *testing.F) {
	for i, p := range hostile {
		f.Add(p, hostile[(i*7)%len(hostile)], "owned")
	}
	for i, p := range []string{"src/shop/stock.py", "new/dir/file.py", "away/secret", "away/new", "inside/new.py", "alias", "loop/x", "fuzzed", "fuzzed/secret", "fuzzed/../outside/secret", "README.md/x", "run"} {
		targets := []string{"../outside", "/etc", "../outside/secret", "src", ".git", "fuzzed", "/proc/self/root/etc", ".", "..", "/"}
		f.Add(p, targets[i%len(targets)], "owned\n")
		f.Add(p, targets[(i*3+4)%len(targets)], "")
	}
	const secret = "nobody-in-here-knows-8f14e45f"
	f.Fuzz(func(t *testing.T, p, to, content string) {
		if strings.Contains(content+p+to, secret) || len(content) > 1<<12 {
			return
		}
		b := newBench(t, nil)
		defer os.RemoveAll(filepath.Dir(b.outside))
		if err := os.WriteFile(filepath.Join(b.outside, "secret"), []byte(secret), 0o666); err != nil {
			t.Fatal(err)
		}
		dir := b.cfg.Workspace.Dir
		for name, to := range map[string]string{"away": "../outside", "absolute": b.outside, "inside": "src/shop", "alias": "README.md", "loop": "loop", "innocent": ".git"} {
			b.link(to, name)
		}
		_ = os.Symlink(to, filepath.Join(dir, "fuzzed")) // some targets cannot be stored
		repo, out := contents(t, filepath.Join(dir, ".git")), contents(t, b.outside)
		before, _, _ := workspaceFiles(t, dir)

		for tool, args := range map[string]map[string]any{
			"read_file": {"path": p}, "search_code": {"query": "8f14e45f", "path": p}, "list_files": {},
		} {
			text, _, _ := b.call(tool, args)
			if strings.Contains(text, secret) || strings.Contains(text, "root:x:0:0") {
				t.Errorf("%s %q with a link to %q shows what is outside: %.300s", tool, p, to, text)
			}
		}
		_, wrote, failed := b.call("write_file", map[string]any{"path": p, "content": content})
		after, changed, gone := workspaceFiles(t, dir, before)
		switch {
		case failed && len(changed)+len(gone) > 0:
			t.Errorf("write_file %q failed, and changed %v, took away %v", p, changed, gone)
		case !failed && len(gone)+len(changed) > 1:
			t.Errorf("write_file %q changed %v, took away %v", p, changed, gone)
		case !failed && len(changed) == 1 && after[changed[0]] != strings.ToValidUTF8(content, "\ufffd"):
			t.Errorf("write_file %q left %q in %s", p, after[changed[0]], changed[0])
		}
		if !failed {
			said, _ := wrote["path"].(string)
			text, _, unread := b.call("read_file", map[string]any{"path": said})
			if first, _, _ := strings.Cut(content, "\n"); unread || !strings.Contains(text, strings.ToValidUTF8(first, "\ufffd")) && len(first) < 100 && printableASCII(first) {
				t.Errorf("write_file %q says that it wrote %q; read_file of that: %.300s", p, said, text)
			}
		}
		if now := contents(t, b.outside); now != out {
			t.Errorf("%q with a link to %q changed what is outside:\n%s\n%s", p, to, out, now)
		}
		if now := contents(t, filepath.Join(dir, ".git")); now != repo {
			t.Errorf("%q with a link to %q changed .git", p, to)
		}
		if len(b.problems) > 0 {
			t.Errorf("%q with a link to %q: the agent's mistake was taken for ours: %v", p, to, b.problems)
		}
	})
}

func printableASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// contents is all that lies below dir, in one text.
func contents(t *testing.T, dir string) string {
	t.Helper()
	tree, err := workspace.Read(dir, workspace.ReadLimits{})
	if err != nil {
		t.Fatal(err)
	}
	return string(tree.Digest())
}

// workspaceFiles is the content of each file below dir, and which are other than before, or no more.
func workspaceFiles(t *testing.T, dir string, before ...map[string]string) (now map[string]string, changed, gone []string) {
	t.Helper()
	tree, err := workspace.Read(dir, workspace.ReadLimits{Skip: []string{".git"}})
	if err != nil {
		t.Fatal(err)
	}
	now = map[string]string{}
	for _, f := range tree {
		if !f.Mode.IsDir() {
			now[f.Path] = string(f.Data)
		}
	}
	for _, was := range before {
		for p, data := range now {
			if old, there := was[p]; !there || old != data {
				changed = append(changed, p)
			}
		}
		for p := range was {
			if _, there := now[p]; !there {
				gone = append(gone, p)
			}
		}
	}
	return now, changed, gone
}
