package preset_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tare/internal/preset"
)

func TestBuiltin(t *testing.T) {
	for _, name := range preset.Names() {
		p, _, err := preset.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, direct := range []bool{false, true} {
			c, err := p.Command(preset.Run{Prompt: "p", Model: "m", Base: "http://127.0.0.1:1/v1", Key: "k", Home: "/h", Workspace: "/w", Servers: []preset.Server{{Name: "tare", URL: "http://127.0.0.1:2/mcp"}, {Name: "b", URL: "u"}}, Direct: direct})
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, f := range c.Files {
				if strings.HasSuffix(f.Path, ".json") && !json.Valid(f.Data) {
					t.Errorf("%s, direct %v: %s is no JSON:\n%s", name, direct, f.Path, f.Data)
				}
				found += strings.Count(string(f.Data), "http://127.0.0.1:2/mcp")
			}
			for _, a := range c.Args {
				found += strings.Count(a, "http://127.0.0.1:2/mcp")
			}
			if found != 1 {
				t.Errorf("%s, direct %v: the server of the world is named %d times, want once: %q\n%s", name, direct, found, c.Args, c.Files)
			}
			if !slices.ContainsFunc(c.Args, func(a string) bool { return a == "p" }) {
				t.Errorf("%s, direct %v: the prompt is no argument: %q", name, direct, c.Args)
			}
		}
	}
}
