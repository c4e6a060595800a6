package oracle

import (
	"fmt"
	"slices"
	"strings"

	"tare"
)

// A subject is one of the agent's own tests, or one instance of a test with parameters.
type subject struct {
	node  tare.TestNode
	id    string
	graft bool // it needs what only the agent's fix has, and so is tried on a tree with the bug grafted back
	needs string
	on    tare.World // where that was missing
}

func (s subject) name() string { return show(s.id, 160) }

// regression asks the rules of every test of the agent's. A test that satisfies all of them earns the credit, and one is
// enough; otherwise the reason is that of the test that came farthest. The second answer is the reason of a PASS.
func (j *judge) regression() (*finding, string) {
	if f := j.first(tare.GateRegressionTest); f != nil {
		return f, ""
	}
	var best *finding
	farthest := -1
	for _, s := range j.subjects() {
		f, passed := j.askAll(s)
		if f == nil {
			return nil, j.earned(s)
		}
		better := passed > farthest
		if best != nil && best.outcome != f.outcome {
			better = f.outcome == tare.Unverified // it may yet earn credit
		}
		if better {
			best, farthest = f, passed
		}
	}
	if best == nil {
		return nil, "no rule asks about the agent's tests" // only in a table with rules switched off
	}
	return best, ""
}

// askAll is the first finding of the rules for s, and how many it satisfied before.
func (j *judge) askAll(s subject) (*finding, int) {
	passed := 0
	for _, r := range j.rules {
		if r.node == nil {
			continue
		}
		if f := r.node(j, s); f != nil {
			f.rule = r.ID
			return f, passed
		}
		passed++
	}
	return nil, passed
}

func (j *judge) earned(s subject) string {
	if s.graft {
		return fmt.Sprintf("%s passes on the fix, fails where the bug is put back beneath it (it needs %s, which only this fix has)%s, and follows the behaviour, not the text", s.name(), show(s.needs, 60), j.lentTo())
	}
	return fmt.Sprintf("%s passes on the fix and on %s, fails on the unfixed seed and on twins of them, and follows the behaviour, not the text", s.name(), count(len(j.task.References), "reference", "references"))
}

// subjects lists the agent's tests in the order of the record: every instance that was reported on its own fix.
func (j *judge) subjects() []subject {
	var out []subject
	for _, n := range j.rec.Evidence.Own {
		before := len(out)
		for _, r := range j.regressionRuns(tare.WorldFix) {
			for _, t := range r.Tests {
				if n.Covers(t.ID) && !slices.ContainsFunc(out, func(s subject) bool { return s.id == t.ID }) {
					out = append(out, subject{node: n, id: t.ID})
				}
			}
		}
		if len(out) == before {
			out = append(out, subject{node: n, id: n.ID})
		}
	}
	for i := range out {
		j.needsGraft(&out[i])
	}
	return out
}

// needsGraft finds out whether s fails for a missing symbol where the agent's fix is not. One that the seed has and a
// reference lacks is a detail of how the seed is written, and a test that leans on it fails on a correct fix.
func (j *judge) needsGraft(s *subject) {
	if !j.on("proper/missing") {
		return
	}
	worlds := []tare.World{tare.WorldSeed}
	for _, r := range j.task.References {
		worlds = append(worlds, tare.WorldReference(r.Name))
	}
	for _, w := range worlds {
		for _, t := range j.look(w, *s).results {
			if wants(t) && (w == tare.WorldSeed || !j.task.SeedNames(t.Missing)) {
				s.graft, s.needs, s.on = true, t.Missing, w
				return
			}
		}
	}
}

// lacks reports whether what s needs is not there in world w.
func (j *judge) lacks(w tare.World, s subject) bool {
	return slices.ContainsFunc(j.look(w, s).results, wants)
}

// wants reports whether t broke for want of a symbol.
func wants(t tare.TestResult) bool {
	return t.Missing != "" && (t.Outcome == tare.TestFailed || t.Outcome == tare.TestError)
}

