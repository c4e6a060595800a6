package tools

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/mcpserve"
)

// TestWithoutRunner: where nothing may run code there is no tool that does, a view shows files under a path of the agent's
// and nothing beside them, and calls are counted together with those of other servers.
func TestWithoutRunner(t *testing.T) {
	logs := t.TempDir()
	if err := os.WriteFile(filepath.Join(logs, "a.txt"), []byte("the whole log\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(logs, "out.txt")); err != nil {
		t.Fatal(err)
	}
	tally := mcpserve.NewTally(5, nil)
	b := newBench(t, func(c *Config) {
		c.Runner, c.Name, c.Tally = nil, "workspace", tally
		c.Views = []View{{Host: logs, Guest: "/tmp/mcp/logs"}}
	})
	list, err := b.client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"git_diff", "list_files", "read_file", "search_code", "write_file"}) {
		t.Errorf("tools: %v", names)
	}
	for _, call := range []struct {
		path, want string
		failed     bool
	}{
		{"/tmp/mcp/logs/a.txt", "the whole log", false},
		{"/tmp/mcp/logs/out.txt", "leads outside the workspace", true},
		{"/tmp/mcp/logs/../../../etc/passwd", `holds ".."`, true},
		{"/tmp/mcp/logsy/a.txt", "is absolute", true},
	} {
		text, _, failed := callOn(t, b.client, "read_file", map[string]any{"path": call.path})
		if failed != call.failed || !strings.Contains(text, call.want) {
			t.Errorf("reading %s: %q (failed %v), want %q", call.path, text, failed, call.want)
		}
	}
	if refused, _ := tally.Begin(); refused != nil {
		t.Fatal("the fifth call is refused")
	}
	if text, _, failed := callOn(t, b.client, "list_files", nil); !failed || !strings.Contains(text, "limit of 5") {
		t.Errorf("after another server's call there is room for more: %q", text)
	}
}
