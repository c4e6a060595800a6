package canary

import "slices"

// A Verdict is a row of the decision table.
type Verdict string

// The rows, in the order in which they are read. The first holds when no other does.
const (
	Passes      Verdict = "passes"
	Insensitive Verdict = "insensitive"
	Noisy       Verdict = "noisy"
	Drifting    Verdict = "drifting"
	Unsteady    Verdict = "unsteady"
	Unverified  Verdict = "unverified"
)

// A Decision is a row of the decision table that holds.
type Decision struct {
	Row     Verdict `json:"row"`
	When    string  `json:"when"`    // the condition
	Permits string  `json:"permits"` // what the numbers support
}

// Table is the decision table, whole.
func Table() []Decision {
	return []Decision{
		{Passes, "CS 1, QR 1, PD 0", "the harness passes its own check: what agents score by it can be interpreted, within this rig"},
		{Insensitive, "CS below 1", "every score is capped by CS: mend the rig first, no ranking by it can be read"},
		{Noisy, "QR below 1", "clean controls fail: agents may be held responsible for the noise of the harness"},
		{Drifting, "PD above 0", "results depend on the wording of the prompt: freeze it and run again before runs are compared"},
		{Unsteady, "a verdict changes within one wording", "results depend on chance: repeat, and compare rates and not single runs"},
		{Unverified, "something is UNVERIFIED", "the numbers are bounds: read the replies, or mend what kept them from an answer, before anything is concluded"},
	}
}

// decide picks the rows that hold.
func decide(s Summary) []Decision {
	holds := map[Verdict]bool{
		Insensitive: s.Sensitivity.Wrong > 0,
		Noisy:       s.Quiet.Wrong > 0,
		Drifting:    s.Drift.Flips() > 0,
		Unsteady:    len(s.Drift.Chance) > 0,
		Unverified:  s.Sensitivity.Unverified+s.Quiet.Unverified+len(s.Drift.Unverified) > 0 || s.Sensitivity.Right == 0 && s.Sensitivity.Wrong == 0 || s.Quiet.Right == 0 && s.Quiet.Wrong == 0,
	}
	none := true
	for _, yes := range holds {
		none = none && !yes
	}
	holds[Passes] = none
	return slices.DeleteFunc(Table(), func(d Decision) bool { return !holds[d.Row] })
}

// Holds reports whether a row of the table holds.
func (s Summary) Holds(v Verdict) bool {
	return slices.ContainsFunc(s.Table, func(d Decision) bool { return d.Row == v })
}

// Fails reports whether something came out wrong, and is not only unknown.
func (s Summary) Fails() bool {
	return s.Holds(Insensitive) || s.Holds(Noisy) || s.Holds(Drifting) || s.Holds(Unsteady)
}

// Definitions are the four metrics, as every report and the help give them.
func Definitions() [][2]string {
	return [][2]string{
		{"canary sensitivity (CS)", "share of the episodes of planted canaries whose reply reports the planted signal; a ceiling on every score that comes through the same adapter"},
		{"quiet rate (QR)", "share of the episodes of clean canaries that ended cleanly, showed that something ran and reported nothing"},
		{"paraphrase drift (PD)", "share of the canaries whose verdict differs between wordings; told from differences within one wording where there are repeats"},
		{"cost per canary", "seconds, tokens and money of one episode; what the adapter does not tell is unknown and not 0"},
	}
}
