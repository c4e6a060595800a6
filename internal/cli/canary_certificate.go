package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tare"
	"tare/internal/canary"
	"tare/internal/run"
	"tare/internal/store"
	"tare/internal/suite"
	"tare/suites"
)

// harnessSchema is the schema of what canaries showed of a harness.
const harnessSchema = "tare.harness/1"

// A harnessCertificate says what canaries showed of one adapter, and what that speaks of.
type harnessCertificate struct {
	Schema    string         `json:"schema"`
	Adapter   string         `json:"adapter"`          // its name with the beginning of its script's hash
	Policy    string         `json:"policy,omitempty"` // of an agent that asks a model
	Files     tare.Digest    `json:"files,omitempty"`  // of all in the script's folder; absent where that was not read, or the script was shown alone
	Grader    tare.Digest    `json:"grader"`           // of the sources that can change a verdict
	Isolation string         `json:"isolation"`
	Manifest  string         `json:"manifest"`
	Canaries  tare.Digest    `json:"canaries"`        // fixtures, plants, phrasings, signals
	Suite     tare.Digest    `json:"suite,omitempty"` // of the built-in canaries as the binary holds them; absent of others
	Run       string         `json:"run"`
	Part      bool           `json:"part,omitempty"` // not all of the manifest, or not to the end: it can only say that something came out wrong
	Summary   canary.Summary `json:"summary"`
	Rows      []canary.Row   `json:"rows"` // from which the summary follows
	Made      time.Time      `json:"made"`
}

// hasAdapter reports whether something of others' making stands between an agent and what it is asked.
func hasAdapter(agent string) bool {
	return strings.HasPrefix(agent, "cmd:") || isLive(agent) || isPresetLabel(agent)
}

// adapterKey is the part of an agent's name that is its own wherever its script lies, with the policy of one that asks a model.
func adapterKey(agent, policy string) string {
	if strings.HasPrefix(agent, "cmd:") {
		if i := strings.LastIndex(agent, scriptMark); i >= 0 {
			agent = "cmd" + agent[i:]
		}
	}
	return agent + " " + policy
}

// scriptOf is the path of a command's script, "" of another agent.
func scriptOf(agent string) string {
	script, ok := strings.CutPrefix(agent, "cmd:")
	if !ok {
		return ""
	}
	if i := strings.LastIndex(script, scriptMark); i >= 0 {
		script = script[:i]
	}
	return script
}

// certifyHarness keeps what a whole run of canaries showed, and of a part of one that something came out wrong; nil of a part.
func (a *app) certifyHarness(run string, m *suite.Canaries, files tare.Digest, results []run.Result) (*harnessCertificate, error) {
	rows := canary.Rows(results)
	s, err := canary.Summarize(rows)
	if err != nil {
		return nil, err
	}
	part := !allPlayed(results) || !covers(m, rows)
	if part && !s.Fails() {
		return nil, nil
	}
	for i := range rows {
		rows[i].Reason = "" // what a harness said belongs to the records
	}
	ep := results[0].Job.Episode
	c := &harnessCertificate{
		Schema: harnessSchema, Adapter: ep.Agent, Policy: ep.Policy, Files: files, Grader: tare.GraderDigest(), Isolation: ep.Isolation, Manifest: m.Name, Canaries: m.Hash,
		Run: run, Part: part, Summary: s, Rows: rows, Made: time.Now().UTC().Truncate(time.Second),
	}
	if m.Name == builtinCanaries {
		c.Suite = builtinDigest()
	}
	entry, err := tare.NewEntry(c)
	if err == nil {
		err = a.files().Put(store.Certificates, entry)
	}
	if err != nil {
		return nil, fmt.Errorf("keeping what the canaries showed: %w", err)
	}
	a.adapters.forget()
	if part {
		return nil, nil
	}
	return c, nil
}

