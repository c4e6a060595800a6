package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tare"
)

// A style is the number of an ANSI attribute.
type style string

const (
	plain  style = ""
	bold   style = "1"
	faint  style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// paint puts s in a style, if colour was asked for.
func (o Options) paint(s string, st style) string {
	if !o.Color || st == plain || s == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

func outcomeStyle(o tare.Outcome) style {
	switch o {
	case tare.Pass:
		return green
	case tare.Fail:
		return red
	case tare.Unverified:
		return yellow
	default:
		return faint
	}
}

// Widths of the matrix's columns.
const (
	taskColumns  = 34 // of the first column, where agents leave no more
	proofColumns = 8
	agentColumns = 12 // at least
	agentMost    = 24
)

// scoreOfProven labels the mean reward over the tasks whose grader is proven, where that is not all of them.
const scoreOfProven = "score, proven tasks"

// Matrix writes a table of tasks by agents: in each cell the outcome's mark and the reward, and where there are several
// trials their mean, and how many passed. Agents that do not fit beside each other go into a second table below the first.
// Under it stand the counts, and how far the grader behind the numbers is proven.
func Matrix(w io.Writer, rows []Row, o Options) error {
	var b strings.Builder
	g := newGrid(rows)
	if len(rows) == 0 {
		b.WriteString("nothing was planned\n")
	}
	width := agentColumns
	for _, a := range g.agents {
		width = min(agentMost, max(width, columns(a)))
		for _, t := range g.tasks {
			width = max(width, columns(cellText(g.cell(t, a))))
		}
	}
	first := len(scoreOfProven)
	room := func(agents int) int { return o.width() - 2 - proofColumns - agents*(width+2) }
	most := max(min(taskColumns, room(1)), room(len(g.agents)))
	for _, t := range g.tasks {
		first = max(first, min(most, columns(t)+len(heldOut(g.ofTask(t)))))
	}
	fit := max(1, (room(0)-first)/(width+2))
	for agents := range slices.Chunk(g.agents, fit) {
		g.writeTable(&b, agents, first, width, o)
		b.WriteByte('\n')
	}
	if len(rows) > 0 {
		g.writeFooter(&b, o)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A field is one cell of a line of a table.
type field struct {
	text  string
	width int // columns; of the last field of a line, only the text counts
	style style
}

// writeFields writes one line of a table. Padding is not painted, so that colours do not change what is where.
func writeFields(b *strings.Builder, o Options, fields []field) {
	var l strings.Builder
	for i, f := range fields {
		if i > 0 {
			l.WriteString("  ")
		}
		l.WriteString(o.paint(f.text, f.style) + strings.Repeat(" ", max(0, f.width-columns(f.text))))
	}
	b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
}

// writeTable writes the part of the matrix that shows agents.
func (g grid) writeTable(b *strings.Builder, agents []string, first, width int, o Options) {
	put := func(label string, st style, proof string, cell func(agent string) field) {
		fields := []field{{label, first, st}, {proof, proofColumns, faint}}
		for _, a := range agents {
			f := cell(a)
			f.width = width
			fields = append(fields, f)
		}
		writeFields(b, o, fields)
	}
	put("", plain, "proof", func(a string) field { return field{text: clip(a, width), style: bold} })
	for _, t := range g.tasks {
		rows := g.ofTask(t)
		held := heldOut(rows)
		put(clip(t, first-len(held))+held, plain, proofWord(rows), func(a string) field {
			cell := g.cell(t, a)
			return field{text: cellText(cell), style: outcomeStyle(worstOutcome(cell))}
		})
	}
	counts := map[string]Counts{}
	known := true
	for _, a := range agents {
		counts[a] = Count(g.ofAgent(a))
		known = known && counts[a].Known()
	}
	total := func(label string, show func(c Counts) string) {
		put(label, faint, "", func(a string) field { return field{text: "  " + show(counts[a])} })
	}
	total("passed of graded", func(c Counts) string { return fmt.Sprintf("%d of %d", c.Passed, c.Graded()) })
	if !known {
		total("passed of planned", func(c Counts) string { return span(c.Passed, c.Planned-c.Failed) + fmt.Sprintf(" of %d", c.Planned) })
	}
	proven, played := g.provenTasks()
	if proven == played && played > 0 {
		total("score", func(c Counts) string { return number(c.Score) })
	} else {
		total("mean reward", func(c Counts) string { return number(c.Reward) })
	}
	if !known {
		total("could be", func(c Counts) string { return bounds(c.Bounds) })
	}
	if proven < played {
		total(scoreOfProven, func(c Counts) string { return number(c.Score) })
	}
}

// proofWord is the state of the proof behind rows, of which none may have been played.
func proofWord(rows []Row) string {
	if !slices.ContainsFunc(rows, Row.played) {
		return "–"
	}
	return string(weakest(rows).Status)
}

// writeFooter says what the table's numbers cover and what its marks mean.
func (g grid) writeFooter(b *strings.Builder, o Options) {
	text := append([]string{countLine(Count(g.rows))}, Certificates(g.rows)...)
	legend := []string{}
	for _, o := range []tare.Outcome{tare.Pass, tare.Fail, tare.Unverified, ""} {
		if slices.ContainsFunc(g.rows, func(r Row) bool { return r.Verdict.Outcome == o }) {
			legend = append(legend, mark(o)+" "+outcomeName(o))
		}
	}
	if slices.ContainsFunc(g.rows, func(r Row) bool { return r.Verdict.Unfinished }) {
		legend = append(legend, "… unfinished")
	}
	text = append(text, strings.Join(legend, " · "))
	for _, t := range text {
		for _, l := range wrap(t, o.width()) {
			b.WriteString(o.paint(l, faint) + "\n")
		}
	}
}

// outcomeName is o in words.
func outcomeName(o tare.Outcome) string {
	if o == "" {
		return "not played"
	}
	return line(string(o), nameLimit)
}

// countLine says how many episodes stand behind a total.
func countLine(c Counts) string {
	s := fmt.Sprintf("%d planned: %d passed, %d failed, %d unverified", c.Planned, c.Passed, c.Failed, c.Unverified)
	if c.Infrastructure > 0 {
		s += fmt.Sprintf(" (%d infrastructure)", c.Infrastructure)
	}
	s += fmt.Sprintf(", %d not played; %d unfinished", c.NotPlayed, c.Unfinished)
	if c.NotPlayed > 0 {
		s += fmt.Sprintf("; incomplete: %d of %d are graded", c.Graded(), c.Planned)
	}
	return s
}

// heldOut is the note behind the name of a held-out task.
func heldOut(rows []Row) string {
	if slices.ContainsFunc(rows, func(r Row) bool { return r.HeldOut }) {
		return " (held-out)"
	}
	return ""
}

// cellText is the content of one cell of the matrix.
func cellText(rows []Row) string {
	if len(rows) == 0 {
		return ""
	}
	c := Count(rows)
	s := mark(worstOutcome(rows)) + " "
	switch {
	case c.NotPlayed == c.Planned:
		s += "–"
	case c.Graded() > 0:
		s += number(c.Reward)
	default:
		s += bounds(c.Bounds)
	}
	if c.Planned > 1 {
		s += fmt.Sprintf(" %d/%d", c.Passed, c.Planned)
	}
	if c.Unfinished > 0 {
		s += "…"
	}
	return s
}

// number shows a reward; nil is no reward, which is not 0.
func number(f *float64) string {
	if f == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f", *f)
}

// span is the least and the most that a count could be.
func span(least, most int) string {
	if least == most {
		return strconv.Itoa(least)
	}
	return fmt.Sprintf("%d–%d", least, most)
}

func bounds(b [2]float64) string {
	if b[0] == b[1] {
		return fmt.Sprintf("%.2f", b[0])
	}
	return fmt.Sprintf("%.2f–%.2f", b[0], b[1])
}

// VerdictText explains the verdict of one row: what decided it first, then every gate with its reason, then the proof.
func VerdictText(w io.Writer, r Row, o Options) error {
	var b strings.Builder
	v := r.Verdict
	text := func(indent int, st style, s string) {
		for _, l := range wrap(s, o.width()-indent) {
			b.WriteString(strings.Repeat(" ", indent) + o.paint(l, st) + "\n")
		}
	}
	name := r.task() + heldOut([]Row{r})
	if a := r.agent(); a != "" {
		name += " · " + a
	}
	if r.Episode.Trial > 1 {
		name += fmt.Sprintf(" · trial %d", r.Episode.Trial)
	}
	text(0, bold, name)
	if r.Title != "" {
		text(0, faint, line(r.Title, nameLimit))
	}
	b.WriteByte('\n')
	text(0, outcomeStyle(v.Outcome), headline(v))
	if !r.played() {
		_, err := io.WriteString(w, b.String())
		return err
	}
	if g, ok := r.root(); ok {
		text(2, plain, line(g.Reason, reasonLimit))
	}
	b.WriteByte('\n')
	if _, ok := v.Gate(tare.GateRoute); ok {
		writeWaterfall(&b, r, o)
	} else {
		writeGates(&b, r, o)
	}
	if len(v.Gates) > 0 {
		b.WriteByte('\n')
	}
	for _, u := range bounded(v.Unresolved) {
		text(0, plain, "unresolved: "+u)
	}
	for _, h := range r.history() {
		text(0, plain, h)
	}
	text(0, faint, verdictLine(v, r.Trajectory.Detail))
	text(0, faint, proofOf(v.Proof))
	_, err := io.WriteString(w, b.String())
	return err
}

// headline is the outcome, the reward and what decided it.
func headline(v tare.Verdict) string {
	s := mark(v.Outcome) + " " + outcomeName(v.Outcome)
	switch {
	case v.Outcome == "":
		return s
	case v.Reward != nil:
		s += ", reward " + number(v.Reward)
	default:
		s += ", reward unknown, " + bounds(v.RewardBounds) + " possible"
	}
	if v.RootGate != "" {
		s += ", decided by " + line(v.RootGate, nameLimit)
	}
	if v.Cause != "" && string(v.Cause) != v.RootGate {
		s += " (cause: " + line(string(v.Cause), nameLimit) + ")"
	}
	return s
}

func writeGates(b *strings.Builder, r Row, o Options) {
	width := 0
	for _, g := range r.Verdict.Gates {
		width = max(width, min(20, columns(line(g.Name, nameLimit))))
	}
	for _, g := range r.Verdict.Gates {
		st, sign := outcomeStyle(g.Outcome), "  "
		nameStyle, text := plain, gateText(g)
		if g.Name == r.Verdict.RootGate {
			sign, nameStyle, text = "▸ ", bold, "this decided; the reason is above"
		}
		name := clip(line(g.Name, nameLimit), width)
		prefix := sign + o.paint(mark(g.Outcome), st) + " " + o.paint(name, nameStyle) + strings.Repeat(" ", max(0, width-columns(name))) + "  "
		indent := width + 6
		for i, l := range wrap(text, o.width()-indent) {
			if i > 0 {
				prefix = strings.Repeat(" ", indent)
			}
			b.WriteString(strings.TrimRight(prefix+l, " ") + "\n")
		}
	}
}

// gateText is what stands beside a gate's name.
func gateText(g tare.Gate) string {
	s := line(g.Reason, reasonLimit)
	if g.Outcome == tare.Blocked && g.BlockedBy != "" {
		s = strings.TrimSpace("blocked by " + line(g.BlockedBy, nameLimit) + "; " + s)
		s = strings.TrimSuffix(s, ";")
	}
	if g.Need != tare.Required && g.Need != "" {
		s = "(" + line(string(g.Need), nameLimit) + ") " + s
	}
	return s
}

// verdictLine gives the circumstances of a verdict.
func verdictLine(v tare.Verdict, detail string) string {
	parts := []string{}
	if v.Stop != "" {
		stop := "stopped by " + line(string(v.Stop), nameLimit)
		if detail != "" {
			stop += ": " + line(detail, reasonLimit)
		}
		parts = append(parts, stop)
	}
	if v.Unfinished {
		parts = append(parts, "unfinished: graded on what was there")
	}
	if v.Isolation != "" {
		parts = append(parts, "isolation "+line(v.Isolation, nameLimit))
	}
	if v.Record != "" {
		parts = append(parts, "record "+short(v.Record))
	}
	if v.Supersedes != "" {
		parts = append(parts, "corrects "+short(v.Supersedes))
	}
	return strings.Join(parts, " · ")
}

// short abbreviates a digest, for people.
func short(d tare.Digest) string {
	s := strings.TrimPrefix(string(d), "sha256:")
	if len(s) > 12 {
		s = s[:12]
	}
	return line(s, nameLimit)
}

// bounded shows at most 20 of items.
func bounded(items []string) []string {
	var out []string
	for i, s := range items {
		if i == 20 {
			return append(out, fmt.Sprintf("and %d more", len(items)-i))
		}
		out = append(out, line(s, reasonLimit))
	}
	return out
}
