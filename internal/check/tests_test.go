package check

import (
	"testing"

	"tare"
)

const calc = `
class Calc:
    def add(self, a, b):
        return a + b

    def broken(self, a, b):
        return a - b

    def slips(self):
        return self.total

    def mistyped(self):
        return totl

    def asks_too_much(self):
        return self.add(a=1, c=2)
`

// TestOutcomes pins what each way for a test to end is called.
func TestOutcomes(t *testing.T) {
	tree := files(t,
		"src/calc/__init__.py", "",
		"src/calc/core.py", calc,
		"tests/test_calc.py", `
import unittest
import pytest
from calc.core import Calc

def test_passes(): assert Calc().add(1, 2) == 3
def test_fails(): assert Calc().broken(1, 2) == 3
@pytest.mark.parametrize("n", [1, 2])
def test_param(n): assert n
@pytest.mark.xfail
def test_xfail(): assert 0
@pytest.mark.xfail
def test_xpass(): assert 1
@pytest.mark.xfail(strict=True)
def test_xpass_strict(): assert 1
@pytest.mark.skip(reason="why not")
def test_skip(): pass
def test_skips_itself(): pytest.skip("no")
@pytest.fixture
def breaks(): raise ValueError("set-up")
@pytest.fixture
def breaks_late():
    yield
    raise ValueError("tear-down")
def test_setup(breaks): pass
def test_teardown(breaks_late): pass
def test_no_method(): Calc().gone()
def test_no_name(): from calc.core import Gone
def test_no_module(): import gone.altogether
def test_no_parameter(): Calc().add(1, b=2, c=3)
def test_none_has_no_such(): None.gone
def test_slips(): Calc().slips()
def test_mistyped(): Calc().mistyped()
def test_asks_too_much(): Calc().asks_too_much()
def test_own_name(): undefined
def test_patched(monkeypatch):
    import calc.core
    monkeypatch.setattr(calc.core, "gone", 1)
def test_caught():
    try:
        from calc.core import Gone
    except ImportError:
        pytest.fail("not there")
class TestGroup:
    def test_in_class(self): assert [] == [1]
class Unit(unittest.TestCase):
    def test_unit(self): self.assertEqual(1, 1)
    def test_unit_fails(self): self.assertEqual(1, 2)
`)
	r := run(t, TestRequest{Tree: tree, Twin: "tests/test_calc.py::TestGroup::test_in_class"})
	if !r.Complete || !sentinelsRight(r) || len(r.Sentinels) != 3 {
		t.Fatalf("complete %v, defect %q, sentinels %v", r.Complete, r.Defect, r.Sentinels)
	}
	for _, want := range []tare.TestResult{
		{ID: "test_passes", Outcome: tare.TestPassed},
		{ID: "test_fails", Outcome: tare.TestFailed, Phase: "call", Class: "AssertionError", InBody: true},
		{ID: "test_param[1]", Outcome: tare.TestPassed},
		{ID: "test_param[2]", Outcome: tare.TestPassed},
		{ID: "test_xfail", Outcome: tare.TestSkipped, Phase: "call", Class: "AssertionError", InBody: true},
		{ID: "test_xpass", Outcome: tare.TestSkipped, Phase: "call"},
		{ID: "test_xpass_strict", Outcome: tare.TestFailed, Phase: "call"},
		{ID: "test_skip", Outcome: tare.TestSkipped, Phase: "setup"},
		{ID: "test_skips_itself", Outcome: tare.TestSkipped, Phase: "call"},
		{ID: "test_setup", Outcome: tare.TestError, Phase: "setup", Class: "ValueError"},
		{ID: "test_teardown", Outcome: tare.TestError, Phase: "teardown", Class: "ValueError"},
		{ID: "test_no_method", Outcome: tare.TestFailed, Phase: "call", Class: "AttributeError", InBody: true, Missing: "Calc.gone"},
		{ID: "test_no_name", Outcome: tare.TestFailed, Phase: "call", Class: "ImportError", InBody: true, Missing: "calc.core.Gone"},
		{ID: "test_no_module", Outcome: tare.TestFailed, Phase: "call", Class: "ModuleNotFoundError", InBody: true, Missing: "gone"},
		{ID: "test_no_parameter", Outcome: tare.TestFailed, Phase: "call", Class: "TypeError", InBody: true, Missing: "Calc.add(c=)"},
		{ID: "test_none_has_no_such", Outcome: tare.TestFailed, Phase: "call", Class: "AttributeError", InBody: true},
		{ID: "test_slips", Outcome: tare.TestFailed, Phase: "call", Class: "AttributeError", InBody: true, InSources: true},
		{ID: "test_mistyped", Outcome: tare.TestFailed, Phase: "call", Class: "NameError", InBody: true, InSources: true},
		{ID: "test_asks_too_much", Outcome: tare.TestFailed, Phase: "call", Class: "TypeError", InBody: true, InSources: true},
		{ID: "test_own_name", Outcome: tare.TestFailed, Phase: "call", Class: "NameError", InBody: true, Missing: "undefined"},
		{ID: "test_patched", Outcome: tare.TestFailed, Phase: "call", Class: "AttributeError", InBody: true, Missing: "gone"},
		{ID: "test_caught", Outcome: tare.TestFailed, Phase: "call", Class: "Failed", InBody: true, Missing: "calc.core.Gone"},
		{ID: "TestGroup::test_in_class", Outcome: tare.TestFailed, Phase: "call", Class: "AssertionError", InBody: true},
		{ID: "Unit::test_unit", Outcome: tare.TestPassed},
		{ID: "Unit::test_unit_fails", Outcome: tare.TestFailed, Phase: "call", Class: "AssertionError", InBody: true},
	} {
		want.ID = "tests/test_calc.py::" + want.ID
		got := result(t, r, want.ID)
		got.Message = ""
		if got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	if len(r.Tests) != 25 {
		t.Errorf("%d results, want 25: %v", len(r.Tests), r.Tests)
	}
}
