package check

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
)

func nodes(t *testing.T, tree tare.Tree) ([]tare.TestNode, []string) {
	t.Helper()
	ns, broken, err := Pytest{}.Tests(t.Context(), box, tree)
	if err != nil {
		t.Fatal(err)
	}
	return ns, broken
}

// TestListedIsCollected compares what is listed by reading with what pytest collects.
func TestListedIsCollected(t *testing.T) {
	tree := files(t,
		"tests/test_many.py", `
import unittest
import pytest
from unittest import TestCase as Case

def test_plain(): pass
async def test_async(): pass
def testno_underscore(): pass
def helper(): pass
def other_test(): pass
@pytest.mark.parametrize("x", ["a", "b[c]", "d::e"])
def test_param(x): pass
if True:
    def test_inside_if(): pass
try:
    def test_inside_try(): pass
except ImportError:
    def test_inside_except(): pass
class TestGroup:
    shared = 1
    def test_a(self): pass
    def helper(self): pass
    @pytest.fixture
    def fix(self): pass
    class TestInner:
        def test_b(self): pass
    class Inner:
        def test_not(self): pass
class TestHeir(TestGroup):
    def test_c(self): pass
class TestWithInit:
    def __init__(self): pass
    def test_not(self): pass
class Other:
    def test_not(self): pass
class Unit(unittest.TestCase):
    def test_d(self): pass
    def testE(self): pass
class MoreUnit(Unit):
    def test_f(self): pass
class CaseUnit(Case): pass
def test_twice(): pass
def test_twice(): pass
`,
		"tests/deep/er/other_test.py", "def test_x(): pass\n",
		"test_root.py", "def test_y(): pass\n",
		"tests/test_empty.py", "",
		"tests/helper.py", "def test_not(): pass\n",
		"tests/xtest_no.py", "def test_not(): pass\n",
		"tests/.hidden/test_no.py", "def test_not(): pass\n",
		"build/test_no.py", "def test_not(): pass\n",
		"node_modules/x/test_no.py", "def test_not(): pass\n",
		"tests/test_not.txt", "",
	)
	listed, broken := nodes(t, tree)
	if len(broken) != 0 {
		t.Errorf("broken %v", broken)
	}
	var got, want []string
	for _, n := range listed {
		got = append(got, n.ID)
		if file, _, _ := strings.Cut(n.ID, "::"); file != n.File {
			t.Errorf("%s is said to be in %s", n.ID, n.File)
		}
	}
	r := run(t, TestRequest{Tree: tree})
	for _, x := range r.Tests {
		if n := NodeOf(x.ID); !slices.Contains(want, n) {
			want = append(want, n)
		}
		if x.Phase == "collect" {
			t.Errorf("%+v", x)
		}
	}
	want = append(want, "tests/test_many.py::test_inside_except") // reading cannot tell that it is never defined
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" || len(got) < 15 {
		t.Errorf("(-collected +listed):\n%s", d)
	}
	for _, node := range listed {
		if node.ID == "tests/test_many.py::test_param" {
			if r := run(t, TestRequest{Tree: tree, Nodes: []string{node.ID}}); len(r.Tests) != 3 {
				t.Errorf("a node without parameters ran %v", r.Tests)
			}
		}
	}
	if r := run(t, TestRequest{Tree: tree, Nodes: []string{"tests/test_many.py::test_param[d::e]"}}); len(r.Tests) != 1 {
		t.Errorf("a node with parameters ran %v", r.Tests)
	}
}

