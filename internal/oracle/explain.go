package oracle

import (
	"fmt"
	"slices"
	"strings"

	"tare"
)

// maxExplain bounds what Explain returns, in bytes.
const maxExplain = 32 << 10

// worlds says in words what stands where in each world.
var worlds = map[tare.World]string{
	tare.WorldFix:      "the agent's sources",
	tare.WorldAgain:    "the agent's sources again, in another order and a directory of another name",
	tare.WorldSeed:     "the seed's sources",
	tare.WorldRewrite:  "the agent's sources, rewritten so that the behaviour stays",
	tare.WorldTextFix:  "the text of the agent's sources with the behaviour of the bug",
	tare.WorldTextSeed: "the text of the bug with the behaviour of the agent's sources",
	tare.WorldPoison:   "the text of the agent's sources, whose functions raise",
	tare.WorldGraft:    "the agent's sources with the seed's bodies grafted in",
}

// Explain shows the command, the world and the observation behind one gate of v, as text of at most 32 KiB in which
// untrusted bytes are escaped. It says so when v has no such gate.
func Explain(task *tare.Task, record tare.Record, v tare.Verdict, gate string) string {
	g, ok := v.Gate(gate)
	if !ok {
		names := make([]string, len(v.Gates))
		for i, g := range v.Gates {
			names[i] = g.Name
		}
		return fmt.Sprintf("there is no gate %q; there are %s\n", show(gate, 60), strings.Join(names, ", "))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  (%s)\n  %s\n", g.Name, g.Outcome, g.Need, g.Reason)
	if g.BlockedBy != "" {
		fmt.Fprintf(&b, "  blocked by %s\n", g.BlockedBy)
	}
	for _, r := range task.Requirements {
		if r.ID == g.Requirement {
			fmt.Fprintf(&b, "  requirement %d: %s\n", r.ID, show(r.Text, 400))
		}
	}
	explainFiles(&b, record.Evidence, gate)
	for _, r := range record.Evidence.Runs {
		if slices.Contains(g.Evidence, r.ID) {
			explainRun(&b, task, r)
		}
	}
	explainScenario(&b, task, record, g)
	explainVuln(&b, record, g)
	s := b.String()
	if len(s) > maxExplain {
		s = strings.ToValidUTF8(s[:maxExplain-40], "") + "\n… (cut)\n"
	}
	return s
}

// explainFiles lists what of the evidence, runs aside, a gate looks at.
func explainFiles(b *strings.Builder, ev tare.Evidence, gate string) {
	switch gate {
	case tare.GateInfrastructure:
		for _, p := range ev.Problems {
			fmt.Fprintf(b, "  problem: %s: %s\n", show(p.Where, 100), show(p.Error, 600))
		}
	case tare.GateIntegrity:
		for _, s := range ev.Steering {
			fmt.Fprintf(b, "  kept out: %s (%s): %s\n", show(s.Path, 200), show(string(s.Kind), 20), show(s.Why, 200))
		}
	case tare.GateRegressionTest:
		for _, n := range ev.Own {
			fmt.Fprintf(b, "  the agent's test: %s (%s)\n", show(n.ID, 200), show(string(n.Kind), 20))
		}
		if g := ev.Graft; g != nil {
			fmt.Fprintf(b, "  the bug put back by %s into %s: %s%s\n", show(g.Method, 40), show(strings.Join(g.Symbols, ", "), 300), show(g.Why, 200), aside(g.Defect))
		}
	}
}

func explainRun(b *strings.Builder, task *tare.Task, r tare.Run) {
	world := worlds[r.World]
	if world == "" {
		of, varied := strings.CutPrefix(string(r.World), "varied:")
		of, lent := strings.CutPrefix(of, "lent:")
		world = "the sources of " + strings.Replace(show(of, 80), ":", " ", 1)
		if lent {
			world += ", with what only the agent's have lent to them"
		}
		if varied {
			world += ", loaded as other instructions that do the same"
		}
	}
	fmt.Fprintf(b, "\n%s  %s, world %s: %s\n", show(r.ID, 20), show(string(r.Role), 40), show(string(r.World), 80), world)
	fmt.Fprintf(b, "  tree     %s\n", show(string(r.Tree), 80))
	words := make([]string, len(r.Command))
	for i, w := range r.Command {
		words[i] = show(w, 200)
	}
	fmt.Fprintf(b, "  command  %s\n", show(strings.Join(words, " "), 1500))
	state := "report whole"
	if !r.Complete {
		state = "report not whole" + aside(r.Defect)
	}
	fmt.Fprintf(b, "  ended    %s; %s\n", status(r), state)
	for _, s := range r.Sentinels {
		mark := "right"
		if !s.Right() {
			mark = "WRONG"
		}
		fmt.Fprintf(b, "  sentinel %s: wanted %s, got %s: %s\n", show(s.Name, 40), show(string(s.Want), 20), orNone(string(s.Got)), mark)
	}
	explainTests(b, r)
	explainCases(b, task, r)
	if len(r.Output) > 0 {
		out := r.Output[max(0, len(r.Output)-3000):]
		b.WriteString("  output   (its end, not trusted)\n")
		for line := range strings.Lines(string(out)) {
			fmt.Fprintf(b, "    | %s\n", show(strings.TrimRight(line, "\r\n"), 300))
		}
	}
}

func explainTests(b *strings.Builder, r tare.Run) {
	const most = 40
	for i, t := range r.Tests {
		if i == most {
			fmt.Fprintf(b, "  …%s\n", andMore(len(r.Tests)-most))
			break
		}
		fmt.Fprintf(b, "  test     %s: %s", show(t.ID, 200), show(string(t.Outcome), 20))
		if t.Outcome != tare.TestPassed {
			where := "not in its body"
			if t.InBody {
				where = "in its body"
			}
			fmt.Fprintf(b, "%s%s, %s: %s", phase(t), class(t), where, show(t.Message, 300))
			if t.Missing != "" {
				fmt.Fprintf(b, " [missing: %s]", show(t.Missing, 60))
			}
		}
		b.WriteByte('\n')
	}
}

func explainCases(b *strings.Builder, task *tare.Task, r tare.Run) {
	if r.Role != tare.RoleBehaviour && r.Role != tare.RoleSteered && r.Role != tare.RoleGraft {
		return
	}
	wrong := task.Failing(r)
	fmt.Fprintf(b, "  cases    %d asked, %d right\n", len(task.Cases), len(task.Cases)-len(wrong))
	const most = 20
	for i, c := range wrong {
		if i == most {
			fmt.Fprintf(b, "  …%s\n", andMore(len(wrong)-most))
			break
		}
		fmt.Fprintf(b, "    %s: %s\n", show(c.ID, 60), sayCase(c, r))
	}
}

func status(r tare.Run) string {
	switch {
	case r.Ended != "":
		return "by the " + show(r.Ended, 40) + " limit"
	case r.Signal != "":
		return "by " + show(r.Signal, 40)
	default:
		return fmt.Sprintf("with status %d", r.Exit)
	}
}

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return show(s, 20)
}
