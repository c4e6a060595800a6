package preset_test

import (
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
			t.Logf("%s %q\n%s", name, c.Args, c.Files)
		}
	}
}