// TestBroken shows that files that cannot be read are named, and cost the others nothing.
func TestBroken(t *testing.T) {
	tree := files(t,
		"tests/test_good.py", "def test_x(): pass\n",
		"tests/test_syntax.py", "def test_x(:\n",
		"tests/test_null.py", "x = '\x00'\n",
		"tests/test_bytes.py", "x = '\xff'\n",
		"tests/test_deep.py", "x = "+strings.Repeat("(", 500)+strings.Repeat(")", 500)+"\n",
		"tests/test_big.py", "# "+strings.Repeat("x", maxTestFile),
		"tests/test_latin.py", "# -*- coding: latin-1 -*-\ndef test_\xe9(): pass\n",
	)
	got, broken := nodes(t, tree)
	if len(got) != 2 || got[0].ID != "tests/test_good.py::test_x" || got[1].ID != "tests/test_latin.py::test_é" {
		t.Errorf("nodes %v", got)
	}
	if want := []string{"tests/test_big.py", "tests/test_bytes.py", "tests/test_deep.py", "tests/test_null.py", "tests/test_syntax.py"}; !slices.Equal(broken, want) {
		t.Errorf("broken %v, want %v", broken, want)
	}
	if got, broken := nodes(t, nil); got != nil || broken != nil {
		t.Errorf("of no files: %v %v", got, broken)
	}
}

// TestSlow shows that a file whose reading takes too long is the file's fault, and costs the others nothing.
func TestSlow(t *testing.T) {
	const n = 30_000
	var chain strings.Builder
	for i := n; i > 0; i-- { // each pass over the module finds one name more
		fmt.Fprintf(&chain, "x%d = x%d\n", i-1, i)
	}
	tests := map[string][]byte{"tests/test_good.py": []byte("def test_x(): pass\n"), "tests/test_slow.py": []byte(chain.String() + "def test_y(): x0\n")}
	got, broken, err := listAll(t.Context(), box, tests, time.Second, time.Second) // of the ten seconds and two that production has
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].ID != "tests/test_good.py::test_x" || !slices.Equal(broken, []string{"tests/test_slow.py"}) {
		t.Errorf("nodes %v, broken %v", got, broken)
	}
}

