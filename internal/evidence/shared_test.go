package evidence

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/sandbox"
)

// beside gathers with shared.
func beside(t *testing.T, f *fake, final tare.Tree, shared *Shared) tare.Evidence {
	t.Helper()
	ev, err := Gather(context.Background(), Request{Task: fakeTask(), Final: final, Sandbox: box{}, Runner: f, Jobs: 2, Shared: shared})
	if err != nil || len(ev.Problems) > 0 {
		t.Fatalf("%v, %v", err, ev.Problems)
	}
	return ev
}

// asked counts the calls of f that begin with prefix.
func asked(f *fake, prefix string) int {
	n := 0
	for _, c := range f.calls {
		if strings.HasPrefix(c, prefix) {
			n++
		}
	}
	return n
}

const visibleOfFix = "run:text fix+acts right+has none+last:tests/t_old::one,tests/t_old::two"

// TestShared gathers solutions with the same fix and other tests beside each other: what they have in common is observed
// once, and the evidence is what each would have by itself.
func TestShared(t *testing.T) {
	solutions := []tare.Tree{
		solved("tests/t_new", "x genuine"), solved("tests/t_new", "x vacuous"), solved("tests/t_new", "y genuine\nz text"),
		solved("checks/t_far", "q genuine"), solved("hook", "", "tests/t_new", "x genuine"), solved("src/t_in", "x genuine"),
	}
	f, shared := &fake{}, NewShared()
	for i, final := range solutions {
		alone, err := gather(&fake{}, final, 2)
		if err != nil {
			t.Fatal(err)
		}
		ev := beside(t, f, final, shared)
		for k := range ev.Runs {
			if ev.Runs[k].Reused && i == 0 {
				t.Errorf("run %s of the first was made for another", ev.Runs[k].ID)
			}
			ev.Runs[k].Reused = false
		}
		if d := cmp.Diff(alone, ev); d != "" {
			t.Errorf("solution %d: alone and beside others (-alone +beside):\n%s", i, d)
		}
	}
	// two have a test where the seed keeps none, so that it is in the graded tree and goes with the sources; a hook goes with them too
	for call, want := range map[string]int{
		visibleOfFix: 3, "probe:text fix": 4, "tests:seed": 1, "poison": 4, "vary:text fix": 8,
		"run:text fix+acts right+has none+last:tests/t_new::x": 3, // an agent's own tests are run for each
	} {
		if got := asked(f, call); got != want {
			t.Errorf("%s: asked %d times, want %d\n%s", call, got, want, strings.Join(f.calls, "\n"))
		}
	}
}

// TestNotShared leaves what is no whole observation, or of another tree, to the one who made it.
func TestNotShared(t *testing.T) {
	for name, spoil := range map[string]func(*tare.Run){
		"no whole report": func(r *tare.Run) { r.Complete = false },
		"ended by us":     func(r *tare.Run) { r.Ended = "wall" },
	} {
		f, shared := &fake{}, NewShared()
		f.forge = func(call string, r tare.Run) tare.Run {
			if call == visibleOfFix && asked(f, visibleOfFix) == 1 {
				spoil(&r)
			}
			return r
		}
		beside(t, f, solved("tests/t_new", "x genuine"), shared)
		beside(t, f, solved("tests/t_new", "x vacuous"), shared)
		if got := asked(f, visibleOfFix); got != 2 {
			t.Errorf("%s: asked %d times", name, got)
		}
	}
	f, shared := &fake{}, NewShared()
	first := beside(t, f, solved("tests/t_new", "x genuine"), shared)
	other := beside(t, f, solved("src/s", "text fix\nacts right\nhas none\nlast\n", "tests/t_new", "x genuine"), shared)
	reused := map[tare.World]bool{}
	for _, r := range other.Runs {
		same := slices.ContainsFunc(first.Runs, func(o tare.Run) bool { return o.Tree == r.Tree && o.Role == r.Role && o.World == r.World })
		if r.Reused && !same {
			t.Errorf("%s %s: an observation of another tree was used", r.Role, r.World)
		}
		reused[r.World] = r.Reused
	}
	if reused[tare.WorldFix] || reused[tare.WorldAgain] || !reused[tare.WorldSeed] || !reused[tare.WorldTwin("ta")] {
		t.Errorf("what hangs on the fix is made anew, what does not is not: %v", reused)
	}
}

