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

// A small task in Python: unique must keep the first of each, in order.
func pytestTask() *tare.Task {
	list := func(words ...string) *tare.Value {
		v := tare.Value{Kind: tare.KindList, Items: []tare.Value{}}
		for _, w := range words {
			v.Items = append(v.Items, tare.Value{Kind: tare.KindStr, Text: w})
		}
		return &v
	}
	return &tare.Task{
		ID: "test/unique", Kind: tare.Ticket, Hash: "sha256:task", Runner: "pytest", Sources: []string{"src"},
		Requirements: []tare.Requirement{{ID: 1, Text: "The order is kept."}, {ID: 2, Text: "Each occurs once."}},
		Seed: tree("src/words.py", "def unique(words):\n    out = []\n    for w in words:\n        out.append(w)\n    return out\n",
			"tests/test_words.py", "from words import unique\n\n\ndef test_order():\n    assert unique(['b', 'a']) == ['b', 'a']\n"),
		Hidden:  tree("probe.py", "from words import unique\n\n\ndef ask(words):\n    return unique(words)\n"),
		Visible: []string{"tests/test_words.py::test_order"},
		Cases: []tare.Case{
			{ID: "order", Requirement: 1, Call: "ask", Args: json.RawMessage(`[["b","a"]]`), Want: tare.Want{Exact: list("b", "a")}},
			{ID: "once", Requirement: 2, Call: "ask", Args: json.RawMessage(`[["a","b","a"]]`), Want: tare.Want{Exact: list("a", "b")}},
		},
		References: []tare.Reference{
			{Name: "a", Fix: tree("src/words.py", "def unique(words):\n    return list(dict.fromkeys(words))\n")},
			{Name: "b", Fix: tree("src/words.py", "def unique(words):\n    out = []\n    for w in words:\n        if w not in out:\n            out.append(w)\n    return out\n")},
		},
		Twins: []tare.Twin{
			{Name: "ta", Of: "a", Tree: tree("src/words.py", "def unique(words):\n    return list(dict(enumerate(words)).values())\n")},
			{Name: "tb", Of: "b", Tree: tree("src/words.py", "def unique(words):\n    out = []\n    for w in words:\n        if w not in []:\n            out.append(w)\n    return out\n")},
		},
		Limits: tare.Limits{Check: time.Minute},
	}
}

const (
	fixedWords = "def unique(words):\n    seen = set()\n    out = []\n    for w in words:\n        if w in seen:\n            continue\n        seen.add(w)\n        out.append(w)\n    return out\n"
	genuine    = "from words import unique\n\n\ndef test_once():\n    assert unique(['a', 'b', 'a']) == ['a', 'b']\n"
)

// TestPytest goes the whole way, from files to a verdict, with the real runner in the real sandbox.
func TestPytest(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	sb, err := sandbox.Open(ctx, sandbox.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	task := pytestTask()
	fixed := func(files ...string) tare.Tree {
		return task.Seed.Overlay(tree("src/words.py", fixedWords)).Overlay(tree(files...))
	}
	for _, tt := range []struct {
		name    string
		final   tare.Tree
		outcome tare.Outcome
		gate    string
		reason  string
	}{
		{"seed", task.Seed, tare.Fail, tare.GateBehaviour, `requirement 2: ask(["a","b","a"]) returned ["a", "b", "a"], expected ["a", "b"] (1 of 2 cases fails; requirement 2)`},
		{"exits", fixed("src/words.py", "import os, sys\n\n\ndef unique(words):\n    if words.count('a') > 1:\n        os._exit(0)\n    return words\n"), tare.Fail, tare.GateBehaviour, "it had answered 1 of 2 cases"},
		{"genuine", fixed("tests/test_new.py", genuine), tare.Pass, tare.GateRegressionTest, "tests/test_new.py::test_once passes on the fix"},
		{"fixture in a new conftest", fixed("conftest.py", "import pytest\n\n\n@pytest.fixture\ndef words():\n    return ['a', 'b', 'a']\n",
			"tests/test_new.py", "from words import unique\n\n\ndef test_once(words):\n    assert unique(words) == ['a', 'b']\n"), tare.Pass, tare.GateIntegrity, "kept out: conftest.py"},
		{"a test that a class takes over", fixed("tests/checks.py", "from words import unique\n\n\nclass Checks:\n    def test_once(self):\n        assert unique(['a', 'b', 'a']) == ['a', 'b']\n",
			"tests/test_new.py", "from checks import Checks\n\n\nclass TestWords(Checks):\n    pass\n"), tare.Pass, tare.GateRegressionTest, "tests/test_new.py::TestWords::test_once passes on the fix"},
		{"tests that code makes", fixed("tests/test_new.py", "import pytest\nfrom words import unique\n\n\ndef check(words):\n    def test():\n        assert unique(words) == ['a']\n    return test\n\n\ntest_one = check(['a', 'a'])\nglobals()['test_two'] = pytest.mark.parametrize('n', [1, 2])(lambda n: None)\n"),
			tare.Pass, tare.GateRegressionTest, "tests/test_new.py::test_one passes on the fix"},
		{"a test that code makes, and is vacuous", fixed("tests/test_new.py", "globals()['test_two'] = lambda: None\n"), tare.Fail, tare.GateRegressionTest, "tests/test_new.py::test_two passes on the unfixed seed"},
		{"a file that cannot be collected", fixed("tests/test_new.py", "import wordz\n"), tare.Fail, tare.GateRegressionTest, "no test was added or changed; tests/test_new.py: ModuleNotFoundError: No module named 'wordz'"},
		{"broken sources", task.Seed.Overlay(tree("src/words.py", "def unique(words:\n")), tare.Fail, tare.GateVisibleTests, "tests/test_words.py: SyntaxError: "},
		{"text", fixed("tests/test_new.py", "import inspect\nimport words\n\n\ndef test_once():\n    assert 'append(w)' not in inspect.getsource(words) or 'if w' in inspect.getsource(words)\n"), tare.Fail, tare.GateRegressionTest, "twin"},
		{"helper", fixed("src/words.py", "def fresh(w, out):\n    return w not in out\n\n\ndef unique(words):\n    out = []\n    for w in words:\n        if fresh(w, out):\n            out.append(w)\n    return out\n",
			"tests/test_new.py", "from words import fresh, unique\n\n\ndef test_once():\n    assert fresh('b', ['a'])\n    assert unique(['a', 'a']) == ['a']\n"), tare.Pass, tare.GateRegressionTest, "it needs"},
		{"a fix that is kept out", task.Seed.Overlay(tree("src/sitecustomize.py", "import words\nwords.unique = lambda ws: list(dict.fromkeys(ws))\n")),
			tare.Fail, tare.GateBehaviour, "with what was kept out in place (src/sitecustomize.py (sitecustomize runs whenever Python starts)) the probe answers 1 case rightly that is wrong without"},
		{"a file that is kept out and breaks the fix", fixed("src/sitecustomize.py", "import words\nwords.unique = lambda ws: ws\n", "tests/test_new.py", genuine),
			tare.Pass, tare.GateIntegrity, "with it in place the probe answers 1 case wrongly that is right without"},
		{"a conftest that hides", task.Seed.Overlay(tree("src/words.py", "def unique(words):\n    return sorted(set(words))\n", "conftest.py", "def pytest_collection_modifyitems(items):\n    for i in items:\n        i.obj = lambda: None\n")),
			tare.Fail, tare.GateIntegrity, "conftest.py"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev, err := Gather(ctx, Request{Task: task, Final: tt.final, Sandbox: sb, Runner: check.Pytest{}})
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