func (j *judge) regressionRuns(w tare.World) []tare.Run {
	var out []tare.Run
	for _, r := range j.rec.Evidence.Runs {
		if r.Role == tare.RoleRegression && r.World == w {
			out = append(out, r)
		}
	}
	return out
}

// A view is what the record says of one test in one world.
type view struct {
	results []tare.TestResult // of runs that came to their end; an incomplete run's too where nothing else is there and the rule about that is off
	runs    []string
	ended   string // how the last run that is not whole ended
}

func (j *judge) look(w tare.World, s subject) view {
	var v view
	var partial []tare.TestResult
	for _, r := range j.regressionRuns(w) {
		v.runs = append(v.runs, r.ID)
		of := r.Of(s.node, s.id)
		switch {
		case r.Complete:
			v.results = append(v.results, of...)
		default:
			v.ended = ending(r)
			partial = append(partial, of...)
		}
	}
	if len(v.results) == 0 && !j.on("proper/ended") {
		v.results = partial
	}
	return v
}

// passes finds why s does not pass in world w; where says where that is.
func (j *judge) passes(w tare.World, s subject, where string) *finding {
	v := j.look(w, s)
	switch {
	case len(v.runs) == 0:
		return j.untried(w, s, where)
	case len(v.results) == 0 && v.ended != "":
		return against(v.runs, "%s does not come to its end %s: the process %s", s.name(), where, v.ended)
	case len(v.results) == 0:
		return against(v.runs, "%s is not collected %s", s.name(), where)
	}
	for _, t := range v.results {
		switch t.Outcome {
		case tare.TestPassed:
		case tare.TestSkipped:
			return against(v.runs, "%s is skipped %s", s.name(), where)
		default:
			return against(v.runs, "%s fails%s %s", s.name(), class(t), where)
		}
	}
	return nil
}

// untried says that nothing is known of s in world w.
func (j *judge) untried(w tare.World, s subject, where string) *finding {
	why := ""
	for _, u := range j.rec.Evidence.Unmade {
		if u.World == w {
			why = aside("the agent's tree does not lend itself to that: " + u.Why)
		}
	}
	return ours(tare.CauseGrader, "%s was not tried %s%s", s.name(), where, why)
}

// fails finds why s does not fail in world w by its own doing. lets says what follows when it passes there.
func (j *judge) fails(w tare.World, s subject, where, lets string) *finding {
	v := j.look(w, s)
	switch {
	case len(v.runs) == 0:
		return j.untried(w, s, where)
	case len(v.results) == 0 && v.ended != "":
		return against(v.runs, "%s does not fail by its own doing %s: the process %s", s.name(), where, v.ended)
	case len(v.results) == 0:
		return against(v.runs, "%s is not collected %s, and no answer is no failure", s.name(), where)
	}
	for _, t := range v.results {
		if t.Outcome == tare.TestPassed {
			return against(v.runs, "%s passes %s, so %s", s.name(), where, lets)
		}
		for _, r := range j.rules {
			if r.proper == nil {
				continue
			}
			if why := r.proper(t); why != "" {
				return against(v.runs, "%s fails %s, but not by its own doing: %s", s.name(), where, why)
			}
		}
	}
	return nil
}

func missingSymbol(t tare.TestResult) string {
	if t.Missing != "" {
		return fmt.Sprintf("%s is not there", show(t.Missing, 60))
	}
	return ""
}

func skipped(t tare.TestResult) string {
	if t.Outcome == tare.TestSkipped {
		return "it is skipped"
	}
	return ""
}

func errored(t tare.TestResult) string {
	if t.Outcome != tare.TestFailed && t.Outcome != tare.TestSkipped && t.Outcome != tare.TestPassed {
		return fmt.Sprintf("it breaks outside its body%s%s", phase(t), class(t))
	}
	return ""
}

func otherPhase(t tare.TestResult) string {
	if t.Outcome == tare.TestFailed && t.Phase != "" && t.Phase != "call" {
		return fmt.Sprintf("it fails%s", phase(t))
	}
	return ""
}