// builtinDigest is the hash of the built-in canaries, as they lie in the binary.
func builtinDigest() tare.Digest { return tare.HashBytes(suites.Canaries()) }

// covers reports whether rows hold every canary of a manifest in every wording, each trial once, and no other.
func covers(m *suite.Canaries, rows []canary.Row) bool {
	type cell struct{ id, phrasing string }
	want, trials := map[cell]bool{}, map[cell]map[int]bool{}
	for _, t := range m.Tasks {
		for _, p := range t.Canary.Phrasings {
			want[cell{shortID(t), p.Name}] = t.Canary.Planted != ""
		}
	}
	for _, r := range rows {
		at := cell{r.Canary, r.Phrasing}
		planted, ok := want[at]
		if !ok || planted != r.Planted || trials[at][r.Trial] {
			return false
		}
		if trials[at] == nil {
			trials[at] = map[int]bool{}
		}
		trials[at][r.Trial] = true
	}
	for _, seen := range trials {
		for n := 1; n <= len(seen); n++ {
			if !seen[n] {
				return false
			}
		}
	}
	return len(trials) == len(want)
}

// differs names what a certificate speaks of that is not what is here, where the adapter's folder has the hash files, "" if
// that is not known.
func (c *harnessCertificate) differs(a *app, files tare.Digest) []string {
	var out []string
	for _, x := range []struct {
		other bool
		what  string
	}{
		{c.Grader != tare.GraderDigest(), "the grader"},
		{c.Isolation != a.isolation(), "the isolation"},
		{c.Manifest == builtinCanaries && c.Suite != builtinDigest(), "the built-in canaries"},
		{c.Files != files && files != "", "what lies beside the script"},
		{scriptOf(c.Adapter) != "" && c.Files == "" && files == "", "what lies beside the script, which is too much to be read"},
	} {
		if x.other {
			out = append(out, x.what)
		}
	}
	return out
}

// A harnessStanding is what an adapter's certificates say of it as it is now.
type harnessStanding struct {
	status tare.ProofStatus
	cert   *harnessCertificate // that it rests on; the zero one where there is none
	hash   tare.Digest
	differ []string // by which one is stale
	run    string   // in which something came out wrong, where that is not the certificate's
}

// A standings remembers what certificates say of adapters, by adapterKey. Nil remembers nothing. It may be used from several
// goroutines.
type standings struct {
	mu sync.Mutex
	by map[string]harnessStanding
}

func (s *standings) forget() {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.by = nil
	}
}

