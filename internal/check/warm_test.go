package check

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/sandbox"
)

// facts is Python that says all that it can find out of where it runs. What is left out is what no two cold runs share
// either, the command line in /proc (that of the resident) and the count of collections that were spared.
const facts = `
import gc, glob, logging, os, resource, signal, socket, sys, threading, time

def _modules():
    return sorted(m for m in sys.modules if m != 'test_facts')

MODULES = _modules()  # as they are when a tree's file is first loaded

def _status():
    keep = ('Umask', 'Uid', 'Gid', 'Groups', 'NoNewPrivs', 'Seccomp', 'Sig', 'Cap', 'Threads', 'NSpid', 'Tgid', 'PPid', 'TracerPid')
    return [l.strip() for l in open('/proc/self/status') if l.startswith(keep) and not l.startswith('SigQ')]

def _depth():
    f, n = sys._getframe(), 0
    while f: f, n = f.f_back, n + 1
    return n

def _streams():
    return [(s.name, s.seekable(), s.isatty(), s.encoding, s.errors, s.line_buffering, s.newlines) for s in (sys.__stdin__, sys.__stdout__, sys.__stderr__)]

def _limits():
    return [(n, resource.getrlimit(getattr(resource, n))) for n in sorted(dir(resource)) if n.startswith('RLIMIT')]

def all_facts():
    main = sys.modules['__main__']
    return {
        'modules': repr(MODULES), 'path': repr(sys.path), 'argv': repr(sys.argv), 'orig_argv': repr(sys.orig_argv), 'flags': repr(sys.flags),
        'environ': repr(sorted(os.environ.items())), 'start environ': repr(sorted(set(open('/proc/self/environ').read().split('\0')))),
        'descriptors': repr(sorted(int(f) for f in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + f))),
        'cwd': os.getcwd(), 'pids': repr((os.getpid(), os.getppid(), os.getpgid(0), os.getsid(0))), 'user': repr((os.getresuid(), os.getresgid(), os.getgroups())),
        'limits': repr(_limits()), 'handlers': repr([(s, getattr(signal.getsignal(s), '__name__', signal.getsignal(s))) for s in sorted(signal.valid_signals())]),
        'gc': repr((gc.isenabled(), gc.get_threshold(), gc.get_debug())), 'recursion': repr(sys.getrecursionlimit()), 'depth': repr(_depth()),
        'hash': repr((hash('text'), hash(b'bytes'))), 'main': repr((sorted(n for n in dir(main)), getattr(main, '__file__', None), str(main.__spec__))),
        'status': repr(_status()), 'mounts': repr(sorted(l.split()[1:4] for l in open('/proc/self/mounts'))),
        'directories': repr([(d, sorted(os.listdir(d))) for d in ('/', '/run', '/dev', '/dev/pts', '/srv', '/tmp', '/home', '/var', '/etc', '/srv/check')]),
        'streams': repr(_streams()), 'host': repr((os.uname().nodename, socket.gethostname(), [n for _, n in socket.if_nameindex()])),
        'hooks': repr([type(x).__name__ for x in sys.meta_path]), 'switch': repr(sys.getswitchinterval()),
        'works': _works(), 'threads': repr([t.native_id == threading.get_native_id() for t in [threading.current_thread()]]), 'log': repr(_log_age()),
    }

def _log_age():
    # a record says how old the program is
    began = int(open('/proc/self/stat').read().rpartition(')')[2].split()[19]) / os.sysconf('SC_CLK_TCK')
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - began
    return logging.LogRecord('x', 20, '', 1, '', (), None).relativeCreated <= age * 1000 + 50

def _works():
    import ctypes, multiprocessing, subprocess, threading
    l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); socket.create_connection(l.getsockname()).close()
    with multiprocessing.get_context('fork').Pool(1) as p: n = p.apply(abs, (-3,))
    t = threading.Thread(target=lambda: None); t.start(); t.join()
    out = subprocess.run([sys.executable, '-c', 'import sys; print(sys.path[1:], sys.flags)'], capture_output=True, text=True)
    return repr((ctypes.CDLL(None).getuid(), n, out.stdout, out.stderr, sys.executable))

def chance():
    import random, uuid
    return '|'.join([repr(random.random()), repr(random.Random().random()), uuid.uuid4().hex, os.urandom(4).hex()])
`

// factTests says facts in the messages of failures.
const factTests = `import facts, test_facts, pytest
FOUND = facts.all_facts()
@pytest.mark.parametrize('name', sorted(FOUND))
@pytest.mark.parametrize('part', range(12))
def test_fact(name, part): raise AssertionError(FOUND[name][part * 1400:][:1400])
def test_chance(): raise AssertionError(facts.chance())
`

