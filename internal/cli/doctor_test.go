package cli

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/report"
	"tare/internal/sandbox"
)

// TestFindingLines shows findings on the narrowest terminal: nothing of what is missing, or of what mends it, is cut off.
func TestFindingLines(t *testing.T) {
	long := strings.Repeat("a reason of some length ", 6)
	var lines []report.Line
	for _, f := range []sandbox.Finding{
		{Name: "user namespaces refused inside", OK: true, Detail: "short"},
		{Name: "memory limit", OK: true, Detail: long + "END1"},
		{Name: "sandbox", Detail: long + "END2", Mend: long + "END3"},
		{Name: toolsOf("gotest"), Detail: long + "END4", Mend: "END5"},
	} {
		lines = append(lines, findingLine(f, f.Name == toolsOf("gotest"), leastWidth))
	}
	var b bytes.Buffer
	if err := report.Table(&b, []report.Column{{}, {}, {Min: 10}}, lines, report.Options{Width: leastWidth}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{"ok       user namespaces refused inside  short\n", "ok       memory limit\n", "END1", "MISSING  sandbox\n", "END2", "to mend it: a reason", "END3", "absent   tools of gotest\n", "needed by tickets in Go alone", "END4", "to mend it: END5"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for _, l := range strings.Split(got, "\n") {
		if len([]rune(l)) > leastWidth {
			t.Errorf("too wide: %q", l)
		}
	}
}