// TestSharedIsBounded makes more observations than are kept, and uses the latest.
func TestSharedIsBounded(t *testing.T) {
	shared := NewShared()
	made := 0
	get := func(key string) {
		if _, _, err := share(shared, keyOf(key), func() (int, error) { made++; return made, nil }, func(int) bool { return true }); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 * maxShared {
		get("first")
		get(strings.Repeat("x", i))
	}
	if made != 1+3*maxShared || len(shared.kept) != maxShared {
		t.Errorf("made %d, kept %d", made, len(shared.kept))
	}
	get("")
	if made != 2+3*maxShared {
		t.Error("the oldest was kept")
	}
}

// TestAhead: worlds are made in one go, a rig that cannot do so makes each by itself, one that cannot be made is named, and what
// another gathering has made is not made again. The evidence is the same each time.
func TestAhead(t *testing.T) {
	final := solved("tests/t_new", "x genuine")
	for _, not := range []map[string]string{nil, {"poison": "nothing to poison"}, {"vary:text fix/acts right": "odd"}} {
		whole, single := &fake{not: not}, &fake{not: not, apart: true}
		want, err := gather(whole, final, 2)
		if err != nil || len(want.Problems) > 0 || len(want.Unmade) > 0 != (not != nil) {
			t.Fatalf("%v, problems %v, unmade %v", err, want.Problems, want.Unmade)
		}
		if d := cmp.Diff([]int{6}, whole.together); d != "" {
			t.Errorf("makings of each call (-want +got):\n%s", d)
		}
		got, err := gather(single, final, 2)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%v, together and apart (-together +apart):\n%s", err, d)
		}
		if n := len(single.together); n < 5 || single.together[0] != 6 || single.together[1] != 1 {
			t.Errorf("apart: makings of each call: %v", single.together)
		}
		f, shared := &fake{not: not}, NewShared()
		for range 2 {
			ev := beside(t, f, final, shared)
			for k := range ev.Runs {
				ev.Runs[k].Reused = false
			}
			if d := cmp.Diff(want, ev); d != "" {
				t.Errorf("beside another (-alone +beside):\n%s", d)
			}
		}
		if not == nil && len(f.together) != 1 {
			t.Errorf("two gatherings: makings of each call: %v", f.together)
		}
	}
}

// chmod is t with a file that may be executed.
func chmod(t tare.Tree, path string) tare.Tree {
	out := slices.Clone(t)
	for i := range out {
		if out[i].Path == path {
			out[i].Mode |= 0o111
		}
	}
	return out
}

// A reader reads each file by itself.
type reader struct {
	*fake
	read []string
}

func (*reader) Collects(p string) bool {
	return strings.HasPrefix(p[strings.LastIndex(p, "/")+1:], "t_")
}

func (r *reader) Tests(ctx context.Context, sb sandbox.Sandbox, tree tare.Tree) ([]tare.TestNode, []string, error) {
	r.mu.Lock()
	for _, f := range tree {
		r.read = append(r.read, f.Path)
	}
	r.mu.Unlock()
	return r.fake.Tests(ctx, sb, tree)
}

// TestReadsWhatChanged: where each file is read by itself, only those are that the agent changed, in the seed and in what it left, and
// what is found is the same.
func TestReadsWhatChanged(t *testing.T) {
	for name, c := range map[string]struct {
		final tare.Tree
		read  []string
	}{
		"a new file":     {solved("tests/t_new", "x genuine"), []string{"tests/t_new"}},
		"another test":   {solved("tests/t_old", "one vacuous\ntwo vacuous\nx genuine"), []string{"tests/t_old", "tests/t_old"}},
		"a changed test": {solved("tests/t_old", "one genuine\ntwo vacuous"), []string{"tests/t_old", "tests/t_old"}},
		"moved":          {solved("tests/t_old", "two vacuous", "tests/t_new", "one vacuous\nx genuine"), []string{"tests/t_new", "tests/t_old", "tests/t_old"}},
		"broken":         {solved("tests/t_new", "broken", "tests/t_more", "x genuine"), []string{"tests/t_more", "tests/t_new"}},
		"no test":        {solved("src/more", "text fix"), nil},
		"another mode":   {chmod(solved("tests/t_old", "one vacuous\ntwo vacuous"), "tests/t_old"), []string{"tests/t_old", "tests/t_old"}},
	} {
		t.Run(name, func(t *testing.T) {
			whole, err := gather(&fake{}, c.final, 2)
			if err != nil {
				t.Fatal(err)
			}
			r := &reader{fake: &fake{}}
			ev, err := Gather(t.Context(), Request{Task: fakeTask(), Final: c.final, Sandbox: box{}, Runner: r, Jobs: 2})
			if err != nil {
				t.Fatal(err)
			}
			type found struct {
				Own    []tare.TestNode
				Moved  []tare.Moved
				Broken []string
			}
			if d := cmp.Diff(found{whole.Own, whole.Moved, whole.Broken}, found{ev.Own, ev.Moved, ev.Broken}); d != "" {
				t.Errorf("by all files and by those that changed (-all +changed):\n%s", d)
			}
			slices.Sort(r.read)
			if !slices.Equal(r.read, c.read) {
				t.Errorf("read %q, want %q", r.read, c.read)
			}
		})
	}
}
