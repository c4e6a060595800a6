package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"tare"
	"tare/internal/canary"
	"tare/internal/proof"
	"tare/internal/run"
	"tare/internal/suite"
	"tare/internal/workspace"
)

// HarnessSchema is the schema of what canaries showed of a harness.
const harnessSchema = "tare.harness/1"

// A harnessCertificate says what canaries showed of one adapter, and what that speaks of.
type harnessCertificate struct {
	Schema    string         `json:"schema"`
	Adapter   string         `json:"adapter"` // its name with the beginning of its hash
	Grader    tare.Digest    `json:"grader"`  // of the sources that can change a verdict
	Isolation string         `json:"isolation"`
	Manifest  string         `json:"manifest"`
	Canaries  tare.Digest    `json:"canaries"` // fixtures, plants, phrasings, signals
	Run       string         `json:"run"`
	Summary   canary.Summary `json:"summary"`
	Rows      []canary.Row   `json:"rows"` // from which the summary follows
	Made      time.Time      `json:"made"`
}

// adapterKey is the part of an agent's name that is its own wherever its script lies.
func adapterKey(agent string) string {
	if strings.HasPrefix(agent, "cmd:") {
		if i := strings.LastIndex(agent, scriptMark); i >= 0 {
			return "cmd-" + agent[i+1:]
		}
	}
	return strings.NewReplacer(":", "-", "/", "-").Replace(agent)
}

// harnessProofs is where the certificates of harnesses lie among the proofs; no suite has such a name.
const harnessProofs = "@harness/"

func (a *app) certifyHarness(run string, m *suite.Canaries, ep tare.Episode, rows []canary.Row, s canary.Summary) error {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Reason = "" // what a harness said belongs to the records
	}
	entry, err := tare.NewEntry(harnessCertificate{
		Schema: harnessSchema, Adapter: ep.Agent, Grader: tare.GraderDigest(), Isolation: ep.Isolation, Manifest: m.Name, Canaries: m.Hash,
		Run: run, Summary: s, Rows: rows, Made: time.Now().UTC().Truncate(time.Second),
	})
	if err != nil {
		return err
	}
	if err := a.files().SaveProof(harnessProofs+adapterKey(ep.Agent), entry); err != nil {
		return fmt.Errorf("keeping what the canaries showed: %w", err)
	}
	return nil
}

// harnessOf is what canaries showed of an agent's adapter; nil when nothing is known of it.
func (a *app) harnessOf(agent string) *harnessCertificate {
	b, err := a.files().FindProof(harnessProofs + adapterKey(agent))
	if err != nil {
		return nil
	}
	var c harnessCertificate
	if json.Unmarshal(b, &c) != nil || c.Schema != harnessSchema {
		return nil
	}
	return &c
}

// current reports whether a certificate speaks of this grader and this isolation.
func (c *harnessCertificate) current(a *app) bool {
	return c != nil && c.Grader == tare.GraderDigest() && c.Isolation == a.isolation()
}

// ceiling is that of the scores of an agent's adapter; nil when no canaries of now say.
func (a *app) ceiling(agent string) *float64 {
	c := a.harnessOf(agent)
	if !c.current(a) {
		return nil
	}
	return &c.Summary.Ceiling
}

