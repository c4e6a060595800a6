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
	"tare/internal/store"
	"tare/internal/suite"
	"tare/internal/workspace"
)

const suiteCertificateSchema = "tare.suite-certificate/1"

// A suiteCertificate says what was shown of graders and of a harness together.
type suiteCertificate struct {
	Schema     string              `json:"schema"`
	Tasks      []taskCertificate   `json:"tasks"`
	Harness    *harnessCertificate `json:"harness"` // what canaries showed of the adapter
	NotCovered []string            `json:"not_covered"`
	Made       time.Time           `json:"made"`
	Seal       tare.Digest         `json:"seal"` // of the rest, with an empty seal: shows that something is not as it was written
}

// A taskCertificate is what was shown of the grader of one task, and the table from which it follows.
type taskCertificate struct {
	Certificate json.RawMessage `json:"certificate"` // an entry of its own
	Table       json.RawMessage `json:"table"`       // null where the certificate is an earlier one, whose table is not at hand
}

// notCovered is what no certificate of this form says.
func notCovered() []string {
	return []string{
		"whether the tasks resemble the work that somebody has for agents",
		"what the model behind the adapter can do; canaries are of the harness",
		"another grader, isolation, toolchain or adapter than those that are named by hash",
		"services that the adapter asks, and what it reads from outside its folder",
		"attempts that were kept in another store",
		"that the verdicts in it were given: to doubt these is to play controls and canaries again",
	}
}

// seal is the hash of a certificate without its seal.
func (c suiteCertificate) seal() (tare.Digest, error) {
	c.Seal = ""
	b, err := tare.Canonical(c)
	if err != nil {
		return "", err
	}
	return tare.HashBytes(b), nil
}

