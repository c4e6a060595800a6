package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tare"
	"tare/internal/canary"
	"tare/internal/suite"
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

func (a *app) certifyHarness(run string, m *suite.Canaries, ep tare.Episode, s canary.Summary) error {
	entry, err := tare.NewEntry(harnessCertificate{
		Schema: harnessSchema, Adapter: ep.Agent, Grader: tare.GraderDigest(), Isolation: ep.Isolation, Manifest: m.Name, Canaries: m.Hash,
		Run: run, Summary: s, Made: time.Now().UTC().Truncate(time.Second),
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
