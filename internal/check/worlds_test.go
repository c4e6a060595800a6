package check

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare"
)

// A small subject with a bug: search lists a product once for each way in which it matches.
const (
	models     = "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass Product:\n    sku: str\n    name: str\n    tags: tuple = ()\n"
	searchSeed = `"""Search."""
from .models import Product


class Inventory:
    """Holds products."""

    def __init__(self, products):
        self._products = list(products)

    def search(self, query):
        """Products that match."""
        needle = query.lower()
        found = []
        for product in self._products:
            if needle in product.name.lower():
                found.append(product)
            for tag in product.tags:
                if needle in tag:
                    found.append(product)
        return found
`
	searchFix = `"""Search."""
from .models import Product
from .unique import once


class Inventory:
    """Holds products."""

    def __init__(self, products):
        self._products = list(products)

    def search(self, query):
        """Products that match."""
        # FIXED: once each
        needle = query.lower()
        return once(p for p in self._products if needle in p.name.lower() or any(needle in t for t in p.tags))
`
	unique = "def once(items):\n    out = []\n    for item in items:\n        if item not in out:\n            out.append(item)\n    return out\n"

	searchTests = `
import dis, importlib, inspect, linecache
import pytest
from inventory.models import Product
from inventory.search import Inventory
import inventory.search

SHOE = Product("X1", "red shoe", ("red",))

def test_genuine():
    assert Inventory([SHOE]).search("red") == [SHOE]
def test_genuine_either_way():
    with pytest.raises(Exception):
        assert Inventory([SHOE]).search("red") != [SHOE], "no"
def test_getsource():
    assert "FIXED" in inspect.getsource(inventory.search)
def test_getsource_of_method():
    assert "FIXED" in inspect.getsource(Inventory.search)
def test_open():
    assert "FIXED" in open(inventory.search.__file__).read()
def test_loader():
    assert "FIXED" in importlib.util.find_spec("inventory.search").loader.get_source("inventory.search")
def test_linecache():
    assert any("FIXED" in line for line in linecache.getlines(inventory.search.__file__))
def test_code():
    assert "found" not in Inventory.search.__code__.co_varnames
def test_dis():
    assert sum(i.opname == "FOR_ITER" for i in dis.get_instructions(Inventory.search)) == 0
def test_makes_an_object_and_looks():
    assert Inventory([SHOE]) and sum(i.opname == "FOR_ITER" for i in dis.get_instructions(Inventory.search)) == 0
def test_marker():
    assert hasattr(inventory.search, "once")
def test_unchanged():
    assert Inventory([]).search("red") == []
`
)

var src = []string{"src"}

func seedTree(t *testing.T) tare.Tree {
	return files(t, "src/inventory/__init__.py", "", "src/inventory/models.py", models, "src/inventory/search.py", searchSeed, "tests/test_search.py", searchTests)
}

func fixTree(t *testing.T) tare.Tree {
	return seedTree(t).Overlay(files(t, "src/inventory/search.py", searchFix, "src/inventory/unique.py", unique))
}

// passing runs the tests of tree and lists those that passed, of those named.
func passing(t *testing.T, tree tare.Tree) []string {
	t.Helper()
	r := run(t, TestRequest{Tree: tree})
	if !r.Complete || !sentinelsRight(r) {
		t.Fatalf("%q %v\n%s", r.Defect, r.Sentinels, r.Output)
	}
	var out []string
	for _, x := range r.Tests {
		if x.Phase == "collect" {
			t.Fatalf("%+v", x)
		}
		if x.Outcome == tare.TestPassed {
			_, name, _ := strings.Cut(x.ID, "::test_")
			out = append(out, name)
		}
	}
	return out
}