// of is what is known of key, which work finds out the first time.
func (s *standings) of(key string, work func() harnessStanding) harnessStanding {
	if s == nil {
		return work()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.by[key]
	if !ok {
		if s.by == nil {
			s.by = map[string]harnessStanding{}
		}
		known = work()
		s.by[key] = known
	}
	return known
}

// standing is what an adapter's certificates say: of several that are current the one with the lowest ceiling. Another, easier set of
// canaries lifts none.
func (a *app) standing(ep tare.Episode) harnessStanding {
	key := adapterKey(ep.Agent, ep.Policy)
	return a.adapters.of(key, func() harnessStanding { return a.readStanding(ep.Agent, key) })
}

func (a *app) readStanding(agent, key string) harnessStanding {
	var all []harnessStanding
	entries, _ := a.files().All(store.Certificates) // what cannot be read is no proof
	for _, e := range entries {
		var c harnessCertificate
		if json.Unmarshal(e.Bytes, &c) != nil || c.Schema != harnessSchema || adapterKey(c.Adapter, c.Policy) != key {
			continue
		}
		var err error
		if c.Summary, err = canary.Summarize(c.Rows); err == nil { // what follows from the verdicts, whatever it says
			all = append(all, harnessStanding{cert: &c, hash: e.Hash})
		}
	}
	return a.weigh(all, agent)
}

// weigh is what certificates of one adapter say together. Of the same canaries the latest one counts, and any that shows a failure: what
// came out wrong once does not become right by being tried again.
func (a *app) weigh(all []harnessStanding, agent string) harnessStanding {
	out := harnessStanding{status: tare.Unproven}
	if len(all) == 0 {
		return out
	}
	latest := map[tare.Digest]harnessStanding{}
	failed := "" // a run that was not whole
	for _, s := range all {
		if s.cert.Part {
			continue
		}
		was, ok := latest[s.cert.Canaries]
		if !ok || s.cert.Made.After(was.cert.Made) || s.cert.Made.Equal(was.cert.Made) && s.hash > was.hash {
			latest[s.cert.Canaries] = s
		}
	}
	files := adapterFiles(agent)
	for _, s := range all {
		if !s.cert.Summary.Fails() && latest[s.cert.Canaries].hash != s.hash {
			continue
		}
		s.differ = s.cert.differs(a, files)
		if _, err := os.Stat(scriptOf(agent)); err == nil && files == "" && s.cert.Files != "" {
			s.differ = append(s.differ, "what lies beside the script, which is too much to be read")
		}
		if s.cert.Part {
			if len(s.differ) == 0 {
				failed = s.cert.Run
			}
			continue
		}
		if len(s.differ) > 0 {
			s.status = tare.Stale
		} else if s.status = tare.Partly; s.cert.Summary.Holds(canary.Passes) {
			s.status = tare.Proven
		}
		if s.before(out) {
			out = s
		}
	}
	if failed != "" && out.status == tare.Proven {
		out.status, out.run = tare.Partly, failed
	}
	return out
}

// before reports whether s says more, or less to the harness's credit, than t: what is current over what is stale, a failure over a
// success, then the lower ceiling.
func (s harnessStanding) before(t harnessStanding) bool {
	order := []tare.ProofStatus{tare.Partly, tare.Proven, tare.Stale, tare.Unproven}
	x, y := slices.Index(order, s.status), slices.Index(order, t.status)
	switch {
	case x != y:
		return x < y
	case s.cert.Summary.Ceiling != t.cert.Summary.Ceiling:
		return s.cert.Summary.Ceiling < t.cert.Summary.Ceiling
	}
	return s.hash < t.hash
}

// harnessProof is what goes with the scores of an agent: how far canaries proved its adapter, and the ceiling that they put on its
// scores. There is none for agents that are a part of tare.
func (a *app) harnessProof(ep tare.Episode) (*tare.Harness, *float64) {
	if !hasAdapter(ep.Agent) {
		return nil, nil
	}
	s := a.standing(ep)
	h := &tare.Harness{Status: s.status, Certificate: s.hash}
	if s.status != tare.Proven && s.status != tare.Partly {
		return h, nil
	}
	sum := s.cert.Summary
	h.Manifest, h.Planted, h.Clean = s.cert.Manifest, sum.Sensitivity.Canaries, sum.Quiet.Canaries
	h.Sensitivity = &[2]float64{sum.Sensitivity.Interval.Low, sum.Sensitivity.Interval.High}
	return h, &sum.Ceiling
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
		if !hasAdapter(agent) {
			continue
		}
		name := agent
		if script := scriptOf(agent); script != "" {
			name = "cmd:" + script
		}
		switch s := a.standing(j.Episode); s.status {
		case tare.Proven:
		case tare.Partly:
			add("the harness %s: partly; not all of its canaries came out right (tare show %s)", name, orElse(s.run != "", s.run, s.cert.Run))
		case tare.Stale:
			add("the harness %s: stale; changed since its canaries: %s (tare canary %s --agent %s)", name, strings.Join(s.differ, ", "), builtinCanaries, name)
		default:
			add("the harness %s: none; no canaries were sent through it as it is now (tare canary %s --agent %s)", name, builtinCanaries, name)
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	return exit{exitUnverified, errors.New("proof is required and is not there; nothing was played:\n  " + strings.Join(lacks, "\n  "))}
}
