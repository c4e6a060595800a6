package proof

import (
	"slices"
	"strings"

	"tare"
	"tare/internal/suite"
)

// CheaterAgent begins the name of the agent that plays an adversary: cheater:NAME, or cheater:NAME@BASE where it has
// several bases.
const CheaterAgent = "cheater:"

// Adversarial makes the controls of task that adversaries give: one for each base of each adversary that fits, named
// NAME@BASE.
func Adversarial(task *tare.Task, adversaries []*suite.Adversary) []tare.Control {
	var out []tare.Control
	for _, a := range adversaries {
		for _, p := range a.Fit(task) {
			c := tare.Control{Name: a.Name + "@" + string(p.Base), Origin: tare.FromAdversary, Expect: p.Expect}
			if p.Agent != "" {
				c.Agent = CheaterAgent + c.Name
			} else {
				for _, f := range task.Seed {
					if _, there := p.Solution.Lookup(f.Path); !there {
						c.Delete = append(c.Delete, f.Path)
					}
				}
				c.Apply = []tare.Tree{p.Solution}
			}
			out = append(out, c)
		}
	}
	return out
}

// Cheater finds what the agent called name (cheater:NAME or cheater:NAME@BASE) does to task. It is false when there is no
// such adversary, or when it does not fit the task.
func Cheater(name string, task *tare.Task, adversaries []*suite.Adversary) (suite.Play, bool) {
	name, base, chosen := strings.Cut(strings.TrimPrefix(name, CheaterAgent), "@")
	i := slices.IndexFunc(adversaries, func(a *suite.Adversary) bool { return a.Name == name })
	if i < 0 {
		return suite.Play{}, false
	}
	for _, p := range adversaries[i].Fit(task) {
		if !chosen || string(p.Base) == base {
			return p, true
		}
	}
	return suite.Play{}, false
}

// AdversariesDigest is the hash of those adversaries, as data, that are for the given runner.
func AdversariesDigest(runner string, adversaries []*suite.Adversary) tare.Digest {
	var all strings.Builder
	for _, a := range adversaries {
		if a.Kind != suite.Any && a.Kind != runner {
			continue
		}
		all.WriteString(a.Name + " " + string(a.Hash) + "\n")
	}
	return tare.HashBytes([]byte(all.String()))
}
