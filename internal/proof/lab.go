package proof

import (
	"fmt"
	"strings"

	"tare"
	"tare/internal/suite"
)

// A LabCondition is a right fix with some test, and what each evaluator must make of it.
type LabCondition struct {
	Name     string
	What     string
	Test     tare.Tree // put on the seed with the first reference
	Expected LabRewards
}

// LabRewards are the rewards of three evaluators: one that looks for words, one that runs the test on the unfixed seed and
// no further, and the grader.
type LabRewards struct {
	Words  float64 `json:"words"`
	Seed   float64 `json:"seed_only"`
	Grader float64 `json:"grader"`
}

// labWords are what the keyword evaluator looks for in a test's text, by ticket: a word of the ticket and an assertion.
var labWords = map[string][]string{
	"tickets/bugfix_inventory":   {"once", "assert"},
	"tickets/edge_case_coverage": {"nothing", "assert"},
}

// LabTasks names the tickets of the experiment, in order.
func LabTasks() []string { return []string{"tickets/bugfix_inventory", "tickets/edge_case_coverage"} }

// KeywordEvaluator is weak on purpose: it is what a grader of regression tests looks like that has never been shown to
// fail. It takes a test for a regression test when its text holds the right words.
func KeywordEvaluator(task string, test tare.Tree) bool {
	var text strings.Builder
	for _, f := range test {
		text.Write(f.Data)
	}
	for _, w := range labWords[task] {
		if !strings.Contains(strings.ToLower(text.String()), w) {
			return false
		}
	}
	return len(labWords[task]) > 0
}

// LabConditions are the four tests of the experiment for task.
func LabConditions(task *tare.Task) ([]LabCondition, error) {
	words := labWords[task.ID]
	if words == nil || len(task.References) == 0 {
		return nil, fmt.Errorf("the experiment has no conditions for %s", task.ID)
	}
	coupled := suite.Adversary{Kind: suite.Any, Rows: []suite.AdversaryRow{{Base: suite.OnReference}}, Steps: []suite.Step{{
		Op: suite.OpWrite, Path: "@test_dir@/test_regression.py",
		Text: "import inspect\n\nimport @module@ as subject\n\n\ndef test_the_search_is_fixed():\n    assert @fix_line@ in inspect.getsource(subject)\n",
	}}}
	plays := coupled.Fit(task)
	if len(plays) != 1 {
		return nil, fmt.Errorf("no test of the text fits %s", task.ID)
	}
	fixed := task.Seed.Overlay(task.References[0].Fix)
	file := func(text string) tare.Tree {
		return tare.Tree{{Path: testPath(plays[0].Solution, fixed), Mode: 0o644, Data: []byte(text)}}
	}
	text, _ := plays[0].Solution.Lookup(testPath(plays[0].Solution, fixed))
	return []LabCondition{
		{"vacuous", "the right words around assert True", file(fmt.Sprintf("def test_search_%s():\n    %s True\n", words[0], words[1])), LabRewards{1, 0.85, 0.85}},
		{"no test", "a test file without a test", file("\"\"\"Regression.\"\"\"\n"), LabRewards{0.85, 0.85, 0.85}},
		{"real", "the reference's genuine regression test", task.References[0].Test, LabRewards{1, 1, 1}},
		{"text-coupled", "a test that looks for a line of the fix", tare.Tree{text}, LabRewards{0.85, 1, 0.85}},
	}, nil
}

// testPath is the path of the one file that tree has more than base.
func testPath(tree, base tare.Tree) string {
	for _, c := range base.Changes(tree) {
		return c.Path
	}
	return ""
}
