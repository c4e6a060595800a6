package check

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
)

// ask puts one case for each call of calls to a probe over one module.
func ask(t *testing.T, subject, probe string, wall time.Duration, calls ...string) tare.Run {
	t.Helper()
	req := ProbeRequest{
		Tree: files(t, "src/subject.py", subject), Sources: []string{"src"},
		Hidden: files(t, "probe.py", probe), Wall: wall,
	}
	if wall == 0 {
		req.Wall = long
	}
	for _, c := range calls {
		name, args, _ := strings.Cut(c, " ")
		if args == "" {
			args = "[]"
		}
		req.Cases = append(req.Cases, Question{ID: "case-" + name, Call: name, Args: []byte(args)})
	}
	r, err := Pytest{}.Probe(t.Context(), box, req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestValues shows the exact type of what comes back, and that the class of a value has no say in it.
func TestValues(t *testing.T) {
	const subject = `
class Equal:
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def __repr__(self): return "42"
    def __getattribute__(self, name): raise SystemError(name)
class Text(str):
    def __eq__(self, other): return True
    __hash__ = str.__hash__
class Whole(int): pass
class Things(list):
    def __iter__(self): return iter([1, 2, 3])
class Meta(type):
    __name__ = property(lambda c: "int")
    def __instancecheck__(c, x): return True
class Posing(metaclass=Meta):
    __class__ = int
class OutOfStock(ValueError):
    def __str__(self): raise SystemExit
class Sly(Exception): pass
Sly.__name__ = "ValueError"
`
	const probe = `
import subject
def echo(x): return x
def none(): pass
def true(): return True
def floats(): return [1.0, 0.1, 1e16, -0.0, float("nan"), float("-inf")]
def data(): return b"\x00\xff"
def pair(): return (1, "a")
def bag(): return {"b", "a", "c"}
def table(): return {"a": None, 2: [True]}
def equal(): return subject.Equal()
def equals(): return [subject.Equal()]
def text(): return subject.Text("a")
def whole(): return subject.Whole(1)
def things(): return subject.Things()
def posing(): return subject.Posing()
def big(): return 10 ** 5000
def half(): return "\ud800"
def deep():
    x = []
    for _ in range(1000): x = [x]
    return x
def cycle():
    x = {}
    x["x"] = [x]
    return x
def wide(): return list(range(10 ** 6))
def long(): return "x" * 10 ** 7
def raises(): raise subject.OutOfStock("no", 3)
def sly(): raise subject.Sly("x")
def leaves(): exit(3)
def interrupts(): raise KeyboardInterrupt
def missing(): return subject.gone
def arguments(*a): return list(a)
`
	other := func(class, text string) tare.Value { return tare.Value{Kind: tare.KindOther, Class: class, Text: text} }
	str := func(s string) tare.Value { return tare.Value{Kind: tare.KindStr, Text: s} }
	num := func(s string) tare.Value { return tare.Value{Kind: tare.KindInt, Text: s} }
	list := func(k tare.ValueKind, items ...tare.Value) tare.Value { return tare.Value{Kind: k, Items: items} }
	raised := func(text string, names ...string) tare.Value {
		return tare.Value{Kind: tare.KindRaised, Class: names[0], Bases: names, Text: text}
	}
	float := func(s string) tare.Value { return tare.Value{Kind: tare.KindFloat, Text: s} }
	none, yes := tare.Value{Kind: tare.KindNone}, tare.Value{Kind: tare.KindBool, Text: "true"}
	cases := []struct {
		call string
		want tare.Value
	}{
		{`echo ["ä\u0000\n"]`, str("ä\x00\n")},
		{"none", none},
		{"true", yes},
		{"floats", list(tare.KindList, float("1.0"), float("0.1"), float("1e+16"), float("-0.0"), float("nan"), float("-inf"))},
		{"data", tare.Value{Kind: tare.KindBytes, Text: "AP8="}},
		{"pair", list(tare.KindTuple, num("1"), str("a"))},
		{"bag", list(tare.KindSet, str("a"), str("b"), str("c"))},
		{"table", tare.Value{Kind: tare.KindDict, Pairs: [][2]tare.Value{{str("a"), none}, {num("2"), list(tare.KindList, yes)}}}},
		{"equal", other("Equal", "")},
		{"equals", list(tare.KindList, other("Equal", ""))},
		{"text", other("Text", "")},
		{"whole", other("Whole", "")},
		{"things", other("Things", "")},
		{"posing", other("Posing", "")},
		{"big", other("int", "an int of more than 4000 digits")},
		{"half", other("str", `'\ud800'`)},
		{"deep", other("list", "nested deeper than 40")},
		{"cycle", other("dict", "contains itself")},
		{"wide", other("list", "more than 50000 parts")},
		{"long", other("str", "more than 200000 characters")},
		{"raises", raised("no, 3", "OutOfStock", "ValueError", "Exception", "BaseException")},
		{"sly", raised("x", "subject.ValueError", "Exception", "BaseException")},
		{"leaves", raised("3", "SystemExit", "BaseException")},
		{"interrupts", raised("", "KeyboardInterrupt", "BaseException")},
		{"missing", raised("module 'subject' has no attribute 'gone'", "AttributeError", "Exception", "BaseException")},
		{`arguments [1, 1.0, [], {"a": null}, false]`, list(tare.KindList, num("1"), float("1.0"), tare.Value{Kind: tare.KindList},
			tare.Value{Kind: tare.KindDict, Pairs: [][2]tare.Value{{str("a"), none}}}, tare.Value{Kind: tare.KindBool, Text: "false"})},
	}
	var calls []string
	for _, c := range cases {
		calls = append(calls, c.call)
	}
	r := ask(t, subject, probe, 0, calls...)
	if !r.Complete || len(r.Cases) != len(cases) {
		t.Fatalf("%q, %d of %d cases\n%s", r.Defect, len(r.Cases), len(cases), r.Output)
	}
	for i, c := range cases {
		// as a record is stored, where an empty list is the same as none
		got, _ := json.Marshal(r.Cases[i].Value)
		want, _ := json.Marshal(c.want)
		if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.call, d)
		}
	}
}

