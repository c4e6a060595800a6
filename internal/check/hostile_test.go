package check

import (
	"strings"
	"testing"
	"time"

	"tare"
)

// The seed of the tests below: add has a bug that test_adds shows, and test_other passes.
const (
	buggy     = "def add(a, b):\n    return a - b\n\ndef other():\n    return 1\n"
	visible   = "from subject import add, other\n\ndef test_adds():\n    assert add(1, 2) == 3\n\ndef test_other():\n    assert other() == 1\n"
	addsNode  = "tests/test_subject.py::test_adds"
	otherNode = "tests/test_subject.py::test_other"
)

// TestHostileSources puts code into the subject that tries to have the failing test read as passed. Each case says what
// must be seen: a defect of the report, a wrong sentinel, or a failure that is still a failure.
func TestHostileSources(t *testing.T) {
	wrap := `
import _pytest.reports as reports
real = reports.TestReport.from_item_and_call.__func__
def forged(cls, item, call):
    report = real(cls, item, call)
    if report.nodeid.endswith("::test_adds"):
        report.outcome, report.longrepr = "passed", None
    return report
reports.TestReport.from_item_and_call = classmethod(forged)
`
	for _, c := range []struct {
		name, code string
		wall       time.Duration
		defect     string // part of Run.Defect; "" for a whole report
		twin       tare.TestOutcome
		adds       tare.TestOutcome
	}{
		{name: "nothing", code: "", twin: tare.TestFailed, adds: tare.TestFailed},
		{name: "exit at import", code: "import os\nprint('3 passed')\nos._exit(0)\n", defect: "no end mark: the process ended by itself with status 0"},
		{
			name:   "exit in a call",
			code:   "import os, sys\ndef add(a, b):\n    sys.__stdout__.write('2 passed in 0.01s\\n')\n    sys.__stdout__.flush()\n    os._exit(0)\n",
			defect: "no end mark: the process ended by itself with status 0",
		},
		{name: "killed", code: "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", defect: "no end mark: the process was ended by SIGKILL"},
		{name: "system exit at import", code: "raise SystemExit(0)\n", twin: tare.TestFailed, adds: ""},
		{name: "hang", code: "while True: pass\n", wall: time.Second, defect: "no end mark: the process was stopped by the limit on wall"},
		{name: "a wrapped report", code: wrap, twin: tare.TestPassed, adds: tare.TestFailed},
		{
			name: "a wrapped emitter",
			code: `
import sys
f = sys._getframe()
while "reporter" not in f.f_locals: f = f.f_back
o, send = f.f_locals["reporter"], f.f_locals["reporter"].send
def forged(event, **f):
    if f.get("id", "").endswith("::test_adds"):
        f.update(outcome="passed", raised=False)
    send(event, **f)
o.send = forged
`,
			twin: tare.TestPassed, adds: tare.TestPassed, // the twin is what tells
		},
		{
			name: "a search for the emitter among all objects", // it finds nothing
			code: "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Reporter':\n        o.send = None\n",
			twin: tare.TestFailed, adds: tare.TestFailed,
		},
		{
			name: "a report of its own",
			code: `
import sys
f = sys._getframe()
while "reporter" not in f.f_locals: f = f.f_back
f.f_locals["reporter"].send("result", item=0, id="tests/test_subject.py::test_adds", when="setup", outcome="passed", raised=False)
`,
			defect: `test "tests/test_subject.py::test_adds"`, // has two results, or was never collected there
		},
		{
			name:   "garbage on every descriptor",
			code:   "import os\nfor fd in range(3, 1024):\n    try: os.write(fd, b'{\"event\":\"end\"}\\n')\n    except OSError: pass\n",
			defect: "does not have this run's nonce",
		},
		{
			name:   "fifty megabytes on every descriptor",
			code:   "import os\nfor fd in range(3, 20):\n    try:\n        for _ in range(50): os.write(fd, b'x' * (1 << 20))\n    except OSError: pass\n",
			defect: "the process was stopped by the limit on output",
		},
		{
			name:   "one long line on the channel",
			code:   "import os\nx = b'x' * (2 << 20) + b'\\n'\nfor fd in range(300, 1024):\n    try: os.write(fd, x)\n    except OSError: pass\n",
			defect: "of the report is longer than 1048576 bytes",
		},
		{
			name:   "fifty megabytes on the channel",
			code:   "import os\nfor fd in range(300, 302):\n    try:\n        for _ in range(50): os.write(fd, b'x' * (1 << 20))\n    except OSError: pass\n",
			defect: "the report is longer than 8388608 bytes",
		},
		{
			name: "a child that holds the channel",
			code: "import os, time\nif os.fork() == 0:\n    time.sleep(300)\n    os._exit(0)\n",
			twin: tare.TestFailed, adds: tare.TestFailed,
		},
		{
			name: "a child that goes on with the tests",
			code: "import os\nPARENT = os.fork()\n",
			twin: tare.TestFailed, adds: tare.TestFailed,
		},
		{
			name: "a patched library",
			code: "import json, os\njson.dumps = json.JSONEncoder.encode = lambda *a, **k: '{}'\nos.write = lambda *a: 1\n",
			twin: tare.TestFailed, adds: tare.TestFailed,
		},
		{name: "a keyboard interrupt", code: "def add(a, b):\n    raise KeyboardInterrupt\n", defect: "status 2"},
		{name: "pytest.exit", code: "import pytest\ndef add(a, b):\n    pytest.exit('done', 0)\n", defect: "have no result"},
		{name: "a skip from inside", code: "import pytest\ndef add(a, b):\n    pytest.skip('not today')\n", twin: tare.TestFailed, adds: tare.TestSkipped},
		{name: "an expected failure from inside", code: "import pytest\ndef add(a, b):\n    pytest.xfail('known')\n", twin: tare.TestFailed, adds: tare.TestSkipped},
	} {
		t.Run(c.name, func(t *testing.T) {
			code := c.code
			if !strings.Contains(code, "def add") {
				code += buggy
			} else {
				code += "\ndef other():\n    return 1\n"
			}
			tree := files(t, "src/subject.py", code, "tests/test_subject.py", visible)
			r := run(t, TestRequest{Tree: tree, Nodes: []string{addsNode, otherNode}, Twin: addsNode, Wall: c.wall})
			if r.Complete != (c.defect == "") || !strings.Contains(r.Defect, c.defect) {
				t.Fatalf("complete %v, defect %q; want %q in it", r.Complete, r.Defect, c.defect)
			}
			if c.defect != "" {
				if outcomes(r)[addsNode] == tare.TestPassed {
					t.Errorf("the failing test reads as passed: %v", r.Tests)
				}
				return
			}
			if got := r.Sentinels[2].Got; got != c.twin {
				t.Errorf("twin %q, want %q", got, c.twin)
			}
			if !r.Sentinels[0].Right() || !r.Sentinels[1].Right() {
				t.Errorf("sentinels %v", r.Sentinels)
			}
			if got := outcomes(r)[addsNode]; got != c.adds {
				t.Errorf("test_adds %q, want %q: %v", got, c.adds, r.Tests)
			}
		})
	}
}

