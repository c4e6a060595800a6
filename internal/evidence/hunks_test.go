package evidence

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare"
)

func all(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// TestRevertEverything: to undo all hunks is to have the old files back, and to undo none changes nothing.
func TestRevertEverything(t *testing.T) {
	file := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 12).Draw(t, "lines"), "\n")
		if rapid.Bool().Draw(t, "newline") {
			s += "\n"
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		old := tree("src/a", file.Draw(t, "a"), "src/b", file.Draw(t, "b"), "src/gone", "x", "other", "1")
		now := tree("src/a", file.Draw(t, "a now"), "src/b", file.Draw(t, "b now"), "other", "2")
		hunks := diff(old, now, func(p string) bool { return strings.HasPrefix(p, "src/") })
		if got := revert(now, hunks, nil); got.Digest() != now.Digest() {
			t.Errorf("nothing undone: %q", got)
		}
		want := old.Overlay(tree("other", "2"))
		if got := revert(now, hunks, all(len(hunks))); got.Digest() != want.Digest() {
			t.Errorf("all undone: %q\nwant %q", got, want)
		}
		for i, h := range hunks { // each hunk is a change of its own
			if revert(now, hunks, []int{i}).Digest() == now.Digest() {
				t.Errorf("undoing %s changes nothing", h)
			}
		}
	})
}

func TestHunksAreApart(t *testing.T) {
	old, now := tree("s", "1\n2\n3\n4\n5\n"), tree("s", "1\nTWO\n3\n4\n4a\n5\n", "new", "x")
	hunks := diff(old, now, func(string) bool { return true })
	if got := fmt.Sprint(hunks); got != "[s:2-2 s:5-5]" {
		t.Errorf("got %s", got)
	}
	f, _ := revert(now, hunks, []int{0}).Lookup("s")
	if string(f.Data) != "1\n2\n3\n4\n4a\n5\n" {
		t.Errorf("got %q", f.Data)
	}
	long := strings.Repeat("x\n", maxLines+1)
	hunks = diff(tree("s", long), tree("s", long+"y\n"), func(string) bool { return true })
	if len(hunks) != 1 || !hunks[0].whole {
		t.Errorf("a long file: %v", hunks)
	}
	if _, ok := revert(now, diff(old, tare.Tree{}, func(string) bool { return true }), []int{0}).Lookup("s"); !ok {
		t.Error("a deleted file does not come back")
	}
}

func TestSubsets(t *testing.T) {
	var got []string
	for s := range subsets(3) {
		got = append(got, fmt.Sprint(s))
	}
	if want := "[0] [1] [2] [0 1] [0 2] [1 2] [0 1 2]"; strings.Join(got, " ") != want {
		t.Errorf("got %v", got)
	}
	for range subsets(0) {
		t.Error("nothing has subsets")
	}
	n := 0
	for range subsets(60) { // it need not hold them all
		if n++; n == 1000 {
			break
		}
	}
}
