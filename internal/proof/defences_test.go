package proof_test

import (
	"context"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tare"
	"tare/internal/check"
	"tare/internal/evidence"
	"tare/internal/oracle"
	"tare/internal/proof"
	"tare/internal/sandbox"
	"tare/internal/suite"
	"tare/internal/workspace"
	"tare/suites"
)

// shownBy names, for each defence of the grader, one row of a proof that cannot come out as it must without it.
var shownBy = map[string]string{
	"infrastructure/record":          "sick:record-of-another-form",
	"infrastructure/task":            "sick:record-of-another-task",
	"infrastructure/empty-task":      "sick:task-that-asks-nothing",
	"infrastructure/stop":            "sick:model-service-failed",
	"infrastructure/broken-off":      "sick:record-broken-off",
	"infrastructure/problems":        "sick:rig-failed",
	"infrastructure/isolation":       "sick:no-isolation-stated",
	"infrastructure/runs":            "sick:run-without-a-name",
	"infrastructure/visible-run":     "sick:no-visible-run",
	"infrastructure/behaviour-run":   "sick:no-behaviour-run",
	"infrastructure/steering-run":    "sick:no-steering-run",
	"infrastructure/changes":         "sick:no-changes",
	"infrastructure/sentinels":       "sick:no-sentinels",
	"integrity/sentinel":             "conftest@reference",
	"integrity/sentinel-gone":        "sick:sentinel-left-out",
	"integrity/presence":             "conftest-by-name@seed",
	"visible_tests/incomplete":       "exit-at-import@seed",
	"visible_tests/none":             "sick:report-of-nothing",
	"visible_tests/missing":          "sick:report-lacks-a-test",
	"visible_tests/twice":            "sick:report-twice",
	"visible_tests/error":            "sick:report-of-an-error",
	"visible_tests/failed":           "report-wrapped-knowingly@seed",
	"visible_tests/skipped":          "skip-in-calls@seed",
	"visible_tests/unknown":          "sick:report-of-no-outcome",
	"behaviour/incomplete":           "exit-in-the-probe@reference",
	"behaviour/wrong":                "calls-swallowed@seed",
	"regression_test/stopped":        "sick:evidence-stopped-early",
	"regression_test/none":           "no-test-function@reference",
	"regression_test/fix":            "always-failing-test@reference",
	"regression_test/seed":           "vacuous-test@reference",
	"regression_test/again":          "directory-name@tested",
	"regression_test/reference":      "text-of-the-fix@reference",
	"regression_test/twin":           "hash-of-the-bug@reference",
	"regression_test/no-graft":       "sick:no-graft",
	"regression_test/graft-probe":    "sick:graft-not-confirmed",
	"regression_test/graft":          "marker-symbol@reference",
	"regression_test/rewrite":        "only-known-text@tested",
	"regression_test/text-seed":      "genuine-but-by-text@tested",
	"regression_test/text-fix":       "excused-by-text@tested",
	"regression_test/poison":         "swallows-errors@tested",
	"regression_test/lent-reference": "marker-helper@seed",
	"regression_test/lent-twin":      "sick:lent-twin-passes",
	"regression_test/varied":         "sick:varied-code-fails",
	"regression_test/chance":         "crowd-of-guesses@tested",
	"proper/missing":                 "marker-symbol@reference",
	"proper/skipped":                 "skips-on-the-bug@reference",
	"proper/error":                   "fails-in-set-up@reference",
	"proper/phase":                   "sick:failure-after-the-test",
	"proper/body":                    "raises-elsewhere@reference",
	"proper/ended":                   "exits-on-the-bug@reference",
	"verdict/unfinished":             "sick:stopped-before-it-was-done",

	"check/nonce":         "forged-report@seed",
	"check/end-mark":      "exit-by-pytest@seed",
	"check/sentinels":     "conftest-spares-known-tests@reference",
	"check/twin":          "report-wrapped@seed",
	"check/raised":        "report-wrapped-knowingly@seed",
	"check/one-speaker":   "fork-goes-on@seed",
	"check/exact-values":  "look-alike-values@reference",
	"check/conftest":      "conftest-by-name@seed",
	"check/configuration": "collect-only@seed",
	"check/start-up":      "sitecustomize@seed",
	"check/compiled":      "compiled-module@seed",
	"check/binaries":      "binary-module@seed",
	"check/plug-ins":      "plugin-by-entry-point@seed",
	"check/shadows":       "shadow-pytest@seed",

	"evidence/pristine-tests": "visible-tests-weakened@seed",
	"evidence/hooks-out":      "conftest-by-name@seed",
}

// elsewhere names the rows that do not fit the ticket on which the others are played.
var elsewhere = map[string]string{"look-alike-values@reference": "pricing_discount_rounding"}

// inGo is the ticket on which rows of adversaries in Go are played.
const inGo = "quota_lost_updates"

