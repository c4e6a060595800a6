package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tare"
	"tare/internal/trajectory"
)

// Metrics writes a table of how agents went about their work, task by task, one line per episode that was played.
func Metrics(w io.Writer, rows []Row, o Options) error {
	first := o.width()
	heads := ""
	var shown []metricColumn
	columns := metricColumns
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Trajectory.Usage != nil || len(r.Trajectory.Turns) > 0 }) {
		columns = modelColumns
	}
	faults := slices.ContainsFunc(rows, func(r Row) bool { return trajectory.Measure(r.Trajectory, nil).Faults > 0 })
	for _, c := range columns {
		if c.head == faultsHead && !faults {
			continue
		}
		if first-c.width < nameColumns {
			break
		}
		first -= c.width
		heads += pad(c.head, -c.width)
		shown = append(shown, c)
	}
	var b strings.Builder
	g := newGrid(rows)
	for i, t := range g.tasks {
		if i > 0 {
			b.WriteByte('\n')
		}
		held := heldOut(g.ofTask(t))
		b.WriteString(o.paint(clip(t, o.width()-len(held))+held, bold) + "\n")
		b.WriteString(o.paint(pad("", first)+heads, faint) + "\n")
		for _, r := range g.ofTask(t) {
			if r.played() {
				b.WriteString(metricsLine(r, first, shown) + "\n")
			}
		}
	}
	if len(rows) > 0 {
		b.WriteByte('\n')
		for _, t := range Certificates(rows) {
			for _, l := range wrap(t, o.width()) {
				b.WriteString(o.paint(l, faint) + "\n")
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// nameColumns is what the metrics table leaves for the agent's name, at least.
const nameColumns = 20

// A metricColumn is one column of the metrics table.
type metricColumn struct {
	head  string
	width int
	show  func(m trajectory.Metrics, r Row) string
}

// modelColumns are the columns where an agent asked a model.
var modelColumns = []metricColumn{
	{"calls", 7, func(m trajectory.Metrics, _ Row) string { return fmt.Sprint(m.Calls) }},
	{"answers", 9, func(m trajectory.Metrics, _ Row) string { return orDash(m.Answers > 0, fmt.Sprint(m.Answers)) }},
	{"read tok", 11, func(m trajectory.Metrics, _ Row) string { return amount(usageOf(m).InputTokens) }},
	{"wrote tok", 11, func(m trajectory.Metrics, _ Row) string { return amount(usageOf(m).OutputTokens) }},
	{"cost $", 10, func(m trajectory.Metrics, _ Row) string { return money(usageOf(m).Dollars) }},
	{"failed", 8, func(m trajectory.Metrics, _ Row) string { return fmt.Sprint(m.Failures) }},
	{faultsHead, 9, faultsShown},
	{"took s", 8, func(_ trajectory.Metrics, r Row) string { return fmt.Sprintf("%.1f", r.took().Seconds()) }},
}

func usageOf(m trajectory.Metrics) tare.Usage {
	if m.Usage == nil {
		return tare.Usage{}
	}
	return *m.Usage
}

// What is unknown is said to be, and is no 0.
const unknown = "?"

func amount(n *int64) string {
	if n == nil {
		return unknown
	}
	return fmt.Sprint(*n)
}

func money(d *float64) string {
	if d == nil {
		return unknown
	}
	return fmt.Sprintf("%.4f", *d)
}

func orDash(ok bool, s string) string {
	if !ok {
		return "–"
	}
	return s
}

// modelPairs are what an agent took of a model, for people; none of one that asked none.
func modelPairs(m trajectory.Metrics) []pair {
	if m.Answers == 0 && m.Usage == nil {
		return nil
	}
	u := usageOf(m)
	var pairs []pair
	if m.Answers > 0 {
		text := fmt.Sprintf("%d answers, asked for %d times, %d calls that could not be made", m.Answers, m.Tries, m.Mistakes)
		if m.Unknown > 0 {
			text += fmt.Sprintf("; what %d of them took is unknown", m.Unknown)
		}
		pairs = append(pairs, pair{"model", text})
	}
	return append(pairs,
		pair{"tokens", fmt.Sprintf("read %s (from cache %s, to cache %s), wrote %s (reasoning %s)", amount(u.InputTokens), amount(u.CacheReadTokens), amount(u.CacheWriteTokens), amount(u.OutputTokens), amount(u.ReasoningTokens))},
		pair{"cost", "$" + money(u.Dollars)})
}

// faultsHead is the column that is there where faults were injected.
const faultsHead = "faults"

// metricColumns are the columns of the metrics table; a narrow terminal shows the first ones.
var metricColumns = []metricColumn{
	{"calls", 7, func(m trajectory.Metrics, _ Row) string { return fmt.Sprint(m.Calls) }},
	{"read", 6, func(m trajectory.Metrics, _ Row) string { return fmt.Sprint(len(m.FilesRead)) }},
	{"wrote", 7, func(m trajectory.Metrics, _ Row) string { return fmt.Sprint(len(m.FilesWritten)) }},
	{"failed", 8, func(m trajectory.Metrics, _ Row) string { return fmt.Sprint(m.Failures) }},
	{"retried", 9, func(m trajectory.Metrics, _ Row) string { return fmt.Sprint(m.Retries) }},
	{"recovered", 11, func(m trajectory.Metrics, _ Row) string { return fmt.Sprint(m.Recoveries) }},
	{faultsHead, 10, faultsShown},
	{"decoys", 8, func(m trajectory.Metrics, _ Row) string { return fmt.Sprint(len(m.Decoys)) }},
	{"tools s", 9, func(m trajectory.Metrics, _ Row) string { return fmt.Sprintf("%.1f", m.ToolSeconds) }},
	{"took s", 8, func(_ trajectory.Metrics, r Row) string { return fmt.Sprintf("%.1f", r.took().Seconds()) }},
}

// faultsShown is how many faults were recovered from, of those that spoilt a call.
func faultsShown(m trajectory.Metrics, _ Row) string {
	if m.Faults == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", m.Recovered, m.Spoilt)
}

// metricsLine is the line of the metrics table for r: its name in the given number of columns, and its numbers.
func metricsLine(r Row, first int, shown []metricColumn) string {
	name := r.agent()
	if r.Episode.Trial > 1 {
		name += fmt.Sprintf(" · trial %d", r.Episode.Trial)
	}
	m := trajectory.Measure(r.Trajectory, r.Decoys)
	l := pad("  "+clip(name, first-2), first)
	for _, c := range shown {
		l += pad(c.show(m, r), -c.width)
	}
	return l
}

// MetricsText writes the metrics of one row in full: the calls by tool, and the files by name.
func MetricsText(w io.Writer, r Row, o Options) error {
	var b strings.Builder
	for _, p := range metricPairs(trajectory.Measure(r.Trajectory, r.Decoys), r) {
		for i, l := range wrap(p.Value, o.width()-12) {
			label := p.Label
			if i > 0 {
				label = ""
			}
			b.WriteString(o.paint(pad(label, 12), faint) + l + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A pair is a label and a value.
type pair struct{ Label, Value string }

// metricPairs are metrics for people.
func metricPairs(m trajectory.Metrics, r Row) []pair {
	calls := fmt.Sprint(m.Calls)
	if len(m.ByTool) > 0 {
		var by []string
		for _, tool := range slices.Sorted(maps.Keys(m.ByTool)) {
			by = append(by, fmt.Sprintf("%s %d", line(tool, nameLimit), m.ByTool[tool]))
		}
		calls += ": " + strings.Join(bounded(by), ", ")
	}
	files := func(names []string) string {
		if len(names) == 0 {
			return "none"
		}
		return strings.Join(bounded(names), ", ")
	}
	pairs := []pair{
		{"calls", calls},
		{"read", files(m.FilesRead)},
		{"wrote", files(m.FilesWritten)},
		{"failures", fmt.Sprintf("%d, retried %d, recovered %d", m.Failures, m.Retries, m.Recoveries)},
		{"decoys", files(m.Decoys)},
		{"tool time", fmt.Sprintf("%.2f s", m.ToolSeconds)},
	}
	if m.Faults > 0 {
		pairs = append(pairs, pair{"faults", fmt.Sprintf("%d injected, recovered from %d of %d that spoilt a call", m.Faults, m.Recovered, m.Spoilt)})
	}
	pairs = append(pairs, modelPairs(m)...)
	if took := r.took(); took > 0 {
		pairs = append(pairs, pair{"took", fmt.Sprintf("%.2f s", took.Seconds())})
	}
	return pairs
}