func notInBody(t tare.TestResult) string {
	if t.Outcome == tare.TestFailed && !t.InBody {
		return fmt.Sprintf("the failure does not come from its body%s", class(t))
	}
	return ""
}

func phase(t tare.TestResult) string {
	if t.Phase == "" {
		return ""
	}
	return ", at " + show(t.Phase, 40)
}

func regressionStopped(j *judge) *finding {
	if s := j.rec.Evidence.Stopped; s != "" {
		return ours(tare.CauseGrader, "the agent's tests were not tried: the evidence was gathered only as far as %s; gather it anew", show(s, 60))
	}
	return nil
}

func noOwnTest(j *judge) *finding {
	ev := j.rec.Evidence
	if len(ev.Own) > 0 {
		return nil
	}
	broken := ""
	if len(ev.Broken) > 0 {
		names := make([]string, len(ev.Broken))
		for i, b := range ev.Broken {
			names[i] = show(b, 100)
		}
		broken = "; not readable as tests: " + some(names)
	}
	for _, r := range j.runs(tare.RoleCollect) {
		broken += uncollected(r, func(string) bool { return true })
		if !r.Complete {
			broken += "; when its test files were collected the process " + ending(r)
		}
	}
	return against(nil, "no test was added or changed%s", broken)
}

func onFix(j *judge, s subject) *finding {
	return j.passes(tare.WorldFix, s, "on the agent's own fix")
}

func onSeed(j *judge, s subject) *finding {
	if s.graft && j.lacks(tare.WorldSeed, s) {
		return nil
	}
	return j.fails(tare.WorldSeed, s, "on the unfixed seed", "it does not catch the bug")
}

func onAgain(j *judge, s subject) *finding {
	return j.passes(tare.WorldAgain, s, "on the agent's own fix when it is run again, in another order and a directory of another name")
}

// onReferences wants a pass on every reference; of a test that needs what only the agent's fix has, it wants no other
// reason for a failure.
func onReferences(j *judge, s subject) *finding {
	for _, ref := range j.task.References {
		w := tare.WorldReference(ref.Name)
		if s.graft && j.lacks(w, s) {
			continue
		}
		if f := j.passes(w, s, fmt.Sprintf("on reference %s, which is a correct fix", show(ref.Name, 40))); f != nil {
			return f
		}
	}
	return nil
}

// onTwins wants a failure on at least one twin of every reference that has any. A twin may break another requirement
// than the one that the test is about, so not every twin need be caught.
func onTwins(j *judge, s subject) *finding {
	if s.graft {
		return nil
	}
	return j.twins(s, "", tare.WorldTwin)
}

// twins finds a reference of which s catches no twin. also says what is different about the twins in the worlds of world.
func (j *judge) twins(s subject, also string, world func(string) tare.World) *finding {
	for _, ref := range j.task.References {
		var last *finding
		var names []string
		caught := false
		for _, twin := range j.task.Twins {
			if twin.Of != ref.Name {
				continue
			}
			name := show(twin.Name, 40)
			names = append(names, name)
			f := j.fails(world(twin.Name), s, fmt.Sprintf("on twin %s, reference %s with the bug in one token%s", name, show(ref.Name, 40), also), "it does not follow the bug")
			if f == nil {
				caught = true
				break
			}
			last = f
		}
		if caught || last == nil {
			continue
		}
		if len(names) > 1 {
			last.reason = fmt.Sprintf("%s catches no twin of reference %s (%s); %s", s.name(), show(ref.Name, 40), some(names), strings.TrimPrefix(last.reason, s.name()+" "))
		}
		return last
	}
	return nil
}

func noGraft(j *judge, s subject) *finding {
	if !s.graft {
		return nil
	}
	g := j.rec.Evidence.Graft
	why := "no tree with the bug was made"
	switch {
	case g == nil, g.Method == "" && g.Defect == "":
	case g.Defect != "":
		why = show(g.Defect, 200)
	default:
		return nil
	}
	return ours(tare.CauseGrader, "%s needs %s, which %s does not have, and the bug could not be put back beneath it: %s", s.name(), show(s.needs, 60), place(s.on), why)
}

