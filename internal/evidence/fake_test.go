package evidence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tare"
	"tare/internal/check"
	"tare/internal/sandbox"
)

// A fake is a Runner of a language of its own, in which nothing runs. A source is lines such as "text fix", "acts right" and
// "has helper"; a test file is lines of a name and a kind:
//
//	genuine  passes where the source acts right, fails properly elsewhere
//	vacuous  passes everywhere
//	text     passes where the source's text is "fix"
//	helper   is genuine where the source has a helper, else fails for want of it
//	spy      is a helper's test that fails on references too
//	blind    is a helper's test that passes on twins too
//	lucky    is genuine, and fails where its like was not seen before
//	blur     is genuine, and passes where its like was not seen before
//	wedge    is genuine, and hangs the process where the source acts wrong
//	seedling fails properly on the seed's text
//	pedant   is genuine, and fails on rewritten text too
//	red      fails everywhere
type fake struct {
	mu     sync.Mutex
	calls  []string             // what was asked, in order of the calls
	trees  map[string]tare.Tree // by the name of the call
	fail   string               // the call that fails
	not    map[string]string    // the calls that say that the tree does not lend itself to it
	before func(call string)    // called when a call begins
	after  func(call string)    // called when it ends
	bare   bool                 // Graft finds nothing to graft
	apart  bool                 // Make makes one world at a time
	forge  func(string, tare.Run) tare.Run

	together []int // how many worlds Make was asked for each time
}

// begin notes a call; its end is to be deferred.
func (f *fake) begin(call string, tree tare.Tree) (func(), error) {
	f.mu.Lock()
	f.calls = append(f.calls, call)
	if f.trees == nil {
		f.trees = map[string]tare.Tree{}
	}
	f.trees[call] = tree
	f.mu.Unlock()
	if f.before != nil {
		f.before(call)
	}
	end := func() {
		if f.after != nil {
			f.after(call)
		}
	}
	if f.fail == call {
		return end, fmt.Errorf("%s: the machine is on fire", call)
	}
	if why, ok := f.not[call]; ok {
		return end, fmt.Errorf("making: %w", &check.NotTransformable{Reason: why})
	}
	return end, nil
}

func (f *fake) Steers(path string, _ tare.Tree) string {
	if strings.HasSuffix(path, "hook") {
		return "a hook"
	}
	return ""
}

func (f *fake) IsTest(path string) bool { return strings.HasSuffix(path, ".beside") }

func (f *fake) Command(string, []string) ([]string, map[string]string) { return []string{"fake"}, nil }

func (f *fake) Tests(_ context.Context, _ sandbox.Sandbox, tree tare.Tree) ([]tare.TestNode, []string, error) {
	name := "tests:final"
	if s, ok := tree.Lookup("src/s"); ok && bytes.Contains(s.Data, []byte("text seed")) {
		name = "tests:seed"
	}
	end, err := f.begin(name, tree)
	defer end()
	var nodes []tare.TestNode
	var broken []string
	for _, file := range tree {
		if !strings.HasPrefix(file.Path[strings.LastIndex(file.Path, "/")+1:], "t_") {
			continue
		}
		if bytes.HasPrefix(file.Data, []byte("broken")) {
			broken = append(broken, file.Path)
			continue
		}
		for _, l := range strings.Fields(strings.ReplaceAll(string(file.Data), " ", ":")) {
			id, kind, _ := strings.Cut(l, ":")
			nodes = append(nodes, tare.TestNode{ID: file.Path + "::" + id, File: file.Path, Digest: tare.HashBytes([]byte(kind))})
		}
	}
	return nodes, broken, err
}

// kinds maps the test nodes of tree to what they do.
func kinds(tree tare.Tree) map[string]string {
	out := map[string]string{}
	for _, file := range tree {
		for _, l := range strings.Split(string(file.Data), "\n") {
			if id, kind, ok := strings.Cut(l, " "); ok {
				out[file.Path+"::"+id] = kind
			}
		}
	}
	return out
}

func source(tree tare.Tree) string {
	s, _ := tree.Lookup("src/s")
	return string(s.Data)
}

// say is the result of a test of some kind on a source.
func say(id, kind, src string) tare.TestResult {
	fails := tare.TestResult{ID: id, Outcome: tare.TestFailed, Phase: "call", InBody: true, Class: "Wrong"}
	ok := map[string]bool{
		"genuine": strings.Contains(src, "acts right"), "wedge": strings.Contains(src, "acts right"), "vacuous": true,
		"text": strings.Contains(src, "text fix"), "helper": strings.Contains(src, "acts right"),
		"lucky": strings.Contains(src, "acts right") && !strings.Contains(src, "text varied"),
		"blur":  strings.Contains(src, "acts right") || strings.Contains(src, "text varied"),
		"spy":   strings.Contains(src, "acts right") && !strings.Contains(src, "text a") && !strings.Contains(src, "text b"),
		"blind": strings.Contains(src, "acts right") || strings.Contains(src, "text t"),

		"seedling": !strings.Contains(src, "text seed"), "pedant": strings.Contains(src, "acts right") && !strings.Contains(src, "rewritten"),
	}[kind]
	if slices.Contains([]string{"helper", "spy", "blind"}, kind) && !strings.Contains(src, "has helper") {
		fails.Missing, ok = "helper", false
	}
	if ok {
		return tare.TestResult{ID: id, Outcome: tare.TestPassed}
	}
	return fails
}