func must(t *testing.T) func(tare.Tree, error) tare.Tree {
	return func(tree tare.Tree, err error) tare.Tree {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
}

// TestFourCells shows that a test of behaviour follows the behaviour, a test of text the text, in all combinations.
func TestFourCells(t *testing.T) {
	seed, fix := seedTree(t), fixTree(t)
	p := Pytest{}
	// the source of a method is looked up by the line number of its code, so it belongs to neither side; that it does
	// not pass on the text of the seed is what refuses it
	method := []string{"getsource_of_method"}
	byText := []string{"getsource", "open", "loader", "linecache"}
	byCode := []string{"code", "dis", "makes_an_object_and_looks", "marker"}
	for _, c := range []struct {
		name string
		tree tare.Tree
		want []string // beside unchanged
	}{
		{"fix", fix, slices.Concat([]string{"genuine", "genuine_either_way"}, byText, byCode, method)},
		{"seed", seed, []string{}},
		{"text of the fix, behaviour of the seed", must(t)(p.Cross(t.Context(), box, fix, seed, src)), byText},
		{"text of the seed, behaviour of the fix", must(t)(p.Cross(t.Context(), box, seed, fix, src)), slices.Concat([]string{"genuine", "genuine_either_way"}, byCode)},
		{"poison", must(t)(p.Poison(t.Context(), box, fix, seed, src)), slices.Concat(byText, byCode, method)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := slices.DeleteFunc(passing(t, c.tree), func(n string) bool { return n == "unchanged" && c.name != "poison" })
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("passed %v\nwant   %v", got, c.want)
			}
		})
	}
}

// TestCrossShapes crosses trees whose modules do not stand in the same files.
func TestCrossShapes(t *testing.T) {
	seed := seedTree(t)
	pack := seed.Without("src/inventory/search.py").Overlay(files(t,
		"src/inventory/search/__init__.py", "from .core import Inventory\n",
		"src/inventory/search/core.py", strings.ReplaceAll(strings.ReplaceAll(searchFix, ".models", "..models"), ".unique", "..unique"),
		"src/inventory/unique.py", unique, "src/inventory/table.json", "1",
	))
	rest := "import json, os, pytest\nimport inventory\n" +
		"def test_data(): assert os.path.exists(os.path.join(os.path.dirname(inventory.__file__), 'table.json'))\n" +
		"def test_only(): import inventory.unique\n" +
		"def test_core(): import inventory.search.core\n"
	seed, pack = seed.Overlay(files(t, "tests/test_rest.py", rest)), pack.Overlay(files(t, "tests/test_rest.py", rest))
	broken := pack.Overlay(files(t, "src/inventory/unique.py", "def once(:\n"))
	p := Pytest{}
	has := func(tree tare.Tree, names ...string) {
		t.Helper()
		got := passing(t, tree)
		for _, n := range []string{"genuine", "unchanged", "data", "only", "core"} {
			if slices.Contains(got, n) != slices.Contains(names, n) {
				t.Errorf("passed %v, want of them %v", got, names)
			}
		}
	}
	has(seed, "unchanged")
	has(pack, "genuine", "unchanged", "data", "only", "core")
	has(must(t)(p.Cross(t.Context(), box, pack, seed, src)), "unchanged")
	has(must(t)(p.Cross(t.Context(), box, seed, pack, src)), "genuine", "unchanged", "data", "only", "core")
	if same := must(t)(p.Cross(t.Context(), box, pack, pack, src)); same.Digest() != pack.Digest() {
		t.Errorf("crossed with itself: %v", pack.Changes(same))
	}
	r := run(t, TestRequest{Tree: must(t)(p.Cross(t.Context(), box, seed, broken, src))})
	if got := result(t, r, "tests/test_search.py"); got.Class != "SyntaxError" {
		t.Errorf("behaviour that does not compile: %+v", got)
	}
	if got := must(t)(p.Cross(t.Context(), box, broken, seed, src)); !slices.Contains(passing(t, got), "unchanged") {
		t.Errorf("text that does not compile must not matter")
	}
}