// TestDigests shows which changes of a file change the digest of which test.
func TestDigests(t *testing.T) {
	const file = `
import pytest
from helpers import make, spare

LIMIT = 3
UNUSED = 4

def build(n):
    return make(n) + LIMIT

@pytest.fixture
def box():
    return build(1)

@pytest.fixture(autouse=True)
def clean():
    yield

def test_plain():
    assert 1

def test_built():
    assert build(1)  # here

def test_fixture(box):
    assert box

class TestGroup:
    size = 2
    def setup_method(self):
        self.x = 1
    def test_in(self):
        assert self.x
    def test_more(self):
        assert 2
`
	all := []string{"test_plain", "test_built", "test_fixture", "TestGroup::test_in", "TestGroup::test_more"}
	digests := func(text string) map[string]tare.Digest {
		out := map[string]tare.Digest{}
		ns, _ := nodes(t, files(t, "tests/test_d.py", text))
		for _, n := range ns {
			_, name, _ := strings.Cut(n.ID, "::")
			out[name] = n.Digest
		}
		return out
	}
	before := digests(file)
	if len(before) != len(all) {
		t.Fatal(before)
	}
	for _, c := range []struct {
		name, old, new string
		want           []string
	}{
		{"a comment and layout", "assert build(1)  # here", "assert build(\n        1)", nil},
		{"its own body", "assert build(1)  # here", "assert build(2)", []string{"test_built"}},
		{"a decorator", "def test_plain", "@pytest.mark.xfail\ndef test_plain", []string{"test_plain"}},
		{"a helper", "return make(n) + LIMIT", "return make(n)", []string{"test_built", "test_fixture"}},
		{"what a helper uses", "LIMIT = 3", "LIMIT = 5", []string{"test_built", "test_fixture"}},
		{"where a helper's helper comes from", "from helpers import make", "from other import make", []string{"test_built", "test_fixture"}},
		{"a fixture", "return build(1)", "return 7", []string{"test_fixture"}},
		{"a fixture of all", "    yield", "    yield 1", all},
		{"something unused", "UNUSED = 4", "UNUSED = 5", nil},
		{"a set-up method", "self.x = 1", "self.x = 2", []string{"TestGroup::test_in", "TestGroup::test_more"}},
		{"a class attribute", "size = 2", "size = 3", []string{"TestGroup::test_in", "TestGroup::test_more"}},
		{"another test of the class", "assert 2", "assert 3", []string{"TestGroup::test_more"}},
		{"marks of the module", "LIMIT = 3", "LIMIT = 3\npytestmark = pytest.mark.skip", all},
	} {
		if !strings.Contains(file, c.old) {
			t.Fatalf("%s: %q is not in the file", c.name, c.old)
		}
		after := digests(strings.Replace(file, c.old, c.new, 1))
		var got []string
		for _, n := range all {
			if before[n] != after[n] {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s changes %v, want %v", c.name, got, c.want)
		}
	}
}

func TestNodeOf(t *testing.T) {
	for id, want := range map[string]string{
		"tests/a.py::test_x":           "tests/a.py::test_x",
		"tests/a.py::test_x[1]":        "tests/a.py::test_x",
		"tests/a.py::T::test_x[a::b]":  "tests/a.py::T::test_x",
		"tests/[a].py::test_x[b[c]-d]": "tests/[a].py::test_x",
		"tests/[a].py":                 "tests/[a].py",
	} {
		if got := NodeOf(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

func TestSteers(t *testing.T) {
	seed := files(t,
		"src/inventory/__init__.py", "", "src/inventory/search.py", "", "src/token.py", "", "tests/test_a.py", "", "tests/conftest.py", "",
		"pyproject.toml", "", "tools/gen.py", "", "plain/mod.py", "",
	)
	for _, c := range []struct{ path, want string }{
		{"conftest.py", "conftest.py not in the seed"},
		{"src/inventory/conftest.py", "conftest.py not in the seed"},
		{"tests/conftest.py", "conftest.py of the seed, changed"},
		{"tests/Conftest.PY", "conftest.py not in the seed"},
		{"pytest.ini", "pytest.ini not in the seed"}, {".pytest.ini", "can configure"}, {"tox.ini", "can configure"}, {"setup.cfg", "can configure"},
		{"pyproject.toml", "pyproject.toml of the seed, changed"}, {"PyTest.ini", "can configure"},
		{"sitecustomize.py", "whenever Python starts"}, {"src/usercustomize.py", "whenever Python starts"}, {"src/SiteCustomize/__init__.py", "whenever"},
		{"src/x.pth", "import path"}, {"src/evil-1.0.dist-info/entry_points.txt", "plug-ins"}, {"evil.egg-info/PKG-INFO", "plug-ins"},
		{"pytest.py", "pytest is made of"}, {"src/_pytest/__init__.py", "pytest is made of"}, {"tests/pluggy.py", "pytest is made of"}, {"new/dir/attr.py", "pytest is made of"},
		{"json.py", "standard library"}, {"src/random.py", "standard library"}, {"tests/unittest/mock.py", "standard library"}, {"src/Random.py", "standard library"},
		{"plain/time.py", "standard library"}, {"tools/os.py", "standard library"},
		{"src/inventory/__pycache__/search.cpython-311.pyc", "compiled"}, {"src/inventory/search.pyc", "compiled"}, {"__pycache__/x", "compiled"},
		{"src/inventory/search.cpython-311-x86_64-linux-gnu.so", "binary"},
		{"src/tare_plugin.py", "pytest is made of"},

		{"src/inventory/search.py", ""}, {"src/inventory/types.py", ""}, {"src/inventory/pytest.py", ""}, {"src/inventory/deep/json.py", ""},
		{"src/token.py", ""}, {"tests/test_new.py", ""}, {"tests/helpers.py", ""}, {"README.md", ""}, {"src/random.txt", ""}, {"docs/json/index.md", ""},
		{"src/newpkg/queue.py", ""}, {"setup.py", ""}, {"src/inventory/pytest_ini.py", ""}, {"test/test_x.py", ""},
	} {
		got := Pytest{}.Steers(c.path, seed)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q in it", c.path, got, c.want)
		}
	}
}

// TestStandardLibrary shows that the list of its modules holds all that this machine's interpreter knows.
func TestStandardLibrary(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), interpreter, "-S", "-c", "import sys; print(*sys.stdlib_module_names)").Output()
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Fields(stdlibList)
	for _, n := range strings.Fields(strings.ToLower(string(out))) {
		if !slices.Contains(list, n) {
			t.Errorf("%s is not in stdlib.txt", n)
		}
	}
	if len(list) < 250 {
		t.Errorf("%d names", len(list))
	}
}