var address = regexp.MustCompile(`0x[0-9a-f]+`)

// TestWarmIsCold has a tree say, warm and cold, what it finds where it runs, to the probe and to tests. That must be the
// same; what is left to chance must not be, from one fork to the next.
func TestWarmIsCold(t *testing.T) {
	if box.Isolation() != sandbox.IsolationBwrap {
		t.Skipf("isolation %s has no warm runs", box.Isolation())
	}
	cold, err := sandbox.Open(context.Background(), sandbox.Options{InMemory: true, Cold: true})
	if err != nil {
		t.Fatal(err)
	}
	defer cold.Close()
	probe := files(t, "probe.py", "import facts\nask, chance = facts.all_facts, facts.chance\n")
	tree := files(t, "src/facts.py", facts, "tests/test_facts.py", factTests)
	ask := func(sb sandbox.Sandbox) (out map[string]string, chance []string) {
		out = map[string]string{}
		warm := sb == box
		p, err := Pytest{}.Probe(t.Context(), sb, ProbeRequest{
			Tree: tree, Sources: []string{"src"}, Hidden: probe, Wall: long,
			Cases: []Question{{ID: "facts", Call: "ask", Args: []byte("[]")}, {ID: "chance", Call: "chance", Args: []byte("[]")}},
		})
		if err != nil || !p.Complete || p.Warm != warm || p.Cases[0].Value.Kind != tare.KindDict {
			t.Fatalf("probe, warm %v: %+v, %v", p.Warm, p, err)
		}
		for _, pair := range p.Cases[0].Value.Pairs {
			out["probe: "+pair[0].Text] = pair[1].Text
		}
		chance = append(chance, p.Cases[1].Value.Text)
		for _, reverse := range []bool{false, true} {
			r, err := Pytest{}.Run(t.Context(), sb, TestRequest{
				Tree: tree, Sources: []string{"src"}, Wall: long, Twin: "tests/test_facts.py::test_chance", Reverse: reverse,
			})
			if err != nil || !r.Complete || r.Warm != warm || len(r.Tests) < 200 {
				t.Fatalf("tests, warm %v: %d, %s, %v\n%s", r.Warm, len(r.Tests), r.Defect, err, r.Output)
			}
			for _, x := range r.Tests {
				if x.ID == "tests/test_facts.py::test_chance" {
					chance = append(chance, x.Message)
				} else {
					out[fmt.Sprintf("reverse %v: %s", reverse, x.ID)] = x.Message
				}
			}
		}
		return out, chance
	}
	warm1, chance1 := ask(box)
	warm2, chance2 := ask(box)
	cold1, _ := ask(cold)
	uid, _ := cold.Owner()
	other, _ := box.Owner()
	same := strings.NewReplacer(fmt.Sprint(uid), "UID", fmt.Sprint(other), "UID") // each has its own
	for _, found := range []map[string]string{warm1, warm2, cold1} {
		for name, fact := range found {
			found[name] = address.ReplaceAllString(same.Replace(fact), "ADDRESS")
		}
	}
	if d := cmp.Diff(cold1, warm1); d != "" {
		t.Errorf("cold and warm (-cold +warm):\n%s", d)
	}
	if d := cmp.Diff(warm1, warm2); d != "" {
		t.Errorf("one fork and the next:\n%s", d)
	}
	for i := range chance1 {
		one, two := strings.Split(chance1[i], "|"), strings.Split(chance2[i], "|")
		if len(one) != 4 || len(two) != 4 {
			t.Fatalf("chance is %q and %q", chance1[i], chance2[i])
		}
		for k := range one {
			if one[k] == two[k] {
				t.Errorf("chance is the same in two forks: %s", one[k])
			}
		}
	}
}

