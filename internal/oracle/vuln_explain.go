package oracle

import (
	"fmt"
	"slices"
	"strings"

	"tare"
)

// explainVuln shows the checks behind a gate of a vulnerability: those that it cites, and beside each of the patched tree the
// control of the same kind.
func explainVuln(b *strings.Builder, rec tare.Record, g tare.Gate) {
	ev := rec.Evidence.Vuln
	if ev == nil {
		return
	}
	switch g.Name {
	case tare.GatePatch:
		fmt.Fprintf(b, "  patch    %s\n", show(string(ev.Patch.Digest), 80))
		for i, c := range rec.Evidence.Changes {
			if i == 40 {
				fmt.Fprintf(b, "  …%s\n", andMore(len(rec.Evidence.Changes)-i))
				break
			}
			fmt.Fprintf(b, "  %-8s %s\n", show(string(c.Kind), 20), show(c.Path, 200))
		}
	case tare.GateIntegrity:
		for _, s := range ev.Silencers {
			fmt.Fprintf(b, "  silencer %s:%d: %s, which %s\n", show(s.Path, 200), s.Line, show(s.What, 80), show(s.Why, 200))
		}
		for _, p := range ev.Patch.Restored {
			fmt.Fprintf(b, "  put back %s\n", show(p, 200))
		}
		for _, p := range ev.Patch.Collided {
			fmt.Fprintf(b, "  gave way %s\n", show(p, 200))
		}
	}
	kinds := kindsOf(g.Name)
	for _, c := range ev.Checks {
		if slices.Contains(g.Evidence, c.ID) || slices.Contains(kinds, c.Kind) && c.World != tare.WorldFix {
			explainCheck(b, c)
		}
	}
}

// kindsOf are the kinds of checks that a gate rests on.
func kindsOf(gate string) []tare.CheckKind {
	for _, g := range vulnGates {
		if g.name == gate {
			return g.kinds
		}
	}
	return nil
}

func explainCheck(b *strings.Builder, c tare.Check) {
	cached := ""
	if c.Cached {
		cached = ", observed before on the same tree, task and tools"
	}
	fmt.Fprintf(b, "\n%s  %s of the %s%s\n", show(c.ID, 20), show(string(c.Kind), 20), treeOf(c.World), cached)
	fmt.Fprintf(b, "  tree     %s\n", show(string(c.Tree), 80))
	const most = 30
	for i, e := range c.Executions {
		if i == most {
			fmt.Fprintf(b, "  …%s\n", andMore(len(c.Executions)-most))
			break
		}
		fmt.Fprintf(b, "  %s: %s\n    %s, %.2f s", show(e.ID, 100), show(strings.Join(e.Command, " "), 300), ended(e), e.Seconds)
		if e.Defect != "" {
			fmt.Fprintf(b, "; no evidence: %s", show(e.Defect, 200))
		}
		b.WriteByte('\n')
		for _, s := range e.Signs {
			fmt.Fprintf(b, "    %s %s", s.Kind, show(s.What, 120))
			if len(s.At) > 0 {
				fmt.Fprintf(b, " in %s", show(strings.Join(s.At[:min(4, len(s.At))], " < "), 200))
			}
			b.WriteByte('\n')
		}
	}
	for _, s := range c.Sentinels {
		mark := "right"
		if !s.Right() {
			mark = "WRONG"
		}
		fmt.Fprintf(b, "  sentinel %s: wanted %s, got %s: %s\n", show(s.Name, 40), show(string(s.Want), 20), orNone(string(s.Got)), mark)
	}
	explainTests(b, tare.Run{Tests: c.Tests})
	switch {
	case !c.Complete:
		fmt.Fprintf(b, "  not whole%s\n", aside(c.Defect))
	case c.Defect != "":
		fmt.Fprintf(b, "  decided  %s\n", show(c.Defect, 200))
	}
	if len(c.Log) > 0 {
		fmt.Fprintf(b, "  log      %s (its end, not trusted)\n", show(string(c.LogDigest), 80))
		for line := range strings.Lines(string(c.Log[max(0, len(c.Log)-2000):])) {
			fmt.Fprintf(b, "    | %s\n", show(strings.TrimRight(line, "\r\n"), 300))
		}
	}
}
