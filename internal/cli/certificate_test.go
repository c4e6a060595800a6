package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare"
	"tare/internal/canary"
	"tare/internal/proof"
	"tare/internal/suite"
)

// soundCertificate is a certificate in which everything came out right, of a task and an adapter whose script is at script.
func soundCertificate(t *testing.T, a *app, task *tare.Task, m *suite.Canaries, script string) suiteCertificate {
	t.Helper()
	g, err := a.ground(suite.Summarize(task))
	if err != nil {
		t.Fatal(err)
	}
	table := proof.Table{Task: task.ID, TaskHash: task.Hash, Isolation: g.Isolation, Passes: 2, Controls: true, Whole: true}
	for _, c := range proof.Controls(task, nil) {
		e := c.Expect
		table.Rows = append(table.Rows, proof.Row{Control: c.Name, Origin: c.Origin, Expect: e, OK: true, Got: proof.Got{
			Outcome: e.Outcome, Reward: e.Reward, Gate: e.Gate, Requirement: e.Requirement, Reason: e.Reason,
		}})
	}
	made := time.Unix(1_800_000_000, 0).UTC()
	entry, err := proof.Certify(table, g, made)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tare.Canonical(table)
	if err != nil {
		t.Fatal(err)
	}
	var rows []canary.Row
	for _, task := range m.Tasks {
		for _, p := range task.Canary.Phrasings {
			rows = append(rows, canary.Row{Canary: shortID(task), Phrasing: p.Name, Trial: 1, Planted: task.Canary.Planted != "", Outcome: tare.Pass, Seconds: 0.5})
		}
	}
	sum, err := canary.Summarize(rows)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	return suiteCertificate{
		Schema: suiteCertificateSchema, NotCovered: notCovered(), Made: made,
		Tasks: []taskCertificate{{Certificate: entry.Bytes, Table: raw}},
		Harness: &harnessCertificate{
			Schema: harnessSchema, Adapter: "cmd:" + script + scriptMark + short(tare.HashBytes(text)), Files: adapterFiles("cmd:" + script), Grader: tare.GraderDigest(),
			Isolation: a.isolation(), Manifest: m.Name, Canaries: m.Hash, Suite: builtinDigest(), Run: "3f2a9c1b7d04", Summary: sum, Rows: rows, Made: made,
		},
	}
}

// certified is what a check needs.
type certified struct {
	a      *app
	m      *suite.Canaries
	known  []*tare.Task
	cert   suiteCertificate
	script string
}

// A certifying is what certificates are made with that cost much to make: the canaries, a task and the app that has read them.
type certifying struct {
	a     *app
	m     *suite.Canaries
	known []*tare.Task
}

func newCertifying(t *testing.T) certifying {
	t.Helper()
	a := &app{quiet: true, backend: "bwrap", stderr: os.Stderr}
	m, _, err := a.canaries(t.Context(), builtinCanaries)
	if err != nil {
		t.Fatal(err)
	}
	known, err := a.tasks([]string{"scenarios/scale_to_three"})
	if err != nil {
		t.Fatal(err)
	}
	return certifying{a, m, known}
}

// certified is a certificate in which everything came out right, of a script of its own.
func (c certifying) certified(t *testing.T) certified {
	t.Helper()
	script := filepath.Join(t.TempDir(), "run_agent.sh")
	for name, text := range map[string]string{script: "#!/bin/sh\n. ./kit.sh\n", filepath.Join(filepath.Dir(script), "kit.sh"): "true\n"} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return certified{c.a, c.m, c.known, soundCertificate(t, c.a, c.known[0], c.m, script), script}
}

// bytes is the certificate as it is written, sealed.
func (c certified) bytes(t *testing.T) []byte {
	t.Helper()
	var err error
	if c.cert.Seal, err = c.cert.seal(); err != nil {
		t.Fatal(err)
	}
	b, err := tare.Canonical(c.cert)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (c certified) examine(t *testing.T, b []byte) findings {
	t.Helper()
	f, err := c.a.examine(b, c.known, c.m)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// leaves calls each for every value in v that holds no other, with its place and what sets it.
func leaves(v any, at string, set func(any), each func(at string, was any, set func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			leaves(x, at+"."+k, func(n any) { v[k] = n }, each)
		}
	case []any:
		for i, x := range v {
			if i > 2 && len(v) > 5 { // of many rows, the first
				break
			}
			leaves(x, fmt.Sprintf("%s.%d", at, i), func(n any) { v[i] = n }, each)
		}
	default:
		each(strings.TrimPrefix(at, "."), v, set)
	}
}

func altered(v any) any {
	switch v := v.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return at.Add(time.Hour).Format(time.RFC3339)
		}
		switch {
		case v == "PASS":
			return "FAIL"
		case strings.HasPrefix(v, "sha256:"):
			return "sha256:" + strings.Repeat("0", 64)
		}
		return v + "x"
	case bool:
		return !v
	case float64:
		return v + 1
	}
	return "something"
}