// most is Python tests that use most of what pytest has.
const most = `
import logging, os, sys, unittest, warnings
import pytest
warnings.warn("at import")
logging.getLogger().warning("at import")
print("at import")
@pytest.fixture(scope="session")
def whole(tmp_path_factory, pytestconfig):
    print("set up"); yield (tmp_path_factory.mktemp("x").name, pytestconfig.rootpath, pytestconfig.inipath.name, [pytestconfig.getoption(o) for o in ("capture", "verbose", "tbstyle")]); print("torn down")
@pytest.fixture(autouse=True)
def each(request): yield request.node.name
def test_streams(capsys, capfd=None):
    print("out"); sys.stderr.write("err"); assert capsys.readouterr() == ("out\n", "err")
def test_descriptors(capfd):
    os.write(1, b"one"); os.write(2, b"two"); assert capfd.readouterr() == ("one", "two")
def test_log(caplog):
    logging.getLogger("x").error("said"); assert caplog.messages == ["said"]; assert 0, caplog.text
def test_whole(whole, tmp_path, monkeypatch):
    monkeypatch.setenv("A", "b"); monkeypatch.chdir(tmp_path); print("shown", os.environ["PYTEST_CURRENT_TEST"]); sys.stderr.write("too"); logging.error("logged"); assert whole == 1
def test_stdin(): sys.stdin.read()
def test_spawn(): assert os.system("echo from a child; echo and on stderr >&2; cat") == 1
@pytest.mark.parametrize("a", [1, "b", None], ids=str)
def test_each(a): assert a == {"b": [a, 1]}, f"so {a}"
@pytest.mark.xfail
def test_expected(): assert 0
@pytest.mark.xfail(strict=True)
def test_unexpected(): pass
@pytest.mark.skipif(sys.version_info > (3,), reason="new")
def test_skipped(): assert 0
def test_skip(): pytest.skip("why")
def test_warning(recwarn): warnings.warn("x", DeprecationWarning); assert len(recwarn) == 1; warnings.warn("kept")
def test_raises():
    with pytest.raises(ValueError, match="y"): raise ValueError("x")
def test_config(pytestconfig, request, cache):
    c = pytestconfig
    raise AssertionError(repr((c.args, c.args_source, c.invocation_params.args[-3:], c.invocation_params.dir, c.option.file_or_dir, c.known_args_namespace.file_or_dir,
        sorted(n for n, _ in c.pluginmanager.list_name_plugin() if not n.isdigit()), cache.get("a", 1), request.session.startpath, request.session.nodeid, c.getini("python_files"))))
class TestClass:
    def setup_method(self): self.a = 1
    def test_method(self): assert self.a == 2
class Case(unittest.TestCase):
    def setUp(self): self.a = 1
    def test_case(self):
        with self.subTest("x"): self.assertEqual(self.a, 2)
    @unittest.expectedFailure
    def test_fails(self): self.fail("so")
def test_thread():
    import threading
    t = threading.Thread(target=lambda: 1/0); t.start(); t.join()
def test_error(nothing): pass
def test_exit(): sys.exit(3)
def test_quit(): quit("so")
def test_collector(pytestconfig):
    import gc
    kinds = pytest.Config, pytest.Session, type(pytestconfig.pluginmanager), logging.Handler
    raise AssertionError(repr([any(isinstance(o, k) for o in gc.get_objects()) for k in kinds]))
def test_log_file(pytestconfig): raise AssertionError(repr(vars(pytestconfig.pluginmanager.get_plugin("logging-plugin").log_file_handler)))
`

