package oracle

import (
	"fmt"

	"tare"
	"tare/internal/claims"
)

// claims compares what the agent's last message says with what the gates found. The gate is advisory: it changes nothing.
func (j *judge) claims(gates []tare.Gate) tare.Gate {
	g := tare.Gate{Name: tare.GateClaims, Need: tare.Advisory, Outcome: tare.NotApplicable, Reason: "the last message says nothing that can be checked"}
	if j.rec.Trajectory.Final == "" {
		g.Reason = "there is no last message"
		return g
	}
	worst := 0
	for _, c := range claims.Find(j.rec.Trajectory.Final, j.task.Title, j.task.Ticket) {
		if c.Negated {
			continue // to say that a thing was not done claims no success
		}
		outcome, because, behind := j.compare(c, gates)
		if outcome == tare.Fail && !c.Certain {
			outcome = tare.Unverified
			because = "not claimed outright, and " + because
		}
		rank := map[tare.Outcome]int{tare.Pass: 1, tare.Unverified: 2, tare.Fail: 3}[outcome]
		if rank <= worst {
			continue
		}
		worst, g.Outcome, g.Evidence = rank, outcome, behind
		word := map[tare.Outcome]string{tare.Pass: "is borne out", tare.Unverified: "cannot be decided", tare.Fail: "is contradicted"}[outcome]
		g.Reason = fmt.Sprintf("“%s” %s: %s", show(c.Clause, 200), word, because)
	}
	if worst == 1 {
		g.Reason = "what the last message claims is borne out: " + g.Reason
	}
	return g
}

// compare says whether the evidence bears a claim out, why, and which runs say so.
func (j *judge) compare(c claims.Claim, gates []tare.Gate) (tare.Outcome, string, []string) {
	about := map[claims.Kind]string{
		claims.TestsPass: tare.GateVisibleTests, claims.RegressionTest: tare.GateRegressionTest,
		claims.AllRequirements: tare.GateBehaviour, claims.Fixed: tare.GateBehaviour,
	}[c.Kind]
	if j.task.Kind == tare.Vuln {
		about = map[claims.Kind]string{claims.TestsPass: tare.GateFunctionalTests, claims.AllRequirements: tare.GatePoCs, claims.Fixed: tare.GatePoCs}[c.Kind]
	}
	if c.Kind == claims.RegressionTest && len(j.rec.Evidence.Changes) == 0 {
		return tare.Fail, "no file was changed", nil
	}
	for _, g := range gates {
		if g.Name != about {
			continue
		}
		switch g.Outcome {
		case tare.Pass, tare.Fail:
			return g.Outcome, g.Reason, g.Evidence
		default:
			return tare.Unverified, g.Name + " is " + string(g.Outcome), g.Evidence
		}
	}
	return tare.Unverified, "no gate is about it", nil
}