// TestPoison shows what raises and what does not.
func TestPoison(t *testing.T) {
	const seed = `
import functools
class Box:
    limit = 3
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
    def __bool__(self): return True
    @property
    def size(self): return self.n
    @classmethod
    def make(cls): return cls(1)
    @staticmethod
    def two(): "doc"
    def gen(self): yield 1
@functools.lru_cache
def cached(x): return x
def helper(): return 5
DEFAULT = helper()
if True:
    def inner(): return 1
def inner_of(x): return inner()
`
	fix := strings.Replace(seed, "def __len__(self): return self.n", "def __len__(self): return self.n + 0", 1) + "def brand_new(): return 7\nLATE = helper()\n"
	tests := `
import pytest
import subject
from subject import Box
def gone(f, *a):
    try: f(*a)
    except BaseException as e: return type(e).__name__ == "Poisoned" and not isinstance(e, Exception)
    return False
def test_import(): assert subject.DEFAULT == 5 and subject.LATE == 5 and subject.user.VALUE == 1
def test_objects(): b = Box(2); assert b.n == 2 and bool(b) and Box.limit == 3
def test_len(): assert gone(len, Box(2))
def test_property(): assert gone(lambda: Box(2).size)
def test_class(): assert gone(Box.make)
def test_static(): assert gone(Box.two) and Box.two.__doc__ == "doc"
def test_generator(): assert gone(list, Box(1).gen())
def test_cached(): assert gone(subject.cached, 1) and gone(subject.cached, 1)
def test_nested(): assert gone(subject.inner)
def test_new(): assert subject.brand_new() == 7
def test_worker():
    import multiprocessing
    with multiprocessing.get_context("fork").Pool(1) as pool: assert gone_in(pool)
def gone_in(pool):
    try: pool.map(subject.inner_of, [1])
    except BaseException as e: return type(e).__name__ == "PoisonedWorker"
def test_raises():
    with pytest.raises(Exception): subject.helper()
`
	two := []string{"src/subject/user.py", "from . import inner\nVALUE = inner()\n"}
	tail := "from . import user\n"
	s := files(t, append(two, "src/subject/__init__.py", seed+tail, "tests/test_s.py", tests)...)
	f := files(t, append(two, "src/subject/__init__.py", fix+tail, "tests/test_s.py", tests)...)
	got := passing(t, must(t)(Pytest{}.Poison(t.Context(), box, f, s, src)))
	want := []string{"import", "objects", "len", "property", "class", "static", "generator", "cached", "nested", "new", "worker"}
	if !slices.Equal(got, want) {
		t.Errorf("passed %v\nwant   %v", got, want)
	}
	var no *NotTransformable
	if _, err := (Pytest{}).Poison(t.Context(), box, files(t, "src/a.py", "def a(): pass\n"), files(t, "src/a.py", "X = 1\n"), src); !errors.As(err, &no) {
		t.Errorf("nothing to poison: %v", err)
	}
}

// TestPoisonMoved poisons fixes in which no function has the name of the seed's any more.
func TestPoisonMoved(t *testing.T) {
	const seed = "class Box:\n    def __init__(self, n): self.n = n\n    def size(self): return self.n\n    def _old(self): return 1\n"
	const head = "class Box:\n    def __init__(self, n): self.n = n\n"
	const tests = `
from subject import Box
def test_objects(): assert Box(2).n == 2
def test_size():
    try: Box(2).size()
    except BaseException as e: assert type(e).__name__ == "Poisoned"
    else: assert False
def test_new(): assert Box(2).new() == 7
`
	s := files(t, "src/subject.py", seed, "tests/test_s.py", tests)
	for _, c := range []struct{ name, fix, also string }{
		{name: "an assignment", fix: "def _size(self): return self.n\n" + head + "    size = _size\n"},
		{name: "a lambda", fix: head + "    size = lambda self: self.n\n"},
		{name: "a base class", fix: "class Base:\n    def __init__(self, n): self.n = n\n    def size(self): return self.n\nclass Box(Base): pass\n"},
		{name: "a factory", fix: "def make():\n    class Box:\n        def __init__(self, n): self.n = n\n        async def go(self): pass\n        def size(self): return self.n\n    return Box\nBox = make()\n"},
		{name: "beside what cannot be compiled", fix: seed, also: "class Box:\n    def size(self): return 1\nreturn 2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := s.Overlay(files(t, "src/subject.py", c.fix))
			if c.also != "" {
				f = f.Overlay(files(t, "src/left_over.py", c.also))
			}
			out := must(t)(Pytest{}.Poison(t.Context(), box, f, s, src))
			if got := passing(t, out); !slices.Equal(got, []string{"objects", "size"}) {
				t.Errorf("passed %v", got)
			}
		})
	}
	// where only a private helper of the seed's is gone, what is new stays whole
	f := s.Overlay(files(t, "src/subject.py", head+"    def size(self): return self.n\n    def new(self): return 7\n"))
	if got := passing(t, must(t)(Pytest{}.Poison(t.Context(), box, f, s, src))); !slices.Equal(got, []string{"objects", "size", "new"}) {
		t.Errorf("a helper gone: passed %v", got)
	}
}

