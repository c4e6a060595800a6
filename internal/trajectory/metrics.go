package trajectory

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"tare"
)

// Metrics are counts over one trajectory. They say how an agent went about its work, never how well it did it.
type Metrics struct {
	Calls        int            `json:"calls"`
	ByTool       map[string]int `json:"by_tool"`
	FilesRead    []string       `json:"files_read"`    // distinct, sorted; of calls that worked
	FilesWritten []string       `json:"files_written"` // distinct, sorted; of calls that worked
	Failures     int            `json:"failures"`      // calls that did not do what they were asked
	Retries      int            `json:"retries"`       // calls that repeat or replace a failed one
	Recoveries   int            `json:"recoveries"`    // failed calls that a later success made good
	Decoys       []string       `json:"decoys"`        // decoys read or written, sorted
	ToolSeconds  float64        `json:"tool_seconds"`

	// Faults are what was injected, and not the agent's: a call that met one is no failure of its own, and to make it again is no
	// retry. Spoilt are those after which the call had to be made again, Recovered those of them after which it was, and worked.
	Faults    int `json:"faults"`
	Spoilt    int `json:"faults_spoilt"`
	Recovered int `json:"faults_recovered"`

	Answers  int         `json:"answers,omitempty"`  // of a model
	Tries    int         `json:"tries,omitempty"`    // how often it was asked for them
	Mistakes int         `json:"mistakes,omitempty"` // calls of its that could not be made
	Unknown  int         `json:"unknown,omitempty"`  // answers of which it is not known what they took
	Usage    *tare.Usage `json:"usage,omitempty"`    // of all; nil, or nil in a part: unknown
}

// Measure counts over t. Decoys are files of the workspace that look like the subject of the task and are not.
func Measure(t tare.Trajectory, decoys []string) Metrics {
	m := Metrics{Calls: len(t.Steps), ByTool: map[string]int{}}
	read, written, touched := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, s := range t.Steps {
		m.ByTool[s.Call.Tool]++
		if spoilt(s) {
			m.Spoilt++
		}
		if faulted(s) {
			m.Faults++
		} else {
			m.ToolSeconds += s.Observation.Seconds
		}
		if r := s.Call.RetryOf; r != nil && (*r < 0 || *r >= len(t.Steps) || !faulted(t.Steps[*r])) {
			m.Retries++
		}
		if !s.Observation.OK {
			if !faulted(s) {
				m.Failures++
			}
			continue
		}
		p := argument(s.Call.Args, "path")
		switch s.Call.Tool {
		case "read_file":
			read[path.Clean(p)] = true
		case "write_file":
			written[path.Clean(p)] = true
		default:
			continue
		}
		if slices.Contains(decoys, path.Clean(p)) {
			touched[path.Clean(p)] = true
		}
	}
	m.FilesRead, m.FilesWritten, m.Decoys = sorted(read), sorted(written), sorted(touched)
	m.Recoveries, m.Recovered = recoveries(t.Steps)
	m.Answers, m.Usage = len(t.Turns), t.Usage
	for _, turn := range t.Turns {
		m.Tries += turn.Tries
		m.Mistakes += len(turn.Mistakes)
		if turn.Lost > 0 || turn.Usage.InputTokens == nil || turn.Usage.OutputTokens == nil {
			m.Unknown++
		}
	}
	return m
}

// faulted reports whether a fault was injected into a call, spoilt whether the call has to be made again for it.
func faulted(s tare.Step) bool { return s.Observation.Fault != "" }
func spoilt(s tare.Step) bool  { return tare.FaultKind(s.Observation.Fault).Spoils() }

// good reports whether a call did what it was asked, and its answer came whole.
func good(s tare.Step) bool { return s.Observation.OK && !spoilt(s) }

// retryWindow is how many calls of other tools may lie between a failure and a call with other arguments that counts as
// a second try: enough to look around first, too few for an unrelated call much later.
const retryWindow = 3

// RetryOf finds the failed call that next repeats or replaces, given the steps before it. It is, in this order,
//
//  1. the latest call of the same tool on the same target, if that failed;
//  2. the latest call of the same tool, whatever its target, if that failed and at most three calls of other tools came
//     in between.
//
// The target of a call is its path, else its query, else all of its arguments.
func RetryOf(before []tare.Step, next tare.Call) (int, bool) {
	target := targetOf(next)
	for i := len(before) - 1; i >= 0; i-- {
		c := before[i].Call
		if c.Tool != next.Tool || targetOf(c) != target {
			continue
		}
		if before[i].Observation.OK {
			break // good again since
		}
		return i, true
	}
	for i := len(before) - 1; i >= 0 && len(before)-1-i <= retryWindow; i-- {
		if before[i].Call.Tool == next.Tool {
			return i, !before[i].Observation.OK
		}
	}
	return 0, false
}

// recoveries counts the failed calls that a later success addresses, and apart from these the spoilt ones: a success of the same
// tool on the same target, or one that is a retry of it, directly or through retries that failed too.
func recoveries(steps []tare.Step) (failures, faults int) {
	mended := make([]bool, len(steps))
	for i, s := range steps {
		if !good(s) {
			continue
		}
		for j := range i {
			if !good(steps[j]) && steps[j].Call.Tool == s.Call.Tool && targetOf(steps[j].Call) == targetOf(s.Call) {
				mended[j] = true
			}
		}
		// Only links that point backwards are followed, so this ends whatever the record says.
		for cur, r := i, s.Call.RetryOf; r != nil && *r >= 0 && *r < cur && !good(steps[*r]); {
			mended[*r] = true
			cur, r = *r, steps[*r].Call.RetryOf
		}
	}
	for i, m := range mended {
		switch {
		case m && spoilt(steps[i]):
			faults++
		case m && !faulted(steps[i]):
			failures++
		}
	}
	return failures, faults
}

// targetOf is what a call is about.
func targetOf(c tare.Call) string {
	if p := argument(c.Args, "path"); p != "" {
		return "path " + path.Clean(p)
	}
	if q := argument(c.Args, "query"); q != "" {
		return "query " + q
	}
	b, err := tare.Canonical(c.Args)
	if err != nil {
		return string(c.Args)
	}
	return string(b)
}

// argument is the string argument called name, or "".
func argument(args json.RawMessage, name string) string {
	var all map[string]json.RawMessage
	var s string
	if json.Unmarshal(args, &all) != nil || json.Unmarshal(all[name], &s) != nil {
		return ""
	}
	return strings.TrimSpace(s)
}

func sorted(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for s := range set {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}