func (f *fake) Run(_ context.Context, _ sandbox.Sandbox, req check.TestRequest) (tare.Run, error) {
	call := "run:" + strings.ReplaceAll(strings.TrimSpace(source(req.Tree)), "\n", "+")
	if req.Steered {
		call += ":steered"
	}
	if req.Reverse {
		call += ":reversed in " + req.DirName
	}
	call += ":" + strings.Join(req.Nodes, ",")
	end, err := f.begin(call, req.Tree)
	defer end()
	run := tare.Run{Tree: req.Tree.Digest(), Command: []string{"fake"}, Complete: true, Sentinels: []tare.Sentinel{
		{Name: "passing", Want: tare.TestPassed, Got: tare.TestPassed}, {Name: "failing", Want: tare.TestFailed, Got: tare.TestFailed}, {Name: "twin", Want: tare.TestFailed, Got: tare.TestFailed},
	}}
	has := kinds(req.Tree)
	for _, id := range req.Nodes {
		kind, there := has[id]
		if !there {
			continue
		}
		if kind == "wedge" && strings.Contains(source(req.Tree), "acts wrong") {
			run.Complete, run.Ended = false, "wall"
			break
		}
		run.Tests = append(run.Tests, say(id, kind, source(req.Tree)))
	}
	if f.forge != nil {
		run = f.forge(call, run)
	}
	return run, err
}

func (f *fake) Probe(_ context.Context, _ sandbox.Sandbox, req check.ProbeRequest) (tare.Run, error) {
	end, err := f.begin("probe:"+strings.ReplaceAll(strings.TrimSpace(source(req.Tree)), "\n", "+"), req.Tree)
	defer end()
	run := tare.Run{Tree: req.Tree.Digest(), Command: []string{"fake"}, Complete: true}
	for _, q := range req.Cases {
		v := tare.Value{Kind: tare.KindStr, Text: "broken"}
		for _, w := range []string{"right", "wrong"} {
			if strings.Contains(source(req.Tree), "acts "+w) {
				v.Text = w
			}
		}
		run.Cases = append(run.Cases, tare.CaseResult{ID: q.ID, Value: v})
	}
	if f.forge != nil {
		run = f.forge("probe", run)
	}
	return run, err
}

// change is tree with one line of its source put in the place of the one that begins with the same word.
func change(tree tare.Tree, line string) tare.Tree {
	word, _, _ := strings.Cut(line, " ")
	lines := strings.Split(source(tree), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, word+" ") {
			lines[i] = line
		}
	}
	return tree.Overlay(tare.Tree{{Path: "src/s", Mode: 0o644, Data: []byte(strings.Join(lines, "\n"))}})
}

// line is the line of tree's source that begins with word.
func line(tree tare.Tree, word string) string {
	for _, l := range strings.Split(source(tree), "\n") {
		if strings.HasPrefix(l, word+" ") {
			return l
		}
	}
	return ""
}

func (f *fake) Cross(_ context.Context, _ sandbox.Sandbox, text, behaviour tare.Tree, _ []string) (tare.Tree, error) {
	end, err := f.begin("cross:"+line(text, "text")+"/"+line(behaviour, "acts"), nil)
	defer end()
	if line(text, "acts") == line(behaviour, "acts") { // this world has no code apart from its text
		return behaviour, err
	}
	return change(text, line(behaviour, "acts")), err
}

func (f *fake) Rewrite(_ context.Context, _ sandbox.Sandbox, tree tare.Tree, _ []string) (tare.Tree, error) {
	end, err := f.begin("rewrite", nil)
	defer end()
	return change(tree, "text rewritten"), err
}

func (f *fake) Poison(_ context.Context, _ sandbox.Sandbox, tree, _ tare.Tree, _ []string) (tare.Tree, error) {
	end, err := f.begin("poison", nil)
	defer end()
	return change(tree, "acts up"), err
}

func (f *fake) Graft(_ context.Context, _ sandbox.Sandbox, tree, seed tare.Tree, _ []string) (tare.Tree, []string, error) {
	end, err := f.begin("graft", nil)
	defer end()
	if f.bare {
		return tree, nil, err
	}
	return change(change(tree, line(seed, "acts")), "text grafted"), []string{"src/s:s"}, err
}

