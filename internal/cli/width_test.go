package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tare"
	"tare/internal/proof"
	"tare/internal/report"
)

// TestProofFitsTerminal prints a proof at every width that a terminal may have: no line is wider, no number of rows is wrong, and
// what is WRONG is there whole.
func TestProofFitsTerminal(t *testing.T) {
	half, one := 0.5, 1.0
	row := func(origin tare.Origin, name string, gate string, reward *float64, wrong string) proof.Row {
		r := proof.Row{Control: name, Origin: origin, OK: wrong == "", Wrong: wrong}
		r.Got = proof.Got{Outcome: tare.Fail, Gate: gate, Requirement: 12, Reward: reward, Reason: strings.Repeat("because ", 20)}
		return r
	}
	table := proof.Table{
		Task: "tickets/a_task_with_quite_a_long_name_of_its_own", HeldOut: true, Passes: 2, Isolation: "bwrap+seccomp",
		Idle: []string{"case-one", "case-two"},
		Rows: []proof.Row{
			row(tare.FromSeed, "seed", tare.GateBehaviour, &half, ""),
			row(tare.FromReference, "reference:a", tare.GateRegressionTest, &half, ""),
			row(tare.FromReference, "reference:a+test", "", &one, ""),
			row(tare.FromWorthless, "worthless:vacuous-a", tare.GateRegressionTest, &half, ""),
			row(tare.FromBad, "a-wrong-fix-with-a-name-that-is-long", tare.GateBehaviour, &half, "expected to be stopped at regression_test, was at behaviour"),
			row(tare.FromAdversary, "always-equal-to-everything@reference", tare.GateBehaviour, &half, ""),
			row(tare.FromSick, "sick", tare.GateBehaviour, &half, ""),
		},
	}
	for width := leastWidth; width <= mostWidth; width++ {
		var b bytes.Buffer
		if err := writeProof(&b, []proof.Table{table, table}, report.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		for _, l := range strings.Split(got, "\n") {
			if n := len([]rune(l)); n > width {
				t.Errorf("%d columns of %d: %q", n, width, l)
			}
		}
		flat := strings.Join(strings.Fields(got), " ")
		for _, want := range []string{"a-wrong-fix-with-a-name-that-is-long: expected to be stopped at regression_test, was at behaviour", "1 spoilt record", "2 hidden cases stop no control by themselves: case-one, case-two", "2 tasks, 14 controls, 2 not as they must be"} {
			if !strings.Contains(flat, want) {
				t.Errorf("at %d: %q is not in\n%s", width, want, got)
			}
		}
	}
}

func TestProofOfRowsHasNoSweep(t *testing.T) {
	table := proof.Table{Task: "s/t", Passes: 1, Rows: []proof.Row{{Control: "seed", Origin: tare.FromSeed, OK: true}}, Idle: []string{"c"}}
	var b bytes.Buffer
	if err := writeProof(&b, []proof.Table{table}, report.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Contains(got, "sweep") || !strings.HasPrefix(got, "s/t: 1 control, 1 pass,") ||
		!strings.Contains(got, "1 hidden case stops no control by itself: c\n") || !strings.HasSuffix(got, "\n1 task, 1 control, 0 not as they must be\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestWrapLines(t *testing.T) {
	text := "A heading that is longer than the line.\n   an indented line that is longer too\n\nend"
	want := "A heading that is\nlonger than the\nline.\n   an indented\n   line that is\n   longer too\n\nend"
	if got := wrapLines(text, 18); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestProgressFitsTerminal(t *testing.T) {
	var b bytes.Buffer
	a := &app{stderr: &b, terminal: true}
	bar := a.progress()
	bar.say("%s", strings.Repeat("long ", 100))
	bar.say("short")
	for _, l := range strings.Split(b.String(), "\r") {
		if n := len([]rune(l)); n >= pageWidth {
			t.Errorf("a line of %d columns wraps at %d: %q", n, pageWidth, l)
		}
	}
	if !strings.Contains(b.String(), "short"+strings.Repeat(" ", 85)) {
		t.Errorf("the rest of the longer line is not wiped: %q", b.String())
	}
	if n := fmt.Sprint(many(1, "pass"), many(2, "pass"), many(0, "task")); n != "1 pass2 passes0 tasks" {
		t.Errorf("got %s", n)
	}
}

// TestProgressTicks shows that the clock of the line goes on without news, and stops with clear.
func TestProgressTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		a := &app{stderr: &b, terminal: true}
		bar := a.progress()
		bar.say("at work")
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		bar.mu.Lock()
		got := b.String()
		bar.mu.Unlock()
		if want := "\r0 s  at work\r1 s  at work\r2 s  at work\r3 s  at work"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		bar.clear()
		after := b.Len()
		time.Sleep(5 * time.Second)
		if b.Len() != after || !strings.HasSuffix(b.String(), "\r            \r") {
			t.Errorf("after clear: %q", b.String()[len(got):])
		}
		bar.clear()
	})
}
