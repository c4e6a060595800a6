package evidence

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tare"
	"tare/internal/check"
	"tare/internal/oracle"
	"tare/internal/sandbox"
)

// A small task in Go, whose tests lie beside its source: Unique must keep the first of each, in order.
func goTask() *tare.Task {
	list := func(words ...string) *tare.Value {
		v := tare.Value{Kind: tare.KindList, Items: []tare.Value{}}
		for _, w := range words {
			v.Items = append(v.Items, tare.Value{Kind: tare.KindStr, Text: w})
		}
		return &v
	}
	source := func(body string) tare.Tree {
		return tree("words/words.go", "package words\n\nfunc Unique(words []string) []string {\n\tout := []string{}\n"+body+"\treturn out\n}\n")
	}
	const seen = "\tseen := map[string]bool{}\n\tfor _, w := range words {\n\t\tif !seen[w] {\n\t\t\tout = append(out, w)\n\t\t}\n\t\tseen[w] = true\n\t}\n"
	const among = "next:\n\tfor _, w := range words {\n\t\tfor _, o := range out {\n\t\t\tif o == w {\n\t\t\t\tcontinue next\n\t\t\t}\n\t\t}\n\t\tout = append(out, w)\n\t}\n"
	return &tare.Task{
		ID: "test/unique", Kind: tare.Ticket, Hash: "sha256:task", Runner: "gotest", Sources: []string{"words"},
		Requirements: []tare.Requirement{{ID: 1, Text: "The order is kept."}, {ID: 2, Text: "Each occurs once."}},
		Seed: tree("go.mod", "module task\n\ngo 1.22\n", "words/words_test.go", "package words\n\nimport \"testing\"\n\nfunc TestOrder(t *testing.T) {\n\tif got := Unique([]string{\"b\", \"a\"}); len(got) != 2 || got[0] != \"b\" {\n\t\tt.Error(got)\n\t}\n}\n").
			Overlay(source("\tfor _, w := range words {\n\t\tout = append(out, w)\n\t}\n")),
		Hidden:  tree("probe.go", "package main\n\nimport \"task/words\"\n\nfunc ask(w []string) []string { return words.Unique(w) }\n"),
		Visible: []string{"words/words_test.go::TestOrder"},
		Cases: []tare.Case{
			{ID: "order", Requirement: 1, Call: "ask", Args: json.RawMessage(`[["b","a"]]`), Want: tare.Want{Exact: list("b", "a")}},
			{ID: "once", Requirement: 2, Call: "ask", Args: json.RawMessage(`[["a","b","a"]]`), Want: tare.Want{Exact: list("a", "b")}},
		},
		References: []tare.Reference{{Name: "a", Fix: source(seen)}, {Name: "b", Fix: source(among)}},
		Twins: []tare.Twin{
			{Name: "ta", Of: "a", Tree: source(strings.Replace(seen, "= true", "= false", 1))},
			{Name: "tb", Of: "b", Tree: source(strings.Replace(among, "o == w", "o < w && o > w", 1))},
		},
		Limits: tare.Limits{Check: time.Minute},
	}
}

const (
	fixedGo   = "package words\n\n// Unique is words without repeats.\nfunc Unique(words []string) []string {\n\tout := []string{}\n\tfor _, w := range words {\n\t\tif fresh(w, out) {\n\t\t\tout = append(out, w)\n\t\t}\n\t}\n\treturn out\n}\n"
	freshGo   = "package words\n\nimport \"slices\"\n\nfunc fresh(w string, out []string) bool { return !slices.Contains(out, w) }\n"
	genuineGo = "package words\n\nimport \"testing\"\n\nfunc TestOnce(t *testing.T) {\n\tif got := Unique([]string{\"a\", \"a\"}); len(got) != 1 {\n\t\tt.Error(got)\n\t}\n}\n"
)

// TestGo goes the whole way, from files to a verdict, with the real runner in the real sandbox.
func TestGo(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	sb, err := sandbox.Open(ctx, sandbox.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	task := goTask()
	fixed := func(files ...string) tare.Tree {
		return task.Seed.Overlay(tree("words/words.go", fixedGo, "words/fresh.go", freshGo)).Overlay(tree(files...))
	}
	for _, tt := range []struct {
		name    string
		final   tare.Tree
		outcome tare.Outcome
		gate    string
		reason  string
	}{
		{"seed", task.Seed, tare.Fail, tare.GateBehaviour, `requirement 2: ask(["a","b","a"]) returned ["a", "b", "a"], expected ["a", "b"] (1 of 2 cases fails; requirement 2)`},
		{"exits", fixed("words/init.go", "package words\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n"), tare.Fail, tare.GateVisibleTests, "ended with status 0"},
		{"does not build", fixed("words/fresh.go", "package words\n"), tare.Fail, tare.GateVisibleTests, "words/words_test.go::TestOrder (build failed: words/words.go:7: undefined: fresh)"},
		{"genuine, with a helper file", fixed("words/help_test.go", "package words\n\nfunc twice(w string) []string { return []string{w, w} }\n", "words/new_test.go", strings.Replace(genuineGo, "[]string{\"a\", \"a\"}", "twice(\"a\")", 1)), tare.Pass, tare.GateRegressionTest, "words/new_test.go::TestOnce passes on the fix"},
		{"a test of the helper too", fixed("words/new_test.go", strings.Replace(genuineGo, "len(got) != 1", "len(got) != 1 || fresh(\"a\", got)", 1)), tare.Pass, tare.GateRegressionTest, "it needs fresh"},
		{"text", fixed("words/new_test.go", "package words\n\nimport (\n\t_ \"embed\"\n\t\"strings\"\n\t\"testing\"\n)\n\n//go:embed words.go\nvar text string\n\nfunc TestText(t *testing.T) {\n\tif len(text) < 180 && strings.Count(text, \"if\") == 0 {\n\t\tt.Error(text)\n\t}\n}\n"), tare.Fail, tare.GateRegressionTest, "twin"},
		{"a TestMain that exits", fixed("words/new_test.go", genuineGo, "words/main_test.go", "package words\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(*testing.M) { os.Exit(0) }\n"), tare.Fail, tare.GateRegressionTest, "ended with status 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev, err := Gather(ctx, Request{Task: task, Final: tt.final, Sandbox: sb, Runner: check.GoTest{}})
			if err != nil {
				t.Fatal(err)
			}
			rec := tare.Record{Schema: tare.RecordSchema, TaskHash: task.Hash, Evidence: ev}
			rec.Trajectory.Stop, rec.Trajectory.Episode.TaskHash = tare.EndTurn, task.Hash
			v := oracle.Judge(task, rec)
			g, _ := v.Gate(tt.gate)
			if v.Outcome != tt.outcome || !strings.Contains(g.Reason, tt.reason) || tt.outcome != tare.Pass && v.RootGate != tt.gate {
				t.Errorf("%s by %s; %s: %s\n%s", v.Outcome, v.RootGate, g.Name, g.Reason, oracle.Explain(task, rec, v, tt.gate))
			}
		})
	}
}
