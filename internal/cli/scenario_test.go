package cli_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
)

// atScale asks a served scale_to_three for its tools and for one app.
func atScale(t *testing.T, transport mcp.Transport) {
	t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	list, err := c.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) < 25 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_app", Arguments: map[string]any{"app_id": "app_shop"}})
	if err != nil || res.IsError {
		t.Fatalf("get_app: %+v, %v", res, err)
	}
	b, err := json.Marshal(res.StructuredContent)
	if err != nil || !strings.Contains(string(b), `"running_instances":1`) {
		t.Errorf("get_app answers %s, %v", b, err)
	}
}

// TestScenarioIsServed reaches the world of a scenario in the two ways in which tare mcp serves it.
func TestScenarioIsServed(t *testing.T) {
	tareBinary := filepath.Join(bin, "tare")
	t.Run("stdio", func(t *testing.T) {
		atScale(t, &mcp.CommandTransport{Command: exec.CommandContext(t.Context(), tareBinary, "mcp", "scenarios/scale_to_three", "--state", t.TempDir())})
	})
	t.Run("http", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), tareBinary, "mcp", "scenarios/scale_to_three", "--http", "127.0.0.1:0", "--state", t.TempDir())
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			cmd.Process.Kill()
			cmd.Wait()
		}()
		line, err := bufio.NewReader(stderr).ReadString('\n')
		url := regexp.MustCompile(`http://\S+/mcp`).FindString(line)
		if url == "" {
			t.Fatalf("it says %q, %v", line, err)
		}
		atScale(t, &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true})
	})
}

// TestScenarioIsRecorded plays a scenario's own agents and looks at what is kept.
func TestScenarioIsRecorded(t *testing.T) {
	state := t.TempDir()
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "tare"), "run", "scenarios/scale_to_three", "--agent", "straight,noop", "--state", state, "--db", "files").CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatalf("%v\n%s", err, out)
	}
	records, err := filepath.Glob(filepath.Join(state, "runs", "*", "*", "record.json"))
	if err != nil || len(records) != 2 {
		t.Fatalf("records %v, %v\n%s", records, err, out)
	}
	for _, file := range records {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r tare.Record
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		ev := r.Evidence.Scenario
		if ev == nil || len(r.Evidence.Problems) > 0 || r.Trajectory.Stop != tare.EndTurn || r.Trajectory.Episode.World != "simulator" {
			t.Fatalf("%s: %+v", file, r)
		}
		after, ok := ev.State(tare.LabelAfter)
		shop := ""
		for _, raw := range after.Collections["apps"].Items {
			if strings.Contains(string(raw), `"app_shop"`) {
				shop = string(raw)
			}
		}
		want := `"running_instances":1`
		if r.Trajectory.Episode.Agent == "straight" {
			want = `"running_instances":3`
		}
		if !ok || !strings.Contains(shop, want) || !strings.Contains(ev.Brief, "Scale it to 3") {
			t.Errorf("%s by %s: %s", file, r.Trajectory.Episode.Agent, shop)
		}
	}
}
