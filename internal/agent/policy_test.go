package agent

import (
	"os"
	"strings"
	"testing"
)

// The policy in the documentation is one.
func TestDocumentedPolicy(t *testing.T) {
	b, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "    name: mine\n")
	text, _, end := strings.Cut(rest, "\n\n`--approve")
	if !ok || !end {
		t.Fatal("the documentation has no policy")
	}
	p, err := ParsePolicy("docs/agents.md", []byte(strings.ReplaceAll("\n    name: mine\n"+text, "\n    ", "\n")))
	if err != nil || len(p.BeforeEnd) != 2 || p.Approval != "May it be handed in?" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestRules(t *testing.T) {
	p, err := ParsePolicy("p.yaml", []byte(`
name: p
system: s
before_end:
  - {tool: run_tests, after: write_file|edit, result: {returncode: 0}, say: tests}
  - {tool: read_file, args: {path: test}, where: run_tests, say: read}
`))
	if err != nil {
		t.Fatal(err)
	}
	wrote := deed{tool: "write_file", ok: true}
	tested := func(code any) deed {
		return deed{tool: "run_tests", ok: true, data: map[string]any{"returncode": code}}
	}
	read := deed{tool: "read_file", ok: true, args: map[string]any{"path": "tests/test_a.py"}}
	all := []string{"write_file", "run_tests", "read_file"}
	for _, c := range []struct {
		name    string
		offered []string
		deeds   []deed
		want    int // the rule that is not kept; -1: none
	}{
		{"nothing done", all, nil, 1},
		{"nothing changed", all, []deed{read}, -1},
		{"changed and not tested", all, []deed{read, wrote}, 0},
		{"tested before the change", all, []deed{read, tested(0.0), wrote}, 0},
		{"tested after", all, []deed{read, wrote, tested(0.0)}, -1},
		{"red", all, []deed{read, wrote, tested(1.0)}, 0},
		{"red, then green", all, []deed{read, wrote, tested(1.0), tested(0.0)}, -1},
		{"green, then changed", all, []deed{read, wrote, tested(0.0), wrote}, 0},
		{"a change that failed is none", all, []deed{read, wrote, tested(0.0), {tool: "write_file"}}, -1},
		{"a call that failed", all, []deed{read, wrote, {tool: "run_tests"}}, 0},
		{"a tool that does not tell", all, []deed{read, wrote, {tool: "run_tests", ok: true}}, -1},
		{"another file", all, []deed{{tool: "read_file", ok: true, args: map[string]any{"path": "src/a.py"}}}, 1},
		{"arguments of another kind", all, []deed{{tool: "read_file", ok: true, args: map[string]any{"path": 3}}}, 1},
		{"no tests in this world", []string{"write_file", "read_file"}, []deed{wrote}, -1},
		{"part of a name is another tool", []string{"run_tests_later", "write_file"}, []deed{wrote}, -1},
	} {
		if got := p.broken(c.offered, c.deeds, nil); got != c.want {
			t.Errorf("%s: rule %d, want %d", c.name, got, c.want)
		}
	}
}