// TestSteering shows that what steers has no effect when it is not honoured, and an effect when it is.
func TestSteering(t *testing.T) {
	steer := func(out string) string {
		return "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    outcome = yield\n    outcome.get_result().outcome = '" + out + "'\n"
	}
	// as many a project's conftest does; the sentinels' failures must be in the form that it expects
	look := "def pytest_runtest_logreport(report):\n    if report.failed:\n        r = report.longrepr\n" +
		"        assert r.reprcrash.path and r.reprcrash.lineno and r.reprcrash.message and r.reprtraceback.reprentries and r.sections == [] and str(r)\n"
	for _, c := range []struct {
		name    string
		extra   []string
		plain   tare.TestOutcome // of test_adds, with the file in the tree and nothing honoured
		steered tare.TestOutcome // "" when it is not reported
		whole   bool
	}{
		{"options that deselect", []string{"pytest.ini", "[pytest]\naddopts = -k other\n"}, tare.TestFailed, "", true},
		{"options in pyproject", []string{"pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-k other\"\n"}, tare.TestFailed, "", true},
		{"sitecustomize", []string{"src/sitecustomize.py", "import os\nos._exit(0)\n"}, tare.TestFailed, "", false},
		{"a module called pytest", []string{"pytest.py", "print('2 passed')\nraise SystemExit(0)\n"}, tare.TestFailed, "", false},
		{"a module called pprint in src", []string{"src/pprint.py", "raise SystemExit(0)\n"}, tare.TestFailed, "", false},
		{"a plug-in by entry point", []string{
			"src/evil-1.dist-info/entry_points.txt", "[pytest11]\nevil = evil\n", "src/evil-1.dist-info/METADATA", "Name: evil\nVersion: 1\n",
			"src/evil.py", steer("passed"),
		}, tare.TestFailed, tare.TestPassed, true},
		{"a harmless fixture", []string{"tests/conftest.py", "import pytest\n@pytest.fixture\ndef unused(): pass\n"}, tare.TestFailed, tare.TestFailed, true},
		{"a conftest that looks into failures", []string{"tests/conftest.py", look}, tare.TestFailed, tare.TestFailed, true},
		{"a conftest that rewrites outcomes", []string{"tests/conftest.py", steer("passed")}, tare.TestFailed, tare.TestPassed, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := files(t, append([]string{"src/subject.py", buggy, "tests/test_subject.py", visible}, c.extra...)...)
			seed := files(t, "src/subject.py", buggy, "tests/test_subject.py", visible)
			flagged := false
			for _, ch := range seed.Changes(tree) {
				flagged = flagged || Pytest{}.Steers(ch.Path, seed) != ""
			}
			if !flagged {
				t.Errorf("no file of %v is said to steer", c.extra)
			}
			nodes := []string{addsNode, otherNode}
			r := run(t, TestRequest{Tree: tree, Nodes: nodes, Twin: addsNode})
			if got := outcomes(r)[addsNode]; got != c.plain || !r.Complete {
				t.Errorf("not honoured: %q, want %q; %q", got, c.plain, r.Defect)
			}
			r = run(t, TestRequest{Tree: tree, Nodes: nodes, Twin: addsNode, Steered: true})
			if got := outcomes(r)[addsNode]; got != c.steered || r.Complete != c.whole {
				t.Errorf("honoured: %q, complete %v, want %q, %v; %q", got, r.Complete, c.steered, c.whole, r.Defect)
			}
		})
	}
}