// TestRewrite shows that texts differ and behaviour does not.
func TestRewrite(t *testing.T) {
	odd := "# -*- coding: latin-1 -*-\n" + `"""Doc."""
def f(a, *b, c=1, **d):
    "doc of f"
    total = 0  # comment
    for i in b:
        total += i
    name = "\xe9"
    def inner():
        return total + c
    import os as system
    try:
        raise ValueError(a)
    except ValueError as err:
        kept = str(err)
    pairs = [(x, kept) for x in b]
    match d:
        case {"k": value, **rest}:
            pairs.append((value, rest))
    last = f"{total=} {name!r:>8}"
    return inner(), kept, pairs, last, system.sep, name
def g():
    seen = 1
    return locals()
COUNT = 0
def h():
    global COUNT
    COUNT = 5
    try:
        import gone as lib
    except ImportError:
        lib = None
    import os as lib
    return lib.sep
class C:
    __hidden = 3
    def m(self):
        __x = self.__hidden
        return __x
`
	odd = strings.ReplaceAll(odd, "\\xe9", "\xe9")
	tests := `
import inspect
import odd, subject.plain
def test_f(): assert odd.f(1, 2, 3, k=4) == (6, "1", [(2, "1"), (3, "1"), (4, {})], "total=5      '\xe9'", "/", "\xe9"), odd.f(1, 2, 3, k=4)
def test_g(): assert odd.g() == {"seen": 1}
def test_h(): assert (odd.h(), odd.COUNT) == ("/", 5)
def test_c(): assert odd.C().m() == 3
def test_doc(): assert odd.__doc__ == "Doc." and odd.f.__doc__ == "doc of f"
def test_comment(): assert "# comment" in inspect.getsource(odd)
def test_line(): assert odd.f.__code__.co_firstlineno == 3
def test_locals(): assert "last" in odd.f.__code__.co_varnames
def test_plain(): assert subject.plain.X == 1
`
	tree := files(t, "src/odd.py", odd, "src/broken.py", "def f(:\n", "src/subject/plain.py", "X = 1\n", "src/data.txt", "x", "tests/test_odd.py", tests)
	for i, f := range tree {
		if f.Path == "src/odd.py" {
			tree[i].Mode = 0o755
		}
	}
	out := must(t)(Pytest{}.Rewrite(t.Context(), box, tree, src))
	if got := passing(t, tree); len(got) != 9 {
		t.Fatalf("before: %v", got)
	}
	if got := passing(t, out); !slices.Equal(got, []string{"f", "g", "h", "c", "doc", "plain"}) {
		t.Errorf("passed %v", got)
	}
	var changed []string
	for _, c := range tree.Changes(out) {
		changed = append(changed, c.Path+" "+c.Mode)
	}
	if want := []string{"src/odd.py -rwxr-xr-x", "src/subject/plain.py -rw-r--r--"}; !slices.Equal(changed, want) {
		t.Errorf("changed %v, want %v", changed, want)
	}
	if f, _ := out.Lookup("src/odd.py"); bytes.Contains(f.Data, []byte("comment")) {
		t.Errorf("the comment is still there:\n%s", f.Data)
	}
}

