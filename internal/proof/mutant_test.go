package proof

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/run"
)

func TestMask(t *testing.T) {
	for _, tt := range []struct{ language, in, out string }{
		{"c", "a /* x < 1 */ < b; // if (y)\nc", "a             < b;          \nc"},
		{"c", `p("if (\" <", '<', '\'') < 2`, `p("        ", ' ', '  ') < 2`},
		{"go", "s := `if x < \"1\n`\nif a < b {", "s := `         \n`\nif a < b {"},
		{"python", "x = 'if #' # if a:\n'''if\nb'''\nif c:", "x = '    '        \n'''  \n '''\nif c:"},
		{"python", `"""a\"""b""" < 1`, `"""      """ < 1`},
		{"c", "/* open < ", "          "},
		{"go", "'", "'"},
	} {
		if got := mask(tt.in, tt.language); got != tt.out {
			t.Errorf("%s\n%q\n%q, want\n%q", tt.language, tt.in, got, tt.out)
		}
	}
}

// TestMutants makes the mutants of one changed file, and shows that neither comments, literals nor what the fix left as it was
// are touched.
func TestMutants(t *testing.T) {
	for name, tt := range map[string]struct {
		file, seed, fixed string
		want              []string // id without the reference, and a line of the mutant
	}{
		"c": {"f.c",
			"#include <a.h>\nint f(int n)\n{\n    if (n < 0) return 1;\n    return g(n);\n}\n",
			"#include <a.h>\n#include <b.h>\nint f(int n)\n{\n    if (n < 0) return 1;\n    if (n >= MAX /* > */ &&\n        n->x) { p(\"<\"); return 2; }\n    return g(n + 1);\n}\n",
			[]string{
				"f.c:2:hunk-reverted| ",
				"f.c:6:hunk-reverted|    return g(n);",
				"f.c:6:guard-dropped|    if (0 && (n >= MAX /* > */ &&",
				"f.c:6:guard-inverted|    if (!(n >= MAX /* > */ &&",
				"f.c:6:boundary-moved|    if (n > MAX /* > */ &&",
				"f.c:8:one-off|    return g(n + 0);",
			}},
		"go": {"f.go",
			"package f\n\nfunc f(n int) {\n\tg(n)\n}\n",
			"package f\n\nfunc f(n int) {\n\tif m, ok := h(n); ok && m <= n {\n\t\treturn\n\t} else if ch := <-c; ch {\n\t\treturn\n\t}\n\tg(n)\n}\n",
			[]string{
				"f.go:4:hunk-reverted| ",
				"f.go:4:guard-dropped|\tif m, ok := h(n); false && (ok && m <= n) {",
				"f.go:4:guard-inverted|\tif m, ok := h(n); !(ok && m <= n) {",
				"f.go:4:boundary-moved|\tif m, ok := h(n); ok && m < n {",
				"f.go:6:guard-dropped|\t} else if ch := <-c; false && (ch) {",
				"f.go:6:guard-inverted|\t} else if ch := <-c; !(ch) {",
			}},
		"python": {"f.py",
			"def f(n):\n    return g(n)\n",
			"def f(n):\n    if n in {1: 2} and n < 3 or n < 4:\n        raise ValueError('if')\n    return g(n) if n else 0\n",
			[]string{
				"f.py:2:hunk-reverted|    return g(n)",
				"f.py:2:guard-dropped|    if False and (n in {1: 2} and n < 3 or n < 4):",
				"f.py:2:guard-inverted|    if not (n in {1: 2} and n < 3 or n < 4):",
				"f.py:2:boundary-moved|    if n in {1: 2} and n <= 3 or n < 4:",
				"f.py:2:boundary-moved#2|    if n in {1: 2} and n < 3 or n <= 4:",
			}},
		"only words": {"f.c",
			"int f(int n); /* f is quick */\nint g(void);\nint s = 'a';\n",
			"/* f is slow,\n   and safe */\nint f(int n); /* f is slow */\n\nint g(void);\nint s = 'b';\n",
			[]string{"f.c:6:hunk-reverted|int s = 'a';"}},
		"only words of Python": {"f.py", "if a:\n    b = '# 1'\n    c()\n", "if a:  # always\n    b = '# 2'\nc()\n", []string{"f.py:1:hunk-reverted|    b = '# 1'", "f.py:1:guard-dropped|if False and (a):  # always", "f.py:1:guard-inverted|if not (a):  # always"}},
		"another language":     {"f.txt", "a < b\n", "a > b\n", []string{"f.txt:1:hunk-reverted|a < b"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := func(text string) tare.Tree { return tare.Tree{{Path: tt.file, Mode: 0o644, Data: []byte(text)}} }
			language := map[string]string{"f.c": "c", "f.txt": "c", "f.go": "go", "f.py": "python"}[tt.file]
			task := &tare.Task{Seed: file(tt.seed), References: []tare.Reference{{Name: "a", Fix: file(tt.fixed)}}, Vuln: &tare.VulnSpec{Language: language}}
			got, err := Mutants(task)
			if err != nil {
				t.Fatal(err)
			}
			var ids, wanted []string
			for _, m := range got {
				ids = append(ids, m.ID)
			}
			for _, w := range tt.want {
				id, line, _ := strings.Cut(w, "|")
				wanted = append(wanted, "a/"+id)
				i := slices.IndexFunc(got, func(m Mutant) bool { return m.ID == "a/"+id })
				if i < 0 {
					continue
				}
				f, _ := got[i].Tree.Lookup(tt.file)
				if line != " " && !slices.Contains(strings.Split(string(f.Data), "\n"), line) {
					t.Errorf("%s has no line %q:\n%s", id, line, f.Data)
				}
			}
			slices.Sort(ids)
			slices.Sort(wanted)
			if d := cmp.Diff(wanted, ids); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestMutantsRefuseWhatIsUnclear(t *testing.T) {
	for _, text := range []string{
		"operators: [{name: a, what: b}]",
		"operators: [{name: a, what: b, undo: hunk, form: {c: \"@\"}}]\nguards: {c: {words: [if], ends: \")\"}}",
		"operators: [{name: a, what: b, form: {c: \"0\"}}]\nguards: {c: {words: [if], ends: \")\"}}",
		"operators: [{name: a, what: b, form: {rust: \"!@\"}}]",
		"operators: [{name: a, what: b, undo: hunk}, {name: a, what: b, undo: hunk}]",
		"operators: [{name: a, what: b, undo: hunk, more: 1}]",
	} {
		if _, err := readMutants([]byte(text)); err == nil {
			t.Errorf("accepted: %s", text)
		}
	}
	if _, err := readMutants(mutantsFile); err != nil {
		t.Error(err)
	}
}

// TestHole13MutantsAndPasses: a proof plays each control more than once and counts those that come out otherwise, and tries its
// checks on fixes made wrong. Mutants are observed by a fake: which check catches which is told by the checks' own evidence, a mutant that does not
// build is caught by nothing, and a task whose checks catch nothing is refused.
func TestHole13MutantsAndPasses(t *testing.T) {
	file := func(text string) tare.Tree { return tare.Tree{{Path: "f.py", Mode: 0o644, Data: []byte(text)}} }
	task := &tare.Task{
		ID: "s/t", Kind: tare.Vuln, Hash: "sha256:t", Seed: file("def f(n):\n    return g(n)\n"),
		References: []tare.Reference{{Name: "a", Fix: file("def f(n):\n    if n < 3:\n        raise ValueError\n    return g(n)\n")}},
		Vuln:       &tare.VulnSpec{Language: "python"},
	}
	one := 1.0
	task.Controls = []tare.Control{{Name: "reference:a", Origin: tare.FromReference, Apply: []tare.Tree{task.References[0].Fix}, Expect: tare.Expect{Outcome: tare.Pass, Reward: &one}}}
	judge := func(_ context.Context, _ *tare.Task, _ tare.Control, pass int) (run.Result, error) {
		rec := tare.Record{Evidence: tare.Evidence{Vuln: &tare.VulnEvidence{Checks: []tare.Check{
			{ID: "e1", Kind: tare.CheckBuild, World: tare.WorldFix}, {ID: "e2", Kind: tare.CheckBuild, World: tare.WorldSeed},
		}}}}
		v := tare.Verdict{Outcome: tare.Pass, Reward: &one}
		if pass == 1 && task.Title == "shaky" {
			v = tare.Verdict{Outcome: tare.Fail}
		}
		return run.Result{Record: rec, Verdict: v}, nil
	}
	problems := 0
	mutation := &Mutation{
		Gather: func(_ context.Context, _ *tare.Task, tree tare.Tree) (tare.Evidence, error) {
			f, _ := tree.Lookup("f.py")
			if strings.Contains(string(f.Data), "not (") && problems == 0 {
				problems++
				return tare.Evidence{Problems: []tare.Problem{{Where: "checking", Error: "disk full"}}}, nil
			}
			return tare.Evidence{Vuln: &tare.VulnEvidence{Checks: []tare.Check{{ID: "e1", Kind: tare.CheckBuild, World: tare.WorldFix, Log: f.Data}}}}, nil
		},
		Catch: func(_ *tare.Task, r tare.Record) (bool, []tare.CheckKind) {
			cs := r.Evidence.Vuln.Checks
			if len(cs) != 2 || cs[1].World != tare.WorldSeed || cs[1].ID == cs[0].ID {
				t.Errorf("the controls of the reference are not with a mutant: %+v", cs)
			}
			switch text := string(cs[0].Log); {
			case strings.Contains(text, "False and"):
				return true, []tare.CheckKind{tare.CheckPoC, tare.CheckIntent}
			case strings.Contains(text, "not ("):
				return true, []tare.CheckKind{tare.CheckBenign}
			case strings.Contains(text, "<= 3"):
				return true, nil
			}
			return false, nil
		},
	}
	prove := func() Table {
		t.Helper()
		table, err := Prove(context.Background(), task, judge, Options{Mutation: mutation, Passes: 2})
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	table := prove()
	want := []MutantRow{
		{Mutant: "a/f.py:2:hunk-reverted", By: []tare.CheckKind{}},
		{Mutant: "a/f.py:2:guard-dropped", Built: true, By: []tare.CheckKind{tare.CheckPoC, tare.CheckIntent}},
		{Mutant: "a/f.py:2:guard-inverted", Built: true, By: []tare.CheckKind{tare.CheckBenign}},
		{Mutant: "a/f.py:2:boundary-moved", Built: true, By: []tare.CheckKind{}},
	}
	if d := cmp.Diff(want, table.Mutants); d != "" {
		t.Error(d)
	}
	if !table.OK() || !table.Whole || table.Unsteady != 0 || !table.Mutants[3].Survives() || table.Mutants[0].Survives() {
		t.Errorf("%+v", table)
	}
	task.Title = "shaky"
	if table := prove(); table.Unsteady != 1 || table.OK() {
		t.Errorf("a row that comes out otherwise: %+v", table)
	}
	task.Title = ""
	task.Vuln.Equivalent = []tare.Equivalent{{ID: "a/f.py:2:boundary-moved", Why: "3 is never asked"}}
	if table := prove(); !table.OK() || table.Mutants[3].Survives() || table.Mutants[3].Equivalent == "" {
		t.Errorf("%+v", table)
	}
	task.Vuln.Equivalent[0].ID = "a/f.py:2:guard-dropped"
	if table := prove(); table.OK() || !strings.Contains(table.Refused, "guard-dropped is said to be a right fix, and is caught by poc, intent") {
		t.Errorf("a mutant that is caught and said to be right: %q", table.Refused)
	}
	task.Vuln.Equivalent[0].ID = "a/f.py:9:guard-dropped"
	if table := prove(); table.OK() || !strings.Contains(table.Refused, "there is no mutant a/f.py:9:guard-dropped") {
		t.Errorf("a mutant that is not there: %q", table.Refused)
	}
	task.Vuln.Equivalent, mutation.Catch = nil, func(*tare.Task, tare.Record) (bool, []tare.CheckKind) { return true, nil }
	if table := prove(); table.OK() || table.Refused != "its checks catch none of 4 mutants of its fixes" {
		t.Errorf("a task whose checks catch nothing: %q", table.Refused)
	}
	mutation.Gather = func(context.Context, *tare.Task, tare.Tree) (tare.Evidence, error) {
		return tare.Evidence{Problems: []tare.Problem{{Where: "checking", Error: "disk full"}}}, nil
	}
	if _, err := Prove(context.Background(), task, judge, Options{Mutation: mutation}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("a mutant that could not be observed: %v", err)
	}
}