// TestAlteredCertificate changes each field of a certificate, one at a time. As it lies, all of it is found. Where whoever changed it
// made the seal anew, what follows from something else or can be compared is still found; what nobody could know from the
// certificate alone is listed here.
func TestAlteredCertificate(t *testing.T) {
	c := newCertifying(t).certified(t)
	b := c.bytes(t)
	for _, f := range c.examine(t, b) {
		if f.Status != isOK {
			t.Fatalf("before: %s: %s", f.Status, f.What)
		}
	}
	var whole any
	if err := json.Unmarshal(b, &whole); err != nil {
		t.Fatal(err)
	}
	seen, silent := 0, []string{}
	leaves(whole, "", nil, func(at string, was any, set func(any)) {
		if at == "schema" { // another one is no certificate of this form
			return
		}
		seen++
		set(altered(was))
		text, err := tare.Canonical(whole)
		set(was)
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.a.examine(text, c.known, c.m)
		if err != nil {
			return // it is none any more, which is named
		}
		if !f.any(isWrong) {
			t.Errorf("%s was changed, and nothing is wrong", at)
		}
		var again suiteCertificate
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if at == "seal" {
			return
		}
		again.Seal, err = again.seal()
		if err != nil {
			t.Fatal(err)
		}
		resealed, err := tare.Canonical(again)
		if err != nil {
			t.Fatal(err)
		}
		if f := c.examine(t, resealed); !f.any(isWrong) && !f.any(isStale) {
			silent = append(silent, at)
		}
	})
	slices.Sort(silent)
	want := []string{"harness.made", "harness.run", "made", "tasks.0.certificate.made"}
	if !slices.Equal(silent, want) {
		t.Errorf("changed and sealed anew, these are not found:\n%q, want\n%q", silent, want)
	}
	if seen < 100 {
		t.Errorf("%d fields were changed", seen)
	}
}