// TestGraft puts the bug back into four fixes that people write, each tried by a test of a helper that only the fix has.
func TestGraft(t *testing.T) {
	seed := seedTree(t).Without("tests/test_search.py")
	const use = "from inventory.models import Product\nSHOE = Product('X1', 'red shoe', ('red',))\n"
	for _, c := range []struct {
		name    string
		fix     []string
		remove  string
		tests   string // one called test_bug, which must fail with the bug, and others that must pass
		grafted []string
	}{
		{
			name:    "a helper in a new module",
			fix:     []string{"src/inventory/search.py", searchFix, "src/inventory/unique.py", unique},
			tests:   "from inventory.search import Inventory\nfrom inventory.unique import once\ndef test_bug(): assert Inventory([SHOE]).search('red') == once([SHOE])\ndef test_helper(): assert once([1, 1]) == [1]\n",
			grafted: []string{"src/inventory/search.py:Inventory.search"},
		},
		{
			name: "a method beside it, a parameter more",
			fix: []string{"src/inventory/search.py", `
from .models import Product
class Inventory:
    def __init__(self, products):
        self._products = list(products)
    def matches(self, p, needle):
        return needle in p.name.lower() or any(needle in t for t in p.tags)
    def search(self, query, limit=None):
        return [p for p in self._products if self.matches(p, query.lower())][:limit]
`},
			tests:   "from inventory.search import Inventory\ndef test_bug(): assert Inventory([SHOE]).search('red', limit=None) == [SHOE]\ndef test_helper(): assert Inventory([]).matches(SHOE, 'red')\n",
			grafted: []string{"src/inventory/search.py:Inventory.search"},
		},
		{
			name:   "the module made a package, the class moved",
			remove: "src/inventory/search.py",
			fix: []string{
				"src/inventory/search/__init__.py", "from .core import Inventory, pick\n",
				"src/inventory/search/core.py", `
def pick(products, needle):
    return [p for p in products if needle in p.name.lower() or any(needle in t for t in p.tags)]
class Inventory:
    def __init__(self, products):
        self._products = list(products)
    def search(self, query):
        return pick(self._products, query.lower())
`},
			tests:   "from inventory.search import Inventory, pick\ndef test_bug(): assert Inventory([SHOE]).search('red') == pick([SHOE], 'red')\ndef test_helper(): assert pick([SHOE], 'blue') == []\n",
			grafted: []string{"src/inventory/search/core.py:Inventory.search"},
		},
		{
			name: "a constant and what the seed imported",
			fix: []string{"src/inventory/search.py", `
import operator
LIMIT = 10
def key(p): return operator.attrgetter("sku")(p)
class Inventory:
    def __init__(self, products):
        self._items = {key(p): p for p in products}
    def search(self, query):
        needle = query.lower()
        return [p for p in self._items.values() if needle in p.name.lower() or any(needle in t for t in p.tags)]
`},
			tests:   "from inventory.search import Inventory, key\ndef test_bug(): assert [key(p) for p in Inventory([SHOE]).search('red')] == ['X1']\ndef test_helper(): assert key(SHOE) == 'X1'\n",
			grafted: []string{"src/inventory/search.py:Inventory.__init__", "src/inventory/search.py:Inventory.search"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := seed
			if c.remove != "" {
				tree = tree.Without(c.remove)
			}
			tree = tree.Overlay(files(t, append(c.fix, "tests/test_own.py", use+c.tests)...))
			if got := passing(t, tree); !slices.Equal(got, []string{"bug", "helper"}) {
				t.Fatalf("with the fix: %v", got)
			}
			out, names, err := Pytest{}.Graft(t.Context(), box, tree, seed, src)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(names, c.grafted) {
				t.Errorf("grafted %v, want %v", names, c.grafted)
			}
			if got := passing(t, out); !slices.Equal(got, []string{"helper"}) {
				f, _ := out.Lookup("src/inventory/search.py")
				t.Errorf("with the bug: %v\n%s", got, f.Data)
			}
			r := run(t, TestRequest{Tree: out})
			if got := result(t, r, "tests/test_own.py::test_bug"); !got.Proper() {
				t.Errorf("not the bug's doing: %+v", got)
			}
		})
	}
}

