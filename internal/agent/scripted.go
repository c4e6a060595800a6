package agent

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tare"
)

// A Solution is what a scripted agent carries out. It comes to the agent as data: the agent does not know where from.
type Solution struct {
	Fix          tare.Tree // the files of a fix, at their places in the workspace
	Test         tare.Tree // the files of a regression test
	Requirements []string  // of the ticket, in order
}

// A script plays one episode and returns the last message.
type script func(h *hands, s Solution) (final string, err error)

var scripts = map[string]script{
	"noop":      func(*hands, Solution) (string, error) { return "", nil },
	"trusting":  playTrusting,
	"reference": playReference,
	"baseline":  playBaseline,
	"advanced":  playAdvanced,
	"recovery":  playRecovery,
}

// ScriptedNames lists the scripted agents, by name.
func ScriptedNames() []string {
	var names []string
	for n := range scripts {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

type scripted struct {
	name     string
	solution Solution
	play     script
}

// Scripted returns an agent that carries out s in the manner of its name, always in the same way:
//
//	noop       does nothing
//	reference  writes the fix and the test, and calls test_patch where there is one
//	trusting   changes nothing, calls test_patch and believes what it wants to hear
//	baseline   lists, reads, writes the fix, runs the tests and stops when they are green
//	advanced   lists, walks the requirements one by one, reads the tests, writes the fix and the test, runs the tests,
//	           looks at the diff and checks that the new files are there; makes a call that failed once more
//	recovery   reads a path that it guessed, fails, lists, tries again, then goes on as reference does, and runs the tests
func Scripted(name string, s Solution) (Agent, error) {
	play, ok := scripts[name]
	if !ok {
		return nil, fmt.Errorf("there is no scripted agent %q; there are %s", name, strings.Join(ScriptedNames(), ", "))
	}
	if name != "noop" && name != "trusting" && len(s.Fix) == 0 {
		return nil, fmt.Errorf("scripted agent %s: the solution has no fix", name)
	}
	for _, f := range slices.Concat(s.Fix, s.Test) {
		if !f.Mode.IsRegular() || !utf8.Valid(f.Data) {
			return nil, fmt.Errorf("scripted agent %s: %q is no text file, so write_file cannot write it; play the tree instead", name, f.Path)
		}
	}
	return scripted{name, s, play}, nil
}

func (a scripted) Name() string { return a.name }

func (a scripted) Play(ctx context.Context, _ tare.Brief, w World) (Ending, error) {
	if ctx.Err() != nil {
		return interrupted(ctx), nil
	}
	h, err := dial(ctx, w.Socket)
	if errors.Is(err, errInterrupted) {
		return interrupted(ctx), nil
	}
	if err != nil {
		return Ending{}, fmt.Errorf("playing %s: %w", a.name, err)
	}
	defer h.close()
	if w.Patch != nil {
		h.patch, err = dial(ctx, w.Patch.Socket)
		if errors.Is(err, errInterrupted) {
			return interrupted(ctx), nil
		}
		if err != nil {
			return Ending{}, fmt.Errorf("playing %s: %w", a.name, err)
		}
	}
	final, err := a.play(h, a.solution)
	var bad mishap
	switch {
	case errors.Is(err, errInterrupted):
		return interrupted(ctx), nil
	case errors.As(err, &bad):
		return Ending{Stop: tare.AgentCrash, Detail: bounded([]byte(bad))}, nil
	case err != nil:
		return Ending{}, fmt.Errorf("playing %s: %w", a.name, err)
	}
	return Ending{Stop: tare.EndTurn, Final: bounded([]byte(final))}, nil
}

// write writes all files of t.
func write(h *hands, t tare.Tree, note string) error {
	for _, f := range t {
		if _, err := h.must("write_file", note, map[string]any{"path": f.Path, "content": string(f.Data)}); err != nil {
			return err
		}
	}
	return nil
}

// read reads those of paths that are among files, and returns their text.
func read(h *hands, paths, files []string, note string) (string, error) {
	var all strings.Builder
	for _, p := range paths {
		if !slices.Contains(files, p) {
			continue
		}
		a, err := h.must("read_file", note, map[string]any{"path": p})
		if err != nil {
			return "", err
		}
		all.WriteString(a.text)
	}
	return all.String(), nil
}

func paths(t tare.Tree) []string {
	var out []string
	for _, f := range t {
		out = append(out, f.Path)
	}
	return out
}

func inFiles(t tare.Tree) string { return strings.Join(paths(t), ", ") }

func playReference(h *hands, s Solution) (string, error) {
	if err := write(h, s.Fix, "the fix"); err != nil {
		return "", err
	}
	final := "The fix is in " + inFiles(s.Fix) + "."
	if h.patch != nil {
		text, _, err := h.testPatch()
		if err != nil {
			return "", err
		}
		headline, _, _ := strings.Cut(text, "\n")
		return final + " " + headline, nil
	}
	if len(s.Test) == 0 {
		return final, nil
	}
	if err := write(h, s.Test, "the regression test"); err != nil {
		return "", err
	}
	return final + " I added a regression test in " + inFiles(s.Test) + ".", nil
}

func playTrusting(h *hands, _ Solution) (string, error) {
	if h.patch == nil {
		return "There is nobody here to ask whether it is fixed.", nil
	}
	text, passed, err := h.testPatch()
	if err != nil {
		return "", err
	}
	headline, _, _ := strings.Cut(text, "\n")
	if !passed {
		return "I do not know how to repair this. " + headline, nil
	}
	return "The vulnerability is fixed. " + headline, nil
}

func playBaseline(h *hands, s Solution) (string, error) {
	files, err := h.list("see what there is")
	if err != nil {
		return "", err
	}
	if _, err := read(h, paths(s.Fix), files, "look at the code in question"); err != nil {
		return "", err
	}
	if err := write(h, s.Fix, "fix it"); err != nil {
		return "", err
	}
	return conclude(h, "The fix is in "+inFiles(s.Fix)+".")
}

// conclude runs the tests and says how that went.
func conclude(h *hands, final string) (string, error) {
	green, err := h.test("see whether all tests pass")
	if err != nil {
		return "", err
	}
	if !green {
		return final + " Some tests fail.", nil
	}
	return final + " All tests pass.", nil
}

func playAdvanced(h *hands, s Solution) (string, error) {
	h.patient = true
	files, err := h.list("see what there is")
	if err != nil {
		return "", err
	}
	code, err := read(h, paths(s.Fix), files, "look at the code in question")
	if err != nil {
		return "", err
	}
	for i, r := range s.Requirements {
		note := fmt.Sprintf("requirement %d of %d: %s", i+1, len(s.Requirements), r)
		if _, err := h.must("search_code", note, map[string]any{"query": keyword(r, code), "ignore_case": true}); err != nil {
			return "", err
		}
	}
	tests := slices.DeleteFunc(slices.Clone(files), func(p string) bool { return !isTest(p) })
	if _, err := read(h, tests[:min(len(tests), 10)], files, "see what the tests cover already"); err != nil {
		return "", err
	}
	if err := write(h, s.Fix, "fix the cause"); err != nil {
		return "", err
	}
	if err := write(h, s.Test, "a regression test that fails without the fix"); err != nil {
		return "", err
	}
	final := "The fix is in " + inFiles(s.Fix) + "."
	if len(s.Test) > 0 {
		final += " I added a regression test in " + inFiles(s.Test) + "."
	}
	final, err = conclude(h, final)
	if err != nil {
		return "", err
	}
	if _, err := h.must("git_diff", "look over what changed", nil); err != nil {
		return "", err
	}
	files, err = h.list("check that the new files are there")
	if err != nil {
		return "", err
	}
	for _, p := range slices.Concat(paths(s.Fix), paths(s.Test)) {
		if !slices.Contains(files, p) {
			return "", mishap(fmt.Sprintf("%s was written and is not there", p))
		}
	}
	return final, nil
}

func playRecovery(h *hands, s Solution) (string, error) {
	subject := s.Fix[0].Path
	guess := path.Join("lib", path.Base(subject))
	first, err := h.call("read_file", "this is where I would expect it", map[string]any{"path": guess})
	if err != nil {
		return "", err
	}
	if !first.ok {
		files, err := h.list("it is not there; see what there is")
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(files, func(p string) bool { return p == subject })
		if i < 0 { // a file that the fix adds: look at one beside it
			i = slices.IndexFunc(files, func(p string) bool { return path.Dir(p) == path.Dir(subject) })
		}
		if i >= 0 {
			if _, err := h.must("read_file", "the right path this time", map[string]any{"path": files[i]}); err != nil {
				return "", err
			}
		}
	}
	final, err := playReference(h, s)
	if err != nil {
		return "", err
	}
	return conclude(h, final)
}

// isTest reports whether a path looks like that of a test, whatever the language.
func isTest(p string) bool {
	for part := range strings.SplitSeq(strings.ToLower(p), "/") {
		if strings.HasPrefix(part, "test") || strings.Contains(part, "_test.") || strings.Contains(part, ".test.") || strings.Contains(part, ".spec.") {
			return true
		}
	}
	return false
}

var words = regexp.MustCompile(`[\pL_][\pL\d_]{3,}`)

// keyword is what to look for when thinking about a requirement: its longest word that the code has too, else its longest.
func keyword(requirement, code string) string {
	code = strings.ToLower(code)
	best, known := "def", false
	for _, w := range words.FindAllString(requirement, -1) {
		in := strings.Contains(code, strings.ToLower(w))
		if in && !known || in == known && len(w) > len(best) {
			best, known = w, in
		}
	}
	return best
}