// requireProven refuses a plan of which a grader is not proven, or a command has not passed its canaries.
func (a *app) requireProven(plan run.Plan) error {
	var lacks []string
	seen := map[string]bool{}
	add := func(format string, args ...any) {
		if s := fmt.Sprintf(format, args...); !seen[s] {
			seen[s] = true
			lacks = append(lacks, s)
		}
	}
	for _, j := range plan.Jobs {
		if s := a.proofOf(j.Task).Status; s != tare.Proven {
			add("the grader of %s: %s (tare prove %s)", j.Task.ID, s, j.Task.ID)
		}
		agent := j.Episode.Agent
		if !strings.HasPrefix(agent, "cmd:") {
			continue
		}
		name := agent[:strings.LastIndex(agent, scriptMark)]
		switch c := a.harnessOf(agent); {
		case c == nil:
			add("the harness %s: no canaries were sent through it as it is now (tare canary %s --agent %s)", name, builtinCanaries, name)
		case !c.current(a):
			add("the harness %s: its canaries are stale (tare canary %s --agent %s)", name, builtinCanaries, name)
		case !c.Summary.Holds(canary.Passes):
			add("the harness %s: it does not pass its canaries (tare show %s)", name, c.Run)
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	return exit{exitUnverified, fmt.Errorf("proof is required and is not there; nothing was played:\n  %s", strings.Join(lacks, "\n  "))}
}

const suiteCertificateSchema = "tare.suite-certificate/1"

// A suiteCertificate says what was shown of graders and of a harness together.
type suiteCertificate struct {
	Schema     string             `json:"schema"`
	Tasks      []json.RawMessage  `json:"tasks"`   // certificates of tasks, each an entry of its own
	Harness    harnessCertificate `json:"harness"` // what canaries showed of the adapter
	NotCovered []string           `json:"not_covered"`
	Made       time.Time          `json:"made"`
}

// notCovered is what no certificate of this form says.
func notCovered() []string {
	return []string{
		"whether the tasks resemble the work that somebody has for agents",
		"what the model behind the adapter can do; canaries are of the harness",
		"another grader, isolation, toolchain or adapter than those that are named by hash",
		"what runs beside the script of the adapter, and the service that it asks",
	}
}

// proveHarness sends the built-in canaries through an adapter and writes one certificate of that and of the tasks.
func (a *app) proveHarness(ctx context.Context, r *rig, tasks []*tare.Task, agent, path string, jobs int) error {
	m, _, err := a.canaries(ctx, builtinCanaries)
	if err != nil {
		return err
	}
	f := canaryFlags{agent: agent, jobs: jobs}
	plan, err := a.canaryPlan(r, m.Tasks, f)
	if err != nil {
		return err
	}
	if err := r.showFixtures(ctx, m.Tasks); err != nil {
		return err
	}
	id, results, interrupted, err := a.playCanaries(ctx, r, plan, jobs)
	if err != nil {
		return err
	}
	ended := a.endCanaries(id, m, m.Tasks, results, interrupted, f)
	if !allPlayed(results) {
		return ended
	}
	cert := suiteCertificate{Schema: suiteCertificateSchema, NotCovered: notCovered(), Made: time.Now().UTC().Truncate(time.Second)}
	if h := a.harnessOf(results[0].Job.Episode.Agent); h != nil {
		cert.Harness = *h
	}
	for _, t := range tasks {
		b, err := a.files().FindProof(t.ID)
		if err != nil {
			a.note("%s has no certificate, and is not in this one", t.ID)
			continue
		}
		cert.Tasks = append(cert.Tasks, b)
	}
	entry, err := tare.NewEntry(cert)
	if err != nil {
		return err
	}
	if err := a.files().Put("certificates", entry); err != nil {
		return err
	}
	if err := os.WriteFile(path, entry.Bytes, 0o644); err != nil {
		return fmt.Errorf("writing the certificate: %w", err)
	}
	a.note("certificate %s is in %s; tare prove --check %s", short(entry.Hash), path, path)
	return ended
}

// checkCertificate verifies what somebody else certified, as far as this binary and its suites can: hashes, and that the rates
// follow from the verdicts. It plays nothing.
func (a *app) checkCertificate(ctx context.Context, path string, named []string) error {
	b, err := workspace.ReadFile(path, 64<<20)
	if err != nil {
		return usage("reading the certificate: %w", err)
	}
	var cert suiteCertificate
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&cert); err != nil {
		return usage("reading the certificate %s: %w", path, err)
	}
	if cert.Schema != suiteCertificateSchema {
		return usage("%s has the schema %q, not %q", path, cert.Schema, suiteCertificateSchema)
	}
	bad := 0
	say := func(ok bool, format string, args ...any) {
		mark := "ok   "
		if !ok {
			mark, bad = "WRONG", bad+1
		}
		a.say("%s %s", mark, fmt.Sprintf(format, args...))
	}
	again, err := tare.Canonical(cert)
	say(err == nil && bytes.Equal(again, bytes.TrimSpace(b)), "its bytes are canonical: %s", short(tare.HashBytes(b)))
	known, err := a.tasksAnd(named)
	if err != nil {
		return err
	}
	say(len(cert.Tasks) > 0, "it certifies %s", many(len(cert.Tasks), "task"))
	for _, raw := range cert.Tasks {
		a.checkTask(raw, known, say)
	}
	return a.checkHarness(ctx, &cert.Harness, say, func() error {
		if bad > 0 {
			return exit{exitFailed, nil}
		}
		return nil
	})
}

// checkTask holds the certificate of one task against the task and the grader of this binary.
func (a *app) checkTask(raw []byte, known []*tare.Task, say func(bool, string, ...any)) {
	var c proof.Certificate
	if err := json.Unmarshal(raw, &c); err != nil {
		say(false, "a certificate of a task cannot be read: %v", err)
		return
	}
	i := slices.IndexFunc(known, func(t *tare.Task) bool { return t.ID == c.Task })
	if i < 0 {
		say(false, "%s: there is no such task here; name its folder", c.Task)
		return
	}
	g, err := a.ground(known[i])
	if err != nil {
		say(false, "%s: %v", c.Task, err)
		return
	}
	s := proof.Standing(raw, known[i], g)
	say(s.Status == tare.Proven, "%s: %s, %s", c.Task, s.Status, many(c.Controls, "control"))
}

func (a *app) checkHarness(ctx context.Context, h *harnessCertificate, say func(bool, string, ...any), end func() error) error {
	say(h.Schema == harnessSchema && h.Adapter != "", "it certifies the harness %s", h.Adapter)
	say(h.Grader == tare.GraderDigest(), "the canaries were judged by this grader: %s", h.Grader)
	say(h.Isolation == a.isolation(), "isolation is %s", h.Isolation)
	m, _, err := a.canaries(ctx, builtinCanaries)
	if err != nil {
		return err
	}
	say(m.Hash == h.Canaries, "the canaries are those of this binary: %s", m.Hash)
	s, err := canary.Summarize(h.Rows)
	if err != nil {
		return err
	}
	x, errX := tare.Canonical(s)
	y, errY := tare.Canonical(h.Summary)
	say(errors.Join(errX, errY) == nil && bytes.Equal(x, y), "rates, intervals and decision follow from its %s", many(len(h.Rows), "verdict"))
	say(covers(m, h.Rows), "every canary of the suite was played in every wording")
	say(s.Holds(canary.Passes), "the harness passes its own check")
	if script, hash, ok := strings.Cut(strings.TrimPrefix(h.Adapter, "cmd:"), scriptMark); ok {
		if b, err := os.ReadFile(script); err == nil {
			say(short(tare.HashBytes(b)) == hash, "the adapter is the one that is here: %s", script)
		} else {
			a.say("      the adapter is not here, so its hash, %s, was not compared", hash)
		}
	}
	return end()
}

// covers reports whether rows hold every canary of a manifest in every wording, and no other.
func covers(m *suite.Canaries, rows []canary.Row) bool {
	want := map[string]bool{}
	for _, t := range m.Tasks {
		for _, p := range t.Canary.Phrasings {
			want[shortID(t)+" "+p.Name] = t.Canary.Planted != ""
		}
	}
	seen := map[string]bool{}
	for _, r := range rows {
		planted, ok := want[r.Canary+" "+r.Phrasing]
		if !ok || planted != r.Planted {
			return false
		}
		seen[r.Canary+" "+r.Phrasing] = true
	}
	return len(seen) == len(want)
}