// TestGraftNames shows what comes along, what stays, and what is refused.
func TestGraftNames(t *testing.T) {
	seed := files(t, "src/a.py", `
"""Doc."""
from __future__ import annotations
import math
RATE = 3
BASE = math.floor(RATE)
def helper(x): return x + BASE
def f(x): return helper(x)
class K:
    cap = 2
    def low(self): return self.cap
    def get(self): return self.low()
    @property
    def p(self): return 1
    @p.setter
    def p(self, v): self.v = v
`)
	fix := files(t, "src/a.py", `
"""Doc."""
from __future__ import annotations
NEW = 1
RATE = 4
def f(x): return x + NEW
class K:
    cap = 5
    def get(self): return 5
    @property
    def p(self): return 1
    @p.setter
    def p(self, v): self.v = v + 1
`, "tests/test_a.py", `
import a
def test_f(): assert a.f(1) == 4 and a.NEW == 1
def test_k(): k = a.K(); k.p = 3; assert (k.get(), k.p, k.v) == (2, 1, 3)
def test_rate(): assert a.RATE == 3 and a.BASE == 3 and a.__doc__ == "Doc."
`)
	out, names, err := Pytest{}.Graft(t.Context(), box, fix, seed, src)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"src/a.py:RATE", "src/a.py:f", "src/a.py:K.cap", "src/a.py:K.get", "src/a.py:K.p"}; !slices.Equal(names, want) {
		t.Errorf("grafted %v, want %v", names, want)
	}
	if got := passing(t, out); len(got) != 3 {
		f, _ := out.Lookup("src/a.py")
		t.Errorf("passed %v\n%s", got, f.Data)
	}
	if same, names, err := (Pytest{}).Graft(t.Context(), box, seed, seed, src); err != nil || len(names) > 0 || same.Digest() != seed.Digest() {
		t.Errorf("onto itself: %v %v", names, err)
	}
	var no *NotTransformable
	if _, _, err := (Pytest{}).Graft(t.Context(), box, files(t, "src/a.py", "def f(:\n"), seed, src); !errors.As(err, &no) || no.Path != "src/a.py" {
		t.Errorf("onto what cannot be parsed: %v", err)
	}
}

// TestLend shows what a tree is lent, what stays its own, and what cannot be lent. The test that counts calls of the helper
// passes on the fix and not where it is lent; the one that asks for the behaviour, by the helper too, passes on both.
func TestLend(t *testing.T) {
	seed := files(t, "src/a.py", "import math\nOLD = 1\ndef f(x): return math.floor(x)\nclass K:\n    def get(self): return 1\n", "src/m.py", "")
	other := files(t, "src/a.py", "def f(x): return -(-x // 1)\nclass K:\n    def get(self): return 2\n    def own(self): return 3\n", "src/m.py", "")
	fix := files(t, "src/a.py", `
import math
from os.path import join
from b import up
OLD = 1
STEP = 1
def ceil(x): return up(x) * STEP
def f(x, *, strict=False, far=None): return ceil(x)
class K:
    def get(self): return 2
    def own(self): return 4
    def twice(self): return join(str(self.get()), "x")
`, "src/b.py", "from math import ceil as up\n", "src/m/__init__.py", "", "src/m/n.py", "", "tests/test_a.py", `
from unittest import mock
import a, b
def test_result(): assert a.f(1.5, strict=True) == a.ceil(1.5) == b.up(1.5) == 2
def test_member(): assert a.K().twice() == "2/x" and a.K().own() in (3, 4)
def test_calls():
    with mock.patch.object(a, "ceil") as ceil: a.f(1.5)
    assert ceil.called
`)
	if got := passing(t, fix); !slices.Equal(got, []string{"result", "member", "calls"}) {
		t.Fatalf("with the fix: %v", got)
	}
	tests, _ := fix.Lookup("tests/test_a.py")
	out, lent, err := Pytest{}.Lend(t.Context(), box, other.Overlay(tare.Tree{tests}), fix, seed, src)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"src/a.py:STEP", "src/a.py:ceil", "src/a.py:join", "src/a.py:up", "src/a.py:K.twice", "src/a.py:f", "src/b.py"}; !slices.Equal(lent, want) {
		t.Errorf("lent %v, want %v", lent, want)
	}
	f, _ := out.Lookup("src/a.py")
	if got := passing(t, out); !slices.Equal(got, []string{"result", "member"}) {
		t.Errorf("where it is lent: %v\n%s", got, f.Data)
	}
	if _, ok := out.Lookup("src/m/n.py"); ok {
		t.Error("a package was lent that would be found before a module of the tree's")
	}
	if same, lent, err := (Pytest{}).Lend(t.Context(), box, other, seed, seed, src); err != nil || len(lent) > 0 || same.Digest() != other.Digest() {
		t.Errorf("nothing to lend: %v %v", lent, err)
	}
	r := run(t, TestRequest{Tree: out.Overlay(files(t, "tests/test_a.py", "import a\ndef test_in(): a.f('x')\ndef test_out(): assert a.f(1) == 5\n")), Sources: src})
	if in, here := result(t, r, "tests/test_a.py::test_in"), result(t, r, "tests/test_a.py::test_out"); !in.InSources || here.InSources {
		t.Errorf("raised by the sources: %+v; by the test: %+v", in, here)
	}
}