// TestStaleCertificate holds a certificate against something else than what it was made of: each is named, and is not called wrong.
func TestStaleCertificate(t *testing.T) {
	other := tare.HashBytes([]byte("another"))
	with := newCertifying(t)
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, c *certified)
		status string
		want   string
	}{
		{"another binary judged the controls", func(t *testing.T, c *certified) { c.certificate(t, func(p *proof.Certificate) { p.Grader = other }) }, isStale, "not what is here: grader"},
		{"another binary judged the canaries", func(_ *testing.T, c *certified) { c.cert.Harness.Grader = other }, isStale, "harness: not what is here: the grader"},
		{"other tools", func(t *testing.T, c *certified) {
			c.certificate(t, func(p *proof.Certificate) { p.Tools = "python 9" })
		}, isStale, "not what is here: tools"},
		{"another isolation", func(_ *testing.T, c *certified) { c.cert.Harness.Isolation = "process" }, isStale, "harness: not what is here: the isolation"},
		{"another suite of canaries", func(_ *testing.T, c *certified) { c.cert.Harness.Canaries, c.cert.Harness.Suite = other, other }, isStale, "the built-in canaries"},
		{"canaries of one's own", func(_ *testing.T, c *certified) { c.cert.Harness.Manifest = "easy" }, isStale, "the canaries are those of this binary"},
		{"a task that is not here", func(_ *testing.T, c *certified) { c.known = nil }, isStale, "there is no such task here"},
		{"a task that changed", func(_ *testing.T, c *certified) {
			now := *c.known[0]
			now.Hash = other
			c.known = []*tare.Task{&now}
		}, isStale, "not what is here: task hash"},
		{"another script", func(t *testing.T, c *certified) { rewrite(t, c.script, "#!/bin/sh\nexit 0\n") }, isStale, "its script is the one that is here"},
		{"something else beside the script", func(t *testing.T, c *certified) {
			rewrite(t, filepath.Join(filepath.Dir(c.script), "kit.sh"), "false\n")
		}, isStale, "what lies beside the script"},
		{"the script is not here", func(t *testing.T, c *certified) {
			if err := os.Remove(c.script); err != nil {
				t.Fatal(err)
			}
		}, isOK, "its script is not here, so its hash"},
		{"a table that is not in it", func(_ *testing.T, c *certified) { c.cert.Tasks[0].Table = nil }, isStale, "the table of its proof is not in here"},
		{"a canary that was left out", func(t *testing.T, c *certified) { c.rows(t, func(r []canary.Row) []canary.Row { return r[2:] }) }, isWrong, "every canary was played"},
		{"a canary that was missed", func(t *testing.T, c *certified) {
			c.rows(t, func(r []canary.Row) []canary.Row { r[0].Outcome = tare.Fail; return r })
		}, isWrong, "it passes its canaries: CS 47 of 48"},
		{"a control that was left out", func(t *testing.T, c *certified) { c.table(t, func(p *proof.Table) { p.Rows = p.Rows[1:] }) }, isWrong, "there is no row of control"},
		{"a control that came out wrong", func(t *testing.T, c *certified) {
			c.table(t, func(p *proof.Table) { p.Rows[0].OK, p.Rows[0].Wrong = false, "another outcome" })
		}, isWrong, "a control came out otherwise"},
		{"a control that came out wrong and is called right", func(t *testing.T, c *certified) {
			c.table(t, func(p *proof.Table) { p.Rows[0].Got.Outcome = tare.Unverified })
		}, isWrong, "is called right and is not"},
		{"a control of which less was expected", func(t *testing.T, c *certified) {
			c.table(t, func(p *proof.Table) {
				p.Rows[0].Expect, p.Rows[0].Got = tare.Expect{Outcome: tare.Unverified}, proof.Got{Outcome: tare.Unverified}
			})
		}, isWrong, "expects something else"},
		{"no tasks", func(_ *testing.T, c *certified) { c.cert.Tasks = nil }, isWrong, "it certifies 0 tasks"},
		{"no harness", func(_ *testing.T, c *certified) { c.cert.Harness = nil }, isWrong, "it certifies a harness"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := with.certified(t)
			tt.change(t, &c)
			f := c.examine(t, c.bytes(t))
			if !slices.ContainsFunc(f, func(x finding) bool { return x.Status == tt.status && strings.Contains(x.What, tt.want) }) {
				t.Errorf("want %s: %s\n%+v", tt.status, tt.want, f)
			}
			if tt.status != isWrong && f.any(isWrong) {
				t.Errorf("it is not wrong, only of something else: %+v", f)
			}
		})
	}
}

func rewrite(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// certificate changes the certificate of the task.
func (c *certified) certificate(t *testing.T, change func(*proof.Certificate)) {
	t.Helper()
	var p proof.Certificate
	if err := json.Unmarshal(c.cert.Tasks[0].Certificate, &p); err != nil {
		t.Fatal(err)
	}
	change(&p)
	var err error
	if c.cert.Tasks[0].Certificate, err = tare.Canonical(p); err != nil {
		t.Fatal(err)
	}
}

// table changes the table of the task, and the certificate with it.
func (c *certified) table(t *testing.T, change func(*proof.Table)) {
	t.Helper()
	var p proof.Table
	if err := json.Unmarshal(c.cert.Tasks[0].Table, &p); err != nil {
		t.Fatal(err)
	}
	change(&p)
	g, err := c.a.ground(suite.Summarize(c.known[0]))
	if err != nil {
		t.Fatal(err)
	}
	entry, err := proof.Certify(p, g, c.cert.Made)
	if err != nil {
		t.Fatal(err)
	}
	c.cert.Tasks[0].Certificate = entry.Bytes
	if c.cert.Tasks[0].Table, err = tare.Canonical(p); err != nil {
		t.Fatal(err)
	}
}

// rows changes the verdicts on the canaries, and the summary with them.
func (c *certified) rows(t *testing.T, change func([]canary.Row) []canary.Row) {
	t.Helper()
	h := c.cert.Harness
	h.Rows = change(h.Rows)
	var err error
	if h.Summary, err = canary.Summarize(h.Rows); err != nil {
		t.Fatal(err)
	}
}