// TestSessionIsPytest: where pytest's start is made ahead, tests find and say what they do where it is not. A conftest.py that
// nothing loads makes the difference.
func TestSessionIsPytest(t *testing.T) {
	chance := regexp.MustCompile(`in \d+\.\d+s| +\[ *\d+%\]|tare_main.py', '\w+'|'tare_session', |[0-9.e-]+\|[0-9.e-]+\|[0-9a-f]{32}\|[0-9a-f]{8}`) // the time; where the sentinels stand; the name; test_chance
	seconds := regexp.MustCompile(`in (\d+\.\d+)s`)
	trees := map[string]tare.Tree{
		"most":   files(t, "tests/test_most.py", most, "src/a.py", "X = 1\n"),
		"facts":  files(t, "src/facts.py", facts, "tests/test_facts.py", factTests),
		"broken": files(t, "tests/test_broken.py", "import nothing\n", "tests/test_syntax.py", "def f(:\n", "tests/test_fine.py", "def test_fine(): pass\n"),
		"odd":    files(t, "tests/test_odd.py", "import pytest\npytest_plugins = ['helper']\ndef test_a(given): assert given == 2\ndef test_b(): pytest.fail('enough')\ndef test_c(): pass\n", "src/helper.py", "import pytest\n@pytest.fixture\ndef given(): return 1\ndef pytest_runtest_setup(item): print('before', item.nodeid)\ndef pytest_configure(config): print('configured', config.rootpath)\ndef pytest_terminal_summary(terminalreporter): terminalreporter.write_line('in the end')\n"),
		"none":   files(t, "src/a.py", "X = 1\n"),
		"ini":    files(t, "pytest.ini", "[pytest]\naddopts = -x --nothing\n", "tox.ini", "[pytest]\naddopts = -x\n", "pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-x'\n", "tests/test_ini.py", "def test_a(): assert 0\ndef test_b(): assert 0\n"),
	}
	for name, tree := range trees {
		for _, req := range []TestRequest{
			{Wall: long}, {Wall: long, Reverse: true, DirName: "copy"}, {Wall: long, Nodes: []string{"gone.py::test"}}, {Wall: long, Twin: "tests/test_most.py::test_log", Nodes: []string{"tests/test_" + name + ".py::test_a", "tests/test_most.py::test_each", "tests/test_most.py::test_config", "gone.py::test"}},
		} {
			req.Tree, req.Sources = tree, src
			plain := req
			plain.Tree = tree.Overlay(files(t, "build/conftest.py", "raise SystemExit\n"))
			if a, b := (Pytest{}).script(req), (Pytest{}).script(plain); a != session || b != "pytest" {
				t.Fatalf("scripts %s and %s", a, b)
			}
			var runs []tare.Run
			for _, r := range []TestRequest{plain, req} {
				got, err := Pytest{}.Run(t.Context(), box, r)
				if err != nil || got.Defect == "" != got.Complete {
					t.Fatalf("%s: %v, %s", name, err, got.Defect)
				}
				if said := seconds.FindSubmatch(got.Output); len(said) == 2 {
					if s, err := strconv.ParseFloat(string(said[1]), 64); err != nil || s > got.Seconds+0.25 { // a busy machine looks at its clock late; a resident is soon older than that
						t.Errorf("%s: it took %.2f s and says %s", name, got.Seconds, said[1])
					}
				}
				got.Output = []byte(address.ReplaceAllString(chance.ReplaceAllString(string(got.Output), ""), "ADDRESS"))
				got.Tree, got.Command, got.Seconds = "", nil, 0
				for i := range got.Tests {
					got.Tests[i].Message = address.ReplaceAllString(chance.ReplaceAllString(got.Tests[i].Message, ""), "ADDRESS")
				}
				if name == "facts" {
					got.Output = nil // its end, long as it is, hangs on the places of the sentinels
				}
				runs = append(runs, got)
			}
			if d := cmp.Diff(runs[0], runs[1]); d != "" {
				t.Errorf("%s, nodes %v, reverse %v: by pytest and by session (-pytest +session):\n%s", name, req.Nodes, req.Reverse, d)
			}
		}
	}
}

// TestSnaresBeforeTests: what pytest would meet in the root of a tree before it collects tests, on the way to a conftest.py, is met
// only where the tests that are asked for lie beside it.
func TestSnaresBeforeTests(t *testing.T) {
	cold, err := sandbox.Open(context.Background(), sandbox.Options{InMemory: true, Cold: true})
	if err != nil {
		t.Fatal(err)
	}
	defer cold.Close()
	for _, target := range []string{strings.Repeat("a", 300), "/proc/1/cwd/x", "/usr/lib/python3"} {
		for _, tree := range []tare.Tree{
			files(t, "tests/test_a.py", "def test_a(): pass\n").Overlay(tare.Tree{{Path: "test_l", Mode: fs.ModeSymlink | 0o777, Data: []byte(target)}}),
			files(t, "tests/test_a.py", "def test_a(): pass\n", "test_l/conftest.py/a", "", "testing/"+strings.Repeat("a", 200), ""),
		} {
			for _, sb := range []sandbox.Sandbox{box, cold} {
				r, err := Pytest{}.Run(t.Context(), sb, TestRequest{Tree: tree, Wall: long, Nodes: []string{"tests/test_a.py::test_a"}, Twin: "tests/test_a.py::test_a"})
				if err != nil || !r.Complete || len(r.Tests) != 1 || r.Tests[0].Outcome != tare.TestPassed {
					t.Errorf("a link to %.20s, warm %v: %v, %s, %v", target, r.Warm, r.Tests, r.Defect, err)
				}
			}
		}
	}
}

