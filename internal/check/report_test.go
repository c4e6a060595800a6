package check

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"tare"
	"tare/internal/sandbox"
)

// lines is a whole report of two tests and a sentinel, with the nonce N, for a process that ended with status 1.
func lines() []string {
	out := []string{`{"nonce":"N","event":"start"}`}
	for i, id := range []string{"a.py::test_x", "a.py::test_y", "a.py::test_s"} {
		role := map[int]string{2: "passing"}[i]
		out = append(out, fmt.Sprintf(`{"nonce":"N","event":"item","item":%d,"id":%q,"role":%q}`, i, id, role))
	}
	for i, id := range []string{"a.py::test_x", "a.py::test_y", "a.py::test_s"} {
		for _, when := range []string{"setup", "call", "teardown"} {
			out = append(out, fmt.Sprintf(`{"nonce":"N","event":"result","item":%d,"id":%q,"when":%q,"outcome":"passed"}`, i, id, when))
		}
	}
	return append(out, `{"nonce":"N","event":"end","status":1,"items":3,"results":9}`)
}

// judge reads a report as Run does: the outcomes of tests, and what is wrong.
func judge(data []byte) (passed int, defect string) {
	a := answer{nonce: "N", report: data, result: sandbox.Result{Exit: 1}}
	rep := a.read()
	if !rep.started() {
		return 0, "not started"
	}
	items := rep.items()
	for _, it := range items {
		if t, ok := it.result(true); ok && t.Outcome == tare.TestPassed && it.role == "" {
			passed++
		}
	}
	rep.checkTests(a, items)
	return passed, rep.defect
}

func text(lines []string) []byte {
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	return b.Bytes()
}

// TestReportIsWhole shows that no line can be left out, said twice, moved past another of its sort, cut or changed in its
// nonce without notice.
func TestReportIsWhole(t *testing.T) {
	whole := lines()
	if n, defect := judge(text(whole)); n != 2 || defect != "" {
		t.Fatalf("%d passed, %q", n, defect)
	}
	for i, l := range whole {
		for name, changed := range map[string][]string{
			"without":     slices.Delete(slices.Clone(whole), i, i+1),
			"twice":       slices.Insert(slices.Clone(whole), i, l),
			"other nonce": slices.Replace(slices.Clone(whole), i, i+1, `{"nonce":"M"`+l[len(`{"nonce":"N"`):]),
			"no JSON":     slices.Replace(slices.Clone(whole), i, i+1, l[1:]),
			"with blank":  slices.Insert(slices.Clone(whole), i, ""),
		} {
			if name == "twice" && i == 0 {
				continue // the start says nothing
			}
			if _, defect := judge(text(changed)); defect == "" {
				t.Errorf("%s line %d, %s: no defect", name, i+1, l)
			}
		}
	}
	data := text(whole)
	for i := range data {
		if _, defect := judge(data[:i]); defect == "" {
			t.Errorf("cut after %d bytes: no defect", i)
		}
	}
	swapped := slices.Clone(whole)
	swapped[1], swapped[2] = swapped[2], swapped[1]
	if _, defect := judge(text(swapped)); defect == "" {
		t.Error("tests announced out of order: no defect")
	}
}