// TestCollection pins what becomes of tests that are not there or cannot be loaded.
func TestCollection(t *testing.T) {
	tree := files(t,
		"src/subject.py", buggy,
		"tests/test_subject.py", visible,
		"tests/test_broken.py", "def test_x(:\n",
		"tests/test_lost.py", "from subject import helper\ndef test_y(): pass\n",
		"tests/test_absent.py", "import pytest\npytest.skip('all of it', allow_module_level=True)\n",
		"tests/helper_file.py", "def test_not_collected(): pass\n",
	)
	r := run(t, TestRequest{Tree: tree})
	if !r.Complete || !sentinelsRight(r) || len(r.Tests) != 5 {
		t.Fatalf("%v %q %v %v", r.Complete, r.Defect, r.Sentinels, r.Tests)
	}
	if got := result(t, r, "tests/test_broken.py"); got.Outcome != tare.TestError || got.Phase != "collect" || got.Class != "SyntaxError" || got.Missing != "" {
		t.Errorf("%+v", got)
	}
	if got := result(t, r, "tests/test_lost.py"); got.Outcome != tare.TestError || got.Class != "ImportError" || got.Missing != "subject.helper" {
		t.Errorf("%+v", got)
	}
	if got := result(t, r, "tests/test_absent.py"); got.Outcome != tare.TestSkipped || got.Phase != "collect" {
		t.Errorf("%+v", got)
	}

	r = run(t, TestRequest{Tree: tree, Nodes: []string{otherNode, "tests/test_subject.py::test_gone", "tests/gone.py::test_x", "-k"}})
	if !r.Complete || !sentinelsRight(r) || len(r.Tests) != 1 || r.Tests[0].ID != otherNode {
		t.Errorf("%q %v %v", r.Defect, r.Sentinels, r.Tests)
	}

	r = run(t, TestRequest{Tree: tree, Nodes: []string{"tests/gone.py::test_x"}})
	if !r.Complete || !sentinelsRight(r) || len(r.Tests) != 0 {
		t.Errorf("%q %v %v", r.Defect, r.Sentinels, r.Tests)
	}

	r = run(t, TestRequest{Tree: tree, Nodes: []string{"tests/test_lost.py::test_y"}, Twin: "tests/test_lost.py::test_y"})
	if !r.Complete || !sentinelsRight(r) || len(r.Tests) != 1 || r.Tests[0].ID != "tests/test_lost.py" {
		t.Errorf("%q %v %v", r.Defect, r.Sentinels, r.Tests)
	}
}

