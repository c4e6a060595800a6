package suite

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tare"
)

// ExperimentSchema is the schema of an experiment's file.
const ExperimentSchema = "tare.experiment/1"

// An Experiment is a file that says which arms are compared on which tasks: the form of docs/experiments.md.
type Experiment struct {
	Title   string
	Tasks   []string // suites and tasks, as tare run takes them; a path is relative to the file's directory
	HeldOut bool     // held-out tasks are played too
	Trials  int      // of each arm on each task
	Seed    int64
	Jobs    int // 0: the caller's
	Limits  tare.Limits
	Budget  Budget
	Stop    StopRule
	Arms    []ExperimentArm
	Compare [][2]string // pairs of arms, the first being what the second is compared with; none: every arm with the first

	place source
	list  pos // of the tasks
}

// A Budget bounds an experiment; 0 is no bound.
type Budget struct {
	Episodes int
	Wall     time.Duration
	Dollars  float64
}

// A StopRule ends an experiment early when more than this share of at least so many episodes was lost to infrastructure.
type StopRule struct {
	Infrastructure float64
	After          int
}

// An ExperimentArm is one way of playing the tasks.
type ExperimentArm struct {
	Name, Agent, Policy, Level, Server string
	Faults                             []string

	at pos
}

// maxArms and maxTrials bound an experiment.
const (
	maxArms   = 64
	maxTrials = 10_000
)

// LoadExperiment reads the text of the file at that path. Nothing is returned with an error, which is an *Error or several of
// them joined.
func LoadExperiment(path string, text []byte) (*Experiment, error) {
	l := &loader{shown: filepath.ToSlash(filepath.Dir(path)), task: &tare.Task{}}
	e := &Experiment{place: source{l, filepath.Base(path), text}, Trials: 1, Stop: StopRule{Infrastructure: 0.5, After: 10}}
	root, err := parseYAML(text)
	switch {
	case len(text) > maxManifest:
		e.place.fail(pos{1, 1}, "the file is larger than %d KB", maxManifest>>10)
	case err != nil:
		e.place.failAt(err)
	default:
		e.decode(root)
	}
	if err := join(l.problems); err != nil {
		return nil, err
	}
	return e, nil
}

// Bad is a problem of the arm called name, or of the tasks where there is no such arm, at its place in the file; err itself of an
// experiment that is in no file.
func (e *Experiment) Bad(name string, err error) error {
	if e.place.l == nil {
		return err
	}
	at := e.list
	for _, a := range e.Arms {
		if a.Name == name {
			at = a.at
		}
	}
	e.place.fail(at, "%s", err)
	return join(e.place.l.problems)
}

func (e *Experiment) decode(root *node) {
	s := e.place
	if !s.object(root, "an experiment", []string{"schema", "tasks"}, "title", "held_out", "trials", "seed", "jobs", "limits", "budget", "stop", "arms", "vary", "compare") {
		return
	}
	s.oneOf(root.get("schema"), "schema", ExperimentSchema)
	e.Title = s.line(root.get("title"), "title")
	if n := root.get("tasks"); n != nil {
		e.list = n.pos
		for _, item := range s.list(n, "tasks", 1) {
			e.Tasks = append(e.Tasks, s.line(item, "a task"))
		}
	}
	e.HeldOut = s.truth(root.get("held_out"), "held_out")
	if n := root.get("trials"); n != nil {
		if e.Trials = s.count(n, "trials"); e.Trials > maxTrials {
			s.fail(n.pos, "trials must be at most %d", maxTrials)
		}
	}
	if n := root.get("seed"); n != nil {
		v, err := strconv.ParseInt(n.text, 10, 64)
		if n.kind != kInt || err != nil {
			s.fail(n.pos, "seed must be a whole number")
		}
		e.Seed = v
	}
	e.Jobs = s.count(root.get("jobs"), "jobs")
	if n := root.get("limits"); n != nil && s.object(n, "limits", nil, "wall", "turns") {
		e.Limits = tare.Limits{Wall: s.duration(n.get("wall"), "wall"), Turns: s.count(n.get("turns"), "turns")}
	}
	e.bounds(root)
	e.arms(root)
	e.pairs(root.get("compare"))
}

// bounds reads when an experiment ends early.
func (e *Experiment) bounds(root *node) {
	s := e.place
	if n := root.get("budget"); n != nil && s.object(n, "budget", nil, "episodes", "wall", "dollars") {
		e.Budget = Budget{Episodes: s.count(n.get("episodes"), "episodes"), Wall: s.duration(n.get("wall"), "wall")}
		e.Budget.Dollars = s.share(n.get("dollars"), "dollars", 1e9)
	}
	if n := root.get("stop"); n != nil && s.object(n, "stop", []string{"infrastructure"}, "after") {
		e.Stop.Infrastructure = s.share(n.get("infrastructure"), "infrastructure", 1)
		if n := n.get("after"); n != nil {
			e.Stop.After = s.count(n, "after")
		}
	}
}

// share is a number above 0 and up to most.
func (s source) share(n *node, what string, most float64) float64 {
	if n == nil {
		return 0
	}
	v, err := strconv.ParseFloat(n.text, 64)
	if n.kind != kInt && n.kind != kFloat || err != nil || !(v > 0 && v <= most) {
		s.fail(n.pos, "%s must be a number above 0 and up to %v", what, most)
		return 0
	}
	return v
}