// TestAheadIsTheSame compares what is looked up ahead of a run with what pytest and pluggy find for themselves.
func TestAheadIsTheSame(t *testing.T) {
	const script = `
import ast, builtins, inspect, sys, types
sys.path[:0] = [sys.argv[1], "/usr/lib/python3/dist-packages"]
import pluggy
from _pytest.assertion import rewrite
varnames, traverse = pluggy._hooks.varnames, lambda n: list(TRAVERSE(n))
TRAVERSE = rewrite.traverse_node
import tare_pytest
tare_pytest.ready()
import pytest
from _pytest import config, fixtures
import tare_plugin
checked = 0
def same(what, got, want):
    global checked
    checked += 1
    assert got == want, (what, got, want)
def found(holder, names):
    return [n for n in names if fixtures.getfixturemarker(getattr(holder, n, None))]
manager = config.get_config(["-p", "no:pastebin"]).pluginmanager
for p in manager.get_plugins():
    same(p, found(p, fixtures.dir(p)), found(p, dir(p)))
own = types.ModuleType("own")
own.thing = pytest.fixture(lambda: 1)
class Holder:
    thing = own.thing
from _pytest.capture import CaptureManager
same(CaptureManager, fixtures.dir(CaptureManager.__new__(CaptureManager)), [])
class Capture(CaptureManager):
    thing = own.thing
for holder in own, Holder(), Capture.__new__(Capture):
    same(holder, found(holder, fixtures.dir(holder)), ["thing"])
assert found(pytest.Function, fixtures.dir(pytest.Function)) == found(pytest.Function, dir(pytest.Function))
reporter = tare_plugin.Reporter()
for o in [*manager.get_plugins(), reporter]:
    for name in dir(o):
        f = getattr(o, name, None)
        if name.startswith("pytest_") and inspect.isroutine(f):
            same(f, pluggy._hooks.varnames(f), varnames(f))
            same(f, pluggy._hooks.varnames(getattr(f, "__func__", f)), varnames(getattr(f, "__func__", f)))
source = "def f(a, *b):\n    assert [x for x in b if x] == {1: a}, f'{a} and'\n\n    return lambda y: y\n"
nodes = list(ast.walk(ast.parse(source)))
for old in nodes + [ast.Pass(), ast.Name("a", ast.Load(), lineno=3, col_offset=1)]:
    for new in ast.Name, ast.Load, ast.arg:
        one, two = (new(**({"ctx": None} if new is ast.Name else {})) for _ in "ab")
        same(old, vars(rewrite.ast.copy_location(one, old)), vars(ast.copy_location(two, old)))
same("all nodes", {id(n) for n in rewrite.traverse_node(nodes[0])}, {id(n) for n in nodes})
same("each once", len(rewrite.traverse_node(nodes[0])), len(traverse(nodes[0])))
print(checked)
`
	dir := t.TempDir()
	scripts, err := scriptsAt(dir, box)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(interpreter, "-s", "-S", "-B", "-c", script, scripts).CombinedOutput()
	n, atoi := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || atoi != nil || n < 200 {
		t.Errorf("%v: %s", err, out)
	}
}

// TestPlainInstead: where pytest lacks what the session puts off, the plain script runs; and a resident does not serve with a
// descriptor open that no run has.
func TestPlainInstead(t *testing.T) {
	const start = `
import os, sys
sys.path[:0] = [sys.argv[1], "/usr/lib/python3/dist-packages"]
import tare_session, tare_pytest
tare_pytest.HERE = sys.argv[1]
if sys.argv[3] == "open":
    kept = open("/dev/null")
    tare_session.only_the_streams()
if sys.argv[3] == "lacking":
    tare_session.Later.__init__ = lambda self: setattr(self, "places", [(os, "nothing", None)])
sys.argv[1:] = [sys.argv[2], "3"]
tare_session.main()
`
	scripts, err := scriptsAt(t.TempDir(), box)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "test_a.py"), []byte("def test_a(): pass\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"whole", "lacking", "open"} {
		report, err := os.Create(filepath.Join(t.TempDir(), "report"))
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(interpreter, "-s", "-S", "-B", "-c", start, scripts, root, how)
		c.ExtraFiles = []*os.File{report}
		c.Stdin = strings.NewReader(`{"nonce":"n","sources":[],"nodes":null,"files":null,"twin":"","steered":false,"reverse":false,"passing":"test_p","failing":"test_f","dice":"d"}`)
		said, _ := c.CombinedOutput()
		text, err := os.ReadFile(report.Name())
		report.Close()
		if err != nil {
			t.Fatal(err)
		}
		if ended := strings.Contains(string(text), `"event":"end","status":1,"items":3,"results":9`); ended != (how != "open") {
			t.Errorf("%s: it said %s and reported %s", how, said, text)
		}
		if refused := strings.Contains(string(said), "pytest leaves descriptors open: "); refused != (how == "open") {
			t.Errorf("%s: it said %s", how, said)
		}
	}
}