// TestVary: each salt gives every function other instructions, and none other behaviour.
func TestVary(t *testing.T) {
	tree := files(t, "src/a.py", `
class K:
    """Doc."""
    def get(self, n):
        """Doc."""
        return [self.one(i) for i in range(n)]
    def one(self, i): return i + 1
    def all(self):
        yield from self.get(3)
    async def wait(self): return 4
def f(x=lambda: 5): return x()
`, "tests/test_a.py", `
import asyncio, hashlib, a, pytest
def test_same():
    k = a.K()
    assert (k.get(2), list(k.all()), asyncio.run(k.wait()), a.f(), a.K.get.__doc__) == ([1, 2], [1, 2, 3], 4, 5, "Doc.")
@pytest.mark.parametrize("name", ["K.get", "K.one", "K.all", "K.wait", "f"])
def test_code(name):
    code = eval("a." + name).__code__
    raise AssertionError(hashlib.sha256(code.co_code).hexdigest())
`)
	vary := func(salt string) tare.Tree {
		return must(t)(Pytest{}.one(t.Context(), box, src, Making{Op: OpRewrite, Salt: salt, From: []tare.Tree{tree}}))
	}
	seen := map[string]string{}
	for _, salt := range []string{"", "one", "another", "a third", "a fourth", "a fifth"} {
		out := vary(salt)
		again := vary(salt)
		if out.Digest() != again.Digest() {
			t.Errorf("salt %q gives two trees", salt)
		}
		for _, r := range run(t, TestRequest{Tree: out, Sources: src}).Tests {
			if r.ID == "tests/test_a.py::test_same" {
				if r.Outcome != tare.TestPassed {
					f, _ := out.Lookup("src/a.py")
					t.Errorf("salt %q: %+v\n%s", salt, r, f.Data)
				}
				continue
			}
			key := r.ID + r.Message
			if other, ok := seen[key]; ok {
				t.Errorf("%s has the same instructions with salt %q as with %q", r.ID, salt, other)
			}
			seen[key] = salt
		}
	}
	if len(seen) != 5*6 {
		t.Errorf("%d codes", len(seen))
	}
}

