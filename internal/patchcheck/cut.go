package patchcheck

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	"tare"
)

// A Cutter takes hidden material out of what agents are shown. Code of the tree under test is run beside inputs and tests
// that its agent may not see, and can print them: what stands in an output as it is in a hidden file, in hexadecimal or in
// base64 is left out. What the agent has anyway is not hidden.
//
// No filter finds what was enciphered. It is the second line: the first is that a check shows the code it runs no more than
// it needs, and that what the level withholds is not run at all.
type Cutter struct {
	windows map[[window]byte]bool
}

const (
	window    = 16 // bytes; what is shorter than that is not found
	fewest    = 5  // different bytes in a window: less is filling, such as a row of the same letter
	leftOut   = "[hidden material is left out here]"
	maxHidden = 4 << 20 // bytes of hidden material that are looked for
)

// NewCutter makes a Cutter for hidden texts. public is what agents are handed.
func NewCutter(hidden, public [][]byte) *Cutter {
	known := map[[window]byte]bool{}
	for _, p := range public {
		eachWindow(p, func(w [window]byte) { known[w] = true })
	}
	c := &Cutter{windows: map[[window]byte]bool{}}
	room := maxHidden
	for _, h := range hidden {
		if len(h) < window {
			continue
		}
		if room -= len(h); room < 0 {
			break
		}
		for _, form := range forms(h) {
			eachWindow(form, func(w [window]byte) {
				if !known[w] && different(w) >= fewest {
					c.windows[w] = true
				}
			})
		}
	}
	return c
}

// CutterOf makes the Cutter of a task.
func CutterOf(t *tare.Task) *Cutter {
	var hidden, public [][]byte
	tree := func(to *[][]byte, trees ...tare.Tree) {
		for _, t := range trees {
			for _, f := range t {
				*to = append(*to, f.Data)
			}
		}
	}
	v := t.Vuln
	for _, p := range v.PoCs {
		hidden = append(hidden, p.Input)
	}
	for _, in := range v.Variants {
		hidden = append(hidden, in.Data)
	}
	if v.Intent != nil {
		tree(&hidden, v.Intent.Files)
		for _, k := range v.Intent.Cases {
			hidden = append(hidden, k.Stdin, k.Stdout)
		}
	}
	if v.Driver != nil {
		tree(&hidden, v.Driver.Files)
		hidden = append(hidden, []byte(v.Driver.Build.Text))
	}
	for _, r := range t.References {
		tree(&hidden, r.Fix, r.Test)
	}
	tree(&hidden, t.Hidden)
	tree(&public, t.Seed)
	public = append(public, []byte(t.Ticket), []byte(v.Build.Text), []byte(v.Test.Text), []byte(v.Reports.Issue), []byte(v.Reports.Description))
	for _, r := range v.Reports.Crashes {
		public = append(public, []byte(r))
	}
	return NewCutter(hidden, public)
}

// forms are the ways in which a hidden text may be printed.
func forms(b []byte) [][]byte {
	lower := []byte(hex.EncodeToString(b))
	out := [][]byte{b, lower, bytes.ToUpper(lower), spaced(lower)}
	for shift := range min(3, len(b)) {
		out = append(out, []byte(base64.RawStdEncoding.EncodeToString(b[shift:])), []byte(base64.RawURLEncoding.EncodeToString(b[shift:])))
	}
	return out
}

// spaced is hexadecimal with a space after each byte, as od and xxd -g1 print it.
func spaced(hexed []byte) []byte {
	var b strings.Builder
	for i := 0; i+1 < len(hexed); i += 2 {
		b.Write(hexed[i : i+2])
		b.WriteByte(' ')
	}
	return []byte(b.String())
}

func eachWindow(b []byte, do func([window]byte)) {
	for i := 0; i+window <= len(b); i++ {
		do([window]byte(b[i : i+window]))
	}
}

func different(w [window]byte) int {
	slices.Sort(w[:])
	return len(slices.Compact(w[:]))
}

// Cut is text without hidden material.
func (c *Cutter) Cut(text []byte) []byte {
	if c == nil || len(c.windows) == 0 {
		return text
	}
	var out []byte
	kept, until := 0, -1 // text before kept is dealt with; until is the end of the hidden run that was found last
	for i := 0; i+window <= len(text); i++ {
		if !c.windows[[window]byte(text[i:i+window])] {
			continue
		}
		if i > until { // a new run
			if until >= 0 {
				kept = until
			}
			out = append(out, text[kept:i]...)
			out = append(out, leftOut...)
		}
		until = i + window
	}
	if until < 0 {
		return text
	}
	return append(out, text[until:]...)
}
