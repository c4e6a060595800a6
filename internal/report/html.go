package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"tare"
	"tare/internal/trajectory"
)

//go:embed report.html.tmpl
var pageSource string

// stepsShown is how many steps of one episode the page shows, from its begin.
const stepsShown = 400

// HTML writes r as one page that needs nothing else: no script, no style sheet, no font and no image from anywhere, and
// its own content policy forbids them, should something slip through.
func HTML(w io.Writer, r Result) error {
	t, err := template.New("report").Parse(pageSource)
	if err != nil {
		return fmt.Errorf("parsing the page's template: %w", err)
	}
	if err := t.Execute(w, newPage(r)); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// The types below are what the template sees. Every string in them went through line or block.

type page struct {
	Run, When, Grader string
	Proof             proofView
	Agents            []string
	Matrix            []matrixRow
	Totals            []totalsRow
	Known             bool // there are no bounds to show
	Counts            string
	ProofNote         string
	Legend            []legendItem
	Tasks             []taskView
}

type legendItem struct{ Class, Mark, Text string }

type proofView struct {
	Class, Mark, Text string
	Lines             []string
}

type matrixRow struct {
	Task, Title, Anchor string
	HeldOut             bool
	Proof               badge
	Cells               []matrixCell
}

// A badge is a short word with a colour.
type badge struct{ Class, Text string }

type matrixCell struct {
	Class, Mark, Text, Note, Href, Label string
	Empty                                bool
}

type totalsRow struct {
	Agent                                                           string
	Passed, Failed, Unverified, Infrastructure, Unfinished, Planned int
	NotPlayed                                                       int
	Reward, Bounds, Score, ScoreFrom                                string
	Proof                                                           badge
}

type taskView struct {
	Task, Title, Anchor string
	HeldOut             bool
	Proof               badge
	ProofText           string
	Episodes            []episodeView
}

type episodeView struct {
	Anchor, Agent, Trial, Class, Mark, Outcome string
	Reward, Bounds, Root, Reason               string
	Facts                                      []pair
	Gates                                      []gateView
	Unresolved                                 []string
	Metrics                                    []pair
	Steps                                      []stepView
	StepsNote, StepsTitle                      string
	Stop, Final                                string
	Played, Unfinished                         bool
}

type gateView struct {
	Class, Mark, Name, Outcome, Need, Reason, Evidence, Seconds string
	Root, Advisory                                              bool
}

type stepView struct {
	Index                         int
	Tool, Target, At, Took, Note  string
	Args, Preview, Fault, RetryTo string
	OK                            bool
	Size                          string
}

// class is the CSS class of an outcome, a fixed word whatever the outcome says.
func class(o tare.Outcome) string {
	switch o {
	case tare.Pass:
		return "pass"
	case tare.Fail:
		return "fail"
	case tare.Unverified:
		return "unverified"
	default:
		return "none"
	}
}

func proofBadge(rows []Row) badge {
	if !slices.ContainsFunc(rows, Row.played) {
		return badge{"none", "–"}
	}
	switch s := weakest(rows).Status; s {
	case tare.Proven:
		return badge{"pass", "proven"}
	case tare.Partly, tare.Stale:
		return badge{"unverified", string(s)}
	default:
		return badge{"fail", "not proven"}
	}
}

func newPage(r Result) page {
	g := newGrid(r.Rows)
	c := Count(r.Rows)
	p := page{
		Run: line(r.Run, nameLimit), When: when(r.Rows), Agents: g.agents, Known: c.Known(),
		Counts: countLine(c), Proof: newProof(g, slices.Concat(g.harnessLines(), r.ProofLines)), ProofNote: proofNote(g),
	}
	for _, row := range r.Rows {
		if row.Verdict.Grader != "" {
			p.Grader = short(row.Verdict.Grader)
		}
	}
	anchors := map[int]string{}
	for i := range r.Rows {
		anchors[i] = fmt.Sprintf("e%d", i+1)
	}
	trials := slices.ContainsFunc(r.Rows, func(r Row) bool { return r.Episode.Trial > 1 })
	for i, t := range g.tasks {
		rows := g.ofTask(t)
		anchor := fmt.Sprintf("t%d", i+1)
		m := matrixRow{Task: t, Title: line(rows[0].Title, nameLimit), Anchor: anchor, HeldOut: heldOut(rows) != "", Proof: proofBadge(rows)}
		v := taskView{Task: t, Title: m.Title, Anchor: anchor, HeldOut: m.HeldOut, Proof: m.Proof}
		if p := weakest(rows); slices.ContainsFunc(rows, Row.played) && p.Status != tare.Proven {
			v.ProofText = proofOf(p)
		}
		for _, a := range g.agents {
			m.Cells = append(m.Cells, g.newCell(t, a, anchors))
			for _, n := range g.cells[[2]string{t, a}] {
				v.Episodes = append(v.Episodes, newEpisode(r.Rows[n], anchors[n], trials))
			}
		}
		p.Matrix = append(p.Matrix, m)
		p.Tasks = append(p.Tasks, v)
	}
	for _, a := range g.agents {
		p.Totals = append(p.Totals, newTotals(a, g.ofAgent(a)))
	}
	for _, o := range []tare.Outcome{tare.Pass, tare.Fail, tare.Unverified, ""} {
		if slices.ContainsFunc(r.Rows, func(r Row) bool { return r.Verdict.Outcome == o }) {
			p.Legend = append(p.Legend, legendItem{class(o), mark(o), outcomeName(o)})
		}
	}
	return p
}

// when is the time from the first episode's begin to the last one's end, in UTC.
func when(rows []Row) string {
	var from, to time.Time
	for _, r := range rows {
		if s := r.Trajectory.Started; !s.IsZero() && (from.IsZero() || s.Before(from)) {
			from = s
		}
		if f := r.Trajectory.Finished; f.After(to) {
			to = f
		}
	}
	if from.IsZero() {
		return ""
	}
	s := from.UTC().Format("2 January 2006, 15:04 UTC")
	if to.After(from) {
		s += ", " + to.Sub(from).Round(time.Second).String()
	}
	return s
}

// proofNote says what follows from a proof that does not cover everything.
func proofNote(g grid) string {
	switch proven, played := g.provenTasks(); {
	case proven == played:
		return ""
	case proven == 0:
		return "So there is no score. 'tare prove' makes a proof."
	default:
		return "A score counts these tasks only. 'tare prove' makes more."
	}
}

func newProof(g grid, lines []string) proofView {
	proven, played := g.provenTasks()
	v := proofView{Class: "fail", Mark: "✗", Text: "No grader here is proven"}
	switch {
	case played == 0:
		v = proofView{Class: "none", Mark: "○", Text: "Nothing was played"}
	case proven == played:
		v = proofView{Class: "pass", Mark: "✓", Text: fmt.Sprintf("Graders proven for all %d tasks", proven)}
		if proven == 1 {
			v.Text = "The grader is proven"
		}
	case proven > 0:
		v = proofView{Class: "unverified", Mark: "?", Text: fmt.Sprintf("Graders proven for %d of %d tasks", proven, played)}
	}
	v.Lines = bounded(lines)
	return v
}

func (g grid) newCell(task, agent string, anchors map[int]string) matrixCell {
	rows := g.cell(task, agent)
	if len(rows) == 0 {
		return matrixCell{Empty: true}
	}
	c, worst := Count(rows), worstOutcome(rows)
	cell := matrixCell{Class: class(worst), Mark: mark(worst), Label: outcomeName(worst), Href: "#" + anchors[g.cells[[2]string{task, agent}][0]]}
	switch {
	case c.NotPlayed == c.Planned:
		cell.Text = "–"
	case c.Graded() > 0:
		cell.Text = number(c.Reward)
	default:
		cell.Text = bounds(c.Bounds)
	}
	var notes []string
	if c.NotPlayed == c.Planned {
		notes = append(notes, "not played")
	}
	if c.Planned > 1 {
		notes = append(notes, fmt.Sprintf("%d of %d passed", c.Passed, c.Planned))
	}
	if c.Graded() > 0 && !c.Known() {
		notes = append(notes, bounds(c.Bounds)+" possible")
	}
	if c.Unfinished > 0 {
		notes = append(notes, "unfinished")
	}
	if c.Infrastructure > 0 {
		notes = append(notes, "infrastructure")
	}
	if len(rows) == 1 && rows[0].Verdict.RootGate != "" && c.Infrastructure == 0 {
		notes = append(notes, line(rows[0].Verdict.RootGate, nameLimit))
	}
	cell.Note = strings.Join(notes, ", ")
	return cell
}

func newTotals(agent string, rows []Row) totalsRow {
	c := Count(rows)
	t := totalsRow{
		Agent: agent, Planned: c.Planned, Passed: c.Passed, Failed: c.Failed, Unverified: c.Unverified, Infrastructure: c.Infrastructure,
		Unfinished: c.Unfinished, NotPlayed: c.NotPlayed, Reward: number(c.Reward), Bounds: bounds(c.Bounds), Score: number(c.Score), Proof: proofBadge(rows),
	}
	if c.ScoreFrom > 0 {
		t.ScoreFrom = fmt.Sprintf("of %d", c.ScoreFrom)
	}
	return t
}

func newEpisode(r Row, anchor string, trials bool) episodeView {
	v := r.Verdict
	e := episodeView{
		Anchor: anchor, Agent: r.agent(), Class: class(v.Outcome), Mark: mark(v.Outcome), Outcome: outcomeName(v.Outcome),
		Reward: number(v.Reward), Root: line(v.RootGate, nameLimit),
		Unresolved: bounded(v.Unresolved), Played: r.played(), Unfinished: v.Unfinished,
	}
	if trials {
		e.Trial = fmt.Sprintf("trial %d", r.Episode.Trial)
	}
	if v.Reward == nil {
		e.Bounds = bounds(v.RewardBounds)
	}
	if g, ok := r.root(); ok {
		e.Reason = line(g.Reason, reasonLimit)
	}
	for _, g := range v.Gates {
		e.Gates = append(e.Gates, newGate(g, v.RootGate))
	}
	fact := func(label, value string) {
		if value != "" {
			e.Facts = append(e.Facts, pair{label, value})
		}
	}
	fact("stopped by", line(string(v.Stop), nameLimit))
	fact("cause", line(string(v.Cause), nameLimit))
	fact("isolation", line(v.Isolation, nameLimit))
	fact("record", short(v.Record))
	fact("corrects", short(v.Supersedes))
	for _, h := range r.history() {
		fact("history", h)
	}
	if !e.Played {
		return e
	}
	fact("proof", strings.TrimPrefix(proofOf(v.Proof), "proof: "))
	e.Metrics = metricPairs(trajectory.Measure(r.Trajectory, r.Decoys), r)
	addSteps(&e, r.Trajectory)
	return e
}

func newGate(g tare.Gate, root string) gateView {
	v := gateView{
		Class: class(g.Outcome), Mark: mark(g.Outcome), Name: line(g.Name, nameLimit), Outcome: outcomeName(g.Outcome),
		Reason: line(g.Reason, reasonLimit), Evidence: strings.Join(bounded(g.Evidence), " "), Root: root != "" && g.Name == root,
		Advisory: g.Need == tare.Advisory,
	}
	if v.Root {
		v.Reason = "this decided; the reason is above"
	}
	if g.Need != tare.Required {
		v.Need = line(string(g.Need), nameLimit)
	}
	if g.Outcome == tare.Blocked && g.BlockedBy != "" {
		v.Reason = strings.TrimSuffix("blocked by "+line(g.BlockedBy, nameLimit)+"; "+v.Reason, "; ")
	}
	if g.Seconds > 0 {
		v.Seconds = fmt.Sprintf("%.2f s", g.Seconds)
	}
	return v
}

func addSteps(e *episodeView, t tare.Trajectory) {
	for i, s := range t.Steps {
		if i == stepsShown {
			e.StepsNote = fmt.Sprintf("%d more steps are in the record and not shown here", len(t.Steps)-i)
			break
		}
		e.Steps = append(e.Steps, newStep(s))
	}
	e.StepsTitle = fmt.Sprintf("%d steps", len(t.Steps))
	if len(t.Steps) == 1 {
		e.StepsTitle = "1 step"
	}
	stop := string(t.Stop)
	if stop == "" {
		stop = "the record breaks off here"
	}
	e.Stop = line(stop, nameLimit)
	if t.Detail != "" {
		e.Stop += ": " + line(t.Detail, reasonLimit)
	}
	e.Final = block(t.Final, blockLimit)
}

func newStep(s tare.Step) stepView {
	v := stepView{
		Index: s.Call.Index, Tool: line(s.Call.Tool, nameLimit), At: fmt.Sprintf("%.1f s", s.Call.At), Took: fmt.Sprintf("%.2f s", s.Observation.Seconds),
		Note: line(s.Call.Note, reasonLimit), Args: arguments(s.Call.Args), Preview: block(s.Observation.Preview, blockLimit),
		Fault: line(s.Observation.Fault, nameLimit), OK: s.Observation.OK, Size: size(s.Observation.Size), Target: target(s.Call.Args),
	}
	if s.Call.RetryOf != nil {
		v.RetryTo = fmt.Sprint(*s.Call.RetryOf)
	}
	return v
}

// arguments shows a call's arguments, a line each, and long texts as texts.
func arguments(raw json.RawMessage) string {
	var args map[string]json.RawMessage
	if json.Unmarshal(raw, &args) != nil {
		return block(string(raw), blockLimit)
	}
	names := make([]string, 0, len(args))
	for n := range args {
		names = append(names, n)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, n := range names {
		value := string(args[n])
		var text string
		if json.Unmarshal(args[n], &text) == nil {
			value = text
			if strings.Contains(text, "\n") {
				value = "\n" + text
			}
		}
		fmt.Fprintf(&b, "%s: %s\n", n, strings.TrimRight(value, "\n"))
	}
	return block(strings.TrimRight(b.String(), "\n"), blockLimit)
}

// target is what a call was about, to be read at a glance: its path, or else its query.
func target(raw json.RawMessage) string {
	var args struct{ Path, Query string }
	if json.Unmarshal(raw, &args) != nil {
		return ""
	}
	if args.Path != "" {
		return line(args.Path, nameLimit)
	}
	return line(args.Query, nameLimit)
}
