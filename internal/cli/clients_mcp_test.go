package cli_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// served starts tare mcp on a scenario over HTTP and returns its address.
func served(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "tare"), "mcp", "scenarios/scale_to_three", "--http", "127.0.0.1:0", "--state", t.TempDir())
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	url := regexp.MustCompile(`http://\S+/mcp`).FindString(line)
	if err != nil || url == "" {
		t.Fatalf("it says %q (%v)", line, err)
	}
	return url
}

// node runs a program of the clients' with their own node.
func node(t *testing.T, modules string, args ...string) (string, error) {
	t.Helper()
	at := filepath.Join(modules, "node", "bin")
	cmd := exec.CommandContext(t.Context(), filepath.Join(at, "node"), args...)
	cmd.Env = append(os.Environ(), "PATH="+at+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Clients that others wrote drive our server: both official SDKs of JavaScript, in the old protocol and the new, and the inspector.
func TestClientsMCP(t *testing.T) {
	t.Parallel()
	modules := filepath.Join(clients(t), "node_modules")
	url := served(t)
	out, err := node(t, modules, "testdata/clients/sdk.mjs", modules, url, "get_app", `{"app_id":"app_shop"}`)
	for _, name := range []string{"sdk 1", "sdk 2 legacy", "sdk 2 auto"} {
		want := fmt.Sprintf(`{"name":%q,"tools":32,"error":false,"text":"{\"app\":{\"id\":\"app_shop\"`, name)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	inspector := filepath.Join(modules, ".bin", "mcp-inspector")
	out, err = node(t, modules, inspector, "--cli", url, "--transport", "http", "--method", "tools/call", "--tool-name", "get_app", "--tool-arg", "app_id=app_shop")
	if err != nil || !strings.Contains(out, `"running_instances": 1`) {
		t.Errorf("inspector over HTTP: %v\n%s", err, out)
	}
	out, err = node(t, modules, inspector, "--cli", filepath.Join(bin, "tare"), "mcp", "scenarios/scale_to_three", "--state", t.TempDir(), "--method", "tools/list")
	if err != nil || strings.Count(out, `"inputSchema"`) != 32 {
		t.Errorf("inspector over stdio: %v\n%s", err, out)
	}
}

// The protocol's own conformance suite holds of our server what needs no fixtures.
func TestClientsConformance(t *testing.T) {
	t.Parallel()
	modules := filepath.Join(clients(t), "node_modules")
	url := served(t)
	passed := regexp.MustCompile(`Passed: ([1-9]\d*)/([1-9]\d*), 0 failed`)
	for scenario, least := range map[string]int{
		"server-initialize": 1, "ping": 1, "tools-list": 1, "logging-set-level": 1, "resources-list": 1, "prompts-list": 1,
		"server-sse-multiple-streams": 2, "dns-rebinding-protection": 2,
		"http-header-validation": 14, // of 2026-07-28
	} {
		out, err := node(t, modules, filepath.Join(modules, ".bin", "conformance"), "server", "--url", url, "--scenario", scenario)
		m := passed.FindStringSubmatch(out)
		if err != nil || m == nil || m[1] != m[2] {
			t.Errorf("%s: %v\n%s", scenario, err, out)
			continue
		}
		if n, err := strconv.Atoi(m[1]); err != nil || n < least {
			t.Errorf("%s: %s checks, at least %d were made before", scenario, m[1], least)
		}
	}
	if out, err := node(t, modules, filepath.Join(modules, ".bin", "conformance"), "server", "--url", url, "--scenario", "tools-call-image"); err == nil {
		t.Errorf("a scenario that needs a tool of the suite's own passes: nothing fails it\n%s", out)
	}
}