// proveHarness sends the built-in canaries through an adapter and writes one certificate of that and of the tasks.
func (a *app) proveHarness(ctx context.Context, r *rig, tables []proof.Table, agent, path string, jobs int) error {
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
	harness, ended := a.measureHarness(ctx, r, m, plan, f)
	if harness == nil {
		return ended
	}
	cert := suiteCertificate{Schema: suiteCertificateSchema, Harness: harness, NotCovered: notCovered(), Made: time.Now().UTC().Truncate(time.Second)}
	for _, t := range tables {
		c, err := a.taskCertificate(t)
		if err != nil {
			return err
		}
		cert.Tasks = append(cert.Tasks, c)
	}
	if cert.Seal, err = cert.seal(); err != nil {
		return err
	}
	entry, err := tare.NewEntry(cert)
	if err == nil {
		err = a.files().Put(store.Certificates, entry)
	}
	if err == nil {
		err = os.WriteFile(path, append(entry.Bytes, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the certificate: %w", err)
	}
	a.note("certificate %s is in %s; tare prove --check %s", short(entry.Hash), path, path)
	return ended
}

// taskCertificate is the certificate of a task that was just proven, with its table where it speaks of that one: a proof without the
// adversaries leaves a better certificate in its place.
func (a *app) taskCertificate(t proof.Table) (taskCertificate, error) {
	var out taskCertificate
	b, err := a.files().FindProof(t.Task)
	if err != nil {
		return out, fmt.Errorf("certifying %s: %w", t.Task, err)
	}
	out.Certificate = b
	var c proof.Certificate
	if err := json.Unmarshal(b, &c); err != nil {
		return out, fmt.Errorf("certifying %s: %w", t.Task, err)
	}
	digest, err := t.Digest()
	if err == nil && digest == c.Table {
		out.Table, err = tare.Canonical(t)
	}
	return out, err
}

// A finding is one thing that was compared, and how it came out: ok, wrong (it was altered, or does not follow, or shows a
// failure), or stale (it speaks of something else than what is here).
type finding struct {
	Status string `json:"status"`
	What   string `json:"what"`
}

const (
	isOK    = "ok"
	isWrong = "wrong"
	isStale = "stale"
)

// findings collects what a check finds.
type findings []finding

func (f *findings) say(status, format string, args ...any) {
	*f = append(*f, finding{status, fmt.Sprintf(format, args...)})
}

// holds says something that must be so, or the status that it has if it is not.
func (f *findings) holds(ok bool, otherwise, format string, args ...any) {
	if ok {
		otherwise = isOK
	}
	f.say(otherwise, format, args...)
}

func (f findings) any(status string) bool {
	return slices.ContainsFunc(f, func(x finding) bool { return x.Status == status })
}

// maxCertificate bounds what is read of a certificate, in bytes.
const maxCertificate = 64 << 20

// checkCertificate verifies what somebody else certified. It plays nothing.
func (a *app) checkCertificate(ctx context.Context, path string, named []string) error {
	b, err := workspace.ReadFile(path, maxCertificate)
	if err != nil {
		return usage("reading the certificate: %w", err)
	}
	known, err := a.tasksAnd(named)
	if err != nil {
		return err
	}
	m, _, err := a.canaries(ctx, builtinCanaries)
	if err != nil {
		return err
	}
	b = bytes.TrimSuffix(b, []byte("\n"))
	f, err := a.examine(b, known, m)
	if err != nil {
		return usage("reading the certificate %s: %w", path, err)
	}
	return a.showFindings(tare.HashBytes(b), f)
}

// examine holds a certificate against this binary and its suites, as far as these can tell: hashes, and that what it says follows
// from the rows that it holds. The error says that b is no certificate.
func (a *app) examine(b []byte, known []*tare.Task, m *suite.Canaries) (findings, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, err
	}
	if head.Schema != suiteCertificateSchema {
		return nil, fmt.Errorf("its schema is %q, not %q", clip(head.Schema, 80), suiteCertificateSchema)
	}
	var cert suiteCertificate
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&cert); err != nil {
		return nil, err
	}
	var f findings
	again, err := tare.Canonical(cert)
	f.holds(err == nil && bytes.Equal(again, b), isWrong, "its bytes are canonical, hash %s", short(tare.HashBytes(b)))
	seal, err := cert.seal()
	f.holds(err == nil && seal == cert.Seal, isWrong, "its seal is that of its content")
	f.holds(slices.Equal(cert.NotCovered, notCovered()), isStale, "it says what it does not cover, as certificates of this version do")
	f.holds(len(cert.Tasks) > 0, isWrong, "it certifies %s", many(len(cert.Tasks), "task"))
	for _, c := range cert.Tasks {
		a.checkTask(c, known, &f)
	}
	if cert.Harness == nil {
		f.say(isWrong, "it certifies a harness")
	} else {
		a.checkHarness(cert.Harness, m, &f)
	}
	return f, nil
}

func (a *app) showFindings(hash tare.Digest, f findings) error {
	outcome, ends := isOK, error(nil)
	switch {
	case f.any(isWrong):
		outcome, ends = isWrong, exit{exitFailed, nil}
	case f.any(isStale):
		outcome, ends = isStale, exit{exitUnverified, nil}
	}
	if a.json() {
		return errors.Join(a.writeJSON(map[string]any{"schema": "tare.certificate-check/1", "certificate": hash, "outcome": outcome, "findings": f}), ends)
	}
	for _, x := range f {
		a.say("%-5s  %s", strings.ToUpper(x.Status), x.What)
	}
	a.say("%s", map[string]string{
		isOK:    "everything that can be compared here is as the certificate says",
		isWrong: "this certificate is not to be relied on",
		isStale: "this certificate speaks of something else than what is here",
	}[outcome])
	return ends
}