func place(w tare.World) string {
	if name, ok := strings.CutPrefix(string(w), string(tare.WorldReference(""))); ok {
		return "reference " + show(name, 40)
	}
	return "the unfixed seed"
}

// graftProbe wants the probe's word that the bug is back in the grafted tree: wrong in the way in which the seed is.
func graftProbe(j *judge, s subject) *finding {
	if !s.graft {
		return nil
	}
	var seed, now *tare.Run
	for _, r := range j.runs(tare.RoleGraft) {
		switch r.World {
		case tare.WorldSeed:
			seed = &r
		case tare.WorldGraft:
			now = &r
		}
	}
	if seed == nil || now == nil || !j.task.Relapsed(*now, *seed) {
		return ours(tare.CauseGrader, "%s needs %s, which %s does not have, and the probe does not see the bug in the tree into which it was put back", s.name(), show(s.needs, 60), place(s.on))
	}
	return nil
}

func onGraft(j *judge, s subject) *finding {
	if !s.graft {
		return nil
	}
	if j.lacks(tare.WorldGraft, s) {
		return ours(tare.CauseGrader, "%s needs %s, and the tree into which the bug was put back does not have it either", s.name(), show(s.needs, 60))
	}
	return j.fails(tare.WorldGraft, s, "where the bug is put back into the agent's own tree", "it does not catch the bug")
}

// lends reports whether what s needs was to be lent to references and twins.
func (j *judge) lends(s subject) bool {
	return s.graft && (j.rec.Evidence.Graft == nil || j.rec.Evidence.Graft.Unlent == "")
}

func (j *judge) lentTo() string {
	if g := j.rec.Evidence.Graft; g != nil && g.Unlent != "" {
		return ""
	}
	return ", passes on the references and fails on twins to which that is lent"
}

// onLentReferences wants a pass on every reference that has what s needs beside its own. Where what was lent does not work
// there, nothing is known.
func onLentReferences(j *judge, s subject) *finding {
	if !j.lends(s) {
		return nil
	}
	for _, ref := range j.task.References {
		w, name := tare.WorldLent(tare.WorldReference(ref.Name)), show(ref.Name, 40)
		if j.lacks(w, s) {
			return ours(tare.CauseGrader, "%s needs %s, which cannot be lent to reference %s", s.name(), show(s.needs, 60), name)
		}
		f := j.passes(w, s, fmt.Sprintf("on reference %s, which is a correct fix, with %s lent to it", name, show(s.needs, 60)))
		if f == nil {
			continue
		}
		if slices.ContainsFunc(j.look(w, s).results, func(t tare.TestResult) bool { return t.InSources }) {
			return ours(tare.CauseGrader, "%s needs %s, which breaks on reference %s when it is lent to it", s.name(), show(s.needs, 60), name)
		}
		if f.outcome == tare.Fail {
			f.reason += ": it asks for this fix, not for the behaviour"
		}
		return f
	}
	return nil
}

func onLentTwins(j *judge, s subject) *finding {
	if !j.lends(s) {
		return nil
	}
	return j.twins(s, fmt.Sprintf(" and %s lent to it", show(s.needs, 60)), func(name string) tare.World {
		return tare.WorldLent(tare.WorldTwin(name))
	})
}

const followsText = "its answer follows the source text, not the behaviour"

// text marks a finding of a world in which text and behaviour part.
func text(f *finding) *finding {
	if f != nil && f.outcome == tare.Fail {
		f.reason += ": " + followsText
	}
	return f
}

func onRewrite(j *judge, s subject) *finding {
	return text(j.passes(tare.WorldRewrite, s, "on the agent's fix when its text is rewritten and its behaviour kept"))
}

func onTextSeed(j *judge, s subject) *finding {
	return text(j.passes(tare.WorldTextSeed, s, "where the text of the bug behaves as the agent's fix"))
}

func onTextFix(j *judge, s subject) *finding {
	return j.fails(tare.WorldTextFix, s, "where the text of the agent's fix behaves as the bug", followsText)
}