// Make crosses, rewrites and poisons; with a salt it gives what is crossed and rewritten another text, and keeps what it does.
func (f *fake) Make(ctx context.Context, sb sandbox.Sandbox, src []string, of []check.Making) ([]check.Made, error) {
	f.mu.Lock()
	f.together = append(f.together, len(of))
	f.mu.Unlock()
	if f.apart && len(of) > 1 {
		return nil, errors.New("not all of them")
	}
	out := make([]check.Made, len(of))
	for i, m := range of {
		var err error
		out[i].Tree, err = f.make(ctx, sb, src, m)
		var not *check.NotTransformable
		if err != nil && !errors.As(err, &not) {
			return nil, err
		}
		out[i].Err = err
	}
	return out, nil
}

func (f *fake) make(ctx context.Context, sb sandbox.Sandbox, src []string, m check.Making) (tare.Tree, error) {
	switch m.Op {
	case check.OpCross:
		varied, err := f.vary(m.From[1], m.Salt)
		if err != nil {
			return nil, err
		}
		return f.Cross(ctx, sb, m.From[0], varied, src)
	case check.OpRewrite:
		return f.vary(m.From[0], m.Salt)
	default:
		return f.Poison(ctx, sb, m.From[0], m.From[1], src)
	}
}

func (f *fake) vary(tree tare.Tree, salt string) (tare.Tree, error) {
	end, err := f.begin("vary:"+line(tree, "text")+"/"+line(tree, "acts"), nil)
	defer end()
	if salt == "" {
		err = errors.New("no salt")
	}
	if line(tree, "text") == "text fix" {
		return change(tree, "text rewritten"), err
	}
	return change(tree, "text varied"), err
}

// Lend gives a tree the helper that fix has.
func (f *fake) Lend(_ context.Context, _ sandbox.Sandbox, tree, fix, _ tare.Tree, _ []string) (tare.Tree, []string, error) {
	end, err := f.begin("lend:"+line(tree, "text"), nil)
	defer end()
	if !strings.Contains(source(fix), "has helper") {
		return tree, nil, err
	}
	return change(tree, "has helper"), []string{"src/s:helper"}, err
}

// box is a sandbox in which nothing is run.
type box struct{ sandbox.Sandbox }

func (box) Isolation() string { return "none at all" }

func tree(files ...string) tare.Tree {
	var out tare.Tree
	for i := 0; i < len(files); i += 2 {
		out = append(out, tare.File{Path: files[i], Mode: 0o644, Data: []byte(files[i+1])})
	}
	t, err := tare.NewTree(out)
	if err != nil {
		panic(err)
	}
	return t
}

const (
	seedSource  = "text seed\nacts wrong\nhas none\nlast"
	fixedSource = "text fix\nacts right\nhas none\nlast"
)

func fakeTask() *tare.Task {
	return &tare.Task{
		ID: "fake/task", Kind: tare.Ticket, Hash: "sha256:task", Sources: []string{"src"},
		Seed:    tree("src/s", seedSource, "tests/t_old", "one vacuous\ntwo vacuous", "tests/data", "old", "tests/extra", "", "readme", "read me"),
		Visible: []string{"tests/t_old::one", "tests/t_old::two"},
		Cases:   []tare.Case{{ID: "c", Requirement: 1, Call: "s", Args: json.RawMessage(`[]`), Want: tare.Want{Exact: &tare.Value{Kind: tare.KindStr, Text: "right"}}}},
		References: []tare.Reference{
			{Name: "a", Fix: tree("src/s", "text a\nacts right\nhas none\nlast")}, {Name: "b", Fix: tree("src/s", "text b\nacts right\nhas none\nlast")},
		},
		Twins: []tare.Twin{
			{Name: "ta", Of: "a", Tree: tree("src/s", "text ta\nacts wrong\nhas none\nlast")}, {Name: "tb", Of: "b", Tree: tree("src/s", "text tb\nacts wrong\nhas none\nlast")},
		},
	}
}

// solved is the task's seed with the fix and more files on top.
func solved(files ...string) tare.Tree {
	return fakeTask().Seed.Overlay(tree("src/s", fixedSource)).Overlay(tree(files...))
}

func gather(f *fake, final tare.Tree, jobs int) (tare.Evidence, error) {
	return Gather(context.Background(), Request{Task: fakeTask(), Final: final, Sandbox: box{}, Runner: f, Jobs: jobs})
}

// worldsOf lists the runs as "role world", in order.
func worldsOf(ev tare.Evidence) string {
	var out []string
	for i, r := range ev.Runs {
		if want := fmt.Sprintf("e%d", i+1); r.ID != want {
			out = append(out, "run "+r.ID+" is no "+want)
		}
		s := string(r.World)
		if r.Role != tare.RoleRegression {
			s = string(r.Role) + "/" + s
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func clean(calls []string) []string {
	out := slices.Clone(calls)
	slices.Sort(out)
	return out
}
