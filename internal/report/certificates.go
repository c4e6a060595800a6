package report

import (
	"fmt"
	"slices"
	"strings"

	"tare"
)

// Certificates are the lines under a table of scores that say how far graders and adapters are proven.
func Certificates(rows []Row) []string {
	g := newGrid(rows)
	return append([]string{g.proofLine()}, g.harnessLines()...)
}

// proofLine says how much of g rests on a current proof.
func (g grid) proofLine() string {
	proven, played := g.provenTasks()
	switch {
	case played == 0:
		return "proof: nothing was played"
	case proven == played && proven == 1:
		return "proof: the grader of this task is proven"
	case proven == played:
		return fmt.Sprintf("proof: the graders of all %d tasks are proven", proven)
	case proven == 0:
		return "proof: none of these graders is proven, so there is no score; 'tare prove' makes one"
	default:
		return fmt.Sprintf("proof: %d of %d tasks proven; a score counts these only, and 'tare prove' makes more", proven, played)
	}
}

// harnessLines say, for each agent that has an adapter, what the canaries that were sent through it make of its scores.
func (g grid) harnessLines() []string {
	var out []string
	seen := map[string]bool{}
	for _, r := range g.rows {
		adapter := r.Verdict.Proof.Harness != nil || strings.HasPrefix(r.Episode.Agent, "cmd:")
		if !adapter || r.Canary || !r.played() || seen[r.agent()] {
			continue
		}
		seen[r.agent()] = true
		out = append(out, harnessLine(line(r.agent(), nameLimit), r.Verdict.Proof))
	}
	return out
}

// harnessLine says what canaries showed of an adapter, and the ceiling of its scores.
func harnessLine(agent string, p tare.Proof) string {
	h := p.Harness
	if h == nil {
		h = &tare.Harness{Status: tare.Unproven}
	}
	var s string
	switch h.Status {
	case tare.Proven:
		s = fmt.Sprintf("harness: proven for %s", agent)
	case tare.Partly:
		s = fmt.Sprintf("harness: partly for %s; not all of its canaries came out right", agent)
	case tare.Stale:
		return fmt.Sprintf("harness: stale for %s; the grader, the canaries, the isolation or what lies beside the script has changed since, and no ceiling is known", agent)
	default:
		return fmt.Sprintf("harness: none for %s; no canaries were sent through it, so nothing shows that it can report a failure, and no ceiling is known", agent)
	}
	if h.Planted+h.Clean > 0 {
		s += fmt.Sprintf(" · %d planted and %d clean of %s", h.Planted, h.Clean, line(h.Manifest, nameLimit))
	}
	if p.Ceiling != nil {
		s += fmt.Sprintf(" · ceiling of its scores %.0f %%", 100**p.Ceiling)
	}
	if i := h.Sensitivity; i != nil {
		s += fmt.Sprintf(", CS between %.0f %% and %.0f %% (95 %%)", 100*i[0], 100*i[1])
	}
	return s
}

// Standing is the weakest proof behind rows, adapters included, and the lowest ceiling of their scores: two cells of a table.
func Standing(rows []Row) []string {
	if !slices.ContainsFunc(rows, func(r Row) bool { return !r.Canary }) {
		return []string{"–", "–"}
	}
	word, low := proofWord(rows), "–"
	var ceiling *float64
	for _, r := range rows {
		if !r.played() || r.Verdict.Proof.Harness == nil {
			continue
		}
		if h := slices.Index(proofRank[:], tare.ProofStatus(harnessWord(r.Verdict.Proof))); h > slices.Index(proofRank[:], tare.ProofStatus(word)) {
			word = string(proofRank[h])
		}
		if c := r.Verdict.Proof.Ceiling; c == nil {
			low = "unknown"
		} else if ceiling == nil || *c < *ceiling {
			ceiling = c
		}
	}
	if ceiling != nil && low == "–" {
		low = number(ceiling)
	}
	return []string{word, low}
}

// proofOf is the proof line of a verdict.
func proofOf(p tare.Proof) string {
	var s string
	switch p.Status {
	case tare.Proven:
		s = "proof: proven"
	case tare.Partly:
		s = "proof: partly; a control came out wrong, or the adversaries were left out"
	case tare.Stale:
		s = "proof: stale; task or grader changed since, 'tare prove' makes it anew"
	default:
		s = "proof: none; nothing shows that this grader can tell right from wrong"
	}
	if p.Certificate != "" {
		s += " · certificate " + short(p.Certificate)
	}
	if p.Harness != nil {
		s += " · harness " + harnessWord(p)
	}
	if p.Ceiling != nil {
		s += " · ceiling " + number(p.Ceiling)
	}
	return s
}

// harnessWord is the state of what canaries showed of an adapter; "" where there is none.
func harnessWord(p tare.Proof) string {
	switch h := p.Harness; {
	case h == nil:
		return ""
	case h.Status == tare.Proven || h.Status == tare.Partly || h.Status == tare.Stale:
		return string(h.Status)
	default:
		return string(tare.Unproven)
	}
}