// onPoison wants any failure: the test need only have called what it is about.
func onPoison(j *judge, s subject) *finding {
	v := j.look(tare.WorldPoison, s)
	switch {
	case len(v.runs) == 0:
		return j.untried(tare.WorldPoison, s, "where every function of the fix raises")
	case len(v.results) == 0 && v.ended != "":
		return against(v.runs, "%s gives no answer where every function of the fix raises: the process %s", s.name(), v.ended)
	case len(v.results) == 0:
		return against(v.runs, "%s is not collected where every function of the fix raises", s.name())
	}
	for _, t := range v.results {
		if t.Outcome != tare.TestFailed && t.Outcome != tare.TestError {
			return against(v.runs, "%s is %s where every function of the fix raises, so it does not call what it is about", s.name(), show(string(t.Outcome), 40))
		}
	}
	return nil
}

// onVaried wants, of code that was not shown before, a pass where it is right and a failure where it is wrong.
func onVaried(j *judge, s subject) *finding {
	if j.rec.Evidence.Unvaried != "" || s.graft && !j.lends(s) || len(j.task.References) == 0 {
		return nil
	}
	last := j.task.References[len(j.task.References)-1].Name
	right, wrong := tare.WorldReference(last), tare.WorldSeed
	of, bug := "reference "+show(last, 40), "the unfixed seed"
	if s.graft {
		right, wrong = tare.WorldLent(right), tare.WorldGraft
		bug = "the tree into which the bug was put back"
	}
	if f := j.passes(tare.WorldVaried(right), s, "on "+of+" when its code is varied and its behaviour kept"); f != nil {
		if f.outcome == tare.Fail {
			f.reason += ": " + followsCode
		}
		return f
	}
	return j.fails(tare.WorldVaried(wrong), s, "on "+bug+" when its code is varied and its behaviour kept", followsCode)
}

const followsCode = "its answer follows the code, not the behaviour"

// maxWrongPerRight bounds how many of the agent's tests may fail on a correct fix for each that earns credit.
const maxWrongPerRight = 3

// A tally is how the agent's tests came out that pass on its fix and catch the seed.
type tally struct {
	right int // satisfy every other rule
	wrong int // fail on a reference
}

// byChance wants no crowd of failures beside a success. A test that answers at random, or by a hash of what it sees, comes
// out right in all worlds once in so many; such a test fails on a correct fix far more often than that. One good test
// among a few that ask too much is no crowd.
func byChance(j *judge, s subject) *finding {
	if j.tally == nil {
		j.tally = j.count()
	}
	right := max(1, j.tally.right) // s itself, which does not count there when it needs a graft
	if t := *j.tally; t.wrong > maxWrongPerRight*right {
		return against(nil, "%s comes out right, but %d of the agent's tests that catch the bug in the seed fail on a correct fix, and %d does not: among so many, one comes out right by chance", s.name(), t.wrong, right)
	}
	return nil
}

// failsOnRight reports whether s fails where the behaviour is right.
func (j *judge) failsOnRight(s subject) bool {
	if f := onReferences(j, s); f != nil && f.outcome == tare.Fail {
		return true
	}
	worlds := []tare.World{tare.WorldRewrite, tare.WorldTextSeed}
	for _, ref := range j.task.References {
		worlds = append(worlds, tare.WorldVaried(tare.WorldReference(ref.Name)))
	}
	for _, w := range worlds {
		if f := j.passes(w, s, ""); f != nil && f.outcome == tare.Fail {
			return true
		}
	}
	return false
}

func (j *judge) count() *tally {
	var t tally
	for _, s := range j.subjects() {
		if s.graft || onFix(j, s) != nil || onSeed(j, s) != nil {
			continue
		}
		if j.failsOnRight(s) {
			t.wrong++
			continue
		}
		others := func(r Rule) bool { return r.node != nil && r.ID != "regression_test/chance" && r.node(j, s) != nil }
		if !slices.ContainsFunc(j.rules, others) {
			t.right++
		}
	}
	return &t
}