// checkTask holds the certificate of one task against the task and the grader that are here, and against its own table.
func (a *app) checkTask(t taskCertificate, known []*tare.Task, f *findings) {
	var c proof.Certificate
	dec := json.NewDecoder(bytes.NewReader(t.Certificate))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil || c.Schema != proof.CertificateSchema {
		f.say(isWrong, "a certificate of a task cannot be read: schema %q: %v", clip(c.Schema, 80), err)
		return
	}
	id := clip(c.Task, 120)
	i := slices.IndexFunc(known, func(t *tare.Task) bool { return t.ID == c.Task })
	if i < 0 {
		f.say(isStale, "%s: there is no such task here; name its folder", id)
		return
	}
	g, err := a.ground(suite.Summarize(known[i]))
	if err != nil {
		f.say(isStale, "%s: what its grader stands on cannot be told here: %v", id, err)
		return
	}
	differ := proof.Differs(c, known[i].ID, known[i].Hash, g)
	f.holds(len(differ) == 0, isStale, "%s: %s", id, orElse(len(differ) == 0, "task, grader, adversaries, isolation and tools are those that are here", "not what is here: "+strings.Join(differ, ", ")))
	f.holds(c.OK && c.Whole, isWrong, "%s: %s", id, orElse(c.OK && c.Whole, "proven", "not proven: "+orElse(c.OK, "its adversaries were not played", "a control came out otherwise than it must")))
	if len(t.Table) == 0 || bytes.Equal(t.Table, []byte("null")) {
		f.say(isStale, "%s: the table of its proof is not in here, so nothing can be held against it", id)
		return
	}
	var all []tare.Control
	if len(differ) == 0 { // of another task, its controls are not known
		cheaters, err := adversaries()
		if err != nil {
			f.say(isStale, "%s: %v", id, err)
			return
		}
		if known[i].Kind != tare.Ticket || !c.Whole {
			cheaters = nil
		}
		all = proof.Controls(known[i], cheaters)
	}
	wrong := proof.Contradictions(c, t.Table, all)
	f.holds(len(wrong) == 0, isWrong, "%s: %s", id, orElse(len(wrong) == 0, fmt.Sprintf("the certificate follows from its table of %s", many(c.Controls, "control")), strings.Join(wrong, "; ")))
}

func orElse(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// checkHarness holds what canaries showed of a harness against the canaries that are here, and against its own rows.
func (a *app) checkHarness(h *harnessCertificate, m *suite.Canaries, f *findings) {
	f.holds(h.Schema == harnessSchema && h.Adapter != "" && h.Run != "", isWrong, "it certifies the harness %s by run %s", orElse(h.Adapter == "", "?", clip(h.Adapter, 200)), clip(h.Run, 40))
	here := scriptOf(h.Adapter)
	_, hash, _ := strings.Cut(adapterKey(h.Adapter, ""), scriptMark)
	hash = strings.TrimSpace(hash)
	at, err := os.ReadFile(here)
	files := tare.Digest("")
	if err == nil {
		files = adapterFiles(h.Adapter)
	}
	differ := h.differs(a, files)
	f.holds(len(differ) == 0, isStale, "harness: %s", orElse(len(differ) == 0, "grader, canaries and isolation are those that are here", "not what is here: "+strings.Join(differ, ", ")))
	f.holds(h.Manifest == m.Name && m.Hash == h.Canaries, isStale, "harness: the canaries are those of this binary, %s", short(m.Hash))
	s, errS := canary.Summarize(h.Rows)
	x, errX := tare.Canonical(s)
	y, errY := tare.Canonical(h.Summary)
	f.holds(errors.Join(errS, errX, errY) == nil && bytes.Equal(x, y), isWrong, "harness: rates, intervals, cost and decision follow from its %s", many(len(h.Rows), "verdict"))
	f.holds(covers(m, h.Rows), isWrong, "harness: every canary was played in every wording")
	f.holds(s.Holds(canary.Passes), isWrong, "harness: it passes its canaries: %s; %s", rateText("CS", s.Sensitivity), rateText("QR", s.Quiet))
	if here == "" {
		return // it is no script
	}
	if err != nil {
		f.say(isOK, "harness: its script is not here, so its hash %s was not compared", clip(hash, 80))
		return
	}
	f.holds(short(tare.HashBytes(at)) == hash, isStale, "harness: its script is the one that is here, %s", clip(here, 200))
}

// rateText is a rate with its interval, in a few words.
func rateText(name string, r canary.Rate) string {
	return fmt.Sprintf("%s %d of %d, %s to %s (95 %%)", name, r.Right, r.Rows(), percent(r.Interval.Low), percent(r.Interval.High))
}
