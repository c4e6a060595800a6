package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/stats"
)

// A section is one part of what is shown of an experiment, in whatever form.
type section struct {
	Title string
	Cols  []Column
	Lines []Line
	Texts []string
}

// Experiment writes what an experiment showed for a terminal. rows are its episodes, for the proof behind them.
func Experiment(w io.Writer, s experiment.Summary, rows []Row, o Options) error {
	var b strings.Builder
	text := func(t string, st style, indent string) {
		for i, l := range wrap(line(t, blockLimit), o.width()-len(indent)) {
			if i > 0 {
				b.WriteString(strings.Repeat(" ", len(indent)))
			} else {
				b.WriteString(indent)
			}
			b.WriteString(o.paint(l, st) + "\n")
		}
	}
	text(headOf(s), bold, "")
	text(planOf(s), faint, "")
	for _, sec := range sections(s) {
		b.WriteString("\n")
		text(sec.Title, bold, "")
		if len(sec.Cols) > 0 {
			if err := Table(&b, sec.Cols, sec.Lines, o); err != nil {
				return err
			}
		}
		for _, t := range sec.Texts {
			text(t, plain, "- ")
		}
	}
	b.WriteString("\n")
	for _, t := range Certificates(rows) {
		text(t, faint, "")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ExperimentMarkdown writes the same as Markdown.
func ExperimentMarkdown(w io.Writer, s experiment.Summary, rows []Row) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", markdown(headOf(s)), markdown(planOf(s)))
	for _, sec := range sections(s) {
		fmt.Fprintf(&b, "\n## %s\n", markdown(sec.Title))
		if len(sec.Cols) > 0 {
			b.WriteString("\n")
			row := func(cell func(i int) string) {
				for i := range sec.Cols {
					b.WriteString("| " + cell(i) + " ")
				}
				b.WriteString("|\n")
			}
			row(func(i int) string { return markdown(sec.Cols[i].Head) })
			row(func(i int) string {
				if sec.Cols[i].Right {
					return "--:"
				}
				return "---"
			})
			for _, l := range sec.Lines {
				row(func(i int) string { return markdown(l.Cells[i]) })
			}
			for _, l := range sec.Lines {
				for _, t := range l.Below {
					fmt.Fprintf(&b, "\n%s\n", markdown(t))
				}
			}
		}
		if len(sec.Texts) > 0 {
			b.WriteString("\n")
		}
		for _, t := range sec.Texts {
			fmt.Fprintf(&b, "- %s\n", markdown(t))
		}
	}
	b.WriteString("\n")
	for _, t := range Certificates(rows) {
		fmt.Fprintf(&b, "%s  \n", markdown(t))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdown makes untrusted text one line of Markdown that means nothing but itself.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range line(s, blockLimit) {
		if strings.ContainsRune("\\`*_{}[]<>#|~!&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func headOf(s experiment.Summary) string {
	if s.Title != "" {
		return s.Title
	}
	return "Experiment " + s.Run
}

func planOf(s experiment.Summary) string {
	return fmt.Sprintf("%s × %s × %s, in an order drawn by seed %d; run %s", counted(len(s.Arms), "arm"), counted(len(s.Tasks), "task"), counted(s.Trials, "trial"), s.Seed, s.Run)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// sections are the parts in their order. What has nothing to say is left out.
func sections(s experiment.Summary) []section {
	out := []section{comparisons(s), armCounts(s), armRewards(s), gateRates(s), chancesOf(s), costs(s), tasksOf(s)}
	out = append(out, section{Title: "Flaky tasks", Texts: flakyOf(s)}, section{Title: "To keep in mind", Texts: s.Notes}, section{Title: "What the words mean", Texts: s.Terms})
	return slices.DeleteFunc(out, func(sec section) bool { return len(sec.Lines) == 0 && len(sec.Texts) == 0 })
}

func comparisons(s experiment.Summary) section {
	sec := section{Title: "Comparisons (second less first)", Cols: []Column{
		{Head: "second – first", Min: 18}, {Head: "mean"}, {Head: "95 %"}, {Head: "better, worse, same", Width: 10, Right: true},
		{Head: "p sign", Width: 8, Right: true, Spare: 3}, {Head: "p permutation", Width: 11, Right: true}, {Head: "p McNemar", Width: 8, Right: true, Spare: 2}, {Head: "smallest shown", Width: 8, Right: true, Spare: 1},
	}}
	for _, p := range s.Pairs {
		below := []string{p.Says + "."}
		if p.Complete < p.Planned {
			below = append(below, fmt.Sprintf("%d of %d pairs of episodes have both rewards, with a mean of %s, of which the p speak; over all of them it could be anything from %s to %s, and the p of the permutation test up to %s.", p.Complete, p.Planned, signed(p.Mean), plus(p.Bounds[0]), plus(p.Bounds[1]), experiment.P(p.Worst)))
		}
		below = append(below, fmt.Sprintf("Of %s: both passed %d, only %s %d, only %s %d, neither %d.", counted(p.Complete, "pair"), p.Both, p.First, p.OnlyFirst, p.Second, p.OnlySecond, p.Neither))
		sec.Lines = append(sec.Lines, Line{Cells: []string{
			p.Second + " – " + p.First, meanOf(p), ends(p.Interval), fmt.Sprintf("%d, %d, %d", p.More, p.Less, p.Equal), experiment.P(p.Sign), experiment.P(p.Permutation), experiment.P(p.McNemar), smallest(p.Smallest),
		}, Below: below})
	}
	return sec
}

// meanOf is the mean difference, or its bounds where verdicts are missing.
func meanOf(p experiment.PairSummary) string {
	if p.Complete == p.Planned {
		return signed(p.Mean)
	}
	return plus(p.Bounds[0]) + " to " + plus(p.Bounds[1])
}

// smallest is the smallest difference that would have shown; rewards differ by 1 at most.
func smallest(f *float64) string {
	if f != nil && *f > 1 {
		return "none"
	}
	return number(f)
}

func armCounts(s experiment.Summary) section {
	sec := section{Title: "Episodes", Cols: []Column{{Head: "arm", Min: 16}}}
	for _, h := range []string{"planned", "graded", "passed", "failed", "unverified", "unfinished", "infrastructure", "not played"} {
		sec.Cols = append(sec.Cols, Column{Head: h, Right: true})
	}
	for _, a := range s.Arms {
		l := Line{Cells: []string{a.Name}}
		for _, n := range []int{a.Planned, a.Graded, a.Passed, a.Failed, a.Unverified, a.Unfinished, a.Infrastructure, a.NotPlayed} {
			l.Cells = append(l.Cells, fmt.Sprint(n))
		}
		sec.Lines = append(sec.Lines, l)
	}
	return sec
}

func armRewards(s experiment.Summary) section {
	sec := section{Title: "Reward", Cols: []Column{{Head: "arm", Min: 16}, {Head: "mean"}, {Head: "95 %"}, {Head: "of graded: median", Width: 10, Right: true}, {Head: "deviation", Right: true}, {Head: "min", Right: true}, {Head: "max", Right: true}, {Head: "passed"}, {Head: "95 %"}}}
	for _, a := range s.Arms {
		of := func(v float64) string {
			if a.Reward.N == 0 {
				return "–"
			}
			return fmt.Sprintf("%.2f", v)
		}
		sec.Lines = append(sec.Lines, Line{Cells: []string{a.Name, bounds(a.Bounds), ends(a.Interval), of(a.Reward.Median), number(a.Reward.SD), of(a.Reward.Min), of(a.Reward.Max), rateText(a.Pass), ends(&a.Pass.Interval)}})
	}
	return sec
}

func gateRates(s experiment.Summary) section {
	sec := section{Title: "Gates: share passed where it was reached, with its 95 % interval", Cols: []Column{{Head: "gate", Min: 12}}}
	var names []string
	for _, a := range s.Arms {
		sec.Cols = append(sec.Cols, Column{Head: line(a.Name, nameLimit), Width: 18, Min: 10})
		for _, g := range a.Gates {
			if !slices.Contains(names, g.Gate) {
				names = append(names, g.Gate)
			}
		}
	}
	for _, name := range names {
		l := Line{Cells: []string{name}}
		for _, a := range s.Arms {
			cell := "–"
			for _, g := range a.Gates {
				if g.Gate == name && g.Right+g.Wrong+g.Open > 0 {
					cell = rateText(g.Rate) + " [" + ends(&g.Interval) + "]"
				}
			}
			l.Cells = append(l.Cells, cell)
		}
		sec.Lines = append(sec.Lines, l)
	}
	return sec
}

// rateText is a rate, or its bounds where verdicts are missing.
func rateText(r experiment.Rate) string {
	if r.Right+r.Wrong+r.Open == 0 {
		return "–"
	}
	return bounds(r.Bounds)
}

func chancesOf(s experiment.Summary) section {
	sec := section{Title: "Chances: pass@k, then pass^k", Cols: []Column{{Head: "k"}}}
	longest := 0
	for _, a := range s.Arms {
		sec.Cols = append(sec.Cols, Column{Head: line(a.Name, nameLimit), Width: 18, Min: 10})
		longest = max(longest, len(a.Chances))
	}
	const most = 10 // of the values of k, the first ones and the last
	for k := range longest {
		if k >= most-1 && k < longest-1 {
			continue
		}
		l := Line{Cells: []string{fmt.Sprint(k + 1)}}
		for _, a := range s.Arms {
			cell := "–"
			if k < len(a.Chances) {
				cell = bounds(a.Chances[k].At) + ", " + bounds(a.Chances[k].Hat)
			}
			l.Cells = append(l.Cells, cell)
		}
		sec.Lines = append(sec.Lines, l)
	}
	return sec
}

func costs(s experiment.Summary) section {
	sec := section{Title: "Time, cost and faults", Cols: []Column{{Head: "arm", Min: 16}, {Head: "s an episode", Width: 8, Right: true}, {Head: "s a solve", Width: 8, Right: true}, {Head: "$ an episode", Width: 8, Right: true}, {Head: "$ a solve", Width: 8, Right: true}, {Head: "tokens an episode", Width: 10, Right: true, Spare: 1}, {Head: "faults met", Width: 6, Right: true}, {Head: "recovered from", Width: 10, Right: true}}}
	show := func(v *float64, form string) string {
		if v == nil {
			return "unknown"
		}
		return fmt.Sprintf(form, *v)
	}
	for _, a := range s.Arms {
		per := func(x experiment.Amount, form string) string {
			if x.Sum != nil && x.PerSolved == nil {
				return "none"
			}
			return show(x.PerSolved, form)
		}
		sec.Lines = append(sec.Lines, Line{Cells: []string{
			a.Name, show(a.Seconds.Each, "%.1f"), per(a.Seconds, "%.1f"), show(a.Dollars.Each, "%.4f"), per(a.Dollars, "%.4f"), show(a.Tokens.Each, "%.0f"), fmt.Sprint(a.Faults), recovered(a),
		}})
	}
	return sec
}

func recovered(a experiment.ArmSummary) string {
	if a.Spoilt == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", a.Recovered, a.Spoilt)
}

// tasksOf is the matrix: in each cell the mean reward, and how many passed of what was planned.
func tasksOf(s experiment.Summary) section {
	sec := section{Title: "Tasks: mean reward, and how many passed", Cols: []Column{{Head: "task", Min: 20}}}
	for _, a := range s.Arms {
		sec.Cols = append(sec.Cols, Column{Head: line(a.Name, nameLimit), Width: 18, Min: 9})
	}
	for i, task := range s.Tasks {
		l := Line{Cells: []string{task}}
		for _, a := range s.Arms {
			l.Cells = append(l.Cells, cellOf(a.Tasks[i]))
		}
		sec.Lines = append(sec.Lines, l)
	}
	return sec
}

func cellOf(c experiment.Cell) string {
	text := number(c.Mean)
	if c.Graded < c.Planned {
		text = bounds(c.Bounds)
	}
	text += fmt.Sprintf(" %d/%d", c.Passed, c.Planned)
	if c.Open() > 0 {
		text += fmt.Sprintf(" ?%d", c.Open())
	}
	if c.Flaky {
		text += " flaky"
	}
	return text
}

func flakyOf(s experiment.Summary) []string {
	var out []string
	for _, a := range s.Arms {
		for _, c := range a.Flaky() {
			text := fmt.Sprintf("%s by %s: %d of %d passed, %d failed", c.Task, a.Name, c.Passed, c.Planned, c.Failed)
			if c.Open() > 0 {
				text += fmt.Sprintf(", %d without an answer", c.Open())
			}
			out = append(out, text)
		}
	}
	return out
}

// signed is a difference; nil is none.
func signed(f *float64) string {
	if f == nil {
		return "–"
	}
	return plus(*f)
}

// plus is a difference with its sign, of which 0 has none.
func plus(v float64) string {
	if math.Abs(v) < 0.005 {
		return "0.00"
	}
	return fmt.Sprintf("%+.2f", v)
}

// ends are the ends of an interval; nil is none.
func ends(i *stats.Interval) string {
	if i == nil {
		return "–"
	}
	if i.Low < 0 {
		return plus(i.Low) + " to " + plus(i.High)
	}
	return fmt.Sprintf("%.2f–%.2f", i.Low, i.High)
}