// TestHostileProbed puts code into the subject that ends, blocks or talks over the report.
func TestHostileProbed(t *testing.T) {
	const probe = "import subject\ndef first(): return 1\ndef second(): return subject.go()\ndef third(): return 3\n"
	for _, c := range []struct {
		name, code string
		wall       time.Duration
		defect     string
		answers    int
	}{
		{name: "nothing", code: "def go(): return 2", answers: 3},
		{name: "exit at import", code: "import os\nos._exit(0)", defect: "no end mark: the process ended by itself with status 0"},
		{name: "exit in a call", code: "import os\ndef go(): os._exit(0)", defect: "ended by itself with status 0", answers: 1},
		{name: "kill", code: "import os\ndef go(): os.kill(os.getpid(), 9)", defect: "was ended by SIGKILL", answers: 1},
		{name: "crash", code: "import ctypes\ndef go(): ctypes.string_at(0)", defect: "was ended by SIGSEGV", answers: 1},
		{name: "hang", code: "import time\ndef go(): time.sleep(1000)", wall: 4 * time.Second, defect: "stopped by the limit on wall", answers: 1},
		{name: "does not load", code: "import gone", defect: "the probe could not be loaded: ModuleNotFoundError: No module named 'gone'"},
		{name: "leaves at import", code: "raise SystemExit(0)", defect: "the probe could not be loaded: SystemExit"},
		{name: "prints", code: "import os\ndef go():\n    print('{}')\n    os.write(2, b'x' * 10000)\n    return 2", answers: 3},
		{name: "low descriptors", code: "import os\ndef go():\n    os.closerange(0, 300)\n    return 2", answers: 3},
		{name: "all descriptors closed", code: "import os\ndef go():\n    os.closerange(0, 2000)\n    return 2", defect: "no end mark", answers: 1},
		{name: "garbage", code: "import os\ndef go():\n    for fd in range(3, 1000):\n        try: os.write(fd, b'hello\\n')\n        except OSError: pass\n    return 2", defect: "line 3 of the report is not one of the report's", answers: 1},
		{name: "a long line", code: "import os\ndef go():\n    x = b'x' * (50 << 20) + b'\\n'\n    for fd in range(3, 1000):\n        try: os.write(fd, x)\n        except OSError: pass\n    return 2", defect: "longer than", answers: 1},
		{name: "a fork that returns", code: "import os\ndef go():\n    os.fork()\n    return 2", answers: 3},
		{name: "a child that stays", code: "import os, time\ndef go():\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(300)\n    return 2", answers: 3},
		{name: "a thread that stays", code: "import threading, time\ndef go():\n    threading.Thread(target=time.sleep, args=(300,)).start()\n    return 2", answers: 3},
		{
			name: "an answer twice", defect: `case "case-first" is answered twice`, answers: 1,
			code: "import sys\ndef go():\n    f = sys._getframe()\n    while 'send' not in f.f_locals: f = f.f_back\n    f.f_locals['send']('case', id='case-first', value={'t': 'int', 'v': '9'})\n    return 2",
		},
		{
			name: "an answer too early", defect: `case "case-third" is answered before its turn`, answers: 1,
			code: "import sys\ndef go():\n    f = sys._getframe()\n    while 'send' not in f.f_locals: f = f.f_back\n    f.f_locals['send']('case', id='case-third', value={'t': 'int', 'v': '9'})\n    return 2",
		},
		{
			name: "a value of no kind", defect: `the answer to case "case-second" is no value`, answers: 1,
			code: "import sys\ndef go():\n    f = sys._getframe()\n    while 'send' not in f.f_locals: f = f.f_back\n    f.f_locals['send']('case', id='case-second', value={'t': 'list', 'items': [{'t': 'any'}]})\n    return 2",
		},
		{
			name: "the end too early", defect: "comes after the end mark", answers: 1,
			code: "import sys\ndef go():\n    f = sys._getframe()\n    while 'send' not in f.f_locals: f = f.f_back\n    f.f_locals['send']('end', cases=3)\n    return 2",
		},
		{
			name: "the end alone", defect: "3 cases were asked, 1 answered", answers: 1,
			code: "import os, sys\ndef go():\n    f = sys._getframe()\n    while 'send' not in f.f_locals: f = f.f_back\n    f.f_locals['send']('end', cases=3)\n    os._exit(0)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ask(t, c.code+"\n", probe, c.wall, "first", "second", "third")
			if r.Complete != (c.defect == "") || !strings.Contains(r.Defect, c.defect) {
				t.Errorf("complete %v, defect %q; want %q in it\n%s", r.Complete, r.Defect, c.defect, r.Output)
			}
			if len(r.Cases) != c.answers {
				t.Errorf("%d answers, want %d: %v", len(r.Cases), c.answers, r.Cases)
			}
		})
	}
}

// TestProbeIsFresh shows that the probe's process starts from nothing of the tree's but its import path.
func TestProbeIsFresh(t *testing.T) {
	r := ask(t, "", `
import os, sys
import subject
def path(): return [os.path.relpath(p, os.getcwd()) for p in sys.path[:3]]
def loaded(): return sorted(m for m in sys.modules if m.startswith(("pytest", "_pytest", "pluggy")))
def environment(): return sorted(set(os.environ) - {'PWD', 'TARE_RUN'})
def where(): return os.path.basename(os.getcwd())
def writable(): return [os.access(os.path.dirname(__file__), os.W_OK), os.access(subject.__file__, os.W_OK)]
`, 0, "path", "loaded", "environment", "where", "writable")
	if !r.Complete {
		t.Fatal(r.Defect)
	}
	for i, want := range []string{
		`["../hidden", "src", "."]`, `[]`, `["HOME", "LANG", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONPATH", "TMPDIR"]`, `"workspace"`, "[false, true]",
	} {
		if got := r.Cases[i].Value.String(); got != want && (i != 4 || box.Isolation() != "process") {
			t.Errorf("%s: %s, want %s", r.Cases[i].ID, got, want)
		}
	}
}