// truth is true or false.
func (s source) truth(n *node, what string) bool {
	if n == nil {
		return false
	}
	if n.kind != kBool {
		s.fail(n.pos, "%s must be true or false", what)
	}
	return n.text == "true"
}

// arms reads the arms: one by one, or as all combinations of what varies.
func (e *Experiment) arms(root *node) {
	s := e.place
	one, all := root.get("arms"), root.get("vary")
	switch {
	case (one == nil) == (all == nil):
		s.fail(root.pos, "an experiment has either arms, or vary, of which every combination is an arm")
		return
	case one != nil:
		for _, n := range s.list(one, "arms", 1) {
			e.arm(n)
		}
	default:
		e.vary(all)
	}
	at := one
	if at == nil {
		at = all
	}
	if len(e.Arms) > maxArms {
		s.fail(at.pos, "there are %d arms; at most %d are compared", len(e.Arms), maxArms)
		return
	}
	names, same := map[string]pos{}, map[string]string{}
	for _, a := range e.Arms {
		s.unique(names, a.Name, a.at, "arm")
		key := fmt.Sprintf("%q %q %q %q %q", a.Agent, a.Policy, a.Level, a.Server, a.Faults)
		if first, ok := same[key]; ok && first != a.Name {
			s.fail(a.at, "arms %s and %s are the same but for their names", clip(first), clip(a.Name))
		}
		same[key] = a.Name
	}
}

func (e *Experiment) arm(n *node) {
	s := e.place
	if !s.object(n, "an arm", []string{"name", "agent"}, "policy", "level", "server", "faults") {
		return
	}
	a := ExperimentArm{
		Name: s.line(n.get("name"), "name"), Agent: s.line(n.get("agent"), "agent"), Policy: s.line(n.get("policy"), "policy"),
		Level: s.word(n.get("level"), "level"), Server: s.line(n.get("server"), "server"), at: n.pos,
	}
	for _, f := range s.list(n.get("faults"), "faults", 1) {
		a.Faults = append(a.Faults, s.line(f, "a fault"))
	}
	e.Arms = append(e.Arms, a)
}

// word is one line of text, or a whole number as it is written.
func (s source) word(n *node, what string) string {
	if n != nil && n.kind == kInt {
		return n.text
	}
	return s.line(n, what)
}

// vary makes an arm of every combination of what its lists hold.
func (e *Experiment) vary(n *node) {
	s := e.place
	if !s.object(n, "vary", []string{"agent"}, "policy", "level", "server", "fault") {
		return
	}
	lists := map[string][]string{}
	for _, f := range n.keys {
		for _, item := range s.list(f.val, f.name, 1) {
			lists[f.name] = append(lists[f.name], s.word(item, "an entry of "+f.name))
		}
	}
	e.Arms = Combinations(lists["agent"], lists["policy"], lists["level"], lists["server"], lists["fault"])
	for i := range e.Arms {
		e.Arms[i].at = n.pos
	}
}

// NoFault is the entry of a list of faults that stands for an arm without one.
const NoFault = "none"

// Combinations are the arms of every combination of agents, policies, levels, servers and faults. Each is named by what varies.
func Combinations(agents, policies, levels, servers, faults []string) []ExperimentArm {
	orOne := func(list []string) []string {
		if len(list) == 0 {
			return []string{""}
		}
		return list
	}
	var out []ExperimentArm
	for _, agent := range orOne(agents) {
		for _, policy := range orOne(policies) {
			for _, level := range orOne(levels) {
				for _, server := range orOne(servers) {
					for _, fault := range orOne(faults) {
						a := ExperimentArm{Agent: agent, Policy: policy, Level: level, Server: server}
						var parts []string
						for _, p := range []struct {
							list  []string
							value string
						}{{agents, agent}, {policies, policy}, {levels, level}, {servers, server}, {faults, fault}} {
							if len(p.list) > 1 {
								parts = append(parts, p.value)
							}
						}
						if a.Name = strings.Join(parts, " · "); a.Name == "" {
							a.Name = agent
						}
						if fault != "" && fault != NoFault {
							a.Faults = []string{fault}
						}
						out = append(out, a)
					}
				}
			}
		}
	}
	return out
}

// pairs reads which arms are compared with which.
func (e *Experiment) pairs(n *node) {
	s := e.place
	if n == nil {
		return
	}
	known := func(name string) bool {
		for _, a := range e.Arms {
			if a.Name == name {
				return true
			}
		}
		return false
	}
	for _, item := range s.list(n, "compare", 1) {
		two := s.list(item, "a comparison", 2)
		if item.kind == kList && len(two) > 2 {
			s.fail(item.pos, "a comparison is of two arms")
			continue
		}
		if len(two) < 2 {
			continue
		}
		p := [2]string{s.line(two[0], "an arm"), s.line(two[1], "an arm")}
		for i, name := range p {
			if name != "" && !known(name) {
				s.fail(two[i].pos, "there is no arm %s", clip(name))
			}
		}
		if p[0] == p[1] {
			s.fail(item.pos, "arm %s is compared with itself", clip(p[0]))
		}
		e.Compare = append(e.Compare, p)
	}
}