// shownInGo names, for defences that the runner for Go has or leans on as well, the row in Go that shows it there.
var shownInGo = map[string]string{
	"check/nonce":              "go-forged-report@seed",
	"check/end-mark":           "go-init-exit@seed",
	"visible_tests/incomplete": "go-init-exit@seed",
	"behaviour/incomplete":     "go-exit-in-the-probe@reference",
	"evidence/pristine-tests":  "go-build-tag@seed",
	"evidence/hooks-out":       "go-mod-replace@seed",
	"integrity/presence":       "go-build-tag@seed",
	"proper/skipped":           "go-skips-on-the-bug@reference",
	"regression_test/fix":      "go-build-tag-own@reference",
}

// A bench plays single rows of a proof.
type bench struct {
	sb    sandbox.Sandbox
	tasks map[string]*tare.Task // by the name of the folder
	rows  map[string]tare.Control
	plays map[string]suite.Play

	mu      sync.Mutex
	records map[string]tare.Record // by row, with all defences in force
}

func newBench(t *testing.T) *bench {
	t.Helper()
	sb, err := sandbox.Open(t.Context(), sandbox.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
	})
	all, err := suite.Adversaries(suites.Adversaries(), "adversaries")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{sb: sb, tasks: map[string]*tare.Task{}, rows: map[string]tare.Control{}, plays: map[string]suite.Play{}, records: map[string]tare.Record{}}
	for _, dir := range []string{"tickets/bugfix_inventory", "tickets/pricing_discount_rounding", "tickets-go/" + inGo} {
		name := filepath.Base(dir)
		task, err := suite.LoadTask(filepath.Join("..", "..", "suites", dir))
		if err != nil {
			t.Fatal(err)
		}
		b.tasks[name] = task
		for _, c := range proof.Controls(task, all) {
			if b.task(c.Name) == task {
				b.rows[c.Name] = c
				b.plays[c.Name], _ = proof.Cheater(c.Name, task, all)
			}
		}
	}
	return b
}

// task is the ticket on which a row is played.
func (b *bench) task(row string) *tare.Task {
	if name, ok := elsewhere[row]; ok {
		return b.tasks[name]
	}
	if strings.HasPrefix(row, "go-") {
		return b.tasks[inGo]
	}
	return b.tasks["bugfix_inventory"]
}

