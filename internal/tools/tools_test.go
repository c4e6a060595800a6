package tools

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
	"tare/internal/check"
	"tare/internal/workspace"
)

var update = flag.Bool("update", false, "write golden files")

// patience bounds what a test waits for; the machine may be busy.
const patience = 2 * time.Minute

// shell is a runner whose test command is a shell script.
type shell struct {
	check.Runner
	script string
}

func (s shell) Command(dir string, sources []string) ([]string, map[string]string) {
	return []string{"/bin/sh", "-c", s.script}, map[string]string{"SRC": dir + "/" + strings.Join(sources, ":")}
}

// A bench is a world over a small workspace, with a client.
type bench struct {
	*World
	t       *testing.T
	client  *mcp.ClientSession
	outside string // a directory beside the workspace

	mu       sync.Mutex
	steps    []tare.Step
	problems []error
}

func seedTree(t *testing.T) tare.Tree {
	t.Helper()
	tree, err := tare.NewTree([]tare.File{
		{Path: "README.md", Mode: 0o644, Data: []byte("# Shop\nfind me\n")},
		{Path: "src/shop/__init__.py", Mode: 0o644},
		{Path: "src/shop/stock.py", Mode: 0o644, Data: []byte("def find(items, q):\n    return [i for i in items if q in i]\n")},
		{Path: "tests/test_stock.py", Mode: 0o644, Data: []byte("from shop.stock import find\n\n\ndef test_find():\n    assert find(['ab'], 'a') == ['ab']\n")},
		{Path: "run", Mode: 0o755, Data: []byte("#!/bin/sh\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// newBench opens a world. alter may be nil.
func newBench(t *testing.T, alter func(*Config)) *bench {
	t.Helper()
	b := &bench{t: t}
	cfg := Config{Sandbox: shared, Runner: shell{script: "exit 0"}, Sources: []string{"src"}}
	cfg.OnStep = func(s tare.Step) { b.mu.Lock(); defer b.mu.Unlock(); b.steps = append(b.steps, s) }
	cfg.OnProblem = func(err error) { b.mu.Lock(); defer b.mu.Unlock(); b.problems = append(b.problems, err) }
	if alter != nil {
		alter(&cfg)
	}
	dir, err := cfg.Sandbox.NewDir("w-*")
	if err != nil {
		t.Fatal(err)
	}
	uid, gid := cfg.Sandbox.Owner()
	if cfg.Workspace == nil {
		cfg.Workspace, err = workspace.New(t.Context(), filepath.Join(dir, "w"), seedTree(t), workspace.Owner{UID: uid, GID: gid})
		if err != nil {
			t.Fatal(err)
		}
	}
	b.outside = filepath.Join(dir, "outside")
	if err := os.Mkdir(b.outside, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.outside, "secret"), []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	b.World, err = New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.World.Close() })
	near, far := mcp.NewInMemoryTransports()
	if _, err := b.server.Connect(t.Context(), near, nil); err != nil {
		t.Fatal(err)
	}
	b.client = connect(t, far, nil)
	return b
}

func connect(t *testing.T, tr mcp.Transport, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), tr, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// call calls a tool. text is all text blocks, with a line between them.
func (b *bench) call(tool string, args map[string]any) (text string, structured map[string]any, failed bool) {
	b.t.Helper()
	return callOn(b.t, b.client, tool, args)
}

func callOn(t *testing.T, c *mcp.ClientSession, tool string, args map[string]any) (text string, structured map[string]any, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if args == nil {
		args = map[string]any{}
	}
	res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	var parts []string
	for _, c := range res.Content {
		parts = append(parts, c.(*mcp.TextContent).Text)
	}
	structured, _ = res.StructuredContent.(map[string]any)
	return strings.Join(parts, "\n"), structured, res.IsError
}

func (b *bench) put(p, content string) {
	b.t.Helper()
	full := filepath.Join(b.cfg.Workspace.Dir, p)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) get(p string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.cfg.Workspace.Dir, p))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func (b *bench) link(target, p string) {
	b.t.Helper()
	if err := os.Symlink(target, filepath.Join(b.cfg.Workspace.Dir, p)); err != nil {
		b.t.Fatal(err)
	}
}

func TestToolsGolden(t *testing.T) {
	b := newBench(t, nil)
	list, err := b.client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"git_diff", "list_files", "read_file", "run_tests", "search_code", "write_file"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	got, err := json.MarshalIndent(list.Tools, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const golden = "testdata/tools.json"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the tools as clients see them changed (-want +got); go test -update writes the new ones:\n%s", diff)
	}
	if strings.Contains(string(got), `"null"`) {
		t.Error("a schema allows null in place of a list")
	}
}

func TestListFiles(t *testing.T) {
	b := newBench(t, nil)
	for _, p := range []string{".pytest_cache/x", "src/__pycache__/a.pyc", ".venv/lib/x.py", "deep/.git/config"} {
		b.put(p, "x")
	}
	b.put("new file.txt", "x")
	b.link("../outside", "away")
	text, got, _ := b.call("list_files", nil)
	want := []any{"README.md", "away", "new file.txt", "run", "src/shop/__init__.py", "src/shop/stock.py", "tests/test_stock.py"}
	if diff := cmp.Diff(want, got["files"]); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	var again []any
	if err := json.Unmarshal([]byte(text), &again); err != nil || !cmp.Equal(want, again) {
		t.Errorf("text is not the same list: %v\n%s", err, text)
	}
}

func TestListIsAlwaysAList(t *testing.T) {
	for n, want := range []string{"[]", "[\n  \"f0\"\n]", "[\n  \"f0\",\n  \"f1\"\n]"} {
		b := newBench(t, nil)
		for _, f := range seedTree(t) {
			if err := os.RemoveAll(filepath.Join(b.cfg.Workspace.Dir, strings.Split(f.Path, "/")[0])); err != nil {
				t.Fatal(err)
			}
		}
		for i := range n {
			b.put(fmt.Sprint("f", i), "")
		}
		text, got, failed := b.call("list_files", nil)
		files, ok := got["files"].([]any)
		if failed || !ok || len(files) != n || text != want {
			t.Errorf("%d files: %q, %#v", n, text, got["files"])
		}
	}
}

func TestListFilesIsBounded(t *testing.T) {
	b := newBench(t, nil)
	for i := range maxListed {
		b.put(fmt.Sprintf("many/%05d", i), "")
	}
	text, got, _ := b.call("list_files", nil)
	if n := len(got["files"].([]any)); n != maxListed || got["truncated"] != true || got["total"] != float64(maxListed+5) || !strings.Contains(text, "[the first 5000 of") {
		t.Errorf("%d files, truncated %v, total %v", n, got["truncated"], got["total"])
	}
}

func TestReadFile(t *testing.T) {
	b := newBench(t, nil)
	crlf := "a\r\nb\r\n"
	for p, content := range map[string]string{
		"data.json": `{"a": [1, 2], "b": "\u00e9"}`,
		"list.json": `["one"]`,
		"number":    "42",
		"empty":     "",
		"crlf":      crlf,
		"noend":     "last line has no newline",
		"odd":       "caf\xe9 <&> \x00 \u2028",
	} {
		b.put(p, content)
		text, got, failed := b.call("read_file", map[string]any{"path": p})
		want := strings.ToValidUTF8(content, "\ufffd")
		if failed || got["content"] != want || !strings.HasPrefix(text, want) || p != "odd" && text != want {
			t.Errorf("%s: text %q, content %q, want %q", p, text, got["content"], want)
		}
		if invalid := got["invalid_utf8"] == true; invalid != (p == "odd") {
			t.Errorf("%s: invalid_utf8 is %v", p, invalid)
		}
		if got["next"] != nil || got["size"] != float64(len(content)) {
			t.Errorf("%s: %v", p, got)
		}
	}
}

func TestReadFilePages(t *testing.T) {
	b := newBench(t, nil)
	long := strings.Repeat("é", 40_000) // one line, beyond a page, of two-byte characters
	content := "first\n" + long + "\n" + strings.Repeat("another line\n", 20_000) + "end"
	b.put("big", content)
	for _, limit := range []int64{0, 1001, 1 << 30} {
		var all strings.Builder
		args := map[string]any{"path": "big", "limit": limit}
		pages := 0
		for {
			_, got, failed := b.call("read_file", args)
			if failed {
				t.Fatalf("limit %d: failed after %d pages", limit, pages)
			}
			page := got["content"].(string)
			if max := float64(limit); limit == 1001 && float64(len(page)) > max || len(page) > maxPage {
				t.Fatalf("limit %d: a page of %d bytes", limit, len(page))
			}
			if want := strings.Count(content[:all.Len()], "\n") + 1; got["first_line"] != float64(want) {
				t.Fatalf("limit %d: page %d begins in line %v, want %d", limit, pages, got["first_line"], want)
			}
			if got["invalid_utf8"] != nil {
				t.Fatalf("limit %d: page %d cuts a character in two", limit, pages)
			}
			if got["next"] != nil && strings.Contains(page, "\n") && !strings.HasSuffix(page, "\n") {
				t.Fatalf("limit %d: page %d does not end where a line does", limit, pages)
			}
			all.WriteString(page)
			pages++
			if got["next"] == nil {
				break
			}
			args["offset"] = int64(got["next"].(float64))
		}
		if all.String() != content {
			t.Errorf("limit %d: the pages together are not the file", limit)
		}
	}

	text, got, _ := b.call("read_file", map[string]any{"path": "big", "line": 3, "limit": 100})
	if !strings.HasPrefix(got["content"].(string), "another line\n") || got["first_line"] != 3.0 || !strings.Contains(text, "from line 3; to go on, offset ") {
		t.Errorf("line 3: %v\n%s", got, text)
	}
	for name, args := range map[string]map[string]any{
		"beyond":   {"path": "big", "offset": len(content) + 1},
		"line":     {"path": "big", "line": 30_000},
		"both":     {"path": "big", "line": 3, "offset": 3},
		"negative": {"path": "big", "offset": -1},
		"type":     {"path": "big", "offset": "3"},
		"unknown":  {"path": "big", "lines": 3},
		"no path":  {},
	} {
		if text, _, failed := b.call("read_file", args); !failed {
			t.Errorf("%s: %q", name, text)
		}
	}
	if len(b.problems) > 0 {
		t.Errorf("problems: %v", b.problems)
	}
}

func TestSearchCode(t *testing.T) {
	b := newBench(t, nil)
	b.put("docs/a.md", "one\nfind me too\r\n")
	b.put("latin.txt", "caf\xe9 find\n")
	b.put("bin", "find\x00find")
	b.put("large.txt", strings.Repeat("x", maxSearched)+"find")
	b.put("wide.txt", "find "+strings.Repeat("é", 300)+"\n")
	if os.Geteuid() != 0 { // root reads it all the same
		b.put("closed.txt", "find")
		if err := os.Chmod(filepath.Join(b.cfg.Workspace.Dir, "closed.txt"), 0); err != nil {
			t.Fatal(err)
		}
	}
	text, got, failed := b.call("search_code", map[string]any{"query": "find"})
	want := []any{
		map[string]any{"path": "README.md", "line": 2.0, "text": "find me"},
		map[string]any{"path": "docs/a.md", "line": 2.0, "text": "find me too"},
		map[string]any{"path": "latin.txt", "line": 1.0, "text": "caf\ufffd find"},
		map[string]any{"path": "src/shop/stock.py", "line": 1.0, "text": "def find(items, q):"},
		map[string]any{"path": "tests/test_stock.py", "line": 1.0, "text": "from shop.stock import find"},
		map[string]any{"path": "tests/test_stock.py", "line": 4.0, "text": "def test_find():"},
		map[string]any{"path": "tests/test_stock.py", "line": 5.0, "text": "    assert find(['ab'], 'a') == ['ab']"},
		map[string]any{"path": "wide.txt", "line": 1.0, "text": "find " + strings.Repeat("é", 147) + "…"},
	}
	if diff := cmp.Diff(want, got["matches"]); failed || diff != "" {
		t.Errorf("failed %v, matches (-want +got):\n%s", failed, diff)
	}
	if !strings.HasPrefix(text, "README.md:2:find me\ndocs/a.md:2:find me too\n") || got["truncated"] != false {
		t.Errorf("truncated %v, text\n%s", got["truncated"], text)
	}
	for _, tt := range []struct {
		args map[string]any
		n    int
	}{
		{map[string]any{"query": "FIND"}, 0},
		{map[string]any{"query": "FIND ME", "ignore_case": true}, 2},
		{map[string]any{"query": "find", "path": "src"}, 1},
		{map[string]any{"query": "find", "path": "docs/a.md"}, 1},
		{map[string]any{"query": "find", "path": "doc"}, -1},
		{map[string]any{"query": "find", "path": "../outside"}, -1},
		{map[string]any{"query": "f.nd"}, 0},
		{map[string]any{"query": ""}, -1},
		{map[string]any{"query": "a\nb"}, -1},
	} {
		_, got, failed := b.call("search_code", tt.args)
		if failed != (tt.n < 0) || !failed && len(got["matches"].([]any)) != tt.n {
			t.Errorf("%v: failed %v, %v", tt.args, failed, got["matches"])
		}
	}
	b.put("many", strings.Repeat("needle\n", maxMatches+1))
	if _, got, _ := b.call("search_code", map[string]any{"query": "needle"}); len(got["matches"].([]any)) != maxMatches || got["truncated"] != true {
		t.Errorf("%d matches, truncated %v", len(got["matches"].([]any)), got["truncated"])
	}
}

func TestWriteFile(t *testing.T) {
	b := newBench(t, nil)
	for _, tt := range []struct {
		path, content, at string
		created           bool
	}{
		{"src/shop/stock.py", "x = 1\n", "src/shop/stock.py", false},
		{"run", "#!/bin/sh\nexit 1\n", "run", false},
		{"new/deep/file.txt", "é\r\n", "new/deep/file.txt", true},
		{"./dot//slash.txt", "", "dot/slash.txt", true},
		{".gitignore", "*.pyc\n", ".gitignore", true},
		{".github/x.yml", "on: push\n", ".github/x.yml", true},
		{"a:b", "colon\n", "a:b", false},
	} {
		if tt.path == "a:b" {
			continue // a drive letter to some, refused everywhere; see TestHostilePaths
		}
		_, got, failed := b.call("write_file", map[string]any{"path": tt.path, "content": tt.content})
		if failed || b.get(tt.at) != tt.content || got["created"] != tt.created || got["bytes"] != float64(len(tt.content)) || got["path"] != tt.at {
			t.Errorf("%s: failed %v, %v", tt.path, failed, got)
		}
	}
	info, err := os.Stat(filepath.Join(b.cfg.Workspace.Dir, "run"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v after a write, want 0755 kept", info.Mode())
	}
	if text, _, failed := b.call("write_file", map[string]any{"path": "x", "content": strings.Repeat("x", maxWrite+1)}); !failed || !strings.Contains(text, "at most") {
		t.Errorf("too much: %q", text)
	}
	now, err := b.cfg.Workspace.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range now {
		if strings.Contains(f.Path, ".tmp-") {
			t.Errorf("%s was left behind", f.Path)
		}
	}
	if os.Geteuid() == 0 {
		uid, _ := b.cfg.Sandbox.Owner()
		for _, p := range []string{"new", "new/deep", "new/deep/file.txt", "src/shop/stock.py"} {
			if got := ownerOf(t, filepath.Join(b.cfg.Workspace.Dir, p)); got != uid {
				t.Errorf("%s belongs to %d, want %d", p, got, uid)
			}
		}
	}
}

// hostile are paths that no tool may take, on any operating system.
var hostile = []string{
	"", ".", "./", "/", "..", "../outside/secret", "../../etc/passwd", "src/../../outside/secret", "src/..", "a/./../b",
	"/etc/passwd", "//etc/passwd", "C:/Windows/win.ini", "c:x", "C:", `C:\Windows\win.ini`, `\\server\share\x`, `..\outside\secret`, `\x`, "//./C:/x", `\\?\C:\x`,
	".git", ".git/config", "./.git/config", ".GIT/config", ".Git/hooks/pre-commit", "src/.git/config", "src/.GIT", ".git./config", ".git /config", ".git. . /config",
	".git::$INDEX_ALLOCATION/config", "git~1/config", "GIT~1/config", ".g\u200cit/config", "\ufeff.git/config",
	"a\x00b", "x/" + strings.Repeat("y", 256), strings.Repeat("y/", 600) + "z",
}

func TestHostilePaths(t *testing.T) {
	b := newBench(t, nil)
	before, err := b.cfg.Workspace.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	config := b.get(".git/HEAD")
	for _, p := range hostile {
		for tool, args := range map[string]map[string]any{
			"read_file":   {"path": p},
			"write_file":  {"path": p, "content": "owned"},
			"search_code": {"query": "secret", "path": p},
		} {
			if tool == "search_code" && (p == "" || p == ".") {
				continue // there, it means everywhere
			}
			text, _, failed := b.call(tool, args)
			if !failed || strings.Contains(text, "server's side") {
				t.Errorf("%s %q: failed %v: %s", tool, p, failed, text)
			}
		}
	}
	now, err := b.cfg.Workspace.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if c := before.Changes(now); len(c) > 0 {
		t.Errorf("changed %v", c)
	}
	if b.get(".git/HEAD") != config {
		t.Error(".git changed")
	}
	if len(b.problems) > 0 {
		t.Errorf("the agent's mistakes were taken for ours: %v", b.problems)
	}
}

func TestLinks(t *testing.T) {
	b := newBench(t, nil)
	b.link("../outside", "away")
	b.link("../outside/secret", "file-away")
	b.link(b.outside+"/secret", "absolute")
	b.link(".git", "innocent")
	b.link("src/shop", "inside")
	b.link("README.md", "alias")
	b.link("nowhere", "dangling")
	b.link("loop", "loop")
	for _, p := range []string{"away/secret", "away/new", "file-away", "absolute", "innocent/config", "innocent/new", "inside/stock.py", "inside/new.py", "alias", "dangling", "loop"} {
		text, _, failed := b.call("write_file", map[string]any{"path": p, "content": "owned"})
		if !failed || !strings.Contains(text, "symbolic link") {
			t.Errorf("write %s: failed %v: %s", p, failed, text)
		}
	}
	for p, want := range map[string]string{"away/secret": "", "file-away": "", "absolute": "", "dangling": "", "loop": "", "inside/stock.py": "def find", "alias": "# Shop"} {
		text, _, failed := b.call("read_file", map[string]any{"path": p})
		if failed != (want == "") || !strings.HasPrefix(text, want) || strings.HasPrefix(text, "secret") {
			t.Errorf("read %s: failed %v: %s", p, failed, text)
		}
	}
	if got, err := os.ReadFile(filepath.Join(b.outside, "secret")); err != nil || string(got) != "secret" {
		t.Errorf("outside: %q, %v", got, err)
	}
	if _, err := os.Lstat(filepath.Join(b.outside, "new")); err == nil {
		t.Error("a file was made outside")
	}
	if len(b.problems) > 0 {
		t.Errorf("problems: %v", b.problems)
	}
}

// TestSpecialFiles: opening a pipe must not wait, and nothing but regular files is read or written.
func TestSpecialFiles(t *testing.T) {
	b := newBench(t, nil)
	mkfifo(t, filepath.Join(b.cfg.Workspace.Dir, "pipe"))
	if err := os.Mkdir(filepath.Join(b.cfg.Workspace.Dir, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(b.cfg.Workspace.Dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	big.Close()
	for _, p := range []string{"pipe", "dir", "sparse", "README.md/below", "missing"} {
		if text, _, failed := b.call("read_file", map[string]any{"path": p}); !failed {
			t.Errorf("read %s: %q", p, text)
		}
	}
	for _, p := range []string{"pipe", "dir", "README.md/below"} {
		if text, _, failed := b.call("write_file", map[string]any{"path": p, "content": ""}); !failed {
			t.Errorf("write %s: %q", p, text)
		}
	}
	if _, got, failed := b.call("search_code", map[string]any{"query": "find"}); failed || len(got["matches"].([]any)) != 5 {
		t.Errorf("search: failed %v, %v", failed, got)
	}
	// What cannot be taken into the copy and the diff is named, not an error.
	if text, _, failed := b.call("git_diff", nil); failed || !strings.Contains(text, `"pipe"`) || !strings.Contains(text, `"sparse"`) {
		t.Errorf("diff: failed %v: %s", failed, text)
	}
	if text, _, failed := b.call("run_tests", nil); failed || !strings.Contains(text, `"pipe"`) {
		t.Errorf("tests: failed %v: %s", failed, text)
	}
	if len(b.problems) > 0 {
		t.Errorf("problems: %v", b.problems)
	}
}

func TestGitDiff(t *testing.T) {
	b := newBench(t, nil)
	text, got, failed := b.call("git_diff", nil)
	if failed || text != "no changes" || got["diff"] != "" || len(got["changes"].([]any)) != 0 {
		t.Errorf("nothing changed: %q, %v", text, got)
	}
	b.put("src/shop/stock.py", "def find(items, q):\n    return items\n")
	b.put("tests/test_new.py", "def test_new():\n    pass\n")
	b.put(".gitignore", "*\n") // an ignored file is a change all the same
	b.put("ignored.txt", "x\n")
	if err := os.Remove(filepath.Join(b.cfg.Workspace.Dir, "README.md")); err != nil {
		t.Fatal(err)
	}
	text, got, failed = b.call("git_diff", nil)
	for _, want := range []string{"+++ b/tests/test_new.py", "+def test_new():", "-    return [i for", "--- a/README.md", "+++ b/ignored.txt"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	want := []any{
		map[string]any{"path": ".gitignore", "kind": "added"}, map[string]any{"path": "README.md", "kind": "deleted"}, map[string]any{"path": "ignored.txt", "kind": "added"},
		map[string]any{"path": "src/shop/stock.py", "kind": "modified"}, map[string]any{"path": "tests/test_new.py", "kind": "added"},
	}
	if diff := cmp.Diff(want, got["changes"]); failed || diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if got["warning"] != nil {
		t.Errorf("warning %v, though nothing is damaged", got["warning"])
	}

	// The repository's own settings could run a program; nothing may look at them.
	ran := filepath.Join(b.outside, "ran")
	b.put(".git/config", "[diff]\n\texternal = touch "+ran+"\n[core]\n\tfsmonitor = touch "+ran+"\n")
	again, _, failed := b.call("git_diff", nil)
	if _, err := os.Stat(ran); failed || again != text || err == nil {
		t.Errorf("with a hostile .git/config: failed %v, ran %v", failed, err == nil)
	}
	if err := os.RemoveAll(filepath.Join(b.cfg.Workspace.Dir, ".git")); err != nil {
		t.Fatal(err)
	}
	again, got, failed = b.call("git_diff", nil)
	if failed || !strings.HasPrefix(again, text) || !strings.Contains(again, "damaged") || got["warning"] == nil {
		t.Errorf("without .git: failed %v, %v\n%s", failed, got["warning"], again)
	}
}

// TestWorkspaceGone: our own failure is told apart from the agent's, and its text stays with us.
func TestWorkspaceGone(t *testing.T) {
	b := newBench(t, nil)
	if err := os.RemoveAll(b.cfg.Workspace.Dir); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"git_diff", "run_tests"} {
		text, _, failed := b.call(tool, nil)
		if !failed || !strings.Contains(text, "not your doing") || strings.Contains(text, b.cfg.Sandbox.StateDir()) {
			t.Errorf("%s: failed %v: %s", tool, failed, text)
		}
	}
	if len(b.problems) != 2 || !strings.Contains(b.problems[0].Error(), "git_diff") {
		t.Errorf("problems: %v", b.problems)
	}
}

func FuzzClean(f *testing.F) {
	for _, p := range hostile {
		f.Add(p)
	}
	f.Add("src/shop/stock.py")
	dir := f.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "w"), 0o755); err != nil {
		f.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, "w"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, p string) {
		got, err := clean(p)
		if err != nil {
			return
		}
		again, err := clean(got)
		if err != nil || again != got {
			t.Fatalf("clean(%q) = %q, and of that %q, %v", p, got, again, err)
		}
		if !fs.ValidPath(got) || got == "." {
			t.Fatalf("clean(%q) = %q, which is no path within a tree", p, got)
		}
		for part := range strings.SplitSeq(got, "/") {
			if strings.EqualFold(strings.TrimRight(part, ". "), ".git") {
				t.Fatalf("clean(%q) = %q leads into .git", p, got)
			}
		}
		if _, err := root.Lstat(got); err != nil && strings.Contains(err.Error(), "escapes") {
			t.Fatalf("clean(%q) = %q escapes", p, got)
		}
	})
}
