package report

import (
	"slices"
	"strings"

	"tare"
)

// writeWaterfall writes the gates of a verdict that has many, so that one mistake reads as one: the gate that decided comes
// first, and below each gate, further in, those that it blocks.
func writeWaterfall(b *strings.Builder, r Row, o Options) {
	gates := r.Verdict.Gates
	width := 0
	for _, g := range gates {
		width = max(width, min(20, columns(line(g.Name, nameLimit))))
	}
	for _, w := range falls(r.Verdict) {
		g, sign, nameStyle, text := w.gate, "  ", plain, line(w.gate.Reason, reasonLimit)
		switch {
		case w.depth > 0:
			sign = "  " + strings.Repeat("  ", w.depth-1) + "└ "
		case g.Name == r.Verdict.RootGate:
			sign, nameStyle, text = "▸ ", bold, "this decided; the reason is above"
		}
		if w.depth == 0 && g.Outcome == tare.Blocked {
			text = gateText(g)
		} else if g.Need != tare.Required && g.Need != "" {
			text = "(" + line(string(g.Need), nameLimit) + ") " + text
		}
		room := width - columns(sign) + 2
		name := clip(line(g.Name, nameLimit), max(8, room))
		prefix := sign + o.paint(mark(g.Outcome), outcomeStyle(g.Outcome)) + " " + o.paint(name, nameStyle) + strings.Repeat(" ", max(0, room-columns(name))) + "  "
		indent := width + 6
		for i, l := range wrap(text, o.width()-indent) {
			if i > 0 {
				prefix = strings.Repeat(" ", indent)
			}
			b.WriteString(strings.TrimRight(prefix+l, " ") + "\n")
		}
	}
}

// A fall is a gate and how far in it stands.
type fall struct {
	gate  tare.Gate
	depth int
}

// falls orders gates: the root first, then the others as they come, each followed by those that it blocks.
func falls(v tare.Verdict) []fall {
	var out []fall
	shown := map[string]bool{}
	var add func(g tare.Gate, depth int)
	add = func(g tare.Gate, depth int) {
		if shown[g.Name] {
			return
		}
		shown[g.Name] = true
		out = append(out, fall{g, min(depth, 3)})
		for _, later := range v.Gates {
			if later.Outcome == tare.Blocked && later.BlockedBy == g.Name {
				add(later, depth+1)
			}
		}
	}
	if g, ok := v.Gate(v.RootGate); ok {
		add(g, 0)
	}
	for _, g := range v.Gates {
		hangs := g.Outcome == tare.Blocked && slices.ContainsFunc(v.Gates, func(root tare.Gate) bool { return root.Name == g.BlockedBy && root.Name != g.Name })
		if !hangs {
			add(g, 0)
		}
	}
	for _, g := range v.Gates { // gates that block each other hang on nothing
		add(g, 0)
	}
	return out
}