// solution is the workspace of a row when whoever made it has stopped.
func (b *bench) solution(t *testing.T, row string) tare.Tree {
	c := b.rows[row]
	if c.Agent == "" || c.Agent == "noop" {
		return c.Solution(b.task(row).Seed)
	}
	p := b.plays[row]
	dir := filepath.Join(t.TempDir(), "w")
	if err := workspace.Lay(dir, p.Solution, workspace.Owner{UID: -1, GID: -1}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-s")
	cmd.Dir, cmd.Stdin, cmd.Env = dir, strings.NewReader(p.Agent), []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the script of %s: %v\n%s", row, err, out)
	}
	tree, err := workspace.Read(dir, workspace.ReadLimits{Skip: []string{".git"}})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// play gathers the evidence on a row, with defences switched off.
func (b *bench) play(t *testing.T, row string, without tare.Without) tare.Record {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	task := b.task(row)
	var runner check.Runner = check.Pytest{Without: without}
	if task.Runner == "gotest" {
		runner = check.GoTest{Without: without}
	}
	ev, err := evidence.Gather(ctx, evidence.Request{
		Task: task, Final: b.solution(t, row), Sandbox: b.sb, Runner: runner, Jobs: 1, Without: without,
	})
	if err != nil {
		t.Fatal(err)
	}
	return tare.Record{
		Schema: tare.RecordSchema, TaskHash: task.Hash, Evidence: ev,
		Trajectory: tare.Trajectory{Episode: tare.Episode{Task: task.ID, TaskHash: task.Hash}, Stop: tare.EndTurn},
	}
}

// record is what comes of a row with all defences in force, played once.
func (b *bench) record(t *testing.T, row string) tare.Record {
	b.mu.Lock()
	rec, ok := b.records[row]
	b.mu.Unlock()
	if ok {
		return rec
	}
	rec = b.play(t, row, nil)
	b.mu.Lock()
	b.records[row] = rec
	b.mu.Unlock()
	return rec
}

// A judged is a row as it is judged: a solution, or a record that was spoilt.
type judged struct {
	task   *tare.Task
	expect tare.Expect
	record tare.Record
}

func (b *bench) row(t *testing.T, name string) judged {
	if !strings.HasPrefix(name, "sick:") {
		c, ok := b.rows[name]
		if !ok {
			t.Fatalf("there is no row %s", name)
		}
		return judged{b.task(name), c.Expect, b.record(t, name)}
	}
	records := map[string]tare.Record{}
	task := b.tasks["bugfix_inventory"]
	for _, of := range []string{"reference:a+test", "seed", "marker-symbol@reference", "helper-and-test"} {
		records[of] = b.record(t, of)
	}
	sick, err := proof.SickRecords(task, records)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sick {
		if s.Control.Name == name {
			return judged{s.Task, s.Control.Expect, s.Record}
		}
	}
	t.Fatalf("there is no row %s", name)
	return judged{}
}

// TestEveryDefenceCounts switches each defence off in turn, and demands that the row which shows what it is good for does not
// come out as it must any more. Rules of the oracle are left out of the judgement of a record; the others are switched off
// while the row is played.
func TestEveryDefenceCounts(t *testing.T) {
	b := newBench(t)
	rules := map[string]bool{}
	for _, d := range oracle.Defences() {
		rules[d.ID] = true
	}
	all := slices.Concat(oracle.Defences(), check.Defences(), evidence.Defences())
	seen := map[string]bool{}
	limit := make(chan struct{}, 2)
	t.Run("each", func(t *testing.T) {
		for _, d := range all {
			if d.ID == "" || d.Stops == "" || seen[d.ID] {
				t.Errorf("defence %+v says nothing, or is there twice", d)
			}
			seen[d.ID] = true
			row := shownBy[d.ID]
			if row == "" {
				t.Errorf("no row shows what defence %s is good for", d.ID)
				continue
			}
			t.Run(strings.ReplaceAll(d.ID, "/", "_"), func(t *testing.T) {
				t.Parallel()
				limit <- struct{}{}
				defer func() { <-limit }()
				b.mustCount(t, d.ID, row, rules[d.ID])
			})
		}
	})
	for id := range shownBy {
		if !seen[id] {
			t.Errorf("a row is said to show defence %s, which is gone", id)
		}
	}
}

// TestDefencesCountInGo does the same with rows in Go.
func TestDefencesCountInGo(t *testing.T) {
	b := newBench(t)
	rules, all := map[string]bool{}, map[string]bool{}
	for _, d := range slices.Concat(oracle.Defences(), check.Defences(), evidence.Defences()) {
		all[d.ID] = true
	}
	for _, d := range oracle.Defences() {
		rules[d.ID] = true
	}
	for id, row := range shownInGo {
		if !all[id] {
			t.Errorf("a row in Go is said to show defence %s, which there is not", id)
			continue
		}
		t.Run(strings.ReplaceAll(id, "/", "_"), func(t *testing.T) { b.mustCount(t, id, row, rules[id]) })
	}
}

// mustCount demands that row comes out as it must, and no more so without the defence called id. Where that is a rule of the
// oracle's it is left out of the judgement, else it is off while the row is played.
func (b *bench) mustCount(t *testing.T, id, row string, rule bool) {
	t.Helper()
	c := b.row(t, row)
	if v := oracle.Judge(c.task, c.record); proof.Misses(c.expect, v) != "" {
		t.Fatalf("%s with all defences in force: %s; %s by %s: %s", row, proof.Misses(c.expect, v), v.Outcome, v.RootGate, reason(v))
	}
	var v tare.Verdict
	if rule {
		rest := slices.DeleteFunc(oracle.Rules(), func(r oracle.Rule) bool { return r.ID == id })
		v = oracle.JudgeWith(rest, c.task, c.record)
	} else {
		v = oracle.Judge(c.task, b.play(t, row, tare.Without{id}))
	}
	why := proof.Misses(c.expect, v)
	if why == "" {
		t.Errorf("without it %s comes out as it must still: %s by %s: %s", row, v.Outcome, v.RootGate, reason(v))
	}
	t.Logf("%s without it: %s", row, why)
}

func reason(v tare.Verdict) string {
	g, _ := v.Gate(v.RootGate)
	return g.Reason
}

// TestAdversariesNameDefences keeps what the data says of its defences in step with the table of them.
func TestAdversariesNameDefences(t *testing.T) {
	all, err := suite.Adversaries(suites.Adversaries(), "adversaries")
	if err != nil {
		t.Fatal(err)
	}
	known, named := map[string]bool{}, map[string][]string{}
	for _, d := range slices.Concat(oracle.Defences(), check.Defences(), evidence.Defences()) {
		known[d.ID] = true
	}
	for _, a := range all {
		for _, d := range a.Defences {
			if !known[d] {
				t.Errorf("%s names defence %s, which there is not", a.Name, d)
			}
			named[a.Name] = append(named[a.Name], d)
		}
	}
	rows := maps.Clone(shownBy)
	for d, row := range shownInGo {
		rows[d+" "] = row // beside the one in Python
	}
	for d, row := range rows {
		d = strings.TrimSpace(d)
		name, _, isAdversary := strings.Cut(row, "@")
		if isAdversary && !slices.Contains(named[name], d) {
			t.Errorf("adversary %s shows what %s is good for, and does not name it", name, d)
		}
	}
}