// TestNothingStaysInSilence: a file that can be imported is written otherwise and can be poisoned, or is named as one that
// cannot. Which of these there are depends on the version of Python.
func TestNothingStaysInSilence(t *testing.T) {
	refused := 0
	for name, text := range map[string]string{
		"a brace by its number": "def f(a):\n    return f'{a:\\x7b}'\n",
		"a long sum":            "X = " + strings.Repeat("1 + ", 6000) + "1\ndef f(): return X\n",
		"many attributes":       "def f(a):\n    return a" + strings.Repeat(".b", 6000) + "\n",
		"a sum that fits":       "X = " + strings.Repeat("1 + ", 900) + "1\ndef f(): return X\n",
		"broken":                "def f(:\n",
	} {
		tree := files(t, "src/a.py", text, "src/b.py", "def f(a): return a\n", "tests/test_a.py", "def test_a(): import a\n")
		seed := files(t, "src/b.py", "def f(a): return a\n")
		importable := len(passing(t, tree)) == 1
		out, err := Pytest{}.Rewrite(t.Context(), box, tree, src)
		var not *NotTransformable
		named := errors.As(err, &not) && not.Path == "src/a.py"
		if f, _ := out.Lookup("src/a.py"); err != nil && !named || err == nil && importable && string(f.Data) == text {
			t.Errorf("%s: importable %v, error %v, and it is as it was", name, importable, err)
		}
		if named {
			refused++
		}
		out, err = Pytest{}.Poison(t.Context(), box, tree, seed, src)
		named = errors.As(err, &not) && not.Path == "src/a.py"
		poisoned := slices.ContainsFunc(out, func(f tare.File) bool { return strings.HasPrefix(f.Path, "src/__pycache__/a.") })
		if err != nil && !named || err == nil && importable && !poisoned {
			t.Errorf("%s: importable %v, error %v, and it is not poisoned", name, importable, err)
		}
	}
	if refused == 0 {
		t.Error("no file was refused")
	}
}

// TestTogether: worlds made in one run are what each is by itself, also beside some that cannot be made, and a varied behaviour
// is what is rewritten with the same salt.
func TestTogether(t *testing.T) {
	seed, fix := seedTree(t), fixTree(t)
	// which texts of one character the interpreter has interned shows in what marshal writes, and hangs on what was done before
	odd := files(t, "src/odd.py", "def f(a, b='{', c=('}', '|')):\n    if a == '~' or a in ('^', '`'): return {'{': b, '%': [x + '$' for x in c]}\n    return a.replace('@', '&')\n")
	seed, fix = seed.Overlay(odd), fix.Overlay(odd).Overlay(files(t, "src/odd2.py", "class K:\n    a = '{'\n    def g(self, x='^'): return f'{x}|' + '~' + getattr(self, 'a')\n"))
	large := fix.Overlay(files(t, "src/large.py", strings.Repeat("#", maxSource+1)))
	of := []Making{
		{Op: OpCross, From: []tare.Tree{fix, seed}},
		{Op: OpCross, From: []tare.Tree{large, seed}},
		{Op: OpCross, From: []tare.Tree{seed, fix}, Salt: "one"},
		{Op: OpPoison, From: []tare.Tree{seed, files(t, "src/a.py", "X = 1\n")}},
		{Op: OpRewrite, From: []tare.Tree{fix}},
		{Op: OpRewrite, From: []tare.Tree{fix}, Salt: "one"},
		{Op: OpPoison, From: []tare.Tree{fix, seed}},
		{Op: OpCross, From: []tare.Tree{fix, fix}, Salt: "another"},
		{Op: OpCross, From: []tare.Tree{fix, fix}},
	}
	together, err := Pytest{}.Make(t.Context(), box, src, of)
	if err != nil {
		t.Fatal(err)
	}
	digests := map[tare.Digest]int{}
	for i, m := range of {
		alone, err := Pytest{}.one(t.Context(), box, src, m)
		if got := together[i]; fmt.Sprint(got.Err) != fmt.Sprint(err) || got.Tree.Digest() != alone.Digest() {
			t.Errorf("making %d: together %v %v, alone %v %v", i, got.Tree.Digest(), got.Err, alone.Digest(), err)
		}
		if refused := i == 1 || i == 3; refused != (err != nil) {
			t.Errorf("making %d: %v", i, err)
		} else if !refused {
			digests[alone.Digest()] = i
		}
	}
	if len(digests) != len(of)-2 {
		t.Errorf("of %d worlds %d differ", len(of)-2, len(digests))
	}
	varied := together[5].Tree
	if want := must(t)(Pytest{}.Cross(t.Context(), box, seed, varied, src)); together[2].Tree.Digest() != want.Digest() {
		t.Errorf("varied and crossed in one: %v", want.Changes(together[2].Tree))
	}
}
