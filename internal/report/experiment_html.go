package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"

	"tare/internal/experiment"
)

//go:embed experiment.html.tmpl
var experimentSource string

// ExperimentHTML writes what an experiment showed as one page that needs nothing else, as HTML does for a run: with the matrix of
// tasks by arms, and a plot of the differences. r is its episodes.
func ExperimentHTML(w io.Writer, s experiment.Summary, r Result) error {
	t, err := template.New("report").Parse(pageSource)
	if err != nil {
		return fmt.Errorf("parsing the page's template: %w", err)
	}
	if t, err = t.New("experiment").Parse(experimentSource); err != nil {
		return fmt.Errorf("parsing the experiment's template: %w", err)
	}
	if err := t.Execute(w, newExperimentPage(s, r)); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

type experimentPage struct {
	Title, Plan, When string
	Proof             proofView
	ProofNote         string
	Harness           []string
	Says              []badge
	Plots             []forest
	Arms              []string
	Matrix            []armsRow
	Sections          []section
}

type armsRow struct {
	Task  string
	Cells []armCell
}

type armCell struct{ Class, Mark, Text, Note, Label string }

// A forest is a plot of the differences of one comparison: a row for each task, and the mean with its interval below them.
type forest struct {
	Title, Alt    string
	Height, Width int
	Zero          float64
	Left, Right   float64 // of the plot within the picture
	Ticks         []tick
	Rows          []forestRow
	Note          string
	Worse, Better string // what the sides mean
}

type tick struct {
	At   float64
	Text string
}

type forestRow struct {
	Y              float64
	Name, Value    string
	Class          string
	Mean, Low, End float64 // on the picture
	Has            bool    // there is a mean
	Interval       bool    // there is an interval
	Total          bool
	Diamond        string // the corners of the mean's
}

// Measures of the plot, in the picture's units.
const (
	plotWidth  = 960
	plotLeft   = 330
	plotRight  = 785
	plotRow    = 26
	plotTop    = 14
	mostInPlot = 60 // tasks; above, only the mean is drawn
)

func newExperimentPage(s experiment.Summary, r Result) experimentPage {
	g := newGrid(r.Rows)
	p := experimentPage{
		Title: line(headOf(s), nameLimit), Plan: line(planOf(s), reasonLimit), When: when(r.Rows), Proof: newProof(g, nil), ProofNote: proofNote(g), Harness: g.harnessLines(),
	}
	for _, pair := range s.Pairs {
		p.Says = append(p.Says, badge{shownClass(pair), line(pair.Says, reasonLimit)})
		p.Plots = append(p.Plots, newForest(pair))
	}
	for _, a := range s.Arms {
		p.Arms = append(p.Arms, line(a.Name, nameLimit))
	}
	for i, task := range s.Tasks {
		row := armsRow{Task: line(task, nameLimit)}
		for _, a := range s.Arms {
			row.Cells = append(row.Cells, newArmCell(a.Tasks[i]))
		}
		p.Matrix = append(p.Matrix, row)
	}
	for _, sec := range sections(s) {
		if sec.Title == tasksOf(s).Title { // the matrix above is this
			continue
		}
		for i := range sec.Texts {
			sec.Texts[i] = line(sec.Texts[i], reasonLimit)
		}
		for i, l := range sec.Lines {
			for _, b := range l.Below[min(1, len(l.Below)):] { // the first is said above
				sec.Texts = append(sec.Texts, line(l.Cells[0]+": "+b, reasonLimit))
			}
			sec.Lines[i].Below = nil
			for k := range l.Cells {
				l.Cells[k] = line(l.Cells[k], nameLimit)
			}
		}
		p.Sections = append(p.Sections, sec)
	}
	return p
}

// shownClass is that of what a comparison shows.
func shownClass(pair experiment.PairSummary) string {
	switch {
	case pair.Holm < 0.05 && pair.Bounds[0] > 0:
		return "pass"
	case pair.Holm < 0.05 && pair.Bounds[1] < 0:
		return "fail"
	}
	return "none"
}

func newArmCell(c experiment.Cell) armCell {
	out := armCell{Class: "fail", Mark: "✗", Text: number(c.Mean), Label: "failed", Note: fmt.Sprintf("%d of %d passed", c.Passed, c.Planned)}
	switch {
	case c.Open() > 0:
		out.Class, out.Mark, out.Label = "unverified", "?", "not all have a verdict"
		out.Text = bounds(c.Bounds)
		out.Note += fmt.Sprintf(", %d without an answer", c.Open())
	case c.Flaky:
		out.Class, out.Mark, out.Label = "unverified", "±", "flaky"
	case c.Passed == c.Planned:
		out.Class, out.Mark, out.Label = "pass", "✓", "passed"
	}
	if c.Flaky {
		out.Note += ", flaky"
	}
	return out
}

func newForest(pair experiment.PairSummary) forest {
	f := forest{
		Title: line(fmt.Sprintf("%s – %s", pair.Second, pair.First), nameLimit), Width: plotWidth, Left: plotLeft, Right: plotRight,
		Worse: "← " + clip(line(pair.First, nameLimit), 36) + " better", Better: clip(line(pair.Second, nameLimit), 36) + " better →",
		Note: "A dot is a task's mean difference, a bar what it could be where verdicts are missing; the diamond is the mean over tasks with its 95 % interval. What has a colour is on one side of the line; the diamond has one where a difference is shown.",
	}
	f.Alt = fmt.Sprintf("Differences in reward of %s, task by task", f.Title)
	reach := 0.1
	grow := func(v float64) { reach = max(reach, math.Abs(v)) }
	for _, d := range pair.Tasks {
		grow(d.Bounds[0])
		grow(d.Bounds[1])
	}
	if pair.Interval != nil {
		grow(pair.Interval.Low)
		grow(pair.Interval.High)
	}
	step := 0.05
	for _, s := range []float64{0.1, 0.25, 0.5, 1} {
		if reach/step > 4 {
			step = s
		}
	}
	reach = math.Ceil(reach/step-1e-9) * step
	x := func(v float64) float64 { return math.Round(10*(plotLeft+(v/reach+1)/2*(plotRight-plotLeft))) / 10 }
	f.Zero = x(0)
	for v := -reach; v <= reach+step/2; v += step {
		text := fmt.Sprintf("%+.2f", v)
		if math.Abs(v) < step/2 {
			text = "0"
		}
		f.Ticks = append(f.Ticks, tick{x(v), text})
	}
	y := float64(plotTop)
	add := func(row forestRow) {
		row.Y = y + plotRow/2
		f.Rows = append(f.Rows, row)
		y += plotRow
	}
	tasks := pair.Tasks
	if len(tasks) > mostInPlot {
		f.Note += fmt.Sprintf(" %d tasks are not drawn one by one.", len(tasks))
		tasks = nil
	}
	for _, d := range tasks {
		row := forestRow{Name: clip(line(d.Task, nameLimit), 44), Value: signed(d.Mean), Class: "none"}
		if d.Bounds[1]-d.Bounds[0] > 1e-9 {
			row.Interval, row.Low, row.End = true, x(d.Bounds[0]), x(d.Bounds[1])
			row.Value = plus(d.Bounds[0]) + " to " + plus(d.Bounds[1])
		}
		if d.Mean != nil {
			row.Has, row.Mean, row.Class = true, x(*d.Mean), signClass(*d.Mean)
		}
		if d.Bounds[0] < 0 && d.Bounds[1] > 0 { // it could go either way
			row.Class = "none"
		}
		add(row)
	}
	total := forestRow{Name: fmt.Sprintf("mean over %d %s", pair.Units, pair.Over), Value: signed(pair.Mean), Total: true, Class: "none"}
	if pair.Mean != nil {
		total.Has, total.Mean, total.Class = true, x(*pair.Mean), shownClass(pair)
		if pair.Interval != nil {
			total.Interval, total.Low, total.End = true, x(pair.Interval.Low), x(pair.Interval.High)
			total.Value += " [" + ends(pair.Interval) + "]"
		}
	}
	y += 6
	add(total)
	last := &f.Rows[len(f.Rows)-1]
	last.Diamond = fmt.Sprintf("%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f", last.Mean-7, last.Y, last.Mean, last.Y-7, last.Mean+7, last.Y, last.Mean, last.Y+7)
	f.Height = int(y) + 54
	f.Ticks = slices.Clip(f.Ticks)
	return f
}

func signClass(v float64) string {
	switch {
	case v > 1e-9:
		return "pass"
	case v < -1e-9:
		return "fail"
	}
	return "none"
}

// Axis is where the plot ends, above the numbers.
func (f forest) Axis() int { return f.Height - 46 }

// Below is where the numbers of the axis stand.
func (f forest) Below() int { return f.Height - 28 }

// Foot is where it is said what the sides mean.
func (f forest) Foot() int { return f.Height - 8 }