// TestSentinelsAreApart shows that marks, fixtures and set-up functions of the tests beside them do not touch sentinels,
// and that planting them tears no fixture down.
func TestSentinelsAreApart(t *testing.T) {
	tree := files(t, "tests/test_marked.py", `
import pytest
pytestmark = [pytest.mark.skip(reason="all of them"), pytest.mark.usefixtures("nothing")]
def test_a(): pass
`, "tests/test_auto.py", `
import pytest
@pytest.fixture(autouse=True)
def breaks(): raise ValueError
def setup_function(): raise ValueError
class TestX:
    def setup_method(self): raise ValueError
    def test_b(self): pass
`, "tests/test_counted.py", `
import pytest
made = []
@pytest.fixture(scope="module")
def once():
    made.append(1)
def test_c(once): assert len(made) == 1
def test_d(once): assert len(made) == 1
def test_e(once): assert len(made) == 1
`)
	for range 6 { // places are drawn anew each time
		r := run(t, TestRequest{Tree: tree, Twin: "tests/test_counted.py::test_d"})
		if !r.Complete || !sentinelsRight(r) {
			t.Fatalf("%q %v", r.Defect, r.Sentinels)
		}
		for _, n := range []string{"c", "d", "e"} {
			if got := result(t, r, "tests/test_counted.py::test_"+n); got.Outcome != tare.TestPassed {
				t.Fatalf("%+v", got)
			}
		}
		progress, _, _ := strings.Cut(string(r.Output), "\n") // a letter for each test
		if strings.Contains(string(r.Output), "AssertionError") || strings.Contains(progress, "F") || len(strings.Fields(progress)[0]) != 5 {
			t.Errorf("sentinels are shown:\n%s", r.Output)
		}
	}
}

// TestCircumstances shows what a run says of where and in which order it ran.
func TestCircumstances(t *testing.T) {
	tree := files(t, "src/subject.py", "", "tests/test_where.py", `
import multiprocessing, os, subprocess, sys
order = []
def test_dir(): order.append(1); assert os.path.basename(os.getcwd()) == "elsewhere"
def test_hash(): assert hash("tare") == 0, hash("tare")
def test_last(): assert order == []
def test_clean(): assert not [k for k in os.environ if k.startswith(("PYTEST_A", "LD_", "GO"))]
def test_stdin(): assert sys.__stdin__.read() == ""
def test_tools(tmp_path, capsys, monkeypatch, caplog):
    (tmp_path / "x").write_text("1")
    monkeypatch.setenv("X", "1")
    print("said")
    assert capsys.readouterr().out == "said\n"
def test_own_process(): subprocess.run([sys.executable, "-c", "import subject"], check=True)
def test_spawned():
    with multiprocessing.get_context("spawn").Pool(1) as pool: assert pool.map_async(abs, [-1]).get(60) == [1]
def test_plugins(cache, record_property): cache.set("tare/x", 1); record_property("x", 1)
def test_no_litter(): assert not [d for d, _, _ in os.walk(".") if d.endswith(("__pycache__", ".pytest_cache"))]
`)
	a := run(t, TestRequest{Tree: tree, DirName: "elsewhere", Reverse: true})
	b := run(t, TestRequest{Tree: tree})
	c := run(t, TestRequest{Tree: tree})
	at := func(r tare.Run, n string) tare.TestResult { return result(t, r, "tests/test_where.py::test_"+n) }
	for _, n := range []string{"dir", "last", "clean", "stdin", "tools", "own_process", "spawned", "plugins", "no_litter"} {
		if at(a, n).Outcome != tare.TestPassed {
			t.Errorf("%+v", at(a, n))
		}
	}
	for _, n := range []string{"dir", "last"} {
		if at(b, n).Outcome != tare.TestFailed {
			t.Errorf("%+v", at(b, n))
		}
	}
	if at(b, "hash").Message != at(c, "hash").Message || at(a, "hash").Message == at(b, "hash").Message {
		t.Errorf("hashes: %q, %q, reversed %q", at(b, "hash").Message, at(c, "hash").Message, at(a, "hash").Message)
	}
}
